"""Two leads at once, a lead and an annotator at once: one of them is told, and nothing is half done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from campaigns.models import Campaign, Membership
from judging.audit import audit
from judging.models import ActionRow, Assignment, Batch, Candidate, Reopening, Review
from judging.review.actions import reopen, undo_reopening
from judging.review.decisions import adjudicate, withdraw
from judging.review.reopening import scope_of_annotator, scope_of_batch, scope_of_candidate
from judging.review.reviewing import review, undo
from judging.work import claiming, grading, submitting
from tests.cast import claim, judge_all, reopen_all, settle, settle_round_one
from tests.remembered import remembered
from tests.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 3


def sound(campaign: Campaign) -> bool:
    return not any(audit(campaign).values())


@pytest.fixture
@remembered
def settled(batch: Batch, ada: Membership, bob: Membership) -> Batch:
    settle(batch, ada, bob)
    return batch


def test_two_leads_with_different_words(settled: Batch, leo: Membership) -> None:
    results = at_once(*[lambda verdict=verdict: review(settled, leo, verdict) for verdict in ("second", "close") * 2])
    assert len({each.pk for each in results if isinstance(each, Review)}) == 1
    assert Review.objects.count() == 1
    assert sound(settled.query.campaign)


def test_undoing_a_second_batch_while_it_is_claimed(settled: Batch, leo: Membership, ada: Membership) -> None:
    for _ in range(TIMES):
        decision = review(settled, leo, "second")
        _, claimed = at_once(partial(undo, decision, leo), lambda: claiming.claim(ada))
        assert isinstance(claimed, Assignment) == settled.query.batches.filter(number=2).exists()
        assert sound(settled.query.campaign)
        if isinstance(claimed, Assignment):
            break


def test_undoing_a_reopening_while_its_batch_is_claimed(settled: Batch, leo: Membership, cleo: Membership) -> None:
    for _ in range(TIMES):
        record = reopen(leo, scope_of_batch(settled), "again")
        _, claimed = at_once(partial(undo_reopening, record, leo), lambda: claiming.claim(cleo))
        assert isinstance(claimed, Assignment) == (record.action.rows.get().state == ActionRow.State.KEPT)
        assert sound(settled.query.campaign)
        if isinstance(claimed, Assignment):
            break


def test_a_reopening_is_undone_by_two_leads_at_once(settled: Batch, leo: Membership) -> None:
    record = reopen(leo, scope_of_batch(settled), "again")
    results = at_once(*[lambda: undo_reopening(record, leo)] * 4)
    assert len(set(results)) == 1
    settled.refresh_from_db()
    assert settled.state == Batch.State.SETTLED
    assert sound(settled.query.campaign)


def test_undone_by_two_leads_at_once(settled: Batch, leo: Membership) -> None:
    decision = review(settled, leo, "second")
    assert at_once(*[lambda: undo(decision, leo)] * 4) == [None] * 4
    assert Batch.objects.get().state == Batch.State.SETTLED
    assert sound(settled.query.campaign)


def test_reopened_by_two_leads_at_once(settled: Batch, leo: Membership) -> None:
    candidate = Candidate.objects.get(rank=1)
    verbs = [
        lambda: reopen(leo, scope_of_candidate(candidate), "one"),
        lambda: reopen(leo, scope_of_batch(settled), "all"),
    ]
    at_once(*verbs, *verbs)
    assert Candidate.objects.filter(rank__lte=20, batch__state=Batch.State.OPEN).count() == 20
    assert Reopening.objects.count() == Batch.objects.filter(state=Batch.State.OPEN).count()
    assert sound(settled.query.campaign)


def test_reopening_and_reviewing_at_once(settled: Batch, leo: Membership) -> None:
    at_once(lambda: review(settled, leo, "close"), lambda: reopen(leo, scope_of_batch(settled), "again"))
    assert not Review.objects.in_force().exists()
    assert settled.newest_edition.state == Batch.State.OPEN
    assert sound(settled.query.campaign)


def test_taking_back_work_while_she_judges_submits_and_claims(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    judge_all(hers := claim(ada), lambda candidate: 2, submit=False)
    judge_all(claim(bob), lambda candidate: 2)
    at_once(
        lambda: reopen_all(leo, ada),
        lambda: submitting.submit(hers, hers.fence),
        lambda: grading.judge(hers, 1, 4, fence=hers.fence, key=uuid4()),
        lambda: claiming.claim(cleo),
    )
    assert not ada.judgements.filter(seat__isnull=False).exists()
    assert sound(batch.query.campaign)


def test_what_she_submits_between_two_reads_is_not_missed(batch: Batch, ada: Membership, bob: Membership) -> None:
    judge_all(hers := claim(ada), lambda candidate: 2, submit=False)
    judge_all(claim(bob), lambda candidate: 2)
    rest = [partial(submitting.submit, hers, hers.fence)]

    def submitted_after_the_first(execute: Any, *arguments: Any) -> Any:
        answer = execute(*arguments)
        if rest:
            rest.pop()()
        return answer

    with connection.execute_wrapper(submitted_after_the_first):
        assert scope_of_annotator(ada).queries == [batch.query_id]


def test_a_round_two_is_reopened_while_it_ends(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    settle_round_one(batch, ada, bob, apart=3)
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(his := claim(dan), lambda candidate: 4, submit=False)
    at_once(lambda: reopen_all(leo, ada), lambda: submitting.submit(his, his.fence))
    assert not ada.judgements.filter(seat__isnull=False).exists()
    assert sound(batch.query.campaign)


def test_withdrawing_while_it_is_claimed_and_submitted(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    judge_all(hers := claim(ada), lambda candidate: 2, submit=False)
    at_once(
        lambda: withdraw(batch.query, "unclear"),
        lambda: submitting.submit(hers, hers.fence),
        lambda: claiming.claim(bob),
        lambda: claiming.claim(cleo),
    )
    assert not Assignment.objects.live().exists()
    assert sound(batch.query.campaign)


def test_two_editions_that_settle_at_once_follow_the_policy_once(
    settled: Batch, cleo: Membership, dan: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    Campaign.objects.update(auto_close_below=1.5)
    for rank in (1, 2):
        reopen(leo, scope_of_candidate(Candidate.objects.get(rank=rank)), "again")
    first, second = (Batch.objects.get(edition=edition) for edition in (2, 3))
    work = []
    for batch, annotators in ((first, (cleo, dan)), (second, (member("eve"), member("fay")))):
        one, other = (batch.hand_to(annotator) for annotator in annotators)
        judge_all(one, lambda candidate: 4)
        judge_all(other, lambda candidate: 4, submit=False)
        work.append(other)
        batch.refresh_from_db()
    at_once(*[lambda each=each: submitting.submit(each, each.fence) for each in work])
    assert Review.objects.get().batch == second
    assert set(Batch.objects.values_list("state", flat=True)) == {"reviewed"}
    assert sound(settled.query.campaign)


def test_grading_and_reopening_at_once(settled: Batch, leo: Membership) -> None:
    candidate = Candidate.objects.get(rank=1)
    Candidate.objects.filter(pk=candidate.pk).update(outcome=Candidate.Outcome.FLAGGED, grade=None)
    at_once(
        lambda: adjudicate(candidate, leo, 2, "mine"),
        lambda: reopen(leo, scope_of_candidate(candidate), "others"),
        lambda: adjudicate(candidate, leo, 3, "mine"),
    )
    candidate.refresh_from_db()
    assert (candidate.outcome, candidate.adjudications.in_force().exists()) == ("open", False)
    assert sound(settled.query.campaign)
