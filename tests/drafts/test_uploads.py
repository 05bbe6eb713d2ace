"""Files arrive in pieces: an upload goes on where it broke off, and nothing but the whole file counts."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoCaptureOnCommitCallbacks as Commits

from campaigns.uploads import NoRoom, append
from corpus.models import Corpus
from drafts.models import FILMS, Draft, Upload
from drafts.uploads import begin, forget_uploads, read_whole, remove_draft
from systems.features.film_names import DEMUXERS
from tests.cast import browser
from tests.drafts.conftest import announced
from tests.together import at_once

JSON = {"accept": "application/json"}
FILM = bytes(range(256)) * 100


def sent(client: Client, address: str, offset: int, piece: bytes, checksum: str | None = None) -> Any:
    digest = hashlib.sha256(piece).hexdigest() if checksum is None else checksum
    headers = JSON | {"Upload-Offset": str(offset)} | ({"Upload-Checksum": f"sha256 {digest}"} if digest else {})
    return client.patch(address, piece, content_type="application/offset+octet-stream", headers=headers)


def test_pieces_become_the_file(client: Client, draft: Draft) -> None:
    answer = announced(client, draft, "holiday.mp4", len(FILM))
    assert (answer.status_code, answer.json()["received"]) == (201, 0)
    address = answer.json()["address"]
    for offset in range(0, len(FILM), 10_000):
        answer = sent(client, address, offset, FILM[offset : offset + 10_000])
        assert answer.status_code == 200
    assert answer.json()["whole"]
    upload = Upload.objects.get(name="holiday.mp4")
    assert upload.path.read_bytes() == FILM
    assert upload.path.parent == draft.folder
    assert "holiday" not in str(upload.path)
    assert read_whole(upload) == hashlib.sha256(FILM).hexdigest()


def test_it_goes_on_where_it_broke_off(client: Client, draft: Draft) -> None:
    address = announced(client, draft, "holiday.mp4", len(FILM)).json()["address"]
    sent(client, address, 0, FILM[:9000])
    again = announced(client, draft, "holiday.mp4", len(FILM)).json()
    assert (again["address"], again["received"]) == (address, 9000)
    assert client.get(address).json()["received"] == 9000
    assert sent(client, address, 0, FILM[:9000]).status_code == 200  # its answer was lost
    ahead = sent(client, address, 10_000, FILM[10_000:])
    assert (ahead.status_code, ahead.json()["received"]) == (409, 9000)
    assert sent(client, address, 9000, FILM[9000:]).json()["whole"]
    assert Upload.objects.get(name="holiday.mp4").path.read_bytes() == FILM


def test_what_a_crash_left_behind_is_written_over(client: Client, draft: Draft) -> None:
    """The piece was written, and the row was not."""
    upload = begin(draft, "film", "a.mp4", 8)
    append(upload, 0, b"abcd")
    with upload.path.open("ab") as file:
        file.write(b"????????????")
    append(upload, 4, b"efgh")
    assert upload.path.read_bytes() == b"abcdefgh"


def test_a_late_piece_does_not_cut_off_those_after_it(draft: Draft) -> None:
    """Another tab sends the first piece, too, and has read the row before that piece counted."""
    upload = begin(draft, "film", "a.mp4", 12)
    late = Upload.objects.select_related("draft").get(pk=upload.pk)
    append(upload, 0, b"abcd")
    append(upload, 4, b"efgh")
    assert append(late, 0, b"abcd").received == 8
    append(upload, 8, b"ijkl")
    assert upload.path.read_bytes() == b"abcdefghijkl"


def test_a_damaged_piece_is_refused(client: Client, draft: Draft) -> None:
    address = announced(client, draft, "a.mp4", 4).json()["address"]
    answer = sent(client, address, 0, b"abcd", checksum="0" * 64)
    assert (answer.status_code, answer.json()["field"]) == (400, "Upload-Checksum")
    assert client.get(address).json()["received"] == 0
    assert sent(client, address, 0, b"abcd", checksum="").status_code == 200  # a browser that computes none


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "a.exe"}, "name"),
        ({"name": "a"}, "name"),
        ({"name": "../a.mp4"}, "name"),
        ({"name": "/etc/a.mp4"}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a\n.mp4"}, "name"),
        ({"name": "a" * 300 + ".mp4"}, "name"),
        ({"name": 7}, "name"),
        ({"size": 0}, "size"),
        ({"size": -1}, "size"),
        ({"size": "9"}, "size"),
        ({"size": True}, "size"),
        ({"size": 2.5}, "size"),
        ({"size": 10**40}, "size"),
        ({"purpose": "program"}, "purpose"),
        ({"purpose": None}, "purpose"),
    ],
)
def test_a_wrong_announcement_is_refused(client: Client, draft: Draft, body: dict[str, Any], field: str) -> None:
    announcement = {"purpose": "film", "name": "a.mp4", "size": 9} | body
    answer = client.post(
        reverse("uploads", args=[draft.token]), announcement, content_type="application/json", headers=JSON
    )
    assert (answer.status_code, answer.json().get("field")) == (400, field)
    assert not draft.uploads.filter(purpose="film").exists()


@pytest.mark.parametrize("body", ["", "[]", "nothing", "[" * 100_000, "7"])
def test_what_is_no_announcement_is_refused(client: Client, draft: Draft, body: str) -> None:
    answer = client.post(reverse("uploads", args=[draft.token]), body, content_type="application/json", headers=JSON)
    assert answer.status_code == 400


@pytest.mark.parametrize("offset", ["", "-1", "1.5", "x", "9" * 30])
def test_a_piece_tells_its_place(client: Client, draft: Draft, offset: str) -> None:
    address = announced(client, draft, "a.mp4", 4).json()["address"]
    headers = JSON | {"Upload-Offset": offset}
    answer = client.patch(address, b"abcd", content_type="application/octet-stream", headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (400, "Upload-Offset")


def test_no_more_arrives_than_was_announced(client: Client, draft: Draft) -> None:
    address = announced(client, draft, "a.mp4", 4).json()["address"]
    assert sent(client, address, 0, b"abcde").status_code == 400
    assert sent(client, address, 0, b"x" * (2**20 + 1)).status_code == 413
    assert client.get(address).json()["received"] == 0


def test_size_and_room_are_limited(client: Client, draft: Draft, settings: Any) -> None:
    settings.UPLOAD_MIB = 1
    answer = announced(client, draft, "a.mp4", 2**20 + 1)
    assert (answer.status_code, "UPLOAD_MIB" in answer.json()["detail"]) == (413, True)
    settings.UPLOAD_LEAVE_MIB = 10**9
    answer = announced(client, draft, "a.mp4", 9)
    assert (answer.status_code, "UPLOAD_ROOT" in answer.json()["detail"]) == (507, True)
    assert not draft.uploads.filter(purpose="film").exists()


def test_files_that_are_read_whole_are_smaller(client: Client, draft: Draft) -> None:
    for purpose in ("durations", "queries"):
        answer = announced(client, draft, "a.json", 64 * 2**20 + 1, purpose)
        assert (answer.status_code, "at most 64 MiB" in answer.json()["detail"]) == (413, True)
    for step, most in (("draft-queries", "64.0 MB"), ("draft-data", "8.0 GB")):
        page = client.get(reverse(step, args=[draft.token])).content.decode().replace("\xa0", " ")
        assert f"At most {most} a file" in page


def test_room_is_looked_for_with_each_piece(client: Client, draft: Draft, settings: Any) -> None:
    address = announced(client, draft, "a.mp4", 8).json()["address"]
    sent(client, address, 0, b"abcd")
    settings.UPLOAD_LEAVE_MIB = 10**9  # others filled the disk meanwhile
    assert sent(client, address, 4, b"efgh").status_code == 507
    assert client.get(address).json()["received"] == 4


def test_an_upload_for_which_there_is_no_room_replaces_nothing(
    client: Client, draft: Draft, settings: Any, django_capture_on_commit_callbacks: Commits
) -> None:
    old = draft.upload_for("moments")
    assert old
    settings.UPLOAD_LEAVE_MIB = 10**9
    with django_capture_on_commit_callbacks(execute=True):
        assert announced(client, draft, "other.csv", 10, "moments").status_code == 507
    assert draft.upload_for("moments") == old
    assert old.path.stat().st_size == old.size


def test_the_room_of_what_is_replaced_is_free(draft: Draft, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    old = draft.upload_for("moments")
    assert old
    settings.UPLOAD_LEAVE_MIB = 0
    monkeypatch.setattr("shutil.disk_usage", lambda folder: Mock(free=0))
    assert begin(draft, "moments", "other.csv", old.size)
    with pytest.raises(NoRoom):
        begin(draft, "moments", "third.csv", old.size)  # nothing of the other one has arrived


def test_a_full_disk_keeps_what_has_arrived(client: Client, draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    address = announced(client, draft, "a.mp4", 8).json()["address"]
    sent(client, address, 0, b"abcd")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert sent(client, address, 4, b"efgh").status_code == 507
    assert client.get(address).json()["received"] == 4
    assert sent(client, address, 4, b"efgh").json()["whole"]


def test_others_reach_neither_the_draft_nor_its_files(client: Client, draft: Draft, outsider: User) -> None:
    address = announced(client, draft, "a.mp4", 4).json()["address"]
    other = browser(outsider)
    assert other.get(address).status_code == 404
    assert sent(other, address, 0, b"abcd").status_code == 404
    assert announced(other, draft, "b.mp4", 4).status_code == 404
    # One who may create, but not with this draft.
    outsider.user_permissions.set(draft.owner.user_permissions.all())
    assert other.get(address).status_code == 404
    assert other.get(reverse("draft-data", args=[draft.token])).status_code == 404


def test_a_purpose_has_one_file_and_films_are_many(draft: Draft, django_capture_on_commit_callbacks: Commits) -> None:
    old = draft.upload_for("moments")
    assert old
    with django_capture_on_commit_callbacks(execute=True):
        begin(draft, "moments", "other.csv", 10)
    assert not old.path.exists()
    assert draft.uploads.filter(purpose="moments").count() == 1
    for name in ("a.mp4", "b.mp4", "a.mp4"):
        append(begin(draft, "film", name, 4), 0, b"abcd")
    assert draft.uploads.filter(purpose="film").count() == 2


def test_removing_a_draft_removes_its_files_but_never_films_of_a_corpus(draft: Draft, nora: User) -> None:
    folder = draft.folder
    assert list(folder.iterdir())
    remove_draft(draft)
    assert not folder.exists()
    other = Draft.objects.create(owner=nora)
    append(begin(other, "film", "a.mp4", 4), 0, b"abcd")
    Corpus.objects.create(name="made", format="csv", media_folder=str(other.folder))
    remove_draft(other)
    assert other.folder.exists()


def test_upkeep_deletes_what_nobody_finishes(
    draft: Draft, nora: User, settings: Any, django_capture_on_commit_callbacks: Commits
) -> None:
    partial_one, whole_one = (begin(draft, "film", name, 4) for name in ("a.mp4", "b.mp4"))
    append(partial_one, 0, b"ab")
    append(whole_one, 0, b"abcd")
    forget_uploads()
    assert partial_one.path.exists()
    Upload.objects.update(touched=Now() - timedelta(days=8))
    with django_capture_on_commit_callbacks(execute=True):
        forget_uploads()
    assert not partial_one.path.exists()
    assert whole_one.path.exists()
    left_over, foreign = Path(settings.UPLOAD_ROOT) / ("0" * 32), Path(settings.UPLOAD_ROOT) / "mine"
    for each in (left_over, foreign):
        each.mkdir()
        os.utime(each, (0, 0))
    Draft.objects.update(touched=Now() - timedelta(days=61))
    forget_uploads()
    assert not Draft.objects.exists()
    assert [each.name for each in Path(settings.UPLOAD_ROOT).iterdir()] == ["mine"]


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_of_pieces_sent_at_once_each_counts_once(draft: Draft) -> None:
    upload = begin(draft, "film", "a.mp4", len(FILM))
    fresh = [Upload.objects.select_related("draft").get(pk=upload.pk) for _ in range(8)]
    at_once(*(partial(append, each, 0, FILM[:5000]) for each in fresh))
    upload.refresh_from_db()
    assert upload.received == 5000
    append(upload, 5000, FILM[5000:])
    assert upload.path.read_bytes() == FILM


def test_the_known_films_are_those_that_can_be_cut() -> None:
    assert DEMUXERS.keys() == FILMS


def test_films_that_are_announced_are_added_up_until_they_are_there(
    client: Client, draft: Draft, settings: Any
) -> None:
    settings.UPLOAD_MIB_UNFINISHED = 1
    half = 600 * 1024
    address = announced(client, draft, "one.mp4", half).json()["address"]
    refused = announced(client, draft, "two.mp4", half)
    assert (refused.status_code, refused["Retry-After"]) == (429, "60")
    assert announced(client, draft, "one.mp4", half).status_code == 201  # the same file goes on
    assert sent(client, address, 0, bytes(half)).json()["whole"]
    assert announced(client, draft, "two.mp4", half).status_code == 201
