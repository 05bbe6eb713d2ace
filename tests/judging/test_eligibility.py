"""Who gets which batch: nobody who knows its round, rather nobody who knows its ranks, and no batch waits unseen."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import connection
from django.urls import reverse

from base.errors import Stale, WrongState
from campaigns.models import Campaign, Membership
from judging.audit import audit
from judging.models import Assignment, Batch, Judgement, Review
from judging.review.actions import reopen
from judging.review.reopening import scope_of_batch
from judging.review.reviewing import review
from judging.work import claiming, grading, submitting
from judging.work.claiming import claimable_by, without_annotators
from judging.work.places import assignment_data
from reports.digest import needs
from tests.cast import browser, claim, expire, judge_all, make_query, settle, settle_round_one

Say = Callable[[Assignment], object]


def grade_all(held: Assignment) -> None:
    judge_all(held, lambda candidate: 0, submit=False)


def grade_one(held: Assignment) -> None:
    grading.judge(held, 1, 0, fence=held.fence, key=uuid4())


def flag_one(held: Assignment) -> None:
    grading.flag(held, 1, "clip", "", fence=held.fence, key=uuid4())


def flag_one_and_take_it_back(held: Assignment) -> None:
    flag_one(held)
    grading.unflag(held, 1, fence=held.fence, key=uuid4())


SAYING: list[Say] = [grade_all, grade_one, flag_one, flag_one_and_take_it_back]


def begin_and_lapse(annotator: Membership, say: Say) -> Assignment:
    away = claim(annotator)
    say(away)
    expire(away)
    return away


@pytest.mark.parametrize("say", SAYING)
def test_who_said_something_in_round_one_does_not_get_round_two(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, say: Say
) -> None:
    away = begin_and_lapse(ada, say)
    settle_round_one(batch, bob, cleo, apart=1)
    assert claiming.claim(ada) is None
    with pytest.raises(Stale, match="gone to others"):
        claiming.resume(away)
    assert claim(dan).round == 2


def test_who_only_held_it_gets_round_two(batch: Batch, ada: Membership, bob: Membership, cleo: Membership) -> None:
    begin_and_lapse(ada, lambda held: None)
    settle_round_one(batch, bob, cleo, apart=1)
    assert claim(ada).round == 2


@pytest.mark.parametrize("say", SAYING)
def test_who_said_something_comes_back_in_the_same_round(batch: Batch, ada: Membership, say: Say) -> None:
    away = begin_and_lapse(ada, say)
    assert claim(ada) == away


@pytest.fixture
def contested(batch: Batch, ada: Membership, bob: Membership, cleo: Membership) -> Batch:
    """One candidate is contested, and Ada, who graded it and left, is the only other annotator."""
    begin_and_lapse(ada, grade_all)
    settle_round_one(batch, bob, cleo, apart=1)
    return batch


def test_the_desk_says_that_a_batch_waits_for_somebody_else(
    contested: Batch, ada: Membership, member: Callable[..., Membership], leo: Membership
) -> None:
    campaign = contested.query.campaign
    [waits] = needs(campaign, 0)
    assert waits.words == "1 batch has nobody left who may judge it"
    page = browser(leo).get(waits.address).content.decode()
    assert "Nobody left to judge" in page
    assert contested.query.text in page
    new = member("eve")
    assert needs(campaign, 0) == []
    for state in (Membership.State.PAUSED, Membership.State.LEFT):
        Membership.objects.filter(pk=new.pk).update(state=state)
        assert len(needs(campaign, 0)) >= 1
    Membership.objects.filter(pk=new.pk).update(state=Membership.State.ACTIVE)
    Campaign.objects.update(exam=True)  # which she has not passed
    assert [each.words for each in needs(campaign, 0)] == [waits.words]
    Membership.objects.filter(pk=new.pk).update(role=Membership.Role.LEAD)
    Campaign.objects.update(exam=False)
    assert [each.words for each in needs(campaign, 0)] == [waits.words]
    Campaign.objects.update(may_return=True)
    assert needs(campaign, 0) == []


@pytest.mark.both_databases
def test_a_batch_that_nobody_may_judge_any_more_is_told_in_any_case(
    batch: Batch, ada: Membership, bob: Membership
) -> None:
    settle_round_one(batch, ada, bob, apart=1)
    Campaign.objects.update(may_return=True)  # which helps nobody who has submitted
    assert list(without_annotators()) == [batch]
    assert claiming.claim(ada) is None


def test_a_reopened_batch_waits_for_people_who_never_judged_it(
    settled: Batch, ada: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    reopen(leo, scope_of_batch(settled), "again")
    assert claiming.claim(ada) is None
    assert [batch.edition for batch in without_annotators()] == [2]
    eve = member("eve")
    assert not without_annotators().exists()
    assert claim(eve).batch.edition == 2


def test_where_nobody_else_is_left_a_lead_may_let_her_return(
    contested: Batch, ada: Membership, dan: Membership, member: Callable[..., Membership]
) -> None:
    Campaign.objects.update(may_return=True)
    assert claiming.claim(ada) is None  # Dan is left
    judge_all(claim(dan), lambda candidate: 4)
    back = claim(ada)
    assert (back.round, len(back.candidates_in_order())) == (2, 1)
    [place] = assignment_data(back)["places"]
    assert place["grade"] is None
    with pytest.raises(WrongState, match="Not judged yet: 1"):
        submitting.submit(back, back.fence)
    grading.judge(back, 1, 4, fence=back.fence, key=uuid4())
    [place] = assignment_data(back)["places"]
    assert (place["grade"], "note" in place) == (4, False)
    submitting.submit(back, back.fence)
    contested.refresh_from_db()
    assert contested.state == Batch.State.SETTLED
    assert Judgement.objects.filter(annotator=ada, seat__isnull=False).count() == 1
    assert not any(audit(contested.query.campaign).values())


def test_who_returns_sees_no_flag_of_theirs(batch: Batch, ada: Membership, bob: Membership, cleo: Membership) -> None:
    Campaign.objects.update(may_return=True)

    def flag_all(held: Assignment) -> None:
        for position in range(1, 21):
            grading.flag(held, position, "clip", "", fence=held.fence, key=uuid4())

    begin_and_lapse(ada, flag_all)
    settle_round_one(batch, bob, cleo, apart=2)
    back = claim(ada)
    assert [(place["grade"], place["flag"]) for place in assignment_data(back)["places"]] == [(None, None)] * 2
    assert back.unanswered() == [1, 2]


def test_a_second_batch_goes_to_others_first(
    campaign: Campaign, settled: Batch, ada: Membership, leo: Membership, cleo: Membership, dan: Membership
) -> None:
    """Who judged ranks 1-20 would know that the next twenty of that query are less similar."""
    review(settled, leo, Review.Verdict.SECOND)
    second = settled.query.batches.get(number=2)
    claim(cleo)  # she makes it the fullest
    other = make_query(campaign, "2", "A person runs.").batches.get()
    assert claim(ada).batch == other
    assert claim(dan).batch == second


def test_where_there_is_nothing_else_the_second_batch_goes_to_whoever_is_there(
    settled: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    review(settled, leo, Review.Verdict.SECOND)
    second = settled.query.batches.get(number=2)
    settle(second, ada, bob)
    assert second.state == Batch.State.SETTLED


def test_leads_decide_in_the_settings(batch: Batch, leo: Membership) -> None:
    page = browser(leo).get(reverse("campaign-settings", args=["films"])).content.decode()
    assert 'name="may_return"' in page
    assert not Campaign.objects.get().may_return


@pytest.mark.both_databases
def test_a_claim_finds_its_batch_in_order_without_sorting_those_of_the_campaign(batch: Batch, ada: Membership) -> None:
    for part in claimable_by(ada):
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":  # which rightly reads a table of one row as it is
                cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        plan = part[:1].explain()
        assert "batches_in_order" in plan
        assert "sort" not in plan.lower()
        assert "B-TREE FOR ORDER" not in plan
