"""Search without training: what it finds, with which vectors and windows, and films searched in three commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from metrics import Evaluator, read_run
from systems.clips import codes
from systems.clips.zero_shot import standing_out
from systems.data import Data, Example, Query, Validation, Video, Videos
from systems.encoders import by_encoder
from systems.errors import SystemsError
from systems.interface import System, system, system_in
from systems.windows import Scales, windows_of
from tests.systems import towers
from tests.systems.planted import planted, with_vectors
from tests.systems.test_commands import command


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return towers.store(tmp_path_factory.mktemp("models") / "clip", steps=60)


def recall(run: Any, known: Validation, depth: int) -> float:
    measure = f"Success_IoU(iou=0.5+0.7)@{depth}"
    return float(next(iter(Evaluator([measure], known.qrels).calc(run).aggregate().values())) or 0)


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("moments", [False, True])
def test_it_finds_far_more_than_chance(seed: int, moments: bool, tmp_path: Path) -> None:
    corpus = planted(seed, training=60, test=120)
    known = Validation.of(corpus.examples, corpus.test)
    queries = with_vectors([each.query for each in corpus.examples], seed)
    found = {}
    for name in ("chance", "zero_shot"):
        made = system(name, tmp_path / name)
        if moments or name == "chance":
            made.train(Data(corpus.training.videos, corpus.training.examples))
        made.index(corpus.test)
        run = made.search(queries)
        found[name] = recall(run, known, 10), recall(run, known, 100)
    assert found["chance"][0] < 0.05
    assert found["zero_shot"][0] >= 0.3
    assert found["zero_shot"][1] >= found["chance"][1] + 0.4


def test_windows_are_as_long_as_the_moments_that_are_known(tmp_path: Path) -> None:
    videos = Videos.of([Video("a", 60.0, np.ones((20, 4), np.float32))], 3.0)
    made: Any = system("zero_shot", tmp_path, stride=0.5)
    assert made.scales == Scales(2, 8, 0.5)
    examples = [Example(Query("q", "x"), "a", 0.0, 3.0 * clips) for clips in (3, 4, 4, 4, 5)]
    made.train(Data(videos, examples))
    again: Any = system_in(tmp_path)
    assert again.scales == Scales(3, 5, 0.5)


def test_a_window_stands_out_by_the_difference_of_two_means() -> None:
    """Slowly, window by window, also at the ends of videos and over a whole one."""
    rows = np.random.default_rng(1).random(9)
    videos = Videos.of(
        [Video("a", 14.0, np.zeros((5, 1), np.float32)), Video("b", 12.0, np.zeros((4, 1), np.float32))], 3.0
    )
    windows = windows_of(videos, Scales(1, 6))
    begin, end = videos.offsets[windows.video], videos.offsets[windows.video + 1]
    found = standing_out(np.concatenate([[0], np.cumsum(rows)]), begin, end, windows, 0.25)
    for number in range(len(windows)):
        own = rows[begin[number] : end[number]].tolist()
        first, stop = int(windows.first[number]), int(windows.stop[number])
        around = own[max(0, first - (stop - first)) : first] + own[stop : stop + stop - first]
        outside = np.mean(around) if around else 0.25
        assert found[number] == pytest.approx(np.mean(own[first:stop]) - outside)


def queries_of(*vectors: list[float]) -> list[Query]:
    return [Query(f"q{n}", "words", np.array([each], np.float32)) for n, each in enumerate(vectors)]


def three(tmp_path: Path, **options: Any) -> System:
    """Videos of eight clips, of which the third to the fifth point where one query does, and have any length."""
    random = np.random.default_rng(2)
    videos = []
    for name, axis in (("a", 0), ("b", 1), ("c", 2)):
        clips = 0.1 * random.random((8, 4)).astype(np.float32)
        clips[:, 3] += 1
        clips[2:5] = 0
        clips[2:5, axis] = 5
        videos.append(Video(name, 24.0, clips))
    made = system("zero_shot", tmp_path / "system", longest=5, **options)
    made.index(Videos.of(videos, 3.0))
    return made


def test_the_best_moment_is_the_window_that_matches(tmp_path: Path) -> None:
    run = three(tmp_path).search(queries_of([1, 0, 0, 0], [0, 0.01, 0, 0]), 5)
    for query, video in ((0, "a"), (1, "b")):
        row = int(run.offsets[query])
        assert (run.names[int(run.video[row])], run.start[row], run.end[row]) == (video, 6.0, 15.0)
    assert run.scores[0] == pytest.approx(run.scores[int(run.offsets[1])], abs=0.2)  # lengths of vectors do not count


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query("q", "words"), r"query q: has no vector; expected \(1, 4\), by the model that made"),
        (Query("q", "words", np.ones((2, 3), np.float32)), r"has vectors of shape \(2, 3\); expected \(1, 4\)"),
    ],
)
def test_queries_need_vectors_of_the_clips_model(query: Query, message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemsError, match=message):
        three(tmp_path).search([query])


def test_what_is_not_indexed_or_not_whole_is_told(tmp_path: Path) -> None:
    with pytest.raises(SystemsError, match="there is no index of clips"):
        system("zero_shot", tmp_path / "none").search(queries_of([1, 0, 0, 0]))
    made = three(tmp_path)
    made.check_index()
    (made.folder / "mean.npz").unlink()
    with pytest.raises(SystemsError, match="there is no index; index a collection first"):
        made.check_index()
    nothing = Videos.of([Video("a", 0.0, np.empty((0, 4), np.float32))], 3.0)
    with pytest.raises(SystemsError, match="the videos have no clips"):
        made.index(nothing)


@pytest.mark.skipif(not codes.is_installed(), reason="faiss-cpu is not installed")
def test_an_index_of_codes_finds_the_same_and_says_its_recall(tmp_path: Path) -> None:
    corpus = planted(5, training=10, test=120)
    queries = with_vectors([each.query for each in corpus.examples[:40]], 5)
    known = Validation.of(corpus.examples[:40], corpus.test)
    runs = []
    for kind in ("flat", "ivf-pq"):
        made = system("zero_shot", tmp_path / kind, kind=kind, clips=100)
        made.index(corpus.test)
        runs.append(recall(made.search(queries), known, 10))
        made.check_index()
        assert ("of the 100 nearest clips" in made.finds()) == (kind == "ivf-pq")
    assert runs[1] >= runs[0] - 0.1


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_a_text_tower_gives_the_vectors_of_its_model(kind: str, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = towers.store(tmp_path / kind, kind)
    texts = ["a red wall", "green", "a blue wall and a yellow wall and a red wall"]
    found = by_encoder(str(folder))(texts)
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    padding: Any = {"padding": "max_length"} if kind == "siglip" else {}
    for text, vector in zip(texts, found, strict=True):
        read = tokenizer(text, truncation=True, max_length=8, return_tensors="pt", **padding)
        with torch.inference_mode():
            wanted = model(**read, pixel_values=torch.zeros(1, 3, 32, 32)).text_embeds
        assert vector.shape == (1, wanted.shape[1])
        np.testing.assert_allclose(vector / np.linalg.norm(vector), wanted.numpy(), atol=1e-5)
    other = towers.as_sentence_transformers(tmp_path / "sentences", folder)
    for one, two in zip(found, by_encoder(str(other))(texts), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_text_tower_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    folder = towers.store(tmp_path / "clip")
    (folder / "model.safetensors").unlink()
    with pytest.raises(SystemsError, match=r"text tower .*clip: cannot be loaded"):
        by_encoder(str(folder))


def films(folder: Path) -> list[str | Path]:
    """Three films as folders of pictures, two a second, in which each colour lasts for three seconds."""
    orders = {"one": "green green green", "two": "green blue green", "three": "green green green"}
    for name, colours in orders.items():
        (folder / "films" / name).mkdir(parents=True)
        for number in range(18):
            picture = towers.picture(colours.split()[number // 6], number)
            Image.fromarray(picture).save(folder / "films" / name / f"{number}.png")
    (folder / "durations.json").write_text(json.dumps({name: [9.0, n] for n, name in enumerate(orders)}))
    (folder / "queries.jsonl").write_text(json.dumps({"query_id": "blue", "query": "a blue wall"}))
    return ["--durations", folder / "durations.json", "--clip-seconds", "1"]


def test_films_are_searched_in_three_commands(model: Path, tmp_path: Path) -> None:
    collection = films(tmp_path)
    media: list[str | Path] = ["--media", tmp_path / "films", "--fps", "2", "--vision-model", model]
    done = command("features", tmp_path / "features", *media, *collection)
    assert done.code == 0, done.err
    of: list[str | Path] = ["--system", "zero_shot", "--clips", tmp_path / "features", "--option", "longest=4"]
    done = command("index", tmp_path / "zero", *of, *collection)
    assert (done.code, done.out) == (0, "indexing clips\n27 clips are indexed\n"), done.err
    search: list[str | Path] = ["--queries", tmp_path / "queries.jsonl", "--out", tmp_path / "run.json"]
    done = command("search", tmp_path / "zero", *search, "--encoder", model, "--depth", "3")
    assert done.code == 0, done.err
    assert "The index compares a query with all clips." in done.out
    run = read_run(tmp_path / "run.json")
    assert (run.videos[0], run.start[0], run.end[0]) == ("two", 3.0, 6.0)
    refused = command("search", tmp_path / "zero", *search)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "query blue: has no vector" in refused.err
    wrong = command("index", tmp_path / "zero", *of[2:], *collection)
    assert (wrong.code, "--system beside it" in wrong.err) == (2, True)


def test_clips_of_a_model_with_texts_are_means_of_directions(model: Path) -> None:
    from systems.features.media import VisionModel

    read = VisionModel(str(model))
    seen = [towers.picture("red", 1) / np.float32(255), towers.picture("blue", 2) / np.float32(255)]
    each = np.stack([read.describe([picture.astype(np.float32)]) for picture in seen])
    np.testing.assert_allclose(np.linalg.norm(each, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(read.describe([p.astype(np.float32) for p in seen]), each.mean(0), atol=1e-5)
