"""Where the lead allows it, contested pairs of several queries make one batch; each batch keeps its own two people."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest

from campaigns.models import Campaign, Membership
from judging.audit import audit
from judging.models import Assignment, Batch, Candidate, Flag, Judgement, Query
from judging.review.decisions import hand_over, withdraw
from judging.work import claiming, grading, submitting
from judging.work.places import assignment_data
from tests.cast import by_rank, claim, expire, judge_all, small_batches
from tests.remembered import remembered


def off(candidate: Candidate) -> int:
    """Contested where the rank is 1 or 2."""
    return 4 - by_rank(candidate) if candidate.rank in (1, 5) else by_rank(candidate)


@pytest.fixture
@remembered
def contested(campaign: Campaign, ada: Membership, bob: Membership) -> Campaign:
    """Three queries of a batch of twelve, each with two contested pairs; two places of a batch are hidden."""
    small_batches(campaign, 3, size=12, hidden=2)
    Campaign.objects.update(mixes_queries=True)
    for person, grade in ((ada, by_rank), (bob, off)):
        for _ in range(3):
            judge_all(claim(person), grade)
    assert set(Batch.objects.in_campaign(campaign).values_list("round", "state")) == {(2, "open")}
    return campaign


def own(assignment: Assignment) -> list[Candidate]:
    return [each for each in assignment.candidates_in_order() if each.repeats_id is None]


def live(person: Membership) -> Any:
    return Assignment.objects.live().filter(annotator=person)


def test_two_people_settle_all_of_it(contested: Campaign, cleo: Membership, dan: Membership) -> None:
    for person in (cleo, dan):
        held = claim(person)
        assert (len(held.places), len(own(held)), live(person).count()) == (14, 6, 3)
        texts = [place["query"] for place in assignment_data(held)["places"]]
        assert len(set(texts)) == 1 + sum(one != next_ for one, next_ in pairwise(texts)) == 3
        assert claim(person).pk == held.pk
        judge_all(held, by_rank)
        assert not live(person).exists()
    assert set(Batch.objects.in_campaign(contested).values_list("state", flat=True)) == {"settled"}
    pairs = Candidate.objects.in_pool(contested)
    assert all(pair.grade == by_rank(pair) for pair in pairs)
    seats = Judgement.objects.filter(annotator__in=(cleo, dan), candidate__query__kind="pool")
    assert sorted(seat or 0 for seat in seats.values_list("seat", flat=True)) == [3] * 6 + [4] * 6
    assert not any(audit(contested).values())


def test_each_judgement_belongs_to_its_own_batch(contested: Campaign, cleo: Membership) -> None:
    held = claim(cleo)
    for position, pair in enumerate(held.candidates_in_order(), 1):
        revision = grading.judge(held, position, 3, fence=held.fence, key=(key := uuid4()), press=position)
        again = grading.judge(held, position, 3, fence=held.fence, key=key, press=position)
        assert revision.pk == again.pk
        if pair.repeats_id is None:
            assert revision.judgement.assignment.batch_id == pair.batch_id
        flagged = grading.flag(held, position, "other", "", fence=held.fence, key=uuid4(), press=100 + position)
        assert flagged.assignment_id == revision.judgement.assignment_id
        grading.unflag(held, position, fence=held.fence, key=uuid4(), press=200 + position)
        late = grading.judge(held, position, 1, fence=held.fence, key=uuid4(), press=0)
        assert late.overtaken
    data = assignment_data(Assignment.objects.get(pk=held.pk))
    assert [(place["grade"], place["flag"]) for place in data["places"]] == [(3, None)] * 14
    assert not Flag.objects.exists()
    submitting.submit(held, held.fence)
    assert not any(audit(contested).values())


def test_what_lapses_is_free_for_others(contested: Campaign, cleo: Membership, dan: Membership) -> None:
    held = claim(cleo)
    grading.judge(held, 1, 3, fence=held.fence, key=uuid4())
    expire(held)
    claim(dan)
    assert not live(cleo).exists()
    assert set(Batch.objects.in_campaign(contested).values_list("taken", flat=True)) == {1}
    again = claim(cleo)
    assert (again.pk, again.token == held.token, live(cleo).count()) == (held.pk, False, 3)
    assert not any(audit(contested).values())


def test_who_comes_back_in_time_goes_on_with_all_of_it(contested: Campaign, cleo: Membership, dan: Membership) -> None:
    held = claim(cleo)
    expire(held)
    claim(dan)
    back = claiming.resume(held)
    assert (back.token, back.places, live(cleo).count()) == (held.token, held.places, 3)
    judge_all(back, by_rank)
    assert not any(audit(contested).values())


@pytest.mark.both_databases
def test_what_has_gone_meanwhile_only_fills(
    contested: Campaign, cleo: Membership, dan: Membership, member: Any
) -> None:
    held = claim(cleo)
    expire(held)
    joined = held.joined.order_by("batch").first()
    assert joined
    claim(dan)
    Campaign.objects.update(mixes_queries=False)
    other = joined.batch
    other.refresh_from_db()
    other.hand_to(member("eve"))
    back = claiming.resume(held)
    assert (back.places, live(cleo).count()) == (held.places, 2)
    judge_all(back, by_rank)
    assert not Judgement.objects.filter(annotator=cleo, candidate__batch=other, seat__isnull=False).exists()
    assert not any(audit(contested).values())


def test_a_withdrawn_query_leaves_the_rest(contested: Campaign, cleo: Membership) -> None:
    held = claim(cleo)
    joined = held.joined.order_by("batch").first()
    assert joined
    withdraw(joined.batch.query, "unclear")
    assert (live(cleo).count(), held.joined.live().count()) == (2, 1)
    judge_all(held, by_rank)
    assert Judgement.objects.filter(annotator=cleo, seat__isnull=False).count() == 4
    withdrawn = Query.objects.get(pk=joined.batch.query_id)
    assert withdrawn.withdrawn
    assert not any(audit(contested).values())


def test_a_hand_over_takes_all_of_it(contested: Campaign, cleo: Membership, leo: Membership) -> None:
    claim(cleo)
    hand_over(cleo, leo, "ill")
    assert not live(cleo).exists()
    assert set(Batch.objects.in_campaign(contested).values_list("taken", flat=True)) == {0}
    assert not any(audit(contested).values())


def test_without_the_setting_each_query_has_a_batch(contested: Campaign, cleo: Membership) -> None:
    Campaign.objects.update(mixes_queries=False)
    held = claim(cleo)
    assert (len(held.places), len(own(held)), live(cleo).count()) == (14, 2, 1)
    assert all("query" not in place for place in assignment_data(held)["places"])
