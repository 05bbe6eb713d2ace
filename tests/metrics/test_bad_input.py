"""Bad input, through the real command line: one line, exit code 2, and the place of the mistake."""

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metrics import MeasureError, read_qrels, read_run
from tests.hostile.texts import gzip_bomb
from tests.metrics.shared import run_cli, write

PAIR = {"pair_id": 0, "query_id": 1, "query": "q", "video_name": "a", "timestamp": [0, 10], "relevance": 4}
GOOD_QRELS = json.dumps(PAIR) + "\n" + json.dumps({**PAIR, "query_id": 2}) + "\n"
GOOD_RUN = {"1": [{"video_name": "a", "timestamp": [0, 10], "model_scores": 1.0}]}
LISTED = {"query_id": 1, "predictions": []}


def pair(**changes: Any) -> str:
    return json.dumps(PAIR) + "\n" + json.dumps({**PAIR, "query_id": 2, **changes}) + "\n"


def without(field: str) -> str:
    return json.dumps(PAIR) + "\n" + json.dumps({k: v for k, v in PAIR.items() if k != field}) + "\n"


def prediction(**changes: Any) -> dict[str, Any]:
    one = {"video_name": "a", "timestamp": [0, 10], "model_scores": 1.0}
    return {"1": [one, {**one, **changes}]}


def didemo(times: Any) -> str:
    return json.dumps([{"annotation_id": 1, "video": "a", "times": times, "num_segments": 6}])


def captions(timestamps: Any) -> str:
    return json.dumps({"v": {"duration": 30, "timestamps": timestamps, "sentences": ["one", "two"]}})


def salient(**changes: Any) -> str:
    record = {"qid": 1, "vid": "a", "duration": 10, "relevant_windows": [[0, 4]]}
    return json.dumps([record | {"relevant_clip_ids": [0], "saliency_scores": [[1, 2, 3]]} | changes])


BAD_QRELS = {
    "grade text": (pair(relevance="3"), "line 2: grade"),
    "grade fraction": (pair(relevance=2.5), "line 2: grade"),
    "grade negative": (pair(relevance=-1), "line 2: grade"),
    "grade null": (pair(relevance=None), "line 2: grade"),
    "grade true": (pair(relevance=True), "line 2: grade"),
    "grade nan": (pair(relevance=float("nan")), "line 2: grade"),
    "grade huge": (GOOD_QRELS.replace('"relevance": 4', '"relevance": 1e400', 1), "line 1: grade"),
    "time nan": (pair(timestamp=[float("nan"), 1]), "line 2: timestamp (start)"),
    "time infinite": (pair(timestamp=[0, float("inf")]), "line 2: timestamp (end)"),
    "time text": (pair(timestamp=["0", 1]), "line 2: timestamp (start)"),
    "time alone": (pair(timestamp=[1]), "line 2: timestamp"),
    "end before start": (pair(timestamp=[5, 1]), "line 2: timestamp [5, 1] ends before it starts"),
    "no relevance": (without("relevance"), "line 2: field relevance is missing"),
    "no video": (without("video_name"), "line 2: field video_name is missing"),
    "no query": (without("query_id"), "line 2: field query_id is missing"),
    "query null": (pair(query_id=None), "line 2: query_id"),
    "query list": (pair(query_id=[1]), "line 2: query_id"),
    "video number": (pair(video_name=7), "line 2: video name"),
    "broken line": (GOOD_QRELS + '{"pair_id": \n', "line 3, column"),
    "not an object": (GOOD_QRELS + "[]\n", "line 3: is []"),
    "empty file": ("", "is empty"),
    "blank file": ("\n  \n", "is empty"),
    "empty list": ("[]", "qrels are empty"),
    "empty object": ("{}", "qrels are empty"),
    "a number": ("[7]", "record 1"),
    "query twice": ('[{"query_id":1,"relevant_moment":[]},{"query_id":1,"relevant_moment":[]}]', "twice"),
    "key twice": ('{"1": [], "1": []}', "twice"),
    "trec fields": ("1 0 a@0-10\n", "line 1: has 3 fields"),
    "trec grade": ("1 0 a@0-10 x\n", "line 1: grade"),
    "trec id": ("1 0 clip7 1\n", "line 1: moment id 'clip7'"),
    "trec twice": ("1 0 a@0-10 1\n1 0 a@0-10 2\n", "line 2: moment 'a@0-10' stands twice"),
    "time beyond reason": (pair(timestamp=[0, 1e30]), "line 2: timestamp (end) is 1e+30; it must be at most"),
    "didemo segments": (didemo([[0, 0], True]), "record 1: time 2: is True; it must be [first, last]"),
    "didemo segment alone": (didemo([[]]), "record 1: time 1: is []"),
    "didemo segments turned": (didemo([[2, 1]]), "record 1: time 1: is [2, 1]"),
    "captions without times": (captions([[], []]), "video 'v': has 2 sentences"),
    "captions without any time": (captions([]), "video 'v': has 2 sentences"),
    "captions with a huge time": (captions([[0, 10**400], [0, 1]]), "timestamps must be lists of finite"),
    "captions with a text": (
        captions([[0, "10"], [0, 1]]),
        "finite numbers, all equally long; timestamps[0] is [0, '10']",
    ),
    "clip beyond reason": (salient(relevant_clip_ids=[1e308]), "relevant_clip_ids must be 1 clips"),
    "clip between two": (salient(relevant_clip_ids=[0.5]), "relevant_clip_ids must be 1 clips"),
    "video beyond reason": (salient(duration=1e300), "duration is 1e+300; it must be seconds from 0"),
    "deep": ("[" * 100000, "nested too deeply"),
    "nul": ("1 0 a\0 1", "binary"),
}
BAD_RUNS = {
    "score nan": (prediction(model_scores=float("nan")), "query '1', prediction 2: score"),
    "score text": (prediction(model_scores="high"), "query '1', prediction 2: score"),
    "score null": (prediction(model_scores=None), "query '1', prediction 2: score"),
    "time nan": (prediction(timestamp=[0, float("nan")]), "query '1', prediction 2: timestamp (end)"),
    "time infinite": (prediction(timestamp=[float("-inf"), 1]), "prediction 2: timestamp (start)"),
    "time text": (prediction(timestamp=[0, "x"]), "prediction 2: timestamp (end)"),
    "time missing": ({"1": [{"video_name": "a", "model_scores": 1}]}, "prediction 1: field timestamp"),
    "time huge": (json.dumps(prediction()).replace("10]", "1" + "0" * 400 + "]", 1), "timestamp (end)"),
    "number too long": (json.dumps(prediction()).replace("10]", "1" * 5000 + "]", 1), "broken JSON"),
    "no score": ({"1": [{"video_name": "a", "timestamp": [0, 1]}]}, "model_scores"),
    "empty run": ({}, "run is empty"),
    "empty list": ([], "run is empty"),
    "unknown query": ({"7": []}, "query '7' is not in the qrels"),
    "not a list": ({"1": 5}, "must be a list"),
    "broken": ('{"1": [\n{"video_name": }]}', "line 2, column"),
    "a text": ("hello", "line 1: has 1 fields"),
    "a list of texts": (["hello"], "record 1"),
    "a later line": (json.dumps(LISTED) + "\n" + '{"query_id": \n', "line 2, column"),
    "index without file": ([{"query_id": 1, "predictions": [[5, 0, 1, 0.5]]}], "videos"),
    "short prediction": ([{"query_id": 1, "predictions": [[5, 0]]}], "prediction 1"),
    "query twice": ([{"query_id": 1, "predictions": []}, {"query_id": 1, "predictions": []}], "twice"),
    "two videos, one index": ({"video2idx": {"a": 0, "b": 0}, "VCMR": []}, "have the same index 0"),
    "index of text": ({"video2idx": {"a": "0"}, "VCMR": []}, "video2idx: video 'a' has '0'"),
    "index of a list": ({"video2idx": ["a"], "VCMR": []}, "video2idx is ['a']"),
    "no predictions": ([{"query_id": 1}], "field predictions is missing"),
    "trec twice": ("1 Q0 a@0-10 1 2.0 t\n1 Q0 a@0-10 2 1.0 t\n", "line 2: moment"),
    "trec score": ("1 Q0 a@0-10 1 nan t\n", "line 1: score"),
    "trec fields": ("1 Q0 a@0-10 1 2.0\n", "line 1: has 5 fields"),
}


def one_line(*arguments: object) -> str:
    done = run_cli("evaluate", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("name", BAD_QRELS)
def test_qrels(name: str, tmp_path: Path) -> None:
    text, says = BAD_QRELS[name]
    qrels, run = write(tmp_path / "qrels", text), write(tmp_path / "run.json", GOOD_RUN)
    assert says in one_line("--qrels", qrels, "--run", run)


def test_a_score_in_other_digits_is_read_or_named(tmp_path: Path) -> None:
    """float() reads digits of other scripts from text, but not from bytes."""
    qrels = write(tmp_path / "qrels", "1 0 a@0-10000 1\n")
    run = write(tmp_path / "run", "1 Q0 a@0-10000 1 \uff11 t\n")
    assert run_cli("evaluate", "--qrels", qrels, "--run", run).returncode == 0
    run = write(tmp_path / "run", "1 Q0 a@0-10000 1 \uff11x t\n")
    assert "line 1: score is" in one_line("--qrels", qrels, "--run", run)


@pytest.mark.parametrize(
    "wrong",
    [
        ("axioms", "--seed", "-1"),
        ("axioms", "--seed", "0.5"),
        ("stability", "--trials", "0"),
        ("noise", "--datasets", "many"),
        ("compare", "--resamples", "0"),
        ("evaluate", "--highest", "101"),
        ("annotators", "--least", "-5"),
    ],
)
def test_integers_out_of_range(wrong: tuple[str, ...], tmp_path: Path) -> None:
    done = run_cli(*wrong)
    assert done.returncode == 2
    assert f"argument {wrong[1]}: {wrong[2]} must be an integer from" in done.stderr
    assert done.stderr.count("\n") == 1


def test_noise_where_no_query_counts_is_named(tmp_path: Path) -> None:
    qrels, runs = write(tmp_path / "q", {"1": []}), [write(tmp_path / name, GOOD_RUN) for name in ("a", "b")]
    done = run_cli("noise", "--qrels", qrels, "--runs", *runs, "--datasets", 1)
    assert (done.returncode, done.stderr) == (2, "error: no query counts for every run and measure\n")


@pytest.mark.parametrize("name", BAD_RUNS)
def test_runs(name: str, tmp_path: Path) -> None:
    data, says = BAD_RUNS[name]
    qrels, run = write(tmp_path / "qrels.jsonl", GOOD_QRELS), write(tmp_path / "run", data)
    assert says in one_line("--qrels", qrels, "--run", run)


def test_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    qrels, run = write(tmp_path / "qrels.jsonl", GOOD_QRELS), write(tmp_path / "run.json", GOOD_RUN)
    binary = tmp_path / "model.bin"
    binary.write_bytes(bytes(range(256)) * 4)
    torn = tmp_path / "torn.gz"
    torn.write_bytes(gzip.compress(GOOD_QRELS.encode())[:30])
    assert "no such file" in one_line("--qrels", qrels, "--run", tmp_path / "none.json")
    assert "is a directory" in one_line("--qrels", tmp_path, "--run", run)
    assert "binary" in one_line("--qrels", binary, "--run", run)
    assert "cannot be read" in one_line("--qrels", torn, "--run", run)


def test_unknown_words(tmp_path: Path) -> None:
    files = ("--qrels", write(tmp_path / "q", GOOD_QRELS), "--run", write(tmp_path / "r", GOOD_RUN))
    assert "did you mean nDCG_IoU" in one_line(*files, "--measures", "nDGC_IoU(iou=0.5)@10")
    assert "did you mean released" in one_line(*files, "--convention", "relesed")
    assert "--format" in one_line(*files, "--format", "xml")
    assert "--run" in one_line("--qrels", "x")
    assert "unrecognized" in one_line(*files, "--colour")


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip_bomb(3072))
    assert bomb.stat().st_size < 4_000_000
    command = [sys.executable, "-m", "metrics", "evaluate", "--qrels", str(bomb), "--run", str(bomb)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=_in_two_gibibytes)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {bomb}: unpacks to more than 512 MiB; ")
    assert "REELJUDGE_UNPACK_MIB" in done.stderr


def test_json_of_too_many_lists_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    """Half a megabyte of it took 15 GiB."""
    packed = tmp_path / "run.json.gz"
    packed.write_bytes(gzip.compress(b'{"1": [' + b"[]," * 2**25 + b"[]]}", 1))
    with pytest.raises(MeasureError, match="holds 33,554,435 lists and objects of JSON; expected at most 33,554,432"):
        read_run(packed)


def _in_two_gibibytes() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


def test_the_limit_of_unpacking_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "qrels.jsonl.gz"
    packed.write_bytes(gzip.compress(GOOD_QRELS.encode() + b" " * (3 << 20)))
    monkeypatch.setenv("REELJUDGE_UNPACK_MIB", "2")
    with pytest.raises(MeasureError, match="unpacks to more than 2 MiB"):
        read_qrels(packed)
    monkeypatch.setenv("REELJUDGE_UNPACK_MIB", "4")
    assert len(read_qrels(packed).queries) == 2
    monkeypatch.setenv("REELJUDGE_UNPACK_MIB", "much")
    with pytest.raises(MeasureError, match="REELJUDGE_UNPACK_MIB is 'much'; it must be a whole number of MiB"):
        read_qrels(packed)


def test_gzip_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "qrels.jsonl.gz"
    packed.write_bytes(gzip.compress(GOOD_QRELS.encode()))
    done = run_cli("evaluate", "--qrels", packed, "--run", write(tmp_path / "r", GOOD_RUN))
    assert done.returncode == 0
