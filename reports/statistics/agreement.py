"""How far annotators agree: overall, by week, by annotator, by query. From arrays; no database.

A pair is two judgements of one candidate in the same round. Numbers that cannot be said are None.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from judging.consensus import GRADES
from judging.models.pool import ANNOTATORS
from judging.quality.check_results import FAST
from metrics.analysis.agreement import alpha_of, kappa_of
from reports.statistics.arrays import NOBODY, Floats, Ints, Judged, Read, Records

Numbers = dict[str, Any]
LEVELS = np.array(GRADES, np.float64)
CONCLUDED = ("settled", "discarded")


def agreement(pool: Read, tolerance: int) -> Numbers:
    """Everything that the pages of agreement show, but for the queries."""
    candidates, judged = pool
    first = judged.where(judged.seat <= ANNOTATORS).paired
    calm = first.where(~candidates["escalated"][first.candidate])
    return {
        "judgements": len(judged.grade),
        "pairs": len(first.grade) // 2,
        "alpha": {"round_one": _alpha(first), "never_escalated": _alpha(calm), "all": _alpha(judged)},
        "calm_pairs": len(calm.grade) // 2,
        "contested": _share(_gap(first) > tolerance),
        "same": _share(_gap(first) == 0),
        "weeks": _weeks(judged, first, tolerance),
        "annotators": [
            _annotator(pool, who, tolerance) for who in np.split(*_by(judged.annotator)) if len(who)
        ],
    }


def by_query(pool: Read, tolerance: int) -> list[list[Any]]:
    """For each query with pairs [key, pairs, contested, discarded, mean distance, mean grade], the one with
    most disagreement first: shares, and means over grades; None where nothing is settled."""
    candidates, judged = pool
    keys, query = np.unique(candidates["query"], return_inverse=True)
    first = judged.where(judged.seat == 1).paired
    of_pair = query[first.candidate]

    def mean(places: Ints, values: Any) -> Floats:
        with np.errstate(invalid="ignore"):
            total = np.bincount(places, values, minlength=len(keys))
            return np.asarray(total / np.bincount(places, minlength=len(keys)))

    settled = candidates["outcome"] == "settled"
    done = settled | (candidates["outcome"] == "discarded")
    columns = [
        mean(of_pair, _gap(first) > tolerance),
        mean(query[done], candidates["outcome"][done] == "discarded"),
        mean(of_pair, _gap(first)),
        mean(query[settled], candidates["grade"][settled]),
    ]
    pairs = np.bincount(of_pair, minlength=len(keys))
    rows = [
        [int(keys[place]), int(pairs[place]), *(_plain(column[place]) for column in columns)]
        for place in np.flatnonzero(pairs)
    ]
    return sorted(rows, key=lambda row: (-row[2], -row[4], row[0]))


def _annotator(pool: Read, who: Ints, tolerance: int) -> Numbers:
    mine = pool.judged.where(who)
    # Imported ratings may hold one person twice on a candidate: that says nothing about agreement with others.
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
        "table": _table(mine).astype(int).tolist(),
        "weeks": weeks,
        "others": sorted(others, key=lambda row: -row["pairs"]),
    }


def _numbers(judged: Judged, candidates: Records, tolerance: int) -> Numbers:
    """What is said of an annotator's judgements: all of them, those of a week, or beside one other person."""
    paired = judged.paired
    first = paired.where(paired.seat <= ANNOTATORS)
    outcome = candidates["outcome"][judged.candidate]
    seconds = judged.seconds[judged.seconds >= 0]
    return {
        "judged": len(judged.grade),
        "pairs": len(paired.grade),
        "kappa": _plain(kappa_of(_table(judged), LEVELS, "quadratic")),
        "severity": _mean(paired.grade - paired.other),
        "settled": _share(outcome[np.isin(outcome, CONCLUDED)] == "settled"),
        "contested": _share(_gap(first) > tolerance),
        "seconds": _plain(np.median(seconds)) if len(seconds) else None,
        "fast": _share(seconds < FAST),
    }


def _weeks(judged: Judged, first: Judged, tolerance: int) -> list[Numbers]:
    """Each week's judgements, and the pairs that became complete in it."""
    ends = np.zeros(first.candidate.max(initial=-1) + 1, np.int64)
    np.maximum.at(ends, first.candidate, first.week)
    complete = ends[first.candidate]
    weeks, judgements = np.unique(judged.week, return_counts=True)
    return [
        {
            "week": int(week),
            "judged": int(number),
            "pairs": len((pairs := first.where(complete == week)).grade) // 2,
            "alpha": _alpha(pairs),
            "contested": _share(_gap(pairs) > tolerance),
        }
        for week, number in zip(weeks, judgements, strict=True)
    ]


def _by(annotator: Ints) -> tuple[Ints, Ints]:
    """The places of each annotator's judgements, in one sort, and where one annotator's end."""
    order = np.argsort(annotator, kind="stable")
    return order, np.flatnonzero(np.diff(annotator[order])) + 1


def _table(judged: Judged) -> Floats:
    """How often the own grade (row) met a co-judge's (column), shape (5, 5)."""
    paired = judged.paired
    cells = np.bincount(paired.grade * LEVELS.size + paired.other, minlength=LEVELS.size**2)
    return cells.reshape(LEVELS.size, LEVELS.size).astype(np.float64)


def _alpha(judged: Judged) -> float | None:
    """Ordinal alpha of these judgements."""
    if not len(judged.grade):
        return None
    places, candidate = np.unique(judged.candidate, return_inverse=True)
    cells = np.bincount(candidate * LEVELS.size + judged.grade, minlength=places.size * LEVELS.size)
    return _plain(alpha_of(cells.reshape(-1, LEVELS.size).astype(np.float64), LEVELS))


def _gap(paired: Judged) -> Ints:
    return np.asarray(np.abs(paired.grade - paired.other))


def _share(mask: Any) -> float | None:
    return _mean(mask)


def _mean(values: Any) -> float | None:
    return _plain(np.mean(values)) if len(values) else None


def _plain(value: Any) -> float | None:
    """As JSON can hold it."""
    number = float(value)
    return None if math.isnan(number) else round(number, 6)
