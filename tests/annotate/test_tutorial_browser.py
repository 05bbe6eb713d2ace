"""The tutorial in a real browser: the lead adds examples, an annotator walks through with the workplace's keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browsing import key, make_campaign
from tests.installation import Installation
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)
EXAMPLES = {"A ball is thrown.": 4, "A door is opened.": 2, "Nobody is here.": 0}


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    """A campaign over films to cut clips from."""
    make_campaign(server, "tutorial")
    return server


@pytest.fixture(scope="module")
def taught(place: Installation, browser: Browser) -> dict[str, int]:
    """The lead adds three examples on her page and waits until their clips are cut."""
    lead = sign_in(place, browser.new_context(), "tess", "lead")
    for second, (query, grade) in enumerate(EXAMPLES.items(), 1):
        lead.goto(f"{place.address}/campaigns/tutorial/guideline/?example=own")
        fields = {"query": query, "video": "film", "start": str(second), "end": str(second + 1), "why": f"Why {grade}."}
        for field, words in fields.items():
            lead.fill(f"[name={field}]", words)
        lead.select_option("[name=grade]", str(grade))
        lead.click(".drawer button.primary")
        expect(lead.locator(".message")).to_contain_text("in the tutorial")
    wait_until(
        lambda: lead.reload() and lead.locator("video").count() == len(EXAMPLES),
        lambda: f"the examples have clips: {lead.content()}",
    )
    lead.context.close()
    return EXAMPLES


def sign_in(place: Installation, context: BrowserContext, name: str, role: str) -> Page:
    password = place.accounts("tutorial", role, name)[name]
    page = context.new_page()
    page.goto(f"{place.address}/sign-in/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", password)
    page.click("main button")
    page.wait_for_url(lambda address: "sign-in" not in address)
    return page


@pytest.fixture
def person(
    place: Installation, taught: dict[str, int], chromium: Browser, request: pytest.FixtureRequest
) -> Iterator[Page]:
    """A new annotator at her start page; her browser must have nothing to complain about."""
    options = getattr(request, "param", {})
    context = chromium.new_context(**options)
    page = sign_in(place, context, f"ada-{request.node.name[5:30].strip('_')}".replace("[", "-"), "annotator")
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert faults == []


def step_of(page: Page) -> str:
    return page.locator(".steps [aria-current]").inner_text().split()[0]


def moving(page: Page) -> None:
    page.wait_for_function("() => document.querySelector('main video')?.currentTime > 0.1")


def test_walking_through_with_keys(person: Page, taught: dict[str, int]) -> None:
    expect(person.locator("form[action$='/tutorial'] button")).to_be_focused()  # what is suggested first
    key(person, "Enter")
    expect(person.locator("h1")).to_have_text("A query and a clip")
    moving_still(person)
    for step in ("2", "3", "4"):
        key(person, "ArrowRight")
        expect(person.locator(".steps [aria-current]")).to_contain_text(step)
    for number in range(1, len(taught) + 1):
        expect(person.locator(".query .n")).to_have_text(f"{number} / 3")
        moving(person)
        expect(person.locator("#clip")).to_be_visible()
        grade = taught[person.locator("h1").inner_text()]
        expect(person.locator("#answer")).to_contain_text("Nothing is stored here")
        key(person, str(grade))
        expect(person.locator("#answer")).to_contain_text(f"Your lead also gives grade {grade}.")
        expect(person.locator("#answer")).to_contain_text(f"Why {grade}.")
        expect(person.locator(f"[data-key='{grade}']")).to_have_attribute("aria-pressed", "true")
        key(person, "ArrowRight")
    expect(person.locator("h1")).to_have_text("The tool")
    key(person, "ArrowRight")
    person.click("main button.primary")
    person.wait_for_url(re.compile("/judge/(assignments/.*)?$"))


def test_clips_among_words_are_stopped_by_key(person: Page, place: Installation) -> None:
    person.goto(f"{place.address}/judge/tutorial/tutorial?step=1")
    moving_still(person)
    person.locator(".player [data-does=pause]").first.focus()
    key(person, " ")
    person.wait_for_function("() => document.querySelector('video.still').paused")


def test_a_pointer_stops_clips_among_words_and_moves_in_them(person: Page, place: Installation) -> None:
    person.goto(f"{place.address}/judge/tutorial/tutorial?step=1")
    moving_still(person)
    expect(person.locator(".player [data-does=pause]")).to_have_text("Pause")
    person.click(".player video")
    person.wait_for_function("() => document.querySelector('video.still').paused")
    expect(person.locator(".player [data-does=pause]")).to_have_text("Play")
    bar = person.locator(".player .seek").bounding_box()
    assert bar
    person.mouse.move(bar["x"] + 0.2 * bar["width"], bar["y"] + 20)
    person.mouse.down()
    person.mouse.move(bar["x"] + 0.8 * bar["width"], bar["y"] + 20)
    person.mouse.up()
    share = "() => { const { currentTime, duration } = document.querySelector('video.still');"
    assert person.evaluate(f"{share} return currentTime / duration; }}") == pytest.approx(0.8, abs=0.05)


def test_the_clip_that_is_tried_has_the_workplaces_transport(person: Page, place: Installation) -> None:
    person.goto(f"{place.address}/judge/tutorial/tutorial?step=4")
    moving(person)
    key(person, ".")
    assert person.evaluate("document.querySelector('#clip').paused")
    later = person.evaluate("document.querySelector('#clip').currentTime")
    key(person, ",")
    assert person.evaluate("document.querySelector('#clip').currentTime") < later
    key(person, "s")
    assert person.evaluate("document.querySelector('#clip').playbackRate") == 1.5
    person.evaluate("document.querySelector('#clip').currentTime = 0.9")
    key(person, "l")
    person.wait_for_function("() => !document.querySelector('#clip').paused")
    expect(person.locator("#clock")).to_contain_text(" / 0:01.0")


def test_going_back_and_loading_again_keep_the_place(person: Page, place: Installation) -> None:
    person.goto(f"{place.address}/judge/tutorial/tutorial?step=4")
    key(person, "2")
    expect(person.locator("#answer")).to_contain_text("our lead")
    person.reload()
    expect(person.locator("[data-key='2']")).to_have_attribute("aria-pressed", "true")
    key(person, "ArrowRight")
    expect(person.locator(".query .n")).to_have_text("2 / 3")
    person.go_back()
    expect(person.locator(".query .n")).to_have_text("1 / 3")
    expect(person.locator("[data-key='2']")).to_have_attribute("aria-pressed", "true")
    person.go_back()
    expect(person.locator("#answer")).to_contain_text("Nothing is stored here")
    key(person, "ArrowLeft")
    expect(person.locator("h1")).to_have_text("Five grades")


def test_pause_flag_and_guideline_have_the_workplaces_keys(person: Page, place: Installation) -> None:
    person.goto(f"{place.address}/judge/tutorial/tutorial?step=4")
    moving(person)
    key(person, " ")
    assert person.evaluate("document.querySelector('#clip').paused")
    key(person, " ")
    person.wait_for_function("() => !document.querySelector('#clip').paused")
    key(person, "?")
    expect(person.locator("#guideline")).to_be_visible()
    person.click("#guideline summary:has-text('Examples')")
    expect(person.locator("#guideline video").first).to_be_visible()
    key(person, "Escape")
    expect(person.locator("#guideline")).to_be_hidden()
    person.wait_for_function("() => history.state === null")  # going back is done
    key(person, "f")
    expect(person.locator("#answer")).to_contain_text("Nothing is flagged here")


# The pixels of its last link that lie where the header's row of links fades.
FADED = """(nav) => Math.max(0, nav.lastElementChild.getBoundingClientRect().right
    - (nav.getBoundingClientRect().right - 24))"""


@pytest.mark.parametrize("person", [{"viewport": {"width": 360, "height": 740}, "has_touch": True}], indirect=True)
def test_on_a_phone_nothing_is_wider_than_the_screen(person: Page, place: Installation) -> None:
    person.goto(f"{place.address}/judge/tutorial/tutorial")
    assert person.locator(".top nav").evaluate(FADED) == 0
    for step in range(1, 7):
        person.goto(f"{place.address}/judge/tutorial/tutorial?step={step}")
        assert person.evaluate("document.documentElement.scrollWidth") <= 360
    person.goto(f"{place.address}/judge/tutorial/tutorial?step=4")
    person.tap("[data-key='0']")
    expect(person.locator("#answer")).to_contain_text("our lead")
    assert person.locator("[data-key='0']").bounding_box()["height"] >= 44  # type: ignore[index]


@pytest.mark.parametrize("person", [{"java_script_enabled": False}], indirect=True)
def test_it_works_without_scripts(person: Page, place: Installation) -> None:
    person.goto(f"{place.address}/judge/tutorial/tutorial")
    for _ in range(3):
        person.click("text=Next →")
    person.click("[data-key='3']")
    expect(person.locator("#answer")).to_contain_text("our lead")
    assert step_of(person) == "4"


def moving_still(page: Page) -> None:
    page.wait_for_function("() => document.querySelector('video.still')?.currentTime > 0")


def test_a_practised_clip_has_transport_card_and_keys(place: Installation, person: Page) -> None:
    person.goto(f"{place.address}/judge/tutorial/practice")
    person.click("main form button")
    expect(person.locator("#clock")).to_contain_text(" / 0:01.0")
    person.wait_for_function("() => document.getElementById('time').value > 0")
    key(person, " ")
    expect(person.locator("#pause")).to_contain_text("Play")
    key(person, "?")
    expect(person.locator("#guideline .keys")).to_be_visible()
    key(person, "Escape")
    expect(person.locator("#guideline")).to_be_hidden()
    key(person, "4")
    expect(person.locator("#answer")).to_be_visible()
