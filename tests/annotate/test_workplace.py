"""The workplace in Chromium: keys, confirmation, gate, flags, examples, time, and what it weighs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests import browsing
from tests.browsing import SAVING, Person, cut_off, moving, press, stocked
from tests.installation import Installation, sql
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)
BATCHES = 18
TAUGHT = """
from corpus.models import Clip, Moment
from campaigns.models import Campaign
from judging.models import Example
once = Campaign.objects.get(name="once")
once.play_once = True
once.save()
moment = Moment.objects.earliest("pk")
clip = Clip.objects.filter(state=Clip.State.READY).earliest("pk")
Example.objects.create(campaign=once, query="A person stands up.", moment=moment, clip=clip, grade=3, why="Too slow.")
"""
FLAGS = """
from judging.models import Flag
hers = Flag.recorded.filter(assignment__annotator__user__username="{name}")
print(hers.count(), hers.filter(taken_back=None).count())
"""


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    """Two campaigns: `loop`, and `once`, in which clips are watched to their end and there is an example."""
    for name, queries in {"loop": BATCHES, "once": 3}.items():
        browsing.make_campaign(server, name, queries=queries)
        browsing.wait_until_open(server, name, queries)
    server.shell(TAUGHT)
    return server


@pytest.fixture
def person(place: Installation, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Person]]:
    people: list[Person] = []

    def make(campaign: str = "loop", **context: Any) -> Person:
        name = f"{request.node.originalname.removeprefix('test_')[:40]}-{len(people)}"
        password = place.accounts(campaign, "annotator", name)[name]
        people.append(Person(place, chromium.new_context(**context), name, password))
        return people[-1]

    yield make
    for someone in people:
        someone.context.close()
    assert [fault for someone in people for fault in someone.faults] == []


def at(page: Page, position: str) -> None:
    expect(page.locator("#position")).to_have_text(position)


def test_a_press_is_confirmed_and_the_counts_move(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    expect(page.locator("[data-grade] strong")).to_have_text(["0", "1", "2", "3", "4"])
    expect(page.locator("#done")).to_have_text("0 of 20")
    expect(page.locator("#today")).to_have_text("0 today")
    page.keyboard.press("3")
    expect(page.locator("#hint")).to_have_text("3 for clip 1 ✓ · ← to change")
    at(page, "2 / 20")
    expect(page.locator("#done")).to_have_text("1 of 20")
    expect(page.locator("#today")).to_have_text("1 today")
    page.keyboard.press("ArrowLeft")
    press(page, "4")
    expect(page.locator("#hint")).to_have_text("4 for clip 1 ✓ · ← to change")
    expect(page.locator("#today")).to_have_text("1 today")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.reload()
    expect(page.locator("#today")).to_have_text("1 today")


def test_a_second_press_grades_no_clip_unseen(person: Callable[..., Person], place: Installation) -> None:
    someone = person(has_touch=True)
    page = someone.claim()
    moving(page)
    page.keyboard.press("2")
    page.keyboard.press("2")
    expect(page.locator("#hint")).to_have_text("Too fast: clip 2 has just started. Back goes back to clip 1.")
    at(page, "2 / 20")
    moving(page)
    page.dblclick("[data-grade='3']")
    at(page, "3 / 20")
    moving(page)
    twice = "() => [1, 2].forEach(() => document.querySelector('[data-grade=\"1\"]').click())"
    page.evaluate(twice)  # as two taps
    at(page, "4 / 20")
    for number, undo in ((3, "ArrowLeft"), (2, "Backspace"), (1, "Control+z")):
        page.keyboard.press(undo)
        at(page, f"{number} / 20")
        page.keyboard.press(str(number + 1))  # a slip is mended at once
        page.keyboard.press(str(number + 1))
        at(page, "4 / 20")
        page.keyboard.press("a")
        page.click(f"#strip [data-number='{number}']")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    rows = sql(place, f"SELECT grade FROM judging_revision {of(someone)} ORDER BY id")
    assert rows == [(2,), (3,), (1,), (4,), (3,), (2,)]


def test_back_leads_to_what_was_said_last_wherever_it_is(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    press(page, *"11")
    page.keyboard.press("a")
    page.click("#strip [data-number='10']")
    press(page, "2")
    at(page, "11 / 20")
    page.keyboard.press("a")
    page.click("#strip [data-number='20']")
    press(page, "2")
    at(page, "3 / 20")
    page.keyboard.press("ArrowLeft")
    at(page, "20 / 20")


def test_speed_steps_replay_and_full_screen(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    for speed in (1.5, 2, 0.5, 1):
        page.keyboard.press("s")
        assert of_the_clip(page, "playbackRate") == speed
    page.wait_for_function("() => Math.abs(document.querySelector('video.seen').frame - 1 / 12) < 0.01")
    page.keyboard.press("r")
    page.keyboard.press(".")
    assert of_the_clip(page, "paused")
    before = of_the_clip(page, "currentTime")
    page.keyboard.press(".")
    assert of_the_clip(page, "currentTime") == pytest.approx(before + 1 / 12, abs=0.03)
    page.keyboard.press(",")
    assert of_the_clip(page, "currentTime") == pytest.approx(before, abs=0.03)
    page.keyboard.press("r")
    moving(page)
    assert not of_the_clip(page, "paused")
    page.keyboard.press(" ")
    assert of_the_clip(page, "paused")
    page.keyboard.press("v")
    page.wait_for_function("() => document.fullscreenElement !== null")
    expect(page.locator("h1")).to_be_visible()
    press(page, "2")
    at(page, "2 / 20")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.fullscreenElement === null")


def test_caps_lock_changes_nothing_and_nothing_plays_behind_the_list(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    page.keyboard.press("S")
    assert of_the_clip(page, "playbackRate") == 1.5
    page.keyboard.press("A")
    expect(page.locator("#summary")).to_be_visible()
    for key in ("r", " "):
        page.keyboard.press(key)
        assert of_the_clip(page, "paused")


def test_clicks_and_keys_do_what_they_say(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    page.click("#replay")
    page.keyboard.press(" ")  # pauses, and does not replay again
    assert of_the_clip(page, "paused")
    page.click("#stage")
    page.wait_for_function("() => !document.querySelector('video.seen').paused")
    page.click("#stage")
    assert of_the_clip(page, "paused")
    width = box(page, "#seek")["width"]
    page.click("#seek", position={"x": 0.75 * width, "y": 8})
    assert of_the_clip(page, "currentTime / document.querySelector('video.seen').duration") == pytest.approx(
        0.75, abs=0.02
    )
    french = "new KeyboardEvent('keydown', {key: 'é', code: 'Digit2', bubbles: true})"
    page.evaluate(f"() => document.body.dispatchEvent({french})")
    at(page, "2 / 20")
    page.keyboard.press("f")
    for words in ("dark", "very dark"):
        page.fill("#comment", words)
        page.press("#comment", "Enter")  # first to the reasons, then with the one that was chosen
        if words == "dark":
            expect(page.locator("[data-reason]").first).to_be_focused()
            page.keyboard.press("Enter")
            at(page, "3 / 20")
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("f")
    at(page, "3 / 20")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    assert place.shell(FLAGS.format(name=someone.name)).split() == ["2", "1"]


def test_the_summary_offers_what_works(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    stocked(page, 3)
    press(page, "1")
    moved_on = """() => {
        document.querySelector("[data-grade]").click();
        return document.getElementById("time").value;
    }"""
    moving(page)
    page.wait_for_function("() => document.getElementById('time').value > 0.4")
    assert page.evaluate(moved_on) < 0.3  # not the time of the clip before
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.reload()
    page.keyboard.press("a")
    expect(page.locator("#flag")).to_be_disabled()
    expect(page.locator("#forward")).to_be_disabled()
    expect(page.locator("#back")).to_be_enabled()
    page.keyboard.press("Enter")
    page.keyboard.press("v")
    assert page.evaluate("() => document.fullscreenElement === null")
    page.click("#back")
    at(page, "3 / 20")


def test_another_person_is_told_who_has_to_sign_in(person: Callable[..., Person], place: Installation) -> None:
    ada, bob = person(), person()
    page = ada.claim()
    moving(page)
    ada.context.clear_cookies()
    cookies: Any = bob.context.cookies()
    ada.context.add_cookies(cookies)  # as if he had signed in here
    page.keyboard.press("3")
    words = f"kept here (1): {bob.name} is signed in now. Sign in as {ada.name} again to send it."
    expect(page.locator("#saved")).to_have_text(words)
    page.goto("about:blank")  # it asks for no more clips
    ada.faults.clear()  # the refused requests


def test_nobody_signs_out_with_unsent_grades_unasked(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    cut_off(page)
    press(page, "3")
    expect(page.locator("#saved")).to_contain_text("(1)")
    page.goto(f"{place.address}/account/")
    page.click("form.who button")
    expect(page.locator("#leftovers .error")).to_contain_text("Your last grades or flags (1) are not sent.")
    page.click("text=Stay signed in")
    page.unroute(SAVING)
    page.click("form.who button")
    page.wait_for_url("**/sign-in/**")
    assert sql(place, f"SELECT grade FROM judging_revision {of(someone)}") == [(3,)]
    assert page.evaluate("() => localStorage.length") == 0
    someone.faults.clear()  # the aborted requests


def test_who_signs_out_all_the_same_leaves_nothing_behind(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    cut_off(page)
    press(page, "3")
    page.goto(f"{place.address}/judge/loop/mine")
    page.evaluate("() => localStorage.setItem('reeljudge/bob/x/1', '{}')")  # of another account
    page.click("form.who button")
    page.click("text=Sign out and lose them")
    page.wait_for_url("**/sign-in/**")
    assert page.evaluate("() => Object.keys(localStorage)") == ["reeljudge/bob/x/1"]
    someone.faults.clear()  # the aborted requests


def test_examples_wait_for_their_controls_where_less_motion_is_asked_for(person: Callable[..., Person]) -> None:
    page = person("once", reduced_motion="reduce").claim()
    moving(page)
    page.keyboard.press("?")
    examples(page).click()
    page.wait_for_function("() => document.querySelector('#guideline video').readyState > 0")
    # The page's own observer, if it has one, is told of the video before this one.
    page.evaluate(
        "() => new Promise((told) => new IntersectionObserver(() => told()).observe("
        "document.querySelector('#guideline video')))"
    )
    assert page.evaluate("() => document.querySelector('#guideline video').paused")


def test_what_keys_do_buttons_do_too(person: Callable[..., Person]) -> None:
    page = person(viewport={"width": 360, "height": 740}, has_touch=True).claim()
    moving(page)
    page.get_by_role("button", name="More").tap()
    expect(page.get_by_role("button", name="Next →")).to_be_disabled()
    page.get_by_role("button", name="Replay").tap()
    page.get_by_role("button", name="One frame forward").tap()
    assert of_the_clip(page, "paused")
    later = of_the_clip(page, "currentTime")
    page.get_by_role("button", name="One frame back").tap()
    assert of_the_clip(page, "currentTime") < later
    page.get_by_role("button", name="Speed 1×").tap()
    page.get_by_role("button", name="Speed 1.5×").tap()
    page.get_by_role("button", name="Full screen").tap()
    page.wait_for_function("() => document.fullscreenElement !== null")
    page.evaluate("() => document.exitFullscreen()")
    page.get_by_role("button", name="More").tap()  # the grades are there again
    page.tap("[data-grade='2']")
    at(page, "2 / 20")
    page.get_by_role("button", name="More").tap()
    page.get_by_role("button", name="← Back").tap()
    at(page, "1 / 20")
    expect(page.locator("#grades")).to_be_visible()
    page.get_by_role("button", name="More").tap()
    page.get_by_role("button", name="Next →").tap()
    at(page, "2 / 20")


def test_everybody_has_the_keys_that_they_chose(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.page
    page.goto(f"{place.address}/judge/preferences")
    for name, key in {"grade1": "h", "flag": "x", "pause": "p", "help": "F1", "list": "Space"}.items():
        page.focus(f"[name={name}]")
        page.keyboard.press(key)
    expect(page.locator("[name=list]")).to_have_value("space")
    expect(page.locator("[name=help]")).to_have_value("?")  # browsers need that one themselves
    page.keyboard.press("Enter")
    expect(page.locator(".message")).to_contain_text("Stored")
    someone.claim()
    moving(page)
    expect(page.locator("[data-grade='1'] kbd")).to_have_text("h")
    expect(page.locator("[data-grade='2'] kbd")).to_have_count(0)
    page.keyboard.press("1")
    page.keyboard.press("f")
    expect(page.locator("#reasons")).to_be_hidden()
    at(page, "1 / 20")
    page.keyboard.press("p")
    assert of_the_clip(page, "paused")
    page.keyboard.press("H")
    at(page, "2 / 20")
    page.keyboard.press("x")
    page.keyboard.press("2")  # a reason, whatever the keys of grades are
    expect(page.locator("#hint")).to_contain_text("Clip 2 is flagged")
    page.keyboard.press(" ")
    expect(page.locator("#strip strong")).to_have_text([*("–" * 18), "1", "⚑"])


def of_the_clip(page: Page, name: str) -> Any:
    return page.evaluate(f"() => document.querySelector('video.seen').{name}")


def test_a_clip_is_watched_to_its_end_before_it_is_judged(person: Callable[..., Person]) -> None:
    page = person("once").claim()
    page.keyboard.press(" ")
    page.wait_for_function("() => document.querySelector('video.seen').paused")
    for _ in range(15):
        page.keyboard.press(".")  # stepping to the end is not watching
    page.keyboard.press("4")
    expect(page.locator("#hint")).to_have_text("Watch the clip to its end once, then judge it.")
    at(page, "1 / 20")
    page.keyboard.press("r")
    expect(page.locator("#grades")).not_to_have_class("grades waiting", timeout=10_000)
    page.keyboard.press("4")
    at(page, "2 / 20")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("3")  # a change of mind needs no second look
    at(page, "2 / 20")


def test_nobody_judges_what_cannot_be_seen(person: Callable[..., Person]) -> None:
    someone = person("once")
    page = someone.claim()
    waiting: list[Route] = []
    page.route("**/clips/*", lambda route: waiting.append(route))
    page.reload(wait_until="commit")
    at(page, "1 / 20")
    page.keyboard.press("4")
    expect(page.locator("#hint")).to_have_text("This clip is loading. Judge it when you have seen it.")
    page.route("**/clips/*", lambda route: route.abort())
    for route in waiting:
        route.abort()
    expect(page.locator("#absent")).to_contain_text("does not load")
    expect(page.locator("#grades")).to_have_class("grades waiting")  # also where clips are played once
    page.keyboard.press("4")
    expect(page.locator("#hint")).to_contain_text("This clip does not load")
    at(page, "1 / 20")
    page.goto("about:blank")
    someone.faults.clear()  # the aborted requests


def test_the_first_clip_has_the_network_to_itself(person: Callable[..., Person]) -> None:
    page = person("once").claim()
    moving(page)
    stocked(page, 20)
    held: list[Route] = []
    released: list[Route] = []
    page.route("**/clips/*", lambda route: route.continue_() if released else held.append(route))
    page.reload(wait_until="commit")
    expect(page.locator("#loading")).to_have_text("Loading, 0 %")
    first = page.locator("video.seen").get_attribute("src") or "none"
    page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(done)))")
    assert {route.request.url.rpartition("/")[2] for route in held} == {first.rpartition("/")[2]}
    released += held
    for route in held:
        route.continue_()
    moving(page)
    expect(page.locator("#loading")).to_be_hidden()
    stocked(page, 20)
    assert page.evaluate("() => document.querySelector('#guideline video').readyState") == 0
    page.keyboard.press("?")
    examples(page).click()
    page.wait_for_function("() => document.querySelector('#guideline video').currentTime > 0")


def examples(page: Page) -> Locator:
    return page.locator("#guideline summary", has_text="Examples")


def test_the_card_shows_the_campaigns_examples_playing(person: Callable[..., Person]) -> None:
    page = person("once").claim()
    moving(page)
    page.keyboard.press("?")
    expect(page.locator("#guideline video")).to_be_hidden()
    examples(page).click()
    expect(page.locator("#guideline article")).to_contain_text("A person stands up.")
    expect(page.locator("#guideline article")).to_contain_text("Too slow.")
    page.wait_for_function("() => document.querySelector('#guideline video').currentTime > 0")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.querySelector('#guideline video').paused")


def test_the_card_leaves_room_for_clip_and_grades(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    page.keyboard.press("?")
    for number, width in enumerate((1600, 1280, 900), 1):
        page.set_viewport_size({"width": width, "height": 720})
        card = box(page, "#guideline")
        for part in (box(page, "#stage"), box(page, "[data-grade='4']")):
            assert part["x"] + part["width"] <= card["x"]
            assert part["width"] > 60
        press(page, "4")
        at(page, f"{number + 1} / 20")


def test_the_card_of_a_narrow_window_lies_below_the_clip(person: Callable[..., Person]) -> None:
    page = person(viewport={"width": 800, "height": 720}).claim()
    moving(page)
    page.keyboard.press("?")
    for number, width in enumerate((800, 360), 1):
        page.set_viewport_size({"width": width, "height": 720})
        stage, card = box(page, "#stage"), box(page, "#guideline")
        assert (stage["y"], stage["width"], card["width"]) == (0, width, width)
        assert 200 < stage["height"] <= card["y"]
        press(page, "4")
        at(page, f"{number + 1} / 20")
        assert box(page, "#hint")["width"] <= 1  # what is told of a grade covers no clip


def test_five_grades_are_one_view_in_the_order_of_their_buttons(person: Callable[..., Person]) -> None:
    page = person(viewport={"width": 1366, "height": 625}).claim()
    moving(page)
    before = box(page, "video.seen")
    page.keyboard.press("?")
    expect(page.locator(".meanings .dot")).to_have_text(page.locator("[data-grade] strong").all_inner_texts())
    for meaning in page.locator(".meanings li").all():
        expect(meaning).to_be_in_viewport(ratio=1)
    assert box(page, "video.seen")["width"] >= 0.9 * before["width"]


def test_a_click_beside_the_card_closes_it_and_the_clip_goes_on(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    page.keyboard.press("?")
    page.click(".meanings li")
    page.click("[data-grade='2']")  # is for the clip
    at(page, "2 / 20")
    expect(page.locator("#guideline")).to_be_visible()
    moving(page)
    page.click("#stage")
    expect(page.locator("#guideline")).to_be_hidden()
    assert not of_the_clip(page, "paused")
    page.wait_for_function("() => history.state === null")
    page.click("#stage")
    assert of_the_clip(page, "paused")


def box(page: Page, selector: str) -> Any:
    return page.locator(selector).bounding_box()


def test_a_flag_has_a_comment_and_can_be_taken_back(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    page.keyboard.press("f")
    page.click("#comment")
    page.keyboard.type("2 people, 3 boards?")
    at(page, "1 / 20")  # what is typed there does not judge
    page.click("[data-reason='query']")
    expect(page.locator("#hint")).to_have_text("Clip 1 is flagged ✓ · ← to change")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    page.reload()
    page.keyboard.press("a")
    page.click("#strip [data-number='1']")
    page.keyboard.press("f")
    expect(page.locator("#comment")).to_have_value("2 people, 3 boards?")
    expect(page.locator("[data-reason='query']")).to_have_attribute("aria-pressed", "true")
    page.click("#unflag")
    expect(page.locator("#hint")).to_have_text("The flag of clip 1 is removed")
    expect(page.locator("#done")).to_have_text("0 of 20")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    assert place.shell(FLAGS.format(name=someone.name)).split() == ["1", "0"]


def test_how_it_was_said_is_noted(person: Callable[..., Person], place: Installation) -> None:
    someone = person(has_touch=True)
    page = someone.claim()
    moving(page)
    press(page, "1")
    moving(page)
    page.click("[data-grade='2']")
    moving(page)
    page.tap("[data-grade='3']")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    rows = sql(place, f"SELECT grade, input FROM judging_revision {of(someone)} ORDER BY id")
    assert rows == [(1, "key"), (2, "pointer"), (3, "touch")]


def of(someone: Person, column: str = "judgement_id") -> str:
    """The rows of revisions that somebody wrote; or of judgements, by the column `id`."""
    return (
        f"WHERE {column} IN (SELECT j.id FROM judging_judgement j JOIN campaigns_membership m"
        f" ON j.annotator_id = m.id JOIN auth_user u ON m.user_id = u.id WHERE u.username = '{someone.name}')"
    )


@pytest.mark.parametrize(
    ("happened", "seconds"),
    [
        ([["sign", 10], ["sign", 20]], 20),
        ([["sign", 1000]], 60),  # a gap counts as the cap
        ([["hide", 10], ["sign", 500], ["show", 1000], ["sign", 1005]], 15),  # hidden is not active
        ([["hide", 10], ["hide", 20], ["show", 30], ["show", 35], ["sign", 40]], 20),
        ([["sign", 10], ["sign", 5], ["sign", 8]], 13),  # a clock set back takes nothing away
        ([["sign", 10], ["rest", 20], ["sign", 30], ["show", 40], ["sign", 50], ["wake", 60], ["sign", 65]], 25),
        ([["rest", 10], ["hide", 20], ["show", 30], ["sign", 40]], 10),
        ([], 0),
    ],
)
def test_active_time(timed: Page, happened: list[tuple[str, float]], seconds: float) -> None:
    count = """(happened) => {
        let now = 0;
        const timer = new ActiveTime(() => 1000 * now);
        for (const [what, at] of happened) { now = at; timer[what](); }
        return [timer.take(), timer.take()];
    }"""
    assert timed.evaluate(count, happened) == [pytest.approx(seconds), 0]


@pytest.fixture(scope="module")
def timed(browser: Browser) -> Iterator[Page]:
    """A page with nothing but the timer, and the stage's script."""
    page = browser.new_context().new_page()
    for script in ("timer", "stage"):
        page.add_script_tag(path=f"static/annotate/{script}.js")
    yield page
    page.context.close()


@pytest.mark.parametrize(
    ("start", "begins", "ends", "enough"),
    [(0.3, 0.3, 2, True), (0.3, 0.3, 1.9, True), (0.3, 0.3, 1.5, False), (0.036, 0.3, 2, False)],
)
def test_a_clip_of_few_frames_is_played_from_its_first_to_its_end(
    timed: Page, start: float, begins: float, ends: float, enough: bool
) -> None:
    """A clip of two seconds, which begins at the end of its first frame."""
    played = """([start, begins, ends]) => {
        const stage = new Stage({ clips: ["/clips/x"] });
        const played = { length: 1, start: () => begins, end: () => ends };
        stage.videos.set(0, { duration: 2, start, played });
        return stage.playedOnce;
    }"""
    assert timed.evaluate(played, [start, begins, ends]) is enough


@pytest.mark.parametrize(
    ("ready", "duration", "end", "share"), [(1, 5, 2, 0.4), (0, None, None, 0), (2, 5, 5, 1), (3, 5, 2, None)]
)
def test_the_stage_says_how_much_of_a_clip_has_come(
    timed: Page, ready: int, duration: float | None, end: float | None, share: float | None
) -> None:
    loaded = """([readyState, duration, end]) => {
        const stage = new Stage({ clips: ["/clips/x"] });
        stage.videos.set(0, { readyState, duration, buffered: { length: end === null ? 0 : 1, end: () => end } });
        return stage.loaded;
    }"""
    assert timed.evaluate(loaded, [ready, duration, end]) == share


def test_an_idle_hour_counts_as_the_cap(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    someone.page.clock.install()
    page = someone.claim()
    sql(place, "UPDATE judging_assignment SET began = '2020-01-01 00:00:00' WHERE state = 'live'")
    moving(page)
    page.keyboard.press("1")
    moving(page)
    page.keyboard.press(" ")  # so that playing is no sign of her
    page.clock.fast_forward("01:00:00")
    page.keyboard.press("2")
    page.clock.run_for(5000)
    expect(page.locator("#saved")).to_have_text("saved ✓")
    first, idle = (
        seconds for (seconds,) in sql(place, f"SELECT seconds FROM judging_revision {of(someone)} ORDER BY id")
    )
    assert 0 < first < 60
    assert 60 <= idle < 70


def test_what_came_too_late_is_shown_and_then_forgotten(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    stocked(page, 3)
    someone.context.set_offline(True)
    press(page, *"23")
    expect(page.locator("#saved")).to_have_text("kept here, sending… (2)")
    gone = "id = (SELECT max(id) FROM judging_assignment WHERE state = 'live')"
    sql(
        place,
        f"UPDATE judging_batch SET taken = 2 WHERE id = (SELECT batch_id FROM judging_assignment WHERE {gone})",
        f"UPDATE judging_assignment SET state = 'lapsed', lease = '2020-01-01 00:00:00' WHERE {gone}",
    )
    someone.context.set_offline(False)
    expect(page.locator("#summary-words")).to_contain_text(
        "Your last grades or flags (2) were not counted", timeout=30_000
    )
    page.goto(f"{place.address}/judge/")
    expect(page.locator("#leftovers")).to_contain_text(
        "Your last grades or flags of an earlier batch (2) were not counted"
    )
    page.click("#leftovers button")
    page.reload()
    expect(page.locator("#leftovers")).to_have_text("")
    assert page.evaluate("() => localStorage.length") == 0
    someone.faults.clear()  # the lost network, and the conflicts that were answered


def test_the_last_press_holds_whatever_the_clock_says(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    cut_off(page)
    tomorrow = page.evaluate("() => Date.now() + 24 * 60 * 60 * 1000")
    page.clock.set_system_time(tomorrow)
    press(page, "0")
    page.reload()  # what it knows of the clock is gone
    page.clock.set_system_time(tomorrow - 24 * 60 * 60 * 1000)
    page.keyboard.press("ArrowLeft")
    press(page, "4")
    expect(page.locator("#saved")).to_contain_text("(2)")
    page.unroute(SAVING)
    expect(page.locator("#saved")).to_have_text("saved ✓")
    rows = sql(place, f"SELECT press, grade FROM judging_revision {of(someone)} ORDER BY id")
    assert rows == [(1, 0), (2, 4)]
    assert sql(place, f"SELECT grade FROM judging_judgement {of(someone, 'id')}") == [(4,)]
    someone.faults.clear()  # the aborted requests


def test_what_was_kept_is_sent_from_her_home(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    cut_off(page)
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_contain_text("(1)")
    page.unroute(SAVING)
    page.goto(f"{place.address}/judge/")
    expect(page.locator("#leftovers")).to_contain_text(
        "Your last grades or flags of an earlier batch (1) were saved just now."
    )
    someone.faults.clear()  # the aborted requests


def test_a_batch_opens_once_what_was_kept_of_it_is_saved(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    cut_off(page)
    press(page, *"12")
    expect(page.locator("#saved")).to_contain_text("(2)")
    page.unroute(SAVING)
    held: list[Route] = []
    page.route(re.compile("/resume|/judgements/"), lambda route: held.append(route))
    page.goto(f"{place.address}/judge/")
    page.click("form[action$='/claim'] button", no_wait_after=True)
    for number, address in enumerate(["resume", "judgements/1", "judgements/2"], 1):
        wait_at_home(page, held, number)
        assert held[-1].request.url.endswith(f"/{address}")
        held[-1].continue_()
    at(page, "3 / 20")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    assert len(held) == 3
    someone.faults.clear()  # the aborted requests


def wait_at_home(page: Page, held: list[Route], number: int) -> None:
    """Until so many requests are held up; meanwhile her start page stays. Asking it lets Playwright tell of them."""
    home = "() => location.pathname === '/judge/'"
    wait_until(lambda: page.evaluate(home) and len(held) == number, lambda: f"{number} requests are held up at home")


def test_a_form_that_waited_says_which_button_was_pressed(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    cut_off(page)
    press(page, "1")
    expect(page.locator("#saved")).to_contain_text("(1)")
    page.unroute(SAVING)
    held: list[Route] = []
    page.route(re.compile("/resume"), lambda route: held.append(route))
    page.goto(f"{place.address}/judge/")
    page.click("[name=language][value=zh-hans]", no_wait_after=True)
    wait_at_home(page, held, 1)
    held[0].continue_()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    assert len(sql(place, f"SELECT id FROM judging_revision {of(someone)}")) == 1
    someone.faults.clear()  # the aborted requests


def test_an_outage_ends_with_a_sentence(person: Callable[..., Person]) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    stocked(page, 20)
    someone.context.set_offline(True)
    for number, key in enumerate("0123401234", 1):
        moving(page)  # also without a network
        page.keyboard.press(key)
        at(page, f"{number + 1} / 20")
    someone.context.set_offline(False)
    expect(page.locator("#news")).to_have_text(
        "The server answers again. Everything that was kept here is saved (10).", timeout=30_000
    )
    press(page, "2")
    at(page, "12 / 20")
    expect(page.locator("#news")).to_be_empty()  # it is no news any more
    someone.faults.clear()  # the lost network


def test_two_tabs_send_what_is_kept_once(person: Callable[..., Person], place: Installation) -> None:
    someone = person()
    page = someone.claim()
    moving(page)
    sent: list[Route] = []
    someone.context.route("**/flags/*", lambda route: sent.append(route))
    page.keyboard.press("f")
    page.click("[data-reason='clip']")
    other = someone.context.new_page()
    other.goto(page.url)  # sends what it finds, too
    at(other, "2 / 20")
    other.wait_for_function("() => navigator.locks.query().then(({ pending }) => pending.length > 0)")
    assert len(sent) == 1
    someone.context.route("**/flags/*", lambda route: route.continue_())
    sent[0].continue_()
    for tab in (page, other):
        expect(tab.locator("#saved")).to_have_text("saved ✓")
    assert sql(place, f"SELECT count(*) FROM judging_flag WHERE key = '{key_of(sent[0])}'") == [(1,)]


def key_of(sent: Route) -> str:
    return UUID(json.loads(sent.request.post_data or "")["key"]).hex  # as SQLite keeps it


def test_an_answer_that_is_not_the_servers_acknowledges_nothing(person: Callable[..., Person]) -> None:
    page = person().claim()
    moving(page)
    page.route(SAVING, lambda route: route.fulfill(body="<h1>Welcome to our hotel</h1>"))
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_have_text("kept here, sending… (1)")
    page.unroute(SAVING)
    expect(page.locator("#saved")).to_have_text("saved ✓", timeout=30_000)


def test_a_note_stands_above_the_grades(person: Callable[..., Person]) -> None:
    page = person().claim()

    def add_note(route: Any) -> None:
        answer = route.fetch()
        body = answer.text().replace('"comment": ""', '"comment": "", "note": "Look again: <b>mind</b> the door."', 1)
        route.fulfill(response=answer, body=body)

    page.route("**/assignments/*/", add_note)
    page.reload()
    expect(page.locator("#note")).to_have_text("Look again: <b>mind</b> the door.")
    press(page, "1")
    expect(page.locator("#note")).to_be_hidden()


def test_the_first_page_weighs_less_than_60_kb(person: Callable[..., Person]) -> None:
    page = person().claim()
    sizes = browsing.weight(page)
    assert all(sizes.values()), sizes
    assert sum(sizes.values()) < 60_000, json.dumps(sizes)
