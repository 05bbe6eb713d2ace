"""The steps of a draft: their pages, and which are done."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import F, Sum
from django.urls import reverse

from campaigns.models import Draft, Upload
from judging.drafts.sources import wrong_at_first_look


class Step(NamedTuple):
    """A page of a draft, as the row of steps shows it."""

    name: str  # of its address
    words: str
    address: str
    done: bool
    here: bool


WORDS = {
    "draft-corpus": "Corpus",
    "draft-films": "Films",
    "draft-queries": "Queries",
    "draft-settings": "Settings",
    "draft-people": "People",
    "draft-check": "Check and create",
}


def steps(draft: Draft, here: str) -> list[Step]:
    """Return the steps, of which a corpus that is there needs no films."""
    done = _done(draft)
    names = [name for name in WORDS if draft.is_new_corpus or name != "draft-films"]
    return [Step(name, WORDS[name], reverse(name, args=[draft.token]), done[name], name == here) for name in names]


def after(draft: Draft, here: str) -> str:
    """Return the address of the next step."""
    listed = steps(draft, here)
    place = next((number for number, step in enumerate(listed) if step.here), 0)
    return listed[min(place + 1, len(listed) - 1)].address


def _done(draft: Draft) -> dict[str, bool]:
    missing = draft.uploads.values_list("purpose").annotate(bytes=Sum(F("size") - F("received")))
    whole = {purpose for purpose, left in missing if not left}
    return {
        "draft-corpus": not draft.is_new_corpus
        or bool(draft.corpus_name and Upload.Purpose.MOMENTS in whole and not wrong_at_first_look(draft)),
        "draft-films": draft.media == Draft.Media.FOLDER
        or (draft.media == Draft.Media.UPLOAD and Upload.Purpose.FILM in whole),
        "draft-queries": Upload.Purpose.QUERIES in whole or bool(draft.selection),
        "draft-settings": bool(draft.name),
        "draft-people": bool(draft.people),
        "draft-check": draft.is_ready,
    }
