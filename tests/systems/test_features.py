"""Features from files and from films: what is read, and what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from systems.data import Video, Videos
from systems.errors import SystemsError
from systems.examples import read_objects
from systems.features.media import SIDE, WIDTH, Extractor, compute, describe, of_picture
from systems.features.reader import read_videos
from tests.films import write_film
from tests.numbered import copied_in_part, draw_film

DURATIONS = {"b": 9.0, "a": 7.5}
Arrays = dict[str, np.ndarray]


def arrays() -> Arrays:
    random = np.random.default_rng(1)
    return {"a": random.normal(size=(3, 4)).astype(np.float32), "b": random.normal(size=(3, 4)).astype(np.float16)}


def as_hdf5(folder: Path, content: Arrays) -> Path:
    with h5py.File(folder / "features.h5", "w") as file:
        for name, array in content.items():
            file[name] = array
    return folder / "features.h5"


def as_npz(folder: Path, content: Arrays) -> Path:
    np.savez(folder / "features.npz", **content)  # type: ignore[arg-type]
    return folder / "features.npz"


def as_folder(folder: Path, content: Arrays) -> Path:
    (folder / "features").mkdir()
    for name, array in content.items():
        np.save(folder / "features" / f"{name}.npy", array)
    return folder / "features"


Write = Callable[[Path, Arrays], Path]
every_kind = pytest.mark.parametrize("store", [as_hdf5, as_npz, as_folder])


@every_kind
def test_features_are_read_in_the_corpuss_order(store: Write, tmp_path: Path) -> None:
    content = arrays()
    others = {"other": np.zeros((1, 9), np.float32)}
    videos = read_videos(DURATIONS, 3.0, store(tmp_path, content | others))
    assert videos.names == ("b", "a")
    assert videos.offsets.tolist() == [0, 3, 6]
    assert np.array_equal(videos[0].clips, content["b"])
    assert np.array_equal(videos[1].clips, content["a"])


@every_kind
def test_features_in_the_cache_of_a_hub_are_read(store: Write, tmp_path: Path) -> None:
    """Where a snapshot holds links to blobs, whose names have no endings."""
    repository = tmp_path / "datasets--lab--films"
    snapshot, blobs = repository / "snapshots" / "0123abc", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    stored = store(snapshot, arrays())
    for number, file in enumerate(sorted(stored.iterdir()) if stored.is_dir() else [stored]):
        blob = file.rename(blobs / f"{number}")
        file.symlink_to(os.path.relpath(blob, file.parent))
    videos = read_videos(DURATIONS, 3.0, stored)
    assert np.array_equal(videos[1].clips, arrays()["a"])


def changed(name: str, array: Any) -> Arrays:
    return arrays() | {name: np.asarray(array)}


BAD = {
    "too long": (changed("a", np.zeros((6, 4))), r"video 'a': 6 clips of 3 s: too long for 7.5 s; expected 3"),
    "too short": (changed("b", np.zeros((1, 4))), r"video 'b': 1 clips of 3 s: too short for 9 s; expected 3"),
    "empty": (changed("b", np.zeros((0, 4))), r"video 'b': 0 clips of 3 s: too short"),
    "too large": (
        changed("b", [[0.0] * 4, [1e38] * 4, [0.0] * 4]),
        r"video 'b': clip 1 holds a value of 1e\+38; expected at most 1e\+09",
    ),
    "not a number": (changed("b", [[0.0] * 4, [np.nan] * 4, [0.0] * 4]), r"video 'b': clip 1 holds a value"),
    "infinite": (changed("a", [[np.inf] * 4] * 3), r"video 'a': clip 0 holds a value that is not"),
    "another width": (changed("a", np.zeros((3, 5))), r"video 'a': 5 features a clip; expected 4"),
    "whole numbers": (changed("b", np.zeros((3, 4), np.int64)), r"video 'b': an array of int64 with shape \(3, 4\)"),
    "one dimension": (changed("b", np.zeros(3)), r"video 'b': an array of float64 with shape \(3,\)"),
    "missing": ({"a": arrays()["a"]}, r"1 of 2 videos have no features: 'b'; expected one array for each of them"),
}  # fmt: skip


@every_kind
@pytest.mark.parametrize("fault", BAD)
def test_features_that_do_not_fit_are_named(store: Write, fault: str, tmp_path: Path) -> None:
    content, message = BAD[fault]
    with pytest.raises(SystemsError, match=r"^features[.a-z0-9]*: " + message):
        read_videos(DURATIONS, 3.0, store(tmp_path, content))


@pytest.mark.parametrize("name", ["features.h5", "features.npz", "features.csv", "nothing.npz"])
def test_what_is_no_feature_file_is_refused(name: str, tmp_path: Path) -> None:
    if name != "nothing.npz":
        (tmp_path / name).write_bytes(b"no features at all")
    with pytest.raises(SystemsError, match=name):
        read_videos(DURATIONS, 3.0, tmp_path / name)


@pytest.mark.parametrize("name", ["features.h5", "features.npz", "a.npy"])
def test_a_pointer_of_git_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n")
    with pytest.raises(SystemsError, match="is a pointer of Git LFS, not the file itself"):
        read_videos(DURATIONS, 3.0, tmp_path if name == "a.npy" else tmp_path / name)


def test_a_pickle_is_not_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "features.npz", a=np.array([{}], object), b=arrays()["b"], allow_pickle=True)
    with pytest.raises(SystemsError, match=r"features\.npz: video 'a': pickled objects; expected numbers"):
        read_videos(DURATIONS, 3.0, tmp_path / "features.npz")


def test_subtitles_have_as_many_rows_as_clips(tmp_path: Path) -> None:
    words = {"a": np.ones((2, 2), np.float32), "b": np.ones((4, 2), np.float32)}
    (tmp_path / "words").mkdir()
    videos = read_videos(DURATIONS, 3.0, as_npz(tmp_path, arrays()), as_npz(tmp_path / "words", words))
    assert videos.subtitles is not None
    assert videos.subtitles.tolist() == [[1, 1]] * 5 + [[0, 0]]


def collection() -> Videos:
    return Videos.of([Video(name, 9.0, np.zeros((3, 2), np.float32)) for name in "ab"], 3.0)


RIGHT = {"video": "b", "clip": 1, "name": "red cup", "box": [0.25, 0.0, 0.75, 0.5], "score": 0.5}


def test_the_best_objects_of_each_clip_are_kept(tmp_path: Path) -> None:
    lines = [RIGHT | {"score": score, "name": name} for score, name in ((0.1, "x"), (0.9, "y"), (0.5, "z"))]
    lines += [RIGHT | {"video": "a", "clip": 2}, RIGHT | {"video": "elsewhere", "clip": 77}]
    file = tmp_path / "objects.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    found = read_objects(file, collection(), most=2)
    assert found.clip.tolist() == [2, 4, 4]
    assert [found.names[number] for number in found.name] == ["red cup", "y", "z"]
    assert found.box[0].tolist() == [0.5, 0.25, 0.5, 0.5]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clip": 3}, "clip is 3; expected 0 to 2, the clips of video 'b'"),
        ({"clip": 1.5}, "clip is 1.5; expected a whole number"),
        ({"clip": True}, "clip is true; expected a whole number"),
        ({"name": " "}, "name is empty"),
        ({"name": None}, "name is null; expected a text"),
        ({"box": [0.5, 0, 0.4, 1]}, "box is [0.5, 0, 0.4, 1]; expected [left, top, right, bottom]"),
        ({"box": [0, 0, 1]}, "box is [0, 0, 1]; expected"),
        ({"box": [0, 0, 640, 480]}, "shares from 0 to 1"),
        ({"score": "high"}, 'score is "high"; expected a number'),
    ],
)
def test_objects_that_do_not_fit_are_named(wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "objects.jsonl"
    file.write_text(f"{json.dumps(RIGHT)}\n{json.dumps(RIGHT | wrong)}\n")
    with pytest.raises(SystemsError) as refused:
        read_objects(file, collection())
    assert str(refused.value).startswith("objects.jsonl: line 2: ")
    assert message in str(refused.value)


def test_objects_in_a_fifo_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "objects.jsonl")
    with pytest.raises(SystemsError, match=r"^objects\.jsonl: is no regular file; expected JSON Lines$"):
        read_objects(tmp_path / "objects.jsonl", collection())


@pytest.mark.parametrize("line", ["{", "[" * 9000, '{"name": "' + "a" * 2**20], ids=["cut", "deep", "long"])
def test_a_line_that_is_no_json_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "objects.jsonl").write_text(line + "\n")
    with pytest.raises(SystemsError, match=r"objects\.jsonl: line 1: is not JSON"):
        read_objects(tmp_path / "objects.jsonl", collection())


def test_the_descriptor_sees_colours_gradients_and_change() -> None:
    red = np.zeros((SIDE, SIDE, 3), np.float32)
    red[:, :, 0] = 1
    stripes = np.zeros_like(red)
    stripes[:, ::4] = 1
    assert describe([red]).shape == (WIDTH,)
    assert of_picture(red)[:16].tolist() == [1.0] * 16
    assert of_picture(red)[16:48].tolist() == [0.0] * 32
    upright, lying = of_picture(stripes), of_picture(stripes.transpose(1, 0, 2))
    assert upright[:48].tolist() == pytest.approx(lying[:48].tolist())
    assert np.abs(upright[48:144] - lying[48:144]).max() > 0.1
    assert describe([red, red])[-16:].tolist() == [0.0] * 16
    assert describe([red, stripes])[-16:].min() > 0


def test_features_of_a_film_tell_its_seconds_apart(tmp_path: Path) -> None:
    write_film(tmp_path)
    media = {"film": (tmp_path / "media" / "film.mp4", 10.5)}
    seen: list[int] = []
    compute(media, Extractor(2.0), tmp_path / "features", lambda progress: seen.append(progress.done))
    videos = read_videos({"film": 10.5}, 2.0, tmp_path / "features")
    assert seen == [1]
    assert videos.clips.shape == (6, WIDTH)
    reds = videos.clips[:, 0]
    assert (np.diff(reds) > 0).all()  # the ground gets redder from second to second
    before = (tmp_path / "features" / "film.npy").stat().st_mtime_ns
    compute(media, Extractor(2.0), tmp_path / "features")
    assert (tmp_path / "features" / "film.npy").stat().st_mtime_ns == before


def test_a_film_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_bytes(b"nothing")
    with pytest.raises(SystemsError, match=r"video 'broken': broken\.mp4 cannot be read"):
        compute({"broken": (tmp_path / "broken.mp4", 3.0)}, Extractor(3.0), tmp_path / "features")
    assert not (tmp_path / "features").exists()


def test_a_film_that_was_copied_in_part_has_no_features(tmp_path: Path) -> None:
    film = copied_in_part(draw_film(tmp_path / "film.mp4", 40, fast_start=True))
    with pytest.raises(SystemsError, match=r"film\.mp4"):
        compute({"film": (film, 4.0)}, Extractor(1.0), tmp_path / "features")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["vit", "clip"])
def test_a_vision_model_of_transformers_makes_features(kind: str, tmp_path: Path) -> None:
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, ViTConfig, ViTImageProcessor, ViTModel

    from systems.features.media import VisionModel

    small: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "image_size": 32,
        "patch_size": 16,
    }
    size = {"height": 32, "width": 32}
    if kind == "vit":
        ViTModel(ViTConfig(**small)).save_pretrained(tmp_path)
        ViTImageProcessor(size=size).save_pretrained(tmp_path)
    else:
        config = CLIPConfig(text_config={**small, "vocab_size": 9}, vision_config=small, projection_dim=16)
        CLIPModel(config).save_pretrained(tmp_path)
        CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=size).save_pretrained(tmp_path)
    model = VisionModel(str(tmp_path))
    pictures = np.random.default_rng(1).random((20, 40, 40, 3)).astype(np.float32)
    found = model.describe(pictures)
    assert found.shape == (16,)
    one_by_one = np.stack([model.describe([picture]) for picture in pictures])
    wanted = one_by_one.max(0) if kind == "vit" else one_by_one.mean(0)  # of pictures whose vectors have length 1
    assert found.tolist() == pytest.approx(wanted.tolist(), abs=1e-5)


def test_a_vision_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    from systems.features.media import VisionModel

    with pytest.raises(SystemsError, match=r"vision model .*: cannot be loaded"):
        VisionModel(str(tmp_path / "nothing"))
