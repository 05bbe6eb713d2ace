"""Nobody fills the disk or the memory by what they send: a large body is refused before it is read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.wsgi import get_wsgi_application
from django.test import Client, RequestFactory
from django.urls import reverse

from campaigns.models import Membership
from tests.cast import browser

TYPES = ["multipart/form-data; boundary=b", "application/x-www-form-urlencoded", "application/json"]


class Unread:
    """A body of which nobody may read anything."""

    def read(self, *size: int) -> bytes:
        raise AssertionError("the body was read")

    readline = read


@pytest.mark.parametrize("content_type", TYPES)
@pytest.mark.parametrize("length", ["600000000", "1048577", "1" + "0" * 30, "-1", "many"])
def test_a_large_body_is_refused_unread(db: None, content_type: str, length: str) -> None:
    environ = RequestFactory().generic("POST", reverse("sign-in"), content_type=content_type).environ
    environ |= {"CONTENT_LENGTH": length, "wsgi.input": Unread()}
    statuses: list[str] = []
    application: Any = get_wsgi_application()
    b"".join(application(environ, lambda status, headers: statuses.append(status)))
    assert statuses == ["413 Request Entity Too Large"]


def test_a_large_body_is_refused_from_members_too(ada: Membership) -> None:
    for address in (reverse("claim", args=["films"]), reverse("account_change_password"), reverse("join"), "/nowhere"):
        assert browser(ada).post(address, {"text": "x" * 2**20}).status_code == 413


def test_a_file_is_not_kept_wherever_it_is_sent(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    form = {"username": "ada", "password": "wrong", "file": SimpleUploadedFile("film.mp4", b"x" * 500_000)}
    answer: Any = Client().post(reverse("sign-in"), form)
    assert (answer.status_code, answer.wsgi_request.FILES) == (200, {})
    assert answer.wsgi_request.POST["username"] == "ada"
    assert list(tmp_path.iterdir()) == []
