"""Runs of one system under several seeds, taken together: mean and standard deviation."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..formats.errors import MeasureError
from ..measures.measure import Measure
from ..measures.results import Scores, listed

SEED = r"[-_./]?seed[-_.=]?\d+|[-_.]\d+$"


class Spread(NamedTuple):
    """Mean over runs, and sample standard deviation (n − 1); None where no run has a value, or fewer than two have."""

    mean: float | None
    deviation: float | None


class Group(NamedTuple):
    """Runs that differ by their seed only, and the spread of each measure over them."""

    name: str
    runs: tuple[str, ...]
    spreads: dict[Measure, Spread]


def grouped(scores: Mapping[str, Scores] | Sequence[Scores], pattern: str = SEED) -> list[Group]:
    """Put runs together whose names differ only in what a pattern matches.

    Parameters
    ----------
    scores : dict or list of Scores
        Of runs that were scored on the same measures, as `scores_of` returns them.
    pattern : str, default "seed" with a number, or a number at the end
        A regular expression; what it matches is taken out of the names.

    Returns
    -------
    list of Group
        One for each remaining name, in the order of the runs, with `name`, `runs`, and `spreads`: the mean and the
        sample standard deviation of each measure.

    Raises
    ------
    MeasureError
        For a pattern that is no regular expression.

    See Also
    --------
    scores_of : Scores several runs.

    Examples
    --------
    One run alone has no standard deviation:

    >>> from reeljudge import scores_of
    >>> runs = {name: {"1": [("a", 0, end, 1.0)]} for name, end in (("clip-seed1", 5), ("clip-seed2", 6), ("bm25", 9))}
    >>> groups = grouped(scores_of("AxIoU@1", {"1": [("a", 0, 10, 4)]}, runs))
    >>> for group in groups:
    ...     print(group.name, group.spreads["AxIoU@1"])
    clip Spread(mean=0.55, deviation=0.07071067811865474)
    bm25 Spread(mean=0.9, deviation=None)
    """
    found = listed(scores)
    try:
        seed = re.compile(pattern, re.IGNORECASE)
    except (re.error, TypeError) as problem:
        raise MeasureError(f"pattern {pattern!r} is not a regular expression: {problem}") from None
    members: dict[str, list[Scores]] = {}
    for score in found:
        name = seed.sub("", score.run).strip("-_./") or score.run
        members.setdefault(name, []).append(score)
    return [_group(name, group) for name, group in members.items()]


def _group(name: str, scores: list[Scores]) -> Group:
    values = [score.aggregate() for score in scores]
    spreads = {m: _spread([row[m] for row in values]) for m in scores[0].measures}
    return Group(name, tuple(score.run for score in scores), spreads)


def _spread(values: list[float | None]) -> Spread:
    there = [value for value in values if value is not None]
    if not there:
        return Spread(None, None)
    return Spread(float(np.mean(there)), float(np.std(there, ddof=1)) if len(there) > 1 else None)
