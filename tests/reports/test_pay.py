"""Hours and pay by period, and that names leave only where pay needs them."""

from __future__ import annotations

import contextlib
import csv
import itertools
import random
import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from base.text import harmless
from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Revision
from releases.exports import FILES
from reports.campaign_summaries import store_summaries
from reports.hours import Worked, by_member, total
from reports.pay import PayRow, Period, days_in, days_of, unusual
from tests.cast import browser, content_of, settle_round_one
from tests.remembered import remembered
from tests.tampering import tampering
from tests.terminal import printed
from tests.test_access import MATRIX

CSV = "/campaigns/films/annotators/hours.csv"
SECRETS = ("secret-name", "Secretia", "secret@example.org")


@pytest.fixture
@remembered
def named(member: Callable[..., Membership]) -> list[Membership]:
    people = [member(f"secret-name-{number}") for number in range(2)]
    for person in people:
        person.user.first_name, person.user.email = "Secretia", "secret@example.org"
        person.user.save()
    return people


@pytest.fixture
@remembered
def worked(batch: Batch, named: list[Membership]) -> Batch:
    """Two people judged twenty pairs each in May 2024: the first 90 seconds a pair, the second 45."""
    first, second = named
    settle_round_one(batch, first, second)
    for person, seconds in ((first, 90), (second, 45)):
        mine = Revision.objects.filter(judgement__annotator=person)
        with tampering():
            mine.update(seconds=seconds, at="2024-05-31T23:30:00Z")
        Assignment.objects.filter(annotator=person).update(submitted="2024-05-31T23:40:00Z")
    Campaign.objects.update(hourly_rate="15.50", currency="EUR")
    return batch


def rows(member: Membership, params: str) -> list[dict[str, str]]:
    answer = browser(member).get(f"{CSV}?{params}")
    assert answer.status_code == 200
    return list(csv.DictReader(answer.content.decode().splitlines()))


@pytest.mark.both_databases
def test_pay_is_hours_at_the_campaigns_rate(worked: Batch, leo: Membership) -> None:
    first, second = rows(leo, "from=2024-05-01&to=2024-05-31")
    assert first == {
        "worker": "1",
        "from": "2024-05-01",
        "to": "2024-05-31",
        "batches": "1",
        "judgements": "20",
        "reported": "0.500",
        "hours": "0.500",
        "cut": "0.000",
        "rate": "15.50",
        "currency": "EUR",
        "pay": "7.75",
        "approved": "",
    }
    assert (second["worker"], second["hours"], second["pay"]) == ("2", "0.250", "3.88")


@pytest.mark.both_databases
def test_days_begin_at_midnight_where_the_house_is(worked: Batch, leo: Membership, settings: Any) -> None:
    assert len(rows(leo, "from=2024-05-31&to=2024-05-31")) == 2
    assert rows(leo, "from=2024-06-01&to=2024-06-30") == []
    settings.TIME_ZONE = "Europe/Berlin"
    assert rows(leo, "from=2024-05-31&to=2024-05-31") == []
    assert len(rows(leo, "from=2024-06-01&to=2024-06-01")) == 2


@pytest.mark.both_databases
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Pacific/Kiritimati"])
def test_days_counted_before_are_what_they_are_when_counted_now(
    zone: str, batch: Batch, named: list[Membership], settings: Any
) -> None:
    settings.TIME_ZONE = zone
    settle_round_one(batch, named[0], named[1])
    now, instants = timezone.now(), random.Random(7)
    revisions = list(Revision.objects.all())
    for revision in revisions:
        revision.at = now - timedelta(minutes=instants.randrange(9 * 24 * 60))
        revision.seconds = instants.uniform(0, 100)
    with tampering():
        Revision.objects.bulk_update(revisions, ["at", "seconds"])
    campaign, today = batch.query.campaign, timezone.localdate()
    days = [today - timedelta(days=back) for back in range(12, -1, -1)]
    periods = [Period(*ends) for ends in itertools.combinations_with_replacement(days, 2)]

    def counted() -> list[Any]:
        of_all = [by_member(days_in(campaign, period)) for period in periods]
        return of_all + [days_of(named[0], first) for first in days]

    counted_now = counted()
    store_summaries(campaign)
    assert counted() == counted_now
    assert total(counted_now[-len(days)].values()) == by_member(days_in(campaign, Period(days[0], today)))[named[0].pk]
    with tampering():
        Revision.objects.filter(at__lt=now - timedelta(days=4)).update(seconds=0)  # not looked at again
    assert counted() == counted_now
    settings.TIME_ZONE = "Europe/Oslo"  # where days are others
    left = sum(each.seconds or 0 for each in Revision.objects.all())
    found = total(days_in(campaign, Period(days[0], today)).values())
    assert float(found.seconds) == pytest.approx(left, abs=0.1)


def test_the_page_shows_this_month_and_sums(worked: Batch, leo: Membership) -> None:
    client = browser(leo)
    page = client.get("/campaigns/films/annotators/?view=pay")
    assert page.context["period"] == Period.of_month(timezone.localdate())
    assert "Nobody judged anything" in page.content.decode()
    may = client.get("/campaigns/films/annotators/?view=pay&from=2024-05-01&to=2024-05-31")
    assert (may.context["worked"].judgements, may.context["pay"]) == (40, Decimal("11.63"))
    assert (may.context["period"].before.query, may.context["period"].after.query) == (
        "from=2024-04-01&to=2024-04-30",
        "from=2024-06-01&to=2024-06-30",
    )


def test_without_a_rate_there_are_hours_and_no_pay(worked: Batch, leo: Membership) -> None:
    Campaign.objects.update(hourly_rate=None)
    first, _ = rows(leo, "from=2024-05-01&to=2024-05-31")
    assert (first["hours"], first["rate"], first["pay"]) == ("0.500", "", "")
    page = browser(leo).get("/campaigns/films/annotators/?view=pay&from=2024-05-01&to=2024-05-31").content.decode()
    assert "No hourly rate is set" in page


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ("from=yesterday", "from"),
        ("to=2024-02-30", "to"),
        ("from=0001-01-01", "from"),
        ("to=9999-12-31", "to"),
        ("from=2024-05-02&to=2024-05-01", "to"),
        ("from=a%00b", "from"),
    ],
)
@pytest.mark.parametrize("name", ["annotators", "hours-csv"])
def test_an_impossible_period_is_refused_by_field(name: str, params: str, field: str, leo: Membership) -> None:
    address = f"{reverse(name, args=['films'])}?view=pay&{params}"
    answer = browser(leo).get(address, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize(
    ("day", "first", "last"),
    [
        (date(2024, 2, 29), date(2024, 2, 1), date(2024, 2, 29)),
        (date(2023, 12, 31), date(2023, 12, 1), date(2023, 12, 31)),
        (date(2024, 1, 1), date(2024, 1, 1), date(2024, 1, 31)),
    ],
)
def test_months_have_their_own_lengths(day: date, first: date, last: date) -> None:
    assert Period.of_month(day) == Period(first, last)


@pytest.mark.parametrize("name", ['=HYPERLINK("https://evil.example.org")', "+1", "-1", "@SUM(A1)"])
def test_a_name_is_never_a_formula(name: str, worked: Batch, leo: Membership, named: list[Membership]) -> None:
    user = named[0].user
    user.first_name, user.last_name = name, ""
    user.save()
    first, _ = rows(leo, "from=2024-05-01&to=2024-05-31&names=on")
    assert first["name"] == f"'{name}"


@pytest.mark.parametrize("cell", ["\t=1", "\r=1", "\n=1"])
def test_space_before_a_formula_does_not_hide_it(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


def test_names_are_there_only_when_asked_for(worked: Batch, leo: Membership) -> None:
    address = f"{CSV}?from=2024-05-01&to=2024-05-31"
    client = browser(leo)
    with_names = client.get(f"{address}&names=on")
    assert "Secretia" in with_names.content.decode()
    assert "-names.csv" in with_names["Content-Disposition"]
    without = client.get(address)
    assert not any(secret in str(without.headers) + without.content.decode() for secret in SECRETS)


def downloads(member: Membership) -> dict[str, str]:
    """Whatever the lead's pages give as a file, headers included; a new address is found by its row in the matrix."""
    client, files = browser(member), dict[str, str]()
    shapes = [["films"], *(["films", export.file] for export in FILES)]
    for name in MATRIX:
        for shape in shapes:
            with contextlib.suppress(NoReverseMatch):
                address = reverse(name, args=shape)
                answer = client.get(f"{address}?from=2024-01-01&to=2024-12-31")
                if "attachment" in answer.get("Content-Disposition", ""):
                    files[address] = str(dict(answer.items())) + content_of(answer).decode()
    return files


def test_no_file_that_leaves_tells_a_name(worked: Batch, leo: Membership, tmp_path: Path) -> None:
    """Every download, the hours as they are by default among them, and every file of the command."""
    printed("export_qrels", "films", "--out", tmp_path)
    files = downloads(leo)
    assert {CSV, *(f"/campaigns/films/exports/{export.file}" for export in FILES)} <= files.keys()
    files |= {str(file.name): file.read_text() for file in tmp_path.rglob("*") if file.is_file()}
    for name, content in files.items():
        assert content or "adjudicated" in name or "reused" in name, name
        for secret in (*SECRETS, "leo"):
            assert secret not in content, name


def row(judgements: int, seconds: float, reported: float | None = None) -> PayRow:
    worked = Worked(Decimal(seconds), Decimal(seconds if reported is None else reported), judgements)
    return PayRow(Membership(), Period.of_month(), worked, None, "")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row(100, 800), row(100, 900), row(100, 1700)], ["", "", ""]),
        ([row(100, 800), row(100, 900), row(100, 1801)], ["", "", "much slower than others"]),
        ([row(100, 449), row(100, 900), row(100, 950)], ["much faster than others", "", ""]),
        ([row(100, 100), row(100, 900)], ["", ""]),  # of two, none is usual
        ([row(100, 800), row(100, 900), row(19, 1), row(100, 950)], ["", "", "", ""]),
        (
            [row(100, 799, 1000), row(100, 900, 900), row(100, 2000, 2600)],
            ["20% cut", "", "23% cut, much slower than others"],
        ),
        ([row(0, 60, 60), row(0, 0, 60)], ["", "100% cut"]),
    ],
)
def test_what_is_unusual_is_named(rows: list[PayRow], expected: list[str]) -> None:
    assert unusual(rows) == expected


def _first_pace(page: str) -> str:
    found: list[str] = re.findall(r'<td class="n">([0-9.]+)</td>', page)
    return found[2]


def test_the_page_of_hours_sorts_by_pace_and_marks_what_is_unusual(worked: Batch, leo: Membership) -> None:
    pages = [
        browser(leo).get(f"/campaigns/films/annotators/?view=pay&from=2024-05-01&to=2024-05-31{sort}").content.decode()
        for sort in ("", "&sort=pace")
    ]
    assert [_first_pace(page) for page in pages] == ["90.0", "90.0"]
    with tampering():
        Revision.objects.filter(judgement__annotator__worker=1).update(seconds=1, reported=100)
    pages = [
        browser(leo).get(f"/campaigns/films/annotators/?view=pay&from=2024-05-01&to=2024-05-31{sort}").content.decode()
        for sort in ("", "&sort=pace")
    ]
    assert [_first_pace(page) for page in pages] == ["1.0", "45.0"]
    assert "99% cut" in pages[0]
