"""Conversion loses nothing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from metrics import qrels_from_dict, read_run, run_from_dict
from metrics.formats.csv_tables import side_file
from metrics.formats.qrels import QRELS_WRITERS, read_qrels
from metrics.formats.runs import RUN_WRITERS
from metrics.formats.tables import Table
from metrics.formats.trec import run_as_trec
from tests.metrics.shared import SHARED, needs_shared, run_cli, write
from tests.metrics.worlds import worlds


def same(one: Table, other: Table) -> bool:
    columns = ("offsets", "start", "end", "scores", "grades")
    return (
        one.queries == other.queries
        and one.videos == other.videos
        and all(np.array_equal(getattr(one, c), getattr(other, c)) for c in columns if hasattr(one, c))
    )


@needs_shared
@pytest.mark.parametrize("name", ["CONQUER_top40", "ReLoCLNet_top_01", "ReLoCLNet_top_40", "XML_top40"])
@pytest.mark.parametrize("to", ["ranking", "predictions", "tvretrieval", "trec"])
def test_the_authors_runs(name: str, to: str, tmp_path: Path) -> None:
    folder = SHARED / "data" / "tvr_ranking"
    index, source = folder / "video_name_duration_id.json", folder / "runs" / f"{name}.json"
    there, back, side = tmp_path / "there", tmp_path / "back.json", tmp_path / "side.csv"
    done = run_cli("convert", "--run", source, "--to", to, "--out", there, "--videos", index, "--moments-out", side)
    assert (done.returncode, done.stderr) == (0, "")
    original = read_run(source, videos=index)
    assert same(read_run(there, videos=index, moments=side if to == "trec" else None), original)
    again = run_cli("convert", "--run", there, "--to", "predictions", "--out", back, "--videos", index)
    assert again.returncode == 0
    lists = [(r.get("query_id", r.get("desc_id")), r["predictions"]) for r in json.loads(source.read_text())]
    assert [(r["query_id"], r["predictions"]) for r in json.loads(back.read_text())] == lists
    if to in ("predictions", "tvretrieval"):
        assert read_run(there, videos=index).texts == original.texts


@given(world=worlds())
def test_any_qrels_and_runs(world: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("convert")
    judged, answered = world
    qrels, run = qrels_from_dict(judged), run_from_dict(answered)
    whole = all(judged.values()) and any(judged.values())
    for format in ("jsonl", "nested", "trec"):
        write_as = QRELS_WRITERS[format]
        if format == "nested" or whole:  # a query without moments has no line in the others
            side = write(folder / "side", side_file(qrels))
            path = write(folder / "q", write_as(qrels))
            assert same(read_qrels(path, format, side if format == "trec" else None), qrels)
    for format in ("ranking", "tvretrieval"):
        assert same(read_run(write(folder / "r", RUN_WRITERS[format](run)), format), run)
    if all(answered.values()):
        side = write(folder / "side", side_file(run))
        back = read_run(write(folder / "r", run_as_trec(run)), "trec", moments=side)
        assert sorted(back.queries) == sorted(run.queries)
        for query in run.queries:  # the order survives, also where the scores could not
            i, j = run.queries.index(query), back.queries.index(query)
            ours = list(zip(run.videos, run.start, run.end, strict=True))[run.offsets[i] : run.offsets[i + 1]]
            theirs = list(zip(back.videos, back.start, back.end, strict=True))
            assert theirs[back.offsets[j] : back.offsets[j + 1]] == ours


def test_says_when_ranks_stand_in_for_scores(tmp_path: Path) -> None:
    flat = {"1": [{"video_name": "a", "timestamp": [0, 1], "model_scores": 0.5}] * 2}
    done = run_cli("convert", "--run", write(tmp_path / "r", flat), "--to", "trec", "--lenient")
    assert done.stdout == "1 Q0 a@0-1000 1 2.0 r\n1 Q0 a@0-1000#2 2 1.0 r\n"
    assert "scores of 1 queries do not fall strictly" in done.stderr


def test_bad_words(tmp_path: Path) -> None:
    run = write(tmp_path / "r", {"1": []})
    assert "unknown run format 'xml'" in run_cli("convert", "--run", run, "--to", "xml").stderr
    assert "--videos" in run_cli("convert", "--run", run, "--to", "predictions").stderr
    assert "cannot be written" in run_cli("convert", "--run", run, "--to", "trec", "--out", tmp_path).stderr
    assert "one of the arguments" in run_cli("convert", "--to", "trec").stderr
