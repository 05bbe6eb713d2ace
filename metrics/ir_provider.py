# mypy: disable-error-code="no-untyped-call"
"""The measures as measures of ir_measures: importing this module registers them.

    import ir_measures, metrics.ir_provider
    measures = [ir_measures.parse_measure(name) for name in ("nDCG_IoU(iou=0.7)@20", "nDCG@10")]
    ir_measures.calc_aggregate(measures, qrels, run)

Qrels and runs are ir_measures' own, with moment ids ``video@startms-endms`` for documents. ir_measures keeps
its own measure where a name is taken (Judged); highlight measures need saliency, which its formats lack.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
import numpy as np
from ir_measures import providers
from ir_measures.measures.base import Agg, Measure, ParamInfo, register, registry
from ir_measures.util import Metric, QrelsConverter, RunConverter

from .formats.checks import ANY_GRADE
from .formats.moment_ids import parse_moment_id
from .formats.tables import Qrels, Run, qrels_from_dict, run_from_dict
from .measures import aggregate
from .measures.definitions import DEFINITIONS
from .measures.evaluate import Evaluator
from .measures.grammar import parse_measure
from .measures.measure import Definition
from .measures.measure import Measure as OurMeasure


class MomentMeasure(Measure):
    """A measure of ours under ir_measures' roof."""

    definition: Definition

    def aggregator(self) -> Agg:
        return Aggregator(self.definition.aggregate)


def ours(measure: Measure) -> OurMeasure:
    """The same measure as a value of ours."""
    params = ",".join(f"{key}={value}" for key, value in measure.params.items() if key != "cutoff")
    cutoff = f"@{measure.params['cutoff']}" if "cutoff" in measure.params else ""
    return parse_measure(f"{measure.NAME}({params}){cutoff}")


class Aggregator(Agg):
    """Collects values and aggregates them as the measure's definition says."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.values: list[float] = []

    def add(self, value: float) -> None:
        if value == value:
            self.values.append(value)

    def result(self) -> float:
        if not self.values:
            return float("nan")
        return float(aggregate.AGGREGATES[self.kind](np.array(self.values)[:, None])[0])


class MomentEvaluator(providers.Evaluator):
    def __init__(self, measures: Iterable[Measure], qrels: Any) -> None:
        self.theirs = list(measures)
        self.ready = Evaluator([ours(measure) for measure in self.theirs], judged(qrels))
        super().__init__(self.theirs, list(self.ready.ground.qrels.queries))

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        """Values of every query; NaN for one that does not count, which our aggregators pass over."""
        known = set(self.ready.ground.qrels.queries)
        scores = self.ready.scores(answered(run, known))[0]
        for query, row in zip(scores.queries, scores.table().tolist(), strict=True):
            for theirs, value in zip(self.theirs, row, strict=True):
                yield Metric(query_id=query, measure=theirs, value=value)


@providers.register
class MomentProvider(providers.Provider):
    """Moment retrieval's measures, from Reeljudge."""

    NAME = "reeljudge"

    def supports(self, measure: Measure) -> bool:
        return isinstance(measure, MomentMeasure)

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> MomentEvaluator:
        return MomentEvaluator(measures, qrels)


def judged(qrels: Any) -> Qrels:
    """Our qrels from ir_measures' (tuples, dicts or a DataFrame)."""
    found: dict[str, list[tuple[str, float, float, int]]] = {}
    for qrel in QrelsConverter(qrels).as_namedtuple_iter():
        span = parse_moment_id(qrel.doc_id, "qrels")
        found.setdefault(str(qrel.query_id), []).append((*span, int(qrel.relevance)))
    return qrels_from_dict(found, lenient=True, highest=ANY_GRADE)


def answered(run: Any, known: set[str]) -> Run:
    """Our run from ir_measures', ordered as trec_eval orders; queries that nobody judged are passed
    over there.
    """
    found: dict[str, list[tuple[float, str]]] = {}
    for scored in RunConverter(run).as_namedtuple_iter():
        if str(scored.query_id) in known:
            found.setdefault(str(scored.query_id), []).append((float(scored.score), scored.doc_id))
    spans = {
        query: [(*parse_moment_id(moment, "run"), score) for score, moment in sorted(rows, reverse=True)]
        for query, rows in found.items()
    }
    return run_from_dict(spans)


def _register_all() -> None:
    for definition in DEFINITIONS.values():
        if definition.family == "highlight" or definition.name in registry:
            continue
        params = {key: ParamInfo(required=key in definition.required) for key in definition.params}
        if definition.cutoff != "none":
            params["cutoff"] = ParamInfo(dtype=int, required=definition.cutoff == "required")
        body = {"NAME": definition.name, "SUPPORTED_PARAMS": params, "definition": definition}
        body["__name__"] = definition.name
        register(type(definition.name, (MomentMeasure,), body))
    ir_measures.DefaultPipeline.providers.append(MomentProvider())


_register_all()
