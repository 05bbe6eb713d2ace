"""How fast plain nDCG@20 on moment ids is, beside trec_eval's Python wrappers."""

from collections.abc import Iterator
from typing import Any

import ir_measures
import numpy as np
import pytrec_eval

from benchmarks.measuring import best_of
from metrics import as_run, calc_aggregate, evaluator, parse_moment_id

QUERIES, MOMENTS, PREDICTIONS = 2800, 40, 100
POOL = [f"video_{v}@{start}-{start + 5000}" for v in range(100) for start in range(0, 40_000, 4000)]
ById = dict[str, dict[str, Any]]
Spans = dict[str, list[tuple[str, float, float, float]]]


def figures() -> Iterator[str]:
    """The lines of `make bench`."""
    rng = np.random.default_rng(0)
    qrels, run = lists(rng, MOMENTS, grades=True), lists(rng, PREDICTIONS, grades=False)
    spans, spans_judged = as_spans(run), as_spans(qrels)
    prepared = evaluator(["nDCG@20"], qrels)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.20"})
    table, of_tables = as_run(spans), evaluator(["nDCG@20"], spans_judged)
    measure = ir_measures.parse_measure("nDCG@20")
    (ours,) = prepared.calc_aggregate(run).values()
    gap = abs((ours or 0.0) - np.mean([row["ndcg_cut_20"] for row in theirs.evaluate(run).values()]))
    yield f"plain nDCG@20, {QUERIES} queries x {PREDICTIONS} moments (difference to pytrec_eval {gap:.0e}):"
    for name, work in {
        "pytrec_eval, prepared": lambda: theirs.evaluate(run),
        "ours, prepared, dict by id": lambda: prepared.calc_aggregate(run),
        "ours, prepared, Run": lambda: of_tables.calc_aggregate(table),
        "ir_measures, from dicts": lambda: ir_measures.calc_aggregate([measure], qrels, run),
        "ours, from dicts by id": lambda: calc_aggregate(["nDCG@20"], qrels, run),
        "ours, from dicts of (video, start, end, value)": lambda: calc_aggregate(["nDCG@20"], spans_judged, spans),
    }.items():
        yield f"  {name}: {best_of(5, work):.3f} s"


def lists(rng: np.random.Generator, length: int, grades: bool) -> ById:
    """Random moments of the pool for each query, with grades from 0 to 4 or with falling scores."""
    found: ById = {}
    for query in range(QUERIES):
        chosen = rng.choice(len(POOL), length, replace=False).tolist()
        values = rng.integers(0, 5, length) if grades else -np.sort(-rng.uniform(0, 1, length))
        found[str(query)] = {POOL[moment]: value for moment, value in zip(chosen, values.tolist(), strict=True)}
    return found


def as_spans(found: ById) -> Spans:
    """The same as (video, start, end, value), in seconds."""
    return {query: [(*parse_moment_id(id), value) for id, value in held.items()] for query, held in found.items()}
