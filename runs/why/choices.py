"""What an address asks about: which run, beside which other, on which release, by which measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, QueryDict
from django.utils.http import urlencode

from base.errors import BadValue
from base.request_fields import one_of, whole
from campaigns.models import Membership
from metrics import CONVENTIONS, Convention, Measure
from metrics.measures.explain import can_explain
from runs import access
from runs.board.choices import known_measures
from runs.measures import NAMES, NDCG, USUAL, measures_of
from runs.models import Run, Yardstick

HEADLINE = NDCG[4]  # NDCG@20 at IoU 0.5
EXPLAINED = [name for name in NAMES if any(map(can_explain, measures_of(name)))]


@dataclass(frozen=True)
class Choices:
    """A run and perhaps another, on a release, by a measure under a convention."""

    run: Run
    other: Run | None
    yardstick: Yardstick
    convention: Convention
    measure: Measure

    @property
    def runs(self) -> list[Run]:
        return [self.run, self.other] if self.other else [self.run]

    @property
    def measures(self) -> list[Measure]:
        return explained_measures(self.convention.name, self.yardstick)

    @property
    def conventions(self) -> list[tuple[Convention, str]]:
        """The conventions, each with the address that asks the same under it, by the same measure if it has it."""
        return [
            (CONVENTIONS[name], self.address(convention=name, measure=str(self._nearest(name)))) for name in EXPLAINED
        ]

    def _nearest(self, convention: str) -> Measure:
        known = explained_measures(convention, self.yardstick)
        return self.measure if self.measure in known else _headline(known)

    def address(self, **other: Any) -> str:
        """Return the query of an address that asks the same but for what is said; None leaves a field out."""
        same: dict[str, Any] = {
            "release": self.yardstick.release.version,
            "convention": self.convention.name,
            "measure": str(self.measure),
            "against": self.other.number if self.other else None,
        }
        return urlencode({key: value for key, value in (same | other).items() if value is not None})


def choices_of(member: Membership, number: int, params: QueryDict) -> Choices | None:
    """Read an address; None if the run is not scored on any release yet.

    Raises
    ------
    BadValue
        If it names something in a way that nobody can understand.
    """
    run = access.run(member, number)
    against = params.get("against", "")
    other = access.run(member, whole("against", against, "the number of a run")) if against else None
    scored = Yardstick.objects.filter(release__scorings__run=run).select_related("release")
    if version := params.get("release", ""):
        scored = scored.filter(release__version=whole("release", version, "the number of a release"))
    yardstick = scored.order_by("release__version").last()
    if yardstick is None and version:
        raise Http404
    if yardstick is None:
        return None
    convention = CONVENTIONS[one_of("convention", params.get("convention", USUAL), EXPLAINED)]
    known = explained_measures(convention.name, yardstick)
    by_name = {str(measure): measure for measure in known}
    name = params.get("measure") or str(_headline(known))
    measure = by_name[one_of("measure", name, list(by_name))]
    if other == run:
        raise BadValue("against", against, "the number of another run")
    return Choices(run, other, yardstick, convention, measure)


def explained_measures(convention: str, yardstick: Yardstick) -> list[Measure]:
    """Return the measures by which runs are scored under a convention, and that can be explained rank by rank."""
    return [measure for measure in known_measures(convention, yardstick) if can_explain(measure)]


def _headline(known: list[Measure]) -> Measure:
    return next((measure for measure in known if str(measure) == HEADLINE), known[0])
