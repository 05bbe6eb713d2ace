"""The two axioms of moment retrieval (AxIoU, sections 5 and A), tried on any measure.

Both compare a list with one that is better at rank k alone. INV-k: if the better moment is still not the best of
the first k, the score must not change. MON-k: if it becomes the best of the first k, the score must rise.
"""

import warnings
from typing import Literal, NamedTuple

import numpy as np

from ..formats.arrays import Bools, Floats, Ints
from ..formats.dicts import qrels_from_dict, run_from_dict
from ..formats.errors import MeasureError, MeasureWarning
from ..measures.conventions import Convention
from ..measures.definitions import parse_measure
from ..measures.evaluate import calc
from ..measures.measure import Measure

Axiom = Literal["INV-k", "MON-k"]
AXIOMS: tuple[Axiom, ...] = ("INV-k", "MON-k")
TRIALS = 4000
STEPS = 20  # IoUs are multiples of 1/20, so that they often meet a threshold, and each other
SAME = 1e-12
LONGEST = 10


class Counterexample(NamedTuple):
    """IoUs of a list, the rank (from 1) that changes, the IoU it changes to, and the scores before and after."""

    ious: tuple[float, ...]
    rank: int
    better: float
    before: float
    after: float


def counterexample(
    measure: str | Measure, axiom: Axiom, convention: str | Convention = "paper", seed: int = 0
) -> Counterexample | None:
    """A case in which a measure breaks an axiom; None if there is none among some thousand random cases.

    The query has one relevant moment; lists are as long as the cutoff, at most 10.

    seed: of the random cases.
    Raises MeasureError for a measure that does not look at the IoU of moments. See AxIoU, sections 5 and A.

    R@K,θ satisfies INV-k but not MON-k (the paper's Properties 1 and 2), AxIoU both (7 and 8):

    >>> [counterexample("R@5,0.5", axiom) is None for axiom in AXIOMS]
    [True, False]
    >>> [counterexample("AxIoU@5", axiom) is None for axiom in AXIOMS]
    [True, True]
    """
    measure = parse_measure(measure)
    if measure.definition.family in ("highlight", "plain", "set"):
        what = "saliency, at ids or at whole lists"
        raise MeasureError(f"measure {measure} looks at {what}; the axioms are about the IoU of moments")
    before, after, rank = _cases(min(measure.cutoff or 5, LONGEST), axiom, seed)
    low, high = _score(measure, before, convention), _score(measure, after, convention)
    broken = np.abs(high - low) > SAME if axiom == "INV-k" else high - low <= SAME
    if not broken.any():
        return None
    i = int(np.flatnonzero(broken)[0])
    better = float(after[i, rank[i]])
    return Counterexample(tuple(before[i].tolist()), int(rank[i]) + 1, better, float(low[i]), float(high[i]))


def _cases(width: int, axiom: Axiom, seed: int) -> tuple[Floats, Floats, Ints]:
    """Lists of IoUs before and after, and the rank (from 0) at which they differ, as the axiom's conditions say."""
    rng = np.random.default_rng(seed)
    before = rng.integers(0, STEPS + 1, (TRIALS, width)) // rng.integers(1, 4, (TRIALS, 1))  # some are poor
    rank = rng.integers(0, width, TRIALS)
    better = rng.integers(0, STEPS + 1, TRIALS)
    above = np.where(np.arange(width) < rank[:, None], before, -1).max(axis=1)
    fits: Bools = better > before[np.arange(TRIALS), rank]
    fits &= (better <= above) if axiom == "INV-k" else (better > above)
    after = before[fits].copy()
    after[np.arange(len(after)), rank[fits]] = better[fits]
    return before[fits] / STEPS, after / STEPS, rank[fits]


def _score(measure: Measure, ious: Floats, convention: str | Convention) -> Floats:
    """The measure on each list, as a query of its own; the sign of ranks is changed, as less is better there."""
    judged = {str(i): [("v", 0.0, 1.0, 1)] for i in range(len(ious))}
    spans = {str(i): [("v", 0.0, iou, -float(n)) for n, iou in enumerate(row)] for i, row in enumerate(ious.tolist())}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeasureWarning)  # two ranks may have the same IoU
        run = run_from_dict(spans, lenient=True)
    values = calc([measure], qrels_from_dict(judged), run, convention).table()[:, 0]
    return -values if measure.definition.is_of_ranks else values
