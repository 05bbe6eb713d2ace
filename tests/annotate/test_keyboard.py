"""Without a pointer, on a small phone, with less motion: the annotator's pages for everybody."""

from __future__ import annotations

from itertools import product

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import Person, make_campaign, moving, press, wait_until_open
from tests.installation import Installation

pytestmark = pytest.mark.timeout(900)
FOCUSED = "() => document.activeElement !== document.body && document.activeElement.getClientRects().length > 0"
RING = "() => getComputedStyle(document.activeElement).outlineStyle"


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    make_campaign(server, "keyboard", queries=3)
    wait_until_open(server, "keyboard", 3)
    return server


def test_a_batch_is_judged_by_keys_alone(place: Installation, chromium: Browser) -> None:
    page = signed_in_by_keys(place, chromium, "kim")
    tab_to(page, "form[action$='/claim'] button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#workplace")
    moving(page)
    guideline_comes_and_goes(page)
    flag_with_a_comment(page)
    total = int(page.locator("#position").inner_text().split("/")[1])
    for number in range(1, total):
        expect(page.locator("#position")).to_have_text(f"{number + 1} / {total}")
        press(page, "3")
    expect(page.locator("#submit")).to_be_focused()
    first = page.url
    page.keyboard.press("Enter")
    expect(page.locator("#begin-next")).to_be_focused()
    page.keyboard.press("Enter")
    moving(page)
    assert page.url != first
    expect(page.locator("#position")).to_have_text(f"1 / {total}")


def signed_in_by_keys(place: Installation, chromium: Browser, name: str) -> Page:
    password = place.accounts("keyboard", "annotator", name)[name]
    page = chromium.new_context().new_page()
    page.goto(f"{place.address}/sign-in/")
    expect(page.locator("[name=username]")).to_be_focused()  # by itself, with the first picture of the page
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(password)
    page.keyboard.press("Enter")
    page.wait_for_url("**/judge/")
    return page


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until it has the focus, which shows at every step."""
    for _ in range(30):
        if page.locator(selector).evaluate("(each) => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED)
        assert page.evaluate(RING) != "none"
    raise AssertionError(f"{selector} is not reached")


def guideline_comes_and_goes(page: Page) -> None:
    page.keyboard.press("?")
    expect(page.locator("#guideline")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#guideline")).to_be_hidden()
    assert page.evaluate(FOCUSED)
    tab_to(page, "#help")
    page.keyboard.press("Enter")
    expect(page.locator("#guideline")).to_be_focused()
    tab_to(page, "#close-guideline")
    page.keyboard.press("Enter")
    expect(page.locator("#help")).to_be_focused()


def flag_with_a_comment(page: Page) -> None:
    page.keyboard.press("f")
    assert page.evaluate(FOCUSED)
    page.keyboard.press("Escape")
    assert page.evaluate(FOCUSED)
    page.keyboard.press("f")
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#comment")).to_be_focused()
    page.keyboard.type("3 people")  # a grade is not meant here
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#hint")).to_contain_text("Clip 1 is flagged")
    assert page.evaluate(FOCUSED)


def test_a_small_phone_needs_no_sideways_scrolling_and_has_large_buttons(
    place: Installation, chromium: Browser
) -> None:
    password = place.accounts("keyboard", "annotator", "kit")["kit"]
    context = chromium.new_context(viewport={"width": 360, "height": 640}, has_touch=True, locale="zh-CN")
    kit = Person(place, context, "kit", password)
    for address in ["/judge/", "/judge/keyboard/mine", "/account/", "/account/security"]:
        kit.page.goto(place.address + address)
        assert fits(kit.page), address
    for step in range(1, 7):
        kit.page.goto(f"{place.address}/judge/keyboard/tutorial?step={step}")
        assert fits(kit.page), step
    page = kit.claim()
    moving(page)
    for key in ("?", "Escape", "f", "a"):
        assert fits(page), key
        page.keyboard.press(key)
    page.keyboard.press("a")
    for button in page.locator("#grades button").all():
        assert (button.bounding_box() or {"height": 0})["height"] >= 44
    page.keyboard.press("f")
    assert page.evaluate(STILL)
    for button in page.locator("[data-reason]").all():
        assert (button.bounding_box() or {"height": 0})["height"] >= 48
        expect(button).to_be_in_viewport(ratio=1)


SEEN = """() => [...document.querySelectorAll("h1, #position, #stage, #grades button, #saved")].every((each) => {
    const { top, left, bottom, right, height } = each.getBoundingClientRect();
    return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth && height > 4;
})"""
# As the strip would say it.
WORKED = """(minutes) => {
    document.getElementById("each").textContent = "14 s";
    document.getElementById("since").textContent = `${minutes} min`;
    document.getElementById("suggest").hidden = minutes < 50;
    document.getElementById("pace").classList.toggle("long", minutes >= 50);
}"""
STILL = "() => document.documentElement.scrollHeight <= innerHeight"
# Of a small phone, upright and on its side; of a page of 1280 × 720 at 200 %, and of a smaller one; of a desk.
WINDOWS = [(360, 640), (320, 568), (740, 360), (640, 360), (683, 334), (800, 600), (1280, 720)]
QUERIES = ["A person walks " * 23, "Donaudampfschifffahrtsgesellschaft" * 6, "شخص يجلس (a chair) " * 4, "Short."]


def test_query_clip_and_grades_are_in_sight_in_every_window(place: Installation, chromium: Browser) -> None:
    password = place.accounts("keyboard", "annotator", "kay")["kay"]
    page = Person(place, chromium.new_context(has_touch=True), "kay", password).claim()
    moving(page)
    for query in QUERIES:
        set_query = "(text) => { h1.textContent = text; h1.classList.toggle('long', text.length > 120); }"
        page.evaluate(set_query.replace("h1", "document.querySelector('h1')"), query)
        for (width, height), minutes in product(WINDOWS, (40, 50)):  # without, and with a suggestion to have a break
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(WORKED, minutes)
            assert page.evaluate(SEEN), (width, height, minutes, query)
            assert page.evaluate(STILL), (width, height, minutes, query)
            assert fits(page), (width, height, minutes, query)
    page.set_viewport_size({"width": 360, "height": 400})  # too low for all of it: then it stays where it is
    page.evaluate("() => scrollTo(0, 1000)")
    before = page.evaluate("() => scrollY")
    page.evaluate("() => document.querySelector('[data-grade=\"4\"]').click()")
    expect(page.locator("#position")).to_have_text("2 / 20")
    assert page.evaluate("() => scrollY") == before > 0


SHARES = {(1366, 625): 0.45, (1280, 600): 0.40, (1920, 1080): 0.55}  # of the window, which the clip fills at least
SHARE = """() => {
    const { width, height } = document.querySelector("video.seen").getBoundingClientRect();
    return width * height / innerWidth / innerHeight;
}"""


def test_the_clip_is_the_page(place: Installation, chromium: Browser) -> None:
    """A clip of 16:9 has its own ratio on the stage, and a flag's reasons take no room from it."""
    password = place.accounts("keyboard", "annotator", "kai")["kai"]
    page = Person(place, chromium.new_context(), "kai", password).claim()
    moving(page)
    for (width, height), share in SHARES.items():
        page.set_viewport_size({"width": width, "height": height})
        before = page.evaluate(SHARE)
        assert before >= share
        page.keyboard.press("f")
        assert page.evaluate(SHARE) == pytest.approx(before)
        page.keyboard.press("Escape")
    expect(page.locator("#bar")).to_have_css("opacity", "0")
    page.keyboard.press(" ")
    expect(page.locator("#bar")).to_have_css("opacity", "1")
    page.keyboard.press(" ")
    expect(page.locator("#bar")).to_have_css("opacity", "0")
    page.keyboard.press("f")
    page.keyboard.press("2")  # the second reason, and no grade
    expect(page.locator("#hint")).to_contain_text("Clip 1 is flagged")


def test_the_guideline_of_a_phone_is_closed_by_its_button_and_by_back(place: Installation, chromium: Browser) -> None:
    password = place.accounts("keyboard", "annotator", "kim2")["kim2"]
    context = chromium.new_context(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    page = Person(place, context, "kim2", password).claim()
    workplace = page.url
    page.tap("#more")
    page.tap("#help")
    page.locator("#guideline").evaluate("(panel) => panel.scrollTo(0, panel.scrollHeight)")
    expect(page.locator("#close-guideline")).to_be_in_viewport()
    expect(page.locator("#guideline kbd").first).to_be_hidden()
    expect(page.locator(".by-keys")).to_be_hidden()
    page.go_back()
    expect(page.locator("#guideline")).to_be_hidden()
    assert page.url == workplace
    page.tap("#more")
    page.tap("#help")
    page.tap("#close-guideline")
    expect(page.locator("#guideline")).to_be_hidden()
    page.wait_for_function("() => history.state === null")
    page.go_back()  # from where she came, and not to the guideline
    page.wait_for_url("**/judge/")


def fits(page: Page) -> bool:
    return bool(page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.mark.parametrize(("wish", "animated"), [("no-preference", True), ("reduce", False)])
def test_less_motion_is_honoured(place: Installation, chromium: Browser, wish: str, animated: bool) -> None:
    page = chromium.new_context(reduced_motion=wish).new_page()  # type: ignore[arg-type]
    page.goto(f"{place.address}/sign-in/")
    page.add_style_tag(url=f"{place.address}/static/annotate/annotate.css")
    page.evaluate("() => document.querySelector('main button').parentElement.classList.add('grades')")
    page.evaluate("() => document.querySelector('main button').classList.add('blink')")
    duration = page.evaluate("() => getComputedStyle(document.querySelector('.blink')).animationDuration")
    assert (duration == "0.3s") is animated
