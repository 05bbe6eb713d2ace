"""Ranked moments: a query's best rows, temporal suppression, the run made of them, and a second stage's windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .data import Floats, Ints, Query, Rows
from .errors import BadOption, SystemsError
from .interface import Progress, Report, silent
from .library import PairWindows, Run
from .windows import Windows

FUSIONS = ("sum", "rrf")
NEAR = 60  # of reciprocal ranks (Cormack et al. 2009)
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
    """Return the rows that stay, best first, at most `depth`; a moment is dropped as in `metrics.temporal_nms`.

    video, start, end: moments, best first, in seconds: shape (moments,).
    threshold: IoU with a better one of its video above which a moment is dropped; at 1 nothing is.
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


def pairs_of(
    run: Run, texts: Mapping[str, str], durations: Mapping[str, float], count: int
) -> Iterator[dict[str, Any]]:
    """Yield the pairs of each query and the videos that a run's first moments lie in, `count` of a query at most.

    texts, durations: of queries and of videos, in seconds.
    Raises SystemsError if the run names a query without words, or a video without a duration.
    """
    if run.scores is None:
        raise SystemsError("the run has no scores; expected one for each moment")
    for number, query in enumerate(run.queries):
        if not texts.get(query):
            raise SystemsError(f"query {query} of the run has no words; expected it among the queries")
        found: dict[str, float] = {}
        for row in range(int(run.offsets[number]), int(run.offsets[number + 1])):
            found.setdefault(run.names[int(run.video[row])], float(run.scores[row]))
            if len(found) == count:
                break
        for video, score in found.items():
            if video not in durations:
                raise SystemsError(f"video {video!r} of the run has no duration; expected it among the videos")
            yield {"qid": query, "query": texts[query], "vid": video, "duration": durations[video], "score": score}


class Reranked(NamedTuple):
    """A run of two stages; windows that were cut to their videos, those outside or empty, and pairs without windows."""

    run: Run
    cut: int
    outside: int
    silent: int


def rerank(
    pairs: Sequence[Mapping[str, Any]],
    predicted: Sequence[PairWindows],
    fusion: str = "sum",
    weight: float = 0.5,
    depth: int = 100,
    nms: float = 1.0,
) -> Reranked:
    """Rank the windows that a second stage predicts for pairs of a query and a video, cut to the video.

    The scores of each stage are brought to 0 to 1 for each query, and `sum` is their weighted mean; `rrf` sums weighted
    reciprocals of 60 + rank.

    pairs: what `pairs_of` yields, as it was stored.
    weight: of the first stage, from 0 to 1; the second has the rest.
    Raises SystemsError if the second stage names another pair, or a pair lacks what the first stage has stored.
    """
    if fusion not in FUSIONS:
        raise BadOption("fusion", repr(fusion), f"one of {', '.join(FUSIONS)}")
    if not 0 <= weight <= 1:
        raise BadOption("weight", f"{weight:g}", "0 to 1")
    known = {(str(pair["qid"]), str(pair["vid"])): _checked(pair) for pair in pairs}
    windows = {(each.query, each.video): each.windows for each in predicted}
    if strange := next((pair for pair in windows if pair not in known), None):
        raise SystemsError(f"query {strange[0]} with video {strange[1]!r} is not among the pairs; expected no others")
    names = tuple(dict.fromkeys(video for _, video in known))
    number = {name: place for place, name in enumerate(names)}
    queries = {query: Query(query, str(pair.get("query", ""))) for (query, _), pair in known.items()}
    rows: dict[str, list[tuple[int, float, float, float, float]]] = {query: [] for query in queries}
    cut = outside = 0
    for (query, video), found in windows.items():
        pair = known[query, video]
        for start, end, score in found:
            first, last = max(0.0, start), min(float(pair["duration"]), end)
            if first >= last:
                outside += 1
                continue
            cut += (first, last) != (start, end)
            rows[query].append((number[video], first, last, float(pair["score"]), score))
    ranked = [_fused(np.array(each).reshape(-1, 5).T, fusion, weight, depth, nms) for each in rows.values()]
    run = run_of("reranked", list(queries.values()), ranked, names)
    return Reranked(run, cut, outside, len(known.keys() - windows.keys()))


def _checked(pair: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in ("duration", "score"):
        if type(pair.get(name)) not in (int, float):
            raise SystemsError(f"the pair of query {pair['qid']} and video {pair['vid']!r} lacks a number {name}")
    return pair


def _fused(windows: Floats, fusion: str, weight: float, depth: int, nms: float) -> Ranked:
    """Rank a query's windows, each once: videos, starts, ends and scores of both stages, shape (5, windows)."""
    first, second = windows[3:]
    if fusion == "sum":
        scores = weight * _from_0_to_1(first) + (1 - weight) * _from_0_to_1(second)
    else:
        scores = weight / (NEAR + _ranks(first)) + (1 - weight) / (NEAR + _ranks(second))
    order = best(scores, len(scores))
    order = order[np.sort(np.unique(windows[:3, order], axis=1, return_index=True)[1])]
    video, start, end = windows[0].astype(np.int64), windows[1], windows[2]
    order = order[suppress(video[order], start[order], end[order], nms, depth)]
    return Ranked(video[order], start[order], end[order], scores[order])


def _from_0_to_1(scores: Floats) -> Floats:
    lowest, highest = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    return (scores - lowest) / (highest - lowest) if highest > lowest else np.ones_like(scores)


def _ranks(scores: Floats) -> Ints:
    """Return the rank of each score, from 1; equal ones have the same."""
    return np.searchsorted(np.unique(-scores), -scores).astype(np.int64) + 1
