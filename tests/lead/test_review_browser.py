"""The lead reviews by keys, undoes, follows recommendations, reopens a candidate and grades one, in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from tests.browsing import Person, key, signed_in, wait_until_open
from tests.installation import Installation
from tests.waiting import wait_until

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
    page.goto(f"{campaign}/queries/?view=batches")
    expect(page.locator("tbody tr")).to_have_count(4)
    key(page, "ArrowRight")
    expect(page.locator("h1")).to_have_text(TEXTS[0])
    expect(page.locator(".posters video")).to_have_count(20)
    page.wait_for_function("() => document.querySelector('.posters video').readyState >= 1")
    page.hover(".posters video")
    page.wait_for_function("() => document.querySelector('.posters video').currentTime > 0.2")
    page.hover("h1")
    page.wait_for_function("() => document.querySelector('.posters video').paused")
    large_over_the_sheet(page)
    key(page, "y")  # close
    expect(page.locator("h1")).to_have_text(TEXTS[1])
    expect(page.locator(".done")).to_contain_text(f"Closed: “{TEXTS[0]}”")
    key(page, "Enter")  # the second batch
    expect(page.locator("h1")).to_have_text(TEXTS[2])
    key(page, "n")  # the second batch, against the recommendation
    expect(page.locator(".done")).to_contain_text(f"Second batch opened: “{TEXTS[2]}”")
    key(page, "u")
    expect(page.locator("h1")).to_have_text(TEXTS[2])
    expect(page.locator("main")).to_contain_text("Undone: this batch is to be reviewed again")
    page.focus("[name=reason]")
    page.keyboard.type("bcn, yu")  # a reason is no command
    expect(page.locator("[name=reason]")).to_have_value("bcn, yu")
    enter_decides_only_what_is_recommended(page)
    as_far_as_it_goes(page, campaign)


def large_over_the_sheet(page: Page) -> None:
    """A click or Space opens a clip, the arrows go through the ranks, Escape closes it; no verdict is given."""
    text, large = page.locator("h1").inner_text(), page.locator(".large")
    page.locator(".posters video").nth(2).click()
    expect(large).to_contain_text("Rank 3: ")
    page.wait_for_function("() => document.querySelector('.large video').currentTime > 0.2")
    page.keyboard.press("ArrowRight")
    expect(large).to_contain_text("Rank 4: ")
    page.keyboard.press("Escape")
    expect(large).to_be_hidden()
    page.keyboard.press("Space")
    expect(large).to_contain_text("Rank 4: ")
    page.keyboard.press("Escape")
    expect(page.locator("h1")).to_have_text(text)


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
    page.goto(f"{campaign}/queries/?view=batches")
    expect(page.locator("tbody tr")).to_have_count(2)
    for letter, text in (("Shift+U", TEXTS[1]), ("u", TEXTS[0])):
        key(page, letter)
        expect(page.locator("h1")).to_have_text(text)
        expect(page.locator("main")).to_contain_text("Undone: this batch is to be reviewed again")
    expect(page.locator(".done")).to_have_count(0)
    for letter, text, done in (("Y", TEXTS[1], TEXTS[0]), ("Shift+Y", TEXTS[2], TEXTS[1])):  # Caps Lock says Y
        key(page, letter)
        expect(page.locator("h1")).to_have_text(text)
        expect(page.locator(".done")).to_contain_text(f": “{done}”, batch")


def by_the_list(page: Page, campaign: str) -> None:
    page.goto(f"{campaign}/queries/?view=batches")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.click("text=Follow these 2 recommendations")
    expect(page.locator("h1")).to_contain_text("Follow the recommendations")
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(2)


def putting_right(page: Page) -> None:
    page.goto(page.url.split("queries/")[0] + "queries/?show=closed")
    page.click("a.square.reviewed")
    expect(page.locator(".posters .contested")).to_have_count(2)
    key(page, "d")
    page.click("#rank-1 summary")
    page.check("#rank-1 [name=grade][value='3']")
    page.fill("#rank-1 [name=reason]", "nearly all of it")
    page.click("#rank-1 form button:has-text('Save')")
    expect(page.locator("#rank-1")).to_contain_text("It is not part of the consensus")
    expect(page.locator("#rank-1 td strong")).to_have_text("3")
    page.click("#rank-5 button:has-text('Reopen')")
    expect(page.locator("main")).to_contain_text("2 judgements stay on record")
    page.fill("[name=reason]", "the wrong film")
    page.click("main button.primary")
    expect(page.locator("h1")).to_have_text(f"Reopen: rank 5 of “{TEXTS[0]}”")
    page.click("text=Back to the query")
    expect(page.locator("#rank-5 .dot.struck")).to_have_count(2)
    expect(page.locator(".verdict")).to_contain_text("Undone by rita", ignore_case=True)


# Behind the picture ---------------------------------------------------------------------------------------

SETTLED = """
import json
from campaigns.models import *
from judging.models import *
from judging.review.reviewing import waiting_in_order
from judging.work.claiming import claim
from tests.cast import judge_all
campaign = Campaign.objects.get(name="cockpit")
for member in campaign.memberships.annotators():
    while work := claim(member):
        judge_all(work, lambda candidate: 1)
print(json.dumps(list(waiting_in_order(campaign).values_list("pk", "query__text"))))
"""
REVIEWED = """
import json
from judging.models import Review
given = Review.objects.in_force().filter(batch__campaign__name="cockpit").order_by("pk")
print(json.dumps(list(given.values_list("batch", "verdict", "lead__user__username"))))
"""
BY_ANOTHER = """
from campaigns.models import Membership
from judging.models import Batch
from judging.review.reviewing import review
review(Batch.objects.get(pk={batch}), Membership.objects.get(user__username="omar"), "second")
"""
QUERIES = 7


class Cockpit:
    """The page of a batch to review, which stays one page while its batches change."""

    def __init__(self, server: Installation, page: Page, batches: list[tuple[int, str]]) -> None:
        self.server, self.page, self.batches = server, page, batches
        self.answering = "**/review"
        self.notes = page.locator(".notes")

    def open(self, number: int) -> None:
        self.page.goto(f"{self.server.address}/campaigns/cockpit/batches/{self.batches[number][0]}/")
        self.page.evaluate("() => { window.sameDocument = true; }")

    def stands(self, number: int, place: str = "") -> None:
        """Wait until the batch stands here, in the same document, at its address."""
        batch, text = self.batches[number]
        expect(self.page.locator("h1")).to_have_text(text)
        expect(self.page).to_have_url(f"{self.server.address}/campaigns/cockpit/batches/{batch}/")
        assert self.page.evaluate("() => window.sameDocument")
        if place:
            expect(self.page.locator(".in-line")).to_contain_text(place)

    def done(self, number: int) -> None:
        expect(self.notes).to_contain_text(f"Closed: “{self.batches[number][1]}”")

    def hold(self, handle: Callable[[Route], None]) -> None:
        """Let the next verdict be answered in another way."""
        self.page.route(self.answering, handle, times=1)

    def reviews(self) -> list[list[object]]:
        found: list[list[object]] = json.loads(self.server.shell(REVIEWED).strip().splitlines()[-1])
        return found


@pytest.fixture
def cockpit(server: Installation, tmp_path: Path, chromium: Browser) -> Iterator[Cockpit]:
    queries = tmp_path / "queries.json"
    queries.write_text(json.dumps([{"query_id": n, "query": f"A person does thing {n}."} for n in range(QUERIES)]))
    server.manage("create_campaign", "cockpit", "--corpus", "films", "--queries", str(queries))
    wait_until_open(server, "cockpit", QUERIES)
    server.accounts("cockpit", "annotator", "asha", "ben")
    passwords = server.accounts("cockpit", "lead", "vera", "omar")
    batches = json.loads(server.shell(SETTLED).strip().splitlines()[-1])
    assert len(batches) == QUERIES
    context = chromium.new_context()
    person = Person(server, context, "vera", passwords["vera"])
    yield Cockpit(server, person.page, batches)
    context.close()
    assert [fault for fault in person.faults if "Failed to load" not in fault and "409" not in fault] == []


def test_verdicts_go_behind_the_picture(cockpit: Cockpit) -> None:
    to_and_fro(cockpit)
    the_next_stands_there_before_the_answer(cockpit)
    an_answer_is_lost(cockpit)
    somebody_was_faster(cockpit)
    three_back(cockpit)
    to_the_end(cockpit)
    assert "BROKEN" not in cockpit.server.manage("audit", "cockpit")


def to_and_fro(cockpit: Cockpit) -> None:
    """The arrows, a reload, and the browser's way back; the clips move by themselves, and `d` opens the captions."""
    cockpit.open(0)
    cockpit.stands(0, f"1 of {QUERIES}")
    cockpit.page.wait_for_function(
        "() => [...document.querySelectorAll('.last-five video')].every((clip) => clip.currentTime > 0)"
    )
    expect(cockpit.page.locator(".last-five li")).to_have_count(5)
    for part in ("h1", ".in-line", ".chart", ".last-five", ".verdict .buttons"):
        box = cockpit.page.locator(part).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 720, f"{part} is in the first screen"
    still(cockpit.page)
    expect(cockpit.page.locator("#rank-1")).to_be_hidden()
    cockpit.page.keyboard.press("d")
    expect(cockpit.page.locator("#rank-1")).to_be_visible()
    for name, number in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        cockpit.page.keyboard.press(name)
        cockpit.stands(number, f"{number + 1} of {QUERIES}")
    expect(cockpit.page.locator("#rank-1")).to_be_visible()
    cockpit.page.keyboard.press("d")
    cockpit.page.go_back()
    cockpit.stands(2)
    cockpit.page.reload()
    cockpit.open(0)


def still(page: Page) -> None:
    """Clips stop by a key; where the system wants less motion, none plays by itself."""
    every = "(paused) => [...document.querySelectorAll('.last-five video')].every((clip) => clip.paused === paused)"
    for name in ("Stop the clips", "Play the clips"):
        expect(page.locator("[data-still]")).to_contain_text(name)
        page.keyboard.press("p")
        page.wait_for_function(every, arg=name.startswith("Stop"))
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    page.wait_for_function("() => document.querySelector('.last-five video').readyState >= 1")
    assert page.evaluate(every, True)
    expect(page.locator("[data-still]")).to_be_hidden()
    page.emulate_media(reduced_motion="no-preference")
    page.reload()
    page.evaluate("() => { window.sameDocument = true; }")


def the_next_stands_there_before_the_answer(cockpit: Cockpit) -> None:
    """What was loaded ahead is shown at once; leaving before the answer warns."""
    page, held = cockpit.page, list[Route]()
    cockpit.hold(lambda route: held.append(route))
    with page.expect_response(lambda answer: answer.url.endswith(f"/batches/{cockpit.batches[1][0]}/")):
        page.reload()
    page.evaluate("() => { window.sameDocument = true; }")
    key(page, "y")
    cockpit.stands(1)
    expect(cockpit.notes).to_contain_text("being stored")
    expect(page.locator("[data-recommended]")).to_be_focused()
    warnings = list[str]()

    def stay(dialog: Dialog) -> None:
        warnings.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    page.evaluate("() => { window.location.assign('/'); }")
    wait_until(lambda: bool(warnings), lambda: "leaving warns")
    assert warnings == ["beforeunload"]
    assert cockpit.reviews() == []
    held[0].continue_()
    cockpit.done(0)
    cockpit.stands(1, f"1 of {QUERIES - 1}")


def an_answer_is_lost(cockpit: Cockpit) -> None:
    """The server stores the verdict, and the browser sends it again without having heard so."""

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    cockpit.hold(lose)
    cockpit.page.keyboard.press("Enter")
    cockpit.stands(2)
    cockpit.done(1)
    assert cockpit.reviews() == [[cockpit.batches[number][0], "close", "vera"] for number in (0, 1)]


def somebody_was_faster(cockpit: Cockpit) -> None:
    """The refusal stays in sight, with the way back, while the work goes on."""
    cockpit.stands(2, f"1 of {QUERIES - 2}")
    cockpit.server.shell(BY_ANOTHER.format(batch=cockpit.batches[2][0]))
    held = list[Route]()
    cockpit.hold(lambda route: held.append(route))
    cockpit.page.keyboard.press("c")
    cockpit.stands(3)
    cockpit.page.keyboard.press("u")  # of what will not be stored: it takes back nothing else
    held[0].continue_()
    expect(cockpit.notes).to_contain_text("This batch is reviewed, not settled; it cannot be reviewed.")
    cockpit.done(1)
    assert [batch for batch, _, lead in cockpit.reviews() if lead == "vera"] == [
        cockpit.batches[number][0] for number in (0, 1)
    ]
    cockpit.page.keyboard.press("c")
    cockpit.stands(4)
    cockpit.done(3)
    expect(cockpit.notes).to_contain_text(f"Close the query, “{cockpit.batches[2][1]}”: not stored.")
    cockpit.page.click("text=Back to it")
    cockpit.stands(2)
    expect(cockpit.page.locator(".verdict")).to_contain_text("Second batch opened by omar")
    expect(cockpit.notes).not_to_contain_text("not stored")
    cockpit.page.keyboard.press("ArrowRight")
    cockpit.stands(4, f"1 of {QUERIES - 4}")


def three_back(cockpit: Cockpit) -> None:
    """One after the other, also when the keys are faster than the server."""
    cockpit.page.keyboard.press("c")
    cockpit.stands(5)
    for _ in range(3):
        cockpit.page.keyboard.press("u")
    cockpit.stands(1)
    cockpit.done(0)
    assert [batch for batch, _, lead in cockpit.reviews() if lead == "vera"] == [cockpit.batches[0][0]]
    expect(cockpit.page.locator(".in-line")).to_contain_text(f"1 of {QUERIES - 2}")


def to_the_end(cockpit: Cockpit) -> None:
    """After the last batch comes the list; what is left to undo there goes on."""
    for number, then in ((1, 3), (3, 4), (4, 5), (5, 6)):
        cockpit.page.keyboard.press("c")
        cockpit.stands(then)
        cockpit.done(number)
    cockpit.page.keyboard.press("c")
    expect(cockpit.page.locator("main")).to_contain_text("No batch waits for your review")
    key(cockpit.page, "u")
    expect(cockpit.page.locator("h1")).to_have_text(cockpit.batches[6][1])
    assert len(cockpit.reviews()) == QUERIES - 1
