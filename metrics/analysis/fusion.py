"""Runs made of runs: one from several by rank fusion, and one without predictions that overlap better ones."""

from typing import Any, get_args

import numpy as np

from ..formats import check_name
from ..formats.arrays import Bools, Ints
from ..formats.dicts import run_from_dict
from ..formats.errors import MeasureError
from ..formats.runs import as_run, run_sources
from ..formats.tables import Run
from ..measures.conventions import Order, convention_named
from ..measures.matching import Pairs, Spans, check_threshold, join, ranks
from ..measures.scene import in_order

FEWEST = 2  # runs


def fuse(runs: Any, *, iou: float = 1.0, k: int = 60, order: Order | None = None, name: str = "fused") -> Run:
    """Fuse several runs into one by reciprocal ranks.

    The fused list of a query holds each moment that a run predicts, once. Its score is the sum of what the runs give
    it: 1 / (k + rank) for the best prediction of that moment, and nothing without one.

    Parameters
    ----------
    runs : dict, or list of runs
        At least two: see `scores_of`.
    iou : float, default 1.0
        In (0, 1]: a prediction is one of a moment if it lies in the same video and their IoU is at least this. At 1.0
        the times must be the same. Below, moments that overlap support each other, and `temporal_nms` can thin them.
    k : int, default 60
        The larger, the less the first ranks stand out.
    order : {"given", "score"}, default None
        Whether each list is taken as it is given, or by its scores: see `calc`. None takes it as given, with a warning
        if its scores rise.
    name : str, default "fused"
        Name of the fused run.

    Returns
    -------
    Run
        Of equal scores the moment comes first that stands first in a list, and then that of the first run.

    Raises
    ------
    MeasureError
        For fewer than two runs, and a run that cannot be read.

    See Also
    --------
    temporal_nms : Drops predictions that overlap better ones.
    compare : Tests whether the fused run is better.

    References
    ----------
    Cormack, Clarke and Büttcher, 2009.

    Examples
    --------
    >>> words = {"1": [("a", 0, 10, 9.0), ("b", 0, 10, 7.0), ("c", 0, 10, 5.0)]}
    >>> frames = {"1": [("b", 0, 10, 0.4), ("a", 0, 12, 0.3)]}
    >>> fused = fuse({"words": words, "frames": frames})
    >>> fused.videos, fused.scores.round(4).tolist()
    (['b', 'a', 'a', 'c'], [0.0325, 0.0164, 0.0161, 0.0159])

    With a lower threshold, the two moments of video a support each other:

    >>> fuse({"words": words, "frames": frames}, iou=0.8).scores.round(4).tolist()
    [0.0325, 0.0325, 0.0325, 0.0159]

    Runs may have different queries:

    >>> fuse({"words": words, "more": {"2": [("z", 0, 5, 0.1)]}}).queries
    ('1', '2')
    """
    check_threshold(iou)
    check_name("order", order, get_args(Order))
    if iou == 0 or k < 0:
        raise MeasureError(f"iou is {iou} and k is {k}; iou must be above 0, and k from 0 up")
    found = run_sources(runs)
    if len(found) < FEWEST:
        raise MeasureError("a fusion needs at least two runs")
    ordered = in_order(found, convention_named("paper").but(order=order), ["graded"])
    tables = [run if isinstance(run, Run) else run.table for run in ordered]
    return _fused(tables, iou, k, name)


def _fused(tables: list[Run], iou: float, k: int, name: str) -> Run:
    queries = {query: n for n, query in enumerate(dict.fromkeys(query for run in tables for query in run.queries))}
    videos = {video: n for n, video in enumerate(dict.fromkeys(video for run in tables for video in run.names))}
    everything = Spans(
        np.concatenate([np.array([queries[q] for q in run.queries], np.int64)[run.query_of_row()] for run in tables]),
        np.concatenate([np.array([videos[v] for v in run.names], np.int64)[run.video] for run in tables]),
        np.concatenate([run.start for run in tables]),
        np.concatenate([run.end for run in tables]),
    )
    of_run = np.repeat(np.arange(len(tables)), [run.scores.size for run in tables])
    rank = np.concatenate([ranks(run.query_of_row()) for run in tables])
    moment = _same(everything)
    pairs = np.stack([np.arange(moment.size), moment]) if iou == 1 else _overlapping(everything, moment, iou)
    given = np.zeros((len(tables), moment.size))
    np.maximum.at(given, (of_run[pairs[0]], pairs[1]), 1 / (k + 1.0 + rank[pairs[0]]))
    score = given.sum(axis=0)
    first: Ints = np.lexsort((of_run, rank, everything.unit))  # where a moment stands first, ties are decided
    first = first[np.unique(moment[first], return_index=True)[1]]
    kept = first[np.lexsort((of_run[first], rank[first], -score[moment[first]], everything.unit[first]))]
    lists: dict[str, list[Any]] = {query: [] for query in queries}
    names, ids = list(videos), list(queries)
    for row in kept.tolist():
        span = (names[everything.video[row]], float(everything.start[row]), float(everything.end[row]))
        lists[ids[everything.unit[row]]].append((*span, float(score[moment[row]])))
    return run_from_dict(lists, name)


def _same(spans: Spans) -> Ints:
    """The row of the first span of the same query, video and times."""
    columns = np.stack([spans.unit, spans.video, spans.start, spans.end], axis=1)
    _, first, number = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    return first[number.reshape(-1)].astype(np.int64)


def _overlapping(spans: Spans, moment: Ints, iou: float) -> Ints:
    """Each prediction with each moment that it overlaps enough: int64 of shape (2, pairs)."""
    moments = np.unique(moment)
    pairs = join(spans, ranks(spans.unit), spans.take(moments), "lengths", iou, strict=False)
    itself = np.stack([np.arange(moment.size), moment])  # a moment without length has no IoU with itself
    return np.concatenate([np.stack([pairs.prediction, moments[pairs.moment]]), itself], axis=1)


def temporal_nms(source: Any, iou: float) -> Run:
    """The run without predictions that overlap a better one of their query and video too much.

    Predictions are looked at by score, highest first; of equal scores the first in the list. One is dropped if its IoU
    with a prediction that was kept is higher than the threshold. What is kept stays in its order, with its score.

    Parameters
    ----------
    source : Run, path, dict or data frame
        See `as_run`.
    iou : float
        Threshold in [0, 1].

    Returns
    -------
    Run

    Raises
    ------
    MeasureError
        For a threshold that is not between 0 and 1, and a run that cannot be read.

    See Also
    --------
    fuse : Several runs as one, in which moments may overlap.

    Examples
    --------
    >>> run = {"1": [("a", 0, 10, 0.5), ("a", 1, 10, 0.9), ("b", 0, 10, 0.1)]}
    >>> temporal_nms(run, 0.6).start.tolist()
    [1.0, 0.0]

    Of equal scores the first in the list stays:

    >>> temporal_nms({"1": [("a", 0, 10, 0.5), ("a", 1, 10, 0.5)]}, 0.6).start.tolist()
    [0.0]
    """
    check_threshold(iou)
    run = as_run(source)
    spans = Spans(run.query_of_row(), run.video, run.start, run.end)
    order = np.lexsort((-run.scores, spans.unit)).astype(np.int64)
    rank = np.empty_like(order)
    rank[order] = ranks(spans.unit[order])
    return run.of_rows(kept_down_the_ranks(join(spans, rank, spans, "lengths", iou, strict=True), rank))


def kept_down_the_ranks(pairs: Pairs, rank: Ints) -> Bools:
    """Which predictions stay, given the pairs of predictions that overlap too much: bool of shape
    (predictions,).

    It goes down the ranks of all lists together: what is still there at its rank drops the later ones of its
    pairs.
    """
    kept = np.ones(rank.size, dtype=np.bool_)
    later = rank[pairs.moment] > pairs.rank
    first, second, at = pairs.prediction[later], pairs.moment[later], pairs.rank[later]
    bounds = np.flatnonzero(np.diff(at, prepend=-1, append=-1)) if at.size else np.zeros(1, dtype=np.int64)
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        kept[second[low:high][kept[first[low:high]]]] = False
    return kept
