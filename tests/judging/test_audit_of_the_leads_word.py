"""The audit knows reviews, reopened editions, the lead's grades and withdrawn queries, and what breaks them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from campaigns.models import Campaign, Membership
from judging.audit import INVARIANTS, audit
from judging.models import Adjudication, Assignment, Batch, Candidate, Judgement, Query, Reopening, Review
from judging.review.actions import reopen
from judging.review.decisions import adjudicate, withdraw
from judging.review.reopening import scope_of_batch, scope_of_candidate
from judging.review.reviewing import review, undo
from judging.work import claiming
from tests.cast import claim, judge_all, make_query, settle_round_one
from tests.conftest import Case
from tests.remembered import remembered
from tests.tampering import tampering

pytestmark = pytest.mark.both_databases  # it is about constraints


@pytest.fixture
@remembered
def righted(
    campaign: Campaign,
    batch: Batch,
    ada: Membership,
    bob: Membership,
    cleo: Membership,
    dan: Membership,
    leo: Membership,
) -> Campaign:
    """Of four queries, one of each: graded and reopened in part, closed, reopened as a whole, withdrawn."""
    settle_round_one(batch, ada, bob, apart=2)
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 1)
    adjudicate(batch.candidates.get(rank=1), leo, 3, "nearly")
    undo(review(batch, leo, "second"), leo)
    reopen(leo, scope_of_candidate(batch.candidates.get(rank=20)), "again")
    others = [make_query(campaign, number, f"Query {number}.") for number in "234"]
    for query in others[:2]:
        for annotator in (ada, bob):
            judge_all(query.batches.get().hand_to(annotator), lambda candidate: 4)
    review(others[0].batches.get(), leo, "close")
    reopen(leo, scope_of_batch(others[1].batches.get()), "again")
    Batch.objects.get(query=others[2]).hand_to(ada)
    withdraw(others[2], "unclear")
    return campaign


def broken(campaign: Campaign) -> set[str]:
    """Return the names of the checks that find something."""
    return {INVARIANTS[says].__name__ for says, findings in audit(campaign).items() if findings}


def test_what_was_put_right_is_sound(righted: Campaign) -> None:
    assert {says: found for says, found in audit(righted).items() if found} == {}
    assert set(Batch.objects.values_list("state", flat=True)) == {"settled", "open", "reviewed", "replaced"}
    assert Judgement.objects.filter(reopening__isnull=False).exists()


def count_what_was_reopened() -> None:
    judgement = Judgement.objects.filter(reopening__isnull=False).first()
    assert judgement
    Judgement.objects.filter(pk=judgement.pk).update(seat=1)


def move_a_candidate_without_its_judgements() -> None:
    Candidate.objects.filter(query__query_id="1", rank=2).update(
        batch=Batch.objects.get(query__query_id="1", edition=2)
    )


def move_a_candidate_to_another_query() -> None:
    Candidate.objects.filter(query__query_id="3", rank=2).update(batch=Batch.objects.get(query__query_id="2"))


def reopen_where_nobody_else_can_judge() -> None:
    counted = Judgement.objects.filter(seat=1, candidate__query__query_id="2")
    counted.update(seat=None, reopening=Reopening.objects.earliest("pk"))


def lose_a_review() -> None:
    Review.objects.filter(undone=None).delete()


def forget_that_it_was_reviewed() -> None:
    Batch.objects.filter(state=Batch.State.REVIEWED).update(state=Batch.State.SETTLED)


def review_what_is_judged_again() -> None:
    batch = Batch.objects.get(query__query_id="1", edition=1)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.REVIEWED)
    Review.objects.filter(batch=batch).update(undone=None, undone_by=None)


def close_a_query_without_a_word() -> None:
    Query.objects.filter(query_id="1").update(closed=True)


def open_a_query_against_the_word() -> None:
    Query.objects.filter(closed=True).update(closed=False)


def put_a_candidate_back_where_it_was_replaced() -> None:
    Batch.objects.filter(query__query_id="3", edition=2).delete()
    Candidate.objects.filter(query__query_id="3", rank__lte=20).update(
        batch=Batch.objects.get(query__query_id="3", edition=1)
    )


def empty_a_batch() -> None:
    Batch.objects.filter(state=Batch.State.REPLACED).update(state=Batch.State.SETTLED)


def change_the_leads_grade() -> None:
    Candidate.objects.filter(outcome=Candidate.Outcome.ADJUDICATED).update(grade=4)


def call_it_consensus() -> None:
    Candidate.objects.filter(outcome=Candidate.Outcome.ADJUDICATED).update(rule="tvr-ranking/1")


def undo_the_leads_grade_only() -> None:
    Adjudication.objects.update(undone=Now())


def settle_it_with_the_leads_grade() -> None:
    Candidate.objects.filter(outcome=Candidate.Outcome.ADJUDICATED).update(
        outcome=Candidate.Outcome.SETTLED, rule="tvr-ranking/1"
    )


def adjudicate_where_all_agree() -> None:
    candidate = Candidate.objects.get(query__query_id="2", rank=1)
    lead = Membership.objects.get(role="lead")
    Adjudication.objects.create(candidate=candidate, lead=lead, grade=0, before="discarded", reason="mine")
    Candidate.objects.filter(pk=candidate.pk).update(outcome=Candidate.Outcome.ADJUDICATED, grade=0, rule="adjudicated")


def hold_what_is_withdrawn() -> None:
    Assignment.objects.filter(batch__query__query_id="4").update(state=Assignment.State.LIVE)
    Batch.objects.filter(query__query_id="4").update(taken=1)


TAMPERINGS = {
    count_what_was_reopened: "two_a_round",
    move_a_candidate_without_its_judgements: "nobody_twice",
    move_a_candidate_to_another_query: "nobody_twice",
    reopen_where_nobody_else_can_judge: "nobody_twice",
    lose_a_review: "leads_word",
    forget_that_it_was_reviewed: "leads_word",
    review_what_is_judged_again: "leads_word",
    close_a_query_without_a_word: "leads_word",
    open_a_query_against_the_word: "leads_word",
    put_a_candidate_back_where_it_was_replaced: "leads_word",
    empty_a_batch: "leads_word",
    change_the_leads_grade: "leads_word",
    call_it_consensus: "leads_word",
    undo_the_leads_grade_only: "leads_word",
    settle_it_with_the_leads_grade: "same_consensus",
    adjudicate_where_all_agree: "leads_word",
    hold_what_is_withdrawn: "leads_word",
}  # and the check that finds each


def test_tampering_is_found(righted: Campaign, case: Case) -> None:
    for tamper, check in TAMPERINGS.items():
        with case(tamper.__name__):
            with tampering():
                tamper()
            assert check in broken(righted)


def test_the_database_holds_one_word_at_a_time(righted: Campaign, leo: Membership) -> None:
    adjudicated = Adjudication.objects.get()
    holding = Review.objects.in_force().get()
    for row in (adjudicated, holding):
        row.pk = None
        with pytest.raises(IntegrityError), transaction.atomic():
            row.save(force_insert=True)


def test_judging_goes_on_behind_all_of_it(righted: Campaign, batch: Batch, member: Callable[..., Membership]) -> None:
    for annotator in (member("eve"), member("fay")):
        while work := claiming.claim(annotator):
            judge_all(work, lambda candidate: 3)
    assert not Batch.objects.filter(query__withdrawn=None, state=Batch.State.OPEN).exists()
    assert broken(righted) == set()
