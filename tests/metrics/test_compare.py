"""Comparing runs: tests against SciPy, Holm by hand, and every output format."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from metrics import AxIoU, MeasureError, calc, compare, compare_scores, scores_of
from metrics.analysis.compare import bootstrap, bootstrap_columns, holm, p_value
from metrics.analysis.comparison import letter
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
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == latex.count("\\caption{") == 2
    named = run_cli(*arguments, "--measures", "R@1,0.5", "--names", "paper", "--format", "csv").stdout
    assert ',"R@1,0.5",good,' in named
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
    qrels = {"1": [("a", 0, 10, 1)], "2": [("a", 0, 10, 1)]}
    spans = {"1": [("a", 0.0, 9.0, 1.0)], "2": [("a", 0.0, 5.0, 1.0)]}
    found = compare(NAMES, qrels, {"x": spans, "y": spans})
    assert {d.p for d in found.differences} == {1.0}
    with pytest.raises(MeasureError, match="unknown test"):
        compare(NAMES, qrels, {"x": spans, "y": {"1": [("a", 0.0, 8.0, 1.0)]}}, test="z")


def test_intervals_of_many_columns_are_those_of_each() -> None:
    values = np.random.default_rng(4).uniform(0, 1, (300, 4))
    values[:40, 1] = values[7] = values[:, 3] = np.nan
    low, high = bootstrap_columns(values, 0.95, 0, 4000)
    for column in range(3):
        alone = bootstrap(values[:, column], 0.95, 0, 4000)
        assert (low[column], high[column]) == pytest.approx((alone.low, alone.high), abs=0.003)
    assert np.isnan([low[3], high[3]]).all()
    assert np.isnan(bootstrap_columns(np.empty((0, 2)))).all()


def test_values_that_hardly_differ_have_an_interval_for_bounded_means() -> None:
    ones = np.ones(20)
    low = stats.beta.ppf(0.025, 20, 1)
    assert bootstrap(ones, 0.95, 0, 100, (0.0, 1.0)).low == pytest.approx(low, abs=0.001)
    ends = bootstrap_columns(np.stack([ones, ones * 100, np.arange(20) / 20], axis=1), most=[1.0, 100.0, 1.0])
    alone = bootstrap_columns((np.arange(20) / 20)[:, None])
    assert ends[0].tolist() == pytest.approx([low, 100 * low, alone[0][0]], abs=0.1)
    assert ends[1].tolist() == [1.0, 100.0, alone[1][0]]
    found = compare("AxIoU@5", QRELS, {"one": RUNS["a_1"], "none": {"0": [("w", 0, 1, 1.0)]}})
    assert found.intervals["none", "AxIoU@5"].high > 0.2


QRELS = {str(q): [("v", 0, 10, 1)] for q in range(12)}
RUNS = {name: {q: [("v", 0, end + int(q) / 8, 1.0)] for q in QRELS} for name, end in (("a_1", 8), ("b&c", 3))}


def test_tables_of_a_comparison() -> None:
    found = compare([AxIoU @ 1, "R@1,0.5"], QRELS, RUNS, baseline="b&c")
    frame, differences = found.to_frame(), found.to_frame(differences=True)
    assert list(frame.columns) == ["run", "measure", "mean", "low", "high", "better_than"]
    assert frame.run.tolist() == ["a_1", "a_1", "b&c", "b&c"]
    assert frame["mean"].tolist() == [found.intervals[run, measure].mean for run in RUNS for measure in found.measures]
    assert frame.better_than.tolist() == ["b", "b", "", ""]
    assert differences[["run", "other"]].values.tolist() == [["a_1", "b&c"]] * 2
    assert differences.corrected.tolist() == [each.corrected for each in found.differences]
    latex = found.to_latex()
    header, first, second, *rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert latex.count("\\toprule") == latex.count("\\midrule") == latex.count("\\bottomrule") == 2
    assert "hline" not in latex
    assert rows[0] == r"measure & run $-$ other & difference & effect & p (Holm) \\"
    assert rows[1].startswith(r"AxIoU@1 & a\_1 $-$ b\&c & +0.5000 [")
    assert rows[1].endswith(r"& $<$ .0001 \\")
    assert header == r"run & AxIoU@1 & Success\_IoU(iou=0.5)@1 \\"
    assert first.startswith(r"a a\_1 & 0.8688$^{b}$ [")
    assert second.startswith(r"b b\&c & 0.3687 [")
    markdown = found.to_markdown().splitlines()
    assert markdown[0] == "| run | AxIoU@1 | Success_IoU(iou=0.5)@1 |"
    assert markdown[2].startswith("| a a_1 | 0.8688<sup>b</sup> [")
    assert markdown[-1] == found.caption()
    assert "<td>b b&amp;c</td>" in found._repr_html_()
    assert found.intervals["a_1", "AxIoU@1"].mean == pytest.approx(0.86875)
    assert compare_scores(scores_of([AxIoU @ 1, "R@1,0.5"], QRELS, RUNS), "b&c") == found


def test_a_name_stays_a_name_in_latex_and_markdown() -> None:
    hostile, other = "\\input{/etc/passwd}$^~|\n% \x02", "}&#_"
    found = compare(AxIoU @ 1, QRELS, dict(zip((hostile, other), RUNS.values(), strict=True)), baseline=other)
    latex, escaped = found.to_latex(), r"\textbackslash{}input\{/etc/passwd\}\$\textasciicircum{}\textasciitilde{}| \%"
    assert latex.count(escaped) == 2
    assert "\\input" not in latex
    assert "against \\}\\&\\#\\_," in latex
    rows = [line for line in found.to_markdown().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {3, 6}


def test_tables_have_the_papers_names_if_asked_for() -> None:
    found = compare(["R@1,0.5", "mAP"], QRELS, RUNS, "qvhighlights")
    assert found.cells(names="paper")[0] == ["run", "MR-full-R1@0.5", "MR-full-mAP"]
    assert {*found.to_frame(names="paper").measure} == {"MR-full-R1@0.5", "MR-full-mAP"}
    assert "MR-full-mAP" in found.to_latex(names="paper")
    assert "MR-full-mAP" in found.to_markdown(names="paper")
    assert list(calc("R@1,0.5", QRELS, RUNS["a_1"]).to_frame(names="paper")) == ["R@1,0.5"]
    with pytest.raises(MeasureError, match="unknown names 'tex'"):
        found.to_latex(names="tex")  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", ["MedianRank(iou=0.5)", "StdRank(iou=0.5)", "Rejection_F1(above=0.5)"])
def test_only_means_are_compared(measure: str) -> None:
    """What is tested is the mean of the queries' values, which would stand under the name of something else."""
    run = {"1": [("a", 0, 10, 1.0)]}
    with pytest.raises(MeasureError, match="is not a mean over queries; choose measures that are"):
        compare([AxIoU @ 1, measure], {"1": [("a", 0, 10, 4)]}, {"one": run, "other": run})


@pytest.mark.parametrize(("convention", "scale"), [("paper", 1), ("tvr", 100), ("qvhighlights", 100)])
def test_numbers_are_on_the_scale_of_the_aggregates(convention: str, scale: int) -> None:
    qrels = {str(n): [("a", 0, 10, 4)] for n in range(1, 21)}
    shares = {"one": 0.4, "two": 0.7}
    runs = {name: {str(n): [("a", 0, share * n, 1.0)] for n in range(1, 21)} for name, share in shares.items()}
    scores = scores_of("Success_IoU(iou=0.5)@1", qrels, runs, convention)
    found = compare_scores(scores)
    measure = found.measures[0]
    assert scores["two"][measure] == pytest.approx(0.65 * scale)
    assert {name: found.intervals[name, measure].mean for name in runs} == {
        name: pytest.approx(each[measure]) for name, each in scores.items()
    }
    assert found.differences[0].difference == pytest.approx(found.intervals["one", measure].mean - 0.65 * scale)
    assert found.differences[0].low < found.differences[0].high <= scale
