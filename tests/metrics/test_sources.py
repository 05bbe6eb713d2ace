"""Qrels and runs from dicts and data frames."""

import inspect
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas
import pytest

from metrics import (
    CONVENTIONS,
    Estimator,
    Evaluator,
    MeasureError,
    MeasureWarning,
    as_pool,
    as_qrels,
    as_run,
    calc,
    calc_aggregate,
    compare,
    compare_scores,
    estimate,
    explain,
    fuse,
    grouped,
    parse_measures,
    project,
    qrels_from_dict,
    read_qrels,
    read_ratings,
    read_run,
    run_from_dict,
    scores_of,
    temporal_nms,
)
from metrics.analysis.noise import noise_error
from tests.metrics.shared import ROOT, run_cli, write

QRELS = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)]}
RUN = {"1": [("b", 0.0, 10.0, 2.0), ("a", 0.0, 9.0, 1.0)]}


POOL = {str(n): [("a", 0, 10), ("b", 0, 10)] for n in range(3)}


def frame(found: dict[str, Any], value: str) -> Any:
    pandas = pytest.importorskip("pandas")
    rows = [(query, *span) for query, spans in found.items() for span in spans]
    return pandas.DataFrame(rows, columns=["query_id", "video_name", "start", "end", value])


def records(found: dict[str, Any], value: str) -> Any:
    return {q: [{"video_name": v, "timestamp": [s, e], value: x} for v, s, e, x in rows] for q, rows in found.items()}


SOURCES: dict[str, Callable[[dict[str, Any], str, Path], Any]] = {
    "tuples": lambda found, value, folder: found,
    "objects": lambda found, value, folder: records(found, value),
    "frame": lambda found, value, folder: frame(found, value),
    "file": lambda found, value, folder: write(folder / f"{value}.json", records(found, value)),
    "path": lambda found, value, folder: str(write(folder / f"{value}.json", records(found, value))),
}
MEASURE = "nDCG_IoU(iou=0.5)@2"
THREE = {str(n): [("a", 0, 10, 4)] for n in range(3)}


@pytest.mark.parametrize("kind", SOURCES)
def test_all_say_the_same(kind: str, tmp_path: Path) -> None:
    qrels = SOURCES[kind](QRELS, "relevance", tmp_path)
    run = SOURCES[kind](RUN, "score", tmp_path)
    assert calc_aggregate([MEASURE], qrels, run) == calc_aggregate([MEASURE], as_qrels(QRELS), as_run(RUN))


@pytest.mark.parametrize("kind", SOURCES)
def test_scores_that_rise_along_a_list_are_noted(kind: str, tmp_path: Path) -> None:
    rising = {
        "0": [("a", 0.0, 9.0, 1.0), ("b", 0.0, 9.0, 1.0)],
        "1": [("c", 0.0, 9.0, 1.0), ("b", 0.0, 10.0, 2.0)],
        "2": [("a", 0.0, 9.0, 9.0)],
    }
    run = SOURCES[kind](rising, "score", tmp_path)
    judged: dict[str, Any] = dict.fromkeys(rising, QRELS["1"])
    note = r"(run|score): scores of 1 queries rise along the list \(the first: query '1'\); .* order='score' sorts it"
    calls: list[Callable[[Any], Any]] = [
        lambda order: calc(MEASURE, judged, run, order=order)[MEASURE],
        lambda order: scores_of(MEASURE, judged, {"run": run}, order=order)["run"][MEASURE],
        lambda order: Evaluator(MEASURE, judged, order=order).calc(run)[MEASURE],
        lambda order: compare(MEASURE, judged, {"run": run, "same": run}, order=order).intervals["run", MEASURE].mean,
        lambda order: explain(MEASURE, judged, run, "1", order=order).moment.tolist(),
        lambda order: project(judged, run, 0.5, order=order).run["1"],
        lambda order: fuse({"run": run, "same": run}, order=order).videos[1:3],
        lambda order: estimate(MEASURE, judged, run, POOL, order=order).value,
    ]
    for call in calls:
        with pytest.warns(MeasureWarning, match=note):
            by_default = call(None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert call("given") == by_default
            assert call("score") != by_default
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calc("mAP_IoU(iou=0.5)", judged, run)  # goes by scores


def test_what_orders_by_score_equals_a_sorted_run() -> None:
    rng = np.random.default_rng(1)
    judged = {str(q): [("a", s, s + 5, int(rng.integers(0, 5))) for s in range(0, 40, 5)] for q in range(20)}
    lists = {q: [("a", s + 1, s + 6, float(rng.integers(0, 4))) for s in range(0, 40, 4)] for q in judged}
    best_first = {q: sorted(rows, key=lambda row: -row[3]) for q, rows in lists.items()}
    several = parse_measures(["nDCG_IoU(iou=0.5)@3", "AxIoU@3", "MedianRank(iou=0.5)", "mAP_IoU(iou=0.5)", "nDCG@3"])
    for convention, options in CONVENTIONS.items():
        wanted = [measure for measure in several if measure.definition.family in options.families]
        found = calc(wanted, judged, lists, convention, order="score").table()
        assert np.array_equal(found, calc(wanted, judged, best_first, convention).table(), equal_nan=True), convention
        if convention != "released":  # which reverses ties
            given = calc(wanted, judged, best_first, convention, order="given").table()
            assert np.array_equal(found, given, equal_nan=True), convention


def test_what_is_ranked_by_score_cannot_rise(tmp_path: Path) -> None:
    scores = {"1": {"a@0-9000": 1.0, "b@0-10000": 2.0}}
    lines = "".join(f"1 Q0 {moment} 1 {score} x\n" for moment, score in scores["1"].items())
    for run in (scores, write(tmp_path / "run.trec", lines)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert as_run(run).scores.tolist() == [2.0, 1.0]


def test_numbers_of_numpy_are_numbers() -> None:
    one = np.float32(10), np.int64(4)
    assert as_qrels({"1": [("a", np.float64(0), *one)]}).end.tolist() == [10.0]
    with pytest.raises(MeasureError, match="finite"):
        as_qrels({"1": [("a", np.bool_(False), *one)]})


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"1": [("a", 0, 10)]}, "moment 1: must be"),
        ({"1": [{"video_name": "a"}]}, "moment 1: needs"),
        ({"1": [("a", 0, 10, 2.5)]}, "grade"),
        ({"1": [("a", 0, float("nan"), 2)]}, "finite"),
        ({}, "empty"),
        (7, "int is no path"),
    ],
)
def test_bad_sources(source: Any, says: str) -> None:
    with pytest.raises(MeasureError, match=says):
        as_qrels(source)


def test_a_frame_without_a_column() -> None:
    with pytest.raises(MeasureError, match="column relevance is missing"):
        as_qrels(frame(QRELS, "colour"))


@pytest.mark.parametrize("kind", SOURCES)
def test_every_function_takes_every_source(kind: str, tmp_path: Path) -> None:
    qrels, run = SOURCES[kind](QRELS, "relevance", tmp_path), SOURCES[kind](RUN, "score", tmp_path)
    tables = as_qrels(QRELS), as_run(RUN)
    for found in (explain(MEASURE, qrels, run, "1"), explain(MEASURE, *tables, "1")):
        assert found.gain is not None
        assert found.gain.tolist() == [2.0, 4.0]
    projected = {"run": {"1": {"b@0-10000": 2.0, "a@0-10000": 1.0}}, "qrels": {"1": {"a@0-10000": 4, "b@0-10000": 2}}}
    for renamed in (project(qrels, run, 0.5), project(*tables, 0.5)):
        assert {"run": renamed.run, "qrels": renamed.qrels} == projected
    assert temporal_nms(run, 0.5).end.tolist() == [10.0, 9.0]
    runs = {"one": run, "other": tables[1]}
    expected = calc_aggregate(MEASURE, *tables)
    assert {name: scores.aggregate() for name, scores in scores_of(MEASURE, qrels, runs).items()} == {
        "one": expected,
        "other": expected,
    }
    compared = compare(MEASURE, qrels, runs)
    assert compared.runs == ("one", "other")
    assert compared.differences[0].difference == 0
    assert fuse(runs).scores.tolist() == fuse({"one": tables[1], "other": tables[1]}).scores.tolist()
    pool = {query: [span[:3] for span in spans] for query, spans in THREE.items()}
    all_of = SOURCES[kind](THREE, "relevance", tmp_path), SOURCES[kind](THREE, "score", tmp_path)
    assert estimate(MEASURE, all_of[0], all_of[1], pool).value == 1.0
    assert Estimator(MEASURE, all_of[0], pool).compare({"a": all_of[1], "b": all_of[1]}).runs == ("a", "b")
    assert noise_error([MEASURE], all_of[0], {"a": all_of[1]}, datasets=1).rmse.shape == (4, 1)


def test_moments_by_id_can_be_explained_and_projected() -> None:
    qrels, run = {"1": {"a@0-10000": 4}}, {"1": {"a@0-9000": 1.0}}
    assert explain(MEASURE, qrels, run, 1).moment.tolist() == [0]
    assert project(qrels, run, 0.5).run == {"1": {"a@0-10000": 1.0}}


SCORES = calc(MEASURE, QRELS, RUN)
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: explain(MEASURE, QRELS, RUN, "9"), "query '9' is not in the qrels"),
    (lambda: explain("nDCG@3", QRELS, RUN, "1"), "nDCG@3 cannot be explained"),
    (lambda: explain("nDCG_IoU(iou=0.5+0.7)@3", QRELS, RUN, "1"), "with one threshold"),
    (lambda: explain(MEASURE, QRELS, 7, "1"), "run: int is no path"),
    (lambda: project(QRELS, RUN, "0.5"), "threshold '0.5' must be a number"),  # type: ignore[arg-type]
    (lambda: project(None, RUN, 0.5), "qrels: NoneType is no path"),
    (lambda: temporal_nms([1], 0.5), "run: list is no path"),
    (lambda: calc([3], QRELS, RUN), "measure 3 must be a text"),  # type: ignore[list-item]
    (lambda: calc(None, QRELS, RUN), "measure None must be a text"),  # type: ignore[arg-type]
    (lambda: calc(MEASURE, QRELS, RUN, []), "unknown convention"),  # type: ignore[arg-type]
    (lambda: calc(MEASURE, {"1": None}, RUN), "query '1': is None; it must be a list of moments"),
    (lambda: calc(MEASURE, {"1": {"a@0-1": 1}, "2": [("a", 0, 1, 1)]}, RUN), "query '2' is .* the first one"),
    (lambda: calc(MEASURE, QRELS, {"1": {5: 1.0}}), "moment id 5 is not video@startms-endms"),
    (lambda: scores_of(MEASURE, QRELS, RUN), "runs is one run; it must be a mapping from name to run"),
    (lambda: scores_of(MEASURE, QRELS, "run.json"), "runs is one str; it must be a mapping from name to run"),
    (lambda: scores_of(MEASURE, QRELS, {}), "there is no run; at least one is needed"),
    (lambda: compare(MEASURE, QRELS, [as_run(RUN), as_run(RUN)]), "two runs are called 'run'; give a mapping"),
    (lambda: compare(MEASURE, QRELS, {"one": RUN}), "at least two runs"),
    (lambda: fuse({"one": RUN}), "at least two runs"),
    (lambda: fuse({"one": RUN, "other": RUN}, iou=0), "iou is 0 and k is 60; iou must be above 0"),
    (lambda: calc(MEASURE, QRELS, RUN, order="rank"), "unknown order 'rank'"),  # type: ignore[arg-type]
    (lambda: compare_scores([RUN, RUN]), "scores are needed, .* not a dict"),  # type: ignore[list-item]
    (lambda: compare_scores(SCORES), "scores are needed, .* not a Scores"),  # type: ignore[arg-type]
    (lambda: grouped(["run"]), "scores are needed, .* not a str"),  # type: ignore[list-item]
    (lambda: grouped([SCORES], 5), "pattern 5 is not a regular expression"),  # type: ignore[arg-type]
    (lambda: read_run(RUN), "a file's path is needed, and dict is none"),  # type: ignore[arg-type]
    (lambda: read_qrels(None), "a file's path is needed"),  # type: ignore[arg-type]
    (lambda: run_from_dict([1]), r"run: is \[1\]; it must be a dict from query"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "says"), WRONG, ids=[says for _, says in WRONG])
def test_what_is_of_the_wrong_kind_is_refused_in_one_line(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(MeasureError, match=says) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_lenient_has_one_default() -> None:
    """What makes no sense is refused, or counted, if it is asked for."""
    for function in (as_qrels, as_run, read_qrels, read_run, qrels_from_dict, run_from_dict):
        assert inspect.signature(function).parameters["lenient"].default is None, function.__name__
    twice = {"1": [("a", 0, 10, 1), ("a", 0, 10, 1)]}
    for read in (as_qrels, as_run, qrels_from_dict, run_from_dict):
        with pytest.raises(MeasureError, match=r"stands twice in its query \(lenient=True counts such moments\)"):
            read(twice, lenient=False)
        with pytest.warns(MeasureWarning, match="twice"):
            assert read(twice, lenient=True).start.size == 2


TWICE = {"1": [("a", 0, 10, 1.0), ("a", 0, 10, 0.5)]}


@pytest.mark.parametrize("read", [lambda run: run, as_run, run_from_dict], ids=["dict", "as_run", "run_from_dict"])
def test_what_makes_no_sense_is_refused_or_counted_by_who_scores_it(read: Callable[[Any], Any]) -> None:
    """In the same way, whether it was read before or not."""
    run, measure = read(TWICE), "Recall_IoU(iou=0.5)@2"
    for refuses in (calc, lambda *given: Evaluator(*given[:2]).calc(given[2])):
        with pytest.raises(MeasureError, match=r"stands twice in its query \(lenient=True counts such moments\)"):
            refuses(measure, QRELS, run)
    with pytest.warns(MeasureWarning, match="1 predictions that stand twice"):
        assert calc(measure, QRELS, run, "spr")[measure] == 0.5
    with pytest.warns(MeasureWarning, match="1 predictions that stand twice"):
        assert calc_aggregate(measure, QRELS, run, lenient=True)[measure] == 0.5
    with pytest.warns(MeasureWarning, match="1 predictions that stand twice"):
        assert scores_of(measure, QRELS, {"run": run}, lenient=True)["run"][measure] == 0.5


def test_qrels_that_make_no_sense_are_refused_or_counted_by_who_scores_them() -> None:
    twice = as_qrels({"1": [("a", 0, 10, 4), ("a", 0, 10, 4)]})
    with pytest.raises(MeasureError, match="stands twice"):
        calc("AxIoU@1", twice, RUN)
    with pytest.warns(MeasureWarning, match="1 moments that stand twice"):
        calc("AxIoU@1", twice, RUN, "released")


def test_errors_use_the_words_of_whoever_reads_them(tmp_path: Path) -> None:
    """The library names its parameters, and the command line its flags."""
    qrels = write(tmp_path / "q.jsonl", {"query_id": 1, "video_name": "a", "timestamp": [0, 1], "relevance": 7})
    runs = {
        "numbers": [{"query_id": 1, "predictions": [[5, 0, 1, 0.5]]}],
        "twice": {"1": [{"video_name": "a", "timestamp": [0, 1], "score": 1}] * 2},
        "rising": {"1": [{"video_name": "a", "timestamp": [0, n], "score": n} for n in (1, 2)]},
        "strange": {"1": [], "2": []},
    }
    cases: list[tuple[str, Callable[[str], Any], list[str], str, str]] = [
        ("numbers", lambda run: read_run(run), [], "videos=…", "--videos"),
        ("twice", lambda run: read_run(run, lenient=False), [], "lenient=True", "--lenient"),
        ("twice", lambda run: as_qrels(str(qrels), lenient=False), [], "highest=…", "--highest"),
        ("twice", lambda run: read_qrels(run), [], "are qrels and run swapped?", "are --qrels and --run swapped?"),
        ("strange", lambda run: calc(MEASURE, as_qrels(qrels, highest=9), run, "spr"), ["--convention", "spr"],
         "unjudged='skip'", "--unjudged skip"),
    ]  # fmt: skip
    for name, call, more, words, flag in cases:
        run = str(write(tmp_path / f"{name}.json", runs[name]))
        with pytest.raises(MeasureError, match=re.escape(words)) as raised:
            call(run)
        assert "--" not in str(raised.value)
        highest = [] if flag == "--highest" else ["--highest", 9]
        done = run_cli("evaluate", "--qrels", run if "swapped" in flag else qrels, "--run", run, *highest, *more)
        assert done.returncode == 2
        assert flag in done.stderr
        assert words not in done.stderr
    rising = write(tmp_path / "rising.json", runs["rising"])
    arguments = ["evaluate", "--qrels", qrels, "--highest", 9, "--run", rising, "--measures", "AxIoU@1"]
    warned = run_cli(*arguments)
    assert "--order score sorts it by its scores, and --order given confirms its order" in warned.stderr
    assert "order='" not in warned.stderr
    for order, value in (("given", "1.0000"), ("score", "0.5000")):
        done = run_cli(*arguments, "--order", order)
        assert (done.stderr, done.stdout.split()[-1]) == ("", value)
        assert f"convention paper, order={order}" in done.stdout


def test_no_flag_stands_in_the_library() -> None:
    folders = [ROOT / "metrics" / name for name in ("formats", "measures", "analysis")]
    texts = {path: path.read_text() for folder in folders for path in folder.glob("*.py")}
    assert len(texts) > 40
    assert [path.name for path, text in texts.items() if re.search(r"--[a-z]", text.replace("`--help`", ""))] == []


NAMES = {
    "qid, docno, label": ("qid", "docno", "label"),
    "query, doc_id, grade": ("query", "doc_id", "grade"),
    "query_id, moment_id, relevance": ("query_id", "moment_id", "relevance"),
}


def test_columns_have_other_names(tmp_path: Path) -> None:
    frames = pytest.importorskip("pandas")
    expected = calc_aggregate(MEASURE, QRELS, RUN)
    rows = [("1", "b", 0.0, 10.0, 2), ("1", "a", 0.0, 9.0, 1)]
    for query in ("qid", "query"):
        run = frames.DataFrame(
            dict(zip((query, "video", "start", "end", "score"), zip(*rows, strict=True), strict=True))
        )
        assert calc_aggregate(MEASURE, QRELS, run) == expected
    for query, moment, grade in NAMES.values():
        qrels = frames.DataFrame({query: ["1", "1"], moment: ["a@0-10000", "b@0-10000"], grade: [4, 2]})
        run = frames.DataFrame({query: ["1", "1"], moment: ["a@0-9000", "b@0-10000"], "score": [0.1, 0.9]})
        assert calc_aggregate(MEASURE, qrels, run) == expected  # by score: the rows of such a run have no order
        csv = f"{query},{moment},{grade}\n1,a@0-10000,4\n1,b@0-10000,2\n"
        assert calc_aggregate(MEASURE, write(tmp_path / "q.csv", csv), run) == expected
    wording = as_qrels(write(tmp_path / "w.csv", "qid,query,video,start,end,label\n7,a man,a,0,1,2\n"))
    assert (wording.queries, dict(wording.texts)) == (("7",), {"7": "a man"})
    twice = frames.DataFrame({"qid": [1, 1], "docno": ["a@0-1", "a@0-1"], "score": [1, 2]})
    with pytest.raises(MeasureError, match="run: row 1: moment 'a@0-1' stands twice in its query"):
        as_run(twice)


@pytest.mark.parametrize("missing", [None, float("nan"), 1.0])
def test_an_id_of_a_frame_is_an_integer_or_a_text(missing: Any) -> None:
    """pandas has NaN where a cell is empty, which is no query and no moment."""
    frames = pytest.importorskip("pandas")
    spans = {"query_id": ["1", missing], "video": "a", "start": 0, "end": [1, 2], "score": [2, 1], "relevance": 1}
    ids = {"query_id": ["1", missing], "doc_id": ["a@0-1", "a@0-2"], "score": [2, 1], "relevance": 1}
    moments = {**ids, "query_id": [1, 1], "doc_id": ["a@0-1", missing]}
    for rows, name in ((spans, "query_id"), (ids, "query_id"), (moments, "doc_id")):
        for read in (as_qrels, as_run):
            with pytest.raises(MeasureError, match=rf"row 1: {name} is .*; it must be"):
                read(frames.DataFrame(rows, dtype=object))


def test_a_frame_has_the_times_in_two_columns_or_in_one() -> None:
    frames = pytest.importorskip("pandas")
    expected = calc_aggregate(MEASURE, QRELS, RUN)
    found = [{"query_id": q, **row} for q, rows in records(QRELS, "relevance").items() for row in rows]
    arrays = [{"query_id": q, **row} for q, rows in records(RUN, "model_scores").items() for row in rows]
    for row in arrays:  # as Parquet gives them
        row["timestamp"] = np.array(row["timestamp"])
    assert calc_aggregate(MEASURE, frames.DataFrame(found), frames.DataFrame(arrays)) == expected
    found[1]["timestamp"] = [1.0]
    with pytest.raises(MeasureError, match=r"qrels: row 1: timestamp is \[1.0\]; it must be \[start, end\]"):
        as_qrels(frames.DataFrame(found))


def test_what_was_read_prints_in_a_line() -> None:
    printed = repr(as_run(RUN, name="mine")), repr(as_qrels(QRELS)), repr(as_pool(POOL))
    assert printed == (
        "<Run 'mine': 2 predictions, 1 queries>",
        "<Qrels: 2 moments, 1 queries>",
        "<Pool: 6 moments, 3 queries>",
    )


def test_qrels_and_runs_are_data_frames_and_come_back_from_them() -> None:
    pytest.importorskip("pandas")
    assert list(as_qrels(as_qrels(QRELS).to_frame()).slices()) == list(as_qrels(QRELS).slices())
    assert as_qrels(QRELS).to_frame().relevance.tolist() == [4, 2]
    assert as_run(as_run(RUN).to_frame()).scores.tolist() == as_run(RUN).scores.tolist()


def test_ratings_are_a_data_frame_with_the_ids_of_their_file(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    file = write(tmp_path / "ratings.csv", "pair_id,worker,relevance\n7,ada,3\n7,ben,4\n")
    found = read_ratings(file).to_frame()
    assert found.to_dict("list") == {"pair_id": ["7", "7"], "worker": ["ada", "ben"], "relevance": [3, 4]}


def test_a_column_of_times_may_hold_tuples() -> None:
    qrels = pandas.DataFrame({"query_id": ["1"], "video_name": ["a"], "timestamp": [(0.0, 10.0)], "relevance": [4]})
    assert as_qrels(qrels).end.tolist() == [10.0]


def test_a_lazy_frame_is_collected() -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame({"query_id": ["1"], "video": ["a"], "start": [0.0], "end": [10.0], "grade": [4]}).lazy()
    assert as_qrels(lazy).end.tolist() == [10.0]


def test_a_table_of_arrow_is_a_frame() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"query_id": ["1"], "video": ["a"], "start": [0.0], "end": [10.0], "grade": [4]})
    assert as_qrels(table).end.tolist() == [10.0]


JUDGED = [ir_measures.Qrel("1", "a@0-10000", 4), ir_measures.Qrel("1", "b@0-10000", 0)]
ANSWERED = [ir_measures.ScoredDoc("1", "b@0-10000", 0.9), ir_measures.ScoredDoc("1", "a@0-9000", 0.8)]


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_lists_of_ir_measures_are_qrels_and_runs(kind: Any) -> None:
    scores = calc(["nDCG_IoU(iou=0.5)@2", "Judged@1"], kind(JUDGED), kind(ANSWERED))
    assert scores["nDCG_IoU(iou=0.5)@2"] == pytest.approx(1 / np.log2(3))
    assert scores["Judged@1"] == 1.0
    assert as_qrels(kind(JUDGED)).grades.tolist() == [4, 0]


def test_measures_of_ir_measures_are_measures() -> None:
    wanted = [ir_measures.nDCG @ 10, ir_measures.R @ 5, ir_measures.P(rel=2) @ 5, ir_measures.AP, ir_measures.RR]
    names = ["nDCG@10", "R@5", "P(rel=2)@5", "AP", "RR"]
    ours = calc(wanted, JUDGED, ANSWERED)
    theirs = ir_measures.calc_aggregate(wanted, JUDGED, ANSWERED)
    assert [str(measure) for measure in ours.measures] == names
    assert [ours[measure] for measure in wanted] == [theirs[measure] for measure in wanted]


@pytest.mark.parametrize("name", ["Judged@10", "ERR@10", "nDCG(dcg='exp-log2')@10"])
def test_a_measure_of_ir_measures_that_means_something_else_is_refused(name: str) -> None:
    measure: Any = ir_measures.parse_measure(name)
    with pytest.raises(MeasureError, match="of ir_measures is not among the measures by moment id"):
        calc(measure, JUDGED, ANSWERED)


BEIR: dict[str, list[Any]] = {
    "corpus.jsonl": [
        {"_id": f"d{n}", "text": "", "metadata": {"video": video, "start": 0, "end": 10}}
        for n, video in enumerate("abc")
    ],
    "queries.jsonl": [{"_id": "q1", "text": "He sits."}],
}


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A collection whose documents have ids of their own."""
    for name, records in BEIR.items():
        (tmp_path / name).write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td0\t3\nq1\td1\t-1\n")
    return tmp_path


RETRIEVED = {"q1": {"d2": 0.9, "d0": 0.8}}


def test_a_run_by_the_ids_of_a_folder_has_the_times_of_its_corpus(beir: Path) -> None:
    trec = write(beir / "run.trec", "q1 Q0 d2 1 0.9 mine\nq1 Q0 d0 2 0.8 mine\n")
    runs = [RETRIEVED, write(beir / "run.json", RETRIEVED), trec]
    for run in runs:
        scores = calc(["nDCG_IoU(iou=0.5)@2", "nDCG@2"], beir, run)
        assert [scores["nDCG_IoU(iou=0.5)@2"], scores["nDCG@2"]] == pytest.approx([1 / np.log2(3)] * 2)
    done = run_cli("evaluate", "--qrels", beir, "--run", *runs[1:], "--measures", "nDCG@2", "--format", "json")
    assert {run["measures"]["nDCG@2"] for run in json.loads(done.stdout)["runs"].values()} == {scores["nDCG@2"]}


def test_an_id_without_times_is_named(beir: Path) -> None:
    with pytest.raises(MeasureError, match=r"query 'q1': moment id 'd9' is not video@startms-endms, and"):
        calc("AxIoU@1", beir, {"q1": {"d9": 1.0}})


def test_ids_of_a_side_file_serve_runs_too(tmp_path: Path) -> None:
    side = write(tmp_path / "moments.csv", "moment_id,video,start,end\nd0,a,0,10\nd1,a,20,30\n")
    qrels = read_qrels(write(tmp_path / "qrels", "1 0 d0 4\n"), moments=side)
    assert calc("Success_IoU(iou=0.5)@2", qrels, {"1": {"d1": 2.0, "d0": 1.0}}).aggregate() == {
        "Success_IoU(iou=0.5)@2": 1.0
    }
