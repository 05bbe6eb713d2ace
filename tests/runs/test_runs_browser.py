"""Four real runs in a real browser: uploaded, checked, scored, and side by side on the leaderboard."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import signed_in
from tests.installation import Installation
from tests.screenshots import SIZES
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)
RUNS = ("CONQUER_top40", "ReLoCLNet_top_01", "ReLoCLNet_top_40", "XML_top40")
# A folder for a picture of each page, light and dark, wide and narrow.
PICTURES = os.environ.get("RUNS_PICTURES", "")


@pytest.fixture
def data(shared: Path) -> Path:
    return shared / "tvr_ranking"


@pytest.fixture
def place(server: Installation, data: Path) -> Installation:
    make_release(server, data, "authors", queries=30)
    return server


def make_release(server: Installation, data: Path, name: str, queries: int) -> None:
    """Make a release on the videos and queries of the runs: the first queries were judged by simulation."""
    files = [str(data / "runs" / f"{run}.json") for run in RUNS]
    index = str(data / "video_name_duration_id.json")
    given = ", ".join(map(repr, (name, files, index, queries, 8)))
    server.shell(f"from tests.runs.generated import generate_for_runs; generate_for_runs({given})")
    server.manage("freeze_release", name, "--licence", "CC0-1.0")


def upload(page: Page, address: str, name: str, data: Path, file: Path) -> None:
    page.goto(f"{address}/upload/")
    page.get_by_text("Video index, paper").click()
    for purpose, chosen in (("run", file), ("videos", data / "video_name_duration_id.json")):
        field = page.locator(f"[data-purpose={purpose}] input")
        expect(field).to_be_enabled()
        field.set_input_files(chosen)
        expect(page.locator(f"[data-purpose={purpose}] li .n")).to_contain_text("✓")
    expect(page.get_by_label("System")).to_have_value(file.stem.partition("_")[0])
    page.get_by_label("Name", exact=True).fill(name)
    if name.startswith("ReLoCLNet"):
        page.get_by_label("Group").fill("ReLoCLNet")
    page.get_by_role("button", name="Check and store").click()


def test_the_authors_runs_are_checked_scored_and_ranked(
    place: Installation, chromium: Browser, data: Path, tmp_path: Path
) -> None:
    address = f"{place.address}/campaigns/authors"
    with signed_in(place, chromium, "rosa", place.accounts("authors", "researcher", "rosa")["rosa"]) as rosa:
        page = rosa.page
        broken = json.loads((data / "runs" / "XML_top40.json").read_text())
        broken[0]["predictions"][1][1] = -3
        (tmp_path / "broken.json").write_text(json.dumps(broken))
        upload(page, address, "broken", data, tmp_path / "broken.json")
        expect(page.locator(".problems li")).to_have_text([re.compile(r"prediction 2: .*begins before 0")])
        pictures(page, "check")
        for name in RUNS:
            upload(page, address, name, data, data / "runs" / f"{name}.json")
            expect(page.get_by_role("heading", level=1)).to_have_text(name)
        page.goto(f"{address}/leaderboard/?view=runs")
        scored = page.locator("main tbody td:last-child")
        wait_until(
            lambda: page.reload() and scored.all_inner_texts() == ["1"] * 4, lambda: str(scored.all_inner_texts())
        )
        page.goto(f"{address}/leaderboard/?seeds=apart&baseline=1")
        rows = page.locator(".board tbody tr")
        expect(rows).to_have_count(4)
        expect(page.locator(".scored-as")).to_contain_text("Scored as paper")
        pictures(page, "leaderboard")
        page.locator(".chips").get_by_role("link", name="NDCG@20, IoU≥0.7").click()
        expect(page.locator(".chip[aria-current]")).to_have_text("NDCG@20, IoU≥0.7")
        scores = [float(text.split()[0]) for text in page.locator(".board tbody .score").all_inner_texts()]
        assert scores == sorted(scores, reverse=True)
        page.locator(".scored-as summary").click()
        page.get_by_label("Scored as").select_option("released")
        page.get_by_role("button", name="Show").first.click()
        expect(page.locator(".scored-as")).to_contain_text("Scored as released")
        expect(rows).to_have_count(3)
        pictures(page, "leaderboard-seeds")
        explains_a_query(page, address)


def explains_a_query(page: Page, address: str) -> None:
    """From a run to its queries beside another's, and to one of them."""
    page.goto(f"{address}/leaderboard/?seeds=apart")
    page.locator(".board tbody tr").last.get_by_role("link").first.click()  # the best run has no figure beside the best
    expect(page.locator(".drawing svg.marks")).to_have_count(3, timeout=60_000)
    pictures(page, "run")
    page.goto(f"{address}/leaderboard/?seeds=apart")
    for name in ("XML_top40", "CONQUER_top40"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".drawing svg.marks")).to_be_visible(timeout=60_000)
    pictures(page, "compare")
    page.locator(".rows .words a").first.click()
    expect(page.locator(".hits dt")).to_have_count(2)
    expect(page.locator(".timeline .span").first).to_be_visible()
    pictures(page, "explain")
    expect(page.locator(".ranks").first.locator("tbody tr")).to_have_count(20)


def pictures(page: Page, name: str) -> None:
    """Take a picture of the page in each look, if there is a folder for them."""
    for scheme in ("light", "dark") if PICTURES else ():
        for size, viewport in SIZES.items():
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(viewport)  # type: ignore[arg-type]
            page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}-{size}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})
