"""Leads look at a difference of runs while judging goes on; the interval holds at all times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.urls import reverse
from django.utils import timezone

from base.errors import BadValue
from campaigns.models import Campaign, Membership
from jobs.models import Job
from jobs.running import work_off
from judging.models import Query, Review
from judging.models.states import WithdrawnFor
from judging.review.frontier import frontier
from judging.review.reviewing import review
from metrics import estimate_difference
from runs.estimates.watches import EVERY, begin, cost_of, last_look
from runs.models import Run, Watch
from tests.cast import browser, content_of
from tests.remembered import remembered
from tests.runs.conftest import best

MEASURE = "nDCG_IoU(iou=0.5)@20"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
@remembered
def lead(runs: list[Run], member: Callable[..., Membership]) -> Membership:
    Run.objects.update(visibility="shared")
    return member("leo", "lead")


def looked(watch: Watch) -> Watch:
    assert work_off(StringIO()) == []
    watch.refresh_from_db()
    return watch


def finish(campaign: Campaign, number: int) -> None:
    """Close the first queries of the order, as reviews do."""
    lead = campaign.memberships.get(role="lead")
    for query in campaign.queries.order_by("place")[:number]:
        if not query.closed:
            review(query.batches.get(), lead, Review.Verdict.CLOSE)


@pytest.mark.any_database
def test_a_look_is_the_librarys_estimate_of_the_queries_up_to_the_frontier(lead: Membership) -> None:
    finish(lead.campaign, 4)
    watch = looked(begin(lead, 1, 2, MEASURE))
    look = last_look(watch)
    assert look
    assert (look.judged, look.ranked) == (4, 6)
    sample = {each.query_id: each for each in lead.campaign.queries.filter(closed=True)}
    qrels = {
        name: [(c.moment.video.name, c.moment.start, c.moment.end, c.grade) for c in query.candidates.settled()]
        for name, query in sample.items()
    }
    pool = {
        query.query_id: [(c.moment.video.name, c.moment.start, c.moment.end) for c in query.candidates.order_by("rank")]
        for query in lead.campaign.queries.all()
    }
    run, other = (best(lead.campaign, skip=skip) for skip in (0, 1))
    found = estimate_difference(MEASURE, qrels, run, other, pool, future=True, anytime=True)
    assert look.value == pytest.approx(found.value)
    assert [look.low, look.high] == pytest.approx([found.low, found.high])
    assert cost_of(lead.campaign, 2).hours > 0


@pytest.mark.any_database
def test_a_query_that_is_not_ranked_yet_is_not_counted_as_in_a_release(lead: Membership) -> None:
    Query.objects.create(campaign=lead.campaign, query_id="last", text="Somebody waves.", place=1.0)
    finish(lead.campaign, 4)
    look = last_look(looked(begin(lead, 1, 2, MEASURE)))
    assert look
    assert (look.judged, look.ranked, frontier(lead.campaign).queries) == (4, 6, 7)


@pytest.mark.any_database
def test_too_few_queries_are_a_failure_in_words(lead: Membership) -> None:
    finish(lead.campaign, 2)
    begin(lead, 1, 2, MEASURE)
    (problem,) = work_off(StringIO())
    assert "2 queries are finished up to the frontier; an estimate needs 3" in Job.objects.get(pk=problem.pk).error


@pytest.mark.any_database
def test_a_sample_that_judging_has_changed_is_refused(lead: Membership) -> None:
    finish(lead.campaign, 5)
    first = lead.campaign.queries.order_by("place")[0]
    Query.objects.filter(pk=first.pk).update(withdrawn=timezone.now(), withdrawn_for=WithdrawnFor.JUDGED)
    begin(lead, 1, 2, MEASURE)
    (problem,) = work_off(StringIO())
    assert "no random sample" in Job.objects.get(pk=problem.pk).error


@pytest.mark.any_database
def test_it_is_looked_at_again_when_a_query_is_closed_at_most_once_an_hour(lead: Membership) -> None:
    finish(lead.campaign, 4)
    watch = looked(begin(lead, 1, 2, MEASURE))
    finish(lead.campaign, 5)
    assert [each["judged"] for each in looked(watch).looks] == [4]
    Watch.objects.update(looked=timezone.now() - EVERY - timedelta(minutes=1))
    finish(lead.campaign, 6)
    assert [each["judged"] for each in looked(watch).looks] == [4, 6]


@pytest.mark.any_database
def test_what_cannot_be_watched_is_said(lead: Membership) -> None:
    for arguments, right in [
        ((1, 9, MEASURE), "a run of this campaign that is shared or public"),
        ((1, 1, MEASURE), "another run than the first"),
        ((1, 2, "MedianRank(iou=0.5)"), "a mean over queries"),
    ]:
        with pytest.raises(BadValue, match=right):
            begin(lead, *arguments)
    known = begin(lead, 1, 2, MEASURE)
    Run.objects.filter(number=2).update(visibility="private")
    with pytest.raises(BadValue, match="shared or public"):
        begin(lead, 1, 2, MEASURE)
    name, client = lead.campaign.name, browser(lead)
    assert (
        str(known.other)
        not in content_of(client.get(reverse("leaderboard", args=[name]), {"view": "differences"})).decode()
    )
    assert client.post(reverse("watch-change", args=[name, known.pk])).status_code == 404
    assert client.get(reverse("api-watch", args=[name, known.pk])).status_code == 404


@pytest.mark.any_database
def test_the_page_says_what_is_decided_and_what_deciding_takes(lead: Membership) -> None:
    name = lead.campaign.name
    finish(lead.campaign, 4)
    client, begin_one = browser(lead), reverse("watch-begin", args=[name])
    page = f"{reverse('leaderboard', args=[name])}?view=differences"
    assert client.post(begin_one, {"run": 1, "other": 2, "measure": MEASURE}).status_code == 302
    assert client.post(begin_one, {"run": 1, "other": 2, "measure": MEASURE}).status_code == 302  # harmless
    watch = looked(Watch.objects.get())
    assert "Look as often as you like" in content_of(client.get(page)).decode()
    for value, low, high, needed, method, words in [
        (0.1, 0.05, 0.15, 4, "regression", "Decided"),
        (0.1, -0.05, 0.25, 5, "regression", "About 1 more query decides it"),
        (0.0, -0.05, 0.05, None, "regression", "queries would not show one"),
        (0.0, -0.05, 0.05, None, "bounded", "in too few queries to say how many more"),
    ]:
        watch.looks[-1] |= {"value": value, "low": low, "high": high, "needed": needed, "method": method}
        watch.save()
        assert words in content_of(client.get(page)).decode()
    assert client.post(reverse("watch-change", args=[name, watch.pk])).status_code == 302
    assert client.post(reverse("watch-change", args=[name, watch.pk]), {"end": "yes"}).status_code == 302
    assert not Watch.objects.exists()
