"""The lead reviews by keys, undoes, accepts a list, reopens a candidate and grades a discarded one, in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import key, signed_in, wait_until_open
from tests.installation import Installation

pytestmark = pytest.mark.timeout(600)
TEXTS = ["A person sits down.", "A person stands up.", "Someone opens a door.", "Someone closes a door."]
# Asha and Ben grade all batches alike, but for the first two ranks of the first: those end discarded.
JUDGE = """
from campaigns.models import *
from judging.models import *
from judging.work.claiming import claim
from tests.cast import judge_all
campaign = Campaign.objects.get(name="review")
people = dict(campaign.memberships.filter(role="annotator").values_list("user__username", "pk"))
texts = list(Batch.objects.in_campaign(campaign).order_by("pk").values_list("query__text", flat=True))
def grade(name, candidate):
    if candidate.query.text == texts[0] and candidate.rank < 3:
        return {"asha": 0, "ben": 4, "chen": 0, "devi": 4}[name]
    return 4 if candidate.query.text == texts[1] else 1
for name in ("asha", "ben", "chen", "devi"):
    member = Membership.objects.get(pk=people[name])
    while work := claim(member):
        judge_all(work, lambda candidate: grade(name, candidate))
print("settled", Batch.objects.in_campaign(campaign).to_review().count())
print(*texts, sep="|")
"""


@pytest.fixture
def page(server: Installation, tmp_path: Path, chromium: Browser) -> Iterator[Page]:
    """Four settled batches, and their lead at a browser."""
    queries = tmp_path / "queries.json"
    queries.write_text(json.dumps([{"query_id": n, "query": text} for n, text in enumerate(TEXTS, 1)]))
    server.manage("create_campaign", "review", "--corpus", "films", "--queries", str(queries))
    wait_until_open(server, "review", len(TEXTS))
    server.accounts("review", "annotator", "asha", "ben", "chen", "devi")
    password = server.accounts("review", "lead", "rita")["rita"]
    printed = server.shell(JUDGE)
    assert "settled 4" in printed
    TEXTS[:] = printed.strip().split("\n")[-1].split("|")  # in the order in which they were opened, which is drawn
    with signed_in(server, chromium, "rita", password) as rita:
        yield rita.page


def test_a_lead_at_work(server: Installation, page: Page) -> None:
    campaign = f"{server.address}/campaigns/review"
    by_keys(page, campaign)
    by_the_list(page, campaign)
    putting_right(page)
    assert "BROKEN" not in server.manage("audit", "review")


def by_keys(page: Page, campaign: str) -> None:
    page.goto(f"{campaign}/reviews/")
    expect(page.locator("tbody tr")).to_have_count(4)
    key(page, "ArrowRight")
    expect(page.locator("h1")).to_have_text(TEXTS[0])
    expect(page.locator(".posters video")).to_have_count(20)
    page.wait_for_function("() => document.querySelector('.posters video').readyState >= 1")
    page.hover(".posters video")
    page.wait_for_function("() => document.querySelector('.posters video').currentTime > 0.2")
    page.hover("h1")
    page.wait_for_function("() => document.querySelector('.posters video').paused")
    key(page, "y")  # close
    expect(page.locator("h1")).to_have_text(TEXTS[1])
    expect(page.locator(".done")).to_contain_text(f"Close the query: done for “{TEXTS[0]}”")
    key(page, "Enter")  # the second batch
    expect(page.locator("h1")).to_have_text(TEXTS[2])
    key(page, "n")  # the second batch, against the recommendation
    expect(page.locator(".done")).to_contain_text(f"Open the second batch: done for “{TEXTS[2]}”")
    key(page, "u")
    expect(page.locator("h1")).to_have_text(TEXTS[2])
    expect(page.locator(".message:not(.done)")).to_contain_text("Undone")
    page.focus("[name=reason]")
    page.keyboard.type("bcn, yu")  # a reason is no command
    expect(page.locator("[name=reason]")).to_have_value("bcn, yu")
    enter_decides_only_what_is_recommended(page)
    as_far_as_it_goes(page, campaign)


def enter_decides_only_what_is_recommended(page: Page) -> None:
    """Not from the reason's field, whose first button is the second batch, nor on the other verdict's button."""
    page.keyboard.press("Enter")
    page.focus("[data-verdict]:not([data-recommended])")
    page.keyboard.press("Enter")
    page.reload()
    expect(page.locator("[data-recommended]")).to_be_focused()
    page.keyboard.press("Space")
    page.mouse.click(5, 300)
    page.keyboard.press("Enter")
    key(page, "ArrowLeft")
    expect(page.locator("h1")).to_have_text(TEXTS[3])
    key(page, "ArrowRight")
    expect(page.locator("h1")).to_have_text(TEXTS[2])
    expect(page.locator(".verdict")).to_contain_text("Close the query")


def as_far_as_it_goes(page: Page, campaign: str) -> None:
    """Whatever Shift and Caps Lock are; each undo brings its batch back, until nothing is left to undo."""
    page.goto(f"{campaign}/reviews/")
    expect(page.locator("tbody tr")).to_have_count(2)
    for letter, text in (("Shift+U", TEXTS[1]), ("u", TEXTS[0])):
        key(page, letter)
        expect(page.locator("h1")).to_have_text(text)
        expect(page.locator(".message:not(.done)")).to_contain_text("Undone")
    expect(page.locator(".done")).to_have_count(0)
    for letter, text in (("Y", TEXTS[1]), ("Shift+Y", TEXTS[2])):  # with Caps Lock a browser says Y
        key(page, letter)
        expect(page.locator("h1")).to_have_text(text)


def by_the_list(page: Page, campaign: str) -> None:
    page.goto(f"{campaign}/reviews/")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.click("text=Accept these 2 recommendations")
    expect(page.locator(".done")).to_contain_text("2 batches reviewed")
    key(page, "u")
    expect(page.locator(".message:not(.done)")).to_contain_text("Undone: 2 reviews")
    expect(page.locator("tbody tr")).to_have_count(2)


def putting_right(page: Page) -> None:
    page.goto(page.url.replace("reviews/", "?show=closed"))
    page.click("a.square.reviewed")
    expect(page.locator(".posters .contested")).to_have_count(2)
    page.click("#rank-1 summary")
    page.check("#rank-1 [name=grade][value='3']")
    page.fill("#rank-1 [name=reason]", "nearly all of it")
    page.click("#rank-1 form button:has-text('Give this grade')")
    expect(page.locator("#rank-1")).to_contain_text("It is not part of the consensus")
    expect(page.locator("#rank-1 td strong")).to_have_text("3")
    page.click("#rank-5 >> text=Judge again")
    expect(page.locator("main")).to_contain_text("2 judgements stay on record")
    page.fill("[name=reason]", "the wrong film")
    page.click("text=Reopen >> nth=-1")
    expect(page.locator("tbody tr")).to_contain_text(f"Rank 5 of “{TEXTS[0]}”")
    page.go_back()
    page.go_back()
    page.reload()
    expect(page.locator("#rank-5 .dot.struck")).to_have_count(2)
    expect(page.locator(".verdict")).to_contain_text("Undone by rita", ignore_case=True)
