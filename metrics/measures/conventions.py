"""The conventions: named sets of options, one set for each family of measures.

A family is a way to look at a run. `graded` measures match predictions one to one with graded moments;
`hit` measures ask how close the predictions come to any relevant moment; `detection` measures match like
`graded` ones, by score, and average precision; `highlight` measures look at saliency and not at spans;
`plain` measures compare the ids of moments and nothing else, as trec_eval does.
"""

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

from ..formats.errors import MeasureError

Family = Literal["graded", "hit", "detection", "highlight", "plain"]
Missing = Literal["skip", "zero", "error"]
Unjudged = Literal["error", "skip"]


@dataclass(frozen=True)
class Options:
    """What a published evaluator decides where a formula leaves it open.

    Attributes
    ----------
    gain
        Gain of a grade where the measure does not say: `linear` (the grade) or `exp` (2^grade − 1).
    strict
        Whether the IoU must exceed the threshold, or may equal it.
    lowest
        The lowest grade that takes part in matching.
    empty
        A query with nothing to find is left out (`skip`) or scores 0 (`zero`).
    missing
        A judged query that is not in the run scores 0 (`zero`), is left out (`skip`), or is an `error`.
    order
        Predictions as `given`, by `score`, or by score with ties reversed (`score-reversed`).
    listed
        Number of predictions of each query that count, taken as listed, before any sorting; 0 for all.
    last
        Whether, of moments with the same IoU and grade, the last in the file is matched first.
    union
        Arithmetic of IoU: see `temporal_iou`; `video` gives every pair in one video an IoU of 1.
    single
        Whether IoU is computed in float32.
    late_miss
        Whether a query without a hit gets the rank after its last prediction, and counts as found from that
        rank on.
    report
        Aggregates are reported `plain`, as `float32`, as a `percent` with two decimals rounded as NumPy
        does, or as a `percent-text` with two decimals rounded as printing does.
    """

    gain: Literal["linear", "exp"] = "linear"
    strict: bool = False
    lowest: int = 1
    empty: Literal["skip", "zero"] = "skip"
    missing: Missing = "zero"
    order: Literal["given", "score", "score-reversed"] = "given"
    listed: int = 0
    last: bool = False
    union: Literal["lengths", "hull", "video"] = "lengths"
    single: bool = False
    late_miss: bool = False
    report: Literal["plain", "float32", "percent", "percent-text"] = "plain"


@dataclass(frozen=True)
class Convention:
    """A named set of options for each family.

    Attributes
    ----------
    source
        Whose convention it is.
    unjudged
        A run's query that nobody judged is an `error`, or is left out and counted (`skip`).
    lenient
        Whether rows that make no sense, such as a moment that stands twice, are kept and counted when files, dicts
        and frames are read, as every published evaluator keeps them; otherwise the first is an error.
    """

    name: str
    source: str
    unjudged: Unjudged = "error"
    lenient: bool = True
    graded: Options = field(default_factory=Options)
    hit: Options = field(default_factory=lambda: Options(strict=True))
    detection: Options = field(default_factory=lambda: Options(order="score"))
    highlight: Options = field(default_factory=Options)
    plain: Options = field(default_factory=lambda: Options(empty="zero"))

    def options(self, family: Family) -> Options:
        """The options for a family of measures."""
        chosen: Options = getattr(self, family)
        return chosen

    def but(self, missing: Missing | None = None, unjudged: Unjudged | None = None) -> "Convention":
        """The same convention with other options for missing and for unjudged queries.

        Parameters
        ----------
        missing
            What becomes of a judged query that is not in the run; None keeps the convention's option.
        unjudged
            What becomes of a query of the run that nobody judged; None keeps the convention's option.

        Returns
        -------
        A convention whose name says what was changed.
        """
        changed = self
        if missing is not None:
            families: dict[str, Any] = {
                family: replace(self.options(family), missing=missing) for family in get_args(Family)
            }
            changed = replace(changed, name=f"{changed.name}, missing={missing}", **families)
        if unjudged is not None:
            changed = replace(changed, name=f"{changed.name}, unjudged={unjudged}", unjudged=unjudged)
        return changed


QVHIGHLIGHTS = Options(missing="error", report="percent-text")
ALL = (
    Convention(
        "paper",
        "the papers' equations: TVR-Ranking section 4; AxIoU sections 3, 4 and A",
        unjudged="skip",
        lenient=False,
    ),
    Convention(
        "released",
        "the authors' released code, TVR-Ranking and AxIoU",
        graded=Options(gain="exp", strict=True, lowest=0, empty="zero", missing="skip"),
        hit=Options(strict=True, order="score-reversed", union="hull", empty="zero"),
    ),
    Convention("spr", "SPR's evaluator, by the TVR-Ranking group", graded=Options(gain="exp", missing="skip")),
    Convention(
        "tvr",
        "TVRetrieval's standalone evaluator",
        hit=Options(missing="error", listed=100, union="hull", single=True, report="percent"),
    ),
    Convention("stal", "STAL's corpus evaluator", hit=Options(late_miss=True, report="float32")),
    Convention("didemo", "DiDeMo's evaluator (MCN)", hit=Options(strict=True, union="hull", missing="error")),
    Convention(
        "qvhighlights",
        "QVHighlights' standalone evaluator (Moment-DETR)",
        hit=replace(QVHIGHLIGHTS, union="hull"),
        detection=replace(QVHIGHLIGHTS, order="score", listed=10, last=True),
        highlight=QVHIGHLIGHTS,
    ),
)
CONVENTIONS = {convention.name: convention for convention in ALL}


def convention_named(name: str | Convention) -> Convention:
    """The convention of that name; raises MeasureError with the nearest name for an unknown one."""
    if isinstance(name, Convention):
        return name
    if isinstance(name, str) and name in CONVENTIONS:
        return CONVENTIONS[name]
    near = get_close_matches(str(name), CONVENTIONS, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise MeasureError(f"unknown convention {name!r}: {hint}there are {', '.join(CONVENTIONS)}")
