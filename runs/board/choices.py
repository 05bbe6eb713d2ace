"""What an address asks of a leaderboard."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from base.errors import BadValue
from base.request_fields import one_of, whole
from base.text import abbreviated
from metrics import CONVENTIONS, Convention, Measure, MeasureError, parse_measure, parse_measures
from runs.measures import JUDGED, NAMES, NDCG, USUAL, further_of, measures_of
from runs.models import Yardstick

MOST = 12  # columns
FIRST = dict.fromkeys(("paper", "released", "spr"), NDCG[3:6])  # NDCG@20 at three thresholds


@dataclass(frozen=True)
class Choices:
    """Which measures, under which convention, sorted by which of them, beside which run, of which queries."""

    convention: Convention
    measures: list[Measure]
    sort: Measure | None  # None: by the name of the run
    baseline: int | None  # the number of a run
    seeds: bool  # whether the runs of one system are shown as one row

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


def choices_of(params: QueryDict, yardstick: Yardstick) -> Choices:
    """Read an address.

    Raises
    ------
    BadValue
        If it names a convention, a measure or a run in a way that nobody can understand.
    """
    convention = CONVENTIONS[one_of("convention", params.get("convention", USUAL), list(NAMES))]
    known = known_measures(convention.name, yardstick)
    names = params.getlist("m") or FIRST.get(convention.name) or NAMES[convention.name][:4]
    measures = [_known(measure, known) for measure in _parsed(names)]
    if len(measures) > MOST:
        raise BadValue("m", f"{len(measures)} measures", f"at most {MOST}")
    sort = params.get("sort", "")
    by = None if sort == "run" else _known(_parsed([sort])[0], known) if sort else measures[0]
    number = params.get("baseline", "")
    baseline = whole("baseline", number, "the number of a run") if number else None
    return Choices(convention, measures, by if by in measures else None, baseline, params.get("seeds") == "together")


def known_measures(convention: str, yardstick: Yardstick) -> list[Measure]:
    """Return the measures by which runs are scored under a convention on a release."""
    return [*measures_of(convention), *further_of(convention, yardstick.measures)]


def measure_named(name: str) -> Measure:
    """Return the measure of a name.

    Raises
    ------
    BadValue
        If no measure has such a name.
    """
    try:
        return parse_measure(name)
    except MeasureError as fault:
        raise BadValue("measure", abbreviated(name), str(fault)) from fault


def _parsed(names: list[str]) -> list[Measure]:
    try:
        return parse_measures(names)
    except MeasureError as fault:
        raise BadValue("m", abbreviated(names[0]), str(fault)) from fault


def _known(measure: Measure, known: list[Measure]) -> Measure:
    if measure not in known:
        raise BadValue("m", str(measure), "a measure by which runs are scored under this convention")
    return measure
