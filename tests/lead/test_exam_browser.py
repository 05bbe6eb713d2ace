"""The exam in a real browser: judged, one pair comes back with its reason, is judged again, and work comes."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import Person, make_campaign, moving, wait_until_open
from tests.installation import Installation

pytestmark = pytest.mark.timeout(300)
WHY = "Look at the hands."


@pytest.fixture
def place(server: Installation) -> Installation:
    """The running installation, with a campaign of three queries."""
    make_campaign(server, "exam", queries=3)
    wait_until_open(server, "exam", 3)
    return server


def person(place: Installation, chromium: Browser, name: str, role: str = "annotator") -> Person:
    passwords = place.accounts("exam", role, name)
    return Person(place, chromium.new_context(), name, passwords[name])


def test_what_is_off_comes_back_and_then_there_is_work(place: Installation, chromium: Browser) -> None:
    lead, ada = person(place, chromium, "lena", "lead"), person(place, chromium, "emma")
    make_exam(lead.page, f"{place.address}/campaigns/exam/")
    expect_home(ada, "there is an exam: 6 clips", "Begin the exam")
    ada.judge("144")
    expect_home(ada, "in the middle of the exam", "Continue the exam")
    ada.grade("4")
    page = ada.page
    page.click("#submit")
    page.wait_for_url("**/judge/exam/exam")
    expect(page.locator("h1")).to_have_text("1 clip comes back to you")
    expect(page.locator("article")).to_contain_text(WHY)
    expect(page.locator("article .dot")).to_have_text("1")
    page.wait_for_function("() => document.querySelector('article video').currentTime > 0")
    expect_home(ada, "1 clip of your exam came back", "Judge the clips that came back")
    page = ada.claim()
    expect(page.locator("#position")).to_have_text("Exam · 1 of 1")
    expect(page.locator("[data-grade][aria-pressed=true]")).to_have_count(0)
    assignment = json.loads(page.locator("#assignment").text_content() or "")
    assert [(each["note"], each["grade"]) for each in assignment["places"]] == [(WHY, None)]
    moving(page)
    page.keyboard.press("3")
    page.click("#submit")
    page.wait_for_url("**/judge/exam/exam")
    expect(page.locator("h1")).to_have_text("You have passed the exam")
    page.get_by_role("button", name="Give me my first batch").click()
    expect(page.locator("#position")).to_have_text("1 / 20")
    lead.page.goto(f"{place.address}/campaigns/exam/exam/")
    expect(lead.page.locator("tbody tr").first).to_contain_text("Passed in round 2")
    expect(lead.page.locator("tbody tr").first).to_contain_text("1 of 6, 0 of 1")
    assert lead.faults == ada.faults == []
    assert "BROKEN" not in place.manage("audit", "exam")


def make_exam(page: Page, campaign: str) -> None:
    """By the lead's button; then the truth of each pair, 4, and why."""
    page.goto(f"{campaign}exam/")
    page.fill("[name=queries]", "2")
    page.fill("[name=depth]", "3")
    page.click("main button")
    expect(page.locator(".message.success")).to_contain_text("The exam is made")
    page.goto(f"{campaign}exam/?view=pairs")
    for number in range(1, 7):
        expect(page.locator("main")).to_contain_text(f"Pair {number} of 6")
        page.keyboard.press("4")
        page.fill("[name=why]", WHY)
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".message.success")).to_contain_text("Saved")


def expect_home(someone: Person, words: str, button: str) -> None:
    someone.page.goto(f"{someone.place.address}/judge/")
    expect(someone.page.locator("section.home")).to_contain_text(words)
    expect(someone.page.locator("form[action$='/claim'] button")).to_have_text(button)
