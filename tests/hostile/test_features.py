"""Hostile features are refused in one line, by a confined process of which nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus import features
from corpus.features import open_confined
from systems.errors import SystemsError
from systems.features.reader import read_videos
from tests.forked_readers import forked
from tests.hostile.features import (
    CLIP_SECONDS,
    DURATIONS,
    FILES,
    Build,
    external_link_in_a_group,
    external_storage_without_end,
    fifo_as_npz,
    fifo_instead_of_a_file,
    group_of_several,
    huge_data_set,
    npz_of_several_arrays,
    tensor_file_with_an_object,
    tensor_without_end,
    zip_bomb,
)
from tests.systems.test_commands import command


@pytest.fixture(scope="module", autouse=True)
def _forks() -> Iterator[None]:
    with forked("h5py", "torch"):
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "features").mkdir()
    return tmp_path / "features"


@pytest.mark.parametrize("build", FILES, ids=lambda build: build.__name__)
def test_hostile_features_are_refused_in_one_line(build: Build, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, because nothing of them is read."""
    monkeypatch.setattr(features, "SECONDS", 20)
    with pytest.raises(SystemsError) as refused:
        read_videos(DURATIONS, CLIP_SECONDS, build(folder), open_file=open_confined)
    assert FILES[build] in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("build", [huge_data_set, tensor_without_end], ids=lambda build: build.__name__)
def test_what_is_cut_is_not_read_without_limit_before(build: Build, folder: Path) -> None:
    with pytest.raises(SystemsError, match=r"video 'a': 1099511627776 clips of 3 s: too long for 9 s"):
        read_videos(DURATIONS, CLIP_SECONDS, build(folder), fit="cut", open_file=open_confined)


ON_THE_COMMAND_LINE = [
    *(external_link_in_a_group, group_of_several, zip_bomb, fifo_as_npz, npz_of_several_arrays),
    *(tensor_file_with_an_object, fifo_instead_of_a_file, external_storage_without_end),
]


@pytest.mark.parametrize("build", ON_THE_COMMAND_LINE, ids=lambda build: build.__name__)
def test_the_command_line_says_it_in_one_line_and_leaves_nothing(build: Build, folder: Path, tmp_path: Path) -> None:
    durations, moments = tmp_path / "durations.json", tmp_path / "moments.jsonl"
    durations.write_text('{"a": [9.0, 0], "b": [9.0, 1]}')
    moments.write_text('{"qid": 1, "query": "He sits.", "vid": "a", "duration": 9, "relevant_windows": [[0, 6]]}')
    known: list[str | Path] = ["--durations", durations, "--annotations", moments, "--clip-seconds", "3"]
    done = command("train", tmp_path / "mcn", "--system", "mcn", *known, "--clips", build(folder))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {FILES[build]}")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "mcn").exists()
