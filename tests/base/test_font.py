"""The font of the pages: small, free, asked for first, and in the same room as what stands in for it."""

from __future__ import annotations

from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext

from tests.installation import ROOT, Installation

FONT = "fonts/reeljudge-sans.woff2"
LARGEST = 60_000  # bytes
LOADED = "() => document.fonts.ready.then(() => document.fonts.check('600 16px \"Reeljudge Sans\"'))"
PLACES = """() => document.fonts.ready.then(() => [...document.querySelectorAll("h1, p, label, a, input, button")]
    .map((each) => each.getBoundingClientRect()).map(({top, height}) => [Math.round(top), Math.round(height)]))"""


def test_it_is_small_free_and_asked_for_first(db: None) -> None:
    file = finders.find(FONT)
    assert (ROOT / str(file)).stat().st_size <= LARGEST
    assert "SIL OPEN FONT LICENSE" in (ROOT / "static" / "fonts" / "OFL.txt").read_text(encoding="utf-8")
    page = Client().get(reverse("sign-in"))
    assert f'rel="preload" href="/static/{FONT}" as="font"' in page.content.decode()
    assert "font-src 'self'" in page["Content-Security-Policy"]


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
