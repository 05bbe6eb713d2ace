"""The pay of a period is approved by a lead before it is paid, and then never changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from base.errors import WrongState
from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Flag, Revision
from judging.settings import COLUMNS, set_up
from reports.hours import Rates, Worked
from reports.models import ApprovedDay, ApprovedPeriod
from reports.pay import PayRow, Period, approve, pay_of, sum_of
from tests.cast import browser, settle_round_one
from tests.remembered import remembered
from tests.tampering import tampering

pytestmark = pytest.mark.both_databases  # it is about a verb, which locks rows, and about triggers

MAY = Period(date(2024, 5, 1), date(2024, 5, 31))
FIRST_HALF, SECOND_HALF = Period(MAY.first, date(2024, 5, 15)), Period(date(2024, 5, 16), MAY.last)
PAGE = "/campaigns/films/annotators/"


@pytest.fixture
@remembered
def worked(batch: Batch, member: Callable[..., Membership]) -> Batch:
    """Two people judged twenty pairs each in May 2024, on the 10th and on the 20th, 100 of 120 seconds a pair."""
    people = member("one"), member("two")
    settle_round_one(batch, *people)
    with tampering():
        for person, day in zip(people, (10, 20), strict=True):
            mine = Revision.objects.filter(judgement__annotator=person)
            mine.update(seconds=90, reported=120, at=f"2024-05-{day}T12:00:00Z")
            Assignment.objects.filter(annotator=person).update(submitted=f"2024-05-{day}T12:00:00Z")
    Campaign.objects.update(hourly_rate="10.00", currency="EUR")
    return batch


def lines(lead: Membership, period: Period) -> list[PayRow]:
    campaign = Campaign.objects.get(pk=lead.campaign_id)
    return pay_of(campaign, period, Rates.of(campaign))


def facts(rows: list[PayRow]) -> list[tuple[int, Worked, Decimal | None, str, Decimal | None]]:
    return [(row.member.worker, row.worked, row.rate, row.currency, row.pay) for row in rows]


def test_reported_counted_and_cut_stand_side_by_side(worked: Batch, leo: Membership) -> None:
    total, pay = sum_of(lines(leo, MAY))
    assert (total.reported, total.seconds) == (Decimal(4800), Decimal(3600))
    assert (total.hours, round(total.cut_hours, 2)) == (Decimal(1), Decimal("0.33"))
    assert pay == 10
    page = browser(leo).get(f"{PAGE}?view=pay&{MAY.query}").content.decode()
    assert [heading in page for heading in ("Hours reported", "Counted", "Cut")] == [True] * 3
    assert "1.33" in page
    assert "0.33" in page


def test_an_approved_period_does_not_change(worked: Batch, leo: Membership) -> None:
    before = facts(lines(leo, MAY))
    approve(leo, MAY)
    with tampering():
        Revision.objects.update(seconds=1)
    data = {name: getattr(leo.campaign, name) for name in COLUMNS}
    form = set_up(leo, data | {"hourly_rate": "99", "currency": "SGD", "all_days": "on"})
    assert form.is_valid(), form.errors
    assert facts(lines(leo, MAY)) == before
    assert all(row.approved for row in lines(leo, MAY))
    # Part of the period, and a longer one, have the same days at the same rate.
    assert facts(lines(leo, FIRST_HALF)) == before[:1]
    assert facts(lines(leo, Period(date(2024, 4, 1), date(2024, 6, 30)))) == before


def test_days_beside_an_approved_period_stay_open(worked: Batch, leo: Membership) -> None:
    approve(leo, FIRST_HALF)
    Campaign.objects.update(hourly_rate="20.00")
    first, second = lines(leo, MAY)
    assert (first.rate, first.pay, first.period) == (Decimal(10), Decimal(5), FIRST_HALF)
    assert (second.rate, second.pay, second.period) == (Decimal(20), Decimal(10), SECOND_HALF)
    assert first.approved
    assert not second.approved


def test_a_rate_that_changed_within_the_period_is_kept_for_its_days(worked: Batch, leo: Membership) -> None:
    leo.campaign.past_rates.create(last=date(2024, 5, 15), hourly="7.00")
    before = facts(lines(leo, MAY))
    assert [row[2] for row in before] == [7, 10]
    approve(leo, MAY)
    leo.campaign.past_rates.all().delete()
    assert facts(lines(leo, MAY)) == before


def test_approving_twice_does_nothing_and_days_are_approved_once(worked: Batch, leo: Membership) -> None:
    assert approve(leo, MAY) == approve(leo, MAY)
    with pytest.raises(WrongState, match="from 1 May 2024 to 31 May 2024 are approved already"):
        approve(leo, Period(date(2024, 5, 31), date(2024, 6, 30)))
    assert ApprovedPeriod.objects.count() == 1
    assert ApprovedDay.objects.count() == 2


@pytest.mark.any_database
@pytest.mark.parametrize("back", [0, -40])
def test_a_period_that_is_not_over_is_refused(worked: Batch, leo: Membership, back: int) -> None:
    today = timezone.localdate()
    with pytest.raises(WrongState, match="when it is over"):
        approve(leo, Period(today - timedelta(days=90), today - timedelta(days=back)))
    assert not ApprovedPeriod.objects.exists()


def test_the_database_refuses_to_change_what_is_approved(worked: Batch, leo: Membership) -> None:
    approve(leo, MAY)
    for rows, values in (
        (ApprovedPeriod.objects.all(), {"currency": "SGD"}),
        (ApprovedDay.objects.all(), {"seconds": 0}),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**values)
        with pytest.raises(IntegrityError), transaction.atomic():
            rows._raw_delete("default")


def test_seconds_of_an_approved_day_are_not_paid_again_when_a_grade_replaces_a_flag(
    worked: Batch, leo: Membership
) -> None:
    assignment = Assignment.objects.first()
    assert assignment
    at = {"at": "2024-05-12T12:00:00Z", "seconds": 50.0, "reported": 50.0}
    Flag.objects.create(assignment=assignment, candidate_id=assignment.places[0], reason="clip", **at)
    approve(leo, MAY)
    before = facts(lines(leo, MAY))
    Flag.recorded.update(taken_back=timezone.now())
    assert facts(lines(leo, Period(MAY.first, timezone.localdate()))) == before


@pytest.mark.any_database
def test_page_button_csv(worked: Batch, leo: Membership) -> None:
    client, address = browser(leo), f"{PAGE}?view=pay&{MAY.query}"
    assert "Approve 1 May" in client.get(address).content.decode()
    answer = client.post(f"{PAGE}hours/approve", {"from": "2024-05-01", "to": "2024-05-31"}, follow=True)
    page = answer.content.decode()
    assert "The hours and the pay from 2024-05-01 to 2024-05-31 are approved." in page
    assert "Approve 1 May" not in page
    again = client.post(f"{PAGE}hours/approve", {"from": "2024-05-02", "to": "2024-05-31"}, follow=True)
    assert "are approved already" in again.content.decode()
    header, first, _ = client.get(f"/campaigns/films/annotators/hours.csv?{MAY.query}").content.decode().splitlines()
    assert header == "worker,from,to,batches,judgements,reported,hours,cut,rate,currency,pay,approved"
    today = timezone.localdate()
    assert first == f"1,2024-05-01,2024-05-31,1,20,0.667,0.500,0.167,10.00,EUR,5.00,{today}"
