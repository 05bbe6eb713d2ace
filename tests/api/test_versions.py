"""The tag of an answer is the tag that a change takes, whatever program asks, and however the answer travels."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from campaigns.models import Membership
from metrics import Client
from tests.api.asking import Program

SETTINGS = "campaigns/films/settings"
Found = tuple[int, str]  # status and tag


def by_client(site: str, token: str, change: dict[str, Any] | None, tag: str) -> Found:
    with Client(site, token) as client:
        changed = client.ask("PATCH", SETTINGS, json=change, headers={"If-Match": tag}) if change else None
        answer = changed or client.ask("GET", SETTINGS)
    return answer.status_code, answer.headers["etag"]


def by_httpx(site: str, token: str, change: dict[str, Any] | None, tag: str) -> Found:
    return _by_library(httpx, site, token, change, tag)


def by_requests(site: str, token: str, change: dict[str, Any] | None, tag: str) -> Found:
    return _by_library(pytest.importorskip("requests"), site, token, change, tag)


def _by_library(library: Any, site: str, token: str, change: dict[str, Any] | None, tag: str) -> Found:
    headers = {"Authorization": f"Bearer {token}"} | ({"If-Match": tag} if change else {})
    answer = library.request("PATCH" if change else "GET", address(site), json=change, headers=headers)
    return answer.status_code, answer.headers.get("ETag", "")


def by_curl(site: str, token: str, change: dict[str, Any] | None, tag: str, *more: str) -> Found:
    if not shutil.which("curl"):
        pytest.skip("curl is not here")
    command = ["curl", "-s", *more, "-o", "/dev/null", "-w", "%{http_code} %header{etag}", address(site)]
    command += ["-H", f"Authorization: Bearer {token}"]
    if change:
        command += ["-X", "PATCH", "-H", f"If-Match: {tag}", "--json", json.dumps(change)]
    status, _, found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.partition(" ")
    return int(status), found


def by_curl_compressed(site: str, token: str, change: dict[str, Any] | None, tag: str) -> Found:
    return by_curl(site, token, change, tag, "--compressed")


def address(site: str) -> str:
    return f"{site}/api/v1/{SETTINGS}"


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ask", [by_client, by_httpx, by_requests, by_curl, by_curl_compressed])
def test_a_change_is_made_to_the_version_that_was_read(
    ask: Callable[..., Found], leo: Membership, live_server: Any
) -> None:
    token = Program(leo).headers["Authorization"].removeprefix("Bearer ")
    status, read = ask(live_server.url, token, None, "")
    assert status == 200
    status, changed = ask(live_server.url, token, {"second_from": 2.5}, read)
    assert status == 200
    assert changed != read
    if ask is not by_client:  # which raises an error
        assert ask(live_server.url, token, {"second_from": 1.5}, read)[0] == 412
    assert ask(live_server.url, token, {"second_from": 1.5}, f'"other", {changed}')[0] == 200
