"""A release of part of the queries: its scores are estimated over all ranked ones, and pages, files and API say so."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO

import numpy as np
import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from jobs.running import work_off
from judging.models import Review
from judging.review.reviewing import review
from metrics import Estimator
from releases.freezing import freeze
from releases.models import Release
from runs.estimates.scores import Sample
from runs.models import Score, ScoringReference
from runs.tables import packed_values
from tests.cast import browser, content_of
from tests.remembered import remembered
from tests.runs.conftest import best
from tests.runs.uploading import uploaded

MEASURE = "nDCG_IoU(iou=0.5)@20"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
@remembered
def part(judged: Campaign, member: Callable[..., Membership]) -> Release:
    """Four of six queries are finished."""
    lead = member("leo", "lead")
    for query in judged.queries.order_by("place")[:4]:
        review(query.batches.get(), lead, Review.Verdict.CLOSE)
    release = freeze(judged, lead, "CC0-1.0")
    assert work_off(StringIO()) == []
    release.refresh_from_db()
    return release


@pytest.fixture
@remembered
def scored(part: Release, rio: Membership) -> Release:
    uploaded(rio, best(part.campaign), name="perfect")
    uploaded(rio, best(part.campaign, skip=1), name="late")
    sample = tuple(part.campaign.queries.filter(closed=True).values_list("query_id", flat=True))
    uploaded(rio, best(part.campaign, only=sample), name="judged-only")
    return part


def estimator(release: Release) -> Estimator:
    """The library, on the release."""
    return Estimator(MEASURE, release.file.path, release.file.path, future=True)


def test_the_leaderboard_estimates_and_says_so(scored: Release, rio: Membership) -> None:
    name = scored.campaign.name
    board = reverse("leaderboard", args=[name])
    client = browser(rio)
    page = content_of(client.get(board)).decode()
    assert "Estimated from 67 % of the queries" in page.replace("66.7", "67").replace("\xa0", " ")
    rows = list(csv.DictReader(StringIO(content_of(client.get(f"{board}csv")).decode())))
    of = {row["run"]: row for row in rows if row["measure"] == MEASURE}
    (found,) = estimator(scored).estimate(best(scored.campaign, skip=1)).values()
    assert [float(of["late"][each]) for each in ("value", "low", "high", "plain")] == pytest.approx(
        [found.value, found.low, found.high, found.plain], abs=1e-5
    )
    assert of["judged-only"]["plain"] == ""  # whose score is the plain mean
    plain = list(csv.DictReader(StringIO(content_of(client.get(f"{board}csv?means=plain")).decode())))
    assert {row["run"]: float(row["value"]) for row in plain if row["measure"] == MEASURE}["late"] == pytest.approx(
        found.plain
    )
    assert "Estimates for all of them" in content_of(client.get(f"{board}?means=plain")).decode()


@pytest.mark.any_database
def test_differences_to_a_baseline_are_estimated(scored: Release, rio: Membership) -> None:
    board = reverse("leaderboard", args=[scored.campaign.name])
    rows = csv.DictReader(StringIO(content_of(browser(rio).get(f"{board}csv?baseline=1")).decode()))
    row = next(row for row in rows if row["run"] == "late" and row["measure"] == MEASURE)
    runs = (best(scored.campaign, skip=1), best(scored.campaign))
    (found,) = estimator(scored).differences(*runs).values()
    assert float(row["difference"]) == pytest.approx(found.value, abs=1e-5)


@pytest.mark.any_database
def test_a_runs_page_and_the_api_have_the_estimate(scored: Release, rio: Membership) -> None:
    name = scored.campaign.name
    page = content_of(browser(rio).get(reverse("run", args=[name, 2]))).decode()
    assert "plain mean" in page
    client = browser(rio)
    answer = client.get(f"/api/v1/campaigns/{name}/runs/2/scores").json()
    score = next(each for each in answer["scores"] if each["measure"] == MEASURE and each["convention"] == "paper")
    assert (score["estimate"]["judged"], score["estimate"]["ranked"]) == (4, 6)
    assert score["estimate"]["low"] <= score["estimate"]["value"] <= score["estimate"]["high"]
    board = client.get(f"/api/v1/campaigns/{name}/leaderboard").json()
    assert board["estimated"] is True
    assert board["sample"] == {"judged": 4, "ranked": 6, "flaw": ""}


@pytest.mark.any_database
def test_a_release_of_all_queries_is_judged_in_full(
    part: Release, rio: Membership, member: Callable[..., Membership]
) -> None:
    lead = part.campaign.memberships.get(role="lead")
    for query in part.campaign.queries.filter(closed=False):
        review(query.batches.get(), lead, Review.Verdict.CLOSE)
    whole = freeze(part.campaign, lead, "CC0-1.0")
    assert work_off(StringIO()) == []
    uploaded(rio, best(part.campaign), name="perfect")
    assert not Score.objects.filter(scoring__release=whole).exclude(predicted=None).exists()
    page = content_of(browser(rio).get(reverse("leaderboard", args=[part.campaign.name]))).decode()
    assert "Judged in full." in page
    assert "Estimated" not in page


@pytest.mark.any_database
@pytest.mark.parametrize(("convention", "mean"), [("paper", 0.75), ("released", 0.5)])
def test_a_judged_query_without_a_grade_counts_as_in_the_library(convention: str, mean: float) -> None:
    """All pairs of the third query were discarded, so that the qrels do not have it."""
    ranked = [[0, True, ""], [1, True, ""], [None, True, ""], [None, False, ""]]
    stored = {"values": packed_values(np.array([1.0, 0.5])), "predicted": packed_values(np.full(4, 0.5))}
    values = Sample(ScoringReference(ranked=ranked)).values(Score(convention=convention, measure=MEASURE, **stored))
    assert values
    assert values.mean == pytest.approx(mean)


@pytest.mark.any_database
def test_one_rating_of_each_pair_is_said(scored: Release, rio: Membership) -> None:
    board = reverse("leaderboard", args=[scored.campaign.name])
    assert "Each pair has one rating" not in content_of(browser(rio).get(board)).decode()
    Release.objects.update(counts=scored.counts | {"judgements": sum(scored.counts["pairs"].values())})
    assert "Each pair has one rating" in content_of(browser(rio).get(board)).decode()
