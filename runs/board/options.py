"""What a leaderboard shows: its measures, and the queries that it can be limited to (by split, length or relevance);
and the list of a campaign's runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django import forms
from django.db.models import Max, Q, QuerySet
from django.shortcuts import get_object_or_404
from numpy.typing import NDArray

from base.errors import BadValue
from base.listing import Column, Listing
from base.text import abbreviated
from campaigns.models import Membership
from metrics import CONVENTIONS, Convention, Measure, MeasureError, parse_measures
from runs.measures import JUDGED, NAMES, NDCG, USUAL, further_of, measures_of
from runs.models import Run, ScoringReference, Visibility

MOST = 12  # columns
# The headline first: the forest plot is of the first, and the others stand beside it as numbers
FIRST = dict.fromkeys(("paper", "released", "spr"), (NDCG[4], NDCG[1], NDCG[3], NDCG[5]))
THIRDS = (1 / 3, 2 / 3)
LENGTHS, AMOUNTS = ("short", "middle", "long"), ("few", "some", "many")  # of queries, in words and in relevant moments


@dataclass(frozen=True)
class BoardOptions:
    """Which measures, under which convention, sorted by which of them, beside which run, of which queries."""

    convention: Convention
    measures: list[Measure]
    sort: Measure | None  # None: by the name of the run
    baseline: int | None = None  # the number of a run
    seeds: bool = False  # whether the runs of one system are shown as one row
    plain: bool = False  # whether scores are means of the judged queries, although they could be estimated
    split: str = ""  # of the queries; these three are empty for all
    length: str = ""
    relevant: str = ""

    @property
    def judged(self) -> str:
        """Return the name of the measure that says how much of what the columns look at is judged."""
        cutoff = next((m.cutoff for m in self.measures if m.cutoff), None)
        name = f"Judged@{cutoff}"
        return name if name in JUDGED else JUDGED[1]

    @property
    def judged_under(self) -> str:
        """Return the convention by which that is counted: the present one, unless it says nothing of it."""
        return self.convention.name if JUDGED[0] in NAMES[self.convention.name] else USUAL


def board_reference(member: Membership, version: int | None = None) -> ScoringReference | None:
    """Return the reference of a release, or of the newest on which a run was scored."""
    known = ScoringReference.objects.filter(release__campaign=member.campaign).select_related("release__campaign")
    if version is not None:
        return get_object_or_404(known, release__version=version)
    return known.order_by("release__version").last()


def board_options(
    reference: ScoringReference,
    convention: str = "",
    m: Sequence[str] = (),
    sort: str = "",
    seeds: str = "",
    means: str = "",
    **options: Any,
) -> BoardOptions:
    """Return the options of a leaderboard; what is left out is as usual.

    Raise BadValue for a measure by which runs are not scored under the convention, or too many measures.
    """
    convention = convention or USUAL
    known = known_measures(convention, reference)
    names = m or FIRST.get(convention) or NAMES[convention][:4]
    measures = [_known(measure, known) for measure in _parsed("m", names)]
    if len(measures) > MOST:
        raise BadValue("m", f"{len(measures)} measures", f"at most {MOST}")
    by = None if sort == "run" else _known(_parsed("sort", [sort])[0], known) if sort else measures[0]
    sort_by = by if by in measures else None
    return BoardOptions(
        CONVENTIONS[convention], measures, sort_by, seeds=seeds == "together", plain=means == "plain", **options
    )


def known_measures(convention: str, reference: ScoringReference) -> list[Measure]:
    """Return the measures by which runs are scored under a convention on a release."""
    return [*measures_of(convention), *further_of(convention, reference.measures)]


def measure_named(name: str) -> Measure:
    """Return the measure of a name. Raise BadValue if no measure has such a name."""
    return _parsed("measure", [name])[0]


def _parsed(field: str, names: Sequence[str]) -> list[Measure]:
    try:
        return parse_measures(names)
    except MeasureError as fault:
        raise BadValue(field, str(fault), f"a measure such as {NDCG[4]}") from fault


def _known(measure: Measure, known: list[Measure]) -> Measure:
    if measure not in known:
        raise BadValue("m", str(measure), "a measure by which runs are scored under this convention")
    return measure


class Band(NamedTuple):
    """Queries with a number from `low` to `high`."""

    words: str
    low: float
    high: float


class Queries:
    """The judged queries of a release, and which of them a leaderboard is about."""

    def __init__(self, reference: ScoringReference) -> None:
        rows = reference.queries
        self.ids = [row[0] for row in rows]
        self._split = np.array([row[1] for row in rows], dtype=np.str_)
        self._words, self._relevant = (np.array([row[n] for row in rows], dtype=np.int64) for n in (2, 3))
        self.splits = sorted({split for split in self._split.tolist() if split})
        self.lengths = _bands(self._words, LENGTHS, " words")
        self.amounts = _bands(self._relevant, AMOUNTS)

    def chosen(self, options: BoardOptions) -> NDArray[np.bool_] | None:
        """Return the queries of the options; None for all. Raise BadValue for an unknown split, length or amount."""
        mask = np.ones(len(self.ids), dtype=np.bool_)
        if options.split:
            _must_be_one("split", options.split, self.splits)
            mask &= self._split == options.split
        for field, name, bands, numbers in (
            ("length", options.length, self.lengths, self._words),
            ("relevant", options.relevant, self.amounts, self._relevant),
        ):
            if name:
                _must_be_one(field, name, bands)
                mask &= (numbers >= bands[name].low) & (numbers <= bands[name].high)
        return None if mask.all() else mask


def _must_be_one(field: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise BadValue(field, abbreviated(name), f"one of {', '.join(known)}")


def _bands(numbers: NDArray[np.int64], names: tuple[str, str, str], unit: str = "") -> dict[str, Band]:
    """Return three bands of about as many queries each, or none if the numbers are too alike."""
    if not numbers.size:
        return {}
    first, second = (int(edge) for edge in np.quantile(numbers, THIRDS))
    if not numbers.min() <= first < second < numbers.max():
        return {}
    short, middle, long = names
    return {
        short: Band(f"{short}: at most {first}{unit}", 0, first),
        middle: Band(f"{middle}: {first + 1} to {second}{unit}", first + 1, second),
        long: Band(f"{long}: more than {second}{unit}", second + 1, np.inf),
    }


class RunFilters(forms.Form):
    """The filters of the list of runs."""

    q = forms.CharField(required=False, max_length=100, label="Name", help_text="part of a run’s or a system’s name")
    visibility = forms.ChoiceField(
        required=False,
        choices=[("", "all"), *((value, value.capitalize()) for value in Visibility.values)],
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
        Column("at", "Uploaded", lambda run: run.at, by="at", is_time=True),
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
