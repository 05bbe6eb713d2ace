"""Whether a stored index is whole: what is missing, damaged or of other videos is told in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from systems.clips.building import write_shard
from systems.clips.two_stage import in_parts
from systems.data import Videos
from systems.errors import SystemsError
from systems.interface import System, system, system_in
from systems.storage import read_arrays, write_arrays
from tests.systems.small import collection
from tests.systems.streams import small as streams
from tests.systems.streams.noise import noise
from tests.systems.test_clip_index import alter, shorten
from tests.systems.test_commands import command
from tests.systems.test_two_stages import made as two_stages


def chance(folder: Path) -> System:
    found = system("chance", folder)
    found.index(collection().test)
    return found


def stages(folder: Path) -> System:
    found = two_stages(folder, shards=2)
    found.train(collection().training)
    found.index(collection().test)
    return found


def conquer(folder: Path) -> System:
    data = noise(12)
    streams.trained("conquer", folder, data)
    return streams.made("conquer", folder)


def rows_of(folder: Path) -> Path:
    return next(folder.glob("rows-*.npy"))


def fewer_rows(folder: Path) -> None:
    np.save(rows_of(folder), np.load(rows_of(folder))[:-1])


def other_videos(folder: Path) -> None:
    """As if a job had been killed between its two halves, after the collection had changed."""
    test = collection().test
    write_shard(folder / "features", 2, in_parts(test, len(test) // 2 + 1, len(test)))


def other_names(folder: Path) -> None:
    content = read_arrays(folder / "index.npz")
    write_arrays(folder / "index.npz", content | {"names": content["names"][::-1]})


def flip(file: Path) -> None:
    """Change a bit in the middle of a file, where its arrays are."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


HARM: list[tuple[Callable[[Path], System], Callable[[Path], object], str]] = [
    (chance, lambda folder: (folder / "index.npz").unlink(), "there is no index"),
    (chance, lambda folder: flip(folder / "index.npz"), r"index.npz: cannot be read \(Bad CRC-32"),
    (chance, lambda folder: shorten(folder / "index.npz"), r"index.npz: cannot be read"),
    (conquer, lambda folder: shorten(rows_of(folder / "conquer")), "rows-.*: cannot be read"),
    (conquer, lambda folder: fewer_rows(folder / "conquer"), "rows; expected .*; index the collection again"),
    (conquer, lambda folder: rows_of(folder / "conquer" / "first").unlink(), "rows-.*: cannot be read"),
    (conquer, lambda folder: other_names(folder / "conquer"), "the stages' indexes differ"),
    (stages, lambda folder: alter(folder / "clips" / "shard-0002" / "rows.f32"), "another rows.f32 than"),
    (stages, lambda folder: alter(folder / "features" / "shard-0001" / "rows.f32"), "another rows.f32 than"),
    (stages, other_videos, "clips and features are of different videos"),
]


@pytest.mark.parametrize(("index", "harm", "message"), HARM, ids=[message for _, _, message in HARM])
def test_a_damaged_index_is_told(
    index: Callable[[Path], System], harm: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    made = index(tmp_path)
    made.check_index()
    harm(tmp_path)
    with pytest.raises(SystemsError, match=message):
        system_in(made.folder).check_index()


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    folder = chance(tmp_path).folder
    whole = command("check", folder)
    assert (whole.code, whole.out) == (0, f"{folder}: the index is whole\n")
    flip(folder / "index.npz")
    damaged = command("check", folder)
    assert (damaged.code, damaged.err.count("\n")) == (2, 1)
    assert "index.npz: cannot be read" in damaged.err
    assert "holds no system" in command("check", tmp_path / "nowhere").err


def test_videos_in_another_order_are_other_videos(tmp_path: Path) -> None:
    """A search takes a video's features by its number."""
    videos = collection().test
    alike = Videos(videos.names[:2], np.full(2, 6.0), np.array([0, 2, 4]), videos.clips[:4], videos.clip_seconds)
    found = two_stages(tmp_path)
    found.train(collection().training)
    found.index(alike)
    found.check_index()
    write_shard(tmp_path / "features", 1, [Videos.of([alike[1], alike[0]], alike.clip_seconds)])
    with pytest.raises(SystemsError, match="different videos"):
        found.check_index()
