"""Figures in a real browser: drawn, with tooltips, under the policy that forbids code made of text."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import make_campaign, signed_in, wait_until_open
from tests.installation import Installation

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    """A campaign that was judged to its end."""
    make_campaign(server, "figures", "bare")
    wait_until_open(server, "figures", 1)
    server.manage("simulate", "figures", "--annotators", "4", "--address", server.address)
    return server


@pytest.fixture
def page(place: Installation, chromium: Browser) -> Iterator[Page]:
    """The lead's, and nothing may be complained of."""
    name = f"fay-{uuid4().hex[:6]}"
    with signed_in(place, chromium, name, place.accounts("figures", "lead", name)[name]) as fay:
        yield fay.page


def test_figures_are_drawn_and_tell_more_under_the_pointer(place: Installation, page: Page) -> None:
    page.goto(f"{place.address}/campaigns/figures/releases/")
    before = page.evaluate("document.querySelector('main').offsetHeight")
    expect(page.locator(".gallery .drawing")).not_to_have_count(0)
    drawings = page.locator(".drawing").count()
    expect(page.locator(".drawing svg.marks")).to_have_count(drawings, timeout=60_000)
    assert page.evaluate("document.querySelector('main').offsetHeight") == before
    bars = page.locator("#figure-5b .mark-rect path")
    bars.nth(0).wait_for(state="attached")
    tallest = max(range(bars.count()), key=lambda n: (bars.nth(n).bounding_box() or {"height": 0})["height"])
    bars.nth(tallest).hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text("candidates")
    page.goto(f"{place.address}/campaigns/figures/agreement/")
    expect(page.locator("#weeks")).to_contain_text("A trend needs 4 weeks")
    expect(page.locator("#weeks .drawing")).to_have_count(0)


def test_the_heat_map_is_one_tab_stop_and_arrow_keys_move_in_it(place: Installation, page: Page) -> None:
    page.goto(f"{place.address}/campaigns/figures/agreement/")
    cells = page.locator(".heat a")
    assert cells.count() > 2
    expect(page.locator(".heat a[tabindex='0']")).to_have_count(1)
    page.locator(".heat a[tabindex='0']").focus()
    first = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.getAttribute('href')")
    assert second != first
    expect(page.locator(".heat a[tabindex='0']")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(".drawer")).to_contain_text("Quadratic")
    page.click(".drawer >> text=Close")
    expect(page.locator(".drawer")).to_have_count(0)


def test_figures_have_the_colours_of_the_page_when_these_change(place: Installation, page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{place.address}/campaigns/figures/releases/")
    bar = page.locator("#figure-5b .mark-rect path").last
    expect(bar).to_have_attribute("fill", "#0a4644", timeout=60_000)
    page.emulate_media(color_scheme="dark")
    expect(bar).to_have_attribute("fill", "#b5ece3")
    expect(page.locator(".drawing svg text[fill='#1d1f21'], .drawing svg text[fill='#000000']")).to_have_count(0)


def test_a_figure_that_is_wider_than_the_window_is_reached_by_keys(place: Installation, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.route("**/vega*.js", lambda route: None)  # waits, so that nothing is drawn before anybody has looked
    page.goto(f"{place.address}/campaigns/figures/releases/?figure=figure-4b", wait_until="commit")
    for drawn in (".place", ".marks"):  # before it is drawn, and after
        expect(page.locator(f"#large-figure-4b .drawing {drawn}").first).to_be_attached(timeout=60_000)
        expect(page.locator("#large-figure-4b .drawing")).to_have_attribute("tabindex", "0")
        page.unroute("**/vega*.js")  # which lets it go on


def test_a_figure_that_outgrows_what_kept_its_place_is_reached_by_keys(place: Installation, page: Page) -> None:
    """The box stays as large as it is, so that nothing but its content changes."""
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{place.address}/campaigns/figures/releases/?figure=figure-4b")
    box = page.locator("#large-figure-4b .drawing")
    expect(box.locator(".marks").first).to_be_attached(timeout=60_000)
    box.evaluate("(box) => { box.style.width = box.style.height = '200px'; box.style.minWidth = 0 }")
    for width, reached in (("10px", None), ("2000px", "0"), ("10px", None)):
        box.evaluate(DRAW, width)
        if reached:
            expect(box).to_have_attribute("tabindex", reached)
        else:
            expect(box).not_to_have_attribute("tabindex", "0")


DRAW = """(box, width) => {
    box.replaceChildren(document.createElement("div"));
    box.firstChild.style.width = width;
}"""
