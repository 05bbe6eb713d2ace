"""Several runs in one table, seeds grouped, names by folder, unjudged queries, and the list of measures."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics import MeasureError, calc, parse_measure, qrels_from_dict, run_from_dict, scores_of
from metrics.analysis.comparison import grouped
from metrics.analysis.fusion import temporal_nms
from metrics.commands.main import main
from metrics.measures.definitions import DEFINITIONS
from metrics.measures.names import MEASURES
from tests.metrics.shared import write

QRELS = "1 0 a@0-10000 2\n2 0 a@0-10000 1\n3 0 a@0-10000 0\n"
NAME = "AxIoU@1"
Out = pytest.CaptureFixture[str]


def run_file(path: Path, *ends: float, query: int = 1) -> Path:
    """A run with one prediction from 0 to each end, for the queries from `query` on."""
    path.parent.mkdir(exist_ok=True)
    rows = {
        str(query + n): [{"video_name": "a", "timestamp": [0, end], "model_scores": 1}] for n, end in enumerate(ends)
    }
    return write(path, rows)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Qrels, two seeds of one model, and another model."""
    paths = [
        write(tmp_path / "qrels", QRELS),
        run_file(tmp_path / "mine_seed1.json", 10, 5),
        run_file(tmp_path / "mine_seed2.json", 8, 5),
        run_file(tmp_path / "other.json", 4, 4),
    ]
    return [str(path) for path in paths]


def printed(out: Out, *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return out.readouterr().out


def base(files: list[str]) -> list[str]:
    return ["evaluate", "--qrels", files[0], "--run", *files[1:], "--measures", NAME, "R@1,0.7"]


def test_one_table(files: list[str], capsys: Out) -> None:
    lines = printed(capsys, *base(files)).splitlines()
    assert lines[0] == "3 runs, convention paper"
    assert [line.split() for line in lines[1:]] == [
        ["measure", "mine_seed1", "mine_seed2", "other"],
        ["AxIoU@1", "0.7500", "0.6500", "0.4000"],
        ["Success_IoU(iou=0.7)@1", "0.5000", "0.5000", "0.0000"],
        ["queries", "2", "2", "2"],
    ]
    assert "query 2" in printed(capsys, *base(files), "--per-query")
    found = json.loads(printed(capsys, *base(files), "--format", "json"))
    assert found["runs"]["other"]["measures"][NAME] == 0.4
    rows = list(csv.DictReader(io.StringIO(printed(capsys, *base(files), "--format", "csv"))))
    assert [row["run"] for row in rows[::2]] == ["mine_seed1", "mine_seed2", "other"]


def test_seeds_are_grouped(files: list[str], capsys: Out) -> None:
    lines = printed(capsys, *base(files), "--group").splitlines()
    assert lines[0] == "3 runs in 2 groups, convention paper"
    assert lines[1].split() == ["measure", "mine", "(2)", "other", "(1)"]
    assert f"0.7000 ± {np.std([0.75, 0.65], ddof=1):.4f}  0.4000" in lines[2]
    found = json.loads(printed(capsys, *base(files), "--group", "--format", "json"))
    assert found["groups"]["mine"]["runs"] == ["mine_seed1", "mine_seed2"]
    assert found["groups"]["mine"]["measures"][NAME]["mean"] == pytest.approx(0.7)
    assert found["groups"]["other"]["measures"][NAME]["deviation"] is None
    assert "mine,paper,deviation" in printed(capsys, *base(files), "--group", "--format", "csv")
    assert "3 runs in 3 groups" in printed(capsys, *base(files), "--group", "no_such_thing")
    assert main([*base(files), "--group", "("]) == 2
    assert "not a regular expression" in capsys.readouterr().err


def test_names_that_are_grouped_by_default() -> None:
    qrels = qrels_from_dict({"1": [("a", 0, 10, 1)]})
    names = ["xml-seed_3", "xml-seed_12", "seed1/conquer", "seed2/conquer", "relo.1", "relo.2", "top40", "7"]
    runs = [run_from_dict({"1": [("a", 0, 10, 1.0)]}, name) for name in names]
    found = grouped(scores_of([NAME], qrels, runs))
    assert [group.name for group in found] == ["xml", "conquer", "relo", "top40", "7"]


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_equal_file_names_are_told_apart_by_folder(command: str, tmp_path: Path, capsys: Out) -> None:
    qrels = write(tmp_path / "qrels", QRELS)
    runs = [run_file(tmp_path / seed / "run.json", 10, end) for seed, end in (("one", 3), ("two", 7))]
    option = "--run" if command == "evaluate" else "--runs"
    text = printed(capsys, command, "--qrels", qrels, option, *runs, "--measures", NAME)
    assert "one/run" in text
    assert "two/run" in text


def test_unjudged_queries_are_left_out_and_counted(tmp_path: Path, capsys: Out) -> None:
    qrels, run = write(tmp_path / "q", QRELS), run_file(tmp_path / "run.json", 10, 5, 10, 10, 10)
    arguments = ["evaluate", "--qrels", str(qrels), "--run", str(run), "--measures", NAME]
    assert main([*arguments, "--format", "json"]) == 0
    done = capsys.readouterr()
    assert "2 of its queries are left out, because nobody judged them (the first is '4')" in done.err
    found = json.loads(done.out)
    assert (found["queries"], found["unjudged"], found["measures"][NAME]) == (2, 2, 0.75)
    assert main([*arguments, "--unjudged", "error"]) == 2
    assert "query '4' (and 1 more) is not in the qrels" in capsys.readouterr().err
    assert main([*arguments, "--convention", "released"]) == 2
    assert "query '4'" in capsys.readouterr().err
    assert "released, unjudged=skip" in printed(capsys, *arguments, "--convention", "released", "--unjudged", "skip")
    strangers = run_file(tmp_path / "strangers.json", 10, query=8)
    assert main([*arguments[:4], str(strangers)]) == 2
    assert "do both files use the same query ids?" in capsys.readouterr().err


@pytest.mark.parametrize("names", [["AxIoU@5"], ["nDCG_IoU(iou=0.5)@3"], ["nDCG@3"], ["mIoU", "Rank@1"]])
def test_unjudged_queries_change_no_score(names: list[str]) -> None:
    qrels: dict[str, Any] = {"1": [("a", 0, 10, 2)], "2": [("b", 0, 10, 1)]}
    known: dict[str, Any] = {"1": [("a", 0, 9, 1.0), ("b", 0, 4, 0.5)], "2": [("a", 0, 10, 2.0)]}
    strange: dict[str, Any] = {"0": [("a", 0, 10, 1.0)] * 3, **known, "9": [("b", 0, 10, 1.0)]}
    counted = run_from_dict(strange, "strange", lenient=True)  # what stands twice
    alone, among = scores_of(names, qrels, {"known": known, "strange": counted}).values()
    assert among.unjudged == ("0", "9")
    assert np.array_equal(alone.table(), among.table())
    by_id = [
        {q: {f"{v}@{s}000-{e}000": x for v, s, e, x in rows} for q, rows in source.items()}
        for source in (qrels, {**known, "0": [("a", 0, 10, 1.0)], "9": [("b", 0, 10, 1.0)]})
    ]
    assert np.array_equal(calc(names, by_id[0], by_id[1]).table(), alone.table())


def test_scores_print_shortly_and_become_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    qrels = qrels_from_dict({"1": [("a", 0, 10, 1)], "2": [("a", 0, 10, 0)]})
    scores = calc([NAME, "R@1,0.7"], qrels, run_from_dict({"1": [("a", 0, 5, 1.0)]}, "<mine>"))
    assert repr(scores) == "<Scores of '<mine>': 2 measures, 2 judged queries, convention paper>"
    assert "<td>AxIoU@1</td><td>0.5000</td>" in scores._repr_html_()
    assert "&lt;mine&gt;" in scores._repr_html_()
    frame = scores.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == [NAME, "Success_IoU(iou=0.7)@1"]
    assert frame[NAME].tolist()[0] == 0.5
    assert frame[NAME].isna().tolist() == [False, True]
    assert frame.index.tolist() == ["1", "2"]


def test_suppression_on_the_command_line(tmp_path: Path, capsys: Out) -> None:
    qrels = write(tmp_path / "q", QRELS)
    rows = [[0, 9, 1.0], [0, 10, 3.0], [5, 20, 2.0]]
    run = write(
        tmp_path / "run.json",
        {"1": [{"video_name": "a", "timestamp": row[:2], "model_scores": row[2]} for row in rows]},
    )
    text = printed(capsys, "convert", "--run", run, "--nms", "0.6", "--to", "ranking")
    assert [row["timestamp"] for row in json.loads(text)["1"]] == [[0, 10], [5, 20]]
    arguments = ["evaluate", "--qrels", qrels, "--run", run, "--measures", "AxIoU@1"]
    assert printed(capsys, *arguments).split()[-1] == "0.4500"
    assert printed(capsys, *arguments, "--nms", "0.6").split()[-1] == "0.5000"
    assert main([str(a) for a in [*arguments, "--nms", "7"]]) == 2
    with pytest.raises(MeasureError, match="must be a number from 0 to 1"):
        temporal_nms(run_from_dict({"1": []}), float("nan"))


def test_help_lists_the_measures(capsys: Out) -> None:
    for arguments in (["--help"], ["evaluate", "--help"]):
        with pytest.raises(SystemExit):
            main(arguments)
        text = capsys.readouterr().out
        for name in MEASURES:
            assert name in text
    assert {parse_measure(name).name for name in MEASURES} == set(DEFINITIONS)


def test_matrices_are_printed_as_matrices(files: list[str], capsys: Out) -> None:
    arguments = ["--qrels", files[0], "--runs", *files[1:], "--measures", NAME, "R@1,0.7"]
    lines = printed(capsys, "agreement", *arguments).splitlines()
    assert lines[0] == "agreement, convention paper"
    assert lines[3].split() == ["measure", "AxIoU@1", "R@1,0.7"]
    assert lines[4].split()[:2] == ["AxIoU@1", "1.0000"]
    assert len(lines) == 6
    lines = printed(capsys, "noise", *arguments, "--datasets", "2", "--levels", "1", "2").splitlines()
    assert [line.split()[0] for line in lines[3:6]] == ["level", "1", "2"]
    lines = printed(capsys, "stability", *arguments, "--trials", "20", "--sizes", "1", "2").splitlines()
    assert "mean of tau-b over the trials" in lines
    lines = printed(capsys, "select", *arguments).splitlines()
    assert lines[4].startswith("AxIoU@1 → ")
