"""Each request has a number: in its answer, in a problem document and in every line of the log."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextvars import Context
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as used
from django.test import Client
from django.utils.module_loading import import_string

from campaigns.models import Membership
from corpus.models import Clip
from judging.models import Batch
from tests.api.asking import Program
from tests.cast import browser, claim, clip_addresses

LOGGING: dict[str, Any] = used.LOGGING
GIVEN = "0123456789abcdef0123456789abcdef"
PROXY = "10.0.0.2"


@pytest.fixture
def log() -> Iterator[StringIO]:
    """What the handler of the settings writes, in JSON."""
    described: dict[str, Any] = dict(LOGGING["formatters"]["json"])
    formatter = import_string(described.pop("()"))(described.pop("format"), **described)
    handler = logging.StreamHandler(written := StringIO())
    handler.addFilter(import_string(LOGGING["filters"]["request"]["()"])())
    handler.setFormatter(formatter)
    logging.root.addHandler(handler)
    yield written
    logging.root.removeHandler(handler)


@pytest.mark.parametrize(
    ("remote", "given", "believed"),
    [
        (PROXY, GIVEN, True),
        ("203.0.113.5", GIVEN, False),
        (PROXY, "short", False),
        (PROXY, "a" * 65, False),
        (PROXY, "x\u00e9" * 8, False),
        (PROXY, "aaaaaaaa bbbbbbbb", False),
    ],
)
def test_a_number_is_taken_from_our_proxy_only(settings: Any, remote: str, given: str, believed: bool) -> None:
    settings.TRUSTED_PROXIES = [PROXY]
    answer = Client(REMOTE_ADDR=remote).get("/healthz", headers={"x-request-id": given})
    assert (answer["X-Request-ID"] == given) is believed
    assert len(answer["X-Request-ID"]) == 32


def test_each_request_has_its_own() -> None:
    assert Client().get("/healthz")["X-Request-ID"] != Client().get("/healthz")["X-Request-ID"]


@pytest.mark.django_db
def test_strangers_do_not_learn_which_version_answers(ada: Membership, settings: Any) -> None:
    settings.MONITORING_TOKEN = "let-me-see"
    for address in ("/healthz", "/accounts/sign-in/", "/judge/", "/api/v1/campaigns", "/api/v1/openapi.json", "/none"):
        answer = Client().get(address)
        assert "Reeljudge-Version" not in answer, address
        assert b"openapi" not in answer.content, address
    assert "Reeljudge-Version" in browser(ada).get("/judge/")
    assert "Reeljudge-Version" in Program(ada).get("campaigns")
    assert "Reeljudge-Version" in Client().get("/healthz", headers={"authorization": "Bearer let-me-see"})
    for asks in (browser(ada).get, Program(ada).get):
        assert asks("/api/v1/openapi.json").json()["openapi"] == "3.1.0"


@pytest.mark.django_db
def test_the_log_and_the_problem_document_have_the_number_of_the_answer(log: StringIO) -> None:
    answer = Client().get("/judge/", headers={"accept": "application/json"})
    assert answer.status_code == 401
    assert answer.json()["request"] == answer["X-Request-ID"]
    line = json.loads(log.getvalue().splitlines()[-1])
    assert line["request_id"] == answer["X-Request-ID"]
    assert (line["level"], line["logger"]) == ("WARNING", "django.request")
    Context().run(logging.getLogger("jobs").warning, "of no request")
    assert json.loads(log.getvalue().splitlines()[-1])["request_id"] == "-"


@pytest.mark.django_db
def test_why_a_clip_cannot_be_sent_is_one_line(log: StringIO, batch: Batch, ada: Membership) -> None:
    held = claim(ada)
    clip = held.candidates_in_order()[0].clip
    assert clip
    Clip.objects.filter(pk=clip.pk).update(state=Clip.State.READY, file="clips/gone.mp4")
    assert browser(ada).get(clip_addresses(held)[0]).status_code == 404
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    causes = [line["message"] for line in lines if line["logger"] == "corpus.clip_files"]
    assert len(causes) == 1
    assert causes[0].startswith("clip clips/gone.mp4: FileNotFoundError: ")


def test_sentry_is_told_nothing_that_a_corpus_or_a_person_says(tmp_path: Path) -> None:
    """Two events of a real client, as they go over the wire to a server of ours."""
    from tests.operations.listening import envelopes_of

    sent = envelopes_of(
        """
import logging
from config.operations.logs import request_id
request_id.set("0123456789")
caption = "a canary sits in a local variable"
try:
    raise ValueError("a canary sits in the message " + caption)
except ValueError:
    logging.getLogger("x").exception("query %s", "canary of a log line", extra={"user": "canary"})
from django.test import RequestFactory
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import got_request_exception
from sentry_sdk import capture_exception, set_user, add_breadcrumb, flush
set_user({"username": "canary"}); add_breadcrumb(message="canary")
capture_exception(RuntimeError("canary"))
flush(5)
""",
        tmp_path,
    )
    assert sent.count('"type":"ValueError"') == 1
    assert sent.count('"type":"RuntimeError"') == 1
    assert '"request":"0123456789"' in sent
    assert "query %s" in sent
    assert "canary" not in sent


def test_a_line_of_the_log_cannot_be_forged() -> None:
    described: dict[str, Any] = dict(LOGGING["formatters"]["line"])
    formatter = import_string(described.pop("()"))(described.pop("format"), **described)
    record = logging.makeLogRecord(
        {"msg": "no /x\r\n2026 ERROR forged \x1b[2J é", "request_id": "-", "levelname": "INFO"}
    )
    line = formatter.format(record)
    assert line.endswith("no /x\\r\\n2026 ERROR forged \\x1b[2J é")
    assert line.count("\n") == 0
