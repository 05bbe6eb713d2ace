"""A clip is gone or cut off on the disk: one says so, flags it, and judges the others."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, expect

from tests import browsing
from tests.browsing import Person, moving
from tests.faults.account import check
from tests.faults.conftest import Note
from tests.faults.crowd import at_work, make_background, make_people
from tests.installation import Installation

pytestmark = pytest.mark.long
GONE, CUT_OFF, WHOLE = 1, 2, 3  # positions; the first is flagged, so that the page begins with the second


def test_a_clip_that_is_gone_or_cut_off_stops_nobody(server: Installation, chromium: Browser, note: Note) -> None:
    browsing.make_campaign(server, "gone")
    browsing.wait_until_open(server, "gone", 1)
    (ada,) = make_people(server, "gone", 1)
    handed = ada.claim()
    assert handed
    clips = {position: str(handed["places"][position - 1]["clip"]) for position in (GONE, CUT_OFF, WHOLE)}
    whole = {position: ada.ask("GET", clip).content for position, clip in clips.items()}
    file_of(server, clips[GONE]).unlink()
    half = whole[CUT_OFF][: len(whole[CUT_OFF]) // 2]
    file_of(server, clips[CUT_OFF]).write_bytes(half)
    with at_work(crowd := make_background(server, "gone-load")) as load:
        load.reach(1)
        assert ada.ask("GET", clips[GONE]).status == 404
        assert ada.ask("GET", clips[CUT_OFF]).content == half  # no promise of more bytes than there are
        assert ada.ask("GET", clips[WHOLE]).content == whole[WHOLE]  # the control
        load.more(10)
    body = {"reason": "clip", "fence": handed["fence"], "key": str(uuid4()), "press": 1}
    assert ada.ask("PUT", f"/judge/assignments/{handed['token']}/flags/{GONE}", body).is_good
    look(server, chromium, ada.name)
    check(server, crowd)
    note("clip missing or truncated", "sqlite", check(server, [ada]))


def look(place: Installation, chromium: Browser, name: str) -> None:
    """The page says that the clip which is cut off does not load, takes no grade for it, and goes on after a flag."""
    set_password = f"from django.contrib.auth.models import User; u = User.objects.get(username={name!r})"
    place.shell(f"{set_password}; u.set_password('a-long-word-7'); u.save()")
    page = Person(place, chromium.new_context(), name, "a-long-word-7").claim()
    expect(page.locator("#absent")).to_contain_text("does not load")
    page.keyboard.press("4")
    expect(page.locator("#position")).to_have_text(f"{CUT_OFF} / 20")
    page.keyboard.press("f")
    page.click("[data-reason='clip']")
    expect(page.locator("#position")).to_have_text(f"{WHOLE} / 20")
    moving(page)


def file_of(place: Installation, clip: str) -> Path:
    return place.home / "media" / "clips" / f"{clip.rpartition('/')[2]}.mp4"
