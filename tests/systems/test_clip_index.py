"""The index of clips: what it finds, in one shard and in several; and what it says of bad input and broken files."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from systems.clips import codes
from systems.clips.building import plan_index, write_shard
from systems.clips.index import ClipIndex, check
from systems.data import Rows, Video, Videos
from systems.errors import SystemsError

D, SECONDS = 15, 3.0
FAISS = [
    "flat",
    pytest.param("ivf-pq", marks=pytest.mark.skipif(not codes.is_installed(), reason="faiss-cpu is not installed")),
]


def collection(videos: int, seed: int = 1) -> Videos:
    """Videos of 1 to 12 clips near one of ten topics; one video has no length, so it has no clips."""
    drawn = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((10, D), np.float32)
    counts = drawn.integers(1, 13, videos)
    counts[videos // 2] = 0
    made = [
        Video(
            f"film {seed}-{number} ü",
            float(max(count - 0.5, 0) * SECONDS),
            topics[number % 10] + drawn.standard_normal((count, D), np.float32) / 2,
        )
        for number, count in enumerate(counts.tolist())
    ]
    return Videos.of(made, SECONDS)


def part(videos: Videos, first: int, stop: int) -> Videos:
    return Videos.of([videos[number] for number in range(first, stop)], videos.clip_seconds)


def built(folder: Path, kind: str, videos: Videos, *bounds: int) -> ClipIndex:
    """Write an index whose shards end at these videos; each shard gets its videos in two blocks."""
    plan_index(folder, kind, SECONDS, videos.clips, len(videos.clips), len(bounds))
    for number, (first, stop) in enumerate(zip([0, *bounds], bounds, strict=False), 1):
        middle = (first + stop) // 2
        blocks = [part(videos, *ends) for ends in ((first, middle), (middle, stop)) if ends[0] < ends[1]]
        write_shard(folder, number, blocks)
    return ClipIndex(folder)


def queries(count: int = 30) -> Rows:
    drawn = np.random.default_rng(5)
    topics = np.random.default_rng(0).standard_normal((10, D), np.float32)
    return topics[drawn.integers(10, size=count)] + np.float32(0.5) * drawn.standard_normal((count, D), np.float32)


@pytest.mark.parametrize("kind", FAISS)
def test_shards_find_what_one_index_finds(tmp_path: Path, kind: str) -> None:
    videos = collection(900)
    whole = built(tmp_path / "one", kind, videos, 900)
    shards = built(tmp_path / "three", kind, videos, 200, 200, 900)
    exact = ((queries()[:, None].astype(np.float64) - videos.clips) ** 2).sum(axis=2)
    wanted = np.argsort(exact, axis=1, kind="stable")[:, :40]
    for index in (whole, shards):
        assert (index.videos, index.clips) == (900, len(videos.clips))
        recall = []
        for row, found, of_query in zip(wanted, index.search(queries(), 40), exact, strict=True):
            number = videos.offsets[found.video] + found.clip
            assert len(np.unique(number)) == 40
            np.testing.assert_allclose(found.distance, of_query[number])
            assert (np.diff(found.distance) >= 0).all()
            recall.append(len(np.intersect1d(number, row)) / 40)
        assert np.mean(recall) == 1 if kind == "flat" else np.mean(recall) >= 0.97
    for one, three in zip(whole.search(queries(), 40), shards.search(queries(), 40), strict=True):
        np.testing.assert_array_equal(one.video, three.video)
        np.testing.assert_array_equal(one.clip, three.clip)
    check(tmp_path / "three")


def test_an_index_knows_its_videos(tmp_path: Path) -> None:
    videos = collection(40)
    index = built(tmp_path, "flat", videos, 10, 11, 40)
    some = np.array([39, 0, 10, 20, 10])
    assert index.names(some) == [videos.names[number] for number in some]
    np.testing.assert_array_equal(index.durations(some), videos.duration[some])
    numbers, begins = index.clips_of(some)
    np.testing.assert_array_equal(np.diff(begins), videos.counts[some])
    np.testing.assert_array_equal(
        index.rows(numbers), np.concatenate([videos[number].clips for number in some.tolist()])
    )


def test_fewer_clips_than_are_wanted_are_all_found(tmp_path: Path) -> None:
    videos = collection(4)
    (found,) = built(tmp_path, "flat", videos, 4).search(queries(1), 200)
    assert len(found.clip) == len(videos.clips)


def test_of_equal_clips_the_first_stands_first(tmp_path: Path) -> None:
    same = Videos.of([Video(name, 9.0, np.ones((3, D), np.float32)) for name in "abc"], SECONDS)
    (found,) = built(tmp_path, "flat", same, 1, 3).search(np.zeros((1, D), np.float32), 5)
    assert found.video.tolist() == [0, 0, 0, 1, 1]
    assert found.clip.tolist() == [0, 1, 2, 0, 1]


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-4])


def alter(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


BREAK: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (lambda folder: shutil.rmtree(folder / "shard-0002"), "shard 2 is missing"),
    "short": (lambda folder: shorten(folder / "shard-0002" / "rows.f32"), "shard 2 has .* bytes of rows.f32"),
    "file gone": (lambda folder: (folder / "shard-0002" / "names.npy").unlink(), "shard 2 has 0 of .* names.npy"),
    "other version": (
        lambda folder: (folder / "shard-0002" / "shard.json").write_text('{"version": 9}'),
        "shard 2 has another format than version 2",
    ),
    "not JSON": (lambda folder: (folder / "shard-0002" / "shard.json").write_text("{"), "shard.json: cannot be read"),
}


@pytest.mark.skipif(not codes.is_installed(), reason="faiss-cpu is not installed")
def test_twenty_million_clips_have_less_than_a_gigabyte_and_a_half_of_codes(tmp_path: Path) -> None:
    """STAL's Table 6: 20,000,000 clips of 100 numbers are 7.45 GiB; each clip adds its code and its name."""
    made = np.random.default_rng(8).standard_normal((600, 100), np.float32)
    sizes = []
    for place, count in enumerate((300, 600)):
        folder = tmp_path / str(place)
        plan_index(folder, "ivf-pq", SECONDS, made[:300], 300)
        write_shard(folder, 1, [Videos.of([Video("a", count * SECONDS, made[:count])], SECONDS)])
        files = (folder / "shard-0001" / name for name in ("rows.f32", "codes.faiss"))
        sizes.append([file.stat().st_size for file in files])
    rows, coded = ((more - less) / 300 for less, more in zip(*sizes, strict=True))
    assert round(20e6 * rows / 2**30, 2) == 7.45
    assert 1.0e9 < 20e6 * coded <= 1.5e9


@pytest.mark.parametrize("how", BREAK)
def test_a_broken_shard_is_named(tmp_path: Path, how: str) -> None:
    built(tmp_path, "flat", collection(40), 10, 20, 40)
    harm, message = BREAK[how]
    harm(tmp_path)
    with pytest.raises(SystemsError, match=message):
        ClipIndex(tmp_path)
    write_shard(tmp_path, 2, [part(collection(40), 10, 20)])
    assert ClipIndex(tmp_path).videos == 40


def test_all_broken_shards_are_named_at_once(tmp_path: Path) -> None:
    plan_index(tmp_path, "flat", SECONDS, queries(), 100, 3)
    write_shard(tmp_path, 2, [collection(5)])
    with pytest.raises(SystemsError, match=r"2 faults in 3 shards: shard 1 is missing; .* shard 3 is missing"):
        ClipIndex(tmp_path)


def test_the_check_finds_a_single_bit_and_a_video_that_is_there_twice(tmp_path: Path) -> None:
    built(tmp_path, "flat", collection(40), 20, 40)
    alter(tmp_path / "shard-0001" / "rows.f32")
    ClipIndex(tmp_path)
    with pytest.raises(SystemsError, match=r"shard 1 has another rows.f32 than was written"):
        check(tmp_path)
    write_shard(tmp_path, 1, [part(collection(40), 30, 40)])
    with pytest.raises(SystemsError, match="video 'film 1-30 ü' is there twice"):
        check(tmp_path)


def test_a_shard_of_another_plan_is_refused(tmp_path: Path) -> None:
    built(tmp_path, "flat", collection(40), 40)
    plan_index(tmp_path, "flat", SECONDS, queries(), 100, 2)
    with pytest.raises(SystemsError, match=r"shard 1 belongs to another index.*shard 2 is missing"):
        ClipIndex(tmp_path)


@pytest.mark.skipif(not codes.is_installed(), reason="faiss-cpu is not installed")
def test_damaged_codes_are_named(tmp_path: Path) -> None:
    built(tmp_path, "ivf-pq", collection(90), 40, 90)
    file = tmp_path / "shard-0002" / "codes.faiss"
    file.write_bytes(b"no codes".ljust(file.stat().st_size))
    with pytest.raises(SystemsError, match=r"shard-0002/codes.faiss: faiss cannot read it"):
        ClipIndex(tmp_path)
    alter(tmp_path / "learned.faiss")
    with pytest.raises(SystemsError, match=r"learned.faiss is not as it was written"):
        check(tmp_path)


def test_a_folder_without_an_index_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemsError, match="there is no index of clips"):
        ClipIndex(tmp_path)
    (tmp_path / "index.json").write_text('{"format": "clip index", "version": 1}')
    with pytest.raises(SystemsError, match=r"index.json: "):
        ClipIndex(tmp_path)


def with_a_value(value: float) -> Videos:
    videos = collection(5)
    videos.clips[videos.offsets[3], 2] = value
    return videos


def longer(seconds: float) -> Videos:
    videos = collection(5)
    videos.duration[4] += seconds
    return videos


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: with_a_value(np.nan), "video 'film 1-3 ü', clip 0: the vector has a value that is not"),
        (lambda: with_a_value(-np.inf), "not a finite number"),
        (lambda: longer(30), r"video 'film 1-4 ü' of .* s has \d+ clips; expected \d+, of 3 s each"),
        (lambda: Videos.of([Video("a", 3, np.ones((1, 4), np.float32))], SECONDS), r"expected \(clips, 15\)"),
        (lambda: Videos.of([Video("a", 2, np.ones((1, D), np.float32))], 2.0), "clips of 2 s; expected 3 s"),
    ],
)
def test_videos_that_do_not_fit_are_refused_and_the_old_shard_stays(
    tmp_path: Path, wrong: Callable[[], Videos], message: str
) -> None:
    built(tmp_path, "flat", collection(5), 5)
    with pytest.raises(SystemsError, match=message):
        write_shard(tmp_path, 1, [wrong()])
    assert ClipIndex(tmp_path).videos == 5
    assert {file.name for file in tmp_path.iterdir()} == {"index.json", "shard-0001"}


def test_plans_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemsError, match="kind of index: 'tree'; expected one of flat, ivf-pq"):
        plan_index(tmp_path, "tree", SECONDS, queries(), 100)
    with pytest.raises(SystemsError, match="15 dimensions in 0 shards"):
        plan_index(tmp_path, "flat", SECONDS, queries(), 100, 0)
    with pytest.raises(SystemsError, match="clips of nan seconds"):
        plan_index(tmp_path, "flat", float("nan"), queries(), 100)
    with pytest.raises(SystemsError, match=r"at least 272 clips, and there are 30|faiss-cpu"):
        plan_index(tmp_path, "ivf-pq", SECONDS, queries(), 30)
    plan_index(tmp_path, "flat", SECONDS, queries(), 100, 2)
    with pytest.raises(SystemsError, match="shard 3; expected 1 to 2"):
        write_shard(tmp_path, 3, [collection(5)])


def test_queries_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    index = built(tmp_path, "flat", collection(5), 5)
    with pytest.raises(SystemsError, match=r"expected \(queries, 15\)"):
        index.search(np.ones((1, 4), np.float32))
    with pytest.raises(SystemsError, match="not a finite number"):
        index.search(np.full((1, D), np.nan, np.float32))


def test_without_faiss_the_index_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "is_installed", lambda: False)
    with pytest.raises(SystemsError, match="kind ivf-pq needs the package faiss-cpu"):
        plan_index(tmp_path, "ivf-pq", SECONDS, queries(300), 300)
    assert built(tmp_path, "flat", collection(5), 5).videos == 5


@contextmanager
def room(size: int) -> Iterator[None]:
    """Let no file grow beyond this size, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", FAISS)
def test_a_full_disk_is_told_and_the_old_shard_stays(tmp_path: Path, kind: str) -> None:
    videos = collection(900)
    before = built(tmp_path, kind, videos, 900).search(queries(1), 20)[0]
    with room(100_000), pytest.raises(SystemsError, match=r"shard 1 cannot be stored|codes.faiss: cannot"):
        write_shard(tmp_path, 1, [videos])
    after = ClipIndex(tmp_path).search(queries(1), 20)[0]
    np.testing.assert_array_equal(before.clip, after.clip)
    assert not list(tmp_path.glob(".shard*"))


@pytest.mark.skipif(not codes.is_installed(), reason="faiss-cpu is not installed")
def test_codes_that_do_not_fit_on_the_disk_are_told(tmp_path: Path) -> None:
    sample = np.tile(queries(300), (1, 40))
    with room(100_000), pytest.raises(SystemsError, match=r"learned.faiss: cannot be stored"):
        plan_index(tmp_path, "ivf-pq", SECONDS, sample, 300)
    with pytest.raises(SystemsError, match="there is no index"):
        ClipIndex(tmp_path)


def spread(kind: str, count: int, seed: int) -> Rows:
    """Vectors around centres, those with a spectrum that decays, or uniform ones: shape (count, 24)."""
    drawn, d = np.random.default_rng(seed), 24
    if kind == "uniform":
        return drawn.random((count, d), np.float32)
    sizes = np.arange(1, d + 1, dtype=np.float32) ** (-0.75 if kind == "spectrum" else 0)
    centres = np.random.default_rng(0).standard_normal((120, d), np.float32)
    around = np.float32(0.6) * drawn.standard_normal((count, d), np.float32)
    found: Rows = ((centres[drawn.integers(len(centres), size=count)] + around) * sizes).astype(np.float32)
    return found


def with_a_gap(count: int, seed: int) -> Rows:
    """Queries that lie beside the clips, as another network's may."""
    shift = 1.5 * np.random.default_rng(9).standard_normal(24)
    return (spread("centres", count, seed) + shift).astype(np.float32)


def of_rows(folder: Path, rows: Rows, queries: Rows | None = None) -> ClipIndex:
    plan_index(folder, "ivf-pq", SECONDS, rows[:3000], len(rows), 2, queries=queries)
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:]), 1):
        write_shard(folder, number, [Videos.of([Video(f"v{number}", len(part) * SECONDS, part)], SECONDS)])
    return ClipIndex(folder)


def recall_of(index: ClipIndex, rows: Rows, vectors: Rows) -> float:
    half = len(rows) // 2
    exact = (vectors**2).sum(1)[:, None] + (rows**2).sum(1) - 2 * vectors @ rows.T
    wanted = np.argsort(exact, axis=1)[:, :200]
    found = [each.video * half + each.clip for each in index.search(vectors, 200)]
    return float(np.mean([np.isin(one, other).mean() for one, other in zip(wanted, found, strict=True)]))


needs_faiss = pytest.mark.skipif(not codes.is_installed(), reason="faiss-cpu is not installed")


@needs_faiss
@pytest.mark.parametrize("kind", ["centres", "spectrum", "gap", "gap, with queries"])
def test_an_index_looks_at_as_many_groups_as_its_target_takes(tmp_path: Path, kind: str) -> None:
    rows = spread(kind if kind == "spectrum" else "centres", 9_000, 1)
    vectors = with_a_gap(60, 2) if kind.startswith("gap") else spread(kind, 60, 2)
    index = of_rows(tmp_path, rows, with_a_gap(100, 3) if kind.endswith("queries") else None)
    assert all(setting.recall >= 0.95 for setting in index.settings)
    assert recall_of(index, rows, vectors) >= 0.95
    assert len(index.settings) == (1 if kind.endswith("queries") else 2)
    few = [setting._replace(groups=8) for setting in index.settings]
    index.settings = few
    assert recall_of(index, rows, vectors) < 0.95  # else this shows nothing


@needs_faiss
def test_an_index_that_misses_its_target_says_what_it_reaches(tmp_path: Path) -> None:
    rows = spread("uniform", 9_000, 1)
    index = of_rows(tmp_path, rows)
    reached = index.settings[0].recall
    assert 0.5 < reached < 0.95
    assert recall_of(index, rows, spread("uniform", 60, 2)) == pytest.approx(reached, abs=0.05)
    assert f"finds {reached:.1%} of the 200 nearest clips, by 64 clips that it had not" in index.finds
    assert index.finds.endswith("Its target is 95.0%, which it does not reach.")


@needs_faiss
def test_a_recall_that_is_not_of_these_shards_is_none(tmp_path: Path) -> None:
    videos = collection(900)
    built(tmp_path, "ivf-pq", videos, 300, 900)
    old = (tmp_path / "recall.json").read_text()
    write_shard(tmp_path, 1, [part(videos, 1, 300)])
    assert ClipIndex(tmp_path).settings  # it is measured again
    (tmp_path / "recall.json").write_text(old)
    with pytest.raises(SystemsError, match="its recall was not measured after its last shard was written"):
        ClipIndex(tmp_path)
    (tmp_path / "recall.json").unlink()
    with pytest.raises(SystemsError, match="its recall was not measured"):
        ClipIndex(tmp_path)
    write_shard(tmp_path, 1, [part(videos, 0, 300)])
    ClipIndex(tmp_path)
    (tmp_path / "queries.npy").unlink()
    with pytest.raises(SystemsError, match=r"queries\.npy: cannot be read .*; plan the index again"):
        write_shard(tmp_path, 1, [part(videos, 0, 300)])


def test_a_target_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemsError, match=r"a recall of 1\.5 of the nearest 200 clips; expected 0 to 1"):
        plan_index(tmp_path, "flat", SECONDS, queries(), 100, target=1.5)
    with pytest.raises(SystemsError, match=r"queries of shape \(2, 3\); expected some, of 15 dimensions"):
        plan_index(tmp_path, "flat", SECONDS, queries(), 100, queries=np.zeros((2, 3), np.float32))
