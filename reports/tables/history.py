"""What leads did in a campaign: the list of the log's entries, and the reopenings with what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from django import forms
from django.db.models import Count, Q, QuerySet
from django.utils.timezone import make_aware

from base.dates import start_of_day
from base.listing import Column, Listing, Rows
from campaigns.models import Campaign, LogEntry
from jobs.models import Job
from judging.models import ReopenedQuery, Reopening
from judging.review.reopening import reopen_work, undo_work

LARGEST = 10**9 - 1  # a worker's number
LONGEST_TEXT = 200  # characters of what is searched for
MOST_NAMED = 10  # queries of a reopening that were not undone


class HistoryFilters(forms.Form):
    """The filters of the history, as a page takes them."""

    q = forms.CharField(required=False, max_length=LONGEST_TEXT, label="Text", help_text="Words of what was done")
    who = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, label="Who")
    kind = forms.ChoiceField(required=False, choices=[("", "all"), *LogEntry.Kind.choices], label="Kind")
    locals()["from"] = forms.DateField(required=False, label="From", widget=forms.DateInput({"type": "date"}))
    to = forms.DateField(required=False, label="To", widget=forms.DateInput({"type": "date"}))


def entries_of(campaign: Campaign) -> QuerySet[LogEntry]:
    return campaign.log.select_related("by__user")


def _end(day: date) -> datetime:
    return make_aware(datetime.combine(day, time.max))


def _with_text(rows: Rows, text: str) -> Rows:
    return rows.filter(Q(what__icontains=text) | Q(before__icontains=text) | Q(after__icontains=text))


HISTORY = Listing(
    "history",
    (
        Column("at", "When", lambda entry: entry.at, by="pk", is_time=True),
        Column("who", "Who", lambda entry: entry.by.user.get_username()),
        Column("kind", "Kind", lambda entry: entry.get_kind_display()),
        Column("what", "What", lambda entry: entry.what),
        Column("before", "Before", lambda entry: entry.before),
        Column("after", "After", lambda entry: entry.after),
    ),
    HistoryFilters,
    {
        "q": _with_text,
        "who": lambda rows, worker: rows.filter(by__worker=worker),
        "kind": lambda rows, kind: rows.filter(kind=kind),
        "from": lambda rows, day: rows.filter(at__gte=start_of_day(day)),
        "to": lambda rows, day: rows.filter(at__lte=_end(day)),
    },
    usual="-pk",
)


def history_listing(campaign: Campaign) -> Listing:
    """Return the list with those who did something to choose from by name."""
    found = campaign.memberships.filter(pk__in=campaign.log.order_by().values("by")).order_by("worker")
    names = forms.Select(choices=[("", "all"), *found.values_list("worker", "user__username")])
    who = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, label="Who", widget=names)
    form = type("Filters", (HistoryFilters,), {"who": who})
    return replace(HISTORY, form=form)


@dataclass(frozen=True)
class ReopeningRow:
    """A reopening, its job while that is not done, and what became of its queries when it was undone."""

    reopening: Reopening
    job: Job | None
    numbers: dict[str, int]  # queries by what became of them
    kept: list[ReopenedQuery]  # the first of those that were not undone, or only in part

    @property
    def may_be_undone(self) -> bool:
        return bool(self.numbers) and self.job is None and not hasattr(self.reopening, "undone")


def reopenings_of(campaign: Campaign) -> QuerySet[Reopening]:
    """Return the campaign's reopenings, the newest first."""
    return campaign.reopenings.select_related("lead__user", "undone__lead__user").order_by("-pk")


def reopening_rows(page: Iterable[Reopening]) -> list[ReopeningRow]:
    records = list(page)
    jobs = {job.row: job for kind in (reopen_work, undo_work) for job in kind.jobs(records).not_done()}
    queries = ReopenedQuery.objects.filter(reopening__in=records)
    numbers: dict[int, dict[str, int]] = {record.pk: {} for record in records}
    for record, state, number in queries.order_by().values_list("reopening", "state").annotate(n=Count("pk")):
        numbers[record][state] = number
    kept: dict[int, list[ReopenedQuery]] = {record.pk: [] for record in records}
    for record in records:
        if ReopenedQuery.State.KEPT in numbers[record.pk]:
            of_record = queries.filter(reopening=record, state=ReopenedQuery.State.KEPT)
            kept[record.pk] = list(of_record.select_related("query")[:MOST_NAMED])
    return [ReopeningRow(each, jobs.get(each.pk), numbers[each.pk], kept[each.pk]) for each in records]
