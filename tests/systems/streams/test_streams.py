"""XML, ReLoCLNet and CONQUER behind the interface: runs, seeds, stops, and what is wrong with their input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from systems.data import Data, Query, Video, Videos
from systems.errors import BadOption, SystemsError
from systems.interface import CARD, SYSTEMS, Progress, Report, system, system_in
from systems.neural import training
from systems.neural.description import MODEL
from systems.neural.training import CHECKPOINT, load
from tests.systems.streams.noise import CLIP_SECONDS, noise
from tests.systems.streams.small import made, trained

ALL = ["xml", "reloclnet", "conquer"]


@pytest.mark.parametrize("subtitles", [True, False], ids=["two streams", "one stream"])
@pytest.mark.parametrize("name", ALL)
def test_a_run_holds_the_best_moments_of_the_videos(name: str, subtitles: bool, tmp_path: Path) -> None:
    data = noise(12, subtitles=subtitles)
    run = trained(name, tmp_path, data, shortest=2, longest=3)
    assert run.queries == tuple(example.query.id for example in data.examples)
    assert np.diff(run.offsets).tolist() == [10] * 12
    for row, (start, end) in enumerate(zip(run.start.tolist(), run.end.tolist(), strict=True)):
        duration = data.videos.duration[run.video[row]]
        assert 0 <= start < end <= duration
        assert end - start in (2 * CLIP_SECONDS, 3 * CLIP_SECONDS) or end == duration
    assert run.scores is not None
    for begin in run.offsets[:-1].tolist():
        assert (np.diff(run.scores[begin : begin + 10]) <= 0).all()
    assert not any(file.suffix == ".new" for file in tmp_path.rglob("*"))
    assert len(list((tmp_path / name).glob("rows-*.npy"))) == 1


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    data = noise(12)
    one, two, other = (trained("reloclnet", tmp_path / str(n), data, seed=seed) for n, seed in enumerate((1, 1, 2)))
    assert one.scores.tolist() == two.scores.tolist()
    assert one.start.tolist() == two.start.tolist()
    assert one.scores.tolist() != other.scores.tolist()


class Broken(Exception):
    """What ends a training from outside."""


def breaking_after(steps: int) -> Report:
    def report(progress: Progress) -> None:
        if progress.done == steps:
            raise Broken

    return report


@contextmanager
def frequent_checkpoints() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        yield


@pytest.mark.parametrize(("name", "steps"), [("xml", 3), ("conquer", 2), ("conquer", 4)])
def test_a_training_that_was_broken_off_ends_as_if_it_was_not(name: str, steps: int, tmp_path: Path) -> None:
    """CONQUER is broken off in its first stage, and after it."""
    data = noise(12)
    whole = trained(name, tmp_path / "whole", data)
    with frequent_checkpoints(), pytest.raises(Broken):
        made(name, tmp_path / "broken").train(data, breaking_after(steps))
    assert list((tmp_path / "broken").rglob(CHECKPOINT))
    assert not (tmp_path / "broken" / name / MODEL).exists()
    assert trained(name, tmp_path / "broken", data).scores.tolist() == whole.scores.tolist()


def test_progress_goes_through_both_stages(tmp_path: Path) -> None:
    reports: list[Progress] = []
    made("conquer", tmp_path).train(noise(12), reports.append)
    assert [progress.done for progress in reports if progress.loss is not None] == list(range(1, 7))
    assert {progress.total for progress in reports} == {6}
    assert [progress.done for progress in reports if progress.validation is not None] == [2, 4, 6]
    validating = [progress.done for progress in reports if progress.loss is None]
    assert validating.count(1) > 12, "twelve queries, and the index"
    assert sorted(set(validating)) == [1, 3, 5]


def test_an_example_of_weight_0_teaches_nothing(tmp_path: Path) -> None:
    """Where no loss looks at other pairs, it does not matter what such an example says."""
    data = noise(12)
    options = {"video": 0.0, "ranking": 0.0, "dropout": 0.0}
    stored = []
    for end in (1.0, 5.0):
        rest = [replace(each, start=0.0, end=end, weight=0.0) for each in data.examples[6:]]
        made("xml", tmp_path / f"{end}", **options).train(Data(data.videos, [*data.examples[:6], *rest]))
        stored.append(load(tmp_path / f"{end}" / "xml")[0])
    assert all(torch.equal(stored[0][key], stored[1][key]) for key in stored[0])


def test_short_and_empty_videos_are_searched(tmp_path: Path) -> None:
    """A video of one clip has one moment, and a video without clips has none."""
    data = noise(12)
    row, words = data.videos.clips[:1], np.zeros((1, 16), np.float32)
    few = Videos.of([Video("short", 1.0, row, words), Video("none", 9.0, row[:0], words[:0])], CLIP_SECONDS)
    for name in ("xml", "conquer"):
        made(name, tmp_path).train(data)
        made(name, tmp_path).index(few)
        run = made(name, tmp_path).search([data.examples[0].query], 10)
        assert len(run.start) == 1
        assert (run.names[run.video[0]], run.start[0], run.end[0]) == ("short", 0.0, 1.0)


def test_words_are_learned_where_queries_have_no_vectors(tmp_path: Path) -> None:
    data = noise(12)
    words = [replace(each, query=Query(each.query.id, f"person {each.query.id}")) for each in data.examples]
    assert len(trained("xml", tmp_path, Data(data.videos, words), words=8).start) == 120


@pytest.mark.parametrize("name", ["xml", "conquer"])
def test_other_features_than_those_of_training_are_refused(name: str, tmp_path: Path) -> None:
    data = noise(12)
    made(name, tmp_path).train(data)
    with pytest.raises(SystemsError, match="24 features of a clip and none of subtitles; expected 24 features of a"):
        made(name, tmp_path).index(noise(12, subtitles=False).videos)
    with pytest.raises(SystemsError, match="there is no index; index a collection first"):
        made(name, tmp_path).search([data.examples[0].query])


def test_a_validation_set_with_other_features_is_refused_before_training(tmp_path: Path) -> None:
    data, silent_ones = noise(12), noise(12, subtitles=False)
    reports: list[Progress] = []
    with pytest.raises(SystemsError, match="none of subtitles; expected 24 features of a clip and 16 of subtitles"):
        made("xml", tmp_path).train(replace(data, validation=silent_ones.validation), reports.append)
    assert reports == []


@pytest.mark.parametrize("name", ["xml", "conquer"])
def test_a_search_for_no_queries_is_refused(name: str, tmp_path: Path) -> None:
    data = noise(12)
    made(name, tmp_path).train(data)
    made(name, tmp_path).index(data.videos)
    with pytest.raises(SystemsError, match="there are no queries; expected at least one"):
        made(name, tmp_path).search([])


def test_an_index_is_replaced_whole(tmp_path: Path) -> None:
    data = noise(12)
    trained("xml", tmp_path, data)
    wrong = replace(data.videos, clips=data.videos.clips[:, :9])
    with pytest.raises(SystemsError, match="9 features of a clip"):
        made("xml", tmp_path).index(wrong)
    assert len(made("xml", tmp_path).search([data.examples[0].query], 10).start) == 10
    next((tmp_path / "xml").glob("rows-*.npy")).unlink()
    with pytest.raises(SystemsError, match=r"npy: cannot be read .* index the collection again"):
        made("xml", tmp_path).search([data.examples[0].query], 10)


def test_conquer_refuses_another_training_set_than_it_began_with(tmp_path: Path) -> None:
    with frequent_checkpoints(), pytest.raises(Broken):
        made("conquer", tmp_path).train(noise(12), breaking_after(4))
    with pytest.raises(SystemsError, match="has 12 queries, and the training set 11"):
        made("conquer", tmp_path).train(noise(11))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": 30, "heads": 4}, "hidden: 30; expected a multiple of the 4 heads"),
        ({"kernel": 4}, "kernel: 4; expected an odd number of clips"),
        ({"video": -1.0}, "video: -1; expected 0 to 1,000"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(BadOption) as refused:
        system("xml", tmp_path / "xml", **options)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", ["xml", "reloclnet", "conquer"])
def test_a_system_of_an_earlier_version_says_that_it_must_be_trained_again(name: str, tmp_path: Path) -> None:
    """Options of later networks are missing in what it stored."""
    made(name, tmp_path).keep_card()
    card = tmp_path / name / CARD
    stored = json.loads(card.read_text())
    for option in ("places", "tokens", "tef", "closed"):
        del stored["options"][option]
    card.write_text(json.dumps(stored))
    title = SYSTEMS[name].title
    expected = f"{title} of an earlier version, which had other options; train it again, in a folder of its own"
    with pytest.raises(SystemsError) as refused:
        made(name, tmp_path)
    assert str(refused.value) == f"{tmp_path / name}: holds a {expected}"
    with pytest.raises(SystemsError, match="train it again, in a folder of its own"):
        system_in(tmp_path / name)
