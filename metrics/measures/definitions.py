"""Every measure that there is, and the grammar in which measures are written: ``nDCG_IoU(iou=0.5)@20``.

    measure  = name [ "(" key "=" value { "," key "=" value } ")" ] [ "@" cutoff ]
    value    = number | low ":" step ":" high | number "+" number … | word

Several thresholds (a range, or a sum) mean the average over them. The papers' own spellings, such as ``NDCG@20,
IoU≥0.5``, are read as well; a measure always prints in the grammar above.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from ..formats.errors import MeasureError
from . import graded, highlights, hits
from .measure import ALIASES, EXAMPLES, PARAMS, Definition, Measure, one_of

Measures = str | Measure | Iterable[str | Measure]
SHAPE = re.compile(r"(?P<name>[A-Za-z]\w*)(?:\((?P<params>[^()]*)\))?(?:@(?P<cutoff>\d+))?")
RANK = ("iou", "rel", "max_rank")  # parameters
OF_IOU = {"gain": one_of("linear", "exp")}  # the gain is of an IoU, not of a grade
ALL = (
    Definition("nDCG_IoU", "graded", graded.ndcg_iou, ("iou", "gain", "discount"), ("iou",)),
    Definition("Recall_IoU", "graded", graded.recall_iou, ("iou", "rel"), ("iou",)),
    Definition("AxIoU", "hit", hits.axiou, ("lb", "rel")),
    Definition("NCxIoU", "hit", hits.ncxiou, ("p", "phi", "rel"), ("p",)),
    Definition("Success_IoU", "hit", hits.success_iou, ("iou", "rel", "task", "type", "length", "max_rank"), ("iou",)),
    Definition("Success_Video", "hit", hits.success_video, ("rel", "type")),
    Definition("AP_IoU", "hit", hits.ap_iou, ("iou", "rel"), ("iou",)),
    Definition("DCG_IoU", "hit", hits.dcg_iou, ("gain", "discount", "rel"), readers=OF_IOU, share=False),
    Definition("MedianRank", "hit", hits.hit_rank, RANK, ("iou",), cutoff="none", aggregate="median", share=False),
    Definition("StdRank", "hit", hits.hit_rank, RANK, ("iou",), cutoff="none", aggregate="std", share=False),
    Definition("Judged", "hit", hits.judged, ("iou",), (), (("iou", "0.5"),)),
    Definition("mAP_IoU", "detection", graded.map_iou, ("iou", "rel", "length"), ("iou",), cutoff="optional"),
    Definition("Rank", "hit", hits.rank_within, ("rel",)),
    Definition("mIoU", "hit", hits.mean_iou, ("rel",), cutoff="none"),
    Definition("nDCG", "plain", graded.ndcg, ("gain", "discount"), cutoff="optional"),
    Definition("P", "plain", graded.precision, ("rel",)),
    Definition("R", "plain", graded.recall, ("rel",)),
    Definition("RR", "plain", graded.reciprocal_rank, ("rel",), cutoff="optional"),
    Definition("AP", "plain", graded.average_precision, ("rel",), cutoff="optional"),
    Definition("HIT", "highlight", highlights.hit, ("level",)),
    Definition("mAP_Saliency", "highlight", highlights.highlight_ap, ("level",), cutoff="none"),
)
DEFINITIONS = {definition.name: definition for definition in ALL}


def parse_measure(text: str | Measure) -> Measure:
    """Read a measure, in the grammar above or in a paper's spelling.

    Raises
    ------
    MeasureError
        Naming the measure, what is wrong in it, and the nearest that exists.
    """
    if isinstance(text, Measure):
        return text
    if not isinstance(text, str):
        raise MeasureError(f"measure {text!r} must be a text such as nDCG_IoU(iou=0.5)@20")
    plain = re.sub(r"\s+", "", text).replace("≥", ">=")
    for pattern, grammar in ALIASES:
        if found := re.fullmatch(pattern, plain, re.IGNORECASE):
            plain = grammar(found)
            break
    shape = SHAPE.fullmatch(plain)
    if not shape:
        raise MeasureError(f"measure {text!r} cannot be read; it should look like nDCG_IoU(iou=0.5)@20")
    return _checked(text, shape["name"], shape["params"], shape["cutoff"])


def default_measures() -> list[Measure]:
    """NDCG@{10, 20, 40}, IoU≥{0.3, 0.5, 0.7}: the nine numbers of TVR-Ranking's tables."""
    return [parse_measure(f"nDCG_IoU(iou={iou})@{cutoff}") for cutoff in (10, 20, 40) for iou in (0.3, 0.5, 0.7)]


def parse_measures(texts: Measures) -> list[Measure]:
    """Read one measure or several, each once, in the order given."""
    if isinstance(texts, str | Measure) or not isinstance(texts, Iterable):
        return [parse_measure(texts)]
    return list(dict.fromkeys(parse_measure(text) for text in texts))


def _checked(text: str, name: str, params: str | None, cutoff: str | None) -> Measure:
    definition = DEFINITIONS.get(name) or _in_other_case(text, name)
    given = dict(_param(text, definition, part) for part in (params or "").split(",") if part)
    lacking = [key for key in definition.required if key not in given]
    if lacking:
        raise MeasureError(f"measure {text!r} needs {lacking[0]}, as in {_example(definition)}")
    if definition.cutoff == "required" and not cutoff:
        raise MeasureError(f"measure {text!r} needs a cutoff, as in {_example(definition)}")
    if cutoff and (definition.cutoff == "none" or int(cutoff) == 0 or len(cutoff) > 6):
        right = "takes no cutoff" if definition.cutoff == "none" else "needs a cutoff from 1 to 999999"
        raise MeasureError(f"measure {text!r} {right}, as in {_example(definition)}")
    plain = set(definition.defaults)  # default values are not printed
    ordered = tuple((key, given[key]) for key in definition.params if key in given)
    ordered = tuple(pair for pair in ordered if pair not in plain)
    return Measure(definition.name, ordered, int(cutoff) if cutoff else None, definition)


def _in_other_case(text: str, name: str) -> Definition:
    """The definition whose name differs in upper and lower case only; others are an error with a hint."""
    by_lower = {known.lower(): known for known in DEFINITIONS}
    if name.lower() in by_lower:
        return DEFINITIONS[by_lower[name.lower()]]
    near = get_close_matches(name.lower(), by_lower, 2, 0.5)
    hint = f"did you mean {' or '.join(_example(DEFINITIONS[by_lower[n]]) for n in near)}? " if near else ""
    raise MeasureError(f"unknown measure {text!r}: {hint}there are {', '.join(DEFINITIONS)}")


def _param(text: str, definition: Definition, part: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not equals or key not in definition.params:
        there = ", ".join(definition.params) or "none"
        raise MeasureError(f"measure {text!r}: {definition.name} has no parameter {key!r}; its parameters: {there}")
    try:
        return key, definition.readers.get(key, PARAMS[key])(value)
    except ValueError as problem:
        raise MeasureError(f"measure {text!r}: {key}={value}: {problem}") from None


def _example(definition: Definition) -> str:
    inside = ",".join(f"{key}={EXAMPLES[key]}" for key in definition.required)
    return definition.name + (f"({inside})" if inside else "") + ("" if definition.cutoff == "none" else "@10")
