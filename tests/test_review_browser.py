"""The lead reviews by keys, undoes, accepts a list, reopens a candidate and grades a discarded one, in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import signed_in
from tests.films import write_film
from tests.installation import Installation, installation

pytestmark = [pytest.mark.no_database, pytest.mark.timeout(600)]
TEXTS = ["A person sits down.", "A person stands up.", "Someone opens a door.", "Someone closes a door."]
# Asha and Ben grade all batches alike, but for the first two ranks of the first: those end discarded.
JUDGE = """
import time
from judging.models import *
from tests.cast import judge_all
while Batch.objects.filter(state="open").count() < 4:
    time.sleep(0.5)  # the server's worker ranks, and cuts clips
people = dict(Membership.objects.filter(role="annotator").values_list("user__username", "pk"))
def grade(name, candidate):
    if candidate.query.text == "A person sits down." and candidate.rank < 3:
        return {"asha": 0, "ben": 4, "chen": 0, "devi": 4}[name]
    return 4 if candidate.query.text == "A person stands up." else 1
for name in ("asha", "ben", "chen", "devi"):
    member = Membership.objects.get(pk=people[name])
    while work := Assignment.objects.claim(member):
        judge_all(work, lambda candidate: grade(name, candidate))
print("settled", Batch.objects.to_review().count())
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp("review")
    with installation(home, "sqlite") as made:
        moments = write_film(home / "films")
        imported = ("--format", "tvr", "--type", "v", "--media", str(home / "films" / "media"))
        made.manage("import_corpus", "films", str(moments), *imported)
        yield made


@pytest.fixture
def page(place: Installation, tmp_path: Path, chromium: Browser) -> Iterator[Page]:
    """Four settled batches, and their lead at a browser."""
    queries = tmp_path / "queries.json"
    queries.write_text(json.dumps([{"query_id": n, "query": text} for n, text in enumerate(TEXTS, 1)]))
    place.manage("create_campaign", "review", "--corpus", "films", "--queries", str(queries))
    place.accounts("review", "annotator", "asha", "ben", "chen", "devi")
    password = place.accounts("review", "lead", "leo")["leo"]
    assert "settled 4" in place.manage("shell", "--no-imports", "-c", JUDGE)
    with signed_in(place, chromium, "leo", password) as leo:
        yield leo.page


def test_a_lead_at_work(place: Installation, page: Page) -> None:
    campaign = f"{place.address}/campaigns/review"
    by_keys(page, campaign)
    by_the_list(page, campaign)
    putting_right(page)
    assert "BROKEN" not in place.manage("audit", "review")


def by_keys(page: Page, campaign: str) -> None:
    page.goto(f"{campaign}/reviews/")
    expect(page.locator("tbody tr")).to_have_count(4)
    page.keyboard.press("ArrowRight")
    expect(page.locator("h1")).to_have_text(TEXTS[0])
    expect(page.locator(".posters video")).to_have_count(20)
    page.wait_for_function("() => document.querySelector('.posters video').readyState >= 1")
    page.hover(".posters video")
    page.wait_for_function("() => document.querySelector('.posters video').currentTime > 0.2")
    page.hover("h1")
    page.wait_for_function("() => document.querySelector('.posters video').paused")
    page.keyboard.press("y")  # close
    expect(page.locator("h1")).to_have_text(TEXTS[1])
    expect(page.locator(".done")).to_contain_text(f"Close the query: done for “{TEXTS[0]}”")
    page.keyboard.press("Enter")  # the second batch
    expect(page.locator("h1")).to_have_text(TEXTS[2])
    page.keyboard.press("n")  # the second batch, against the recommendation
    expect(page.locator(".done")).to_contain_text(f"Open the second batch: done for “{TEXTS[2]}”")
    page.keyboard.press("u")
    expect(page.locator("h1")).to_have_text(TEXTS[2])
    expect(page.locator(".message")).to_contain_text("Undone")
    page.focus("[name=reason]")
    page.keyboard.type("bcn, yu")  # a reason is no command
    expect(page.locator("[name=reason]")).to_have_value("bcn, yu")


def by_the_list(page: Page, campaign: str) -> None:
    page.goto(f"{campaign}/reviews/")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.click("text=Accept these 2 recommendations")
    expect(page.locator(".done")).to_contain_text("2 batches reviewed")
    page.keyboard.press("u")
    expect(page.locator(".message")).to_contain_text("Undone: 2 reviews")
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
    expect(page.locator("tbody tr")).to_contain_text("Rank 5 of “A person sits down.”")
    page.go_back()
    page.go_back()
    page.reload()
    expect(page.locator("#rank-5 .dot.struck")).to_have_count(2)
    expect(page.locator(".verdict")).to_contain_text("Undone by leo", ignore_case=True)
