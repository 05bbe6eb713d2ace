"""A batch's way: two annotators, two more where they differ, the lead's review, and never a fifth grade."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from base.errors import KeyReused, Stale, WrongState
from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Candidate, Judgement, Review, Revision
from judging.review.reviewing import Recommendation, recommendation, review
from judging.work import claiming, grading, submitting
from tests.cast import claim, expire, judge_all, make_query, settle_round_one


def test_two_who_agree_settle_a_batch(batch: Batch, ada: Membership, bob: Membership) -> None:
    settle_round_one(batch, ada, bob)
    assert batch.state == Batch.State.SETTLED
    assert batch.candidates.settled().count() == 20
    assert set(batch.candidates.values_list("rank", "grade")) >= {(1, 4), (20, 1)}


@pytest.mark.both_databases
def test_contested_candidates_go_to_two_others(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership
) -> None:
    settle_round_one(batch, ada, bob, apart=3)
    assert (batch.state, batch.round, batch.taken) == (Batch.State.OPEN, 2, 0)
    assert claiming.claim(ada) is None
    assert claiming.claim(bob) is None
    second = claim(cleo)
    assert sorted(candidate.rank for candidate in second.candidates_in_order()) == [1, 2, 3]
    judge_all(second, lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 3)
    batch.refresh_from_db()
    assert batch.state == Batch.State.SETTLED
    assert list(batch.candidates.filter(rank__lte=3).values_list("outcome", "grade")) == [("settled", 4)] * 3
    assert batch.candidates.get(rank=1).judgements.filter(seat__isnull=False).count() == 4


def test_four_whose_middle_differs_discard_the_candidate(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership
) -> None:
    judge_all(claim(ada), lambda candidate: 0)
    judge_all(claim(bob), lambda candidate: 4 if candidate.rank == 1 else 0)
    judge_all(claim(cleo), lambda candidate: 0)
    judge_all(claim(dan), lambda candidate: 4)
    first = batch.candidates.get(rank=1)
    assert (first.outcome, first.grade) == (Candidate.Outcome.DISCARDED, None)


def test_a_third_annotator_finds_no_place(batch: Batch, ada: Membership, bob: Membership, cleo: Membership) -> None:
    claim(ada), claim(bob)
    assert claiming.claim(cleo) is None


def test_claiming_again_gives_the_same_batch(batch: Batch, ada: Membership) -> None:
    first, second = claim(ada), claim(ada)
    assert (first.pk, first.fence) == (second.pk, second.fence)


def test_each_annotator_sees_an_order_of_her_own_that_stays(batch: Batch, ada: Membership, bob: Membership) -> None:
    hers, his = claim(ada), claim(bob)
    orders = [[candidate.rank for candidate in each.candidates_in_order()] for each in (hers, his, hers)]
    assert orders[0] == orders[2] != orders[1]
    assert orders[0] != sorted(orders[0])


def test_a_batch_with_gaps_is_not_taken(batch: Batch, ada: Membership) -> None:
    assignment = claim(ada)
    grading.judge(assignment, 3, 2, fence=assignment.fence, key=uuid4())
    with pytest.raises(WrongState, match=r"Not judged yet: 1, 2, 4"):
        submitting.submit(assignment, assignment.fence)
    assert not Judgement.objects.filter(seat__isnull=False).exists()


def test_submitting_twice_is_harmless(batch: Batch, ada: Membership) -> None:
    assignment = claim(ada)
    judge_all(assignment, lambda candidate: 2)
    submitting.submit(assignment, assignment.fence)
    batch.refresh_from_db()
    assert batch.taken == 1


def test_after_submission_nothing_changes(batch: Batch, ada: Membership) -> None:
    assignment = claim(ada)
    judge_all(assignment, lambda candidate: 2)
    with pytest.raises(Stale):
        grading.judge(assignment, 1, 4, fence=assignment.fence, key=uuid4())


def test_a_change_of_mind_is_a_revision(batch: Batch, ada: Membership) -> None:
    assignment = claim(ada)
    for grade in (1, 3, 3):
        grading.judge(assignment, 1, grade, fence=assignment.fence, key=uuid4())
    judgement = Judgement.objects.get()
    assert judgement.grade == 3
    assert list(judgement.revisions.values_list("number", "grade")) == [(1, 1), (2, 3), (3, 3)]


def test_the_same_key_gives_the_first_answer_again(batch: Batch, ada: Membership) -> None:
    assignment, key = claim(ada), uuid4()
    first = grading.judge(assignment, 1, 3, fence=assignment.fence, key=key)
    assert grading.judge(assignment, 1, 3, fence=assignment.fence, key=key) == first
    assert Revision.objects.count() == 1


@pytest.mark.parametrize(("position", "grade"), [(1, 2), (2, 3)])
def test_the_same_key_with_other_content_is_refused(batch: Batch, ada: Membership, position: int, grade: int) -> None:
    assignment, key = claim(ada), uuid4()
    grading.judge(assignment, 1, 3, fence=assignment.fence, key=key)
    with pytest.raises(KeyReused):
        grading.judge(assignment, position, grade, fence=assignment.fence, key=key)


def test_an_old_fence_cannot_write(batch: Batch, ada: Membership) -> None:
    assignment = claim(ada)
    with pytest.raises(Stale):
        grading.judge(assignment, 1, 3, fence=assignment.fence + 1, key=uuid4())
    assert not Judgement.objects.exists()


def test_a_lapsed_lease_comes_back(batch: Batch, ada: Membership, bob: Membership, cleo: Membership) -> None:
    away = claim(ada)
    claim(bob)
    expire(away)
    assert claim(cleo).batch == batch
    away.refresh_from_db()
    assert away.state == Assignment.State.LAPSED
    with pytest.raises(Stale):
        grading.judge(away, 1, 3, fence=away.fence, key=uuid4())


def test_who_comes_back_in_time_goes_on_with_a_new_fence(batch: Batch, ada: Membership) -> None:
    away = claim(ada)
    grading.judge(away, 1, 3, fence=away.fence, key=uuid4())
    expire(away)
    with pytest.raises(Stale):
        grading.judge(away, 2, 3, fence=away.fence, key=uuid4())
    back = claim(ada)
    assert (back.pk, back.fence) == (away.pk, away.fence + 1)
    assert back.judgements.count() == 1


@pytest.mark.both_databases
def test_a_flag_stands_for_a_grade_and_never_blocks(batch: Batch, ada: Membership, bob: Membership) -> None:
    assignment = claim(ada)
    grading.flag(assignment, 1, "clip", "black screen", fence=assignment.fence, key=uuid4())
    flagged = assignment.candidates_in_order()[0]
    for position in range(2, 21):
        grading.judge(assignment, position, 2, fence=assignment.fence, key=uuid4())
    submitting.submit(assignment, assignment.fence)
    judge_all(claim(bob), lambda candidate: 2)
    batch.refresh_from_db()
    flagged.refresh_from_db()
    assert (batch.state, flagged.outcome, flagged.grade) == (Batch.State.SETTLED, "flagged", None)
    assert batch.candidates.settled().count() == 19


@pytest.mark.both_databases
def test_a_lead_opens_the_second_batch_once(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    settle_round_one(batch, ada, bob)
    first = review(batch, leo, Review.Verdict.SECOND, "rank 20 still fits")
    assert review(batch, leo, Review.Verdict.SECOND) == first
    second = batch.query.batches.get(number=2)
    assert (second.state, second.candidates.count()) == (Batch.State.OPEN, 20)
    assert set(second.candidates.values_list("rank", flat=True)) == set(range(21, 41))


def test_there_is_never_a_third_batch(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    settle_round_one(batch, ada, bob)
    review(batch, leo, Review.Verdict.SECOND)
    second = batch.query.batches.get(number=2)
    settle_round_one(second, ada, bob)
    with pytest.raises(WrongState, match="at most two batches"):
        review(second, leo, Review.Verdict.SECOND)
    review(second, leo, Review.Verdict.CLOSE)
    batch.query.refresh_from_db()
    assert batch.query.closed


def test_an_unsettled_batch_cannot_be_reviewed(batch: Batch, leo: Membership) -> None:
    with pytest.raises(WrongState, match="not settled"):
        review(batch, leo, Review.Verdict.CLOSE)


def test_a_verdict_cannot_be_turned(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    settle_round_one(batch, ada, bob)
    review(batch, leo, Review.Verdict.CLOSE)
    with pytest.raises(WrongState):
        review(batch, leo, Review.Verdict.SECOND)


def test_the_recommendation_follows_the_last_five(batch: Batch, ada: Membership, bob: Membership) -> None:
    settle_round_one(batch, ada, bob)
    assert recommendation(batch) == Recommendation(
        1.0, "close", "Last five average 1.0 (threshold 2.0). Close the query.", ("second", "close")
    )


def test_paused_annotators_and_leads_get_no_work(
    campaign: Campaign, batch: Batch, leo: Membership, member: Callable[..., Membership]
) -> None:
    paused = member("pia")
    Membership.objects.filter(pk=paused.pk).update(state=Membership.State.PAUSED)
    for nobody in (paused, leo):
        with pytest.raises(WrongState):
            claiming.claim(nobody)


def test_an_open_page_of_round_one_cannot_write_into_round_two(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    away = claim(ada)
    expire(away)
    settle_round_one(batch, bob, cleo, apart=3)
    assert claim(ada).token != away.token


def test_who_comes_back_goes_on_if_the_place_is_still_free(batch: Batch, ada: Membership, bob: Membership) -> None:
    away = claim(ada)
    expire(away)
    away.lapse()
    back = claiming.resume(away)
    assert (back.pk, back.token, back.fence, back.state) == (away.pk, away.token, away.fence + 1, "live")
    batch.refresh_from_db()
    assert batch.taken == 1


def test_who_comes_back_too_late_is_told_so_and_gets_nothing_else(
    campaign: Campaign, batch: Batch, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    away = claim(ada)
    expire(away)
    claim(bob), claim(cleo)
    make_query(campaign, "2", "A person runs.")
    with pytest.raises(Stale, match="gone to others"):
        claiming.resume(away)
    assert not ada.assignments.live().exists()


def test_a_submitted_batch_cannot_be_resumed(batch: Batch, ada: Membership) -> None:
    assignment = claim(ada)
    judge_all(assignment, lambda candidate: 2)
    with pytest.raises(Stale):
        claiming.resume(assignment)
