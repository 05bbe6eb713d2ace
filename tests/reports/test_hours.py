"""Hours and pay: every active second counts once, exams apart, and cents are rounded once, at the end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns.models import Campaign, Membership
from judging.models import Batch, Flag, Revision
from judging.work import grading
from reports.hours import Worked, by_member, total, worked_by_day, worked_on_days
from tests.cast import began, claim, judge_all, make_query
from tests.tampering import tampering

pytestmark = pytest.mark.both_databases  # it is about the reports' SQL

LONG_AGO, LATER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
SECONDS = st.decimals(0, 10**7, places=3)
RATES = st.decimals(0, 10**5, places=2)


def worked(campaign: Campaign, start: datetime, end: datetime) -> dict[int, Worked]:
    return by_member(worked_on_days(campaign, start, end))


def test_every_press_and_every_flag_counts_once(campaign: Campaign, ada: Membership, bob: Membership) -> None:
    hers = began(claim(ada), 3600)
    for grade, seconds in ((1, 2.5), (3, 4.25), (3, None)):
        grading.judge(hers, 1, grade, fence=hers.fence, key=uuid4(), seconds=seconds)
    grading.flag(hers, 2, "clip", "", fence=hers.fence, key=uuid4())
    Flag.objects.update(seconds=3.0)
    judge_all(began(claim(bob), 3600), lambda candidate: 2)
    assert worked(campaign, LONG_AGO, LATER) == {
        ada.pk: Worked(Decimal("9.75"), Decimal("9.75"), judgements=1, batches=0),
        bob.pk: Worked(Decimal(20), Decimal(20), judgements=20, batches=1),
    }


def test_checks_are_work_and_exams_are_not(campaign: Campaign, batch: Batch, ada: Membership) -> None:
    judge_all(began(claim(ada), 3600), lambda candidate: 2)
    for kind, judgements in (("check", 20), ("study", 20), ("exam", 0)):
        Batch.objects.update(kind=kind, place=0.5 if kind == "study" else None)
        assert total(worked(campaign, LONG_AGO, LATER).values()).judgements == judgements
        assert total(worked(campaign, LONG_AGO, LATER).values()).seconds == judgements


def test_a_period_begins_with_its_first_instant_and_ends_before_its_last(campaign: Campaign, ada: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 2, submit=False)
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    with tampering():
        Revision.objects.update(at=noon)
    second = timedelta(seconds=1)
    assert worked(campaign, noon, noon + second)[ada.pk].judgements == 20
    assert worked(campaign, noon - second, noon) == {}


def test_days_are_those_of_the_pages_time_zone(ada: Membership) -> None:
    make_query(ada.campaign, "2", "A person runs.")
    judge_all(began(claim(ada), 3600), lambda candidate: 2)
    with tampering():
        Revision.objects.update(at=datetime(2026, 3, 2, 23, 30, tzinfo=UTC))
    with timezone.override("Europe/Amsterdam"):
        days = worked_by_day(ada, LONG_AGO, LATER)
    assert days[datetime(2026, 3, 3).date()] == Worked(Decimal(20), Decimal(20), 20, 0)
    assert sum(day.batches for day in days.values()) == 1


def test_all_work_is_read_in_one_statement(
    campaign: Campaign, ada: Membership, bob: Membership, django_assert_num_queries: Any
) -> None:
    for person in (ada, bob):
        judge_all(claim(person), lambda candidate: 2)
    with django_assert_num_queries(1):
        assert len(worked(campaign, LONG_AGO, LATER)) == 2


@given(SECONDS, RATES)
def test_pay_is_the_nearest_cent(seconds: Decimal, rate: Decimal) -> None:
    earned = Worked(seconds).earned(rate)
    assert earned == earned.quantize(Decimal("0.01"))
    assert abs(earned * 3600 - seconds * rate) <= 18
    assert earned * 3600 - seconds * rate > -18  # a half cent goes up


@given(st.integers(0, 2000), RATES)
def test_whole_hours_are_paid_exactly(hours: int, rate: Decimal) -> None:
    assert Worked(Decimal(3600 * hours)).earned(rate) == hours * rate


@given(st.lists(SECONDS, max_size=20))
def test_parts_add_up_without_loss(parts: list[Decimal]) -> None:
    assert total(Worked(part, 2 * part, 1, 2) for part in parts) == Worked(
        sum(parts, Decimal(0)), 2 * sum(parts, Decimal(0)), len(parts), 2 * len(parts)
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [("0", (0, 0)), ("29.999", (0, 0)), ("30", (0, 1)), ("3599", (1, 0)), ("7500", (2, 5))]
)
def test_hours_and_minutes(seconds: str, words: tuple[int, int]) -> None:
    assert Worked(Decimal(seconds)).hours_and_minutes == words
