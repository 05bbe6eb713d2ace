"""Training: it goes on where it was broken off, stops early, and says what is wrong."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from systems.data import Data, Objects, Validation, Videos
from systems.errors import SystemsError
from systems.interface import Progress, Report, system
from systems.neural import training
from systems.neural.description import CURVE, MODEL, description_of, model_card, write_model_card
from systems.neural.training import CHECKPOINT, BertAdam, load
from tests.systems.small import SMALL, collection, small
from tests.systems.streams.noise import noise

TRAINED = ["tef_only", "mcn", "stal_clips", "stal"]


class Broken(Exception):
    """What ends a training from outside."""


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load(folder)[0]


def breaking_after(steps: int) -> Report:
    def report(progress: Progress) -> None:
        if progress.done == steps:
            raise Broken

    return report


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_a_training_that_was_broken_off_ends_as_if_it_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimiser: str
) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    data = collection().training
    options = {"optimiser": optimiser, "validate_every": 4, "dropout": 0.1, "learning_rate": 0.01}
    small("stal", tmp_path / "whole", **options).train(data)
    with pytest.raises(Broken):
        small("stal", tmp_path / "broken", **options).train(data, breaking_after(7))
    assert (tmp_path / "broken" / CHECKPOINT).exists()
    assert not (tmp_path / "broken" / MODEL).exists()
    seen: list[int] = []
    small("stal", tmp_path / "broken", **options).train(data, lambda progress: seen.append(progress.done))
    assert seen[0] == 7
    whole, broken = weights(tmp_path / "whole"), weights(tmp_path / "broken")
    assert all(torch.equal(whole[name], broken[name]) for name in whole)
    assert (tmp_path / "whole" / CURVE).read_text() == (tmp_path / "broken" / CURVE).read_text()
    assert not (tmp_path / "broken" / CHECKPOINT).exists()


@pytest.mark.parametrize("name", TRAINED)
def test_the_same_seed_gives_the_same_run(tmp_path: Path, name: str) -> None:
    planted = collection()
    runs = []
    for folder, seed in (("one", 1), ("two", 1), ("three", 2)):
        made = small(name, tmp_path / folder, seed=seed)
        made.train(planted.training)
        made.index(planted.test)
        runs.append(small(name, tmp_path / folder, seed=seed).search([planted.examples[0].query], 20))
    assert len(runs[0].start) == 20
    assert runs[0].scores.tolist() == runs[1].scores.tolist()
    assert runs[0].stamps == runs[1].stamps
    assert runs[0].scores.tolist() != runs[2].scores.tolist()
    assert (np.diff(runs[0].scores) <= 0).all()


def test_training_stops_when_validations_get_no_better(tmp_path: Path) -> None:
    """A learning rate that moves nothing: the first validation stays the best."""
    options = {"learning_rate": 1e-9, "validate_every": 1, "patience": 3}
    small("mcn", tmp_path / "mcn", **options).train(collection().training)
    curve = json.loads((tmp_path / "mcn" / CURVE).read_text())
    assert len(curve["losses"]) == 4
    assert [step for step, _ in curve["validations"]] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["mcn", "stal"])
def test_a_validation_reports_while_it_searches(tmp_path: Path, name: str) -> None:
    """A worker that is silent for long loses its job."""
    data, reports = collection().training, list[Progress]()
    assert data.validation is not None
    small(name, tmp_path / name, iterations=5, validate_every=5).train(data, reports.append)
    assert [progress.done for progress in reports if progress.loss is not None] == [1, 2, 3, 4, 5]
    validating = [progress for progress in reports if progress.loss is None]
    assert len(validating) > len(data.validation.queries)
    assert {(progress.done, progress.total) for progress in validating} == {(4, 5)}


@pytest.mark.parametrize("name", ["chance", "stal", "two_stage"])
def test_a_search_reports_each_query_and_refuses_none(tmp_path: Path, name: str) -> None:
    options = SMALL | {"iterations": 2} if name != "chance" else {}
    made, planted = system(name, tmp_path / name, **options), collection()
    made.train(replace(planted.training, validation=None))
    made.index(planted.test)
    reports: list[Progress] = []
    made.search([example.query for example in planted.examples[:3]], 10, reports.append)
    assert [(progress.done, progress.total) for progress in reports] == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(SystemsError, match="there are no queries; expected at least one to search for"):
        made.search([])


def test_what_is_stored_is_the_best_of_the_validations(tmp_path: Path) -> None:
    data = collection().training
    assert data.validation is not None
    made = small("mcn", tmp_path / "mcn", validate_every=2, learning_rate=0.05, optimiser="adam")
    made.train(data)
    values = [value for _, value in json.loads((tmp_path / "mcn" / CURVE).read_text())["validations"]]
    again = small("mcn", tmp_path / "mcn", validate_every=2, learning_rate=0.05, optimiser="adam")
    assert again.validated(data.validation) == max(values)  # type: ignore[attr-defined]


def few_queries(name: str) -> Data:
    """Return training data whose validation set asks for five of forty videos."""
    data = data_for(name)
    return replace(data, validation=Validation.of(data.examples[:5], data.videos, "nDCG_IoU(iou=0.5)@20"))


def data_for(name: str) -> Data:
    return noise(40) if name == "xml" else replace(collection().training, videos=with_objects())


def with_objects() -> Videos:
    """Return the planted videos with an object in every third clip, whose box says in which."""
    videos = collection().training.videos
    clip = np.arange(0, len(videos.clips), 3)
    box = np.repeat((clip / len(videos.clips)).astype(np.float32)[:, None], 4, 1)
    return replace(videos, objects=Objects(clip, clip % 2, box, ("cup", "dog")))


@pytest.mark.parametrize("name", ["mcn", "xml"])
def test_some_videos_of_a_validation_are_drawn_once_by_the_seed_beside_all_answers(name: str) -> None:
    whole = few_queries(name).validation
    assert whole is not None
    some = whole.among(12, seed=7)
    names = some.videos.names
    assert len(names) == 12
    assert set(whole.qrels.videos) <= set(names)
    assert names == whole.among(12, seed=7).videos.names
    assert names != whole.among(12, seed=8).videos.names
    for number, each in enumerate(names):
        own, found = whole.videos[whole.videos.number[each]], some.videos[number]
        assert (found.name, found.duration) == (own.name, own.duration)
        assert (found.clips == own.clips).all()
        assert (found.subtitles is None) == (own.subtitles is None)
        assert found.subtitles is None or own.subtitles is None or (found.subtitles == own.subtitles).all()
    if (mine := some.videos.objects) and (every := whole.videos.objects):
        rows = [whole.videos.number[each] for each in names]
        clips = np.concatenate([np.arange(*whole.videos.offsets[row : row + 2]) for row in rows])
        there = np.isin(every.clip, clips)
        assert clips[mine.clip].tolist() == every.clip[there].tolist()
        assert (mine.box == every.box[there]).all()
    assert set(whole.among(2, seed=7).videos.names) == set(whole.qrels.videos)  # all answers, however many
    assert whole.among(0, seed=7) is whole
    assert whole.among(40, seed=7) is whole


@pytest.mark.parametrize("name", ["stal", "xml"])
def test_a_training_says_among_how_many_videos_it_was_validated(name: str, tmp_path: Path) -> None:
    data, options = few_queries(name), SMALL | {"iterations": 4, "validate_every": 2}
    options = options if name == "stal" else {"iterations": 4, "validate_every": 2, "hidden": 16, "batch_size": 6}
    folders, reports = {most: tmp_path / f"{most}" for most in (0, 12, 40)}, dict[int, list[Progress]]()
    for most, folder in folders.items():
        reports[most] = []
        system(name, folder, **options, validation_videos=most).train(data, reports[most].append)
        write_model_card(folder)
    words = "12 of 40 videos, drawn by the seed beside those that answer"
    assert [each.text for each in reports[12] if "rank" in each.text] == [f"validations rank {words}"]
    assert f" over {words}" in model_card(folders[12])
    assert description_of(folders[12])["validation_videos"] == [12, 40]
    assert data.validation is not None
    made: Any = system(name, folders[12], **options, validation_videos=12)
    assert made.validated(data.validation.among(12, seed=1)) == description_of(folders[12])["validation"]
    # Without the option, and where it names as many videos as there are, nothing is drawn.
    assert not [each.text for each in (*reports[0], *reports[40]) if "rank" in each.text]
    assert (folders[0] / MODEL).read_bytes() == (folders[40] / MODEL).read_bytes()
    assert (folders[0] / CURVE).read_bytes() == (folders[40] / CURVE).read_bytes()
    assert " over all videos" in model_card(folders[0])


def test_a_done_training_is_not_done_again(tmp_path: Path) -> None:
    small("mcn", tmp_path / "mcn").train(collection().training)
    before = (tmp_path / "mcn" / MODEL).stat().st_mtime_ns
    small("mcn", tmp_path / "mcn").train(collection().training)
    assert (tmp_path / "mcn" / MODEL).stat().st_mtime_ns == before


def test_a_folder_is_of_one_system_with_one_set_of_options(tmp_path: Path) -> None:
    small("mcn", tmp_path / "mcn").train(collection().training)
    for name, seed in (("mcn", 2), ("stal", 1)):
        with pytest.raises(SystemsError, match="holds another system"):
            small(name, tmp_path / "mcn", seed=seed)


def test_features_that_are_not_numbers_end_a_training_clearly(tmp_path: Path) -> None:
    data = collection().training
    clips = data.videos.clips.copy()
    clips[:] = np.nan
    wrong = Data(replace(data.videos, clips=clips), data.examples)
    with pytest.raises(SystemsError, match="step 1: the loss is nan; expected a number"):
        small("mcn", tmp_path / "mcn").train(wrong)
    assert not (tmp_path / "mcn" / MODEL).exists()


def test_nothing_can_be_searched_before_it_is_trained_and_indexed(tmp_path: Path) -> None:
    made = small("stal_clips", tmp_path / "stal")
    with pytest.raises(SystemsError, match="train the system first"):
        made.index(collection().test)
    made.train(collection().training)
    with pytest.raises(SystemsError, match="index a collection first"):
        made.search([collection().examples[0].query])


@pytest.mark.parametrize("name", ["mcn", "stal_clips", "stal"])
def test_other_features_than_those_of_training_are_refused(tmp_path: Path, name: str) -> None:
    made = small(name, tmp_path / name)
    made.train(collection().training)
    test = collection().test
    with pytest.raises(SystemsError, match="the clips have 63 features; expected 64, as in training"):
        made.index(replace(test, clips=test.clips[:, :63]))


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may grow beyond a kilobyte."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    data, folder = collection().training, tmp_path / "mcn"
    with pytest.raises(Broken):
        small("mcn", folder).train(data, breaking_after(5))
    before = (folder / CHECKPOINT).read_bytes()
    with full_disk(), pytest.raises(SystemsError, match="cannot be stored"):
        small("mcn", folder).train(data)
    assert (folder / CHECKPOINT).read_bytes() == before
    assert [file.name for file in folder.glob("*.new")] == []
    small("mcn", folder).train(data)
    assert (folder / MODEL).exists()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    made = small("mcn", tmp_path / "mcn")
    made.train(collection().training)
    (tmp_path / "mcn" / MODEL).write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(SystemsError, match=r"model\.safetensors: cannot be read"):
        small("mcn", tmp_path / "mcn").index(collection().test)


def test_bertadam_is_a_loop_over_its_formula() -> None:
    network = torch.nn.Linear(3, 2)
    optimiser = BertAdam(network, 0.1)
    values = [each.detach().numpy().copy() for each in network.parameters()]
    means, squares = ([np.zeros_like(each) for each in values] for _ in range(2))
    generator = np.random.default_rng(3)
    for _ in range(4):
        for place, each in enumerate(network.parameters()):
            gradient = generator.normal(0, 2, each.shape).astype(np.float32)
            each.grad = torch.from_numpy(gradient.copy())
            gradient = gradient * min(1.0, 1.0 / (np.linalg.norm(gradient) + 1e-6))
            means[place] = 0.9 * means[place] + 0.1 * gradient
            squares[place] = 0.999 * squares[place] + 0.001 * gradient**2
            decay = 0.01 * values[place] if each.ndim > 1 else 0.0
            values[place] = values[place] - 0.1 * (means[place] / (np.sqrt(squares[place]) + 1e-6) + decay)
        optimiser.step()
    for found, expected in zip(network.parameters(), values, strict=True):
        assert found.detach().numpy() == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_features_that_are_too_large_are_to_blame_before_anything_was_learned(tmp_path: Path) -> None:
    data = collection().training
    large = replace(data.videos, clips=np.full_like(data.videos.clips, 1e25))
    with pytest.raises(SystemsError, match=r"step 1: the loss is .*; expected a number\. Try smaller features"):
        small("mcn", tmp_path / "mcn").train(Data(large, data.examples))
