"""Comparing runs: tests against SciPy, Holm by hand, and every output format."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from metrics import MeasureError, qrels_from_dict, run_from_dict, scores_of
from metrics.analysis.compare import bootstrap, bootstrap_columns, compare, holm, letter, p_value
from tests.metrics.shared import run_cli, write

NAMES = ["AxIoU@5", "Success_IoU(iou=0.5)@1"]


def test_tests_agree_with_scipy() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.uniform(0, 1, 60), rng.uniform(0, 1, 60) + 0.15
    assert p_value(one - other, "t", 0, 1) == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert p_value(one - other, "wilcoxon", 0, 1) == pytest.approx(stats.wilcoxon(one, other).pvalue)
    exact = stats.permutation_test((one - other,), np.mean, permutation_type="samples", n_resamples=20_000, rng=5)
    assert p_value(one - other, "randomisation", 0, 20_000) == pytest.approx(exact.pvalue, abs=0.01)
    ours = bootstrap(one, 0.95, 0, 20_000)
    theirs = stats.bootstrap((one,), np.mean, n_resamples=20_000, method="percentile", rng=5).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.005)


def test_holm_by_hand() -> None:
    assert holm(np.array([0.02, 0.01, 0.5])).tolist() == [0.04, 0.03, 0.5]
    assert holm(np.array([0.9, 0.9])).tolist() == [1.0, 1.0]


def test_letters() -> None:
    assert [letter(n) for n in (0, 25, 26, 27)] == ["a", "z", "aa", "ab"]


def files(folder: Path) -> list[str]:
    rng = np.random.default_rng(0)
    moments = {str(q): [("v", 0.0, 10.0, 1)] for q in range(40)}
    lines = [json.dumps({"query_id": int(q), "video_name": "v", "timestamp": [0, 10], "relevance": 1}) for q in moments]
    paths = [str(write(folder / "qrels.jsonl", "\n".join(lines)))]
    for name, share in (("good", 0.9), ("same", 0.9), ("bad", 0.3)):
        ends = (10 * np.clip(share + 0.02 * rng.standard_normal(40), 0.01, 1)).tolist()
        found = {
            q: [{"video_name": "v", "timestamp": [0, end], "model_scores": 1}]
            for q, end in zip(moments, ends, strict=True)
        }
        paths.append(str(write(folder / f"{name}.json", found)))
    return paths


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_significance_shows(test: str, tmp_path: Path) -> None:
    qrels, *runs = files(tmp_path)
    arguments = ["compare", "--qrels", qrels, "--runs", *runs, "--measures", *NAMES, "--test", test]
    done = run_cli(*arguments, "--format", "json")
    found = json.loads(done.stdout)
    assert found["runs"]["good"]["AxIoU@5"]["better_than"] == "c"
    assert found["runs"]["bad"]["AxIoU@5"]["better_than"] == ""
    assert found["runs"]["bad"]["AxIoU@5"]["low"] < 0.3 < found["runs"]["bad"]["AxIoU@5"]["high"]
    assert len(found["differences"]) == 6
    again = run_cli(*arguments, "--format", "json", seed="9")
    assert again.stdout == done.stdout


def test_formats(tmp_path: Path) -> None:
    qrels, *runs = files(tmp_path)
    arguments = ("compare", "--qrels", qrels, "--runs", *runs, "--measures", "AxIoU@5", "--baseline", "bad")
    table = run_cli(*arguments).stdout.splitlines()
    assert table[0].split() == ["run", "AxIoU@5"]
    assert table[1].startswith("a good")
    assert " c [" in table[1]
    assert "against bad" in table[-1]
    assert "<sup>c</sup>" in run_cli(*arguments, "--format", "markdown").stdout
    latex = run_cli(*arguments, "--format", "latex").stdout
    assert "$^{c}$" in latex
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 1
    rows = list(csv.DictReader(io.StringIO(run_cli(*arguments, "--format", "csv").stdout)))
    assert [row["other"] for row in rows] == ["bad", "bad"]
    assert all(float(row["p"]) <= float(row["p_holm"]) <= 1 for row in rows)


def test_bad_input(tmp_path: Path) -> None:
    qrels, *runs = files(tmp_path)
    one = run_cli("compare", "--qrels", qrels, "--runs", runs[0])
    assert (one.returncode, one.stderr) == (2, "error: a comparison needs at least two runs\n")
    assert "not among the runs" in run_cli("compare", "--qrels", qrels, "--runs", *runs, "--baseline", "x").stderr
    assert "names must differ" in run_cli("compare", "--qrels", qrels, "--runs", runs[0], runs[0]).stderr
    assert "--level" in run_cli("compare", "--qrels", qrels, "--runs", *runs, "--level", "2").stderr


def test_the_same_run_twice_is_no_difference() -> None:
    qrels = qrels_from_dict({"1": [("a", 0, 10, 1)], "2": [("a", 0, 10, 1)]})
    spans = {"1": [("a", 0.0, 9.0, 1.0)], "2": [("a", 0.0, 5.0, 1.0)]}
    found = compare(scores_of(NAMES, qrels, [run_from_dict(spans, "x"), run_from_dict(spans, "y")]))
    assert {d.p for d in found.differences} == {1.0}
    other = run_from_dict({"1": [("a", 0.0, 8.0, 1.0)]}, "y")
    scores = scores_of(NAMES, qrels, [run_from_dict(spans, "x"), other])
    with pytest.raises(MeasureError, match="unknown test"):
        compare(scores, test="z")


def test_intervals_of_many_columns_are_those_of_each() -> None:
    values = np.random.default_rng(4).uniform(0, 1, (300, 4))
    values[:40, 1] = values[7] = values[:, 3] = np.nan
    low, high = bootstrap_columns(values, 0.95, 0, 4000)
    for column in range(3):
        alone = bootstrap(values[:, column], 0.95, 0, 4000)
        assert (low[column], high[column]) == pytest.approx((alone.low, alone.high), abs=0.003)
    assert np.isnan([low[3], high[3]]).all()
    assert np.isnan(bootstrap_columns(np.empty((0, 2)))).all()
