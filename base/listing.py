"""Lists of rows: which rows an address chooses, in which order, in which columns, and the part that a page shows.

A page, the API and a CSV file read the same list. Its filters are a form, whose fields say what each takes. The address
carries all that is chosen. A part of a list goes on after a row, not at a number, so that no row is passed over and
none comes twice while others change. A list that several tables make up is held in memory.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import FieldError, ValidationError
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.http import HttpResponseBase, QueryDict, StreamingHttpResponse

from base.text import csv_lines, harmless

ON_A_PAGE = 50
ROWS_AT_A_TIME = 500  # of a CSV file
LONGEST_CURSOR = 500  # characters
# What an unknown value is taken for by a heading that sorts, so that it comes last: above all others, or below.
NUMBERS = (1e300, -1e300)
TIMES = (datetime(9999, 1, 1, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC))
Rows = Any  # a QuerySet, or a list of what has a key `pk`
Choose = Callable[[Rows, Any], Rows]


@dataclass(frozen=True)
class Column:
    """A column of a list: its key in addresses, its heading, and what a row has in it."""

    key: str
    label: str
    value: Callable[[Any], Any]  # of a row, as files have it
    by: str = ""  # the field by which its heading sorts; empty if it does not
    unknown: tuple[Any, Any] | None = None  # NUMBERS or TIMES if that field can be null
    is_number: bool = False
    is_usual: bool = True  # whether it is there unless others are chosen
    places: int | None = None  # decimals of its numbers on a page
    is_time: bool = False  # whether a page shows its times in full


@dataclass(frozen=True)
class Listing:
    """A kind of list."""

    key: str  # in the address of a saved view
    columns: tuple[Column, ...]
    form: type[forms.Form]  # of the filters; no field is required
    filters: Mapping[str, Choose]  # what each field of the form does with the rows; in the order of the page
    usual: str = "pk"  # the fields that rows are sorted by unless a heading is chosen
    show: Callable[[list[Any]], list[Any]] = list  # makes of some rows what the columns read
    most_counted: int = 10_000  # rows; of more a page says “more than”
    tab: str = ""  # the view of its page on which the list is, as the address names it

    def choices(self, params: Mapping[str, Any]) -> Choices:
        """Return what an address, or a dictionary of filters, asks for."""
        found = params if isinstance(params, QueryDict) else QueryDict(urlencode(params))
        return Choices(self, self.form(found, field_order=[*self.filters]), found)

    @property
    def sorts(self) -> list[str]:
        """The orders that there are, as an address names them."""
        return [f"{sign}{column.key}" for column in self.columns if column.by for sign in ("", "-")]


@dataclass(frozen=True)
class Choices:
    """What an address asks for of a list."""

    listing: Listing
    form: forms.Form
    params: QueryDict

    @cached_property
    def sort(self) -> str:
        """The order as the address names it; empty if it is the usual one, or none that there is."""
        sort = self.params.get("sort", "")
        return sort if sort in self.listing.sorts else ""

    @cached_property
    def columns(self) -> list[Column]:
        chosen = self.params.getlist("column")
        named = [column for column in self.listing.columns if column.key in chosen]
        return named or [column for column in self.listing.columns if column.is_usual]

    @cached_property
    def filters(self) -> dict[str, Any]:
        """The values of the filters that are used, by name; none of a form with faults."""
        data = self.form.cleaned_data if self.form.is_valid() else {}
        used = (name for name in self.listing.filters if name in data and data[name] is not False)
        return {name: data[name] for name in used if data[name] not in (None, "", [])}

    def chosen(self, rows: Rows) -> Rows:
        """Return the rows that all filters let through, in their order; none if a filter cannot be read."""
        if not self.form.is_valid():
            return [] if isinstance(rows, list) else rows.none()
        for name, value in self.filters.items():
            rows = self.listing.filters[name](rows, value)
        return rows

    def ordered(self, rows: Rows) -> tuple[Rows, tuple[str, ...]]:
        """Return the rows in their order, and the fields of that order."""
        if not self.sort:
            usual = tuple(self.listing.usual.split())
            order = usual if usual[-1].endswith("pk") else (*usual, "pk")
            return (rows, ("pk",)) if isinstance(rows, list) else (rows.order_by(*order), order)
        sign, key = ("-", self.sort[1:]) if self.sort.startswith("-") else ("", self.sort)
        column = next(each for each in self.listing.columns if each.key == key)
        by = column.by
        if isinstance(rows, list):
            return _sorted(rows, by, is_down=bool(sign)), ("pk",)
        if column.unknown:
            rows = rows.annotate(sorted_by=Coalesce(by, Value(column.unknown[bool(sign)])))
            by = "sorted_by"
        order = (f"{sign}{by}", "pk")
        return rows.order_by(*order), order

    def part(self, rows: Rows, total: int | None = None) -> ListPart:
        """Return the part of the list that the address asks for; `total` is the number of all, if it is known."""
        found = self.chosen(rows)
        if isinstance(found, list):
            total = len(found)
        elif total is None:
            total = found.order_by()[: self.listing.most_counted + 1].count()
        ordered, order = self.ordered(found)
        after = self.params.get("after", "")
        if after:
            ordered = _after(ordered, order, after)
        some = self._read(rows, ordered, ON_A_PAGE + 1)
        page = some[:ON_A_PAGE]
        following = _cursor(page[-1], order) if len(some) > ON_A_PAGE else ""
        return ListPart(self, self.listing.show(page), [row.pk for row in page], total, following, is_first=not after)

    def _read(self, rows: Rows, ordered: Rows, number: int) -> list[Any]:
        """Return the first rows. What they are joined to is read for these alone, not carried along while sorting."""
        if isinstance(ordered, list) or not (self.sort and ordered.query.select_related):
            return list(ordered[:number])
        first, _ = self.ordered(rows.filter(pk__in=ordered.values("pk")[:number]))
        return list(first)

    def address(self, **changes: Any) -> str:
        """Return the address with some changes, from its question mark on. None leaves a name out."""
        return f"?{urlencode([*self._tab, *self._named(**changes)])}"

    @property
    def _tab(self) -> list[tuple[str, str]]:
        view = self.listing.tab or self.params.get("view", "")
        return [("view", view)] if view else []

    def _named(self, **changes: Any) -> list[tuple[str, Any]]:
        known = {*self.listing.filters, "sort", "column"} - changes.keys()
        kept = [(name, value) for name, values in self.params.lists() if name in known for value in values if value]
        changed = [(name, value) for name, value in changes.items() if value not in (None, "")]
        return [*kept, *changed]

    @property
    def tab(self) -> str:
        """The start of each address of the list, to which filters can be added."""
        return f"?{urlencode(self._tab)}&" if self._tab else "?"

    @property
    def first(self) -> str:
        """The address of the first part."""
        return self.address()

    @property
    def file(self) -> str:
        """The address of all that is chosen as a CSV file."""
        return self.address(format="csv")

    @property
    def is_choosing(self) -> bool:
        """Whether the filters and the columns are open to be chosen, as they are while one cannot be read."""
        return "choose" in self.params or bool(self.form.errors)

    @property
    def choosing(self) -> str:
        """The address at which filters and columns are chosen."""
        return self.address(choose="filters")

    @property
    def kept(self) -> Iterator[tuple[str, str]]:
        """What a form of the filters has to carry besides: the tab, the order, and a state chosen elsewhere."""
        yield from self._tab
        for name in ("sort", "show"):
            if value := self.params.get(name):
                yield name, value

    @property
    def carried(self) -> Iterator[tuple[str, str]]:
        """What the search carries besides: the other filters, and the columns."""
        for name, values in self.params.lists():
            if (name in self.listing.filters and name not in ("q", "show")) or name == "column":
                yield from ((name, value) for value in values if value)

    @property
    def chips(self) -> Iterator[tuple[str, Any, str]]:
        """The label, the value and the address without it, of each filter that is used."""
        for name, value in self.filters.items():
            field = self.form.fields[name]
            if field.widget.is_hidden:
                words: Any = "this one"  # a key tells nobody anything
            else:
                words = dict(getattr(field, "choices", ())).get(value, "yes" if value is True else value)
            yield str(field.label), words, self.address(**{name: None})

    @property
    def words(self) -> str:
        """The filters that are used, in words."""
        return ", ".join(f"{label}: {value}" for label, value, _ in self.chips)

    @property
    def view(self) -> str:
        """The filters, the order and the columns as they stand in the address: what a saved view keeps."""
        return urlencode(self._named())

    def csv(self, rows: Rows, name: str) -> HttpResponseBase:
        """Return all rows that are chosen as a CSV file, with every column."""
        answer = StreamingHttpResponse(self._lines(rows), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return answer

    def _lines(self, rows: Rows) -> Iterator[str]:
        ordered, _ = self.ordered(self.chosen(rows))
        parts = [ordered] if isinstance(ordered, list) else _parts(rows, list(ordered.values_list("pk", flat=True)))
        columns = self.listing.columns
        lines = (line for part in parts for line in self.listing.show(part))
        cells = ([harmless(column.value(line)) for column in columns] for line in lines)
        return csv_lines([column.key for column in columns], cells)


@dataclass(frozen=True)
class ListPart:
    """A part of a list, as a page shows it."""

    choices: Choices
    lines: list[Any]  # what the columns read
    keys: list[Any]  # of the lines
    total: int  # rows that are chosen, up to one more than are counted
    after: str  # where the next part begins; empty at the end
    is_first: bool

    @property
    def number(self) -> str:
        """How many rows are chosen, in words."""
        most = self.choices.listing.most_counted
        return f"{self.total:,}" if self.total <= most else f"more than {most:,}"

    def headings(self) -> Iterator[dict[str, Any]]:
        """The headings of the columns, each with the address that sorts by it, if it sorts."""
        for column in self.choices.columns:
            is_up, is_down = (self.choices.sort == f"{sign}{column.key}" for sign in ("", "-"))
            usual = f"-{column.key}" if column.is_number else column.key
            turned = {usual: column.key if column.is_number else f"-{column.key}"}.get(self.choices.sort, usual)
            yield {
                "column": column,
                "address": self.choices.address(sort=turned) if column.by else "",
                "sort": "ascending" if is_up else "descending" if is_down else "",
            }


def _sorted(rows: list[Any], by: str, is_down: bool) -> list[Any]:
    """Return the rows sorted by an attribute, the unknown ones last either way."""
    known = [row for row in rows if getattr(row, by) is not None]
    unknown = [row for row in rows if getattr(row, by) is None]
    return sorted(known, key=attrgetter(by), reverse=is_down) + unknown


def _parts(rows: QuerySet[Any], keys: Sequence[int]) -> Iterator[list[Any]]:
    """Return the rows with these keys, some at a time; those that have gone meanwhile are left out."""
    for first in range(0, len(keys), ROWS_AT_A_TIME):
        some = keys[first : first + ROWS_AT_A_TIME]
        found = {row.pk: row for row in rows.filter(pk__in=some)}
        yield [found[key] for key in some if key in found]


def _cursor(row: Any, order: tuple[str, ...]) -> str:
    values = [getattr(row, name.lstrip("-")) for name in order]
    return urlsafe_b64encode(json.dumps(values, default=_written).encode()).decode().rstrip("=")


def _written(value: Any) -> Any:
    """Return a time with all its digits, and another number than JSON's as text."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _after(rows: Rows, order: tuple[str, ...], cursor: str) -> Rows:
    """Return the rows that come after the one that the cursor names; none if it names none."""
    is_list = isinstance(rows, list)
    try:
        padded = cursor[:LONGEST_CURSOR] + "=" * (-len(cursor) % 4)
        values = json.loads(urlsafe_b64decode(padded.encode()))
        if is_list:
            return rows[[[row.pk] for row in rows].index(values) + 1 :]
        later, same = Q(), Q()
        for name, value in zip(order, values, strict=True):
            field = name.lstrip("-")
            beyond = f"{field}__lt" if name.startswith("-") else f"{field}__gt"
            later |= same & Q(**{beyond: value})
            same &= Q(**{field: value})
        first = order[0].lstrip("-")  # an index that begins with it begins there
        from_there = f"{first}__lte" if order[0].startswith("-") else f"{first}__gte"
        return rows.filter(later, **{from_there: values[0]})
    except (ValueError, TypeError, FieldError, ValidationError):
        return [] if is_list else rows.none()
