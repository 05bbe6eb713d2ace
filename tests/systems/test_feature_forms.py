"""Features in the forms of the field's projects, made by hand in their layout: read as they are, fitted, joined, and
learned from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from metrics import Evaluator
from systems.data import Data, Example, Query, Rows, Validation, Video, Videos, let_go
from systems.errors import BadOption, SystemsError
from systems.features.reader import FeatureSet, read_videos
from systems.interface import system
from systems.storage import Spool

Arrays = dict[str, Rows]
Write = Callable[[Path, Arrays], list[FeatureSet]]


def tvr(folder: Path, arrays: Arrays) -> list[FeatureSet]:
    """HDF5 with a data set a video, as TVR's and TVR-Ranking's."""
    with h5py.File(folder / "tvr.h5", "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    return [FeatureSet(folder / "tvr.h5")]


def activitynet(folder: Path, arrays: Arrays) -> list[FeatureSet]:
    """HDF5 with a group a video, as ActivityNet's C3D."""
    with h5py.File(folder / "c3d.hdf5", "w") as file:
        for name, array in arrays.items():
            file.create_group(name).create_dataset("c3d_features", data=array, compression="gzip")
    return [FeatureSet(folder / "c3d.hdf5")]


def moment_detr(folder: Path, arrays: Arrays) -> list[FeatureSet]:
    """Folders of VID.npz with `features`, one for SlowFast and one for CLIP, as Moment-DETR's and QD-DETR's."""
    for kind, columns in (("slowfast", slice(0, 8)), ("clip", slice(8, None))):
        (folder / kind).mkdir()
        for name, array in arrays.items():
            np.savez_compressed(folder / kind / f"{name}.npz", features=array[:, columns])
    return [FeatureSet(folder / "slowfast"), FeatureSet(folder / "clip")]


def lighthouse(folder: Path, arrays: Arrays) -> list[FeatureSet]:
    """A folder of VID.npz with one array of any name."""
    (folder / "videos").mkdir()
    for name, array in arrays.items():
        np.savez(folder / "videos" / f"{name}.npz", array)
    return [FeatureSet(folder / "videos")]


def tensors(folder: Path, arrays: Arrays) -> list[FeatureSet]:
    """A folder with a tensor a video, as torch.save stores it."""
    (folder / "tensors").mkdir()
    for name, array in arrays.items():
        torch.save(torch.from_numpy(array), folder / "tensors" / f"{name}.pt")
    return [FeatureSet(folder / "tensors")]


def one_of_tensors(folder: Path, arrays: Arrays) -> list[FeatureSet]:
    """One .pt with a dictionary of tensors."""
    torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, folder / "all.pt")
    return [FeatureSet(folder / "all.pt")]


def npy(folder: Path, arrays: Arrays) -> list[FeatureSet]:
    """A folder of NAME.npy."""
    (folder / "npy").mkdir()
    for name, array in arrays.items():
        np.save(folder / "npy" / f"{name}.npy", array)
    return [FeatureSet(folder / "npy")]


FORMS: list[Write] = [tvr, activitynet, moment_detr, lighthouse, tensors, one_of_tensors, npy]
every_form = pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)


CONCEPTS, CLIPS, CLIP_SECONDS = 16, 8, 2.0


def drawn(copies: int, seed: int) -> Data:
    """Return videos that each show one concept in three clips, and a query for it."""
    random, videos, examples = np.random.default_rng(seed), [], []
    for number in range(CONCEPTS * copies):
        name, concept, first = f"video-{seed}-{number}", number % CONCEPTS, int(random.integers(0, CLIPS - 3))
        rows = random.normal(0, 0.1, (CLIPS, CONCEPTS + 4)).astype(np.float32)
        rows[first : first + 3, concept] += 1
        videos.append(Video(name, CLIPS * CLIP_SECONDS, rows))
        start, end = first * CLIP_SECONDS, (first + 3) * CLIP_SECONDS
        examples.append(Example(Query(f"q{seed}-{number}", f"word{concept}"), name, start, end))
    return Data(Videos.of(videos, CLIP_SECONDS), examples)


def arrays_of(videos: Videos) -> Arrays:
    return {name: videos[number].clips for number, name in enumerate(videos.names)}


def durations_of(videos: Videos) -> dict[str, float]:
    return dict(zip(videos.names, videos.duration.tolist(), strict=True))


def reread(folder: Path, videos: Videos, write: Write) -> Videos:
    """Return videos after they were stored in a form and read from it."""
    folder.mkdir()
    return read_videos(durations_of(videos), CLIP_SECONDS, write(folder, arrays_of(videos)))


def found_by(name: str, training: Data, test: Data, folder: Path, **options: Any) -> float:
    """Return the share of the test queries whose moment is the first, with IoU 0.5."""
    made = system(name, folder, shortest=2, longest=4, **options)
    made.train(training)
    made.index(test.videos)
    known = Validation.of(test.examples, test.videos, "Success_IoU(iou=0.5)@1")
    scores = Evaluator([known.measure], known.qrels).calc(made.search(known.queries))
    return float(next(iter(scores.aggregate().values())) or 0)


LITTLE: dict[str, Any] = {"iterations": 100, "batch_size": 16, "hidden": 32, "words": 16}
MCN = LITTLE | {"learning_rate": 0.01, "language": 16, "embedding": 16}
XML = LITTLE | {"learning_rate": 0.005, "warmup": 10, "span": 0.1, "closed": True, "optimiser": "adam", "dropout": 0.0}


@every_form
def test_a_form_of_the_field_is_read_and_learned_from(write: Write, tmp_path: Path) -> None:
    """Better than the prior, which sees no video."""
    training, test = drawn(4, seed=1), drawn(1, seed=2)
    read = [
        Data(reread(tmp_path / each.videos.names[0], each.videos, write), each.examples) for each in (training, test)
    ]
    for before, after in zip((training, test), read, strict=True):
        assert np.array_equal(before.videos.clips, after.videos.clips)
    prior = found_by("prior", training, test, tmp_path / "prior")
    for name, options in (("mcn", MCN), ("xml", XML)):
        found = found_by(name, read[0], read[1], tmp_path / name, **options)
        assert found >= prior + 0.3, (name, found, prior)


def hdf5(folder: Path, content: dict[str, Any], name: str = "clips") -> FeatureSet:
    with h5py.File(folder / f"{name}.h5", "w") as file:
        for video, array in content.items():
            file[video] = np.asarray(array, np.float32)
    return FeatureSet(folder / f"{name}.h5")


def counting(rows: int, width: int = 2) -> Rows:
    return np.arange(1, rows * width + 1, dtype=np.float32).reshape(rows, width)


def test_joined_sets_are_cut_to_the_shorter(tmp_path: Path) -> None:
    sets = [hdf5(tmp_path, {"a": counting(3)}), hdf5(tmp_path, {"a": counting(4, 1)}, "more")]
    videos = read_videos({"a": 9.5}, 3.0, sets)
    assert videos.clips.tolist() == [[1, 2, 1], [3, 4, 2], [5, 6, 3]]


def test_each_set_is_brought_to_length_1_by_itself(tmp_path: Path) -> None:
    sets = [hdf5(tmp_path, {"a": [[3, 4], [0, 0]]}), hdf5(tmp_path, {"a": [[7], [8]]}, "more")]
    videos = read_videos({"a": 6.0}, 3.0, sets, unit=True)
    assert videos.clips.tolist() == [pytest.approx([0.6, 0.8, 1.0], abs=1e-5), pytest.approx([0, 0, 1.0], abs=1e-5)]


def test_clips_of_another_length_become_means_by_their_overlap(tmp_path: Path) -> None:
    """Rows of 2 s in clips of 3 s: the first clip has two thirds of the first row and one of the second."""
    seconds = hdf5(tmp_path, {"a": [[3], [6], [12]]})._replace(seconds=2.0)
    assert read_videos({"a": 6.0}, 3.0, [seconds]).clips.ravel().tolist() == pytest.approx([4, 10])
    evenly = hdf5(tmp_path, {"a": [[1], [3], [5], [7]]}, "evenly")._replace(clips=4)
    assert read_videos({"a": 12.0}, 6.0, [evenly]).clips.ravel().tolist() == pytest.approx([2, 6])
    with pytest.raises(SystemsError, match=r"^evenly\.h5: video 'a': 4 clips; expected 5, as every video has$"):
        read_videos({"a": 12.0}, 6.0, [evenly._replace(clips=5)])


def test_rows_of_any_number_are_spread_evenly_over_their_videos(tmp_path: Path) -> None:
    file = tmp_path / "even.h5"
    with h5py.File(file, "w") as out:
        for name, seconds, rows in (("a", 30.0, 93), ("b", 20.0, 31)):
            out[name] = (np.arange(rows, dtype=np.float32)[:, None] + 0.5) * np.float32(seconds / rows)
    videos = read_videos({"a": 30.0, "b": 20.0}, 2.0, [FeatureSet.of(f"{file}@evenly")])
    middles = [*np.arange(1, 30, 2), *np.arange(1, 20, 2)]
    assert np.asarray(videos.clips)[:, 0] == pytest.approx(middles, abs=0.2)


@pytest.mark.parametrize("fit", ["strict", "cut", "pad"])
@pytest.mark.parametrize(("rows", "words"), [(93, "too long"), (3, "too short")])
def test_rows_of_another_scale_are_refused_however_they_are_fitted(
    tmp_path: Path, fit: str, rows: int, words: str
) -> None:
    file = tmp_path / "far.h5"
    with h5py.File(file, "w") as out:
        out["a"] = np.ones((rows, 2), np.float32)
    with pytest.raises(SystemsError, match=rf"video 'a': {rows} clips of 2 s: {words} for 30 s; expected 15"):
        read_videos({"a": 30.0}, 2.0, [FeatureSet(file)], fit=fit)


def test_a_set_is_named_with_the_length_of_its_clips() -> None:
    assert FeatureSet.of("dir/c3d.h5@1.5s") == FeatureSet(Path("dir/c3d.h5"), 1.5)
    assert FeatureSet.of("c3d@100clips") == FeatureSet(Path("c3d"), None, 100)
    assert FeatureSet.of("mail@home") == FeatureSet(Path("mail@home"))
    for wrong in ("clip@0s", "clip@1.5clips"):
        with pytest.raises(BadOption, match="expected PATH, PATH@1"):
            FeatureSet.of(wrong)


LACKING = {"long": counting(5), "short": counting(1)}
LACKED = {"long": 6.0, "short": 9.0, "lost": 3.0}


def test_what_does_not_fit_is_cut_and_what_is_missing_left_out(tmp_path: Path) -> None:
    videos = read_videos(LACKED, 3.0, [hdf5(tmp_path, LACKING)], fit="cut")
    assert (videos.names, videos.offsets.tolist()) == (("long", "short"), [0, 2, 3])
    assert videos.features[0].missing == ("lost",)
    assert videos.notices == ["clips.h5: 1 videos have no features: 'lost'."]


def test_what_is_missing_is_zeros(tmp_path: Path) -> None:
    words = hdf5(tmp_path, {"short": [[9], [9]]}, "words")
    videos = read_videos(LACKED, 3.0, [hdf5(tmp_path, LACKING)], words, fit="pad")
    assert (videos.names, videos.offsets.tolist()) == (("long", "short", "lost"), [0, 2, 5, 6])
    assert videos.clips.tolist() == [[1, 2], [3, 4], [1, 2], [0, 0], [0, 0], [0, 0]]
    assert videos.subtitles is not None
    assert videos.subtitles.ravel().tolist() == [0, 0, 9, 9, 0, 0]
    assert [each.missing for each in videos.features] == [("lost",), ("long", "lost")]


def test_a_corpus_without_any_features_is_refused_however_it_is_fitted(tmp_path: Path) -> None:
    elsewhere = hdf5(tmp_path, {"v_a": counting(3), "v_b": counting(3)})
    message = r"^clips\.h5: 1 of 1 videos have no features: 'a'; .* \(it holds 2: 'v_a', 'v_b'\)$"
    for fit in ("strict", "cut", "pad"):
        with pytest.raises(SystemsError, match=message):
            read_videos({"a": 9.0}, 3.0, [elsewhere], fit=fit)
    apart = [hdf5(tmp_path, {"a": counting(3)}, "one"), hdf5(tmp_path, {"b": counting(3)}, "other")]
    with pytest.raises(SystemsError, match=r"^one\.h5: no video is in every set; expected one at least$"):
        read_videos({"a": 9.0, "b": 9.0}, 3.0, apart, fit="cut")


def test_what_is_constant_is_named_and_figures_are_kept(tmp_path: Path) -> None:
    """Eight values with the mean 3 and the squared deviations 4, 4, 4, 4, 1, 1, 1 and 1."""
    content = {"a": [[1, 5], [1, 5]], "b": [[2, 4], [2, 4]]}
    found = read_videos({"a": 6.0, "b": 6.0}, 3.0, [hdf5(tmp_path, content)]).features[0]
    assert (found.videos, found.clips, found.width) == (2, 4, 2)
    assert (found.mean, found.deviation) == pytest.approx((3, np.sqrt(20 / 8)))
    videos = read_videos({"a": 6.0}, 3.0, [hdf5(tmp_path, {"a": [[1, 1], [2, 1]]})])
    assert videos.notices == [
        "clips.h5: 1 of 2 columns have one value in all clips.",
        "clips.h5: 1 of 2 clips have the same value in all columns.",
    ]


def test_a_folders_checksum_follows_its_names_and_its_bytes(tmp_path: Path) -> None:
    def checksum(name: str, rows: Rows) -> str:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        np.save(folder / f"{name}.npy", rows)
        return read_videos({name: 9.0}, 3.0, folder).features[0].sha256

    first = checksum("a", counting(3))
    assert checksum("a", counting(3)) == first
    assert checksum("b", counting(3)) != first
    assert checksum("a", counting(3) + 1) != first


def resident() -> int:
    """Return the bytes that this process has in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel of Linux")
def test_what_was_read_of_a_memory_map_is_given_back() -> None:
    with Spool() as spool:
        for _ in range(16):
            spool.add(np.ones((1000, 1000), np.float32))
        rows = spool.rows(1000, np.dtype(np.float32))
    before = resident()
    assert rows.sum() == 16e6
    assert resident() >= before + 32e6
    let_go(rows[8:])
    assert resident() <= before + 16e6


def test_rows_of_features_are_not_in_memory(tmp_path: Path) -> None:
    videos = read_videos({"a": 9.0}, 3.0, [hdf5(tmp_path, {"a": counting(3)})])
    let_go(videos.clips[1:])
    assert videos.clips.tolist() == counting(3).tolist()
    assert isinstance(videos.clips, np.memmap)
    assert not videos.clips.flags.writeable
