"""The page that asks whether a measure can be believed, in a real browser: examined, drawn, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from runs.reliability.figures import FIGURES
from tests.browsing import signed_in
from tests.installation import Installation
from tests.runs.test_runs_browser import RUNS, make_release, pictures

pytestmark = [pytest.mark.timeout(600), pytest.mark.long]


def test_measures_are_examined_and_the_figures_follow_the_page(server: Installation, chromium: Browser) -> None:
    server.manage("generate_campaign", "believed", "--queries", "6", "--annotators", "5")
    password = server.accounts("believed", "lead", "lea")["lea"]
    server.manage("freeze_release", "believed", "--licence", "CC0-1.0")
    server.shell("from tests.runs.systems import upload_all\nupload_all('believed', 'lea', [1, 4])")
    with signed_in(server, chromium, "lea", password) as lea:
        page = lea.page
        page.goto(f"{server.address}/campaigns/believed/measures/")
        page.get_by_role("button", name="Examine the measures").click()
        expect(page.get_by_role("heading", name="Scores by system")).to_be_visible(timeout=120_000)
        page.get_by_role("link", name="Judging").click()
        expect(page.locator(".drawing svg")).to_be_visible(timeout=60_000)
        expect(page.locator(".drawing svg")).to_contain_text("without annotator")
        page.emulate_media(color_scheme="dark")
        # The dark page's ink.
        expect(page.locator(".drawing svg text[fill='#e9e7e3']").first).to_be_attached()
        expect(page.locator(".drawing svg text[fill='#1d1f21']")).to_have_count(0)


UPLOADED = """
from pathlib import Path
from campaigns.models import Campaign
from runs.models import Run
from runs.receiving import describe, submit
from tests.runs.uploading import send
from tests.waiting import wait_until
folder = Path({folder!r})
bea = Campaign.objects.get(name="examined").memberships.get(user__username="bea")
for name in {names!r}:
    submission = describe(bea, {{"name": name, "system": name.partition("_")[0]}})
    send(submission, "run", f"{{name}}.json", (folder / "runs" / f"{{name}}.json").read_bytes())
    send(submission, "videos", "videos.json", (folder / "video_name_duration_id.json").read_bytes())
    submit(submission)
runs = Run.objects.filter(campaign=bea.campaign, scorings__isnull=False)
wait_until(lambda: runs.count() == {number}, lambda: "the runs are scored")
"""


def test_the_authors_runs_are_examined(server: Installation, chromium: Browser, shared: Path) -> None:
    """Each figure of the four runs says something of them by name, in every look."""
    data = shared / "tvr_ranking"
    make_release(server, data, "examined", queries=30)
    password = server.accounts("examined", "researcher", "bea")["bea"]
    server.shell(UPLOADED.format(folder=str(data), names=RUNS, number=len(RUNS)))
    address = f"{server.address}/campaigns/examined/measures/"
    with signed_in(server, chromium, "bea", password) as bea:
        page = bea.page
        page.goto(address)
        page.get_by_role("button", name="Examine the measures").click()
        expect(page.get_by_role("heading", name="Scores by system")).to_be_visible(timeout=240_000)
        for figure in FIGURES:
            page.goto(f"{address}?figure={figure.key}")
            expect(page.get_by_role("heading", name=figure.title)).to_be_visible()
            expect(page.locator(".drawing svg")).to_be_visible(timeout=60_000)
            pictures(page, f"believe-{figure.key}")
        page.goto(f"{address}?figure=judging")
        for name in RUNS:
            expect(page.locator(".drawing svg")).to_contain_text(name)
        expect(page.locator("main")).to_contain_text("one annotator instead of two in")
