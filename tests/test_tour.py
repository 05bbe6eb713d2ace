"""docs/tour.md is true: each walk passes the functions that its lines name, in their order."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from campaigns.models import Membership
from jobs.running import work_off
from judging.models import Action, ActionRow, Assignment, Batch
from releases.models import Release
from runs.models import Run
from tests.cast import browser, claim, judge_all
from tests.runs.conftest import best, judged, release, rio  # noqa: F401 - fixtures
from tests.runs.uploading import uploaded

ROOT = Path(__file__).parent.parent
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
WALKS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TOUR, re.M | re.S))
STEP = re.compile(r"^\d+\. `([\w/]+\.py)` `(\w[\w.]*)`", re.M)
MOST_STEPS = 20  # on one screen

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]


def calls_of(act: Callable[[], Any]) -> tuple[Any, list[tuple[str, str]]]:
    """Return what the call returns, and each of our functions that it called, by file and name, also in threads."""
    calls: list[tuple[str, str]] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{ROOT}/"):
            calls.append((code.co_filename.removeprefix(f"{ROOT}/"), code.co_qualname))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        return act(), calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def assert_that_it_passes(walk: str, calls: list[tuple[str, str]]) -> None:
    steps = STEP.findall(WALKS[walk])
    assert 5 <= len(steps) <= MOST_STEPS, steps
    place = 0
    for step in steps:
        assert step in calls, f"{walk}: {step} is not called"
        assert step in calls[place:], f"{walk}: {step} is called before the step above it"
        place = calls.index(step, place)


def press(client: Client, held: Assignment) -> Any:
    data = {"grade": 3, "seconds": 1.5, "input": "key", "fence": held.fence, "key": str(uuid4()), "press": 1}
    return client.put(reverse("judge", args=[held.token, 1]), data, content_type="application/json")


def test_a_key_press(batch: Batch, ada: Membership) -> None:
    held, client = claim(ada), browser(ada)
    answer, calls = calls_of(lambda: press(client, held))
    assert answer.status_code == 200
    assert_that_it_passes("A key press", calls)


def test_a_submission(batch: Batch, ada: Membership, bob: Membership) -> None:
    """The second annotator's, which settles the round."""
    batch.query.campaign.auto_close_below = 4.0
    batch.query.campaign.save()
    for person in (ada, bob):
        judge_all(held := claim(person), lambda candidate: 1, submit=person == ada)
    client = browser(bob)
    address, data = reverse("submit", args=[held.token]), {"fence": held.fence}
    answer, calls = calls_of(lambda: client.post(address, data, content_type="application/json"))
    assert answer.status_code == 200
    assert Batch.objects.get().state == Batch.State.REVIEWED
    assert_that_it_passes("A submission", calls)


def test_an_import(tmp_path: Path) -> None:
    file = tmp_path / "moments.csv"
    file.write_text("video,start,end,description,duration\nfilm,0,4,Somebody sits down.,60\n", encoding="utf-8")
    _, calls = calls_of(lambda: call_command("import_corpus", "plays", str(file), "--format", "csv"))
    assert_that_it_passes("An import", calls)


def test_a_run(release: Release, rio: Membership) -> None:  # noqa: F811
    """From its description to its scores on the newest release."""
    run, calls = calls_of(lambda: uploaded(rio, best(rio.campaign)))
    assert isinstance(run, Run)
    work_off()
    assert_that_it_passes("A run", calls)


def test_a_release(judged: Any, leo: Membership) -> None:  # noqa: F811
    def freeze() -> None:
        browser(leo).post(reverse("release-make", args=["films"]), {"licence": "CC0-1.0", "with_unfinished": "on"})
        work_off()

    _, calls = calls_of(freeze)
    assert Release.objects.get().state == Release.State.READY
    assert_that_it_passes("A release", calls)


def test_an_action(settled: Batch, leo: Membership) -> None:
    client = browser(leo)

    def reopen_and_undo() -> None:
        form = {"verb": "reopen", "which": "ticked", "row": [settled.query_id]}
        page = client.post(reverse("action-prepare", args=["films"]), form)["Location"]
        client.get(page)
        change = reverse("action-change", args=["films", Action.objects.get().pk])
        client.post(change, {"change": "begin", "reason": "the wrong film"})
        work_off()
        client.post(change, {"change": "undo"})

    _, calls = calls_of(reopen_and_undo)
    assert Action.objects.get().rows.get().state == ActionRow.State.UNDONE
    assert_that_it_passes("An action", calls)
