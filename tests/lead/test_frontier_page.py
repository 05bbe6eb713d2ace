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
from judging.models import Batch, Candidate, Flag, Query, Review
from judging.pool.clips import cut_clips
from judging.review.actions import begin, prepare, reopen, undo_action, undo_reopening
from judging.review.decisions import bring_back, withdraw
from judging.review.frontier import Frontier, frontier
from judging.review.reopening import scope_of_batch
from judging.review.reviewing import review
from reports.steering import blockers, freed, holding
from reports.tables.costs import action_cost, cost_of
from tests.api.asking import Program
from tests.cast import begun, browser, claim, judge_all, make_query, prepared, regrade, settle
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
    page = client.get(prepared(client, verb="reopen", batch=several[2].pk)).content.decode()
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
    page = client.get(prepared(client, verb="withdraw", row=several[0].query_id)).content.decode()
    assert "4 now, <strong>3 afterwards</strong>" in page
    # What is not finished holds nothing back once it is withdrawn.
    close(several[5], ada, bob)
    last = prepare(leo, "withdraw", Query.objects.filter(pk=several[4].query_id))
    assert action_cost(last).ready_after == 5


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
    preview = prepared(client, verb="withdraw", row=query.pk)
    assert "expected one of" in begun(client, preview, "no sentence", argument="weather")
    begun(client, preview, "no sentence", argument="query")
    work_off()
    assert Query.objects.get(pk=query.pk).withdrawn_for == "query"
    other = Program(leo)
    place = f"campaigns/films/queries/{several[3].query_id}/withdrawal"
    assert other.ask("PUT", place, {"reason": "hm", "withdrawn_for": "judged"}).status_code == 204
    assert Query.objects.get(pk=several[3].query_id).withdrawn_for == "judged"


def _always(grade: int, candidate: Candidate) -> int:
    return grade


BLOCKERS = {"drawer": "blockers"}


def page_of(leo: Membership) -> dict[str, str]:
    """What the page says of each query that holds the frontier back."""
    page = browser(leo).get(reverse("campaign", args=["films"]), BLOCKERS).content.decode()
    rows = re.findall(r'<p><b>([^<]*)</b> <span class="quiet">.*?class="why-not">([^<]*)\.</span>', page, re.S)
    return {query: why[0].lower() + why[1:] for query, why in rows}


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
    assert "<b>6</b> <span>queries block 1 that are finished</span>" in text
    assert freed(campaign, frontier(campaign), list(holding(campaign, frontier(campaign)))) == [0, 0, 0, 0, 0, 1]


def test_what_frees_most_comes_first(
    several: list[Batch], ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    campaign = several[0].query.campaign
    for batch in (several[1], several[3], several[4]):
        close(batch, ada, bob)
    several[2].hand_to(cleo)
    settle(several[0], ada, bob)
    close(several[5], ada, bob)
    found = blockers(campaign, frontier(campaign))
    assert [(each.kind, each.subject, each.freed) for each in found] == [
        ("person", cleo, 3),
        ("query", several[0].query, 1),
    ]
    page = browser(leo).get(reverse("campaign", args=["films"]), BLOCKERS).content.decode()
    assert f"?drawer=message&amp;who={cleo.worker}" in page
    assert f'href="{reverse("batch", args=["films", several[0].pk])}"' in page


def test_a_flag_and_a_clip_lead_to_what_resolves_them(
    several: list[Batch], ada: Membership, bob: Membership, leo: Membership
) -> None:
    flagged, failed = several[:2]
    candidate = flagged.candidates.get(rank=3)
    settle(flagged, ada, bob)
    Flag.objects.create(assignment=flagged.assignments.all()[0], candidate=candidate, reason=Flag.Reason.OTHER)
    regrade(Candidate.objects.filter(pk=candidate.pk), outcome=Candidate.Outcome.FLAGGED, grade=None)
    Batch.objects.filter(pk=failed.pk).update(state=Batch.State.PREPARING)
    cut_clips.ask(failed)
    Job.objects.filter(kind=cut_clips.code).update(state=Job.State.FAILED, error="no film")
    close(several[2], ada, bob)
    page = browser(leo).get(reverse("campaign", args=["films"]), BLOCKERS).content.decode()
    assert f"?item=pair-{candidate.pk}" in page
    assert f'action="{reverse("job-again", args=[Job.objects.get(kind=cut_clips.code).pk])}"' in page


def test_the_overview_says_how_far_it_is(
    several: list[Batch], ada: Membership, bob: Membership, leo: Membership
) -> None:
    def tile() -> list[str]:
        page = browser(leo).get(reverse("campaign", args=["films"])).content.decode()
        return re.findall(
            r"\d+ of \d+ queries|\d+ ready to release", re.sub(r"<[^>]*>|\s+", " ", page).replace("  ", " ")
        )

    for number, words in [
        (None, ["0 ready to release", "0 of 6 queries"]),
        (0, ["1 ready to release", "1 of 6 queries"]),
        (1, ["2 ready to release", "2 of 6 queries"]),
        (4, ["2 ready to release", "3 of 6 queries"]),
    ]:
        if number is not None:
            close(several[number], ada, bob)
        assert tile()[:2] == words
    drawer = browser(leo).get(reverse("campaign", args=["films"]), BLOCKERS).content.decode()
    assert "1 more is finished but waits for 2 queries before it." in re.sub(r"\s+", " ", drawer)


def test_the_page_asks_as_much_of_many_queries_as_of_few(several: list[Batch], leo: Membership) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as found:
            assert client.get(reverse("campaign", args=["films"]), BLOCKERS).status_code == 200
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
    page = browser(leo).get(reverse("campaign", args=["films"]), BLOCKERS).content.decode()
    assert "All queries are finished" in page
