"""Around the clips of a batch: the list of all, what waits for later, pace, breaks, and what follows a submission."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browsing import Person, make_campaign, moving, press, stocked, wait_until_open
from tests.installation import Installation, sql

pytestmark = pytest.mark.timeout(600)
PAID = """
from campaigns.models import Campaign
Campaign.objects.filter(name="around").update(hourly_rate="360.00", currency="SGD")
"""
# The numbers of the clips that play in the list.
PLAYING = "[...document.querySelectorAll('#strip video')].flatMap((each, at) => each.paused ? [] : [at + 1])"
# What an earlier page of this tab would have kept.
WORKED = """(since) => {
    const name = `reeljudge/${document.querySelector("main").dataset.who}/pace`;
    addEventListener("pagehide", () =>
        sessionStorage.setItem(name, JSON.stringify({ seconds: 700, clips: 50, since, at: Date.now() })));
}"""


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    """A campaign that pays by the hour."""
    make_campaign(server, "around", queries=12)
    wait_until_open(server, "around", 12)
    server.shell(PAID)
    return server


@pytest.fixture
def person(place: Installation, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Person]]:
    people: list[Person] = []

    def make(**context: Any) -> Person:
        name = f"{request.node.originalname.removeprefix('test_')[:40]}-{len(people)}"
        password = place.accounts("around", "annotator", name)[name]
        people.append(Person(place, chromium.new_context(**context), name, password))
        return people[-1]

    yield make
    for someone in people:
        someone.context.close()
    assert [fault for someone in people for fault in someone.faults] == []


def at(page: Page, position: str) -> None:
    expect(page.locator("#position")).to_have_text(position)


def tile(page: Page, number: int) -> Locator:
    return page.locator(f"#strip [data-number='{number}']")


def numbers(page: Page) -> list[str]:
    """The numbers of the clips that the list shows, in its order."""
    return page.locator("#strip .said span").all_inner_texts()


def test_the_list_shows_each_clips_own_picture_which_plays(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    stocked(page, 20)
    press(page, "3")
    page.keyboard.press("a")
    expect(page.locator("#strip video")).to_have_count(20)
    page.wait_for_function("() => [...document.querySelectorAll('#strip video')].every((each) => each.readyState > 1)")
    assert page.locator("#strip video[controls]").count() == 0
    assert page.evaluate(f"() => {PLAYING}") == []
    tile(page, 2).hover()
    page.wait_for_function(f"() => {PLAYING}.join() === '1'")  # the first that is not judged
    page.mouse.move(0, 0)
    page.wait_for_function(f"() => {PLAYING}.length === 0")
    tile(page, 2).focus()
    page.keyboard.press("Tab")
    page.wait_for_function(f"() => {PLAYING}.includes(2)")
    expect(tile(page, 1)).to_have_class("tile g3")
    expect(tile(page, 1)).to_have_accessible_name("Clip 1: grade 3")
    tile(page, 7).click()
    at(page, "7 / 20")
    expect(page.locator("#strip video")).to_have_count(0)


def test_the_list_is_grouped_by_grade_and_flag(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    press(page, *"0030")
    page.keyboard.press("f")
    page.keyboard.press("1")
    page.keyboard.press("w")
    page.keyboard.press("a")
    names = [" ".join(each.split()) for each in page.locator("#strip h3").all_inner_texts()]
    assert names == ["Later 1", "Not judged 14", "3 All but a detail 1", "0 Unrelated 3", "⚑ Flagged 1"]
    assert numbers(page) == ["6", *map(str, range(7, 21)), "3", "1", "2", "4", "5"]


def test_what_is_marked_for_later_comes_back_before_submitting(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    page.keyboard.press("w")
    expect(page.locator("#hint")).to_have_text("Clip 1 is marked “later”")
    expect(page.locator("#later")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowRight")  # without a grade
    at(page, "2 / 20")
    press(page, "1")
    page.keyboard.press("w")
    press(page, "2")  # with one
    press(page, *"4" * 10)
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.reload()  # marks outlast the page
    at(page, "14 / 20")
    press(page, *"4" * 7)
    expect(page.locator("#summary-words")).to_have_text("1 of 20 clips is left")
    expect(page.locator("#later-words")).to_have_text("Clips still marked “later”: 2")
    assert numbers(page)[:2] == ["1", "3"]
    expect(page.locator("#look")).to_be_focused()
    page.keyboard.press("Enter")
    at(page, "1 / 20")
    press(page, "0")
    at(page, "3 / 20")
    page.keyboard.press("ArrowRight")  # it still waits
    expect(page.locator("#later-words")).to_have_text("1 clip is still marked “later”")
    expect(page.locator("#submit")).to_be_enabled()
    page.keyboard.press("Enter")
    at(page, "3 / 20")
    page.keyboard.press("w")
    expect(page.locator("#hint")).to_have_text("Clip 3 is no longer marked “later”")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#later-words")).to_be_empty()
    expect(page.locator("#look")).to_be_hidden()
    expect(page.locator("#submit")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#moment")).to_be_visible()
    assert page.evaluate("() => localStorage.length") == 0  # nothing is kept of what is submitted


def test_a_break_stops_the_clock_until_one_key(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    someone.page.clock.install()
    page = someone.claim()
    sql(place, "UPDATE judging_assignment SET began = '2020-01-01 00:00:00' WHERE state = 'live'")
    moving(page)
    page.keyboard.press("b")
    expect(page.locator("#rest")).to_contain_text("The clock is stopped.")
    expect(page.locator("#resting")).to_have_text("Resting 0:00")
    page.clock.run_for(200_000)
    expect(page.locator("#resting")).to_have_text("Resting 3:20")
    for _ in range(5):
        page.clock.fast_forward("00:50")
        page.keyboard.press("3")  # nothing but going on does anything
        page.mouse.move(100, 100)
        page.mouse.move(200, 200)
    at(page, "1 / 20")
    page.keyboard.press("b")
    expect(page.locator("#rest")).to_be_hidden()
    moving(page)
    page.keyboard.press("2")
    page.clock.run_for(5000)
    expect(page.locator("#saved")).to_have_text("saved ✓")
    [(seconds,)] = sql(
        place, "SELECT reported FROM judging_revision WHERE judgement_id IN (SELECT max(id) FROM judging_judgement)"
    )
    assert 0 < seconds < 20
    for key in ("b", "Enter", "b", " ", "b", "Escape"):
        page.keyboard.press(key)
    expect(page.locator("#rest")).to_be_hidden()
    at(page, "2 / 20")


def test_a_break_is_suggested_after_fifty_minutes_unless_turned_off(
    person: Callable[..., Person], place: Installation
) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    expect(page.locator("#each")).to_be_empty()
    expect(page.locator("#since")).to_be_empty()
    page.evaluate(WORKED, 1440)
    page.reload()
    expect(page.locator("#pace")).to_contain_text("0 of 20")
    expect(page.locator("#each")).to_have_text("14 s")
    expect(page.locator("#since")).to_have_text("24 min")
    expect(page.locator("#suggest")).to_be_hidden()
    page.evaluate(WORKED, 3000)
    page.reload()
    moving(page)
    page.click("#take-break")
    expect(page.locator("#worked")).to_have_text("You worked 50 min since the last break. The clock is stopped.")
    page.click("#wake")
    expect(page.locator("#since")).to_be_empty()
    page.evaluate(WORKED, 3000)
    page.reload()
    with page.expect_response("**/preferences/breaks"):
        page.click("#no-breaks")
    expect(page.locator("#suggest")).to_be_hidden()
    page.evaluate(WORKED, 3600)
    page.reload()
    expect(page.locator("#since")).to_have_text("60 min")
    expect(page.locator("#suggest")).to_be_hidden()


def test_ones_own_goal_stands_beside_what_was_done_today(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    someone.page.goto(f"{place.address}/judge/preferences")
    someone.page.fill("[name=goal]", "2")
    someone.page.click("main button.primary")
    page = someone.claim()
    moving(page)
    expect(page.locator("#today")).to_have_text("0 of 2 today")
    press(page, *"11")
    expect(page.locator("#today")).to_have_text("2 of 2 today ✓")


def test_a_submission_says_what_was_done_and_enter_begins_the_next_batch(
    person: Callable[..., Person], place: Installation
) -> None:
    someone = person()
    page = someone.claim()
    sql(place, "UPDATE judging_assignment SET began = '2020-01-01 00:00:00' WHERE state = 'live'")
    first, query = page.url, page.locator("h1").inner_text()
    page.keyboard.press("f")
    page.keyboard.press("2")
    press(page, *"0" * 9, *"4" * 10)
    page.keyboard.press("Enter")
    expect(page.locator("#tally strong")).to_have_text(["9", "0", "0", "0", "10", "1"])
    [(seconds,)] = sql(place, f"SELECT sum(seconds) FROM judging_revision {of(someone)}")
    [(flagged,)] = sql(place, f"SELECT sum(seconds) FROM judging_flag WHERE assignment_id IN {submitted(someone)}")
    [(listed,)] = sql(place, f"SELECT sum(seconds) FROM judging_listtime WHERE assignment_id IN {submitted(someone)}")
    counted = Decimal(f"{seconds + flagged + listed:.3f}")
    expect(page.locator("#counted")).to_have_text(f"{counted:.0f} s")
    earned = (counted / 10).quantize(Decimal("0.01"), ROUND_HALF_UP)  # 360 an hour
    expect(page.locator("#earned")).to_have_text(f"{earned} SGD")
    expect(page.locator("#so-far")).to_have_text("19 today")
    expect(page.locator("#next-query")).not_to_have_text(query)
    stocked(page, 22)  # the next clips are there before she goes on
    page.keyboard.press("Enter")
    moving(page)
    assert page.url != first
    expect(page.locator("h1")).not_to_have_text(query)
    assert page.locator("#stage video").count() <= 3
    at(page, "1 / 20")
    expect(page.locator("#done")).to_have_text("0 of 20")
    press(page, "3")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.reload()
    at(page, "2 / 20")
    [(stored,)] = sql(place, f"SELECT count(*) FROM judging_revision {of(someone)}")
    assert stored == 20
    page.go_back()
    page.wait_for_url("**/judge/")  # and not to the batch that is submitted


def of(someone: Person) -> str:
    """The rows of revisions that somebody wrote."""
    return (
        "WHERE judgement_id IN (SELECT j.id FROM judging_judgement j JOIN campaigns_membership m"
        f" ON j.annotator_id = m.id JOIN auth_user u ON m.user_id = u.id WHERE u.username = '{someone.name}')"
    )


def submitted(someone: Person) -> str:
    return (
        "(SELECT a.id FROM judging_assignment a JOIN campaigns_membership m ON a.annotator_id = m.id"
        f" JOIN auth_user u ON m.user_id = u.id WHERE u.username = '{someone.name}' AND a.state = 'submitted')"
    )


def test_where_nothing_is_left_the_moment_says_so(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    press(page, *"1" * 20)
    page.route("**/submit", answered_without_next)
    page.keyboard.press("Enter")
    expect(page.locator("#nothing")).to_have_text("There is nothing to judge.")
    expect(page.locator("#next-query")).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url("**/judge/")


def answered_without_next(route: Any) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, json=answer.json() | {"next": None, "nothing": "There is nothing to judge."})


def test_the_last_clip_of_a_grade_plays_beside_this_one_while_its_key_is_held(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    press(page, *"0330")
    moving(page)
    page.keyboard.down("c")
    expect(page.locator("#compare p")).to_have_text("Clip 4: 0 unrelated")
    page.keyboard.press("3")
    expect(page.locator("#compare p")).to_have_text("Clip 3: 3 all but a detail")
    page.wait_for_function("() => document.querySelector('#compare video').currentTime > 0")
    stage, other = (cast(Any, page.locator(name).bounding_box()) for name in ("#stage", "#compare"))
    assert stage["x"] + stage["width"] <= other["x"] + 1
    page.keyboard.press("4")
    expect(page.locator("#hint")).to_have_text("No other clip of this query has this grade yet.")
    page.keyboard.up("c")
    expect(page.locator("#compare")).to_be_hidden()
    expect(page.locator("#position")).to_have_text(re.compile("^5 / "))  # nothing was graded by it
    expect(page.locator("#done")).to_have_text(re.compile("^4 of "))


def test_a_grade_that_is_pressed_for_long_compares_and_grades_nothing(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    press(page, "2")
    moving(page)
    page.hover("[data-grade='2']")
    page.mouse.down()
    expect(page.locator("#compare p")).to_have_text("Clip 1: 2 partly")
    page.mouse.up()
    expect(page.locator("#compare")).to_be_hidden()
    expect(page.locator("#position")).to_have_text(re.compile("^2 / "))
    page.click("[data-grade='2']")
    expect(page.locator("#position")).to_have_text(re.compile("^3 / "))


def test_a_note_to_oneself_is_read_where_one_goes_on(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    press(page, "1")
    page.click("#leave")
    expect(page.locator("#own-note")).to_be_focused()
    page.keyboard.type("4 only with the hat")  # a digit judges nothing here
    page.keyboard.press("Escape")
    expect(page.locator("#noting")).to_be_hidden()
    page.click("#leave")
    page.keyboard.type("4 only with the hat")
    page.keyboard.press("Enter")
    page.wait_for_url("**/judge/")
    page.click("form[action$='/claim'] button")
    expect(page.locator("#position")).to_have_text(re.compile("^2 / "))
    expect(page.locator("#note")).to_have_text("Your note: 4 only with the hat")
    press(
        page,
        *"1"
        * len(page.evaluate("() => JSON.parse(document.getElementById('assignment').textContent).places.slice(1)")),
    )
    page.keyboard.press("Enter")
    expect(page.locator("#moment")).to_be_visible()
    assert page.evaluate("() => localStorage.length") == 0
