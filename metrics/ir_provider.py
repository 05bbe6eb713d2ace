# mypy: disable-error-code="no-untyped-call"
"""The measures as measures of ir_measures: importing this module registers them.

    import ir_measures
    from metrics import MedianRank, nDCG_IoU
    from metrics.ir_provider import measure_of
    wanted = [measure_of(nDCG_IoU(iou=0.7) @ 20, "released"), measure_of(MedianRank(iou="0.5+0.7"), "stal")]
    ir_measures.calc_aggregate([*wanted, ir_measures.nDCG @ 10], qrels, run)

ir_measures' own parser reads them, too, with words and sums in quotes: ``nDCG_IoU(iou=0.7,convention='released')@20``.
Qrels and runs are ir_measures' own, with moment ids ``video@startms-endms`` for documents. Each measure has a parameter
more, the convention. ir_measures keeps its own measure where a name is taken (nDCG, P, R, RR, AP, Judged); highlight
measures need saliency, which its formats lack.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
import numpy as np
from ir_measures import providers
from ir_measures.measures.base import Agg, Measure, ParamInfo, register, registry
from ir_measures.util import Metric, QrelsConverter, RunConverter

from .formats.arrays import Floats
from .formats.dicts import IdQrels, IdRun
from .formats.errors import MeasureError
from .measures.conventions import CONVENTIONS, Convention, convention_named
from .measures.definitions import DEFINITIONS, parse_measure
from .measures.evaluate import Evaluator
from .measures.ground import Ground
from .measures.measure import Definition
from .measures.measure import Measure as OurMeasure
from .measures.results import aggregate, reported


class MomentMeasure(Measure):
    """A measure of ours as ir_measures knows it."""

    definition: Definition

    def aggregator(self) -> Agg:
        return Aggregator(parse_measure(self), convention_of(self))


def measure_of(measure: str | OurMeasure, convention: str = "paper") -> Measure:
    """A measure of ours as one of ir_measures.

    Parameters
    ----------
    measure : str or Measure
        One that ir_measures has no other of the same name for.
    convention : str, default "paper"
        One of `CONVENTIONS`.

    Raises
    ------
    MeasureError
        For a measure or a convention that does not exist, or that ir_measures cannot compute by this library.
    """
    wanted, name = parse_measure(measure), convention_named(convention).name
    kind = registry.get(wanted.name)
    if not (isinstance(kind, type) and issubclass(kind, MomentMeasure)):
        raise MeasureError(f"measure {wanted}: ir_measures has its own of this name, or lacks what it looks at")
    params: dict[str, Any] = {key: _number(value) for key, value in wanted.params}
    params |= {"convention": name} if name != "paper" else {}
    return kind(**params, **({"cutoff": wanted.cutoff} if wanted.cutoff else {}))


def _number(value: str) -> Any:
    """A number from its text; other texts as they are."""
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        return value


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
        self.ready = [(one, Evaluator([parse_measure(one)], ground, convention_of(one))) for one in theirs]
        super().__init__(theirs, list(ground.queries))

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        """Values of every query; NaN for one that does not count, which our aggregators pass over."""
        source = answered(run)
        for theirs, ready in self.ready:
            scores = ready.calc(source)
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
    return IdRun(found, lenient=True)


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


_register_all()
