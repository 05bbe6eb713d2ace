"""The batches of an evening, loaded ahead: who holds them, for how long, and in which order."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.conf import settings
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from base.errors import Stale
from campaigns.models import Campaign, Membership
from judging.models import Assignment
from judging.review.decisions import hand_over
from judging.work import claiming, grading, submitting
from tests.cast import browser, expire, judge_all, small_batches

LEASE = timedelta(seconds=settings.ASSIGNMENT_LEASE)


@pytest.fixture
def queries(campaign: Campaign) -> None:
    small_batches(campaign, 6)


def turns(annotator: Membership) -> list[int]:
    return list(annotator.assignments.in_turn().values_list("turn", flat=True))


def ends(annotator: Membership) -> list[timedelta]:
    now = timezone.now()
    return [each.lease - now for each in annotator.assignments.in_turn()]


def test_four_batches_are_held_each_for_as_long_as_all(queries: None, ada: Membership) -> None:
    held = claiming.load_ahead(ada)
    assert turns(ada) == [0, 1, 2, 3]
    assert len({each.batch_id for each in held}) == 4
    assert all(4 * LEASE - timedelta(minutes=1) < left <= 4 * LEASE for left in ends(ada))
    assert claiming.claim(ada) == held[0]
    assert claiming.load_ahead(ada) == held
    grading.judge(held[0], 1, grade=2, fence=held[0].fence, key=uuid4(), seconds=1.0)
    assert ends(ada)[0] > 3.9 * LEASE  # a press does not shorten it


def test_the_next_comes_to_hand_and_all_leases_follow(queries: None, ada: Membership) -> None:
    first, second, *_ = claiming.load_ahead(ada)
    Assignment.objects.filter(annotator=ada).update(lease=F("lease") - 3.5 * LEASE)
    judge_all(first, lambda candidate: 2)
    assert claiming.claim(ada) == second
    assert turns(ada) == [0, 2, 3]
    assert all(left > 2.9 * LEASE for left in ends(ada))
    assert len(claiming.load_ahead(ada)) == 4
    assert turns(ada) == [0, 1, 2, 3]


def test_what_was_judged_offline_is_taken_in_any_order(queries: None, ada: Membership) -> None:
    for each in reversed(claiming.load_ahead(ada)):
        judge_all(each, lambda candidate: 2)
    assert turns(ada) == []
    assert ada.assignments.submitted().count() == 4


def test_others_get_them_once_the_lease_has_run_out(queries: None, ada: Membership, bob: Membership) -> None:
    held = claiming.load_ahead(ada)
    for each in held:
        expire(each)
    assert claiming.claim(bob)
    assert turns(ada) == []
    assert claiming.resume(held[1]).pk == held[1].pk
    assert turns(ada) == [0]


def test_a_lead_takes_all_of_them_away(queries: None, ada: Membership, leo: Membership) -> None:
    held = claiming.load_ahead(ada)
    hand_over(ada, leo, "ill")
    assert turns(ada) == []
    for each in held:
        with pytest.raises(Stale):
            submitting.submit(each, each.fence)


def test_limits_count_what_is_loaded(queries: None, ada: Membership) -> None:
    ada.most_a_day = 2 * ada.campaign.largest_batch
    ada.save()
    assert len(claiming.load_ahead(ada)) == 2


def test_the_browser_gets_the_addresses_of_the_pages(queries: None, ada: Membership) -> None:
    answer = browser(ada).post(reverse("load-ahead", args=["films"]), headers={"accept": "application/json"}).json()
    assert len(answer["batches"]) == 4
    assert answer["until"] == min(ada.assignments.values_list("lease", flat=True)).isoformat()[:23] + "Z"
    assert all(browser(ada).get(each["address"]).status_code == 200 for each in answer["batches"])


def test_nothing_is_loaded_where_there_is_no_work(campaign: Campaign, ada: Membership) -> None:
    campaign.queries.all().delete()
    answer = browser(ada).post(reverse("load-ahead", args=["films"]), headers={"accept": "application/json"}).json()
    assert answer == {"batches": [], "until": None}
