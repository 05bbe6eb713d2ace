"""Measures for video moment retrieval: exact, fast, and free of Django.

>>> from metrics.measures import calc_aggregate, parse_measure, read_qrels, read_run
"""

from ..formats.errors import MeasureError
from ..formats.read_qrels import read_qrels
from ..formats.read_runs import read_run
from ..formats.sources import as_qrels, as_run
from ..formats.tables import Qrels, Run, qrels_from_dict, run_from_dict
from .conventions import CONVENTIONS, Convention, Options, convention_named
from .evaluate import Evaluator, QueryValue, Scores, calc, calc_aggregate, evaluator, iter_calc, scores_of
from .grammar import default_measures, parse_measure, parse_measures
from .measure import Measure

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
