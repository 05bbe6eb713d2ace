"""Differences of runs that leads look at while judging goes on."""

from __future__ import annotations

from typing import Any

from api.fields import Body, Page, Shape, Text, Whole
from api.operations import UNFIT, Rows, With, changes, reads, starts
from api.resource import CAMPAIGN, Resource
from runs.access import watch as watch_of
from runs.models import Watch
from runs.watches import Look, begin, estimate_difference, last_look

MOST = 10**9 - 1


class LookShape(Shape):
    of = Look, "at judged ranked value low high needed decided=is_decided"
    helps = {
        "judged": "queries up to the frontier",
        "ranked": "all queries",
        "value": "the difference over all queries, estimated",
        "low": "of an interval that holds at all times, however often one looks",
        "needed": "queries after which it is decided, if it stays so; null if all do not suffice",
        "decided": "whether the interval excludes 0",
    }


class WatchShape(Shape):
    of = Watch, "id=pk measure run=run.number other=other.number"
    helps = {"run": "its number", "other": "the number of the run whose score is taken off"}
    look = LookShape(allow_null=True, help_text="the last; null before the first")


class NewWatch(Body):
    run = Whole(min_value=1, max_value=MOST, help_text="its number")
    other = Whole(min_value=1, max_value=MOST, help_text="the number of the run whose score is taken off")
    measure = Text(max_length=80, help_text="its name, as the library parses it")


class Watches(Resource, at=f"{CAMPAIGN}/watches", name="watches"):
    @reads(Page(WatchShape))
    def get(self) -> Any:
        """The differences that leads of the campaign watch."""
        rows = Watch.objects.filter(run__campaign=self.lead.campaign).select_related("run", "other")
        return Rows(rows, ("pk",), lambda page: [*map(_with_look, page)])

    @starts(WatchShape, UNFIT, body=NewWatch)
    def post(self) -> Any:
        """Watch the difference of two runs; the first look follows."""
        watch = begin(self.lead, **self.data)
        return self.under_way(estimate_difference.jobs(watch).first(), _with_look(watch))


class OneWatch(Resource, at=f"{CAMPAIGN}/watches/<int:pk>", name="watch"):
    @reads(WatchShape)
    def get(self, pk: int) -> Any:
        """A watched difference, with its last look."""
        return _with_look(watch_of(self.lead, pk))

    @starts(WatchShape)
    def put(self, pk: int) -> Any:
        """Look at a difference now."""
        watch = watch_of(self.lead, pk)
        return self.under_way(estimate_difference.ask(watch), _with_look(watch))

    @changes()
    def delete(self, pk: int) -> Any:
        """Watch a difference no longer."""
        watch_of(self.lead, pk).delete()


def _with_look(watch: Watch) -> With:
    return With(watch, look=last_look(watch))
