"""`python -m metrics evaluate` on every format."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metrics import CONVENTIONS
from metrics.measures.names import TABLES
from tests.metrics.shared import ROOT, SHARED, needs_shared, run_cli, write

MOMENTS = {"1": [("a", 0, 10, 4), ("b", 0, 10, 2)], "2": [("b", 5, 9, 3)], "3": [("c", 0, 1, 0)]}
SPANS = {"1": [("b", 0.0, 10.0, 2.5), ("a", 0.0, 9.5, 1.5)], "2": [("b", 5.0, 9.0, 1.0)]}
INDEX = {"a": [20.0, 0], "b": [20.0, 1], "c": [20.0, 2]}


def record(query: str, video: str, start: float, end: float, grade: int) -> dict[str, Any]:
    return {"query_id": int(query), "video_name": video, "timestamp": [start, end], "relevance": grade}


def stamp(video: str, start: float, end: float) -> str:
    return f"{video}@{round(start * 1000)}-{round(end * 1000)}"


QRELS = {
    "jsonl": "\n".join(json.dumps(record(q, *m)) for q, found in MOMENTS.items() for m in found),
    "nested": [
        {"query_id": int(q), "query": "", "relevant_moment": [record(q, *m) for m in found]}
        for q, found in MOMENTS.items()
    ],
    "object": {q: [record(q, *m) for m in found] for q, found in MOMENTS.items()},
    "trec": "\n".join(f"{q} 0 {stamp(*m[:3])} {m[3]}" for q, found in MOMENTS.items() for m in found),
}
LISTS = [
    {"query_id": int(q), "desc": "", "predictions": [[INDEX[v][1], s, e, x] for v, s, e, x in found]}
    for q, found in SPANS.items()
]
RUNS = {
    "ranking": {
        q: [{"video_name": v, "timestamp": [s, e], "model_scores": x} for v, s, e, x in found]
        for q, found in SPANS.items()
    },
    "predictions": LISTS,
    "tvretrieval": {"video2idx": {v: n for v, (_, n) in INDEX.items()}, "VCMR": LISTS},
    "trec": "\n".join(
        f"{q} Q0 {stamp(v, s, e)} {n} {x} mine" for q, found in SPANS.items() for n, (v, s, e, x) in enumerate(found)
    ),
}


def evaluate(*arguments: object, seed: str = "") -> dict[str, Any]:
    done = run_cli("evaluate", *arguments, "--format", "json", seed=seed)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
    return found


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("qrels", QRELS)
def test_formats_tell_themselves_and_agree(qrels: str, run: str, tmp_path: Path) -> None:
    files = (write(tmp_path / "q", QRELS[qrels]), write(tmp_path / "r", RUNS[run]))
    index = write(tmp_path / "videos.json", {"train": INDEX})
    found = evaluate("--qrels", files[0], "--run", files[1], "--videos", index)
    assert list(found) == ["convention", "queries", "measures", "per_query"]
    assert (found["convention"], found["queries"], len(found["measures"])) == ("paper", 2, 9)
    first = (2 + 4 / 1.5849625007211562) / (4 + 2 / 1.5849625007211562)
    assert found["measures"]["nDCG_IoU(iou=0.7)@10"] == pytest.approx((first + 1) / 2)
    assert found["per_query"]["1"]["nDCG_IoU(iou=0.7)@10"] == pytest.approx(first)
    assert list(found["per_query"]) == ["1", "2"]


@pytest.mark.parametrize("convention", [name for name in CONVENTIONS if name not in ("paper", "released", "spr")])
def test_a_convention_prints_the_table_of_its_evaluator(convention: str, tmp_path: Path) -> None:
    judged = "\n".join(json.dumps(record(str(n), "a", 0, 20, 1)) for n in range(2))
    found = {n: [{"video_name": "a", "timestamp": [0, 20], "score": 1.0}] for n in range(2)}
    files = ("--qrels", write(tmp_path / "q", judged), "--run", write(tmp_path / "r", found))
    done = run_cli("evaluate", *files, "--convention", convention)
    assert done.returncode == 0, done.stderr
    names = [line.rsplit("  ", 1)[0].rstrip() for line in done.stdout.splitlines()[1:]]
    assert names == [name for name in TABLES[convention] if not name.startswith("HL-")]
    assert convention == "stal" or "0.0000" not in done.stdout.split()  # its standard deviation is 0


def test_measures_have_the_papers_names_if_asked_for(tmp_path: Path) -> None:
    files = ("--qrels", write(tmp_path / "q", QRELS["trec"]), "--run", write(tmp_path / "r", RUNS["trec"]))
    found = evaluate(*files, "--measures", "nDCG_IoU(iou=0.5)@10", "mIoU", "--names", "paper")
    assert list(found["measures"]) == ["NDCG@10, IoU≥0.5", "mIoU"]


def test_a_format_that_is_named_is_taken(tmp_path: Path) -> None:
    """Also where the beginning of the file looks like another one."""
    files = ("--qrels", write(tmp_path / "q", QRELS["trec"]), "--run", write(tmp_path / "r", {"1": [{
        "video_name": "b", "timestamp": [0, 10], "model_scores": 1, "relevance": 0}], "ts": []}))  # fmt: skip
    assert evaluate(*files, "--format-run", "ranking")["queries"] == 2


def test_formats_can_be_named(tmp_path: Path) -> None:
    files = ("--qrels", write(tmp_path / "q", QRELS["nested"]), "--run", write(tmp_path / "r", RUNS["ranking"]))
    assert evaluate(*files, "--format-qrels", "nested", "--format-run", "ranking")["queries"] == 2
    assert run_cli("evaluate", *files, "--format-run", "trec").returncode == 2


def test_side_file_gives_exact_times(tmp_path: Path) -> None:
    side = write(tmp_path / "moments.csv", "moment_id,video,start,end\nm1,a,0,10\np1,a,0,5\n")
    qrels, run = write(tmp_path / "q", "1 0 m1 4\n"), write(tmp_path / "r", "1 Q0 p1 1 0.5 x\n")
    found = evaluate("--qrels", qrels, "--run", run, "--moments", side)
    assert found["measures"]["nDCG_IoU(iou=0.5)@10"] == 1.0
    assert found["measures"]["nDCG_IoU(iou=0.7)@10"] == 0.0


def test_reversed_predictions_are_tolerated_where_asked(tmp_path: Path) -> None:
    qrels = write(tmp_path / "q", QRELS["jsonl"])
    run = {"1": [{"video_name": "a", "timestamp": [10, 0], "model_scores": 1}]}
    files = ("--qrels", qrels, "--run", write(tmp_path / "r", run))
    for allowed in (["--lenient"], ["--convention", "released"]):
        assert set(evaluate(*files, *allowed)["measures"].values()) == {0.0}
    refused = run_cli("evaluate", *files)
    assert refused.returncode == 2
    assert "query '1', prediction 1: timestamp [10, 0] ends before it starts" in refused.stderr


def test_no_query_with_anything_to_find_is_null_not_nan(tmp_path: Path) -> None:
    qrels = write(tmp_path / "q", "1 0 a@0-10 0\n")
    found = evaluate("--qrels", qrels, "--run", write(tmp_path / "r", "1 Q0 a@0-10 1 1.0 x\n"))
    assert found["queries"] == 0
    assert set(found["measures"].values()) == {None}


def test_table_and_csv(tmp_path: Path) -> None:
    files = ("--qrels", write(tmp_path / "q", QRELS["jsonl"]), "--run", write(tmp_path / "r", RUNS["ranking"]))
    table = run_cli("evaluate", *files, "--per-query", "--convention", "released")
    assert "convention released" in table.stdout
    assert "query 2" in table.stdout
    rows = list(csv.DictReader(io.StringIO(run_cli("evaluate", *files, "--format", "csv").stdout)))
    assert len(rows) == 9
    assert {row["query"] for row in rows} == {"all"}
    assert "1 of 3 judged queries are left out" in run_cli("evaluate", *files).stderr


def test_hash_seeds_change_nothing(tmp_path: Path) -> None:
    files = ("--qrels", write(tmp_path / "q", QRELS["jsonl"]), "--run", write(tmp_path / "r", RUNS["ranking"]))
    outputs = {run_cli("evaluate", *files, "--format", "json", seed=seed).stdout for seed in ("0", "1", "7", "42")}
    assert len(outputs) == 1


def test_help_and_measures_import_nothing_heavy() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "metrics", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: python -m metrics")
    assert "argparse" in done.stderr
    assert "numpy" not in done.stderr
    heavy = "import sys, metrics.measures; print([m for m in ('django', 'torch', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", heavy], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_names_every_convention() -> None:
    printed = run_cli("evaluate", "--help").stdout
    assert [name for name in CONVENTIONS if f"{name}," not in printed and f"{name} (" not in printed] == []


@needs_shared
def test_the_authors_runs_load(tmp_path: Path) -> None:
    folder = SHARED / "data" / "tvr_ranking"
    first = json.loads((folder / "runs" / "XML_top40.json").read_text())
    names = {n: v for v, (_, n) in json.loads((folder / "video_name_duration_id.json").read_text()).items()}
    lines = [
        json.dumps(record(q["query_id"], names[p[0]], p[1], p[2], 1 + n % 4))
        for q in first
        for n, p in enumerate(q["predictions"][:20])
    ]
    qrels = write(tmp_path / "q.jsonl", "\n".join(lines))
    for run in sorted((folder / "runs").iterdir()):
        found = evaluate("--qrels", qrels, "--run", run, "--videos", folder / "video_name_duration_id.json")
        assert found["queries"] == 500
        assert 0 < found["measures"]["nDCG_IoU(iou=0.3)@40"] <= 1
