"""Every measure that there is, and the grammar in which measures are written: ``nDCG_IoU(iou=0.5)@20``.

    measure  = name [ "(" key "=" value { "," key "=" value } ")" ] [ "@" cutoff ]
    value    = number | low ":" step ":" high | number "+" number … | word

Several thresholds (a range, or a sum) mean the average over them. The papers' own spellings, such as ``NDCG@20,
IoU≥0.5``, are read as well; a measure always prints in the grammar above.
"""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from ..formats.errors import MeasureError
from . import graded, hits, windows
from .conventions import Convention, Family, convention_named
from .measure import Definition, Measure, Score, example, one_of
from .names import in_the_grammar, meanings, table_of

Measures = str | Measure | Iterable["Measures"]
SHAPE = re.compile(r"(?P<name>[A-Za-z]\w*)(?:\((?P<params>[^()]*)\))?(?:@(?P<cutoff>\d+))?")
STEPS = "0.3:0.05:0.95"  # thresholds of QV-M2
OF_RANK = ("iou", "rel", "max_rank")  # parameters
OF_IOU = {"gain": one_of("linear", "exp")}  # the gain is of an IoU, not of a grade
NAMED: dict[str, Measure] = {}


def _measure(name: str, family: Family, score: Score, *more: Any, **other: Any) -> Measure:
    """The measure of a new definition, without parameters and cutoff, which has its name from now on."""
    NAMED[name] = Measure(name, (), None, Definition(name, family, score, *more, **other))
    return NAMED[name]


# ruff: noqa: N816
nDCG_IoU = _measure("nDCG_IoU", "graded", graded.ndcg_iou, ("iou", "gain", "discount", "above"), ("iou",))
Recall_IoU = _measure("Recall_IoU", "graded", graded.recall_iou, ("iou", "rel", "above"), ("iou",))
Recall_Further = _measure("Recall_Further", "graded", graded.recall_further, ("iou", "rel"), ("iou",))
AxIoU = _measure("AxIoU", "hit", hits.axiou, ("lb", "rel", "above"))
NCxIoU = _measure("NCxIoU", "hit", hits.ncxiou, ("p", "phi", "rel"), ("p",))
Success_IoU = _measure(
    "Success_IoU", "hit", hits.success_iou, ("iou", "rel", "task", "type", "length", "max_rank", "above"), ("iou",)
)
Success_Video = _measure("Success_Video", "hit", hits.success_video, ("rel", "type"))
AP_IoU = _measure("AP_IoU", "hit", hits.ap_iou, ("iou", "rel"), ("iou",))
DCG_IoU = _measure("DCG_IoU", "hit", hits.dcg_iou, ("gain", "discount", "rel"), readers=OF_IOU, share=False)
MedianRank = _measure(
    "MedianRank", "hit", hits.hit_rank, OF_RANK, ("iou",), cutoff="none", aggregate="median", share=False
)
StdRank = _measure("StdRank", "hit", hits.hit_rank, OF_RANK, ("iou",), cutoff="none", aggregate="std", share=False)
Judged = _measure("Judged", "hit", hits.judged, ("iou",), (), (("iou", "0.5"),))
mAP_IoU = _measure(
    "mAP_IoU", "detection", graded.map_iou, ("iou", "rel", "length", "targets", "above"), ("iou",), cutoff="optional"
)
Rank = _measure("Rank", "hit", hits.rank_within, ("rel",), any_video=True)
mIoU = _measure("mIoU", "hit", hits.mean_iou, ("rel",), cutoff="none", any_video=True)
nDCG = _measure("nDCG", "plain", graded.ndcg, ("gain", "discount"), cutoff="optional")
P = _measure("P", "plain", graded.precision, ("rel",))
R = _measure("R", "plain", graded.recall, ("rel",))
RR = _measure("RR", "plain", graded.reciprocal_rank, ("rel",), cutoff="optional")
AP = _measure("AP", "plain", graded.average_precision, ("rel",), cutoff="optional")
infAP = _measure("infAP", "plain", graded.inferred_ap, ("rel",), cutoff="optional")
xinfAP = _measure("xinfAP", "plain", graded.extended_inferred_ap, ("rel",), cutoff="optional")
HIT = _measure("HIT", "highlight", windows.hit, ("level",))
mAP_Saliency = _measure("mAP_Saliency", "highlight", windows.highlight_ap, ("level",), cutoff="none")
mR = _measure("mR", "set", windows.mean_recall, ("iou", "rel"), (), (("iou", STEPS),))
Matched_IoU = _measure("Matched_IoU", "set", windows.matched_iou, ("rel",))
Matched_Further = _measure("Matched_Further", "set", windows.matched_further, ("rel",))
Set_IoU = _measure("Set_IoU", "set", windows.set_iou, ("rel", "above"))
Silence = _measure("Silence", "set", windows.silence, ("rel", "above"), cutoff="none")
Rejection_F1 = _measure("Rejection_F1", "set", windows.rejection_f1, ("rel", "above"), cutoff="none", aggregate="f1")
Rejection_Accuracy = _measure("Rejection_Accuracy", "set", windows.rejection_accuracy, ("rel", "above"), cutoff="none")
Rejection_AUC = _measure("Rejection_AUC", "set", windows.rejection_auc, ("rel",), cutoff="none")

DEFINITIONS = {measure.name: measure.definition for measure in NAMED.values()}


def parse_measure(text: Any) -> Measure:
    """Read a measure from its text, in the grammar of `Measure` or in a paper's spelling.

    Parameters
    ----------
    text : str, Measure, or measure of ir_measures
        Such as ``nDCG_IoU(iou=0.5)@20`` or ``NDCG@20, IoU≥0.5``. A measure is returned as it is.

    Returns
    -------
    Measure
        One that lacks nothing.

    Raises
    ------
    MeasureError
        Naming the measure, what is wrong in it, and the nearest that exists.

    See Also
    --------
    parse_measures : Reads several.

    Examples
    --------
    >>> parse_measure("R@5,0.7"), parse_measure("ndcg_iou(iou=.5) @ 20")
    (Success_IoU(iou=0.7)@5, nDCG_IoU(iou=0.5)@20)
    """
    if isinstance(text, Measure):
        return text.complete()
    if hasattr(text, "NAME") and hasattr(text, "params"):
        return _of_ir_measures(text)
    if not isinstance(text, str):
        raise MeasureError(f"measure {text!r} must be a text such as nDCG_IoU(iou=0.5)@20")
    plain = in_the_grammar(text)
    shape = SHAPE.fullmatch(plain)
    if not shape:
        raise MeasureError(f"measure {text!r} cannot be read; it should look like nDCG_IoU(iou=0.5)@20")
    measure = _named(text, shape["name"])
    try:
        measure = measure.with_params(_params(shape["params"] or ""))
        return (measure.cut_at(int(shape["cutoff"])) if shape["cutoff"] else measure).lacking_nothing()
    except ValueError as problem:
        raise MeasureError(f"measure {text!r} {problem}") from None


def _of_ir_measures(measure: Any) -> Measure:
    """The same measure as one of ir_measures, which compares ids, or as what `ir_provider` made of one of ours."""
    others = ("cutoff", "convention")
    params = ",".join(f"{key}={value}" for key, value in measure.params.items() if key not in others)
    ours = NAMED.get(measure.NAME)
    known = ours is not None and all(key in (*others, *ours.definition.params) for key in measure.params)
    if ours is None or not known or (ours.definition.family != "plain" and not hasattr(measure, "definition")):
        there = ", ".join(name for name, of in DEFINITIONS.items() if of.family == "plain")
        raise MeasureError(f"measure {measure} of ir_measures is not among the measures by moment id: {there}")
    found = ours.with_params(_params(params))
    return (found.cut_at(measure.params["cutoff"]) if "cutoff" in measure.params else found).complete()


def default_measures(convention: str | Convention = "paper") -> list[Measure]:
    """The measures of the table that a convention's evaluator prints.

    Parameters
    ----------
    convention : str or Convention, default "paper"
        For `paper` the nine numbers of TVR-Ranking's tables: NDCG@{10, 20, 40}, IoU≥{0.3, 0.5, 0.7}.

    Returns
    -------
    list of Measure

    Raises
    ------
    MeasureError
        For an unknown convention.

    See Also
    --------
    calc : Scores a run by them.

    References
    ----------
    TVR-Ranking, the tables of its results.

    Examples
    --------
    >>> default_measures()[:3]
    [nDCG_IoU(iou=0.3)@10, nDCG_IoU(iou=0.5)@10, nDCG_IoU(iou=0.7)@10]
    >>> default_measures("didemo")
    [Rank@1, Rank@5, mIoU]
    """
    return parse_measures(table_of(convention_named(convention).name).values())


def parse_measures(texts: Measures) -> list[Measure]:
    """Read one measure or several, each once, in the order given.

    Parameters
    ----------
    texts : str, Measure, or lists of them
        A list may hold lists, such as what ``AxIoU @ [1, 5]`` makes.

    Returns
    -------
    list of Measure

    Raises
    ------
    MeasureError
        See `parse_measure`.

    See Also
    --------
    default_measures : The nine numbers of TVR-Ranking's tables.

    Examples
    --------
    >>> parse_measures(["mIoU", AxIoU @ [1, 5], "AxIoU@5"])
    [mIoU, AxIoU@1, AxIoU@5]
    """
    return list(dict.fromkeys(_each(texts)))


def _each(texts: Measures) -> Iterator[Measure]:
    if isinstance(texts, str | Measure) or not isinstance(texts, Iterable):
        yield parse_measure(texts)
    else:
        for text in texts:
            yield from _each(text)


def _named(text: str, name: str) -> Measure:
    """The measure of a name, in upper or lower case; an unknown one is an error with a hint."""
    if name in NAMED:
        return NAMED[name]
    if several := meanings(re.sub(r"\s+", "", text)):
        raise MeasureError(f"measure {text!r} is ambiguous; it may be {' or '.join(several)}")
    by_lower = {known.lower(): known for known in NAMED}
    if name.lower() in by_lower:
        return NAMED[by_lower[name.lower()]]
    near = get_close_matches(name.lower(), by_lower, 2, 0.5)
    hint = f"did you mean {' or '.join(example(DEFINITIONS[by_lower[n]]) for n in near)}? " if near else ""
    raise MeasureError(f"unknown measure {text!r}: {hint}there are {', '.join(NAMED)}")


def _params(text: str) -> dict[str, str]:
    """The parameters by their keys; one without a value has an empty one."""
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {key: value for key, _, value in pairs}
