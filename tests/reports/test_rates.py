"""What an hour is paid: a new rate holds from today on, unless it mends a wrong one."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns.models import Campaign, Membership, PastRate
from judging.models import Assignment, Batch, Revision
from judging.review.frontier import frontier
from lead.desk import tiles
from reports.campaign_summaries import AGREEMENT, PROGRESS, current_summaries
from reports.hours import Rates, Worked
from reports.pay import Period
from tests.cast import browser, settle_round_one
from tests.lead.test_campaign_settings import SENT
from tests.remembered import remembered
from tests.tampering import tampering

HOUR = Worked(Decimal(3600))
TODAY = timezone.localdate


@pytest.fixture
@remembered
def paid(batch: Batch, ada: Membership, bob: Membership) -> Campaign:
    """Ada judged for an hour four days ago and for half an hour today, Bob for an hour today."""
    settle_round_one(batch, ada, bob)
    hers = Revision.objects.filter(judgement__annotator=ada)
    early = hers.filter(pk__in=hers.order_by("pk").values("pk")[:10])
    with tampering():
        Revision.objects.filter(judgement__annotator=bob).update(seconds=180)
        hers.update(seconds=90)
        early.update(seconds=360, at=timezone.now() - timedelta(days=4))
    Campaign.objects.update(hourly_rate="14.00", currency="SGD")
    return batch.query.campaign


def send(lead: Membership, **fields: str) -> Any:
    fields = SENT | {"currency": "SGD"} | fields
    fixed = ("tolerance", "order_seed", "padding")
    fields = {name: value for name, value in fields.items() if name not in fixed}
    return browser(lead).post(reverse("campaign-settings", args=["films"]), fields)


def lines(lead: Membership) -> list[dict[str, str]]:
    period = Period(TODAY() - timedelta(days=9), TODAY())
    answer = browser(lead).get(f"{reverse('hours-csv', args=['films'])}?{period.query}")
    return list(csv.DictReader(answer.content.decode().splitlines()))


def brief(rows: list[dict[str, str]]) -> list[tuple[str, ...]]:
    return [(row["worker"], row["hours"], row["rate"], row["pay"]) for row in rows]


def test_a_raise_leaves_earlier_days_as_they_were(paid: Campaign, leo: Membership) -> None:
    assert send(leo, hourly_rate="20").status_code == 302
    before, since = lines(leo)[:1], lines(leo)[1:]
    assert brief(before) == [("1", "1.000", "14.00", "14.00")]
    assert brief(since) == [("1", "0.250", "20.00", "5.00"), ("2", "1.000", "20.00", "20.00")]
    assert before[0]["to"] == str(TODAY() - timedelta(days=1))
    assert {row["from"] for row in since} == {row["to"] for row in since} == {str(TODAY())}


def test_the_lead_reads_both_rates(paid: Campaign, leo: Membership) -> None:
    send(leo, hourly_rate="20")
    period = Period(TODAY() - timedelta(days=9), TODAY())
    page = browser(leo).get(f"{reverse('annotators', args=['films'])}?view=pay&{period.query}")
    assert page.context["pay"] == Decimal("39.00")
    text = " ".join(page.content.decode().split())
    assert "An hour is paid 14.00 SGD from" in text
    assert "An hour is paid 20.00 SGD from" in text
    settings = browser(leo).get(reverse("campaign-settings", args=["films"])).content.decode()
    assert f"It was 14.00 until {TODAY() - timedelta(days=1):%-d %B %Y}." in settings


def test_the_annotator_reads_both_rates(paid: Campaign, leo: Membership, ada: Membership) -> None:
    send(leo, hourly_rate="20")
    page = browser(ada).get(reverse("mine", args=["films"]))
    text = " ".join(page.content.decode().split())
    assert [row.earned for row in page.context["days"]] == ["5.00 SGD", "14.00 SGD"]
    assert page.context["total"].earned == "19.00 SGD"
    assert "You earn 20.00 SGD for an hour" in text
    assert "it was 14.00 SGD." in text


def test_the_desk_adds_up_what_was_paid(paid: Campaign, leo: Membership) -> None:
    send(leo, hourly_rate="20")
    paid.refresh_from_db()
    found = tiles(paid, frontier(paid), current_summaries(paid, PROGRESS, AGREEMENT), with_pay=True)
    assert found[-1].value == "SGD 39"


def test_a_rate_that_mends_a_wrong_one_holds_for_all_days(paid: Campaign, leo: Membership) -> None:
    send(leo, hourly_rate="20")
    assert send(leo, hourly_rate="15", all_days="on").status_code == 302
    assert not PastRate.objects.exists()
    assert brief(lines(leo)) == [("1", "1.250", "15.00", "18.75"), ("2", "1.000", "15.00", "15.00")]


@pytest.mark.both_databases
def test_the_second_change_of_a_day_does_not_hide_what_held_yesterday(paid: Campaign, leo: Membership) -> None:
    for rate in ("20", "", "30", "30"):
        assert send(leo, hourly_rate=rate).status_code == 302
    assert str(PastRate.objects.get()) == f"14.00 until {TODAY() - timedelta(days=1)}"
    assert brief(lines(leo))[-1] == ("2", "1.000", "30.00", "30.00")


def test_the_first_rate_holds_for_all_that_was_done(paid: Campaign, leo: Membership) -> None:
    Campaign.objects.update(hourly_rate=None)
    send(leo, hourly_rate="10")
    assert not PastRate.objects.exists()
    assert [row["pay"] for row in lines(leo)] == ["12.50", "10.00"]


def test_a_currency_is_not_changed_under_past_pay(paid: Campaign, leo: Membership) -> None:
    send(leo, hourly_rate="20")
    answer = send(leo, hourly_rate="20", currency="EUR")
    assert answer.status_code == 400
    assert "Past days were paid in SGD" in answer.content.decode()
    assert send(leo, hourly_rate="20", currency="EUR", all_days="on").status_code == 302


@pytest.mark.both_databases
def test_work_before_midnight_is_paid_as_of_its_day(paid: Campaign, leo: Membership, settings: Any) -> None:
    """The day is the pages' own, as in hours."""
    settings.TIME_ZONE = "Pacific/Kiritimati"
    send(leo, hourly_rate="20")
    assert PastRate.objects.get().last == timezone.localdate() - timedelta(days=1)
    assert Assignment.objects.submitted().count() == 2


DAYS = st.dates(date(2024, 1, 1), date(2024, 3, 1))
MONEY = st.decimals(0, 999, places=2)


@given(st.dictionaries(DAYS, MONEY, max_size=4), MONEY, DAYS, DAYS)
def test_stretches_cover_every_day_once_at_its_rate(
    past: dict[date, Decimal], now: Decimal, one: date, other: date
) -> None:
    rates, first, last = Rates(tuple(sorted(past.items())), now), min(one, other), max(one, other)
    covered = [
        (start + timedelta(days=n), rates.on(start))
        for start, end in rates.stretches(first, last)
        for n in range((end - start).days + 1)
    ]
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    assert covered == [(day, rates.on(day)) for day in days]


@given(st.dictionaries(DAYS, st.decimals(0, 86_400, places=3), max_size=5), MONEY)
def test_one_rate_earns_what_the_sum_of_days_earns(seconds: dict[date, Decimal], rate: Decimal) -> None:
    days = {day: Worked(spent) for day, spent in seconds.items()}
    assert Rates((), rate).earned(days) == sum(days.values(), Worked()).earned(rate)
    assert Rates((), None).earned(days) is None
