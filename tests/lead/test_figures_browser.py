"""Figures in a real browser: drawn, with tooltips, under the policy that forbids code made of text."""

from __future__ import annotations

from collections.abc import Iterator

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
    with signed_in(place, chromium, "fay", place.accounts("figures", "lead", "fay")["fay"]) as fay:
        yield fay.page


def test_figures_are_drawn_and_tell_more_under_the_pointer(place: Installation, page: Page) -> None:
    page.goto(f"{place.address}/campaigns/figures/figures/")
    expect(page.locator(".drawing svg")).to_have_count(5, timeout=60_000)
    bars = page.locator("#figure-5b .mark-rect path")
    bars.nth(0).wait_for(state="attached")
    tallest = max(range(bars.count()), key=lambda n: (bars.nth(n).bounding_box() or {"height": 0})["height"])
    bars.nth(tallest).hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text("candidates")
    page.goto(f"{place.address}/campaigns/figures/agreement/")
    expect(page.locator("#weeks svg")).to_be_visible(timeout=60_000)
