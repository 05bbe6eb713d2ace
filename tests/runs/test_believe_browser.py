"""The page that asks whether a measure can be believed, in a real browser: examined, drawn, light and dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.browsing import signed_in
from tests.installation import Installation

pytestmark = [pytest.mark.timeout(600), pytest.mark.long]


def test_measures_are_examined_and_the_figures_follow_the_page(
    server: Installation, chromium: Browser
) -> None:
    server.manage("generate_campaign", "believed", "--queries", "6", "--annotators", "5")
    password = server.accounts("believed", "lead", "bea")["bea"]
    server.manage("freeze_release", "believed", "--licence", "CC0-1.0")
    server.shell("from tests.runs.systems import upload_all\nupload_all('believed', 'bea', [1, 4])")
    with signed_in(server, chromium, "bea", password) as bea:
        page = bea.page
        page.goto(f"{server.address}/campaigns/believed/leaderboard/")
        page.get_by_role("link", name="Can it be believed?").click()
        page.get_by_role("button", name="Examine the measures").click()
        expect(page.get_by_role("heading", name="Scores by system")).to_be_visible(timeout=120_000)
        page.get_by_role("link", name="Judging").click()
        expect(page.locator(".drawing svg")).to_be_visible(timeout=60_000)
        expect(page.locator(".drawing svg")).to_contain_text("without annotator")
        page.emulate_media(color_scheme="dark")
        expect(
            page.locator(".drawing svg text[fill='#e9e7e3']").first
        ).to_be_attached()  # the dark page's ink
        expect(page.locator(".drawing svg text[fill='#22262b']")).to_have_count(0)
