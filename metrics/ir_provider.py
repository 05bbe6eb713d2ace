# mypy: disable-error-code="no-untyped-call"
"""The measures as measures of ir_measures: importing this module registers them.

    import ir_measures, metrics.ir_provider
    names = ("nDCG_IoU(iou=0.7)@20", "nDCG_IoU(iou=0.7,convention=released)@20", "nDCG@10")
    ir_measures.calc_aggregate(map(ir_measures.parse_measure, names), qrels, run)

ir_measures' own parser reads words and sums only in quotes; once this module is imported it also reads them bare,
as above. Qrels and runs are ir_measures' own, with moment ids ``video@startms-endms`` for documents. Each measure has a
parameter more, the convention. ir_measures keeps its own measure where a name is taken (nDCG, P, R, RR, AP,
Judged); highlight measures need saliency, which its formats lack.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
import numpy as np
from ir_measures import providers, util
from ir_measures.measures.base import Agg, Measure, ParamInfo, register, registry
from ir_measures.util import Metric, QrelsConverter, RunConverter

from .formats.arrays import Floats
from .formats.dicts import IdQrels, IdRun
from .measures.conventions import CONVENTIONS, Convention, convention_named
from .measures.definitions import DEFINITIONS, parse_measure
from .measures.evaluate import Evaluator
from .measures.ground import Ground
from .measures.measure import Definition
from .measures.measure import Measure as OurMeasure
from .measures.results import aggregate, reported

_THEIR_VALUE_OF = util._ast_to_value


class MomentMeasure(Measure):
    """A measure of ours as ir_measures knows it."""

    definition: Definition

    def aggregator(self) -> Agg:
        return Aggregator(ours(self), convention_of(self))


def ours(measure: Measure) -> OurMeasure:
    """The same measure as a value of ours."""
    others = ("cutoff", "convention")
    params = ",".join(f"{key}={value}" for key, value in measure.params.items() if key not in others)
    cutoff = f"@{measure.params['cutoff']}" if "cutoff" in measure.params else ""
    return parse_measure(f"{measure.NAME}({params}){cutoff}")


def convention_of(measure: Measure) -> Convention:
    """The convention that the measure names, which here never refuses queries that nobody judged."""
    return convention_named(measure.params.get("convention", "paper")).but(unjudged="skip")


class Value(float):
    """A query's value with the values for each threshold, which are aggregated one by one."""

    thresholds: Floats

    @classmethod
    def of(cls, value: float, thresholds: Floats) -> "Value":
        made = cls(value)
        made.thresholds = thresholds
        return made


class Aggregator(Agg):
    """Collects values and aggregates them as the measure and its convention say."""

    def __init__(self, measure: OurMeasure, convention: Convention) -> None:
        self.measure, self.convention = measure, convention
        self.values: list[Floats] = []

    def add(self, value: float) -> None:
        self.values.append(value.thresholds if isinstance(value, Value) else np.array([value]))

    def result(self) -> float:
        found = aggregate(self.measure, np.array(self.values), self.convention) if self.values else None
        return float("nan") if found is None else found


class MomentEvaluator(providers.Evaluator):
    """Measures of any conventions over one set of qrels."""

    def __init__(self, measures: Iterable[Measure], qrels: Any) -> None:
        theirs = list(measures)
        ground = Ground(judged(qrels))
        self.ready = [(one, Evaluator([ours(one)], ground, convention_of(one))) for one in theirs]
        super().__init__(theirs, list(ground.queries))

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        """Values of every query; NaN for one that does not count, which our aggregators pass over."""
        source = answered(run)
        for theirs, ready in self.ready:
            scores = ready.scores(source)[0]
            per_query = reported(scores.measures[0], scores.values[0], scores.convention).tolist()
            for query, value, row in zip(scores.queries, per_query, scores.values[0], strict=True):
                yield Metric(query_id=query, measure=theirs, value=Value.of(value, row))


@providers.register
class MomentProvider(providers.Provider):
    """Moment retrieval's measures, from Reeljudge."""

    NAME = "reeljudge"

    def supports(self, measure: Measure) -> bool:
        return isinstance(measure, MomentMeasure)

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> MomentEvaluator:
        return MomentEvaluator(measures, qrels)


def judged(qrels: Any) -> IdQrels:
    """Our qrels from ir_measures' (tuples, dicts or a data frame)."""
    found: dict[str, dict[str, int]] = {}
    for qrel in QrelsConverter(qrels).as_namedtuple_iter():
        found.setdefault(str(qrel.query_id), {})[qrel.doc_id] = int(qrel.relevance)
    return IdQrels(found, lenient=True)


def answered(run: Any) -> IdRun:
    """Our run from ir_measures', which is ordered as trec_eval orders it."""
    found: dict[str, dict[str, float]] = {}
    for scored in RunConverter(run).as_namedtuple_iter():
        found.setdefault(str(scored.query_id), {})[scored.doc_id] = float(scored.score)
    return IdRun(found)


def _value_of(node: ast.expr) -> Any:
    """A parameter's value as ir_measures reads it, or a bare word or sum as its text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return ast.unparse(node).replace(" ", "")
    return _THEIR_VALUE_OF(node)


def _register_all() -> None:
    for definition in DEFINITIONS.values():
        if definition.family == "highlight" or definition.name in registry:
            continue
        params = {key: ParamInfo(required=key in definition.required) for key in definition.params}
        params["convention"] = ParamInfo(dtype=str, choices=list(CONVENTIONS), default="paper")
        if definition.cutoff != "none":
            params["cutoff"] = ParamInfo(dtype=int, required=definition.cutoff == "required")
        body = {"NAME": definition.name, "SUPPORTED_PARAMS": params, "definition": definition}
        body["__name__"] = definition.name
        register(type(definition.name, (MomentMeasure,), body))
    ir_measures.DefaultPipeline.providers.append(MomentProvider())
    util._ast_to_value = _value_of


_register_all()
