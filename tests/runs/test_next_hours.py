"""What further hours of judging buy, on the overview."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from judging.models import Batch, Review
from judging.review.frontier import frontier
from judging.review.reviewing import review
from reports.campaign_summaries import PROGRESS, last_summary, store_summaries
from runs.estimates.planning import MOST_HOURS, decided_of, half_of, next_hours, paid
from runs.models import Run
from tests.cast import browser, content_of

SCORES = np.array([[0.9, 0.5, 0.1], [0.7, 0.6, 0.2], [0.8, 0.4, 0.0], [0.8, 0.5, 0.1]])


def test_the_interval_of_the_best_run_narrows_with_the_root_of_the_queries() -> None:
    half = half_of(SCORES)
    assert half(4) == pytest.approx(3.182446 * np.std([0.9, 0.7, 0.8, 0.8], ddof=1) / 2)
    assert half(10_000) == pytest.approx(half(40_000) * 2, rel=1e-3)


def test_pairs_are_decided_by_their_own_spread() -> None:
    decided = decided_of(np.column_stack([SCORES, SCORES[:, 2] + [0.3, -0.3, 0.3, -0.2]]))
    assert decided(4) == 4  # the fourth run varies too much for two of its pairs
    assert decided(1000) == 6
    assert decided_of(SCORES[:, :1])(4) == 0


@pytest.fixture
def half_reviewed(judged: Campaign) -> Campaign:
    """The first three of six queries are ready; an hour is paid 20."""
    for batch in Batch.objects.order_by("place")[:3]:
        review(batch, None, Review.Verdict.CLOSE)
    Campaign.objects.filter(pk=judged.pk).update(hourly_rate=Decimal(20), currency="SGD")
    judged.refresh_from_db()
    store_summaries(judged)
    return judged


def test_hours_finish_the_queries_that_are_left_and_are_paid(
    half_reviewed: Campaign, leo: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.estimates.planning.hours_of_one", lambda *_: 1.5)
    found, numbers = frontier(half_reviewed), last_summary(half_reviewed, PROGRESS)
    leo.campaign = half_reviewed
    queries, half, pairs, pay = next_hours(leo, found, numbers, with_pay=True)
    assert queries.values[:6] == (3, 3, 4, 5, 5, 6)
    assert (half.why, pairs.why) == ("no run is scored on a release",) * 2
    spent = paid(half_reviewed, numbers)
    assert pay.values[1] == pytest.approx(spent + 20)
    assert pay.values[MOST_HOURS] == pytest.approx(spent + 20 * 4.5)


@pytest.mark.django_db(transaction=True)
def test_the_drawer_shows_now_and_then(runs: list[Run], half_reviewed: Campaign, leo: Membership) -> None:
    address = reverse("campaign", args=["films"])
    page = browser(leo).get(address, {"drawer": "hours", "hours": "2"}).content.decode()
    assert "What 2 more hours of judging buy" in page
    assert "of 3</dd>" in page
    assert "Half-width, best run: ±" in page
    lines = content_of(browser(leo).get(address, {"drawer": "hours", "format": "csv"})).decode().splitlines()
    assert lines[0] == 'hours,Queries ready,"Half-width, best run",Pairs of runs decided,Pay'
    assert len(lines) == MOST_HOURS + 2
    assert browser(leo).get(address, {"drawer": "hours", "hours": "41"}).status_code == 400


def test_a_researcher_reads_nothing_of_pay(half_reviewed: Campaign, rio: Membership) -> None:
    page = browser(rio).get(reverse("campaign", args=["films"]), {"drawer": "hours"}).content.decode()
    assert "Queries ready" in page
    assert "<dt>Pay</dt>" not in page


def test_without_a_speed_nothing_is_foretold(campaign: Campaign, leo: Membership) -> None:
    page = browser(leo).get(reverse("campaign", args=["films"]), {"drawer": "hours"}).content.decode()
    assert "The hours of a query are not known yet." in page
