"""The list of a campaign's runs, which their page, the API and a file read alike, the newest first."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Max, Q, QuerySet

from base.listing import Column, Listing
from campaigns.models import Membership
from runs.models import Run, Visibility


class RunFilters(forms.Form):
    """The filters of the list of runs."""

    q = forms.CharField(required=False, max_length=100, label="Name", help_text="part of a run’s or a system’s name")
    visibility = forms.ChoiceField(
        required=False,
        choices=[("", "all"), *((each, each.capitalize()) for each in Visibility.values)],
        label="Seen by",
    )
    worker = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, label="Uploaded by worker")
    release = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, label="Scored on release")


RUNS_LIST = Listing(
    "runs",
    (
        Column("name", "Run", lambda run: run.name, by="name"),
        Column("number", "Number", lambda run: run.number, by="number", is_number=True),
        Column("system", "System", lambda run: run.system, by="system"),
        Column("group", "Group", lambda run: run.group, by="group", is_usual=False),
        Column("visibility", "Visibility", lambda run: run.visibility, by="visibility"),
        Column("queries", "Queries", lambda run: run.queries, by="queries", is_number=True),
        Column("predictions", "Predictions", lambda run: run.predictions, by="predictions", is_number=True),
        Column("size", "Bytes", lambda run: run.size, by="size", is_number=True, is_usual=False),
        Column("at", "Uploaded", lambda run: run.at, by="at"),
        Column("by", "By worker", lambda run: run.worker, is_number=True),
        Column("release", "Scored on release", lambda run: run.release, is_number=True),
    ),
    RunFilters,
    {
        "q": lambda rows, words: rows.filter(Q(name__icontains=words) | Q(system__icontains=words)),
        "visibility": lambda rows, visibility: rows.filter(visibility=visibility),
        "worker": lambda rows, worker: rows.filter(by__worker=worker, veiled={}),
        "release": lambda rows, version: rows.filter(scorings__release__version=version),
    },
    usual="-number",
)


def runs_of(member: Membership) -> QuerySet[Any]:
    """Return the runs that a member may see, each with the newest release that it was scored on, or None."""
    own = Run.objects.seen_by(member).select_related("by__campaign")
    found: QuerySet[Any] = own.annotate(release=Max("scorings__release__version"))
    return found
