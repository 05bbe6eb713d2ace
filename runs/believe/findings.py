"""What examines the measures on some runs of a release: computed in one go, as records that can be stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jobs.registry import Report
from metrics import Convention, Measure, Qrels, Run, scores_of
from metrics.analysis import meta, records
from metrics.analysis.noise import LEVELS, noise_error
from metrics.analysis.other_judging import Judged, changes, means_on, with_grades

SEED = 0
TRIALS = 1000  # pairs of subsets of each size
DATASETS = 20  # noisy ones of each level
REDRAWN = 20  # halves of the pairs, and choices of one annotator
DIGITS = 6
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Subject:
    """What is examined: measures under a convention, on runs and the release that they are scored on."""

    measures: Sequence[Measure]
    convention: Convention
    runs: Sequence[Run]
    qrels: Qrels
    judged: Judged

    @property
    def systems(self) -> list[str]:
        return [run.name for run in self.runs]


def examine(subject: Subject, report: Report) -> dict[str, Any]:
    """Return all records under their names, and what they were made of.

    Raises
    ------
    MeasureError
        If no query counts for all runs and measures.
    """
    report(0, 0, "scoring the runs")
    convention = subject.convention.but(unjudged="skip")
    block = meta.score_block(scores_of(subject.measures, subject.qrels, subject.runs, convention))
    rows = {
        "scores": records.scores(subject.systems, subject.measures, block),
        "agreement": records.agreement(subject.measures, block),
        "ties": records.ties(subject.measures, block),
        "select": _selected(subject, block),
        **_stable(subject, block, report),
        **_noisy(subject, convention, report),
        **_judged_otherwise(subject, report),
    }
    made_of = {
        "systems": subject.systems,
        "measures": [*map(str, subject.measures)],
        "convention": subject.convention.name,
        "queries": block.shape[1],
        "pairs": subject.judged.final.size,
        "annotators": len(np.unique(subject.judged.raw.annotator)),
        "trials": TRIALS,
        "datasets": DATASETS,
        "redrawn": REDRAWN,
        "seed": SEED,
    }
    return made_of | {"rows": {name: _storable(each) for name, each in rows.items()}}


def _selected(subject: Subject, block: Any) -> Rows:
    """Select systems on a random half of the queries, and test them on the other."""
    if block.shape[1] < 2:
        return []
    validation, test = (half.mean(axis=1) for half in meta.halves(block, SEED))
    return records.selection(subject.systems, subject.measures, subject.measures, meta.select(validation, test))


def _stable(subject: Subject, block: Any, report: Report) -> dict[str, Rows]:
    queries = block.shape[1]
    sizes = sorted({max(1, queries * tenth // 10) for tenth in range(1, 10)})
    found: dict[str, Rows] = {}
    for model in ("two", "full"):
        report(0, 0, f"drawing subsets of the queries, by the model {model}")
        stable = meta.stability(block, sizes, TRIALS, model, SEED)
        found[f"stability-{model}"] = records.stability(subject.measures, stable)
    return found


def _noisy(subject: Subject, convention: Convention, report: Report) -> dict[str, Rows]:
    def progress(done: int, total: int) -> None:
        report(done, total, f"marking boundaries with noise: {done} of {total}")

    found = noise_error(
        subject.measures, subject.qrels, subject.runs, convention, datasets=DATASETS, seed=SEED, report=progress
    )
    overlaps = [{"level": level, "iou": float(iou)} for level, iou in zip(LEVELS, found.iou, strict=True)]
    return {"noise": records.noise(subject.measures, found), "overlaps": overlaps}


def _judged_otherwise(subject: Subject, report: Report) -> dict[str, Rows]:
    judged, what = subject.judged, (subject.measures, subject.runs, subject.convention)
    full = means_on(with_grades(judged.pairs, judged.final), *what)
    total = 2 + len(np.unique(judged.raw.annotator))
    scored = records.in_cells({"system": subject.systems, "measure": [*map(str, subject.measures)]}, mean=full)
    rows: dict[str, Rows] = {"judging": [{"change": "all", "annotator": -1} | row for row in scored], "orders": []}
    report(0, total, "judging again: 0")
    for done, each in enumerate(changes(judged, *what, trials=REDRAWN, seed=SEED), 1):
        report(done, total, f"judging again: {done} of {total} ways")
        changed, ordered = records.orders(subject.systems, subject.measures, each, full)
        rows["judging"] += changed
        rows["orders"] += ordered
    return rows


def _storable(rows: Rows) -> Rows:
    """Return the rows with numbers as JSON has them: None for what does not exist, and no more digits than are true."""
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return round(value, DIGITS) if math.isfinite(value) else None
