"""Lists go on after a row: whatever they are sorted by, each row comes once, also while others change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict

from base.listing import ON_A_PAGE, ListPart
from campaigns.models import Campaign, Membership
from judging.models import Query
from reports.tables.annotators import AnnotatorLine, annotators_listing
from reports.tables.queries import QUERIES, queries_of
from tests.conftest import Case

pytestmark = pytest.mark.both_databases  # they sort what is unknown each in its own way
NUMBER = 2 * ON_A_PAGE + 7
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.fixture
def many(campaign: Campaign) -> Campaign:
    """Queries with few different means and shares, some without any, and times that differ by microseconds."""
    campaign.queries.all().delete()
    rows = [
        Query(
            campaign=campaign,
            query_id=f"q{number}",
            text=f"Query {number % 9}, {number}.",
            last_mean=None if number % 5 == 0 else float(number % 4),
            pairs=20 * (number % 3),
            contested=number % 3,
            changed=None if number % 4 == 0 else NOW + timedelta(microseconds=number * 137),
        )
        for number in range(NUMBER)
    ]
    for row in rows:
        row.save()
    return campaign


def parts(campaign: Campaign, address: str) -> list[ListPart]:
    """Follow the list from part to part."""
    found = [QUERIES.choices(QueryDict(address)).part(queries_of(campaign))]
    while found[-1].after:
        params = QueryDict(address, mutable=True)
        params["after"] = found[-1].after
        found.append(QUERIES.choices(params).part(queries_of(campaign)))
    return found


def test_each_row_comes_once_in_every_order(many: Campaign, case: Case) -> None:
    for sort in ["", *QUERIES.sorts]:
        with case(sort):
            found = parts(many, f"sort={sort}")
            keys = [key for part in found for key in part.keys]
            assert len(keys) == len(set(keys)) == NUMBER
            assert [part.is_first for part in found] == [True, False, False]
            assert {part.number for part in found} == {str(NUMBER)}


def test_what_is_unknown_comes_last_either_way(many: Campaign) -> None:
    for sign in ("", "-"):
        means = [row.query.last_mean for part in parts(many, f"sort={sign}mean") for row in part.lines]
        known = [mean for mean in means if mean is not None]
        assert known == sorted(known, reverse=bool(sign))
        assert means == known + [None] * (NUMBER - len(known))


def test_a_row_that_changes_meanwhile_hides_no_other(many: Campaign) -> None:
    first = QUERIES.choices(QueryDict("sort=mean")).part(queries_of(many))
    Query.objects.filter(pk__in=first.keys[:10]).update(last_mean=4.0)  # those of the first part go to the end
    rest = parts(many, f"sort=mean&after={first.after}")
    keys = {key for part in rest for key in part.keys}
    assert keys >= set(Query.objects.values_list("pk", flat=True)) - set(first.keys)


def test_headings_turn_the_order_and_addresses_keep_what_is_chosen(many: Campaign) -> None:
    part = QUERIES.choices(QueryDict("mean_from=1&sort=-mean&after=x&column=text&column=mean")).part(queries_of(many))
    headings = {each["column"].key: (each["address"], each["sort"]) for each in part.headings()}
    assert headings.keys() == {"text", "mean"}
    address, sort = headings["mean"]
    assert sort == "descending"
    assert parse_qsl(urlsplit(address).query) == [
        ("mean_from", "1"),
        ("column", "text"),
        ("column", "mean"),
        ("sort", "mean"),
    ]
    assert [(label, value) for label, value, _ in part.choices.chips] == [("Last five from", 1.0)]


@pytest.mark.any_database
@pytest.mark.parametrize("after", ["x", "W10", "é", "W251bGwsbnVsbF0", "A" * 600])
def test_a_place_that_is_none_lists_nothing(campaign: Campaign, after: str) -> None:
    choices = QUERIES.choices(QueryDict(f"sort=mean&after={after}"))
    assert choices.part(queries_of(campaign)).lines == []


@pytest.mark.any_database
def test_a_list_in_memory_sorts_and_goes_on_as_one_of_the_database() -> None:
    rows = [
        AnnotatorLine(
            Membership(pk=n, worker=n, user=User(username=f"a{n}")),
            week=n % 3,
            agreement={"alpha": 0.5} if n % 2 else {},
        )
        for n in range(60)
    ]
    listing = annotators_listing("progress")

    def listed(**params: str) -> list[AnnotatorLine]:
        first = listing.choices(params).part(rows)
        second = listing.choices(params | {"after": first.after}).part(rows)
        assert (len(first.lines), first.number, second.after, second.is_first) == (ON_A_PAGE, "60", "", False)
        return [*first.lines, *second.lines]

    assert listed() == rows
    assert [row.week for row in listed(sort="week")] == [0] * 20 + [1] * 20 + [2] * 20
    assert [row.week for row in listed(sort="-week")] == [2] * 20 + [1] * 20 + [0] * 20
    for sort in ("alpha", "-alpha"):
        assert [row.alpha for row in listed(sort=sort)] == [0.5] * 30 + [None] * 30
    assert listing.choices({"role": "nobody"}).part(rows).lines == []
    assert listing.choices({"after": "x"}).part(rows).lines == []
