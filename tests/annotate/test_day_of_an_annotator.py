"""A whole day of an annotator: an exam failed, taught and passed, three batches, and my page, which shows all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import Person, cut_off, make_campaign, moving, press, wait_until_open
from tests.installation import Installation

pytestmark = pytest.mark.timeout(900)
NAME, WHY = "whole-day", "She stands at the end, which a 4 must not miss."
EXAM = f"""
from campaigns.models import Campaign
from judging.models.sitting import exam_batches
from judging.quality.exam import set_exam, set_truth
campaign = Campaign.objects.get(name="{NAME}")
set_exam(campaign, seed=1, queries=1, depth=3, keep_in_pool=True)
Campaign.objects.filter(pk=campaign.pk).update(exam_rounds=1, hourly_rate=14, currency="SGD")
for batch in exam_batches(campaign):
    set_truth(batch, {{pair.rank: (4, "{WHY}") for pair in batch.candidates.all()}})
"""
EXAM_IS_OPEN = f"""
from judging.models import Batch
from tests.waiting import wait_until
ready = Batch.objects.filter(query__campaign__name="{NAME}", kind="exam", state="open")
wait_until(ready.exists, lambda: "the exam is open")
"""


@pytest.fixture
def place(server: Installation) -> Installation:
    make_campaign(server, NAME, queries=4)
    wait_until_open(server, NAME, 4)
    server.shell(EXAM)
    server.shell(EXAM_IS_OPEN)
    return server


@pytest.fixture
def lead(place: Installation, chromium: Browser) -> Iterator[Person]:
    password = place.accounts(NAME, "lead", "lola")["lola"]
    person = Person(place, chromium.new_context(), "lola", password)
    yield person
    person.context.close()
    assert person.faults == []


def test_a_day(place: Installation, chromium: Browser, lead: Person) -> None:
    password = place.accounts(NAME, "annotator", "dana")["dana"]
    dana = Person(place, chromium.new_context(viewport={"width": 1366, "height": 625}), "dana", password)
    fails_and_is_taught(dana, lead)
    passes(dana)
    first_batch_with_a_question_and_a_break(dana, lead)
    second_batch_with_an_outage(dana)
    third_batch_begun_on_a_phone(dana, chromium)
    my_page_shows_all_of_it(dana)
    assert "BROKEN" not in place.manage("audit", NAME)
    dana.context.close()


def fails_and_is_taught(dana: Person, lead: Person) -> None:
    dana.judge("044")
    page, campaign = dana.page, f"{dana.place.address}/campaigns/{NAME}/"
    page.wait_for_url(f"**/judge/{NAME}/exam")
    expect(page.locator(".example")).to_have_count(1)
    expect(page.locator(".example")).to_contain_text(WHY)
    expect(page.locator(".example .dot")).to_have_text("0")
    lead.page.goto(f"{campaign}exam/")
    lead.page.locator("tbody a[href*='/annotators/']").first.click()
    lead.page.locator("[name=reason]").fill("She has read why.")
    lead.page.click("[name=verdict][value=repeat]")
    expect(lead.page.locator(".message.success")).to_be_visible()


def passes(dana: Person) -> None:
    page = dana.claim()
    expect(page.locator("#position")).to_have_text("Exam · 1 of 1")
    expect(page.locator("#note")).to_contain_text(WHY)
    press(page, "4")
    dana.submit()
    page.wait_for_url(f"**/judge/{NAME}/exam")
    expect(page.locator(".passed")).to_be_visible()
    page.click(".passed form button")
    page.wait_for_selector("#workplace")


def first_batch_with_a_question_and_a_break(dana: Person, lead: Person) -> None:
    page = dana.page
    press(page, *"012")
    page.keyboard.press("q")
    page.keyboard.type("Does a stool count as a chair?")
    page.click("#asking button[value=query]")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    lead.page.goto(f"{dana.place.address}/campaigns/{NAME}/questions/")
    lead.page.fill("[name=text]", "It does.")
    lead.page.get_by_role("button", name="Send").click()
    page.keyboard.press("b")
    expect(page.locator("#rest")).to_be_visible()
    page.keyboard.press("b")
    judge_the_rest(page, "3")
    page.keyboard.press("Enter")
    expect(page.locator("#moment")).to_be_visible()
    expect(page.locator("#tally")).to_have_text(re.compile("1.*1.*1.*17", re.S))
    expect(page.locator("#earned")).to_contain_text("SGD")
    page.keyboard.press("Enter")
    expect(page.locator("#position")).to_have_text("1 / 20")


def second_batch_with_an_outage(dana: Person) -> None:
    page = dana.page
    moving(page)
    cut_off(page)
    press(page, *"4444")
    expect(page.locator("#saved")).to_contain_text("kept here")
    page.unroute_all()
    page.evaluate("() => window.dispatchEvent(new Event('online'))")
    judge_the_rest(page, "1")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.keyboard.press("Enter")
    expect(page.locator("#moment")).to_be_visible()
    dana.faults.clear()  # of the outage
    page.click("#moment ~ footer a.link, footer a.link")
    page.wait_for_url("**/judge/")


def third_batch_begun_on_a_phone(dana: Person, chromium: Browser) -> None:
    phone = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    on_phone = Person(dana.place, phone, "dana", dana.password)
    page = on_phone.claim()
    for _ in range(5):
        moving(page)
        page.tap("[data-grade='2']")
    expect(page.locator("#position")).to_have_text("6 / 20")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    phone.close()
    assert on_phone.faults == []
    page = dana.claim()
    expect(page.locator("#position")).to_have_text("6 / 20")
    judge_the_rest(page, "0")
    page.keyboard.press("Enter")
    expect(page.locator("#moment")).to_be_visible()


def my_page_shows_all_of_it(dana: Person) -> None:
    page = dana.page
    page.goto(f"{dana.place.address}/judge/{NAME}/mine")
    cells = page.locator("tr.total td.n")
    expect(cells.nth(0)).to_have_text("3")
    expect(cells.nth(1)).to_have_text("60")
    expect(page.locator(".letter")).to_contain_text("Does a stool count as a chair?")
    expect(page.locator(".letter")).to_contain_text("It does.")
    assert dana.faults == []


def judge_the_rest(page: Page, key: str) -> None:
    while page.locator("#summary").is_hidden():
        press(page, key)
    expect(page.locator("#submit")).to_be_focused()
