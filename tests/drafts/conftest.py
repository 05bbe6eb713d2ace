"""Somebody who may create campaigns, and the draft of one that lacks nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from campaigns.access import let_create
from drafts.models import Draft, Upload
from drafts.uploads import store_text
from tests.cast import browser

MOMENTS = "video,start,end,description,duration\n" + "".join(
    f"film-{number % 3},{number},{number + 1.5},A person sits down on chair {number}.,60\n" for number in range(30)
)


@pytest.fixture(autouse=True)
def _uploads_in(settings: Any, tmp_path: Path) -> None:
    settings.UPLOAD_ROOT = tmp_path / "uploads"


@pytest.fixture
def nora(db: None) -> User:
    user = User.objects.create(username="nora")
    let_create(user)
    return User.objects.get(pk=user.pk)


@pytest.fixture
def client(nora: User) -> Client:
    return browser(nora)


@pytest.fixture
def draft(nora: User) -> Draft:
    made = Draft.objects.create(owner=nora, corpus_name="own", format="csv", name="mine")
    store_text(made, Upload.Purpose.MOMENTS, "moments.csv", MOMENTS)
    store_text(made, Upload.Purpose.QUERIES, "pasted.txt", "A person sits down.\n\nSomebody stands up.\n")
    return made


def announced(client: Client, draft: Draft, name: str, size: int, purpose: str = "film") -> Any:
    """The answer to the announcement of a file."""
    body = json.dumps({"purpose": purpose, "name": name, "size": size})
    address = f"/new-campaign/{draft.token}/uploads"
    return client.post(address, body, content_type="application/json", headers={"accept": "application/json"})
