"""How often the intervals of estimates hold: worlds of queries and systems, and samples of them that are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from metrics.analysis.sampling import Design, Estimate
from metrics.formats.arrays import Bools, Floats, Ints
from tests.metrics.replay import CUTOFF, DISCOUNT, NO_CANDIDATE, SETS, Judged, Systems

MEASURES = ("NDCG@20", "NDCG@5", "R@1", "R@5", "AxIoU@10", "Recall@20", "mAP")
SAMPLES = (20, 30, 60, 150)
ENOUGH = 30  # judged candidates of a rank, as in `metrics.analysis.predictions`
FOUND = Systems(3, (99.0, 99.0), 0.0, (0.0, 0.7))  # systems that list candidates only


@dataclass(frozen=True)
class World:
    """Queries judged in full, and lists of systems for them.

    lists: caption rank of each place, shape (systems, queries, 20). iou: IoU with the candidate, of the same shape.
    strata: stratum of each query.
    """

    judged: Judged
    lists: Ints
    iou: Floats
    strata: list[str]

    def take(self, rows: Ints) -> World:
        strata = [self.strata[row] for row in rows.tolist()]
        return World(self.judged.take(rows), self.lists[:, rows], self.iou[:, rows], strata)

    @cached_property
    def values(self) -> Floats:
        return self.scores(self.judged.grades, self.judged.grades >= 1)

    def scores(self, gains: Floats, relevant: Bools) -> Floats:
        """Scores if the candidates have these gains, and are relevant: shape (measures, systems, queries)."""
        known = np.where(self.judged.there, gains, 0.0)
        held = self.judged.there & relevant
        rows = np.arange(len(known))[None, :, None]
        close = self.iou >= 0.5
        gain = np.append(known, np.zeros((len(known), 1)), axis=1)[rows, self.lists] * close
        is_relevant = np.append(held, np.zeros((len(known), 1), dtype=np.bool_), axis=1)[rows, self.lists]
        hit = is_relevant & close
        ideal = -np.sort(-known, axis=1)[:, :CUTOFF] * DISCOUNT
        best = np.maximum.accumulate(np.where(is_relevant, self.iou, 0.0)[..., :10], axis=-1)
        number = np.maximum(1, held.sum(axis=1))
        precision = np.cumsum(hit, axis=-1) / np.arange(1, CUTOFF + 1)
        found = (
            (gain * DISCOUNT).sum(axis=-1) / ideal.sum(axis=1),
            (gain * DISCOUNT)[..., :5].sum(axis=-1) / ideal[:, :5].sum(axis=1),
            hit[..., :1].any(axis=-1),
            hit[..., :5].any(axis=-1),
            best.mean(axis=-1),
            hit.sum(axis=-1) / number,
            (precision * hit).sum(axis=-1) / number,
        )
        return np.array(found, dtype=np.float64)

    def predicted(self, rows: Ints) -> Floats:
        """Scores by the mean grades of judged queries at each caption rank, as in `metrics.analysis.predictions`."""
        there = self.judged.there
        part = self.judged.take(rows)
        gains, share = (smoothed(part.there, each) for each in (part.grades, part.grades >= 1))
        number = np.maximum(1, np.rint(np.where(there, share, 0.0).sum(axis=1)))
        order = np.argsort(np.where(there, -share, np.inf), axis=1, kind="stable")
        place = np.argsort(order, axis=1, kind="stable")
        return self.scores(np.broadcast_to(gains, there.shape), place < number[:, None])


def smoothed(there: Bools, values: Floats | Bools) -> Floats:
    """Mean of the values at each rank, and at the ranks around it where fewer than 30 are there."""
    width = there.shape[1]
    number, total = (np.append(0.0, np.cumsum(each.sum(axis=0))) for each in (there, values * there))
    low, high = np.arange(width), np.arange(width) + 1
    while (few := (number[high] - number[low] < ENOUGH) & (high - low < width)).any():
        low, high = np.maximum(low - few, 0), np.minimum(high + few, width)
    return np.asarray((total[high] - total[low]) / np.maximum(1, number[high] - number[low]))


def worlds(judged: Judged, seed: int) -> Iterator[tuple[str, World]]:
    """Three sets of systems; heavy tails, a trend, two strata; runs that find something in some of the queries."""
    rng = np.random.default_rng(seed)
    queries = len(judged.grades)
    for name, systems in SETS.items():
        lists = judged.lists(systems, seed)[[0, systems.number // 2, systems.number - 1]]
        yield name, made(judged, lists, rng)
    of_query: dict[str, Callable[[], Floats]] = {
        "heavy tails": lambda: rng.standard_t(1.5, queries) * 1.5 - 1,
        "trend": lambda: np.linspace(-3, 3, queries),
        "two strata": lambda: np.where(np.arange(queries) < queries // 5, 2.5, -2.0),
    }
    for name, odds in of_query.items():
        place = 1 / (1 + np.exp(-odds()[:, None]))
        lists = np.where(rng.random((FOUND.number, queries, CUTOFF)) < place, judged.lists(FOUND, seed), NO_CANDIDATE)
        strata = ["few" if n < queries // 5 else "" for n in range(queries)] if name == "two strata" else None
        yield name, made(judged, lists, rng, strata)
    for share in (0.01, 0.1, 0.5, 0.99):
        finds = rng.random((FOUND.number, queries, 1)) < share
        yield f"finds in {share:.0%}", made(judged, np.where(finds, judged.lists(FOUND, seed), NO_CANDIDATE), rng)


def made(judged: Judged, lists: Ints, rng: np.random.Generator, strata: list[str] | None = None) -> World:
    return World(judged, lists, rng.beta(4, 1.5, lists.shape), strata or [""] * len(judged.grades))


class Cell(NamedTuple):
    """Of a world, a sample's size and a measure: the share of intervals that hold, of scores and of differences of
    systems, the width of the narrowest interval, and the share of intervals for bounded means.
    """

    world: str
    judged: int
    measure: str
    scores: float
    differences: float
    narrowest: float
    bounded: float


def coverage(name: str, world: World, judged: int, trials: int, seed: int, *, ranked: int | None = None) -> list[Cell]:
    """Judge so many queries of a world again and again, and count the intervals that hold the mean over all.

    ranked: the number of queries that are drawn and ranked each time, for intervals of future queries; None for all.
    """
    rng = np.random.default_rng(seed)
    number, systems, queries = world.values.shape
    pairs = pairs_of(systems)
    holds, narrowest, bounded = np.zeros((number, len(pairs))), np.full(number, np.inf), np.zeros(number)
    true = world.values.mean(axis=-1)
    for _ in range(trials):
        drawn = world if ranked is None else world.take(np.sort(rng.permutation(queries)[:ranked]))
        rows = np.sort(rng.permutation(ranked or queries)[:judged])
        for m, found in enumerate(estimates(drawn, rows, future=ranked is not None)):
            for n, ((one, other), each) in enumerate(zip(pairs, found, strict=True)):
                mean = true[m, one] - (0 if other is None else true[m, other])
                holds[m, n] += each.low - 1e-12 <= mean <= each.high + 1e-12
                narrowest[m] = min(narrowest[m], each.high - each.low)
                bounded[m] += each.method == "bounded"
    shares, number_of_intervals = holds / trials, trials * len(pairs)
    return [
        Cell(
            name,
            judged,
            measure,
            float(shares[m, :systems].mean()),
            float(shares[m, systems:].mean()),
            float(narrowest[m]),
            float(bounded[m] / number_of_intervals),
        )
        for m, measure in enumerate(MEASURES)
    ]


def coverage_at_all_times(name: str, world: World, looks: Sequence[int], trials: int, seed: int) -> list[Cell]:
    """As `coverage`, of trials in which the interval holds at each look while judging goes on."""
    rng = np.random.default_rng(seed)
    number, systems, queries = world.values.shape
    pairs, true = pairs_of(systems), world.values.mean(axis=-1)
    holds = np.zeros((number, len(pairs)))
    for _ in range(trials):
        order, right = rng.permutation(queries), np.ones((number, len(pairs)), dtype=np.bool_)
        for look in looks:
            for m, found in enumerate(estimates(world, np.sort(order[:look]), anytime=True)):
                for n, ((one, other), each) in enumerate(zip(pairs, found, strict=True)):
                    mean = true[m, one] - (0 if other is None else true[m, other])
                    right[m, n] &= each.low - 1e-12 <= mean <= each.high + 1e-12
        holds += right
    shares = holds / trials
    return [
        Cell(
            name,
            looks[-1],
            measure,
            float(shares[m, :systems].mean()),
            float(shares[m, systems:].mean()),
            np.nan,
            np.nan,
        )
        for m, measure in enumerate(MEASURES)
    ]


def pairs_of(systems: int) -> list[tuple[int, int | None]]:
    """Each system, and each with the one before it."""
    return [(n, None) for n in range(systems)] + [(n + 1, n) for n in range(systems - 1)]


def estimates(world: World, rows: Ints, future: bool = False, anytime: bool = False) -> Iterator[list[Estimate]]:
    """Yield, for each measure, the estimates of each system and difference from the judged queries."""
    number, systems, queries = world.values.shape
    design = Design(np.isin(np.arange(queries), rows), world.strata)
    predicted = world.predicted(rows)
    for m in range(number):
        made = [design.values(world.values[m, s, rows], predicted[m, s]) for s in range(systems)]
        ready = [each for each in made if each]
        yield [
            design.estimate(ready[one] if other is None else ready[one].less(ready[other]), future, anytime=anytime)
            for one, other in pairs_of(systems)
        ]
