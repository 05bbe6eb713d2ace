"""The demo from end to end: runs, what they found and nobody judged, a new release, and the order of the systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from demo.apps import LEAD, PASSWORD
from demo.judged import NAME
from tests.browsing import signed_in
from tests.installation import installation
from tests.waiting import wait_until

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]

TWO = ("reader 1", "watcher 1")
STATE = f"""
import json
from campaigns.models import Campaign
from judging.audit import audit
from judging.models import Batch
from runs.models import PoolScore, Score
campaign = Campaign.objects.get(name="{NAME}")
further = Batch.objects.in_campaign(campaign).filter(further=True)
scores = Score.objects.filter(scoring__release__campaign=campaign, convention="paper", measure="nDCG_IoU(iou=0.5)@10")
scores = scores.select_related("scoring__run", "scoring__release")
pools = PoolScore.objects.filter(release__campaign=campaign, measure="nDCG_IoU(iou=0.5)@10").select_related("run")
print(json.dumps({{
    "faults": sum(audit(campaign).values(), []),
    "batches": list(further.values_list("state", flat=True)),
    "scores": [[each.scoring.release.version, each.scoring.run.name, each.value] for each in scores],
    "pools": {{each.run.name: [each.first, each.whole, each.without] for each in pools}},
}}))
"""


def test_another_system_leads_once_what_the_runs_found_is_judged(tmp_path: Path, chromium: Browser) -> None:
    with installation(tmp_path, "sqlite") as place:
        printed = place.manage("demo", "--only-make", "--untrained")
        assert "runs of four systems" in printed

        def state() -> Any:
            return json.loads(place.shell(STATE))

        def scores(release: int) -> dict[str, float]:
            return {name: value for version, name, value in state()["scores"] if version == release}

        wait_until(lambda: len(scores(1)) == 12, lambda: "twelve runs are scored")
        before = scores(1)
        assert leader(before) == "reader"  # the pool is its own ranking
        assert before["reader 1"] > before["watcher 1"]
        assert mean(before, "watcher") > mean(before, "glancer") > mean(before, "guesser")
        with signed_in(place, chromium, LEAD, PASSWORD) as lead:
            page = lead.page
            page.goto(f"{place.address}/campaigns/{NAME}/unjudged/")
            for box in page.locator("input[name=run]").all():
                box.set_checked(box.locator("..").inner_text().strip() in TWO)
            page.get_by_role("button", name="Propose moments").click()
            expect(page.get_by_role("button", name="Preview")).to_be_visible(timeout=60_000)
            page.get_by_label("How many").fill(page.locator("#enlargement + p + p").inner_text().split()[0])
            page.get_by_role("button", name="Preview").click()
            page.get_by_role("button", name="Have moments judged").click()
            wait_until(
                lambda: state()["batches"] and not {"preparing"} & {*state()["batches"]},
                lambda: "the clips of further batches are cut",
            )
            place.manage("simulate", NAME, "--reviews", "--address", place.address)
            final = state()
            assert ({*final["batches"]}, final["faults"]) == ({"reviewed"}, [])
            place.manage("freeze_release", NAME, "--licence", "CC0-1.0")
            wait_until(lambda: len(state()["pools"]) == 12, lambda: "the pools are compared")
            after = scores(2)
            assert after["watcher 1"] > after["reader 1"]
            assert scores(1) == before
            page.goto(f"{place.address}/campaigns/{NAME}/unjudged/")
            expect(page.get_by_text("With the first pool reader")).to_be_visible()
        pools = state()["pools"]
        for name, (first, whole, _) in pools.items():
            assert first == pytest.approx(before[name])
            assert whole == pytest.approx(after[name])
        _, whole, without = pools["watcher 1"]
        assert whole - without > 0.01  # the pool favours who took part in it


def mean(scores: dict[str, float], system: str) -> float:
    return sum(value for name, value in scores.items() if name.startswith(system)) / 3


def leader(scores: dict[str, float]) -> str:
    return max(("watcher", "glancer", "reader", "guesser"), key=lambda system: mean(scores, system))
