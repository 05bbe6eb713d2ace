"""Ranked moments: a query's best rows, temporal suppression, and the run that is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .data import Floats, Ints, Query, Rows
from .errors import SystemsError
from .interface import Progress, Report, silent
from .library import Run
from .windows import Windows

SPARE = 4  # times the depth: so many rows are sorted first, because suppression drops some


class Ranked(NamedTuple):
    """A query's moments, best first; each array has shape (moments,). Times are in seconds, high scores are good."""

    video: Ints
    start: Floats
    end: Floats
    score: Floats


def rank(windows: Windows, scores: Rows | Floats, depth: int, nms: float) -> Ranked:
    """Rank windows by their scores, of which equal ones keep the windows' order.

    scores: shape (windows,).
    depth: how many moments are wanted.
    nms: IoU above which a moment is dropped for a better one; 1 keeps all.
    """
    wanted = depth * SPARE
    while True:
        order = best(scores, wanted)
        kept = suppress(windows.video[order], windows.start[order], windows.end[order], nms, depth)
        if len(kept) == depth or wanted >= len(windows):
            rows = order[kept]
            return Ranked(windows.video[rows], windows.start[rows], windows.end[rows], scores[rows].astype(np.float64))
        wanted *= SPARE


def best(scores: Rows | Floats, count: int) -> Ints:
    """Return the rows of the highest scores, best first, of equal ones the first; `count` of them at most."""
    if count < len(scores):
        least = -np.partition(-scores, count - 1)[count - 1]
        rows = np.flatnonzero(scores >= least)
    else:
        rows = np.arange(len(scores))
    return rows[np.argsort(-scores[rows], kind="stable")][:count].astype(np.int64)


def run_of(
    name: str, queries: Sequence[Query], ranked: Iterable[Ranked], names: tuple[str, ...], report: Report = silent
) -> Run:
    """Make a run of the queries' ranked moments, in their order.

    names: of the videos, by number.
    Raises SystemsError if there is no query.
    """
    must_ask(queries)
    lists = []
    for each in ranked:
        lists.append(each)
        report(Progress(len(lists), len(queries), "searching"))
    columns = [np.concatenate(column) for column in zip(*lists, strict=True)]
    return Run(
        queries=tuple(query.id for query in queries),
        offsets=np.concatenate([[0], np.cumsum([len(each.video) for each in lists])]).astype(np.int64),
        names=names,
        video=columns[0].astype(np.int64),
        start=columns[1],
        end=columns[2],
        texts={query.id: query.text for query in queries},
        scores=columns[3],
        name=name,
    )


def must_ask(queries: Sequence[Query]) -> None:
    """Raise SystemsError if there is no query."""
    if not queries:
        raise SystemsError("there are no queries; expected at least one to search for")


def suppress(video: Ints, start: Floats, end: Floats, threshold: float, depth: int) -> Ints:
    """Return the rows that stay, best first: at most `depth`.

    A moment is dropped if its IoU with a better one of its video that stays is higher than the threshold, as in
    `metrics.temporal_nms`.

    video, start, end: moments, best first: shape (moments,). Times are in seconds.
    threshold: from 0 to 1; at 1 nothing is dropped.
    """
    if threshold >= 1:
        return np.arange(min(depth, len(video)), dtype=np.int64)
    kept: list[int] = []
    spans: dict[int, list[tuple[float, float]]] = {}
    for row, (number, begin, finish) in enumerate(zip(video.tolist(), start.tolist(), end.tolist(), strict=True)):
        if len(kept) == depth:
            break
        here = spans.setdefault(number, [])
        if all(_iou(begin, finish, *other) <= threshold for other in here):
            here.append((begin, finish))
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def _iou(start: float, end: float, other_start: float, other_end: float) -> float:
    shared = min(end, other_end) - max(start, other_start)
    if shared <= 0:
        return 0.0
    return shared / (end - start + other_end - other_start - shared)
