"""A whole day of a lead in a real browser: invite, examine, review by keys, put right, pause, freeze and compare."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests import browsing
from tests.browsing import Person, key
from tests.installation import Installation

pytestmark = pytest.mark.timeout(900)
QUERIES = {"sqlite": 33, "postgres": 9}  # the length of the list is not what differs by database
DRAWN, DEPTH, LEFT = 2, 3, 1  # queries of the exam, their pairs; batches that are not reviewed
PASSWORD = "a-long-word-7"
CLOSED = """
import json
from judging.models import Review
closed = Review.objects.filter(batch__query__campaign__name="day", verdict="close", undone=None)
print(json.dumps(list(closed.order_by("pk").values_list("batch", flat=True))))
"""
DISCARDED = """
import json
from judging.models import Candidate
discarded = Candidate.objects.filter(query__campaign__name="day", outcome=Candidate.Outcome.DISCARDED)
print(json.dumps(list(discarded.order_by("pk").values_list("batch", "rank"))))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def day(request: pytest.FixtureRequest, servers: Callable[[str], Installation], chromium: Browser) -> Day:
    """On the running installation of each kind, with a campaign on a corpus without media."""
    place, queries = servers(request.param), QUERIES[request.param]
    browsing.make_campaign(place, "day", "bare", queries)
    browsing.wait_until_open(place, "day", queries)
    return Day(place, chromium, queries)


class Day:
    """The lead at her browser, and the people that she deals with."""

    def __init__(self, place: Installation, chromium: Browser, queries: int) -> None:
        self.place, self.chromium, self.queries = place, chromium, queries
        self.campaign = f"{place.address}/campaigns/day"
        self.people: list[Person] = []
        self.lead = self.person("dora", place.accounts("day", "lead", "dora")["dora"]).page

    def person(self, name: str, password: str, context: BrowserContext | None = None) -> Person:
        context = context or self.chromium.new_context(accept_downloads=True)
        self.people.append(Person(self.place, context, name, password))
        return self.people[-1]

    def open(self, address: str) -> Page:
        self.lead.goto(f"{self.campaign}/{address}")
        return self.lead

    def simulate(self, seed: int) -> int:
        """Let six others judge until nothing is left; returns the number of batches that they submitted."""
        options = ("--address", self.place.address, "--seed", str(seed))
        return int(self.place.manage("simulate", "day", *options).split()[0])


def test_a_day_of_a_lead(day: Day, tmp_path: Path) -> None:
    make_exam(day)
    nora = invite(day)
    ada = day.person("dina", day.place.accounts("day", "annotator", "dina")["dina"])
    examine(day, nora, ada)
    pause_and_resume(day, nora)
    let_work_begin(day)
    assert day.simulate(1) >= 2 * (day.queries - DRAWN)
    review_by_keys(day)
    first = freeze(day, 1, tmp_path)
    put_right(day)
    # Two who agree on 0, so that what is judged again gets another grade for certain.
    for someone in nora, ada:
        while judge(someone, 0):
            pass
    day.simulate(2)
    second = freeze(day, 2, tmp_path)
    compare(day, first, second)
    assert "BROKEN" not in day.place.manage("audit", "day")
    assert [fault for someone in day.people for fault in someone.faults] == []


def make_exam(day: Day) -> None:
    """Two queries of three pairs; the truth of each is the lead's own 4."""
    page = day.open("exam/")
    page.fill("[name=queries]", str(DRAWN))
    page.fill("[name=depth]", str(DEPTH))
    page.click("text=Make the exam")
    expect(page.locator(".message")).to_contain_text("The exam is made")
    day.open("exam/?view=pairs")
    for number in range(1, DRAWN * DEPTH + 1):
        expect(page.locator("main")).to_contain_text(f"Pair {number} of")
        key(page, "4")
        page.fill("[name=why]", "Look at the chair.")
        page.click("main button.primary")
        expect(page.locator(".message")).to_contain_text("Saved")
    browsing.wait_until_open(day.place, "day", day.queries + DRAWN)


def invite(day: Day) -> Person:
    """By a link, with which somebody signs up in a browser of her own."""
    page = day.open("annotators/?drawer=invitations")
    page.click("text=Make a link")
    link = page.locator(".once input").input_value()
    context = day.chromium.new_context()
    guest = context.new_page()
    guest.goto(link)
    guest.fill("[name=username]", "nora")
    guest.fill("[name=password1]", PASSWORD)
    guest.fill("[name=password2]", PASSWORD)
    guest.click("main button")
    expect(guest.locator(".message")).to_contain_text("Welcome")
    expect(guest.locator("section.home")).to_contain_text(f"there is an exam: {DRAWN * DEPTH} clips")
    context.close()
    return day.person("nora", PASSWORD)


def examine(day: Day, passes: Person, misses: Person) -> None:
    """One passes, one is off; the lead reads both results and gives the other work all the same."""
    for _ in range(DRAWN):
        judge(passes, 4)
        judge(misses, 0)
    page = day.open("exam/")
    expect(page.locator("tbody tr", has_text="nora")).to_contain_text("Passed in round 1")
    expect(page.locator("tbody tr", has_text="dina")).to_contain_text(f"{DRAWN * DEPTH} of {DRAWN * DEPTH}")
    page.click("tbody a:has-text('dina')")
    expect(page.locator("tbody tr.last")).to_have_count(DRAWN * DEPTH)
    page.fill("[name=reason]", "read the guideline again with me")
    page.click("text=Give work all the same")
    expect(page.locator("main")).to_contain_text("read the guideline again with me")
    misses.page.goto(f"{day.place.address}/judge/")
    expect(misses.page.locator("section.home")).to_contain_text("Give me a batch")


def judge(someone: Person, grade: int) -> bool:
    """Judge one batch with one grade, through the addresses that the workplace uses; False if there is none."""
    token = {each["name"]: each["value"] for each in someone.context.cookies()}["csrftoken"]
    headers = {"Accept": "application/json", "X-CSRFToken": token}
    address, web = someone.place.address, someone.context.request
    handed = web.post(f"{address}/judge/day/claim", headers=headers).json()["assignment"]
    if handed is None:
        return False
    base, fence = f"{address}/judge/assignments/{handed['token']}", handed["fence"]
    for position in range(1, len(handed["places"]) + 1):
        body = {"grade": grade, "fence": fence, "key": str(uuid4()), "seconds": 5}
        assert web.put(f"{base}/judgements/{position}", data=body, headers=headers).ok
    assert web.post(f"{base}/submit", data={"fence": fence}, headers=headers).ok
    return True


def pause_and_resume(day: Day, someone: Person) -> None:
    home = f"{day.place.address}/judge/"
    page = day.open("annotators/")
    page.click(f"tbody a:has-text('{someone.name}')")
    page.fill("[name=reason] >> nth=0", "we talk on Monday")
    page.click("button:has-text('Pause')")
    expect(page.locator(".message")).to_be_visible()
    someone.page.goto(home)
    expect(someone.page.locator("section.home")).to_contain_text("Your work here is paused")
    expect(someone.page.locator("form[action$='/claim']")).to_have_count(0)
    page.goto(f"{day.campaign}/annotators/")
    expect(page.locator("tbody tr", has_text=someone.name)).to_contain_text("paused", ignore_case=True)
    page.click(f"tbody a:has-text('{someone.name}')")
    expect(page.locator("main")).to_contain_text("we talk on Monday")
    page.click("button:has-text('Resume')")
    someone.page.goto(home)
    expect(someone.page.locator("form[action$='/claim'] button")).to_have_text("Give me my first batch")


def let_work_begin(day: Day) -> None:
    """Without the exam: who comes from now on judges at once."""
    page = day.open("settings")
    page.uncheck("[name=exam]")
    page.click("main form button.primary")
    expect(page.locator(".message")).to_be_visible()
    key(page, "g")
    key(page, "e")
    expect(page).to_have_url(re.compile("/exam/$"))
    expect(page.locator("main")).to_contain_text("gives work without the exam")


def review_by_keys(day: Day) -> None:
    """All batches but one: three get a second one, one verdict is undone, all others end with a closed query."""
    page = day.open("queries/?view=batches")
    waiting = day.queries - DRAWN
    expect(page.locator("tbody tr")).to_have_count(waiting)
    key(page, "ArrowRight")
    for number in range(waiting - LEFT):
        expect(page.locator("h1")).not_to_have_text("Queries")
        before = page.url
        key(page, "y" if number < 3 else "n" if number % 2 else "c")
        page.wait_for_url(lambda address, before=before: address != before)  # type: ignore[misc]
        expect(page.locator(".done")).to_contain_text(re.compile("(Closed|Second batch opened): "))
        if number == 5:
            undo_once(page)
    day.open("queries/?view=batches")
    expect(page.locator("tbody tr")).to_have_count(LEFT)


def undo_once(page: Page) -> None:
    """The key brings the batch back; the same key as before closes it again."""
    key(page, "u")
    expect(page.locator("main")).to_contain_text("Undone: this batch is to be reviewed again")
    key(page, "c")
    expect(page.locator(".done")).to_contain_text("Closed: ")


def freeze(day: Day, version: int, folder: Path) -> Path:
    """In the page; downloaded, and checked as whoever gets it would check it."""
    page = day.open("releases/?drawer=freeze")
    if (unfinished := page.locator("[name=with_unfinished]")).count():
        unfinished.check()
    page.click("button:has-text('Freeze')")
    expect(page.locator("h1")).to_have_text(f"Release {version}")
    link = page.locator("a[download]", has_text="zip")
    expect(link).to_be_visible(timeout=120_000)
    with page.expect_download() as download:
        link.click()
    download.value.save_as(file := folder / f"day-v{version}.zip")
    printed = day.place.manage("verify_release", str(file))
    assert "ok" in printed
    return file


def put_right(day: Day) -> None:
    """A pair as an example; what was discarded is graded; a whole batch, and one candidate, are judged again."""
    closed = json.loads(day.place.shell(CLOSED))
    page = day.open(f"batches/{closed[0]}/#rank-1")
    page.locator("#rank-1").get_by_text("Use as an example").click()
    page.fill("[name=why]", "All of it is there.")
    page.click("text=Add the example")
    expect(page.locator(".message")).to_contain_text("The example is in the tutorial")
    for batch, rank in json.loads(day.place.shell(DISCARDED))[:1]:  # where the played annotators disagree at all
        adjudicate(day.open(f"batches/{batch}/#rank-{rank}"), rank)
    again(day, closed[1], ".cockpit button:has-text('Reopen')")
    again(day, closed[2], "#rank-5 button:has-text('Reopen')")
    expect(day.open("activity/?view=reopened").locator("tbody tr")).to_have_count(2)


def adjudicate(page: Page, rank: int) -> None:
    page.click(f"#rank-{rank} summary")
    page.check(f"#rank-{rank} [name=grade][value='3']")
    page.fill(f"#rank-{rank} [name=reason]", "nearly all of it")
    page.click(f"#rank-{rank} form button:has-text('Save')")
    expect(page.locator(".message.success")).to_contain_text(f"Rank {rank} has grade 3 from you")
    expect(page.locator(f"#rank-{rank} td strong")).to_have_text("3")


def again(day: Day, batch: int, link: str) -> None:
    page = day.open(f"batches/{batch}/#rank-5")  # which opens what is folded
    page.click(link)
    page.fill("[name=reason]", "the wrong film")
    page.click("main button:has-text('Reopen')")
    expect(page.locator("h1")).to_contain_text("Reopen: ")
    expect(page.locator("#action")).to_contain_text("“the wrong film”")


def compare(day: Day, first: Path, second: Path) -> None:
    """The page and the command name the same pairs."""
    printed = day.place.manage("diff_releases", str(first), str(second))
    rows = list(csv.reader(line for line in printed.splitlines() if "," in line))[1:]
    page = day.open("releases/2/?tab=changes")
    counts = {kind: sum(row[0] == kind for row in rows) for kind in ("added", "changed", "gone")}
    expect(page.locator("dl.figures dd")).to_have_text([str(number) for number in counts.values()])
    assert counts["added"] >= 20
    assert counts["changed"] >= 1
    listed = page.locator("tbody tr").all_inner_texts()
    cells = [[re.sub(r"^–$", "", cell) for cell in row.split("\t")] for row in listed]
    assert cells == [row[:5] for row in rows]
