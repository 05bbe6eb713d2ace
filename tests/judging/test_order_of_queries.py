"""Queries are judged in a random order, and one that has begun is finished before the next begins."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from campaigns.models import Campaign, Membership
from judging import order
from judging.audit import audit
from judging.models import Batch, Kind, Query, Review
from judging.review.reviewing import review
from judging.settings import set_up
from tests.cast import claim, expire, judge_all, make_query, settle


def test_each_prefix_holds_the_strata_in_proportion() -> None:
    strata = {f"{name} {number}": name for name, size in (("a", 60), ("b", 30), ("c", 10)) for number in range(size)}
    for seed in range(20):
        drawn = order.places(seed, strata)
        assert sorted(drawn) == sorted(strata)
        assert all(0 <= place < 1 for place in drawn.values())
        in_order = sorted(strata, key=lambda query: drawn[query])
        for number in range(10, 101):
            held = Counter(strata[query] for query in in_order[:number])
            assert all(abs(held[name] - number * share) < 2 for name, share in (("a", 0.6), ("b", 0.3), ("c", 0.1)))


def test_each_query_comes_early_as_often_as_any_other() -> None:
    """Neither its id nor the size of its stratum favours a query."""
    early: Counter[str] = Counter()
    for seed in range(3000):
        drawn = order.places(seed, dict.fromkeys("abcd", "one") | dict.fromkeys("xyz", "two") | dict.fromkeys("uv", ""))
        early.update(query for query, place in drawn.items() if place < 0.3)
    assert all(early[query] == pytest.approx(900, abs=4 * 25) for query in "abcdxyzuv")


@pytest.mark.both_databases
def test_a_query_gets_its_place_in_whichever_way_it_is_stored(campaign: Campaign) -> None:
    Query.objects.bulk_create(Query(campaign=campaign, query_id=f"n{n}", text=f"Text {n}.") for n in range(3))
    exam = Query.objects.create(campaign=campaign, kind=Kind.EXAM, query_id="exam:1", text="An exam.")
    assert exam.place is None
    for query in campaign.queries.filter(kind=Kind.POOL):
        assert query.place == order.place(7, query.query_id)
    assert Batch.objects.get().place == order.place(7, "1")
    for wrong in (campaign.queries.filter(kind=Kind.POOL), campaign.queries.filter(kind=Kind.EXAM)):
        with pytest.raises(IntegrityError), transaction.atomic():
            wrong.update(place=None if wrong[0].place else 0.5)
    assert not any(audit(campaign).values())


def test_another_seed_is_another_order(campaign: Campaign, leo: Membership) -> None:
    assert set_up(leo, {"order_seed": "8"}, partial=True).is_valid()
    assert Query.objects.get().place == Batch.objects.get().place == order.place(8, "1")
    campaign.refresh_from_db()
    assert not any(audit(campaign).values())


@pytest.fixture
def several(campaign: Campaign) -> list[Batch]:
    """The first batches of five queries, in the order in which they are judged."""
    for number in range(2, 6):
        make_query(campaign, str(number), f"A person does thing {number}.")
    return list(Batch.objects.order_by("place"))


@pytest.mark.any_database
@pytest.mark.both_databases
def test_work_is_handed_out_in_the_order_that_was_drawn(several: list[Batch], ada: Membership) -> None:
    assert [batch.pk for batch in several] != sorted(batch.pk for batch in several)
    handed = []
    for _ in several:
        handed.append(claim(ada).batch)
        judge_all(ada.assignments.live().get(), lambda candidate: 1)
    assert handed == several


@pytest.mark.any_database
@pytest.mark.both_databases
def test_what_has_begun_goes_on_before_anything_else_begins(
    several: list[Batch], ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    first, second, third, *_ = several
    lapsed = claim(ada)
    expire(lapsed)
    assert claim(bob).batch == first  # nobody holds it, but somebody did
    judge_all(bob.assignments.live().get(), lambda candidate: 4)
    judge_all(claim(cleo), lambda candidate: 4)
    first.refresh_from_db()
    review(first, leo, Review.Verdict.SECOND)
    assert [claim(each).batch for each in (bob, cleo)] == [second, second]  # the second batch is for others
    assert claim(dan).batch == first.query.batches.get(number=2)
    assert claim(ada).batch == third  # she has seen clips of the first
    begun = Batch.objects.filter(begun=True)
    assert {batch.query for batch in begun} == {each.query for each in (first, second, third)}
    assert not any(audit(first.query.campaign).values())


def test_whoever_may_not_judge_what_is_first_gets_what_is_next(
    several: list[Batch], ada: Membership, bob: Membership, cleo: Membership
) -> None:
    settle(several[0], ada, bob, last=1)
    judge_all(claim(ada), lambda candidate: 4)
    judge_all(claim(bob), lambda candidate: 0)  # round two needs others
    assert claim(ada).batch == several[2]
    assert claim(cleo).batch == several[1]


def test_the_audit_recomputes_the_order(several: list[Batch], ada: Membership) -> None:
    campaign = several[0].query.campaign
    claim(ada)
    assert not any(audit(campaign).values())

    def found() -> str:
        return "; ".join(fault for faults in audit(campaign).values() for fault in faults)

    first, second = several[:2]
    changes: list[tuple[QuerySet[Any], dict[str, Any], str]] = [
        (Query.objects.filter(pk=second.query_id), {"place": 0.5}, "its seed draws"),
        (Batch.objects.filter(pk=second.pk), {"place": 0.5}, "is noted under another place"),
        (Batch.objects.exclude(pk=first.pk), {"begun": True}, "is marked as begun"),
        (Query.objects.filter(pk=first.query_id), {"closed": True}, "the frontier is said to be"),
    ]
    for rows, fields, words in changes:
        before = transaction.savepoint()
        rows.update(**fields)
        assert words in found()
        transaction.savepoint_rollback(before)
    Batch.objects.filter(pk=several[0].pk).update(taken=0)
    Batch.objects.filter(pk=several[0].pk).update(begun=False)
    assert "was handed out, and is not marked as begun" in found()
