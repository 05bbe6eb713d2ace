"""Replaying the judging of part of TVR-Ranking's queries, with three sets of synthetic systems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from metrics.analysis.meta import signs, tau_b
from metrics.analysis.sampling import Design
from metrics.formats.arrays import Bools, Floats, Ints
from tests.metrics.tvr_ratings import BATCH, Pairs

CUTOFF = 20
DISCOUNT = 1 / np.log2(np.arange(2, CUTOFF + 2))
NO_CANDIDATE = 2 * BATCH  # in a list, for a moment outside the pool


class Systems(NamedTuple):
    """How a set of systems differs: in how often they find a candidate, and in how well they order those they find."""

    number: int
    finds: tuple[float, float]  # log-odds that a place of a list holds a candidate, of the worst and the best system
    varies: float  # its standard deviation over queries
    sees: tuple[float, float]  # weight of the grade in the order, beside noise


SETS = {
    "spread": Systems(45, (-2.5, 2.5), 1.5, (0.1, 0.6)),
    "close": Systems(30, (-0.6, 0.6), 1.2, (0.25, 0.4)),
    "rerank": Systems(45, (99.0, 99.0), 0.0, (0.0, 0.7)),
}


@dataclass(frozen=True)
class Judged:
    """Queries that are judged in full: final grade of each candidate, and whether there is one, by query and rank."""

    grades: Floats
    there: Bools

    @classmethod
    def of(cls, pairs: Pairs) -> Judged:
        grades, there = np.zeros((len(pairs), 2 * BATCH)), np.zeros((len(pairs), 2 * BATCH), dtype=np.bool_)
        for number, held in enumerate(pairs.values()):
            for pair in held:
                grades[number, pair.rank], there[number, pair.rank] = pair.grade, True
        return cls(grades, there)

    def take(self, rows: Ints) -> Judged:
        return Judged(self.grades[rows], self.there[rows])

    def lists(self, systems: Systems, seed: int) -> Ints:
        """The caption ranks that each system lists for each query: shape (systems, queries, places)."""
        rng = np.random.default_rng(seed)
        hardness = rng.normal(0, systems.varies, len(self.grades))
        lists = []
        steps = (np.linspace(*each, systems.number).tolist() for each in (systems.finds, systems.sees))
        for finds, sees in zip(*steps, strict=True):
            liking = sees * self.grades + rng.normal(0, 1, self.grades.shape) - np.arange(2 * BATCH) / 40
            order = np.argsort(np.where(self.there, -liking, np.inf), axis=1)[:, :CUTOFF]
            order = np.where(np.take_along_axis(self.there, order, 1), order, NO_CANDIDATE)
            odds = finds + hardness + rng.normal(0, systems.varies / 2, len(hardness))
            held = rng.random(order.shape) < 1 / (1 + np.exp(-odds[:, None]))
            place = np.minimum(np.cumsum(held, axis=1) - 1, CUTOFF - 1)  # the best are found first
            lists.append(np.where(held, np.take_along_axis(order, np.maximum(place, 0), 1), NO_CANDIDATE))
        return np.array(lists)

    def ndcg(self, lists: Ints, gains: Floats) -> Floats:
        """NDCG@20 of lists if the candidates have these gains, of shape (queries, ranks): shape (systems, queries)."""
        known = np.where(self.there, gains, 0.0)
        ideal = (-np.sort(-known, axis=1)[:, :CUTOFF] * DISCOUNT).sum(axis=1)
        padded = np.append(known, np.zeros((len(known), 1)), axis=1)
        got = padded[np.arange(len(known))[None, :, None], lists]
        return np.asarray((got * DISCOUNT).sum(axis=-1) / ideal)

    def means_by_rank(self) -> Floats:
        return np.asarray(self.grades.sum(axis=0) / np.maximum(1, self.there.sum(axis=0)))


class Outcome(NamedTuple):
    """Shares of intervals that hold, of scores and of differences, mean half-widths, and τ-b of each draw's order."""

    scores: float
    differences: float
    width: float
    plain_width: float
    tau: Floats
    plain_tau: Floats


def replay(judged: Judged, systems: Systems, share: float, draws: int, seed: int, pairs: int = 100) -> Outcome:
    """Judge a share of the queries again and again, and compare estimates with what judging all of them gives."""
    rng = np.random.default_rng(seed)
    lists = judged.lists(systems, seed)
    values = judged.ndcg(lists, judged.grades)
    truth = values.mean(axis=1)
    total = values.shape[1]
    held, kept, widths, plains, orders, plain_orders = [], [], [], [], [], []
    for _ in range(draws):
        rows = np.sort(rng.permutation(total)[: round(share * total)])
        sample = np.isin(np.arange(total), rows)
        by_rank = judged.take(rows).means_by_rank()
        predicted = judged.ndcg(lists, np.broadcast_to(by_rank, judged.grades.shape))
        design = Design(sample, [""] * total)
        made = [design.values(values[s, rows], predicted[s]) for s in range(len(values))]
        ready = [each for each in made if each]
        found = [design.estimate(each) for each in ready]
        held += [each.low <= truth[s] <= each.high for s, each in enumerate(found)]
        widths += [(each.high - each.low) / 2 for each in found]
        plains += [each.plain_se * stdtrit(rows.size - 2, 0.975) for each in found]
        for first, second in rng.integers(0, len(values), (pairs, 2)).tolist():
            between = design.estimate(ready[first].less(ready[second]))
            kept += [between.low <= truth[first] - truth[second] <= between.high] if first != second else []
        orders.append([each.value for each in found])
        plain_orders.append([each.plain for each in found])
    tau, plain_tau = (tau_b(signs(np.array(each)), signs(truth[None])) for each in (orders, plain_orders))
    of_scores, of_differences, width, plain_width = (float(np.mean(each)) for each in (held, kept, widths, plains))
    return Outcome(of_scores, of_differences, width, plain_width, tau, plain_tau)


def is_decided_early(difference: Floats, predicted: Floats, looks: Iterable[int], anytime: bool) -> bool:
    """Whether a difference is said to be decided after one of the numbers of queries, judged in the order given: by the
    interval that holds at all times, or by the usual interval of the mean.
    """
    for look in looks:
        design = Design(np.arange(difference.size) < look, [""] * difference.size)
        values = design.values(difference[:look] / 2 + 0.5, predicted / 2)  # between 0 and 1; equal runs have 0.5
        assert values
        found = design.estimate(values, future=True, anytime=anytime)
        half = found.plain_se * stdtrit(look - 1, 0.975)
        low, high = (found.low, found.high) if anytime else (found.plain - half, found.plain + half)
        if not low <= 0.5 <= high:
            return True
    return False
