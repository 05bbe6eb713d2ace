"""Two stages: the moments around clips, their ranking beside an exhaustive one, and the system behind the interface."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from metrics import Run
from systems.clips import codes
from systems.clips.building import plan_index, write_shard
from systems.clips.index import ClipIndex
from systems.clips.two_stage import Kept, TwoStages, keep_objects, rank_around, windows_around
from systems.data import Objects, Video, Videos
from systems.errors import BadOption, SystemsError
from systems.interface import system
from systems.ranking import rank
from systems.windows import Scales, windows_of
from tests.systems.chamfer import chamfer, chamfer_cost, squared_distances
from tests.systems.small import SMALL, collection, small

D = 8


def drawn(videos: int) -> Videos:
    random = np.random.default_rng(3)
    made = [
        Video(f"v{number}", 3.0 * count - 1, random.standard_normal((count, D), np.float32))
        for number, count in enumerate(random.integers(1, 15, videos).tolist())
    ]
    return Videos.of(made, 3.0)


def indexed(folder: Path, videos: Videos, shards: int = 3) -> ClipIndex:
    plan_index(folder, "flat", videos.clip_seconds, videos.clips, len(videos.clips), shards)
    for number in range(shards):
        ends = (len(videos) * part // shards for part in (number, number + 1))
        write_shard(folder, number + 1, [videos.part(*ends)])
    return ClipIndex(folder)


def test_the_moments_around_clips_are_those_that_contain_one() -> None:
    videos, scales = drawn(30), Scales(1, 5)
    video, clip = np.array([7, 3, 7, 29]), np.array([0, 2, 4, 0])
    assert (videos.counts[video] > clip).all()
    near = windows_around(video, clip, videos.duration[video], 3.0, scales)
    pairs = list(zip(video.tolist(), clip.tolist(), strict=True))
    every = windows_of(videos, scales)
    wanted = [
        row
        for row in zip(every.video.tolist(), every.first.tolist(), every.stop.tolist(), strict=True)
        if any(row[0] == of and row[1] <= number < row[2] for of, number in pairs)
    ]
    assert list(zip(near.video.tolist(), near.first.tolist(), near.stop.tolist(), strict=True)) == wanted
    np.testing.assert_array_equal(near.end, np.minimum(near.stop * 3.0, videos.duration[near.video]))


def test_around_all_clips_the_ranking_is_the_exhaustive_one(tmp_path: Path) -> None:
    videos, scales = drawn(40), Scales(1, 6)
    words = np.random.default_rng(4).standard_normal((5, D), np.float32)
    every = windows_of(videos, scales)
    begin = videos.offsets[every.video]
    costs = chamfer(squared_distances(videos.clips, words), begin + every.first, begin + every.stop)
    index = indexed(tmp_path, videos)
    (found,) = index.search(words[:1], len(videos.clips))
    for nms in (0.5, 1.0):
        wanted = rank(every, -costs, 30, nms)
        here = rank_around(index, found, scales, chamfer_cost(index, words), 30, nms)
        for one, other in zip(wanted, here, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_around_no_clips_there_are_no_moments(tmp_path: Path) -> None:
    none = Videos.of([Video("empty", 0.0, np.empty((0, D), np.float32))], 3.0)
    index = indexed(tmp_path, none, shards=2)
    (found,) = index.search(np.zeros((1, D), np.float32))
    words = np.zeros((2, D), np.float32)
    assert not len(rank_around(index, found, Scales(), chamfer_cost(index, words)).video)


def test_features_are_read_back_with_their_objects(tmp_path: Path) -> None:
    videos = drawn(9)
    clip = np.repeat(np.arange(len(videos.clips)), np.arange(len(videos.clips)) % 3)
    box = np.random.default_rng(5).random((len(clip), 4), np.float32)
    objects = Objects(clip, np.arange(len(clip)) % 2, box, ("cup", "café"), np.eye(2, 6, dtype=np.float32))
    indexed(tmp_path / "features", videos)
    keep_objects(tmp_path / "objects", objects)
    numbers = np.array([2, 3, 8])
    back = Kept(tmp_path / "features", tmp_path / "objects").some(numbers)
    assert back.names == ("v2", "v3", "v8")
    assert back.objects is not None
    assert back.objects.names == ("cup", "café")
    for place, number in enumerate(numbers.tolist()):
        np.testing.assert_array_equal(back[place].clips, videos[number].clips)
        was = (clip >= videos.offsets[number]) & (clip < videos.offsets[number + 1])
        here = (back.objects.clip >= back.offsets[place]) & (back.objects.clip < back.offsets[place + 1])
        np.testing.assert_array_equal(back.objects.clip[here] - back.offsets[place], clip[was] - videos.offsets[number])
        np.testing.assert_array_equal(back.objects.box[here], box[was])
    keep_objects(tmp_path / "objects", None)
    assert Kept(tmp_path / "features", tmp_path / "objects").some(numbers).objects is None


def made(folder: Path, **options: Any) -> TwoStages:
    return cast(TwoStages, system("two_stage", folder, longest=6, **SMALL | {"iterations": 3} | options))


def rows(run: Run) -> list[tuple[str, str, float, float, float]]:
    queries = np.array(run.queries)[run.query_of_row()].tolist()
    columns = (run.start.tolist(), run.end.tolist(), run.scores.round(4).tolist())
    return list(zip(queries, run.videos, *columns, strict=True))


@pytest.mark.parametrize("with_objects", [False, True])
def test_with_all_clips_found_two_stages_rank_as_stal_does(tmp_path: Path, with_objects: bool) -> None:
    planted = collection()
    data, test = replace(planted.training, validation=None), planted.test
    if with_objects:
        data = replace(data, videos=replace(data.videos, objects=detected(data.videos)))
        test = replace(test, objects=detected(test))
    queries = [example.query for example in planted.examples[:6]]
    alone = small("stal", tmp_path / "alone", iterations=3, nms=0.6)
    alone.train(data)
    alone.index(test)
    wanted = rows(alone.search(queries, 20))
    for shards in (1, 3):
        both = made(tmp_path / f"in {shards}", clips=1000, shards=shards, nms=0.6)
        both.train(data)
        both.index(test)
        again = made(tmp_path / f"in {shards}", clips=1000, shards=shards, nms=0.6)
        assert rows(again.search(queries, 20)) == wanted


def detected(videos: Videos) -> Objects:
    clip = np.repeat(np.arange(len(videos.clips)), np.arange(len(videos.clips)) % 3)
    box = np.random.default_rng(6).random((len(clip), 4), np.float32)
    return Objects(clip, np.arange(len(clip)) % 2, box, ("cup", "door"))


@pytest.mark.skipif(not codes.is_installed(), reason="faiss-cpu is not installed")
def test_an_index_of_codes_serves_two_stages(tmp_path: Path) -> None:
    planted = collection()
    videos = planted.training.videos
    queries = [example.query for example in planted.examples[:6]]
    runs = []
    for each in ("flat", "ivf-pq"):
        both = made(tmp_path / each, kind=each, clips=5, shards=2)
        both.train(planted.training)
        both.index(videos)
        runs.append(set(rows(both.search(queries, 20))))
    assert "of the 5 nearest clips, by 20 queries" in both.finds()  # the queries that it was validated with
    flat, other = runs
    assert len(flat & other) >= 0.9 * len(flat)


def test_an_index_that_was_broken_off_is_not_searched(tmp_path: Path) -> None:
    planted = collection()
    query = planted.examples[0].query
    both = made(tmp_path / "system", shards=2)
    both.train(planted.training)
    with pytest.raises(SystemsError, match="there is no index of clips"):
        both.search([query])
    both.index(planted.test)
    assert len(both.search([query]).start)
    both.plan(planted.test)
    both.index_shard(planted.test, 2)
    with pytest.raises(SystemsError, match="clips: 1 faults in 2 shards: shard 1 belongs to another index"):
        both.search([query])
    both.index_shard(planted.test, 1)
    assert len(both.search([query]).start)


def test_options_of_two_stages_are_checked(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="kind: 'tree'; expected one of flat, ivf-pq"):
        made(tmp_path, kind="tree")
    with pytest.raises(BadOption, match="clips: 0; expected 1 to"):
        made(tmp_path, clips=0)
