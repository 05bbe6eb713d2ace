"""The exam in a real browser: judged, one pair comes back with its explanation, is judged again, and work comes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import Person, moving
from tests.films import write_film
from tests.installation import Installation, installation

pytestmark = [pytest.mark.no_database, pytest.mark.timeout(300)]
WHY = "Look at the hands."


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    """A running installation with a campaign of three queries."""
    with installation(tmp_path, "sqlite") as made:
        media = str(tmp_path / "films" / "media")
        moments = str(write_film(tmp_path / "films"))
        made.manage("import_corpus", "films", moments, "--format", "tvr", "--type", "v", "--media", media)
        queries = [
            {"query_id": n, "query": f"A person sits down on chair {n}."} for n in ("one", "two", "three")
        ]
        (tmp_path / "queries.json").write_text(json.dumps(queries))
        made.manage(
            "create_campaign", "films", "--corpus", "films", "--queries", str(tmp_path / "queries.json")
        )
        yield made


def person(place: Installation, chromium: Browser, name: str, role: str = "annotator") -> Person:
    passwords = place.accounts("films", role, name)
    return Person(place, chromium.new_context(), name, passwords[name])


def test_what_is_off_comes_back_and_then_there_is_work(place: Installation, chromium: Browser) -> None:
    lead, ada = person(place, chromium, "leo", "lead"), person(place, chromium, "ada")
    make_exam(lead.page, f"{place.address}/campaigns/films/")
    expect_home(ada, "there is an exam: 6 clips", "Begin the exam")
    ada.judge("144")
    expect_home(ada, "in the middle of the exam", "Continue the exam")
    ada.judge("4")

    expect_home(ada, "1 clip of your exam came back", "Judge the clips that came back")
    page = ada.claim()
    expect(page.locator("#position")).to_have_text("1 / 1")
    expect(page.locator("[data-grade][aria-pressed=true]")).to_have_count(0)
    told = json.loads(page.locator("#assignment").text_content() or "")
    assert [(each["note"], each["grade"]) for each in told["places"]] == [(WHY, None)]
    moving(page)
    page.keyboard.press("3")
    page.click("#submit")
    page.wait_for_url("**/judge/")

    expect(page.locator("form[action$='/claim'] button")).to_have_text("Give me a batch")
    ada.claim()
    expect(page.locator("#position")).to_have_text("1 / 20")
    lead.page.goto(f"{place.address}/campaigns/films/exam/")
    expect(lead.page.locator("tbody tr").first).to_contain_text("Passed in round 2")
    expect(lead.page.locator("tbody tr").first).to_contain_text(re.compile(r"1 of 6,\s+0 of 1"))
    assert lead.faults == ada.faults == []
    assert "BROKEN" not in place.manage("audit")


def make_exam(page: Page, campaign: str) -> None:
    """By the lead's button, once the queries are ranked; then the truth of each pair, 4, and why."""
    expect_squares(page, campaign, 3)
    page.goto(f"{campaign}exam/")
    page.fill("[name=queries]", "2")
    page.fill("[name=depth]", "3")
    page.click("main button")
    expect(page.locator(".message")).to_contain_text("The exam is made")
    for number in range(2):
        page.goto(f"{campaign}exam/")
        page.locator("tbody a[href*='/batches/']").nth(number).click()
        for rank in (1, 2, 3):
            page.select_option(f"[name=truth-{rank}]", "4")
            page.fill(f"[name=why-{rank}]", WHY)
        page.click("main button")
        expect(page.locator(".message")).to_contain_text("Saved")


def expect_squares(page: Page, campaign: str, number: int) -> None:
    for _ in range(240):
        page.goto(campaign)
        if page.locator("a.square.open").count() == number:
            return
        page.wait_for_timeout(500)
    raise AssertionError(f"the queries were not ranked: {page.content()}")


def expect_home(someone: Person, words: str, button: str) -> None:
    someone.page.goto(f"{someone.place.address}/judge/")
    expect(someone.page.locator("section.home")).to_contain_text(words)
    expect(someone.page.locator("form[action$='/claim'] button")).to_have_text(button)
