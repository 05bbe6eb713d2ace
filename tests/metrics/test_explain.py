"""What is said of each rank adds up to the score of the query, and nobody is matched twice."""

import math

import numpy as np
import pytest
from hypothesis import given

from metrics import CONVENTIONS, Evaluator, qrels_from_dict, run_from_dict
from metrics.measures.definitions import parse_measure
from metrics.measures.explain import Explained, explain
from tests.metrics.worlds import World, worlds

NAMES = ["nDCG_IoU(iou=0.3)@3", "nDCG_IoU(iou=0.5)@10", "Recall_IoU(iou=0.5)@3", "Success_IoU(iou=0.5)@2"]


@pytest.mark.parametrize("convention", ["paper", "released", "spr", "tvr", "qvhighlights"])
@given(worlds())
def test_the_ranks_add_up_to_the_score(convention: str, world: World) -> None:
    qrels, run = qrels_from_dict(world[0]), run_from_dict(world[1])
    families = CONVENTIONS[convention].families
    names = [name for name in NAMES if parse_measure(name).definition.family in families]
    evaluator = Evaluator(names, qrels, convention)
    for measure in evaluator.measures:
        options = evaluator.convention.options(measure.definition.family)
        scene = evaluator.scene([run])
        values = measure.definition.score(scene, options, measure, evaluator._plans[measure.definition.family])
        for place, query in enumerate(qrels.queries):
            found = explain(measure, qrels, run, query, convention)
            added, value = score_of(found, measure.name), float(values[place, 0])
            assert added is None or math.isclose(added, value, rel_tol=1e-12), (measure, query)
            assert math.isnan(value) == (added is None)
            matched = found.moment[found.moment >= 0].tolist()
            assert measure.name == "Success_IoU" or len({*matched}) == len(matched)
            assert {*matched} <= {*found.taking_part.tolist()}


def score_of(found: Explained, name: str) -> float | None:
    """The measure's value as a reader of the page would work it out."""
    hits = found.moment >= 0
    if name == "nDCG_IoU":
        assert found.gain is not None
        assert found.discount is not None
        return float((found.gain / found.discount).sum()) / found.ideal if found.ideal else None
    if not found.taking_part.size:
        return None
    return float(hits.any()) if name == "Success_IoU" else hits.sum() / found.taking_part.size


def test_a_measure_without_a_threshold_follows_the_nearest_moment() -> None:
    qrels = qrels_from_dict({"1": [("a", 0, 10, 4), ("a", 20, 30, 1)]})
    run = run_from_dict({"1": [("a", 22, 30, 3.0), ("a", 2, 10, 2.0), ("b", 0, 1, 1.0)]})
    found = explain(parse_measure("AxIoU@3"), qrels, run, "1")
    assert found.moment.tolist() == [1, 0, -1]
    assert np.allclose(found.iou, [0.8, 0.8, 0.0])
    assert found.gain is None
