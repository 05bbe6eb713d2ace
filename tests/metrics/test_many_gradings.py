"""Means under many gradings are those of scoring anew under each."""

from __future__ import annotations

import numpy as np
import pytest

from metrics import Evaluator, MeasureError, default_measures, parse_measure, qrels_from_dict, run_from_dict
from metrics.analysis.many_gradings import means_by_grading
from metrics.measures.ground import Ground

QUERIES, MOMENTS, PREDICTIONS, GRADINGS = 6, 9, 14, 25


def crowded(seed: int) -> tuple[dict, list[dict]]:  # type: ignore[type-arg]
    """Few videos and coarse times: moments compete for predictions, and IoUs tie."""
    rng = np.random.default_rng(seed)

    def spans(count: int) -> list[tuple[str, float, float, float]]:
        found = {
            (f"v{rng.integers(3)}", float(start := rng.integers(8)), float(start + rng.integers(2, 6)))
            for _ in range(count)
        }
        return [(*span, float(n)) for n, span in enumerate(sorted(found), 1)]

    def predicted() -> list[tuple[str, float, float, float]]:
        found = spans(PREDICTIONS)
        return [(*found[n][:3], -float(rank)) for rank, n in enumerate(rng.permutation(len(found)))]

    qrels = {f"q{n}": [(*span[:3], 0) for span in spans(MOMENTS)] for n in range(QUERIES)}
    return qrels, [{query: predicted() for query in list(qrels)[run:]} for run in range(3)]


@pytest.mark.parametrize("convention", ["paper", "released", "spr"])
@pytest.mark.parametrize("seed", range(4))
def test_each_grading_scores_as_if_it_were_the_qrels(convention: str, seed: int) -> None:
    moments, answers = crowded(seed)
    qrels, runs = (qrels_from_dict(moments), [run_from_dict(each, f"run {n}") for n, each in enumerate(answers)])
    rng = np.random.default_rng(100 + seed)
    gradings = rng.integers(-1, 5, (GRADINGS, qrels.grades.size)).astype(np.int8)
    gradings[:, qrels.offsets[:-1]] = 3  # every query has something to find
    gradings[: GRADINGS // 2, 1::3] = 2
    measures = [*default_measures(), parse_measure("nDCG_IoU(iou=0.5)@3")]
    found = means_by_grading(Ground(qrels), runs, gradings, measures, convention)
    for n, grading in enumerate(gradings):
        kept = {
            query: [
                (*span[:3], int(grade))
                for span, grade in zip(moments[query], grading[begin:end].tolist(), strict=True)
                if grade >= 0
            ]
            for query, begin, end in zip(qrels.queries, qrels.offsets[:-1], qrels.offsets[1:], strict=True)
        }
        ready = Evaluator(measures, kept, convention)
        expected = [[scores[measure] for measure in measures] for scores in map(ready.calc, runs)]
        assert np.allclose(found[n], np.array(expected, dtype=float), rtol=0, atol=1e-6)


def test_other_measures_are_refused() -> None:
    moments, answers = crowded(0)
    qrels, run = qrels_from_dict(moments), run_from_dict(answers[0])
    gradings = np.zeros((1, qrels.grades.size), np.int8)
    with pytest.raises(MeasureError, match="by nDCG_IoU"):
        means_by_grading(Ground(qrels), [run], gradings, [parse_measure("AP")])
