"""Projection: trec_eval as the oracle of NDCG@K, IoU≥μ; and ir_measures with our provider."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from metrics import (
    Measure,
    MeasureError,
    MedianRank,
    calc,
    calc_aggregate,
    convention_named,
    nDCG_IoU,
    parse_measure,
    qrels_from_dict,
    run_from_dict,
)
from metrics.analysis.project import project
from tests.metrics.shared import ROOT, SHARED, needs_shared, run_cli, write
from tests.metrics.worlds import worlds

pytrec_eval = pytest.importorskip("pytrec_eval")
ir_measures = pytest.importorskip("ir_measures")


@given(worlds())
def test_trec_eval_agrees(world: Any) -> None:
    judged, answered = world
    qrels, run = qrels_from_dict(judged), run_from_dict(answered)
    for convention in ("paper", "released", "spr"):
        ours = calc(["nDCG_IoU(iou=0.3)@5"], qrels, run, convention).per_query()
        projected = project(qrels, run, 0.3, convention)
        oracle = pytrec_eval.RelevanceEvaluator(projected.qrels, {"ndcg_cut.5"}).evaluate(projected.run)
        for query, values in oracle.items():
            got = ours.get(query, {}).get(parse_measure("nDCG_IoU(iou=0.3)@5"), 0.0)
            assert got == pytest.approx(values["ndcg_cut_5"], abs=1e-15)


def test_provider_stands_beside_ndcg() -> None:
    import metrics.ir_provider  # noqa: F401

    names = [
        "nDCG_IoU(iou=0.7)@20",
        "nDCG@10",
        "AxIoU@10",
        "R@10",
        "MedianRank(iou=0.5)",
        "Success_IoU(iou='0.5+0.7')@5",
    ]
    measures = [ir_measures.parse_measure(name) for name in names]
    qrels = {"1": {"a@0-10000": 4, "b@0-10000": 2}, "2": {"a@0-5000": 1}, "3": {"c@0-5000": 0}}
    run = {"1": {"b@0-10000": 3.0, "a@0-9000": 2.0}, "2": {"a@0-4000": 1.0}}
    found = ir_measures.calc_aggregate(measures, ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter(), run)
    first = (2 + 4 / 1.5849625007211562) / (4 + 2 / 1.5849625007211562)
    assert found[measures[0]] == pytest.approx((first + 1) / 2)
    assert found[measures[2]] == pytest.approx(0.9)
    assert found[measures[4]] == 1.0
    assert found[measures[5]] == 1.0
    assert str(measures[0]) == "nDCG_IoU(iou=0.7)@20"
    values = {(m.query_id, str(m.measure)): m.value for m in measures[0].iter_calc(qrels, run)}
    assert values["2", "nDCG_IoU(iou=0.7)@20"] == 1.0


def test_provider_knows_the_conventions() -> None:
    """Each convention's aggregate is ours, to the last bit, also with several thresholds and medians."""
    from metrics.ir_provider import measure_of

    rng = np.random.default_rng(2)
    spans = [f"v{v}@{s}-{s + 4000}" for v in range(2) for s in range(0, 12_000, 1000)]
    qrels = {str(q): {m: int(rng.integers(0, 4)) for m in rng.choice(spans, 6, replace=False)} for q in range(25)}
    run = {str(q): {m: float(rng.uniform()) for m in rng.choice(spans, 9, replace=False)} for q in range(26)}
    names: dict[str, tuple[str | Measure, str]] = {
        "nDCG_IoU(iou=0.5,convention='released')@20": (nDCG_IoU(iou=0.5) @ 20, "released"),
        "nDCG_IoU(iou=0.5,convention='spr')@20": (nDCG_IoU(iou=0.5) @ 20, "spr"),
        "nDCG_IoU(iou=0.5)@20": (nDCG_IoU(iou=0.5) @ 20, "paper"),
        "Success_IoU(iou=0.5,convention='tvr')@5": ("R@5,0.5", "tvr"),
        "MedianRank(iou='0.3+0.7',convention='stal')": (MedianRank(iou="0.3+0.7"), "stal"),
    }
    measures = [ir_measures.parse_measure(name) for name in names]
    assert measures == [measure_of(*each) for each in names.values()]
    found = ir_measures.calc_aggregate(measures, qrels, run)
    for measure, (name, convention) in zip(measures, names.values(), strict=True):
        chosen = convention_named(convention).but(unjudged="skip")
        assert found[measure] == calc_aggregate([name], qrels, run, chosen)[parse_measure(name)], name
    assert [str(measure) for measure in measures] == list(names)
    assert len({found[measure] for measure in measures[:3]}) == 3


def test_provider_leaves_ir_measures_as_it_is_and_names_what_it_cannot() -> None:
    code = "from ir_measures import util; old = dict(vars(util)); import metrics.ir_provider; assert old == vars(util)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    from metrics.ir_provider import measure_of

    for wrong in ("nDCG@20", "HIT@1"):
        with pytest.raises(MeasureError, match="ir_measures has its own of this name, or lacks"):
            measure_of(wrong)


def test_command_line(tmp_path: Path) -> None:
    qrels = write(tmp_path / "q", "1 0 a@0-10000 4\n1 0 b@0-10000 0\n2 0 a@0-5000 1\n")
    run = write(tmp_path / "r", "1 Q0 b@0-10000 1 3 x\n1 Q0 a@0-9000 2 2 x\n2 Q0 c@0-1 1 1 x\n")
    done = run_cli("project", "--qrels", qrels, "--run", run, "--qrels-out", tmp_path / "tq")
    assert done.stdout.splitlines() == ["1 Q0 b@0-10000~1 1 2 x", "1 Q0 a@0-10000 2 1 x", "2 Q0 c@0-1~1 1 1 x"]
    assert (tmp_path / "tq").read_text() == "1 0 a@0-10000 4\n2 0 a@0-5000 1\n"
    scored = run_cli("project", "--qrels", qrels, "--run", run, "--measures", "RR", "nDCG@10")
    assert scored.stdout == "RR\t0.2500\nnDCG@10\t0.3155\n"
    assert run_cli("project", "--qrels", qrels, "--run", run, "--measures", "XYZ").returncode == 2
    assert run_cli("project", "--qrels", qrels, "--run", run, "--iou", "2").returncode == 2


@needs_shared
def test_the_authors_runs_project(tmp_path: Path) -> None:
    folder = SHARED / "data" / "tvr_ranking"
    index = ("--videos", folder / "video_name_duration_id.json")
    lists = sorted((folder / "runs").iterdir())
    qrels = tmp_path / "qrels.trec"
    run_cli("convert", "--run", lists[-1], "--to", "trec", "--out", tmp_path / "first.trec", *index)
    rows = [line.split() for line in (tmp_path / "first.trec").read_text().splitlines()]
    write(qrels, "".join(f"{q} 0 {moment} {1 + int(rank) % 4}\n" for q, _, moment, rank, _, _ in rows))
    for run in lists:
        scored = run_cli("project", "--qrels", qrels, "--run", run, *index, "--measures", "nDCG@20")
        ours = run_cli("evaluate", "--qrels", qrels, "--run", run, *index, "--measures", "nDCG_IoU(iou=0.5)@20")
        assert float(ours.stdout.split()[-1]) == pytest.approx(float(scored.stdout.split()[-1]), abs=1e-4)
