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
    given = ["--queries", str(queries), "--annotators", "8", "--runs", *files, "--videos", index]
    server.manage("generate_campaign", name, *given)
    server.manage("freeze_release", name, "--licence", "CC0-1.0")


def upload(page: Page, address: str, name: str, data: Path, file: Path) -> None:
    page.goto(f"{address}/runs/new")
    page.fill("[name=name]", name)
    page.fill("[name=system]", name.partition("_")[0])
    if name.startswith("ReLoCLNet"):
        page.fill("[name=group]", "ReLoCLNet")
    page.get_by_role("button", name="Save and choose the file").click()
    for purpose, chosen in (("run", file), ("videos", data / "video_name_duration_id.json")):
        field = page.locator(f"[data-purpose={purpose}] input")
        expect(field).to_be_enabled()
        field.set_input_files(chosen)
        expect(page.locator(f"[data-purpose={purpose}] li .n")).to_contain_text("✓")
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
        page.goto(f"{address}/runs/")
        expect(page.locator("[data-label='Scored on release']")).to_have_text(["1"] * 4)
        pictures(page, "runs")
        page.get_by_role("link", name="XML_top40").click()
        expect(page.get_by_role("cell", name="nDCG_IoU(iou=0.5)@20", exact=True).first).to_be_visible()
        pictures(page, "run")
        page.goto(f"{address}/leaderboard/?baseline=1")
        rows = page.locator(".board tbody tr")
        expect(rows).to_have_count(4)
        expect(page.locator(".convention")).to_contain_text("Convention paper")
        pictures(page, "leaderboard")
        page.get_by_role("link", name="NDCG@20, IoU≥0.7").click()
        expect(page.locator(".sorted[aria-current]")).to_have_text("NDCG@20, IoU≥0.7")
        cells = page.locator(".board tbody td:nth-child(4)").all_inner_texts()
        scores = [float(text[:6]) for text in cells]
        assert scores == sorted(scores, reverse=True)
        page.get_by_role("navigation", name="Convention").get_by_role("link", name="released").click()
        expect(page.locator(".convention")).to_contain_text("Convention released")
        page.get_by_label("Seeds as one row").check()
        page.get_by_role("button", name="Show").click()
        expect(rows).to_have_count(3)
        pictures(page, "leaderboard-seeds")
        explains_a_query(page, address)


def explains_a_query(page: Page, address: str) -> None:
    page.goto(f"{address}/leaderboard/?baseline=1")
    page.locator(".board tr", has_text="XML_top40").get_by_role("link", name="why").click()
    expect(page.locator(".drawing svg")).to_be_visible(timeout=60_000)
    pictures(page, "queries")
    page.locator(".rows .words a").first.click()
    expect(page.locator(".timelines .title")).to_have_text(["XML_top40", "Judged moments", "CONQUER_top40"])
    expect(page.locator(".timelines .join").first).to_be_attached()
    pictures(page, "query-of-two")
    page.get_by_label("Beside").select_option("no other run")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".timelines .title")).to_have_text(["Judged moments", "XML_top40"])
    expect(page.locator(".ranks tbody tr")).to_have_count(20)
    pictures(page, "query")


def pictures(page: Page, name: str) -> None:
    """Take a picture of the page in each look, if there is a folder for them."""
    for scheme in ("light", "dark") if PICTURES else ():
        for size, viewport in SIZES.items():
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(viewport)  # type: ignore[arg-type]
            page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}-{size}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})
