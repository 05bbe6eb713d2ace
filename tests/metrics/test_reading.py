"""Nothing about a file is passed over in silence: what makes no sense, stands twice, or is another file."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from metrics import MeasureError, MeasureWarning, as_qrels, read_qrels, read_ratings, read_run
from metrics.formats.runs import look_at_run
from tests.metrics.shared import ROOT, SHARED, needs_shared, run_cli, write


def pair(**changes: Any) -> str:
    one = {"query_id": 1, "video_name": "a", "timestamp": [0, 10], "relevance": 4}
    return json.dumps(one | changes)


def prediction(**changes: Any) -> dict[str, Any]:
    return {"video_name": "a", "timestamp": [0, 10], "model_scores": 1.0} | changes


GOOD = pair(query_id=9) + "\n"
SENSELESS_QRELS = {
    "twice": (GOOD + pair() + "\n" + pair(), "line 3: moment 'a@0-10000' stands twice in its query", "stand twice"),
    "two grades": (
        pair() + "\n" + pair(relevance=2),
        "line 2: moment 'a@0-10000' stands twice in its query, with different grades",
        "another grade",
    ),
    "beyond the scale": (
        GOOD + pair(relevance=7),
        "line 2: grade (relevance) 7: it must be at most 4",
        "beyond the scale",
    ),
    "backwards": (
        GOOD + pair(timestamp=[10, 0]),
        "line 2: timestamp [10, 0] ends before it starts",
        "end before they start",
    ),
    "negative": (GOOD + pair(timestamp=[-1, 2]), "line 2: timestamp [-1, 2] lies before 0", "before 0"),
    "trec twice": ("1 0 a@0-10 1\n\n1 0 a@0-10 1\n", "line 3: moment 'a@0-10' stands twice", "stand twice"),
    "trec negative": ("1 0 a@-5-10 1\n", "line 1: timestamp [-0.005, 0.01] lies before 0", "before 0"),
    "trec scale": ("1 0 a@0-10 5\n", "line 1: grade (relevance) 5: it must be at most 4", "beyond the scale"),
    "csv twice": ("query_id,video,start,end,grade\n1,a,0,1,2\n1,a,0,1,2\n", "line 3: moment 'a@0-1000'", "stand twice"),
}
SENSELESS_RUNS = {
    "twice": (
        {"1": [prediction(), prediction(model_scores=0.5)]},
        "query '1', prediction 2: moment 'a@0-10000' stands twice",
    ),
    "backwards": (
        {"1": [prediction(timestamp=[9, 3])]},
        "query '1', prediction 1: timestamp [9, 3] ends before it starts",
    ),
    "negative": ({"1": [prediction(timestamp=[-2, 3])]}, "query '1', prediction 1: timestamp [-2, 3] lies before 0"),
    "trec twice": ("1 Q0 a@0-10 1 2 t\n1 Q0 a@0-10 2 1 t\n", "line 2: moment 'a@0-10' stands twice"),
}


@pytest.mark.parametrize("name", SENSELESS_QRELS)
def test_senseless_qrels_are_refused_or_counted(name: str, tmp_path: Path) -> None:
    text, says, counted = SENSELESS_QRELS[name]
    path = write(tmp_path / "qrels", text)
    with pytest.raises(MeasureError) as refused:
        read_qrels(path, lenient=False)
    assert str(refused.value).startswith(f"{path}: {says}")
    with pytest.warns(MeasureWarning, match=counted):
        assert len(read_qrels(path, lenient=True)) >= 1


@pytest.mark.parametrize("name", SENSELESS_RUNS)
def test_senseless_runs_are_refused_or_counted(name: str, tmp_path: Path) -> None:
    data, says = SENSELESS_RUNS[name]
    path = write(tmp_path / "run", data)
    with pytest.raises(MeasureError) as refused:
        read_run(path, lenient=False)
    assert str(refused.value).startswith(f"{path}: {says}")
    with pytest.warns(MeasureWarning, match=r"\b1 (predictions|timestamps) "):
        read_run(path, lenient=True)


def test_the_command_line_refuses_unless_asked_to_count(tmp_path: Path) -> None:
    files = ["--qrels", write(tmp_path / "q", pair()), "--run", write(tmp_path / "r", SENSELESS_RUNS["twice"][0])]
    assert run_cli("evaluate", *files).returncode == 2
    counted = run_cli("evaluate", *files, "--lenient")
    assert (counted.returncode, counted.stderr.count("\n")) == (0, 1)
    assert counted.stderr.startswith(
        f"note: {files[3]}: 1 predictions that stand twice (the first: query '1', prediction 2)"
    )


def test_another_scale_can_be_declared(tmp_path: Path) -> None:
    path = write(tmp_path / "q", pair(relevance=7))
    assert read_qrels(path, highest=10).grades.tolist() == [7]
    assert as_qrels({"1": [("a", 0, 1, 7)]}, highest=7).grades.tolist() == [7]


def test_null_records_are_passed_over_and_counted(tmp_path: Path) -> None:
    records = [[["v", "s"], [[0, 5, 30]], [1.0]], [["v", "s"], None, None], [["v", "t"], None, None]]
    with pytest.warns(MeasureWarning, match=r"2 records are null \(the first: record 2\) and passed over"):
        run = read_run(write(tmp_path / "run", records))
    assert (run.queries, run.end.tolist()) == (("v s",), [5.0])


def test_predictions_may_be_objects(tmp_path: Path) -> None:
    lists = [{"query_id": 1, "predictions": [["a", 0, 10, 2.0], ["b", 1, 2, 1.0]]}]
    objects = [
        {"query_id": 1, "predictions": [prediction(model_scores=2.0), prediction(video_name="b", timestamp=[1, 2])]}
    ]
    mixed = [{"query_id": 1, "predictions": [lists[0]["predictions"][0], objects[0]["predictions"][1]]}]  # type: ignore[index]
    runs = [read_run(write(tmp_path / "run", data)) for data in (lists, objects, mixed)]
    assert [(run.videos, run.start.tolist(), run.scores.tolist()) for run in runs] == [(["a", "b"], [0, 1], [2, 1])] * 3


QRELS_FILES = {
    "csv": 'query_id,query,video_name,start,end,relevance\n1,"one, two",v,0,5,3\n',
    "tsv by id": "query_id\tmoment_id\tgrade\n1\tv@0-5000\t3\n",
    "activitynet": {"v": {"duration": 9, "timestamps": [[0, 5]], "sentences": ["one"]}},
    "tacos": {"v": {"fps": 10, "num_frames": 90, "timestamps": [[0, 50]], "sentences": ["one"]}},
}


@pytest.mark.parametrize("name", QRELS_FILES)
def test_more_files_are_recognised(name: str, tmp_path: Path) -> None:
    qrels = read_qrels(write(tmp_path / "qrels", QRELS_FILES[name]))
    assert (qrels.videos, qrels.start.tolist(), qrels.end.tolist()) == (["v"], [0.0], [5.0])
    assert qrels.queries == (("1",) if name.startswith(("csv", "tsv")) else ("v#1",))


SWAPPED_AS_QRELS: dict[str, Any] = {
    "ranking": {"1": [prediction()]},
    "predictions": [{"query_id": 1, "predictions": []}],
    "trec": "1 Q0 a@0-10 1 2 t\n",
    "axiou": [[["v", "s"], [[0, 5, 30]], [1.0]]],
}
SWAPPED_AS_RUN: dict[str, Any] = {
    "jsonl": pair() + "\n" + pair(),
    "nested": [{"query_id": 1, "relevant_moment": []}],
    "object": {"1": [{"video_name": "a", "timestamp": [0, 1], "relevance": 1}]},
    "trec": "1 0 a@0-10 1\n",
    "axiou": [[["v", "s"], [0, 5, 30]]],
    "charades": "AB 1 2##someone opens\n",
    "activitynet": QRELS_FILES["activitynet"],
}


@pytest.mark.parametrize("name", SWAPPED_AS_QRELS)
def test_a_run_given_as_qrels_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="are qrels and run swapped"):
        read_qrels(write(tmp_path / "file", SWAPPED_AS_QRELS[name]))


@pytest.mark.parametrize("name", SWAPPED_AS_RUN)
def test_qrels_given_as_a_run_are_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="are qrels and run swapped"):
        read_run(write(tmp_path / "file", SWAPPED_AS_RUN[name]))


def test_ratings_and_video_indices_are_named(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="raw ratings"):
        read_qrels(write(tmp_path / "file", "pair_id,worker,relevance\n1,2,3\n"))
    with pytest.raises(MeasureError, match="video index file"):
        read_qrels(write(tmp_path / "file", {"v": [10.5, 3]}))


@pytest.mark.parametrize(("text", "says"), [(None, "no such file"), ("", "empty"), (pair(), "look like qrels")])
def test_a_look_at_the_run_says_what_is_plainly_wrong(text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "run" if text is None else write(tmp_path / "run", text)
    with pytest.raises(MeasureError, match=says):
        look_at_run(path)


def test_standard_input_is_read(tmp_path: Path) -> None:
    qrels = write(tmp_path / "q", pair())
    command = [sys.executable, "-m", "metrics", "evaluate", "--qrels", str(qrels), "--run", "-"]
    done = subprocess.run(
        command, cwd=ROOT, input=json.dumps({"1": [prediction()]}), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "1.0000" in done.stdout


def _heed_ctrl_c() -> None:
    """A shell lets what it runs in the background ignore the signal, and that is inherited."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    fifo = tmp_path / "run"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "metrics", "evaluate", "--qrels", str(fifo), "--run", str(fifo)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, preexec_fn=_heed_ctrl_c)
    with fifo.open("w"):  # opens when the process reads
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")


@needs_shared
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("tvr/tvr_val_release.jsonl", 10895),
        ("charades_sta/charades_sta_test.txt", 3720),
        ("charades_sta/charades_sta_train.txt", 12408),
        ("activitynet_captions/train.json", 37421),
        ("activitynet_captions/val_1.json", 17505),
        ("activitynet_captions/val_2.json", 17031),
    ],
)
def test_the_fields_annotations_are_read(name: str, rows: int) -> None:
    assert len(read_qrels(SHARED / "data" / name)) == rows


def test_a_large_file_is_read_in_bounded_time(tmp_path: Path) -> None:
    """Not a benchmark: that a hundred thousand lines do not take a minute, on any machine."""
    lines = [f"{n // 100} Q0 v{n % 97}@{n}-{n + 5} 1 {-n} me" for n in range(100_000)]
    path = write(tmp_path / "run", "\n".join(lines))
    started = time.perf_counter()
    assert read_run(path).scores.size == 100_000
    assert time.perf_counter() - started < 60


ONE_LINE = {
    "jsonl": {"query_id": 1, "video_name": "a", "timestamp": [0, 5], "relevance": 4},
    "tvr": {"desc_id": 1, "vid_name": "a", "ts": [0, 5], "type": "v", "desc": "He sits."},
    "qvhighlights": {"qid": 1, "vid": "a", "relevant_windows": [[0, 5]]},
    "didemo": {"annotation_id": 1, "video": "a", "times": [[0, 5]]},
}


@pytest.mark.parametrize("format", ONE_LINE)
def test_a_file_of_one_line_is_read_whether_its_format_is_named_or_not(format: str, tmp_path: Path) -> None:
    path = write(tmp_path / "qrels.jsonl", json.dumps(ONE_LINE[format]) + "\n")
    assert read_qrels(path, format).end.tolist() == read_qrels(path).end.tolist() == [5.0]


ONE = "query_id,video_name,start,end,relevance\n1,v,0,10,4\n"
TABLES = {
    "white space": "query_id, video_name , start, end, relevance\n1, v , 0, 10, 4 \n",
    "white space and quotes": 'query_id, video_name, start, end, relevance\n1, "v", 0, 10, 4\n',
    "capitals": "Query_ID,Video_Name,Start,End,Relevance\n1,v,0,10,4\n",
    "clock": "query_id,video_name,start,end,relevance\n1,v,0:00:00,00:10.0,4\n",
    "decimal commas": "query_id;video_name;start;end;relevance\n1;v;0,0;10,0;4\n",
    "grades with a point": "query_id,video_name,start,end,relevance\n1,v,0,10,4.0\n",
    "TREC with a point": "1 0 v@0-10000 4.0\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_read_however_they_are_written(name: str, tmp_path: Path) -> None:
    assert rows_of(write(tmp_path / "qrels", TABLES[name])) == rows_of(write(tmp_path / "one.csv", ONE))


def rows_of(path: Path) -> list[Any]:
    qrels = read_qrels(path)
    return [(query, rows) for query, rows in qrels.rows(qrels.grades)]


def test_a_time_that_is_neither_seconds_nor_a_clock(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels.csv", ONE.replace("10,4", "1:99,4"))
    with pytest.raises(
        MeasureError, match=r"line 2: end is '1:99'; it must be a number of seconds, or a time as 1:02:03\.5"
    ):
        read_qrels(path)


def test_grades_below_0_are_not_relevant_in_trec(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels", "1 0 a@0-10 3\n1 0 b@0-10 -2\n")
    with pytest.warns(MeasureWarning, match=r"1 grade below 0 counts as 0, as in trec_eval \(the first: line 2\)"):
        assert read_qrels(path).grades.tolist() == [3, 0]


def test_a_grade_with_a_fraction_is_an_error_in_trec(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match=r"line 1: grade \(relevance\) is 3\.5; it must be an integer"):
        read_qrels(write(tmp_path / "qrels", "1 0 a@0-10 3.5\n"))


def test_ratings_are_read_as_pandas_writes_them(tmp_path: Path) -> None:
    path = write(tmp_path / "ratings.csv", "Pair_ID, worker, relevance\n1, a, 3.0\n1, b, 2.0\n")
    assert read_ratings(path).grade.tolist() == [3, 2]


@pytest.mark.parametrize(
    "pointer",
    ["version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n", "/annex/objects/MD5E-s12--abc.json\n"],
)
def test_a_pointer_is_not_the_file(pointer: str, tmp_path: Path) -> None:
    path = write(tmp_path / "run.json", pointer)
    for read in (read_qrels, read_run):
        with pytest.raises(MeasureError, match=r"run\.json: is a pointer of (Git LFS|git-annex), not the file itself"):
            read(path)
