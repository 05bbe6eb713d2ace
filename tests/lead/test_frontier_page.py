"""The lead sees how far queries are finished in their order, and what holds that back."""

from __future__ import annotations

import re
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from campaigns.models import Campaign, Membership
from jobs.models import Job
from jobs.running import work_off
from judging import order
from judging.audit import audit
from judging.models import Batch, Candidate, Query, Review
from judging.pool.clips import cut_clips
from judging.review.actions import begin, prepare, reopen, undo_action, undo_reopening
from judging.review.decisions import bring_back, withdraw
from judging.review.frontier import Frontier, frontier
from judging.review.reopening import scope_of_batch
from judging.review.reviewing import review
from reports.tables.costs import action_cost, cost_of, withdrawal_cost
from tests.api.asking import Program
from tests.cast import browser, claim, judge_all, make_query, regrade, settle
from tests.remembered import remembered


@pytest.fixture
@remembered
def several(campaign: Campaign) -> list[Batch]:
    """The first batches of six queries, in their order."""
    for number in range(2, 7):
        make_query(campaign, str(number), f"A person does thing {number}.")
    return list(Batch.objects.order_by("place").select_related("query"))


def now(campaign: Campaign) -> tuple[int, int, int]:
    """How many queries there are, how many are finished up to the frontier, and how many beyond it."""
    found = frontier(campaign)
    assert not any(audit(campaign).values())
    return found.queries, found.sample, found.beyond


def close(batch: Batch, *two: Membership) -> None:
    for person in two:
        held = batch.hand_to(person)
        judge_all(held, lambda candidate: 1)
        batch.refresh_from_db()
    review(batch, None, Review.Verdict.CLOSE)


def test_it_moves_when_the_first_is_closed(several: list[Batch], ada: Membership, bob: Membership) -> None:
    campaign = several[0].query.campaign
    assert now(campaign) == (6, 0, 0)
    close(several[1], ada, bob)
    assert now(campaign) == (6, 0, 1)
    settle(several[0], ada, bob)
    assert now(campaign) == (6, 0, 1)  # the lead has not decided
    review(several[0], None, Review.Verdict.SECOND)
    assert now(campaign) == (6, 0, 1)
    close(several[0].query.batches.get(number=2), ada, bob)
    assert now(campaign) == (6, 2, 0)


def test_a_reopened_query_and_one_that_is_added_bring_it_back(
    several: list[Batch], ada: Membership, bob: Membership, leo: Membership
) -> None:
    campaign = several[0].query.campaign
    for batch in several[:4]:
        close(batch, ada, bob)
    assert now(campaign) == (6, 4, 0)
    reopen(leo, scope_of_batch(several[2]), "again")
    assert now(campaign) == (6, 2, 1)
    first = min(query.place or 0 for query in Query.objects.all())
    early = next(number for number in range(7, 999) if order.place(7, str(number)) < first)
    make_query(campaign, str(early), "A dog barks.")
    assert now(campaign) == (7, 0, 3)


def test_previews_say_how_far_it_falls(several: list[Batch], ada: Membership, bob: Membership, leo: Membership) -> None:
    """What a preview says is what then happens: of a reopening, of a withdrawal, and of either for many queries."""
    campaign, client = several[0].query.campaign, browser(leo)
    for batch in several[:4]:
        close(batch, ada, bob)
    scope = scope_of_batch(several[2])
    cost = cost_of(campaign, scope)
    assert (cost.ready, cost.ready_after) == (4, 2)
    page = client.get(reverse("reopen", args=["films"]), {"batch": several[2].pk}).content.decode()
    assert "4 now, <strong>2 afterwards</strong>" in page
    undo_reopening(reopen(leo, scope, "again"), leo)
    for verb, rows in (("reopen", several[1:3]), ("withdraw", several[1:5])):
        action = prepare(leo, verb, Query.objects.filter(pk__in=[batch.query_id for batch in rows]))
        foreseen = action_cost(action).ready_after
        begin(action, leo, "the wrong film")
        work_off()
        assert foreseen == frontier(campaign).sample == {"reopen": 1, "withdraw": 1}[verb]
        action.refresh_from_db()
        undo_action(action, leo)
        work_off()
        assert frontier(campaign).sample == 4
    page = client.get(reverse("withdraw", args=["films", several[0].query_id])).content.decode()
    assert "4 now, <strong>3 afterwards</strong>" in page
    # What is not finished holds nothing back once it is withdrawn.
    close(several[5], ada, bob)
    assert withdrawal_cost(several[4].query).ready_after == 5


def test_withdrawn_queries_are_told_apart(several: list[Batch], ada: Membership, bob: Membership) -> None:
    campaign = several[0].query.campaign
    for batch in several[:3]:
        close(batch, ada, bob)
    withdraw(several[5].query, "no sentence")
    assert (now(campaign), Query.objects.get(pk=several[5].query_id).withdrawn_for) == ((5, 3, 0), "query")
    withdraw(several[1].query, "too hard")
    assert Query.objects.get(pk=several[1].query_id).withdrawn_for == "judged"
    assert now(campaign) == (5, 2, 0)
    assert (frontier(campaign).is_random, frontier(campaign).left_out) == (False, 1)
    bring_back(several[1].query)
    withdraw(several[1].query, "says the same as another", "query")
    assert now(campaign) == (4, 2, 0)
    assert frontier(campaign).is_random


def test_a_lead_chooses_what_a_query_is_withdrawn_for(several: list[Batch], ada: Membership, leo: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 1)
    client, query = browser(leo), several[0].query
    address = reverse("withdraw", args=["films", query.pk])
    assert 'value="judged" selected' in client.get(address).content.decode()
    assert client.post(address, {"reason": "no sentence", "for": "weather"}).status_code == 400
    client.post(address, {"reason": "no sentence", "for": "query"})
    assert Query.objects.get(pk=query.pk).withdrawn_for == "query"
    assert "withdrawn for what the query is" in client.get(address).content.decode()
    other = Program(leo)
    place = f"campaigns/films/queries/{several[3].query_id}/withdrawal"
    assert other.ask("PUT", place, {"reason": "hm", "withdrawn_for": "judged"}).status_code == 204
    assert Query.objects.get(pk=several[3].query_id).withdrawn_for == "judged"


def _always(grade: int, candidate: Candidate) -> int:
    return grade


def page_of(leo: Membership) -> dict[str, str]:
    """What the page says of each query that holds the frontier back."""
    page = browser(leo).get(reverse("frontier", args=["films"])).content.decode()
    rows = re.findall(r"<tr>\s*<td>([^<]*)</td>\s*<td>([^<]*)</td>", page)
    return dict(rows)


def test_each_query_that_holds_it_back_says_why(
    several: list[Batch], ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    campaign = several[0].query.campaign
    close(several[5], ada, bob)
    unranked = Query.objects.create(campaign=campaign, query_id="none", text="Not ranked.")
    Query.objects.filter(pk=unranked.pk).update(place=0)
    flagged, cutting, failed, nobody, waiting = several[:5]
    for batch in (flagged, waiting):
        for person in (ada, bob) if batch == flagged else (ada,):
            judge_all(batch.hand_to(person), lambda candidate: 1)
            batch.refresh_from_db()
    regrade(Candidate.objects.filter(batch=flagged, rank=3), outcome=Candidate.Outcome.FLAGGED, grade=None)
    Batch.objects.filter(pk__in=[cutting.pk, failed.pk]).update(state=Batch.State.PREPARING)
    cut_clips.ask(failed)
    Job.objects.filter(kind=cut_clips.code).update(state=Job.State.FAILED, error="no film")
    for person, grade in ((ada, 4), (bob, 1)):
        judge_all(nobody.hand_to(person), partial(_always, grade))
        nobody.refresh_from_db()
    cleo.pause(leo, "a holiday")
    assert page_of(leo) == {
        "Not ranked.": "its candidates are not ranked yet",
        str(flagged.query): "an annotator flagged a pair",
        str(cutting.query): "its clips are being cut",
        str(failed.query): "a clip cannot be cut",
        str(nobody.query): "nobody is left who may judge it",
        str(waiting.query): "it is being judged",
    }
    found = Program(leo).get("campaigns/films/frontier").json()
    assert (found["queries"], found["sample"], found["beyond"], found["holding"]) == (7, 0, 1, 6)
    assert [each["why"] for each in found["held"]] == [
        "unranked", "flagged", "cutting", "uncut", "nobody", "judging"
    ]  # fmt: skip
    assert [each["batch"] for each in found["held"]] == [None, *[batch.pk for batch in several[:5]]]
    text = " ".join(browser(leo).get(reverse("campaign", args=["films"])).content.decode().split())
    assert "Finished: 1 of 7 queries, beyond the" in text
    assert "6 queries hold back." in text


def test_the_desk_says_how_far_it_is_in_a_sentence(
    several: list[Batch], ada: Membership, bob: Membership, leo: Membership
) -> None:
    def sentence() -> str:
        page = browser(leo).get(reverse("campaign", args=["films"])).content.decode()
        (found,) = re.findall(r'<p class="quiet">\s*((?:Finished|No query).*?)</p>', page, re.DOTALL)
        return " ".join(re.sub("<[^>]*>", "", found).split())

    assert sentence() == "No query of 6 is finished yet. Frontier"
    for number, words in [
        (0, "the first of 6 queries. Frontier"),
        (1, "the first 2 of 6 queries. Frontier"),
        (4, "the first 2 of 6 queries, and 1 beyond the frontier, which 2 queries hold back."),
    ]:
        close(several[number], ada, bob)
        assert sentence() == f"Finished in the random order: {words}"


def test_the_page_asks_as_much_of_many_queries_as_of_few(several: list[Batch], leo: Membership) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as found:
            assert client.get(reverse("frontier", args=["films"])).status_code == 200
        return len(found)

    client = browser(leo)
    statements()
    before = statements()
    for number in range(7, 40):
        make_query(several[0].query.campaign, str(number), f"A person does thing {number}.")
    assert statements() == before


def test_a_campaign_without_queries_has_no_frontier(campaign: Campaign, leo: Membership) -> None:
    campaign.queries.all().delete()
    assert frontier(campaign) == Frontier(0, 0, 0, 0, 0, None, None)
    assert "All queries are finished" in browser(leo).get(reverse("frontier", args=["films"])).content.decode()
