"""The font of the pages is in the same room as what stands in for it. That it is small is seen in test_safe_answers."""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext

from tests.installation import Installation

LOADED = "() => document.fonts.ready.then(() => document.fonts.check('600 16px \"Reeljudge Sans\"'))"
PLACES = """() => document.fonts.ready.then(() => [...document.querySelectorAll("h1, p, label, a, input, button")]
    .map((each) => each.getBoundingClientRect()).map(({top, height}) => [Math.round(top), Math.round(height)]))"""


def test_nothing_jumps_when_it_comes(server: Installation, chromium: Browser) -> None:
    with_it, without = chromium.new_context(), chromium.new_context()
    without.route("**/*.woff2", lambda route: route.abort())
    assert places(with_it, server, comes=True) == places(without, server, comes=False)


def places(context: BrowserContext, server: Installation, comes: bool) -> object:
    """Where the texts of the page to sign in stand."""
    page = context.new_page()
    page.goto(f"{server.address}/sign-in/")
    assert page.evaluate(LOADED) is comes
    return page.evaluate(PLACES)
