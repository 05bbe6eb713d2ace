"""Figures in a real browser: drawn, with tooltips, under the policy that forbids code made of text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import signed_in
from tests.films import write_film
from tests.installation import Installation

pytestmark = [pytest.mark.no_database, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A campaign that was judged to its end."""
    if "CHROMIUM" not in os.environ:
        pytest.skip("Chromium is not here (CHROMIUM)")
    home: Path = tmp_path_factory.mktemp("figures")
    made = Installation(home)
    moments = write_film(home / "films")
    queries = home / "queries.json"
    queries.write_text('[{"query_id": 7, "query": "A person sits down."}]')
    made.manage("migrate", "-v0")
    made.manage("collectstatic", "-v0", "--noinput")
    made.manage("import_corpus", "films", str(moments), "--format", "tvr", "--type", "v")
    made.manage("create_campaign", "films", "--corpus", "films", "--queries", str(queries))
    made.manage("worker", "--until-idle")
    made.manage("simulate", "films", "--annotators", "4")
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def page(place: Installation, chromium: Browser) -> Iterator[Page]:
    """The lead's, and nothing may be complained of."""
    with signed_in(place, chromium, "mina", place.accounts("films", "lead", "mina")["mina"]) as mina:
        yield mina.page


def test_figures_are_drawn_and_tell_more_under_the_pointer(place: Installation, page: Page) -> None:
    page.goto(f"{place.address}/campaigns/films/figures/")
    expect(page.locator(".drawing svg")).to_have_count(5, timeout=60_000)
    bars = page.locator("#figure-5b .mark-rect path")
    bars.nth(0).wait_for(state="attached")
    tallest = max(range(bars.count()), key=lambda n: (bars.nth(n).bounding_box() or {"height": 0})["height"])
    bars.nth(tallest).hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text("candidates")
    page.goto(f"{place.address}/campaigns/films/agreement/")
    expect(page.locator("#weeks svg")).to_be_visible(timeout=60_000)
