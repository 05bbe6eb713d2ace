"""Every measure beside its slow rewrite; shorter lists, missing queries, several annotations."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from metrics import (
    CONVENTIONS,
    Options,
    Run,
    calc,
    convention_named,
    evaluator,
    parse_measure,
    parse_measures,
    qrels_from_dict,
    run_from_dict,
)
from metrics.formats.qrels import read_qrels
from metrics.measures.definitions import DEFINITIONS
from tests.metrics import oracle
from tests.metrics.oracle import Moment, Span
from tests.metrics.shared import write
from tests.metrics.worlds import worlds

World = tuple[dict[str, list[Moment]], dict[str, list[Span]]]
Slow = Callable[[list[Moment], list[Span], list[float]], float]


def long_enough(judged: dict[str, list[Moment]]) -> dict[str, list[Moment]]:
    """The moments without those of length 0, whose IoU is 0/0."""
    return {query: [m for m in moments if m[2] > m[1]] for query, moments in judged.items()}


def slow_ones(strict: bool) -> dict[str, Slow]:
    """Our names with their rewrites, of (moments, predictions, IoUs)."""
    return {
        "Success_IoU(iou=0.5)@3": lambda m, p, r: oracle.success(r, 3, 0.5, strict),
        "Success_IoU(iou=0.3+0.7)@2": lambda m, p, r: (
            (oracle.success(r, 2, 0.3, strict) + oracle.success(r, 2, 0.7, strict)) / 2
        ),
        "AxIoU@1": lambda m, p, r: oracle.axiou(r, 1),
        "AxIoU@5": lambda m, p, r: oracle.axiou(r, 5),
        "AxIoU(lb=0.5)@20": lambda m, p, r: oracle.axiou(r, 20, 0.5),
        "NCxIoU(p=uniform)@4": lambda m, p, r: oracle.ncxiou(r, 4, "uniform"),
        "NCxIoU(p=geometric,phi=0.6)@4": lambda m, p, r: oracle.ncxiou(r, 4, "geometric", 0.6),
        "NCxIoU(p=err)@12": lambda m, p, r: oracle.ncxiou(r, 12, "err"),
        "AP_IoU(iou=0.3)@5": lambda m, p, r: oracle.average_precision(r, 5, 0.3, strict),
        "AP_IoU(iou=0.3)@30": lambda m, p, r: oracle.average_precision(r, 30, 0.3, strict),
        "DCG_IoU@4": lambda m, p, r: oracle.dcg_of_iou(r, 4, exp=False),
        "DCG_IoU(gain=exp)@4": lambda m, p, r: oracle.dcg_of_iou(r, 4, exp=True),
    }


@given(worlds())
def test_paper(world: World) -> None:
    judged, answered = long_enough(world[0]), world[1]
    slow = slow_ones(strict=True)
    values = calc(slow, qrels_from_dict(judged), run_from_dict(answered)).per_query()
    for query, moments in judged.items():
        predictions = answered.get(query, [])
        r = oracle.relevance(moments, predictions)
        for name, rewrite in slow.items():
            expected = rewrite(moments, predictions, r) if any(m[3] >= 1 for m in moments) else None
            got = values.get(query, {}).get(parse_measure(name))
            assert got == (None if expected is None else pytest.approx(expected, abs=1e-12)), name


@given(worlds())
def test_released_sorts_by_score_and_reverses_ties(world: World) -> None:
    judged, answered = long_enough(world[0]), world[1]
    slow = slow_ones(strict=True)
    values = calc(slow, qrels_from_dict(judged), run_from_dict(answered), "released").per_query()
    for query, moments in judged.items():
        ranked = sorted(answered.get(query, []), key=lambda p: p[3])[::-1]
        r = oracle.relevance(moments, ranked, hull=True)
        for name, rewrite in slow.items():
            expected = rewrite(moments, ranked, r) if any(m[3] >= 1 for m in moments) else 0.0
            assert values[query][parse_measure(name)] == pytest.approx(expected, abs=1e-12), name


@given(worlds())
def test_ranks(world: World) -> None:
    judged, answered = world
    name = parse_measure("MedianRank(iou=0.5)")
    scores = calc([name, "MedianRank(iou=0.5,max_rank=2)"], qrels_from_dict(judged), run_from_dict(answered), "stal")
    values, longest = scores.per_query(), max(map(len, answered.values()))
    ranks = []
    for query, moments in judged.items():
        if any(m[3] >= 1 for m in moments):
            predictions = answered.get(query, [])
            r = oracle.relevance(moments, predictions)
            expected = oracle.hit_rank(r, 0.5, False, (len(predictions) or longest) + 1)
            ranks.append(expected)
            assert values[query][name] == expected
            assert values[query][parse_measure("MedianRank(iou=0.5,max_rank=2)")] == min(
                oracle.hit_rank(r, 0.5, False, 3), 3
            )
    expected_median = sorted(ranks)[(len(ranks) - 1) // 2] if ranks else None
    assert scores.aggregate()[name] == expected_median


@given(worlds())
def test_matching_measures(world: World) -> None:
    judged, answered = world
    names = ["Recall_IoU(iou=0.3)@3", "Recall_IoU(iou=0.3,rel=3)@3", "mAP_IoU(iou=0.3)", "Judged(iou=0.3)@3"]
    names += ["Recall_Further(iou=0.3)@3"]
    measures = [parse_measure(name) for name in names]
    values = calc(names, qrels_from_dict(judged), run_from_dict(answered)).per_query()
    for query, moments in judged.items():
        predictions = answered.get(query, [])
        row = values.get(query, {})
        for measure, rel in zip(measures[:2], (1, 3), strict=True):
            held = sum(m[3] >= rel for m in moments)
            hits = oracle.found(moments, predictions, 0.3, rel, strict=False)
            assert row.get(measure) == (pytest.approx(sum(hits[:3]) / held) if held else None)
        by_score = sorted(predictions, key=lambda p: -p[3])
        held = sum(m[3] >= 1 for m in moments)
        hits = oracle.found(moments, by_score, 0.3, 1, strict=False)
        assert row.get(measures[2]) == (pytest.approx(oracle.interpolated(hits, held)) if held else None)
        close = [r > 0.3 for r in oracle.relevance(moments, predictions[:3], rel=0)]
        assert row[measures[3]] == pytest.approx(sum(close) / max(len(close), 1))
        hits = oracle.found(moments, predictions, 0.3, 1, strict=False)[:3]
        further = max(sum(hits) - 1, 0) / (held - 1) if held > 1 else None
        assert row.get(measures[4]) == (None if further is None else pytest.approx(further))


def test_gains_and_discounts_of_ones_own() -> None:
    qrels = qrels_from_dict({"1": [("a", 0, 10, 4), ("b", 0, 10, 2), ("c", 0, 10, 1)]})
    run = run_from_dict({"1": [("b", 0, 10, 2.0), ("a", 0, 10, 1.0)]})
    expected = {
        "nDCG_IoU(iou=0.5,gain=binary)@2": 1.0,
        "nDCG_IoU(iou=0.5,gain=0+0+1+1+3,discount=none)@2": 1.0,
        "nDCG_IoU(iou=0.5,discount=zipf)@2": (2 + 4 / 2) / (4 + 2 / 2),
        "nDCG_IoU(iou=0.5,gain=exp)@1": 3 / 15,
    }
    found = calc(expected, qrels, run).aggregate()
    assert {str(m): v for m, v in found.items()} == {
        str(parse_measure(name)): pytest.approx(value) for name, value in expected.items()
    }


def test_two_of_several_annotators_must_agree(tmp_path: Any) -> None:
    ts = [[0, 5], [0, 5], [0, 10], [25, 30]]
    path = write(tmp_path / "didemo.json", [{"desc_id": 1, "vid_name": "a", "ts": ts}])
    qrels = read_qrels(path)
    for span, hits in [((0, 5), 1.0), ((0, 10), 0.0), ((25, 30), 0.0)]:
        run = run_from_dict({"1": [("a", *span, 1.0)]})
        assert calc(["Success_IoU(iou=0.7)@1"], qrels, run).table()[0, 0] == hits
    half = run_from_dict({"1": [("a", 0, 10, 1.0)]})
    assert calc(["Success_IoU(iou=0.5)@1", "AxIoU@1"], qrels, half, "tvr").table().tolist() == [[1.0, 0.5]]


EMPTY: dict[str, list[Any]] = {"1": [], "2": []}
ONE: dict[str, list[Any]] = {"1": [("a", 0, 10, 1)]}
BOTH: dict[str, list[Any]] = {"1": [("a", 0, 10, 1)], "2": [("a", 0, 10, 0)]}


@pytest.mark.parametrize("convention", ["paper", "released", "spr", "stal"])
@pytest.mark.parametrize("judged", [EMPTY, ONE, BOTH, {"2": [("b", 0, 1, 2)], **ONE}])
@pytest.mark.parametrize("answered", [{"1": []}, ONE, {"1": [("zz", 0, 1, 1), ("a", 9, 2, 0)]}])
def test_empty_and_partial(convention: str, judged: Any, answered: Any) -> None:
    """Every measure has a value or none on every mixture; never NaN, never an exception."""
    names = [*slow_ones(True), "MedianRank(iou=0.5)", "StdRank(iou=0.5)", "Recall_IoU(iou=0.5)@5", "Judged@5"]
    names += [
        "nDCG_IoU(iou=0.5)@5",
        "mAP_IoU(iou=0.5:0.05:0.95)",
        "Success_Video@1",
        "Success_IoU(iou=0.5,task=SVMR)@2",
    ]
    fitting = [m for m in parse_measures(names) if m.definition.family in CONVENTIONS[convention].families]
    scores = calc(fitting, qrels_from_dict(judged), run_from_dict(answered, lenient=True), convention)
    for value in scores.aggregate().values():
        assert value is None or value == value
    for row in scores.per_query().values():
        assert all(value == value for value in row.values())


def test_threshold_0_is_passed_by_predictions_only() -> None:
    qrels = qrels_from_dict({"1": [("a", 0, 10, 1)], "2": [("a", 0, 10, 1)], "3": [("a", 0, 10, 1)]})
    run = run_from_dict({"1": [("b", 0, 5, 1.0), ("b", 0, 5, 1.0)], "2": []}, lenient=True)
    names = ["Success_IoU(iou=0)@5", "AP_IoU(iou=0)@2", "MedianRank(iou=0)"]
    table = calc(names, qrels, run, "stal").table().tolist()
    assert table == [[1.0, 1.0, 1.0], [1.0, 0.0, 3.0], [1.0, 0.0, 3.0]]  # late misses: at rank 3, so within 5
    plain = convention_named("paper")
    assert calc(names[:1], qrels, run, plain).table()[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert calc(names[:1], qrels, run, replace(plain, hit=Options())).table()[:, 0].tolist() == [1.0, 0.0, 0.0]


def test_a_cutoff_far_beyond_the_lists_costs_nothing() -> None:
    qrels, run = qrels_from_dict(ONE), run_from_dict({"1": [("a", 0, 5, 1.0)]})
    names = ["AxIoU@999999", "nDCG_IoU(iou=0.5)@999999", "AP_IoU(iou=0.3)@999999"]
    found = list(calc(names, qrels, run).aggregate().values())
    assert found[:2] == [pytest.approx(0.5), 1.0]


def test_every_measure_has_a_slow_rewrite_or_a_reference() -> None:
    here = {"nDCG_IoU", "Recall_IoU", "Recall_Further", "mAP_IoU", "Judged", "MedianRank", "StdRank"}
    here |= {name.partition("(")[0].partition("@")[0] for name in slow_ones(True)}
    frozen_only = {"HIT", "mAP_Saliency", "Success_Video"}
    elsewhere = {"Rank", "mIoU", "nDCG", "P", "R", "RR", "AP", "infAP", "xinfAP"}  # test_didemo, test_plain
    elsewhere |= {name for name, each in DEFINITIONS.items() if each.family == "set"}  # test_nothing_to_find
    assert here | frozen_only | elsewhere == set(DEFINITIONS)


def test_an_evaluator_is_reused() -> None:
    ready = evaluator(["AxIoU@1"], qrels_from_dict(ONE))
    runs: list[Run] = [run_from_dict({"1": [("a", 0, end, 1.0)]}) for end in (5, 10)]
    assert [list(ready.calc_aggregate(run).values()) for run in runs] == [[0.5], [1.0]]
    assert [value for _, _, value in ready.iter_calc(runs[0])] == [0.5]
