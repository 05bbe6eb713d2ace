"""Shift with the key of a grade, or with a click on its button: the grade is between two."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import Person, make_campaign, moving, press, wait_until_open
from tests.installation import Installation

pytestmark = pytest.mark.timeout(600)
# As browsers report Shift and a key of the row of digits: on a French keyboard it gives the digit.
FRENCH = """(digit) => document.body.dispatchEvent(new KeyboardEvent(
    "keydown", { key: digit, code: `Digit${digit}`, shiftKey: true, bubbles: true, cancelable: true }))"""
NUMPAD = """() => document.body.dispatchEvent(new KeyboardEvent(
    "keydown", { key: "ArrowLeft", code: "Numpad4", shiftKey: true, bubbles: true, cancelable: true }))"""


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    make_campaign(server, "doubt", queries=3)
    wait_until_open(server, "doubt", 3)
    return server


@pytest.fixture
def page(place: Installation, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    name = request.node.originalname.removeprefix("test_")[:40]
    person = Person(place, chromium.new_context(), name, place.accounts("doubt", "annotator", name)[name])
    yield person.claim()
    person.context.close()
    assert person.faults == []


def signs(page: Page, clips: int) -> list[str]:
    """What the list of all clips shows of the first ones."""
    return [page.locator(f"#strip [data-number='{number}'] strong").inner_text() for number in range(1, clips + 1)]


def test_shift_marks_a_grade_as_between_two(page: Page) -> None:
    press(page, "Shift+Digit3")
    expect(page.locator("#hint")).to_have_text("3 ± for clip 1 ✓ · ← to change")
    press(page, "3")
    moving(page)
    page.click("[data-grade='1']", modifiers=["Shift"])
    moving(page)
    page.evaluate(FRENCH, "2")
    moving(page)
    page.evaluate(NUMPAD)
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.reload()
    moving(page)
    page.keyboard.press("a")
    assert signs(page, 6) == ["3 ±", "3", "1 ±", "2", "4 ±", "–"]
    expect(page.locator("#strip [data-number='1']")).to_have_accessible_name("Clip 1: grade 3, between two grades")
    page.locator("#strip [data-number='1']").click()
    expect(page.locator("[data-grade='3']")).to_have_accessible_name(re.compile("^3 .*between two grades"))
    press(page, "3")  # without doubt now
    page.keyboard.press("a")
    assert signs(page, 2) == ["3", "3"]


def test_shift_works_with_letters_that_a_person_chose(page: Page, place: Installation) -> None:
    workplace = page.url
    page.goto(f"{place.address}/judge/preferences")
    for number, letter in enumerate("zxdnj"):
        page.locator(f"[name=grade{number}]").focus()
        page.keyboard.press(letter)
    page.locator("main form button.primary").first.click()
    page.goto(workplace)
    press(page, "Shift+KeyX", "x")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.keyboard.press("a")
    assert signs(page, 3) == ["1 ±", "1", "–"]
