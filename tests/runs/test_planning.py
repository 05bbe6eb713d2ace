"""A campaign is planned before it begins: from a pilot, from TVR-Ranking, or from the lead's own numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from campaigns.access import let_create
from campaigns.models import Membership
from drafts.models import Draft
from jobs.running import work_off
from metrics import Estimator, queries_to_judge
from releases.freezing import freeze
from releases.models import Release
from runs.models import Run
from tests.api.asking import Program, problem_in
from tests.cast import browser, content_of, text_between_tags
from tests.metrics.shared import run_cli
from tests.remembered import remembered
from tests.runs.conftest import best
from tests.runs.test_watches import finish

pytestmark = pytest.mark.django_db(transaction=True)
MEASURE = "nDCG_IoU(iou=0.5)@20"


@pytest.fixture
@remembered
def lead(runs: list[Run], member: Callable[..., Membership]) -> Membership:
    """Of a campaign of six queries, five of which are finished and frozen, with three runs; she may create others."""
    lead = member("leo", "lead")
    let_create(lead.user)
    finish(lead.campaign, 5)
    freeze(lead.campaign, lead, "CC0-1.0")
    assert work_off(StringIO()) == []
    return lead


@pytest.fixture
def draft(lead: Membership) -> Draft:
    return Draft.objects.create(owner=lead.user)


@pytest.fixture
def client(lead: Membership) -> Client:
    return browser(lead)


def page_of(client: Client, draft: Draft, status: int = 200, **given: Any) -> str:
    answer = client.get(reverse("draft-queries", args=[draft.token]), given)
    assert answer.status_code == status
    return text_between_tags(content_of(answer).decode())


@pytest.mark.any_database
def test_page_api_and_command_say_the_same(client: Client, draft: Draft, lead: Membership) -> None:
    assert "Queries 410 100 Judgements 28,454 6,940 Hours 150 37" in page_of(client, draft)
    found = Program(lead.user).get(f"drafts/{draft.token}/plan").json()
    printed = json.loads(run_cli("plan", "--difference", "0.02", "--format", "json").stdout)
    assert [{name: each[name] for name in printed[0]} for each in found["plans"]] == printed
    assert found["pilots"] == [{"like": "films/2", "runs": [1, 2, 3]}]
    given: Any = {"difference": 0.05, "power": 0.9, "like": "own", "sd": 0.2, "sd_left": 0.1, "ranked": 500}
    found = Program(lead.user).get(f"drafts/{draft.token}/plan", **given).json()
    numbers = ["--sd", "0.2", "--sd-left", "0.1", "--ranked", "500"]
    printed = json.loads(run_cli("plan", "--difference", "0.05", "--power", "0.9", *numbers, "--format", "json").stdout)
    assert [each["queries"] for each in found["plans"]] == [each["queries"] for each in printed]
    alone, corrected = (each["queries"] for each in printed)
    assert f"Queries {alone} {corrected} " in page_of(client, draft, **given)


@pytest.mark.any_database
def test_a_pilots_spread_is_the_librarys(client: Client, draft: Draft, lead: Membership, tmp_path: Path) -> None:
    release = tmp_path / "films-v2.zip"
    with Release.objects.get(version=2).file.open("rb") as file:
        release.write_bytes(file.read())
    estimator = Estimator(MEASURE, release, release)
    (spread,) = estimator.spreads(*(best(lead.campaign, skip=skip) for skip in (2, 0))).values()
    found = Program(lead.user).get(f"drafts/{draft.token}/plan", like="films/2", run=3, other=1).json()
    assert found["spread"] == pytest.approx(vars(spread))
    page = page_of(client, draft, like="films/2", of="films/2", run=3, other=1)
    assert f"Queries {queries_to_judge(0.02, spread)} " in page
    # Runs of the campaign that was chosen before are forgotten.
    page = page_of(client, draft, like="films/2", of="other/1", run=3, other=3)
    assert "Queries" in page


@pytest.mark.any_database
def test_what_the_draft_says_is_part_of_the_plan(client: Client, draft: Draft) -> None:
    settings = {"batch_size": 10, "batches": 1, "hourly_rate": "12.50", "currency": "SGD"}
    people = [["ada", "annotator"], ["bob", "annotator"], ["cleo", "lead"]]
    draft.change(settings=settings, people=people, selection={"validation": 40, "test": 60})
    page = page_of(client, draft, hours=8)
    # 410 queries of 23.1 judgements, 19 seconds each; two annotators work 16 hours a week.
    assert "Queries 410 more than are ranked Judgements 9,471 – Hours 50 – Pay, SGD 625 – Weeks 4 –" in page


@pytest.mark.any_database
def test_what_fits_nothing_is_refused_in_words(client: Client, draft: Draft, lead: Membership) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"like": "own", "sd": 0.1, "sd_left": 0.2}, "sd_left", "must not be the larger"),
        ({"like": "films/2", "run": 1, "other": 1}, "other", "Choose two of the runs 1, 2, 3."),
        ({"like": "films/2", "run": 1, "other": 9}, "other", "Choose two of the runs 1, 2, 3."),
        ({"like": "films/1"}, "like", "films/1"),
        ({"difference": 0}, "difference", "0.001"),
        ({"power": "nan"}, "power", "number"),
    ]
    for given, field, words in cases:
        problem = Program(lead.user).get(f"drafts/{draft.token}/plan", **given).json()
        assert problem["status"] in (400, 422)
        assert words in " ".join(problem["fields"][field])
        assert words in page_of(client, draft, 400, **given)
    assert "Write a standard deviation, such as 0.14." in page_of(client, draft, 400, like="own", sd="")


@pytest.mark.any_database
def test_a_pilot_needs_two_runs_that_the_person_may_see(client: Client, draft: Draft, lead: Membership) -> None:
    Run.objects.filter(number=1).update(visibility="private")
    pilots = Program(lead.user).get(f"drafts/{draft.token}/plan").json()["pilots"]
    assert pilots == [{"like": "films/2", "runs": [2, 3]}]
    Run.objects.update(visibility="private")
    assert "films, release 2" not in page_of(client, draft)
    owner = Run.objects.get(number=1).by  # a researcher
    let_create(owner.user)
    own = Draft.objects.create(owner=owner.user)
    assert "films, release 2" in page_of(browser(owner), own)
    Membership.objects.filter(pk=owner.pk).update(state="left")
    assert "films, release 2" not in page_of(browser(owner), own)


@pytest.mark.any_database
def test_the_plan_stores_nothing(client: Client, draft: Draft) -> None:
    before = Draft.objects.values().get()
    answer = client.get(reverse("draft-queries", args=[draft.token]), {"difference": "0.01"})
    assert reverse("draft-queries", args=[draft.token]) in content_of(answer).decode()
    assert Draft.objects.values().get() == before
    other = User.objects.create(username="mia")
    let_create(other)
    problem_in(Program(other).get(f"drafts/{draft.token}/plan"), 404)
    assert browser(other).get(reverse("draft-queries", args=[draft.token])).status_code == 404
