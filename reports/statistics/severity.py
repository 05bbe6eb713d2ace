"""Who judges: each annotator's severity and spread with intervals, and what they say of pairs and of queries.

The consensus rule takes nothing from here: it stays the one that every annotator knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from judging.consensus import GRADES
from metrics.formats.csv_tables import Ratings
from reports.statistics.arrays import SETTLED, Floats, Ints, Judged, Read, beside, remembered

if TYPE_CHECKING:
    from metrics.analysis.severity import Severity

Numbers = dict[str, Any]
LISTED = 200  # pairs and queries that are kept
OTHER_GRADE = 0.5  # how far from the consensus a pair's latent grade rounds to another grade
MUCH = 1.5  # disagreement beside what is expected of its annotators
LEAST_PAIRS = 10  # of grades, which a query has whoever is left out; and by which its number is drawn to 1


@remembered
def who_judges(pool: Read, tolerance: int, rounds_known: bool = True) -> Numbers:
    """Return the numbers of the page of severity."""
    from metrics.analysis.severity import severity  # needs SciPy, which is slow to import

    candidates, judged = pool
    found = severity(
        Ratings(judged.candidate, judged.annotator, judged.grade), candidates["batch"][judged.candidate], max(GRADES)
    )
    any_pair = bool(found.annotator.size)
    opposed = _opposed(pool, found, tolerance) if any_pair else []
    queries = _queries(pool, found, rounds_known) if any_pair else []
    return {
        "annotators": _annotators(found, judged.paired),
        "pairs": len(found.candidate),
        "batches": len(np.unique(candidates["batch"][found.candidate])),
        "design_effect": round(float(found.design_effect[0]), 2),
        "n_opposed": len(opposed),
        "opposed": opposed[:LISTED],
        "n_queries": len(queries),
        "queries": queries[:LISTED],
    }


def _annotators(found: Severity, paired: Judged) -> list[Numbers]:
    """Return each annotator's severity and spread by the model, and the plain mean difference from co-judges."""
    careful = _careful(found)
    return [
        {
            "member": int(found.annotator[place]),
            "ratings": int(found.ratings[place]),
            "difference": _mean_difference(paired.where(paired.annotator == found.annotator[place])),
            "severity": _known(found.severity[place], enough),
            "severity_low": _known(found.severity_interval[place, 0], enough),
            "severity_high": _known(found.severity_interval[place, 1], enough),
            "spread": _known(found.spread[place], enough),
            "spread_low": _known(found.spread_interval[place, 0], enough),
            "spread_high": _known(found.spread_interval[place, 1], enough),
            "careful": bool(careful[place]),
        }
        for place, enough in enumerate(np.isfinite(found.severity_interval[:, 0]).tolist())
    ]


def _mean_difference(paired: Judged) -> float | None:
    return round(float(np.mean(paired.grade - paired.other)), 6) if len(paired.grade) else None


def _known(value: float, enough: bool) -> float | None:
    """Return a number as it is kept; None if the annotator has too few ratings for it."""
    return round(float(value), 3) if enough else None


def _careful(found: Severity) -> NDArray[np.bool_]:
    """Return who has a spread below the middle one, among those with enough ratings."""
    enough = np.isfinite(found.spread_interval[:, 0])
    if not enough.any():
        return np.zeros(found.spread.size, bool)
    return np.asarray(enough & (found.spread < np.quantile(found.spread[enough], 0.5)))


def _opposed(pool: Read, found: Severity, tolerance: int) -> list[Numbers]:
    """Return the pairs whose consensus a careful annotator opposes, and the latent grade too, by more than twice its
    standard deviation; the furthest first.

    Careful is who has a spread below the middle one. What such an annotator opposes lies more than the tolerance from
    the annotator's grade, from which the severity is taken off.
    """
    candidates, judged = pool
    place, who, known = _places(found, judged)
    consensus = candidates["grade"][judged.candidate]
    off = judged.grade - found.severity[who] - consensus
    settled = candidates["outcome"][judged.candidate] == SETTLED
    against = known & settled & _careful(found)[who] & (np.abs(off) > tolerance)
    latent = found.grade.clip(min(GRADES), max(GRADES))
    far = np.abs(latent[place] - consensus)
    rows = np.flatnonzero(against & (far > OTHER_GRADE + 2 * found.grade_error[place]))
    rows = rows[np.argsort(-far[rows], kind="stable")]
    by: dict[int, list[int]] = {}
    for row in rows.tolist():
        by.setdefault(int(judged.candidate[row]), []).append(row)
    return [
        {
            "candidate": int(candidates["pk"][candidate]),
            "consensus": int(consensus[own[0]]),
            "latent": round(float(latent[place[own[0]]]), 2),
            "error": round(float(found.grade_error[place[own[0]]]), 2),
            "difficulty": round(float(found.difficulty[place[own[0]]]), 2),
            "by": sorted({int(each) for each in judged.annotator[own]}),
        }
        for candidate, own in by.items()
    ]


def _queries(pool: Read, found: Severity, rounds_known: bool) -> list[Numbers]:
    """Return the queries on which annotators disagree much more than they do elsewhere, whoever is left out.

    `ratio` is the mean square of two grades' distance, severities being taken off, beside what is expected of the two
    annotators' spreads; `least` the same without the annotator without whom it is least. Both are drawn to 1 by the
    weight of ten pairs.
    """
    keys, query = np.unique(pool.candidates["query"], return_inverse=True)
    pairs = beside(pool.judged, rounds_known)
    at = np.searchsorted(found.annotator, np.stack([pairs.annotator, pairs.co_judge]))
    distance = (pairs.grade - pairs.other - found.severity[at[0]] + found.severity[at[1]]) ** 2
    expected = found.spread[at[0]] ** 2 + found.spread[at[1]] ** 2
    if not distance.any():
        return []
    expected *= distance.sum() / expected.sum()
    people, of_query = len(found.annotator), query[pairs.candidate]
    cell, shape = of_query * people + at[0], (len(keys), people)

    def by_annotator(values: Floats) -> Floats:
        return np.asarray(np.bincount(cell, values, minlength=len(keys) * people).reshape(shape), np.float64)

    drawn = LEAST_PAIRS * expected.mean()
    parts = [by_annotator(each) for each in (distance, expected, np.ones(len(cell)))]
    # A pair stands here twice, once for each of its two annotators.
    observed, foreseen, number = (part.sum(axis=1, keepdims=True) / 2 for part in parts)
    ratio = (observed + drawn) / (foreseen + drawn)
    without = (observed - parts[0] + drawn) / (foreseen - parts[1] + drawn)
    enough = (number - parts[2] >= LEAST_PAIRS).all(axis=1)
    least = np.minimum(without.min(axis=1), ratio[:, 0])
    chosen = np.flatnonzero(enough & (least > MUCH))
    return [
        {
            "query": int(keys[row]),
            "pairs": round(float(number[row, 0])),
            "annotators": int((parts[2][row] > 0).sum()),
            "ratio": round(float(ratio[row, 0]), 2),
            "least": round(float(least[row]), 2),
        }
        for row in chosen[np.argsort(-least[chosen], kind="stable")]
    ]


def _places(found: Severity, judged: Judged) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return for each judgement the places of its candidate and its annotator in the model, and whether both are."""
    place = np.searchsorted(found.candidate, judged.candidate).clip(max=len(found.candidate) - 1)
    who = np.searchsorted(found.annotator, judged.annotator).clip(max=len(found.annotator) - 1)
    known = (found.candidate[place] == judged.candidate) & (found.annotator[who] == judged.annotator)
    return place, who, known
