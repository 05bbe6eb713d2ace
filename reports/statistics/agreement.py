"""How far annotators agree: overall, by week, annotator and query, and as they go on; and when they judge.

Computed from arrays, without a database.

A pair is two judgements of one candidate in the same round. A number that is undefined is None.
"""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np

from judging.consensus import ANNOTATORS, GRADES
from judging.quality.check_results import FAST
from metrics.analysis.agreement import alpha_interval, alpha_of_coincidences, coincidences, kappa_of
from reports.statistics.arrays import (
    CONTESTED,
    DISCARDED,
    NOBODY,
    SEATS,
    SETTLED,
    Floats,
    Ints,
    Judged,
    Read,
    Records,
    beside,
    remembered,
)

Numbers = dict[str, Any]
LEVELS = np.array(GRADES, np.float64)
CONCLUDED = (SETTLED, DISCARDED)
ALPHAS = ("alpha", "alpha_low", "alpha_high")
DIFFERENCES = ("difference", "difference_low", "difference_high")  # own grade minus the co-judge's, in grades
Z, EXACT = 1.959964, 1e-9  # of a 95 % interval; an error below is rounding
HOURS_OF_A_WEEK = 168
BREAK = 1800  # seconds without a judgement, after which a sitting is a new one
MINUTES, LONGEST = 10, 120  # of a sitting: the width of a bin, and where the last one begins
LEAST_ANNOTATORS = 3  # for the interval of their mean
# What round one says of a pair, and what becomes of it. Others are not judged yet, reused, or left to the lead.
FLOW = {
    ("agreed", "settled"): (SETTLED, False),
    ("contested", "settled"): (SETTLED, True),
    ("contested", "in round two"): (CONTESTED, True),
    ("contested", "discarded"): (DISCARDED, True),
}
LEAST_WEEKS = LEAST_BATCHES = 4  # for a slope over weeks, and for the interval of a mean difference


@remembered
def agreement(pool: Read, tolerance: int, rounds_known: bool = True) -> Numbers:
    """Return all numbers of the pages of agreement, except those of the queries.

    An interval of alpha is drawn by batches. `matrix` has a row for every two annotators with common pairs: the one,
    the other, the number of these pairs (see `beside`), quadratic kappa, and the ends of its 95 % interval.
    """
    candidates, judged = pool
    rated = _rated(pool)
    first = judged.where(judged.seat <= ANNOTATORS).paired
    never_escalated = first.where(~candidates["escalated"][first.candidate])
    alphas = {
        name: _alpha(each, candidates)
        for name, each in (("round_one", first), ("never_escalated", never_escalated), ("all", judged))
    }
    pairs = beside(judged, rounds_known)
    return {
        "judgements": len(judged.grade),
        "pairs": len(first.grade) // 2,
        "rated": len(rated),
        "escalated": int(candidates["escalated"][rated].sum()),
        "batches": len(np.unique(candidates["batch"][judged.candidate])),
        "alpha": {name: alpha for name, (alpha, _, _) in alphas.items()},
        "alpha_interval": {name: ends if None not in ends else None for name, (_, *ends) in alphas.items()},
        "calm_pairs": len(never_escalated.grade) // 2,
        "contested": _mean(_gap(first) > tolerance),
        "n_contested": int((_gap(first) > tolerance).sum()) // 2,
        "same": _mean(_gap(first) == 0),
        "weeks": _weeks(judged, first, candidates, tolerance),
        "annotators": [_annotator(pool, pairs, who, tolerance) for who in np.split(*_by(judged.annotator)) if len(who)],
        "matrix": _matrix(pairs),
    }


@remembered
def by_query(pool: Read, tolerance: int, rounds_known: bool = True) -> list[list[Any]]:
    """Return the numbers of each query with pairs, the query with the most disagreement first.

    Returns
    -------
    list of [key, pairs, contested, discarded, distance, grade]
        The query's primary key, its number of pairs, the shares of contested and of discarded candidates, the mean
        distance of two grades, and the mean final grade. A number is None if nothing is settled. If the rounds are
        unknown, the pairs are candidates, contested are those with more than two grades, and no distance is known.
    """
    candidates, judged = pool
    keys, query = np.unique(candidates["query"], return_inverse=True)
    first = judged.where(judged.seat == 1).paired
    of_pair, contested, distance = query[first.candidate], _gap(first) > tolerance, _gap(first).astype(float)
    if not rounds_known:
        rated = _rated(pool)
        of_pair, contested = query[rated], candidates["escalated"][rated]
        distance = np.full(len(rated), np.nan)

    def mean(places: Ints, values: Any) -> Floats:
        with np.errstate(invalid="ignore"):
            total = np.bincount(places, values, minlength=len(keys))
            return np.asarray(total / np.bincount(places, minlength=len(keys)))

    settled = candidates["outcome"] == SETTLED
    done = settled | (candidates["outcome"] == DISCARDED)
    columns = [
        mean(of_pair, contested),
        mean(query[done], candidates["outcome"][done] == DISCARDED),
        mean(of_pair, distance),
        mean(query[settled], candidates["grade"][settled]),
    ]
    pairs = np.bincount(of_pair, minlength=len(keys))
    rows = [
        [int(keys[place]), int(pairs[place]), *(_plain(column[place]) for column in columns)]
        for place in np.flatnonzero(pairs)
    ]
    return sorted(rows, key=lambda row: (-row[2], -(row[4] or 0), row[0]))


def _rated(pool: Read) -> Ints:
    """Return the indices of the candidates with two counted grades or more."""
    times = np.bincount(pool.judged.candidate, minlength=len(pool.candidates))
    return np.flatnonzero(times >= ANNOTATORS)


def _annotator(pool: Read, pairs: Judged, who: Ints, tolerance: int) -> Numbers:
    mine = pool.judged.where(who)
    # In imported ratings one person may have judged a candidate twice, which says nothing about agreement with others.
    mine = mine._replace(co_judge=np.where(mine.co_judge == mine.annotator, NOBODY, mine.co_judge))
    weeks = [
        {"week": int(week)} | _numbers(mine.where(mine.week == week), pool.candidates, tolerance)
        for week in np.unique(mine.week)
    ]
    others = [
        {"member": int(other)} | _numbers(mine.where(mine.co_judge == other), pool.candidates, tolerance)
        for other in np.unique(mine.paired.co_judge)
    ]
    return {
        "member": int(mine.annotator[0]),
        **_numbers(mine, pool.candidates, tolerance),
        **_alpha_beside(pairs.where(pairs.annotator == mine.annotator[0]), pool.candidates),
        "table": _table(mine).astype(int).tolist(),
        "weeks": weeks,
        "others": sorted(others, key=lambda row: -row["pairs"]),
    }


def _numbers(judged: Judged, candidates: Records, tolerance: int) -> Numbers:
    """Return the numbers of an annotator's judgements: all, those of one week, or those beside one co-judge."""
    paired = judged.paired
    first = paired.where(paired.seat <= ANNOTATORS)
    outcome = candidates["outcome"][judged.candidate]
    seconds = judged.seconds[judged.seconds >= 0]
    return {
        "judged": len(judged.grade),
        "pairs": len(paired.grade),
        "kappa": _kappa(_table(judged)),
        **dict(zip(DIFFERENCES, _difference(paired, candidates), strict=True)),
        "settled": _mean(outcome[np.isin(outcome, CONCLUDED)] == SETTLED),
        "contested": _mean(_gap(first) > tolerance),
        "seconds": _plain(np.median(seconds)) if len(seconds) else None,
        "fast": _mean(seconds < FAST),
    }


def _weeks(judged: Judged, first: Judged, candidates: Records, tolerance: int) -> list[Numbers]:
    """Return the numbers of each week's judgements, and of the pairs that became complete in it."""
    ends = np.zeros(first.candidate.max(initial=-1) + 1, np.int64)
    np.maximum.at(ends, first.candidate, first.week)
    complete = ends[first.candidate]
    weeks, judgements = np.unique(judged.week, return_counts=True)
    return [
        {
            "week": int(week),
            "judged": int(number),
            "pairs": len((pairs := first.where(complete == week)).grade) // 2,
            **dict(zip(ALPHAS, _alpha(pairs, candidates), strict=True)),
            "contested": _mean(_gap(pairs) > tolerance),
        }
        for week, number in zip(weeks, judgements, strict=True)
        if week  # 0 is an unknown one
    ]


def _by(annotator: Ints) -> tuple[Ints, Ints]:
    """Return indices that sort the judgements by annotator, and where each annotator's judgements end."""
    order = np.argsort(annotator, kind="stable")
    return order, np.flatnonzero(np.diff(annotator[order])) + 1


def _table(judged: Judged) -> Floats:
    """Return how often each own grade (row) met each grade of a co-judge (column), in shape (5, 5)."""
    paired = judged.paired
    cells = np.bincount(paired.grade * LEVELS.size + paired.other, minlength=LEVELS.size**2)
    return cells.reshape(LEVELS.size, LEVELS.size).astype(np.float64)


def _alpha(judged: Judged, candidates: Records) -> list[float | None]:
    """Return Krippendorff's ordinal alpha of the judgements and the ends of its interval, None where undefined."""
    if not len(judged.grade):
        return [None] * 3
    places, candidate = np.unique(judged.candidate, return_inverse=True)
    cells = np.bincount(candidate * LEVELS.size + judged.grade, minlength=places.size * LEVELS.size)
    batch = np.unique(candidates["batch"][places], return_inverse=True)[1]
    return _with_ends(coincidences(cells.reshape(-1, LEVELS.size).astype(np.float64), batch))


def _alpha_beside(pairs: Judged, candidates: Records) -> Numbers:
    """Return the alpha of an annotator's grades beside those of the others, with its interval."""
    batches, batch = np.unique(candidates["batch"][pairs.candidate], return_inverse=True)
    cells = (batch * LEVELS.size + pairs.grade) * LEVELS.size + pairs.other
    shape = (len(batches), LEVELS.size, LEVELS.size)
    met = np.bincount(cells, minlength=len(batches) * LEVELS.size**2).reshape(shape).astype(np.float64)
    return dict(zip(ALPHAS, _with_ends(met + met.transpose(0, 2, 1)), strict=True))


def _with_ends(together: Floats) -> list[float | None]:
    found = float(alpha_of_coincidences(together.sum(axis=0), LEVELS)), *alpha_interval(together, LEVELS)
    return [_plain(each) for each in found]


def _matrix(pairs: Judged) -> list[list[Any]]:
    people, who = np.unique(np.stack([pairs.annotator, pairs.co_judge]), return_inverse=True)
    one, other = who.reshape(2, -1)
    once = one < other
    two, of_two = np.unique(one[once] * max(len(people), 1) + other[once], return_inverse=True)
    cells = (of_two * LEVELS.size + pairs.grade[once]) * LEVELS.size + pairs.other[once]
    tables = np.bincount(cells, minlength=len(two) * LEVELS.size**2).reshape(-1, LEVELS.size, LEVELS.size)
    return [
        [int(people[key // len(people)]), int(people[key % len(people)]), int(table.sum()), *_kappa_with_ends(table)]
        for key, table in zip(two.tolist(), tables.astype(np.float64), strict=True)
    ]


def _kappa_with_ends(table: Floats) -> list[float | None]:
    """Return quadratic kappa and the ends of its 95 % interval, by the variance of Fleiss, Cohen and Everitt (1969).

    There is no interval where the variance is 0, as it is if two annotators agree on all pairs.
    """
    kappa = _kappa(table)
    if kappa is None:
        return [None] * 3
    share = table / table.sum()
    weight = 1 - (LEVELS[:, None] - LEVELS) ** 2 / np.ptp(LEVELS) ** 2
    own, other = share.sum(axis=1), share.sum(axis=0)
    chance = own @ weight @ other
    middle = (weight @ other)[:, None] + own @ weight
    spread = (share * (weight - middle * (1 - kappa)) ** 2).sum() - (kappa - chance * (1 - kappa)) ** 2
    error = math.sqrt(max(spread, 0.0) / table.sum()) / (1 - chance)
    ends = [max(-1.0, kappa - Z * error), min(1.0, kappa + Z * error)]
    return [kappa, *(_plain(end) for end in ends)] if error > EXACT else [kappa, None, None]


def _difference(paired: Judged, candidates: Records) -> list[float | None]:
    """Return the mean of own grade minus the co-judge's, and the ends of its 95 % interval.

    Errors of a batch go together, so its pairs count as one group. Fewer than four batches have no interval.
    """
    if not len(paired.grade):
        return [None] * 3
    gap = (paired.grade - paired.other).astype(np.float64)
    batch = np.unique(candidates["batch"][paired.candidate], return_inverse=True)[1]
    sums = np.bincount(batch, gap - gap.mean())
    if len(sums) < LEAST_BATCHES or not sums.any():
        return [_plain(gap.mean()), None, None]
    error = math.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(gap)
    far = quantile_of_t(len(sums) - 1) * error
    return [_plain(end) for end in (gap.mean(), gap.mean() - far, gap.mean() + far)]


def work(pool: Read, times: Records) -> Numbers:
    """Return the judgements of each hour of a week, the learning curve, alpha within a sitting, and the flow.

    Parameters
    ----------
    times
        Records of `TIME` of the counted judgements.
    """
    candidates, judged = pool
    known = np.full(len(candidates) * SEATS, np.nan)
    known[np.searchsorted(candidates["pk"], times["candidate"]) * SEATS + times["seat"] - 1] = times["at"]
    at = known[judged.candidate * SEATS + judged.seat - 1]
    timed = ~np.isnan(at)
    judged, at = judged.where(timed), at[timed]
    batches = _by_batch(candidates, judged, at)
    return {
        "hours": np.bincount(times["hour"], minlength=HOURS_OF_A_WEEK).tolist(),
        "batches": batches,
        "learning": _learning(batches),
        "sitting": _sitting(candidates, judged, at),
        "flow": [
            [*ends, int(((candidates["outcome"] == outcome) & (candidates["escalated"] == escalated)).sum())]
            for ends, (outcome, escalated) in FLOW.items()
        ],
    }


def _by_batch(candidates: Records, judged: Judged, at: Floats) -> list[list[Any]]:
    """Return [member, n, pairs, difference] of each annotator's nth batch: how far their grades are from the consensus.

    The difference is the mean of its absolute values, in grades. Batches are in the order of their first judgements.
    """
    batch, final = (candidates[name][judged.candidate] for name in ("batch", "grade"))
    (member, _), which = np.unique(np.stack([judged.annotator, batch]), axis=1, return_inverse=True)
    first = np.full(len(member), np.inf)
    np.minimum.at(first, which, at)
    order = np.lexsort((first, member))
    settled = final != NOBODY
    pairs = np.bincount(which[settled], minlength=len(member))
    distance = np.bincount(which[settled], np.abs(judged.grade - final)[settled], minlength=len(member))
    place = np.arange(len(order)) - np.searchsorted(member[order], member[order]) + 1
    return [
        [int(member[key]), int(n), int(pairs[key]), round(float(distance[key] / pairs[key]), 6)]
        for n, key in zip(place, order, strict=True)
        if pairs[key]
    ]


def _learning(batches: list[list[Any]]) -> list[list[Any]]:
    """Return [n, annotators, difference, low, high]: the mean of all annotators' nth batches with its 95 % interval."""
    by_place: dict[int, list[float]] = {}
    for _, n, _, difference in batches:
        by_place.setdefault(n, []).append(difference)
    return [[n, len(values), *_mean_with_ends(values)] for n, values in sorted(by_place.items())]


def _mean_with_ends(values: list[float]) -> list[float | None]:
    mean = float(np.mean(values))
    if len(values) < LEAST_ANNOTATORS:
        return [round(mean, 6), None, None]
    far = quantile_of_t(len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return [round(number, 6) for number in (mean, max(0.0, mean - far), mean + far)]


def _sitting(candidates: Records, judged: Judged, at: Floats) -> list[Numbers]:
    """Return alpha with co-judges by the minute of a sitting, in bins; a break of half an hour ends a sitting."""
    order = np.lexsort((at, judged.annotator))
    judged, at = judged.where(order), at[order]
    begins = np.ones(len(at), np.bool_)
    begins[1:] = (np.diff(judged.annotator) != 0) | (np.diff(at) > BREAK)
    start = at[begins][np.cumsum(begins) - 1]
    minute = np.minimum((at - start) // 60 // MINUTES * MINUTES, LONGEST).astype(np.int64)
    paired = (judged.co_judge != NOBODY) & (judged.co_judge != judged.annotator)
    found = []
    for each in np.unique(minute[paired]).tolist():
        own = judged.where(paired & (minute == each))
        found.append({"minute": each, "judgements": len(own.grade)} | _alpha_beside(own, candidates))
    return found


def weekly_slope(weeks: list[int], values: list[float | None], weights: list[int]) -> tuple[float, float, float] | None:
    """Return by how much a value changes a week, with its 95 % interval; None if fewer than four weeks are known.

    The line is fitted by least squares, each week with its weight.

    weeks: as 202605; values: None where unknown; weights: numbers of pairs.

    >>> weekly_slope([202601, 202602, 202603], [0.1, 0.2, 0.3], [9, 9, 9])
    >>> low, high = weekly_slope([202601, 202602, 202603, 202604], [0.1, 0.2, 0.1, 0.2], [9, 9, 9, 9])[1:]
    >>> low < 0 < high
    True
    """
    known = [
        (date.fromisocalendar(week // 100, week % 100, 1).toordinal() / 7, value, weight)
        for week, value, weight in zip(weeks, values, weights, strict=True)
        if value is not None and weight
    ]
    if len(known) < LEAST_WEEKS:
        return None
    week, value, weight = np.array(known, np.float64).T
    week, value = week - np.average(week, weights=weight), value - np.average(value, weights=weight)
    within = (weight * week**2).sum()
    slope = float((weight * week * value).sum() / within)
    error = math.sqrt((weight * (value - slope * week) ** 2).sum() / (len(known) - 2) / within)
    far = quantile_of_t(len(known) - 2) * error
    return slope, slope - far, slope + far


def quantile_of_t(freedom: int) -> float:
    """Return the quantile of Student's t beyond which 2.5 % lie."""
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, 0.975))


def _kappa(table: Floats) -> float | None:
    return _plain(kappa_of(table, LEVELS, "quadratic"))


def _gap(paired: Judged) -> Ints:
    return np.asarray(np.abs(paired.grade - paired.other))


def _mean(values: Any) -> float | None:
    return _plain(np.mean(values)) if len(values) else None


def _plain(value: Any) -> float | None:
    """Return a number that JSON can hold: rounded, or None if it is not a number."""
    number = float(value)
    return None if math.isnan(number) else round(number, 6)
