"""The command line of the systems."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from corpus.importers.rows import read_durations as lengths_of_corpus
from metrics import read_run
from metrics.formats.annotations import read_durations
from systems.commands import main
from systems.interface import CARD, SYSTEMS, system, system_in
from tests.films import write_film
from tests.systems.small import collection

ROOT = Path(__file__).parents[2]
SMALL = ["iterations=12", "batch_size=16", "hidden=16", "words=8", "language=8", "embedding=8", "validate_every=6"]


class Done(NamedTuple):
    code: int
    out: str
    err: str


def command(*words: str | Path) -> Done:
    """Run a command as `python -m metrics systems` does."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([str(word) for word in words], "reeljudge systems")
        except SystemExit as left:
            code = int(left.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A planted collection as files: features, durations, annotations and queries."""
    folder = tmp_path_factory.mktemp("planted")
    data = collection().training
    videos = data.videos
    np.savez(
        folder / "clips.npz",
        **{name: videos[n].clips for n, name in enumerate(videos.names)},  # type: ignore[arg-type]
    )
    durations = {name: [float(videos.duration[n]), n] for n, name in enumerate(videos.names)}
    (folder / "durations.json").write_text(json.dumps(durations))
    moments = [
        {
            "pair_id": n,
            "query_id": each.query.id,
            "query": each.query.text,
            "video_name": each.video,
            "timestamp": [each.start, each.end],
            "relevance": 4,
        }
        for n, each in enumerate(data.examples)
    ]
    (folder / "moments.jsonl").write_text("\n".join(map(json.dumps, moments)))
    return folder


def videos_in(files: Path) -> list[str | Path]:
    return ["--durations", files / "durations.json", "--clips", files / "clips.npz", "--clip-seconds", "3"]


def test_a_system_is_trained_indexed_and_searched_on_files(files: Path, tmp_path: Path) -> None:
    options = [word for option in [*SMALL, "longest=6"] for word in ("--option", option)]
    known: list[str | Path] = ["--annotations", files / "moments.jsonl", "--validation", files / "moments.jsonl"]
    trained = command("train", tmp_path / "stal", "--system", "stal", *videos_in(files), *known, *options)
    assert trained.code == 0, trained.err
    assert "training: 12 of 12 steps, loss " in trained.out
    assert trained.out.count("validation ") == 2
    indexed = command("index", tmp_path / "stal", *videos_in(files))
    assert indexed.code == 0, indexed.err
    search: list[str | Path] = ["--queries", files / "moments.jsonl", "--depth", "7", "--out", tmp_path / "run.json"]
    searched = command("search", tmp_path / "stal", *search)
    assert searched.code == 0, searched.err
    run = read_run(tmp_path / "run.json")
    assert np.diff(run.offsets).tolist() == [7] * len(collection().training.examples)


LENGTHS: dict[str, str] = {
    "seconds": '{"a": 20.5, "b": 3}',
    "index": '{"a": [20.5, 0], "b": [3, 1]}',
    "divided": '{"val": {"a": [20.5, 0]}, "test": {"b": 3}}',
    "annotations": '{"vid": "a", "duration": 20.5, "query": "x"}\n{"vid": "b", "duration": 3}\n',
    "list": '[{"video": "a", "duration": 20.5}, {"video": "b", "duration": 3}]',
    "captions": '{"a": {"duration": 20.5, "sentences": []}, "b": {"duration": 3}}',
    "table": "id,length\na,20.5\nb,3\n",
}


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_of_videos_are_read_from_what_tells_them(name: str, tmp_path: Path) -> None:
    file = tmp_path / "lengths"
    file.write_text(LENGTHS[name])
    assert read_durations(file) == lengths_of_corpus(file) == {"a": 20.5, "b": 3.0}


def test_a_single_annotation_tells_a_length(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"qid": 0, "vid": "a", "duration": 20.0, "relevant_windows": [[2, 6]]}\n')
    assert read_durations(tmp_path / "one.jsonl") == {"a": 20}


def test_who_trains_is_told_what_lacks_objects(files: Path, tmp_path: Path) -> None:
    objects = tmp_path / "objects.jsonl"
    objects.write_text('{"video": "training-0", "clip": 0, "name": "cup", "box": [0, 0, 1, 1]}\n')
    options = [word for option in [*SMALL, "longest=6"] for word in ("--option", option)]
    known: list[str | Path] = ["--annotations", files / "moments.jsonl", "--objects", objects]
    done = command("train", tmp_path / "stal", "--system", "stal", *videos_in(files), *known, *options)
    assert done.code == 0, done.err
    assert re.search(r"No objects are detected in \d+ of \d+ clips, and in no clip of 39 of 40 videos", done.out)


def test_words_can_be_an_encoders_token_vectors(files: Path, simcse: Path, tmp_path: Path) -> None:
    options = [word for option in [*SMALL, "longest=6"] for word in ("--option", option)]
    known: list[str | Path] = ["--annotations", files / "moments.jsonl", "--validation", files / "moments.jsonl"]
    by: list[str | Path] = ["--encoder", simcse]
    done = command("train", tmp_path / "mcn", "--system", "mcn", *videos_in(files), *known, *options, *by)
    assert done.code == 0, done.err
    assert command("index", tmp_path / "mcn", *videos_in(files), *by).code == 0
    search: list[str | Path] = ["--queries", files / "moments.jsonl", "--out", tmp_path / "run.json"]
    assert command("search", tmp_path / "mcn", *search, *by).code == 0
    without = command("search", tmp_path / "mcn", *search)
    assert without.code == 2
    assert "token vectors: none; expected (tokens, 16), as in training" in without.err


def test_features_of_films_are_computed(tmp_path: Path) -> None:
    write_film(tmp_path)
    (tmp_path / "durations.json").write_text('{"film": [10.5, 0]}')
    words: list[str | Path] = [
        "--media",
        tmp_path / "media",
        "--durations",
        tmp_path / "durations.json",
        "--clip-seconds",
        "3",
    ]
    done = command("features", tmp_path / "features", *words)
    assert (done.code, done.out) == (0, "computing features\n"), done.err
    assert np.load(tmp_path / "features" / "film.npy").shape == (4, 358)
    (tmp_path / "durations.json").write_text('{"film": [10.5, 0], "lost": [3, 1]}')
    done = command("features", tmp_path / "features", *words)
    assert (done.code, "video 'lost' has no film" in done.err) == (2, True)


def test_the_systems_are_listed_with_their_options() -> None:
    listed = command("list")
    assert listed.code == 0
    assert re.search(r"^mcn: MCN\n  seed=1 +Number that all random draws follow from\.\n", listed.out, re.MULTILINE)
    options = re.findall(r"^  (\w+)=", listed.out, re.MULTILINE)
    assert len(options) == sum(len(fields(system.options)) for system in SYSTEMS.values())


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_option_of_a_system_says_what_it_means(system: str) -> None:
    kind = SYSTEMS[system].options
    meanings = [field.metadata["meaning"] for field in fields(kind)]
    assert all(re.fullmatch(r"[^`]+\.", meaning) for meaning in meanings), meanings


def test_a_stored_system_may_have_options_that_its_kind_no_longer_has(tmp_path: Path) -> None:
    system("xml", tmp_path / "xml").keep_card()
    card = json.loads((tmp_path / "xml" / CARD).read_text())
    card["options"] |= {"stride": 0.3, "decay_every": 0}
    (tmp_path / "xml" / CARD).write_text(json.dumps(card))
    assert system_in(tmp_path / "xml").options == system("xml", tmp_path / "xml", stride=0.3).options


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--option", "colour=1"], "error: --option: 'colour=1'; expected NAME=VALUE with one of seed, "),
        (["--option", "seed=one"], "error: --option seed: 'one'; expected a value of the type int"),
        (["--option", "endpoints=yes"], "error: --option endpoints: 'yes'; expected a value of the type bool"),
        (["--clips", "nothing.npz"], "error: nothing.npz: there is no such file or folder"),
        (["--clip-seconds", "-3"], "error: argument --clip-seconds: invalid seconds value: '-3'"),
        (["--clip-seconds", "9"], "clips of 9 s: too long for"),
        (["--objects", "nothing.jsonl"], "error: nothing.jsonl: cannot be read"),
        (["--annotations", "nothing.jsonl"], "error: nothing.jsonl: there is no such file"),
    ],
)
def test_bad_input_ends_with_one_line_and_exit_code_2(
    wrong: list[str], message: str, files: Path, tmp_path: Path
) -> None:
    known: list[str | Path] = ["--annotations", files / "moments.jsonl"]
    done = command("train", tmp_path / "mcn", "--system", "mcn", *videos_in(files), *known, *wrong)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "mcn").exists()


def test_nothing_is_searched_without_a_system_or_without_queries(files: Path, tmp_path: Path) -> None:
    for line, message in (("{}", "expected an object with query_id and query"), ("", "has no queries")):
        (tmp_path / "queries.jsonl").write_text(line)
        words: list[str | Path] = ["--queries", tmp_path / "queries.jsonl", "--out", tmp_path / "run.json"]
        done = command("search", tmp_path / "mcn", *words)
        assert (done.code, message in done.err) == (2, True), done.err
    done = command("search", tmp_path / "mcn", "--queries", files / "moments.jsonl", "--out", tmp_path / "x")
    assert "holds no system; train one there first" in done.err


@pytest.mark.long
def test_the_commands_of_the_document_are_true(files: Path) -> None:
    """As they stand there, with fewer steps."""
    document = (ROOT / "docs" / "systems.md").read_text()
    block = re.search(r"<!-- run: systems -->\n```sh\n(.*?)```", document, re.S)
    assert block
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in (
        block[1]
        .replace("iterations=1000", "iterations=12")
        .replace("reeljudge ", "python -m metrics ")
        .strip()
        .splitlines()
    ):
        env = os.environ | {"DATA": str(files), "PATH": path}
        done = subprocess.run(["sh", "-c", line], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert "nDCG_IoU(iou=0.5)@20" in done.stdout


def test_shards_are_indexed_one_by_one(files: Path, tmp_path: Path) -> None:
    options = [word for option in [*SMALL, "shards=2"] for word in ("--option", option)]
    trained = command(
        "train", tmp_path / "both", "--system", "two_stage", *videos_in(files), *options,
        "--annotations", files / "moments.jsonl",
    )  # fmt: skip
    assert trained.code == 0, trained.err
    search: list[str | Path] = [
        "search",
        tmp_path / "both",
        "--queries",
        files / "moments.jsonl",
        "--out",
        tmp_path / "run.json",
    ]
    for shard in ("plan", "2"):
        assert command("index", tmp_path / "both", *videos_in(files), "--shard", shard).code == 0
    refused = command(*search)
    assert refused.code == 2
    assert "shard 1 is missing" in refused.err
    wrong = command("index", tmp_path / "both", *videos_in(files), "--shard", "3")
    assert (wrong.code, wrong.err) == (2, "error: --shard: '3'; expected plan, or a number from 1 to 2\n")
    assert "shard 1 is written" in command("index", tmp_path / "both", *videos_in(files), "--shard", "1").out
    assert command(*search).code == 0
    assert len(read_run(tmp_path / "run.json").start)


@pytest.fixture(scope="module")
def pairs(files: Path) -> list[dict[str, Any]]:
    """The pairs of a first stage: the moment prior's five first videos of each query."""
    folder = files / "first"
    assert command("train", folder, *videos_in(files), "--system", "prior", "--annotations", moments(files)).code == 0
    assert command("index", folder, *videos_in(files)).code == 0
    done = command(
        *("candidates", folder, "--queries", moments(files), "--durations", files / "durations.json"),
        *("--videos", "5", "--out", files / "pairs.jsonl"),
    )
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in (files / "pairs.jsonl").read_text().splitlines()]


def moments(files: Path) -> Path:
    return files / "moments.jsonl"


def test_candidates_are_the_first_videos_of_a_systems_moments_or_of_a_runs(
    files: Path, pairs: list[dict[str, Any]], tmp_path: Path
) -> None:
    out = tmp_path / "run.json"
    assert command("search", files / "first", "--queries", moments(files), "--out", out, "--depth", "500").code == 0
    run = read_run(tmp_path / "run.json")
    durations = json.loads((files / "durations.json").read_text())
    first = run.queries[0]
    rows = range(int(run.offsets[0]), int(run.offsets[1]))
    videos = list(dict.fromkeys(run.names[run.video[row]] for row in rows))[:5]
    assert [each["vid"] for each in pairs if each["qid"] == first] == videos
    assert all(each["duration"] == durations[each["vid"]][0] and each["query"] for each in pairs)
    of_run = command(
        *("candidates", tmp_path / "run.json", "--queries", moments(files), "--durations", files / "durations.json"),
        *("--videos", "5", "--out", tmp_path / "pairs.jsonl"),
    )
    assert of_run.out == f"{len(pairs):,} pairs of {len(run.queries):,} queries are in {tmp_path / 'pairs.jsonl'}\n"
    assert (tmp_path / "pairs.jsonl").read_text() == (files / "pairs.jsonl").read_text()


def predicted(file: Path, pairs: list[dict[str, Any]], windows: list[list[list[float]]]) -> Path:
    """What a system of single videos predicts for some pairs, as Moment-DETR and those after it write it."""
    file.write_text(
        "".join(
            json.dumps({"qid": pair["qid"], "query": pair["query"], "vid": pair["vid"], "pred_relevant_windows": each})
            + "\n"
            for pair, each in zip(pairs, windows, strict=True)
        )
    )
    return file


def rerank(files: Path, predictions: Path, out: Path, *more: str) -> Done:
    return command("rerank", "--pairs", files / "pairs.jsonl", "--predictions", predictions, "--out", out, *more)


def test_windows_are_ranked_by_both_stages_and_cut_to_their_videos(
    files: Path, pairs: list[dict[str, Any]], tmp_path: Path
) -> None:
    query = pairs[0]["qid"]
    own = [each for each in pairs if each["qid"] == query][:2]
    assert own[0]["score"] >= own[1]["score"]
    end = own[1]["duration"]
    windows = [
        [[-0.4, 4.0, 0.2], [0.0, 4.0, 0.1], [2.0, 9.0, 0.0]],
        [[3.0, end + 0.7, 1.0], [1.0, 2.0, 0.4], [end + 1, end + 2, 0.9]],
    ]
    out, file = tmp_path / "run.json", predicted(tmp_path / "predicted.jsonl", own, windows)
    done = rerank(files, file, out, "--weight", "0")
    assert (done.code, done.err) == (0, "")
    assert "2 windows were cut to their videos; 1 lay outside of them or were empty" in done.out
    assert f"{len(pairs) - 2:,} pairs have no predictions" in done.out
    found = json.loads(out.read_text())[query]
    one, other = own[0]["vid"], own[1]["vid"]
    assert [(each["video_name"], *each["timestamp"], each["model_scores"]) for each in found] == [
        (other, 3.0, end, 1.0),
        (other, 1.0, 2.0, 0.4),
        (one, 0.0, 4.0, 0.2),  # once, by its better window
        (one, 2.0, 9.0, 0.0),
    ]
    assert rerank(files, file, out, "--weight", "1").code == 0
    assert [each["video_name"] for each in json.loads(out.read_text())[query]] == [one, one, other, other]
    assert rerank(files, file, out, "--fusion", "rrf", "--depth", "1").code == 0
    [best] = json.loads(out.read_text())[query]
    assert best["model_scores"] == pytest.approx(max(0.5 / 62 + 0.5 / 61, 0.5 / 61 + 0.5 / 63))


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        ([[1.0, 2.0]], "pred_relevant_windows has [1.0, 2.0]; it must be [start, end, score]"),
        ([[1.0, "2", 0.5]], "it must be [start, end, score]"),
        ([[1.0, True, 0.5]], "it must be [start, end, score]"),
        ("x", "pred_relevant_windows"),
    ],
)
def test_windows_that_are_none_are_named(
    windows: Any, message: str, files: Path, pairs: list[dict[str, Any]], tmp_path: Path
) -> None:
    done = rerank(files, predicted(tmp_path / "bad.jsonl", pairs[:1], [windows]), tmp_path / "run.json")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_second_stage_answers_for_the_pairs_that_it_was_given(
    files: Path, pairs: list[dict[str, Any]], tmp_path: Path
) -> None:
    strange = predicted(tmp_path / "strange.jsonl", [pairs[0] | {"vid": "film"}], [[[1.0, 2.0, 0.5]]])
    assert "with video 'film' is not among the pairs" in rerank(files, strange, tmp_path / "run.json").err
    twice = predicted(tmp_path / "twice.jsonl", [pairs[0]] * 2, [[[1.0, 2.0, 0.5]]] * 2)
    assert "line 2: query" in rerank(files, twice, tmp_path / "run.json").err
    for option, value in (("--weight", "2"), ("--nms", "-1"), ("--depth", "0")):
        assert rerank(files, strange, tmp_path / "run.json", option, value).code == 2
    few = command(
        *("candidates", files / "first", "--queries", moments(files), "--durations", files / "durations.json"),
        *("--videos", "0", "--out", tmp_path / "none.jsonl"),
    )
    assert "--videos: 0; expected 1 to 1000" in few.err
