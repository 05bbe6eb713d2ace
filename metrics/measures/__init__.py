"""Measures for video moment retrieval: exact, fast, and free of Django.

>>> from metrics.measures import calc_aggregate, parse_measure, read_qrels, read_run
"""

from metrics.measures.compare import compare
from metrics.measures.conventions import CONVENTIONS, Convention, Options, convention_named
from metrics.measures.errors import MeasureError
from metrics.measures.evaluate import (
    Evaluator,
    QueryValue,
    Scores,
    calc,
    calc_aggregate,
    evaluator,
    iter_calc,
    scores_of,
)
from metrics.measures.grammar import Measure, default_measures, parse_measure, parse_measures
from metrics.measures.read_qrels import read_qrels
from metrics.measures.read_runs import read_run
from metrics.measures.sources import as_qrels, as_run
from metrics.measures.tables import Qrels, Run, qrels_from_dict, run_from_dict

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Evaluator",
    "Measure",
    "MeasureError",
    "Options",
    "Qrels",
    "QueryValue",
    "Run",
    "Scores",
    "as_qrels",
    "as_run",
    "calc",
    "calc_aggregate",
    "compare",
    "convention_named",
    "default_measures",
    "evaluator",
    "iter_calc",
    "parse_measure",
    "parse_measures",
    "qrels_from_dict",
    "read_qrels",
    "read_run",
    "run_from_dict",
    "scores_of",
]
