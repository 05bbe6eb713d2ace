"""The conventions: named sets of options, one set for each family of measures.

A family is a way to look at a run. `graded` measures match predictions one to one with graded moments;
`hit` measures ask how close the predictions come to any relevant moment; `detection` measures match like
`graded` ones, by score, and average precision; `highlight` measures look at saliency and not at spans;
`plain` measures compare the ids of moments and nothing else, as trec_eval does; `set` measures take a list as one
answer to the query, which may be silence.
"""

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import inf
from typing import Any, Literal, get_args

from ..formats import check_name
from ..formats.errors import MeasureError
from .names import table_of

Family = Literal["graded", "hit", "detection", "highlight", "plain", "set"]
Missing = Literal["skip", "zero", "error"]
Unjudged = Literal["error", "skip"]
Order = Literal["given", "score"]


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
        Each list as `given`, by `score`, or by score with ties reversed (`score-reversed`).
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
    short
        A query whose list is shorter than the cutoff (empty, for a measure without one) counts (`count`), or is left
        out (`skip`), by mAP_IoU and the measures of sets.
    silence
        Existence score of an empty list, in the measures that look at whether there is anything to find.
    forced
        Whether, in the measures of sets, a prediction is paired with a moment that it does not overlap, too.
    by_count
        Whether, for several numbers of targets (`targets=3+`), the mean is that of the means for each number.
    report
        Aggregates are reported `plain`, as `float32`, as a `percent` with two decimals rounded as NumPy
        does, as a `percent-text` with two decimals rounded as printing does, or as `percent-steps`: the same for each
        threshold, and then for their mean.
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
    short: Literal["count", "skip"] = "count"
    silence: float = -inf
    forced: bool = False
    by_count: bool = False
    report: Literal["plain", "float32", "percent", "percent-text", "percent-steps"] = "plain"


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
    families
        The families that its evaluator has; measures of others are refused.
    order
        Whether each list is taken as `given`, or is first put in the order of its scores (`score`), by all families;
        None: each family has an order of its own, and a list taken as given whose scores rise is warned of.
    """

    name: str
    source: str
    unjudged: Unjudged = "error"
    lenient: bool = True
    order: Order | None = None
    families: tuple[Family, ...] = get_args(Family)
    graded: Options = field(default_factory=Options)
    hit: Options = field(default_factory=lambda: Options(strict=True))
    detection: Options = field(default_factory=lambda: Options(order="score"))
    highlight: Options = field(default_factory=Options)
    plain: Options = field(default_factory=lambda: Options(empty="zero"))
    set: Options = field(default_factory=Options)

    def options(self, family: Family) -> Options:
        """The options for a family of measures."""
        chosen: Options = getattr(self, family)
        return chosen

    def must_have(self, measure: str, family: Family) -> None:
        """Raise MeasureError for a measure of a family that the evaluator does not have."""
        if family not in self.families:
            first = next(iter(table_of(self.name).values()))
            raise MeasureError(
                f"measure {measure}: convention {self.name} has no {family} measures, because its evaluator has none; "
                f"it has {' and '.join(self.families)} measures, such as {first}, and convention paper has all"
            )

    def but(
        self,
        missing: Missing | None = None,
        unjudged: Unjudged | None = None,
        order: Order | None = None,
        lenient: bool | None = None,
    ) -> "Convention":
        """The same convention with other options for missing and unjudged queries, the order of lists, and what makes
        no sense.

        Parameters
        ----------
        missing : {"skip", "zero", "error"}, default None
            What becomes of a judged query that is not in the run; None keeps the convention's option.
        unjudged : {"error", "skip"}, default None
            What becomes of a query of the run that nobody judged; None keeps the convention's option.
        order : {"given", "score"}, default None
            Whether each list is taken as it is given, or by its scores, the highest first, where equal scores keep
            their order; None keeps the convention's option.
        lenient : bool, default None
            Whether rows that make no sense, such as a moment that stands twice, are kept and counted; None keeps the
            convention's option.

        Returns
        -------
        Convention
            Its name says what was changed.

        Raises
        ------
        MeasureError
            For another order.

        Examples
        --------
        >>> convention_named("released").but(unjudged="skip", order="score").name
        'released, unjudged=skip, order=score'
        """
        check_name("order", order, get_args(Order))
        changed = self
        if missing is not None:
            changed = changed._in_all_families(missing=missing)
            changed = replace(changed, name=f"{changed.name}, missing={missing}")
        if unjudged is not None:
            changed = replace(changed, name=f"{changed.name}, unjudged={unjudged}", unjudged=unjudged)
        if order is not None and order != self.order:
            changed = changed._in_all_families(order="given") if order == "given" else changed
            changed = replace(changed, name=f"{changed.name}, order={order}", order=order)
        return changed if lenient is None else replace(changed, lenient=lenient)

    def _in_all_families(self, **options: Any) -> "Convention":
        families: dict[str, Any] = {family: replace(self.options(family), **options) for family in get_args(Family)}
        return replace(self, **families)


QVHIGHLIGHTS = Options(missing="error", report="percent-text")
GMR = Options(missing="skip", report="percent-text")
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
        families=("graded", "hit"),
        graded=Options(gain="exp", strict=True, lowest=0, empty="zero", missing="skip"),
        hit=Options(strict=True, order="score-reversed", union="hull", empty="zero"),
    ),
    Convention(
        "spr",
        "SPR's evaluator, by the TVR-Ranking group",
        families=("graded",),
        graded=Options(gain="exp", missing="skip"),
    ),
    Convention(
        "tvr",
        "TVRetrieval's standalone evaluator",
        families=("hit",),
        hit=Options(missing="error", listed=100, union="hull", single=True, report="percent"),
    ),
    Convention("stal", "STAL's corpus evaluator", families=("hit",), hit=Options(late_miss=True, report="float32")),
    Convention(
        "didemo", "DiDeMo's evaluator (MCN)", families=("hit",), hit=Options(strict=True, union="hull", missing="error")
    ),
    Convention(
        "qvhighlights",
        "QVHighlights' standalone evaluator (Moment-DETR)",
        families=("hit", "detection", "highlight"),
        hit=replace(QVHIGHLIGHTS, union="hull"),
        detection=replace(QVHIGHLIGHTS, order="score", listed=10, last=True),
        highlight=QVHIGHLIGHTS,
    ),
    Convention(
        "qvm2",
        "QV-M2's standalone evaluator (FlashMMR)",
        families=("hit", "detection", "highlight", "set"),
        hit=replace(QVHIGHLIGHTS, union="hull"),
        detection=replace(QVHIGHLIGHTS, order="score", listed=10, last=True, short="skip", by_count=True),
        highlight=QVHIGHLIGHTS,
        set=replace(QVHIGHLIGHTS, short="skip", forced=True, report="percent-steps"),
    ),
    Convention(
        "gmr",
        "Soccer-GMR's evaluator",
        families=("graded", "detection", "set"),
        unjudged="skip",
        graded=GMR,
        detection=replace(GMR, order="score", listed=10, last=True),
        set=replace(GMR, listed=10, forced=True, silence=0.0),
    ),
    Convention(
        "ego4d", "Ego4D's evaluator of NLQ", families=("hit",), hit=Options(strict=True, union="hull", missing="skip")
    ),
    Convention(
        "trecvid", "TRECVID's sample_eval, by NIST", families=("plain",), plain=Options(empty="zero", missing="skip")
    ),
)
CONVENTIONS = {convention.name: convention for convention in ALL}


def convention_named(name: str | Convention) -> Convention:
    """The convention of that name.

    Parameters
    ----------
    name : str or Convention
        One of `CONVENTIONS`. A convention is returned as it is.

    Returns
    -------
    Convention

    Raises
    ------
    MeasureError
        For an unknown name, with the nearest that exists.

    See Also
    --------
    Convention.but : Changes an option of a convention.

    Examples
    --------
    >>> convention_named("released").graded.gain
    'exp'
    """
    if isinstance(name, Convention):
        return name
    if isinstance(name, str) and name in CONVENTIONS:
        return CONVENTIONS[name]
    near = get_close_matches(str(name), CONVENTIONS, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise MeasureError(f"unknown convention {name!r}: {hint}there are {', '.join(CONVENTIONS)}")
