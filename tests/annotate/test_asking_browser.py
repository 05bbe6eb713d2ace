"""Asking the lead from the workplace, at real browsers: by keys, without a network, and the answer while judging."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.annotate.test_keyboard import SHARE
from tests.browsing import Person, make_campaign, moving, press, signed_in, wait_until_open
from tests.installation import Installation

pytestmark = pytest.mark.timeout(900)
SHOWN_AGAIN = "() => document.dispatchEvent(new Event('visibilitychange'))"  # then answers are looked for


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    make_campaign(server, "asking")
    wait_until_open(server, "asking", 1)
    return server


def test_a_question_costs_no_grade_survives_an_outage_and_is_answered(place: Installation, chromium: Browser) -> None:
    annotators, leads = (
        place.accounts("asking", role, name) for role, name in (("annotator", "kira"), ("lead", "mara"))
    )
    with (
        signed_in(place, chromium, "kira", annotators["kira"]) as kira,
        signed_in(place, chromium, "mara", leads["mara"]) as mara,
    ):
        page = kira.claim()
        moving(page)
        asks_by_keys(kira)
        mara.page.goto(f"{place.address}/campaigns/asking/questions/")
        mara.page.fill("[name=text]", "Four of them do.")
        mara.page.get_by_role("button", name="Send").click()
        expect(mara.page.locator("main")).to_contain_text("Nothing waits.")
        press(page, "3")
        page.evaluate(SHOWN_AGAIN)
        expect(page.locator("#answered span")).to_have_text("Your lead on clip 1: Four of them do.")
        expect(page.locator("#position")).to_have_text("2 / 20")
        with page.expect_response("**/read"):
            page.keyboard.press("Enter")
        expect(page.locator("#position")).to_have_text("1 / 20")
        expect(page.locator("#note")).to_have_text("Your lead: Four of them do.")
        expect(page.locator("#answered")).to_be_hidden()
        page.goto(f"{place.address}/judge/asking/mine")
        expect(page.locator(".letter")).to_contain_text("Do 3 legs count?")
        expect(page.get_by_role("button", name="Mark as read")).to_be_hidden()
        page.locator("summary", has_text="Answer").click()
        page.locator(".letter textarea").fill("Thank you.")
        page.get_by_role("button", name="Send the answer").click()
        expect(page.locator(".letter")).to_contain_text("Your lead has not answered yet.")


def asks_by_keys(kira: Person) -> None:
    page, share = kira.page, kira.page.evaluate(SHARE)
    page.context.set_offline(True)
    page.keyboard.press("q")
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("#grades")).to_be_hidden()
    assert page.evaluate(SHARE) == pytest.approx(share)
    page.keyboard.type("Do 3 legs count?")
    page.keyboard.press("Tab")
    page.keyboard.press("4")  # grades nothing while the form is open
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#grades")).to_be_visible()
    expect(page.locator("#position")).to_have_text("1 / 20")
    expect(page.locator("#saved")).to_contain_text("kept here")
    page.context.set_offline(False)
    expect(page.locator("#saved")).to_have_text("saved ✓")
    kira.faults.clear()  # of the outage


def test_a_question_that_has_to_wait_is_in_the_form_again_and_holds_up_no_grade(
    place: Installation, chromium: Browser
) -> None:
    accounts = place.accounts("asking", "annotator", "wim")
    place.shell(
        "from datetime import timedelta; from django.contrib.auth.models import User; "
        "from django.utils import timezone; from campaigns.models import CacheEntry; "
        "CacheEntry.objects.create(cache_key=f\"QUESTION_RATE {User.objects.get(username='wim').pk}\", value='30', "
        "expires=timezone.now() + timedelta(hours=1))"
    )
    with signed_in(place, chromium, "wim", accounts["wim"]) as wim:
        page = wim.claim()
        moving(page)
        page.keyboard.press("q")
        page.keyboard.type("Do 3 legs count?")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#saved")).to_contain_text("in a short time. Try again in 60 min.")
        expect(page.locator("#question")).to_have_value("Do 3 legs count?")
        page.keyboard.press("Escape")
        press(page, "3")
        expect(page.locator("#saved")).to_have_text("saved ✓")
        wim.faults.clear()  # the refusal
