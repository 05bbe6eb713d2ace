"""NDCG@K, IoU≥μ: the published cases, a slow rewrite, and invariants."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import (
    Evaluator,
    MeasureError,
    MeasureWarning,
    calc,
    calc_aggregate,
    parse_measure,
    qrels_from_dict,
    run_from_dict,
)
from tests.metrics import oracle
from tests.metrics.oracle import Moment, Span
from tests.metrics.shared import cases, needs_shared, run_cli, write
from tests.metrics.worlds import worlds

World = tuple[dict[str, list[Moment]], dict[str, list[Span]]]
CUTS, BARS = (1, 3, 10), (0.0, 0.3, 0.5, 1.0)
NAMES = [f"nDCG_IoU(iou={mu})@{k}" for k in CUTS for mu in BARS]


Ways = Callable[[dict[str, Any], list[str], str, Path], dict[str, float | None]]


def by_dicts(case: dict[str, Any], names: list[str], convention: str, folder: Path) -> dict[str, float | None]:
    found = calc_aggregate(names, case["gt"], case["pred"], convention)
    return {str(measure): value for measure, value in found.items()}


def by_files(case: dict[str, Any], names: list[str], convention: str, folder: Path) -> dict[str, float | None]:
    files = write(folder / "gt", case["gt"]), write(folder / "pred", case["pred"])
    found = calc_aggregate(names, *files, convention)
    return {str(measure): value for measure, value in found.items()}


def by_command(case: dict[str, Any], names: list[str], convention: str, folder: Path) -> dict[str, float | None]:
    files = ["--qrels", write(folder / "gt", case["gt"]), "--run", write(folder / "pred", case["pred"])]
    done = run_cli("evaluate", *files, "--measures", *names, "--convention", convention, "--format", "json")
    if done.returncode:
        raise MeasureError(done.stderr)
    found: dict[str, float | None] = json.loads(done.stdout)["measures"]
    return found


@needs_shared
@pytest.mark.parametrize("way", [by_dicts, by_files, by_command])
@pytest.mark.parametrize("case", cases("tvr_ranking"), ids=lambda case: case["name"])
@pytest.mark.parametrize(("convention", "key"), [("released", "official_TVR_Ranking"), ("spr", "SPR_variant")])
def test_published_cases(case: dict[str, Any], convention: str, key: str, way: Ways, tmp_path: Path) -> None:
    """Each way in gives the published value, also where the published code takes what makes no sense."""
    names = {(k, t): f"nDCG_IoU(iou={t})@{k}" for k in case["KS"] for t in case["TS"]}
    expected = case[key]
    if "exception" in expected:
        with pytest.raises(MeasureError, match="query '2' is not in the qrels"):
            way(case, [*names.values()], convention, tmp_path)
        return
    got = way(case, [*names.values()], convention, tmp_path)
    for (k, t), name in names.items():
        assert got[name] == (expected[str(k)][str(float(t))] if expected else None)


def test_what_makes_no_sense_is_counted_or_refused_by_every_way_in(tmp_path: Path) -> None:
    one = {"video_name": "a", "timestamp": [0, 10]}
    case: dict[str, Any] = {"gt": {"1": [one | {"relevance": 4}] * 2}, "pred": {"1": [one | {"model_scores": 1.0}] * 2}}
    for way in (by_dicts, by_files):
        with pytest.warns(MeasureWarning, match="1 (moments|predictions) that stand twice") as notes:
            assert way(case, NAMES[:1], "released", tmp_path) == {NAMES[0]: 1.0}
        assert len(notes) == 2
    for way in (by_dicts, by_files, by_command):
        for field in ("gt", "pred"):
            other = case | {field: {"1": case[field]["1"][:1]}}
            with pytest.raises(MeasureError, match="stands twice"):
                way(other, NAMES[:1], "paper", tmp_path)


def test_all_cases_are_there() -> None:
    assert len(cases("tvr_ranking")) in (0, 29)


def test_paper_counts_a_missing_query_as_zero_and_leaves_out_one_without_relevant_moments() -> None:
    qrels = qrels_from_dict({"1": [("a", 0, 10, 4)], "2": [("b", 0, 10, 2)], "3": [("c", 0, 10, 0)]})
    run = run_from_dict({"1": [("a", 0, 10, 1.0)], "3": [("c", 0, 10, 1.0)]})
    scores = calc(["nDCG_IoU(iou=0.5)@10"], qrels, run)
    assert list(scores.aggregate().values()) == [0.5]
    assert list(scores.per_query()) == ["1", "2"]
    assert scores.left_out() == 1
    released = calc(["nDCG_IoU(iou=0.5)@10"], qrels, run, "released")
    assert list(released.aggregate().values()) == [0.5]
    assert list(released.per_query()) == ["1", "3"]
    assert list(calc(["nDCG_IoU(iou=0.5)@10"], qrels, run, "spr").aggregate().values()) == [1.0]


def test_paper_takes_the_grade_as_gain_and_lets_iou_reach_the_threshold() -> None:
    qrels = qrels_from_dict({"1": [("a", 0, 10, 4), ("b", 0, 10, 2), ("b", 0, 10, 0)]}, lenient=True)
    run = run_from_dict({"1": [("b", 0, 5, 1.0)]})
    for convention, value in [("paper", 0.5), ("released", 0.0), ("spr", 0.2)]:
        got = calc_aggregate(["nDCG_IoU(iou=0.5)@1"], qrels, run, convention)
        assert list(got.values()) == [pytest.approx(value)]


@given(worlds())
def test_slow_rewrite(world: World) -> None:
    judged, answered = world
    for convention, exp, strict, lowest in [("paper", False, False, 1), ("released", True, True, 0)]:
        scores = calc(NAMES, qrels_from_dict(judged), run_from_dict(answered), convention).per_query()
        for name, (k, mu) in zip(NAMES, [(k, mu) for k in CUTS for mu in BARS], strict=True):
            for query, moments in judged.items():
                value = oracle.ndcg(moments, answered.get(query, []), mu, k, exp, strict, lowest)
                if convention == "released":
                    value = (value or 0.0) if query in answered else None
                got = scores.get(query, {}).get(parse_measure(name))
                assert got == (None if value is None else pytest.approx(value, abs=1e-12))


@given(worlds(), st.randoms(use_true_random=False))
def test_invariants(world: World, random: Any) -> None:
    """Shuffled queries, renamed ids, scaled scores and unanswered queries without relevant moments change
    nothing.
    """
    judged, answered = world
    base = calc_aggregate(NAMES, qrels_from_dict(judged), run_from_dict(answered))
    order = list(judged)
    random.shuffle(order)
    renamed = {f"new {q}": [("x" + v, s, e, g) for v, s, e, g in judged[q]] for q in order}
    renamed["nobody asked"] = [("zz", 0, 1, 0)]
    run = {
        f"new {q}": [("x" + v, s, e, 3 * score) for v, s, e, score in answered[q]]
        for q in reversed(order)
        if q in answered
    }
    other = calc_aggregate(NAMES, qrels_from_dict(renamed), run_from_dict(run))
    assert {m: other[m] for m in base} == {m: v if v is None else pytest.approx(v) for m, v in base.items()}


@given(worlds(), worlds())
def test_runs_scored_together_score_as_alone(world: World, other: World) -> None:
    judged, answered = world
    second = {q: spans for q, spans in other[1].items() if q in judged}
    runs = {"one": answered, "other": second} if second else {"one": answered}
    ready = Evaluator(NAMES, judged)
    together = {name: scores.aggregate() for name, scores in ready.scores_of(runs).items()}
    assert together == {name: ready.calc_aggregate(run) for name, run in runs.items()}
