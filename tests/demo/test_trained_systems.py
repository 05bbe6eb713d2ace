"""The demo's systems, trained by jobs behind the running demo, in a real browser: curves, the leaderboard, a search."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from demo.apps import PASSWORD, RESEARCHER
from demo.judged import MINUTES, NAME, TRAINED
from tests.browsing import signed_in
from tests.installation import installation
from tests.screenshots import SIZES
from tests.test_accessibility import FRAMES
from tests.waiting import wait_until

pytestmark = [pytest.mark.timeout(1800), pytest.mark.long]
PICTURES = os.environ.get("SYSTEMS_PICTURES", "")  # a folder for a picture of each page
SEEING = ("mcn", "stal_clips", "stal", "two_stage", "xml", "reloclnet", "conquer")  # what is in the films
MEASURE = "nDCG_IoU(iou=0.5)@20"
STATE = f"""
import json
from campaigns.models import Campaign
from jobs.models import Job
from metrics import Evaluator, Run, qrels_from_dict
from runs.models import Score
from runs.tables import read_table
from demo.simulated_annotators import true_grades
from django.conf import settings
campaign = Campaign.objects.get(name="{NAME}")
rows = campaign.systems.select_related("run")
graded = true_grades(settings.HOME / "demo" / "truth.csv")
qrels = qrels_from_dict({{query: [(*span, grade) for span, grade in of.items()] for query, of in graded.items()}})
scores = Score.objects.filter(scoring__run__trained_system__isnull=False, convention="paper", measure="{MEASURE}")
true = {{}}
for row in rows:
    if row.run:
        run = read_table(Run, row.run.table)
        found = Evaluator(["{MEASURE}"], qrels).calc(run).aggregate()
        true[row.name] = next(iter(found.values()))
print(json.dumps({{
    "runs": [row.run and row.run.name for row in rows],
    "jobs": [[job.state, job.error] for job in Job.objects.filter(kind="train-system")],
    "scores": {{each.scoring.run.name: each.value for each in scores.select_related("scoring__run")}},
    "true": true,
}}))
"""


def test_the_demo_trains_its_systems_and_the_leaderboard_orders_them(tmp_path: Path, chromium: Browser) -> None:
    with installation(tmp_path, "sqlite") as place:
        place.manage("demo", "--only-make")

        def state() -> Any:
            return json.loads(place.shell(STATE))

        with signed_in(place, chromium, RESEARCHER, PASSWORD) as researcher:
            page, address = researcher.page, f"{place.address}/campaigns/{NAME}"
            total = len(TRAINED)
            page.goto(f"{address}/systems/")
            expect(page.get_by_role("row")).to_have_count(1 + total)
            pictures(page, "training")
            began = time.monotonic()
            # Others use the machine too.
            limit = 60_000 * float(os.environ.get("SYSTEMS_MINUTES", MINUTES * 5))
            expect(page.get_by_text("its run is stored")).to_have_count(total, timeout=limit)
            wait_until(lambda: len(state()["scores"]) == total, lambda: f"all are scored: {state()}")
            print(f"trained, searched, submitted and scored after {time.monotonic() - began:.0f} s")
            final = state()
            assert {job for job, _ in final["jobs"]} == {"done"}
            for graded in ("true", "scores"):  # by the true grades, and on the leaderboard
                found = {system: final[graded][system] for system in TRAINED}
                print(graded, found)
                assert found["chance"] < found["prior"] < found["mcn"] < found["stal"], final
                assert found["prior"] < min(found[system] for system in SEEING), final
            page.goto(f"{address}/systems/")
            page.get_by_role("link", name="stal", exact=True).click()
            expect(page.locator(".drawing svg")).to_be_visible(timeout=60_000)
            expect(page.locator(".tells")).to_contain_text("the loss is")
            pictures(page, "system")
            page.get_by_label("Query").fill("A woman drinks from a cup.")
            page.get_by_role("button", name="Search").click()
            clips = page.locator(".beside > div:first-child video")
            expect(clips).to_have_count(10, timeout=120_000)
            expect(page.get_by_text("Similarity").first).to_be_visible(timeout=60_000)
            clips.first.evaluate("async (film) => { film.muted = true; await film.play(); }")
            page.wait_for_function("() => document.querySelector('.beside video').currentTime > 0.2")
            pictures(page, "search")
            page.goto(f"{address}/leaderboard/")
            for system in TRAINED:
                expect(page.locator(".board")).to_contain_text(system)
            pictures(page, "leaderboard")


def pictures(page: Page, name: str) -> None:
    """Take the page's pictures, light and dark, wide and narrow, if a folder for them is named."""
    if not PICTURES:
        return
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for size, viewport in SIZES.items():
            page.set_viewport_size(viewport)  # type: ignore[arg-type]
            page.evaluate(FRAMES)
            page.screenshot(path=f"{PICTURES}/{name}-{scheme}-{size}.png", full_page=True)
    page.set_viewport_size(SIZES["wide"])  # type: ignore[arg-type]
    page.emulate_media(color_scheme="light")
