"""What leads did in a campaign: the list of the log's entries, and the reopenings with what became of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, time

from django import forms
from django.db.models import Count, Q, QuerySet
from django.utils.timezone import make_aware

from base.dates import start_of_day
from base.listing import Column, Listing, Rows
from campaigns.models import Campaign, LogEntry
from jobs.models import Job
from judging.models import Action, ActionRow, Query, Reopening
from judging.review.actions import act, named_rows, undo_all

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
        "to": lambda rows, day: rows.filter(at__lte=make_aware(datetime.combine(day, time.max))),
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
    numbers: dict[str, int]  # queries by state
    kept: list[tuple[Query, str]]  # the first of those that were not undone, or only in part, each with the reason

    @property
    def may_be_undone(self) -> bool:
        """Whether it was done by this version, which kept what undoes it, and is not undone yet."""
        action: Action | None = getattr(self.reopening, "action", None)
        return bool(action and action.ended and not action.undone and self.numbers.get(ActionRow.State.DONE))


def reopenings_of(campaign: Campaign) -> QuerySet[Reopening]:
    """Return the campaign's reopenings, the newest first."""
    return campaign.reopenings.select_related("lead__user", "action__undone_by__user").order_by("-pk")


def reopening_rows(page: Iterable[Reopening]) -> list[ReopeningRow]:
    found: list[tuple[Reopening, Action | None]] = [(record, getattr(record, "action", None)) for record in page]
    actions = [action for _, action in found if action]
    jobs = {job.row: job for kind in (act, undo_all) for job in kind.jobs(actions).not_done()}
    numbers: dict[int, dict[str, int]] = defaultdict(dict)
    counted = ActionRow.objects.filter(action__in=actions).order_by().values_list("action", "state")
    for key, state, number in counted.annotate(n=Count("pk")):
        numbers[key][state] = number
    return [
        ReopeningRow(record, jobs.get(action.pk), numbers[action.pk], _kept(action, numbers[action.pk]))
        if action
        else ReopeningRow(record, None, {}, [])
        for record, action in found
    ]


def _kept(action: Action, numbers: dict[str, int]) -> list[tuple[Query, str]]:
    kept = ActionRow.State.KEPT
    return named_rows(action, MOST_NAMED, kept) if numbers.get(kept) else []
