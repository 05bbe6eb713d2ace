"""The conventions: named sets of options, one set for each family of measures.

A family is a way of looking at a run: `graded` measures match predictions one to one with graded moments,
`hit` measures ask how close the predictions come to any relevant moment.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from metrics.measures.errors import MeasureError

Family = Literal["graded", "hit"]
Gain = Literal["linear", "exp"]


@dataclass(frozen=True)
class Options:
    """What a published evaluator decides where a formula leaves it open.

    gain: `linear` (the grade) or `exp` (2^grade − 1). strict: IoU must exceed the threshold, not just reach
    it. lowest: the lowest grade that takes part in matching. empty: a query with nothing to find is left out
    (`skip`) or scores 0 (`zero`). missing: a judged query that the run leaves out scores 0 (`zero`), is left
    out (`skip`), or is an `error`. order: predictions as `given`, by `score`, or by score with ties reversed
    (`score-reversed`). union: see `temporal_iou`.
    """

    gain: Gain = "linear"
    strict: bool = False
    lowest: int = 1
    empty: Literal["skip", "zero"] = "skip"
    missing: Literal["skip", "zero", "error"] = "zero"
    order: Literal["given", "score", "score-reversed"] = "given"
    union: Literal["lengths", "hull"] = "lengths"


@dataclass(frozen=True)
class Convention:
    """A named set of options for each family; `source` says whose they are."""

    name: str
    source: str
    graded: Options = field(default_factory=Options)
    hit: Options = field(default_factory=lambda: Options(strict=True))

    def options(self, family: Family) -> Options:
        chosen: Options = getattr(self, family)
        return chosen


CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention("paper", "the papers' equations: TVR-Ranking section 4, AxIoU sections 3 and 4"),
        Convention(
            "released",
            "the authors' released code, TVR-Ranking and AxIoU",
            graded=Options(gain="exp", strict=True, lowest=0, empty="zero", missing="skip"),
            hit=Options(strict=True, order="score-reversed", union="hull", empty="zero"),
        ),
        Convention(
            "spr", "SPR's evaluator, by the TVR-Ranking group", graded=Options(gain="exp", missing="skip")
        ),
    )
}


def convention_named(name: str | Convention) -> Convention:
    """The convention of that name; raises MeasureError with the nearest names for an unknown one."""
    if isinstance(name, Convention):
        return name
    if name in CONVENTIONS:
        return CONVENTIONS[name]
    near = get_close_matches(name, CONVENTIONS, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise MeasureError(f"unknown convention {name!r}: {hint}there are {', '.join(CONVENTIONS)}")
