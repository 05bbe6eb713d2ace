"""Grades of an earlier campaign are reused by text and moment: nobody judges these pairs, and no number counts them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.urls import reverse

from base.errors import WrongState
from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from judging.audit import audit
from judging.models import Assignment, Batch, Candidate, Judgement, Query, ReusedGrade, Review, Revision
from judging.pool.opening import open_batch, open_further, with_reusable
from judging.review.actions import reopen, undo_reopening
from judging.review.decisions import adjudicate, withdraw
from judging.review.reopening import scope_of_batch, scope_of_candidate
from judging.review.reviewing import follow_policies_on_reused, review, undo
from judging.work import claiming
from reports.statistics.agreement import agreement
from reports.statistics.arrays import read
from reports.statistics.progress import progress
from tests.cast import browser, claim, judge_all, settle
from tests.conftest import Case
from tests.remembered import remembered
from tests.tampering import tampering
from tests.terminal import printed, refused

Outcome = Candidate.Outcome
SECOND, CLOSE = Review.Verdict.SECOND, Review.Verdict.CLOSE
TEXT = "A person sits down."


@pytest.fixture
@remembered
def closed(settled: Batch) -> Query:
    """A query of which twenty pairs are settled: at 4 down to rank 10, and at 1 below."""
    review(settled, None, CLOSE)
    return settled.query


@pytest.fixture
@remembered
def again(closed: Query) -> Campaign:
    """A later campaign over the corpus, which reuses these grades."""
    return Campaign.objects.create(name="again", corpus=closed.campaign.corpus, order_seed=9, reuses=closed.campaign)


@pytest.fixture
@remembered
def people(again: Campaign) -> list[Membership]:
    """Two annotators of it, who know nothing of the earlier one, and its lead."""
    roles = {"eve": "annotator", "fay": "annotator", "lou": "lead"}
    return [again.add_member(User.objects.create(username=name), role) for name, role in roles.items()]


def query_of(campaign: Campaign, moments: list[Moment], text: str = TEXT, query_id: str = "q") -> Query:
    """A query with these candidates, whose first batch is opened."""
    query = Query.objects.create(campaign=campaign, query_id=query_id, text=text)
    for rank, moment in enumerate(moments, 1):
        Candidate.objects.create(query=query, moment=moment, rank=rank, similarity=1 - rank / 100)
    open_batch(query, 1)
    return query


def moments_of(corpus: Corpus, first: int = 0, last: int = 60) -> list[Moment]:
    return list(Moment.objects.filter(video__corpus=corpus).order_by("pk")[first:last])


def outcomes(query: Query) -> dict[str, int]:
    found = [each.outcome for each in query.candidates.all()]
    return {outcome: found.count(outcome) for outcome in sorted(set(found))}


def faults(campaign: Campaign) -> list[str]:
    return [fault for found in audit(campaign).values() for fault in found]


def close(query: Query, people: list[Membership]) -> None:
    """Both annotators judge what is to be judged: 3 everywhere; the lead closes the query."""
    for annotator in people[:2]:
        judge_all(claim(annotator), lambda candidate: 3)
    review(query.batches.latest("pk"), people[2], CLOSE)


@pytest.mark.both_databases
def test_a_batch_of_reused_grades_is_settled_at_once(again: Campaign, people: list[Membership]) -> None:
    query = query_of(again, moments_of(again.corpus, 0, 20))
    batch = query.batches.get()
    assert (batch.state, batch.taken, batch.begun, batch.settled) == (Batch.State.SETTLED, 0, False, 20)
    grades = list(query.candidates.order_by("rank").values_list("outcome", "grade", "rule"))
    assert grades == [("reused", 4, "reused")] * 10 + [("reused", 1, "reused")] * 10
    assert claiming.claim(people[0]) is None
    review(batch, people[2], CLOSE)
    query.refresh_from_db()
    assert query.closed
    assert not Judgement.objects.filter(candidate__query=query).exists()
    row = ReusedGrade.objects.get(candidate__query=query, candidate__rank=1)
    assert (row.source.query.campaign.name, row.source.rank, row.overlap, row.grades) == ("films", 1, 1.0, [4, 4])
    assert faults(again) == []


def test_what_is_not_known_is_judged_and_only_that_counts(again: Campaign, people: list[Membership]) -> None:
    """Of ranks 11 to 30 of before, ten are known."""
    query = query_of(again, moments_of(again.corpus, 10, 30))
    assert outcomes(query) == {"open": 10, "reused": 10}
    own = claim(people[0])
    handed = set(query.candidates.filter(pk__in=own.places).values_list("outcome", flat=True))
    assert (len(own.places), handed) == (10, {"open"})
    judge_all(own, lambda candidate: 3)
    judge_all(claim(people[1]), lambda candidate: 3)
    batch = query.batches.get()
    assert (batch.state, batch.pairs, batch.settled) == (Batch.State.SETTLED, 20, 20)
    assert outcomes(query) == {"reused": 10, "settled": 10}
    review(batch, people[2], CLOSE)
    pool = read(again)
    counts = progress(again, pool)
    assert (counts["judgements"], counts["left"], counts["outcomes"]["reused"]) == (20, 0, 10)
    assert agreement(pool, 1, rounds_known=True)["pairs"] == 10
    assert faults(again) == []


def test_round_two_holds_no_reused_pair(again: Campaign, people: list[Membership]) -> None:
    query = query_of(again, moments_of(again.corpus, 10, 30))
    judge_all(claim(people[0]), lambda candidate: 4)
    judge_all(claim(people[1]), lambda candidate: 0 if candidate.rank > 18 else 4)
    gus = again.add_member(User.objects.create(username="gus"), "annotator")
    held = claim(gus)
    assert (held.round, len(held.places)) == (2, 2)
    assert outcomes(query) == {"contested": 2, "reused": 10, "settled": 8}
    assert faults(again) == []


@pytest.mark.both_databases
def test_moments_are_the_same_if_they_overlap_by_nine_tenths(closed: Query, again: Campaign) -> None:
    first = closed.candidates.get(rank=1).moment  # from 1.25 to 4.5: 3.25 seconds
    other = Video.objects.exclude(pk=first.video_id).filter(corpus=again.corpus).first()
    assert other

    def made(start: float, end: float, video: Video) -> Moment:
        return Moment.everything.create(video=video, start=start, end=end, predicted=True)

    inside = made(1.25, 1.25 + 0.9 * 3.25, first.video)
    beside = made(1.25, 1.25 + 0.89 * 3.25, first.video)
    longer = made(1.25, 1.25 + 3.25 / 0.91, first.video)
    elsewhere = made(1.26, 4.51, other)  # overlaps the moment of another video
    query = query_of(again, [longer, inside, beside, elsewhere])
    found = {each.candidate.moment: each for each in ReusedGrade.objects.all()}
    assert found.keys() == {longer, inside, elsewhere}
    assert found[longer].overlap == pytest.approx(0.91)
    assert found[inside].overlap == pytest.approx(0.9)
    assert found[elsewhere].source.moment.video == other
    assert outcomes(query) == {"open": 1, "reused": 3}
    assert faults(again) == []


@pytest.mark.both_databases
def test_of_several_moments_the_nearest_is_taken(closed: Query, again: Campaign) -> None:
    """One pair more of the earlier query is a second near moment, with another grade."""
    first = closed.candidates.get(rank=1)
    near = Moment.everything.create(video=first.moment.video, start=1.25, end=4.45, predicted=True)
    found = open_further(closed, [near])[near.pk]
    Candidate.objects.filter(pk=found.pk).update(outcome=Outcome.SETTLED, grade=1)
    Query.objects.filter(pk=closed.pk).update(closed=True)
    with tampering():
        for judgement in first.judgements.all():
            judgement.pk, judgement.candidate, judgement.grade = None, found, 1
            judgement.save()
    wanted = Moment.everything.create(video=near.video, start=1.25, end=4.44, predicted=True)
    query_of(again, [wanted, first.moment])
    rows = dict(ReusedGrade.objects.values_list("candidate__rank", "source"))
    assert rows == {1: found.pk, 2: first.pk}


def adjudicated(closed: Query, leo: Membership) -> None:
    Candidate.objects.filter(query=closed).update(outcome=Outcome.DISCARDED, grade=None)
    for candidate in closed.candidates.filter(batch__isnull=False):
        adjudicate(candidate, leo, 2, "seen twice")


def unfinished(closed: Query, leo: Membership) -> None:
    undo(Review.objects.in_force().get(), leo)


def discarded(closed: Query, leo: Membership) -> None:
    Candidate.objects.filter(query=closed).update(outcome=Outcome.DISCARDED, grade=None)


def other_tolerance(closed: Query, leo: Membership) -> None:
    """Grades of 2 and 4 were near enough there, and are not here."""
    Campaign.objects.filter(pk=closed.campaign_id).update(tolerance=2)
    Judgement.objects.filter(candidate__query=closed, seat=1).update(grade=2)
    Judgement.objects.filter(candidate__query=closed, seat=2).update(grade=4)
    Candidate.objects.filter(query=closed, batch__isnull=False).update(grade=3)


@pytest.mark.parametrize(
    "spoil",
    [
        adjudicated,
        unfinished,
        discarded,
        other_tolerance,
        lambda closed, leo: withdraw(closed, "unclear"),
        lambda closed, leo: Query.objects.filter(pk=closed.pk).update(text="A person stands up."),
        lambda closed, leo: Campaign.objects.filter(name="again").update(reuses=None),
    ],
    ids=["lead's word", "not closed", "discarded", "other tolerance", "withdrawn", "other text", "not chosen"],
)
def test_what_is_no_consensus_of_a_closed_query_is_judged_anew(
    closed: Query, again: Campaign, leo: Membership, spoil: Callable[[Query, Membership], object]
) -> None:
    spoil(closed, leo)
    again.refresh_from_db()
    query = query_of(again, moments_of(again.corpus, 0, 20))
    assert outcomes(query) == {"open": 20}
    assert query.batches.get().state == Batch.State.OPEN
    assert not ReusedGrade.objects.exists()


def test_a_reused_grade_is_not_reused_once_more(again: Campaign, people: list[Membership]) -> None:
    query = query_of(again, moments_of(again.corpus, 10, 30))
    close(query, people)
    third = Campaign.objects.create(name="third", corpus=again.corpus, reuses=again)
    assert outcomes(query_of(third, moments_of(again.corpus, 15, 35))) == {"open": 10, "reused": 10}
    assert with_reusable(third).count() == 1
    assert faults(third) == []


@pytest.mark.both_databases
def test_a_reused_grade_is_kept_for_good(again: Campaign) -> None:
    query_of(again, moments_of(again.corpus, 0, 20))
    row = ReusedGrade.objects.first()
    assert row
    for verb in (row.save, row.delete, lambda: ReusedGrade.objects.update(grade=0), row.source.delete):
        with pytest.raises(IntegrityError), transaction.atomic():
            verb()
    assert ReusedGrade.objects.get(pk=row.pk).grade == row.grade


def test_a_reopened_pair_is_judged_and_gets_its_reused_grade_back_when_that_is_undone(
    again: Campaign, people: list[Membership]
) -> None:
    query = query_of(again, moments_of(again.corpus, 0, 20))
    lead = people[2]
    review(query.batches.get(), lead, CLOSE)
    record = reopen(lead, scope_of_candidate(query.candidates.get(rank=3)), "the sound differs")
    assert outcomes(query) == {"open": 1, "reused": 19}
    assert faults(again) == []
    undo_reopening(record, lead)
    assert outcomes(query) == {"reused": 20}
    assert query.batches.get().state == Batch.State.REVIEWED
    assert faults(again) == []
    reopen(lead, scope_of_candidate(query.candidates.get(rank=3)), "the sound differs")
    close(query, people)
    assert query.candidates.get(rank=3).grade == 3
    assert faults(again) == []
    second = reopen(lead, scope_of_batch(query.batches.first()), "all of it")  # type: ignore[arg-type]
    assert outcomes(query) == {"open": 20}
    undo_reopening(second, lead)
    assert outcomes(query) == {"reused": 19, "settled": 1}
    assert faults(again) == []


def test_moments_that_runs_found_are_reused_too(closed: Query, again: Campaign, people: list[Membership]) -> None:
    query = query_of(again, moments_of(again.corpus, 0, 4))
    review(query.batches.get(), people[2], CLOSE)
    open_further(query, moments_of(again.corpus, 18, 22))
    assert outcomes(query) == {"open": 2, "reused": 6}
    close(query, people)
    open_further(query, moments_of(again.corpus, 10, 12))
    batch = query.batches.latest("number")
    assert (batch.further, batch.state) == (True, Batch.State.SETTLED)
    assert faults(again) == []


def test_a_second_batch_of_reused_grades_is_undone_until_it_is_reviewed(
    closed: Query, again: Campaign, people: list[Membership]
) -> None:
    Campaign.objects.filter(pk=again.pk).update(batch_size=10)
    again.refresh_from_db()
    query, lead = query_of(again, moments_of(again.corpus, 0, 20)), people[2]
    first = query.batches.get()
    given = review(first, lead, SECOND)
    assert query.batches.get(number=2).state == Batch.State.SETTLED
    undo(given, lead)
    assert (query.batches.count(), faults(again)) == (1, [])
    given = review(first, lead, SECOND)
    assert outcomes(query) == {"reused": 20}
    review(query.batches.get(number=2), lead, CLOSE)
    assert Review.objects.with_begun().get(pk=given.pk).is_begun
    with pytest.raises(WrongState, match="begun the second batch, or reviewed it"):
        undo(given, lead)
    assert faults(again) == []


@pytest.mark.both_databases
def test_the_campaigns_policy_is_followed_within_the_hour(again: Campaign) -> None:
    Campaign.objects.filter(pk=again.pk).update(auto_close_below=2.0)
    again.refresh_from_db()
    closes = query_of(again, moments_of(again.corpus, 0, 20))
    follow_policies_on_reused()
    closes.refresh_from_db()
    [given] = Review.objects.filter(batch__query=closes)
    assert (closes.closed, given.lead, given.reason) == (True, None, "policy: last five mean 1.0 < 2.0")
    assert faults(again) == []


def change_the_grade(pair: Candidate, own: Assignment) -> None:
    Candidate.objects.filter(pk=pair.pk).update(grade=3)


def judge_it_too(pair: Candidate, own: Assignment) -> None:
    made = Judgement.objects.create(assignment=own, candidate=pair, annotator=own.annotator, grade=4)
    Revision.objects.create(judgement=made, number=1, grade=4, key=uuid4())


def settle_it(pair: Candidate, own: Assignment) -> None:
    Candidate.objects.filter(pk=pair.pk).update(outcome=Outcome.SETTLED)


def take_it_from_another(pair: Candidate, own: Assignment) -> None:
    other = Candidate.objects.get(query=pair.reuse.source.query, rank=3)
    ReusedGrade.objects.filter(candidate=pair).update(source=other)


def rest_on_others(pair: Candidate, own: Assignment) -> None:
    ReusedGrade.objects.filter(candidate=pair).update(grades=[0, 0])


def lose_it(pair: Candidate, own: Assignment) -> None:
    ReusedGrade.objects.filter(candidate=pair).delete()


def judge_the_source_otherwise(pair: Candidate, own: Assignment) -> None:
    pair.reuse.source.judgements.update(grade=0)


Tamper = Callable[[Candidate, Assignment], None]
FAULTS: dict[Tamper, str] = {
    change_the_grade: "is reused with 3, against the grade that it reuses",
    judge_it_too: "has a reused grade, and somebody judged or flagged it",
    settle_it: "is settled with 1, against the grade that it reuses",
    take_it_from_another: "the moments overlap by 0.0, not 1.0",
    rest_on_others: "the grades [0, 0] do not lead to 1",
    lose_it: "is said to have a reused grade, and has none",
    judge_the_source_otherwise: "is not the consensus of candidate",
}


@pytest.mark.both_databases
@pytest.mark.parametrize("tamper", FAULTS, ids=lambda tamper: tamper.__name__)
def test_the_audit_names_what_is_broken(again: Campaign, people: list[Membership], tamper: Tamper) -> None:
    query = query_of(again, moments_of(again.corpus, 10, 30))
    own = claim(people[0])
    judge_all(own, lambda candidate: 3)
    assert faults(again) == []
    with tampering():
        tamper(query.candidates.get(rank=1), own)
    assert any(FAULTS[tamper] in fault for fault in faults(again))


def test_what_is_judged_again_there_changes_nothing_here(
    closed: Query, again: Campaign, leo: Membership, cleo: Membership, dan: Membership
) -> None:
    query = query_of(again, moments_of(again.corpus, 0, 20))
    batch = closed.batches.get()
    reopen(leo, scope_of_batch(batch), "again")
    settle(closed.batches.latest("edition"), cleo, dan, last=3)
    assert closed.candidates.get(rank=20).grade == 3
    assert query.candidates.get(rank=20).grade == 1
    assert faults(again) == []


def test_pages_say_which_grades_are_reused(again: Campaign, people: list[Membership]) -> None:
    query = query_of(again, moments_of(again.corpus, 10, 30))
    lead = browser(people[2])
    desk = " ".join(lead.get("/campaigns/again/").content.decode().split())
    assert "10 pairs have a grade that films gave before. Nobody judges them again" in desk
    address = reverse("batch", args=["again", query.batches.get().pk])
    page = " ".join(lead.get(address).content.decode().split())
    assert page.count("Reused: 2 annotators of films graded it for query 1, rank") == 10


def test_lists_are_filtered_by_reused_grades(again: Campaign, people: list[Membership]) -> None:
    reusing = query_of(again, moments_of(again.corpus, 10, 30)).batches.get()
    query_of(again, moments_of(again.corpus, 0, 20), "Somebody runs.", "other")
    lead, wanted = browser(people[2]), {"view": "batches", "show": "all", "reused": "on"}
    listed = lead.get(reverse("api-batches", args=["again"]), {"show": "all", "reused": "true"}).json()["results"]
    assert [each["id"] for each in listed] == [reusing.pk]
    page = lead.get(reverse("queries", args=["again"]), wanted).content.decode()
    assert reverse("batch", args=["again", reusing.pk]) in page
    assert "Somebody runs." not in page
    lines = lead.get(reverse("queries", args=["again"]), wanted | {"format": "csv"}).getvalue().splitlines()
    assert len(lines) == 2


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"query_id": 1, "query": "A  person sits down."}\n{"query_id": 2, "query": "Others run."}\n')
    return file


def test_create_campaign_reuses(closed: Query, queries: Path, case: Case) -> None:
    with case("an unknown campaign"):
        words: tuple[object, ...] = ("--corpus", "films", "--queries", queries, "--reuse", "x")
        assert refused("create_campaign", "next", *words) == "campaign x: not found; expected one of: films"
    with case("another corpus"):
        Corpus.objects.create(name="plays", format="tvr")
        words = ("--corpus", "plays", "--queries", queries, "--reuse", "films")
        assert refused("create_campaign", "next", *words) == (
            "--reuse films: is over corpus films; expected a campaign over plays"
        )
    words = ("--corpus", "films", "--queries", queries, "--reuse", "films")
    assert "films has grades of 1 of the queries that may be reused." in printed("create_campaign", "next", *words)
    assert Campaign.objects.get(name="next").reuses == closed.campaign
    with case("a campaign that is there"):
        assert refused("create_campaign", "films", *words) == (
            "--reuse films: campaign films exists already; expected a new campaign"
        )
