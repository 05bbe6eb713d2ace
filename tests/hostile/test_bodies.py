"""Every address that takes JSON or numbers answers hostile ones with a problem document, and none with a 5xx."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from api.document import document
from campaigns.access import let_create
from campaigns.models import Membership
from drafts.models import Draft
from judging.models import Batch
from runs.receiving import describe
from tests.api.asking import Program
from tests.cast import browser, claim
from tests.hostile.texts import BROKEN_JSON, ODD_JSON

pytestmark = pytest.mark.django_db
NO_WHOLE_NUMBERS = ("1.0", "1_0", " 1", "1 ", "+1", "01", "-0", "1e1", "", "٣", "１", "9" * 5000, "1\0", "NaN", "null")
KNOWN = {"name": "films", "worker": "1", "version": "1", "position": "1"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the method, an address and the description of every operation."""
    for path, described in json.loads(document())["paths"].items():
        for method, operation in described.items():
            yield method.upper(), re.sub(r"{(\w+)}", lambda part: KNOWN.get(part[1], "1"), path), operation


OPERATIONS = [
    (method, address)
    for method, address, operation in operations()
    if "application/json" in operation.get("requestBody", {}).get("content", {})
]


def sent(client: Client, method: str, address: str, body: bytes, headers: dict[str, str]) -> Any:
    return client.generic(method, address, body, content_type="application/json", headers=headers)


@pytest.mark.parametrize("name", [*BROKEN_JSON, *ODD_JSON])
def test_the_api_refuses_it(name: str, leo: Membership, settings: Any) -> None:
    body, client, headers = (BROKEN_JSON | ODD_JSON)[name], Client(), Program(leo).headers
    refused = 0
    for method, address in OPERATIONS:
        answer = sent(client, method, address, body, headers)
        if name in ODD_JSON and answer.status_code < 300:
            continue
        assert answer.status_code < 500, f"{method} {address}: {answer.status_code}"
        assert answer["Content-Type"] == "application/problem+json", f"{method} {address}"
        detail = answer.json()["detail"]
        assert len(detail) < 30_000, f"{method} {address}: {detail[:200]}"
        if name in BROKEN_JSON and answer.status_code != 404:  # who may not come in is refused before
            assert answer.status_code == 400, f"{method} {address}: {detail}"
            assert answer.json()["field"] == "body", f"{method} {address}: {detail}"
            refused += 1
    assert name in ODD_JSON or refused > 40


@pytest.mark.parametrize("name", [*BROKEN_JSON, *ODD_JSON])
def test_pages_refuse_it(name: str, ada: Membership, leo: Membership, batch: Batch) -> None:
    """The workplace's presses, and the announcing of files that come in pieces."""
    body = (BROKEN_JSON | ODD_JSON)[name]
    token = claim(ada).token
    let_create(leo.user)
    draft = Draft.objects.create(owner=leo.user)
    submission = describe(leo, {"name": "mine"})
    for who, method, address in (
        (ada, "PUT", reverse("judge", args=[token, 1])),
        (ada, "PUT", reverse("flag", args=[token, 1])),
        (ada, "DELETE", reverse("flag", args=[token, 1])),
        (ada, "POST", reverse("submit", args=[token])),
        (leo, "POST", reverse("uploads", args=[draft.token])),
        (leo, "POST", reverse("run-files", args=["films", submission.token])),
    ):
        answer = sent(browser(who), method, address, body, {"accept": "application/json"})
        assert 400 <= answer.status_code < 500, f"{method} {address}: {answer.status_code}"
        assert answer["Content-Type"] == "application/problem+json", address
        assert len(answer.json()["detail"]) < 1000


def test_a_query_is_written_as_the_document_says(leo: Membership, settings: Any) -> None:
    """Python's own numbers are more: 1_0 is ten, and digits are those of any script."""
    lead, count = Program(leo), 0
    for method, address, operation in operations():
        for parameter in operation.get("parameters", []):
            if method != "GET" or parameter["in"] != "query" or parameter["schema"]["type"] != "integer":
                continue
            for value in (*NO_WHOLE_NUMBERS, ["1", "1"]):
                answer = lead.get(address, **{parameter["name"]: value})
                assert answer.status_code == 400, f"{address}: {parameter['name']}={value}"
                assert parameter["name"] in answer.json()["fields"]
                count += 1
    assert count > 300
