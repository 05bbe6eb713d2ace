"""A clip shows exactly its moment and tells nothing else; a source that is no film is refused readably."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from corpus.cutting import cut
from corpus.errors import CorpusError
from tests.numbered import RATE, copied_in_part, described, draw_film, draw_frames, draw_sound, number_in, seen

Fault = Callable[[Path], Path]


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds, forty frames."""
    return draw_film(tmp_path_factory.mktemp("films") / "film.mp4", 40)


def frame_numbers(source: Path, start: float, end: float, to: Path, rate: float | None = None) -> list[int]:
    """The numbers of the frames in the clip, which come evenly from 0."""
    cut(source, start, end, to, rate)
    frames = seen(to)
    assert [time for time, _ in frames] == pytest.approx(
        [place / (rate or RATE) for place in range(len(frames))], abs=0.002
    )
    return [number for _, number in frames]


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [(0, 4, 0, 39), (1, 2, 10, 19), (1.1, 1.95, 11, 19), (0.3, 0.4, 3, 3), (3.9, 9, 39, 39), (1.0999, 1.2, 11, 11)],
)
def test_a_clip_holds_exactly_the_frames_of_its_stretch(
    film: Path, tmp_path: Path, start: float, end: float, first: int, last: int
) -> None:
    numbers = frame_numbers(film, start, end, tmp_path / "clip.mp4")
    assert numbers == list(range(first, last + 1))
    assert described(tmp_path / "clip.mp4")["seconds"] == pytest.approx(min(end, 4) - start, abs=0.002)


@pytest.mark.parametrize("ending", ["mp4", "mkv", "avi"])
def test_a_clip_begins_with_the_picture_that_is_shown_at_its_start(tmp_path: Path, ending: str) -> None:
    clip = tmp_path / "clip.mp4"
    cut(draw_film(tmp_path / f"film.{ending}", 40), 1.05, 1.25, clip)
    assert seen(clip) == [(0, 10), (0.05, 11), (0.15, 12)]
    assert described(clip)["seconds"] == pytest.approx(0.2, abs=0.002)


@pytest.mark.parametrize(("start", "end", "numbers"), [(1, 4.5, [0]), (4, 6, [0, 50]), (7, 9.5, [50])])
def test_a_clip_of_a_film_with_few_pictures_lasts_as_long_as_its_moment(
    tmp_path: Path, start: float, end: float, numbers: list[int]
) -> None:
    """A recorded screen: a picture at the beginning, and one after five seconds."""
    film = draw_film(tmp_path / "film.mp4", 100, only={0, 50, 99})
    cut(film, start, end, tmp_path / "clip.mp4")
    assert [number for _, number in seen(tmp_path / "clip.mp4")] == numbers
    assert described(tmp_path / "clip.mp4")["seconds"] == pytest.approx(end - start, abs=0.002)


def test_a_stretch_shorter_than_a_picture_shows_it(film: Path, tmp_path: Path) -> None:
    cut(film, 1.22, 1.25, tmp_path / "clip.mp4")
    assert seen(tmp_path / "clip.mp4") == [(0, 12)]
    assert described(tmp_path / "clip.mp4")["seconds"] == pytest.approx(0.03, abs=0.002)


def test_a_film_that_was_copied_in_part_is_named(tmp_path: Path) -> None:
    film = copied_in_part(draw_film(tmp_path / "film.mp4", 40, fast_start=True))
    with pytest.raises(CorpusError, match=r"film\.mp4: its last second is missing, of 4\.00 s; expected a whole file"):
        cut(film, 0.5, 3.5, tmp_path / "clip.mp4")


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv", "webm", "avi"])
def test_a_clip_may_begin_at_any_frame_of_any_container(tmp_path: Path, ending: str) -> None:
    film = draw_film(tmp_path / f"film.{ending}", 24)
    for start in range(22):
        assert frame_numbers(film, start / RATE, (start + 2) / RATE, tmp_path / "clip.mp4") == [start, start + 1]


@pytest.mark.parametrize("ending", ["ts", "mpg", "ogv", "flv", "wmv", "3gp"])
def test_a_clip_may_begin_anywhere_in_a_container_without_an_index(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MPEG knows certain rates only."""
    monkeypatch.setattr("tests.numbered.RATE", 25)
    film = draw_film(tmp_path / f"film.{ending}", 120)
    for start in (*range(0, 60, 5), 80, 117):
        cut(film, start / 25, (start + 3) / 25, tmp_path / "clip.mp4")
        assert [number for _, number in seen(tmp_path / "clip.mp4")] == [start, start + 1, start + 2]


@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
def test_frames_that_an_avi_stores_in_another_order_are_found(tmp_path: Path, codec: str) -> None:
    """AVI knows no times of showing, so B-frames are not where their time says."""
    film = draw_film(tmp_path / "film.avi", 24, codec=(codec, "2"))
    for start in range(22):
        assert frame_numbers(film, start / RATE, (start + 2) / RATE, tmp_path / "clip.mp4") == [start, start + 1]


def test_time_is_counted_from_the_films_first_frame(tmp_path: Path) -> None:
    film = draw_film(tmp_path / "film.mkv", 40, begins=55)
    assert frame_numbers(film, 1, 1.5, tmp_path / "clip.mp4") == [10, 11, 12, 13, 14]


def test_a_clip_is_for_browsers_and_tells_nothing(tmp_path: Path) -> None:
    film = draw_film(tmp_path / "secret-film.mp4", 20, (1280, 720), sound=True, title="secret title", comment="secret")
    clip = tmp_path / "clip.mp4"
    cut(film, 0.5, 1.5, clip)
    facts = described(clip)  # of its only stream: there is no sound
    assert (facts["codec"], facts["pixels"], facts["size"]) == ("h264", "yuv420p", (854, 480))
    assert facts["metadata"].keys() == {"major_brand", "minor_version", "compatible_brands", "language", "handler_name"}
    content = clip.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    for secret in (b"secret", b"title", b"Lavf", b"Lavc"):
        assert secret not in content
    header = content.index(b"mvhd") + 8
    assert content[header : header + 8] == bytes(8)  # neither made nor changed at any time


def test_the_same_stretch_gives_the_same_bytes(film: Path, tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        cut(film, 1, 2, tmp_path / name)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


@pytest.mark.parametrize("name", ["film.3g2", "film."])
def test_a_film_with_a_rare_ending_is_cut(film: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(film.read_bytes())
    assert frame_numbers(tmp_path / name, 1, 1.3, tmp_path / "clip.mp4") == [10, 11, 12]


def test_a_playlist_without_an_ending_leads_nowhere(film: Path, tmp_path: Path) -> None:
    (tmp_path / "list.").write_text(f"ffconcat version 1.0\nfile {film}\n")
    with pytest.raises(CorpusError, match="cannot be decoded"):
        cut(tmp_path / "list.", 0, 1, tmp_path / "clip.mp4")


@pytest.mark.parametrize(("size", "small"), [((128, 64), (128, 64)), ((136, 1000), (66, 480)), ((8, 1000), (4, 480))])
def test_pictures_are_never_enlarged_and_have_at_most_480_lines(
    tmp_path: Path, size: tuple[int, int], small: tuple[int, int]
) -> None:
    cut(draw_film(tmp_path / "film.mp4", 2, size), 0, 1, tmp_path / "clip.mp4")
    assert described(tmp_path / "clip.mp4")["size"] == small


@pytest.mark.parametrize(("size", "small"), [((24, 1), (24, 2)), ((8, 2000), (2, 480)), ((2008, 3), (2008, 2))])
def test_pictures_of_any_shape_can_be_shown(tmp_path: Path, size: tuple[int, int], small: tuple[int, int]) -> None:
    cut(draw_frames(tmp_path / "film", 2, size=size), 0, 1, tmp_path / "clip.mp4", 1)
    assert described(tmp_path / "clip.mp4")["size"] == small


def _turned(film: Path, matrix: tuple[int, int, int, int]) -> Path:
    """Have the film tell that its picture is to be turned, as telephones do."""
    content = bytearray(film.read_bytes())
    place = content.index(b"tkhd") + 4 + 40
    for at, value in zip((0, 4, 12, 16), matrix, strict=True):
        struct.pack_into(">i", content, place + at, value << 16)
    film.write_bytes(content)
    return film


@pytest.mark.parametrize(
    ("matrix", "turns", "size"),
    [((0, 1, -1, 0), 1, (64, 128)), ((-1, 0, 0, -1), 2, (128, 64)), ((0, -1, 1, 0), 3, (64, 128))],
)
def test_a_picture_that_was_filmed_turned_is_shown_upright(
    tmp_path: Path, matrix: tuple[int, int, int, int], turns: int, size: tuple[int, int]
) -> None:
    clip = tmp_path / "clip.mp4"
    cut(_turned(draw_film(tmp_path / "film.mp4", 20), matrix), 1.2, 1.5, clip)
    assert described(clip)["size"] == size
    with av.open(str(clip)) as container:
        pictures = [frame.to_ndarray(format="gray") for frame in container.decode(video=0)]
    assert [number_in(np.rot90(picture, turns)) for picture in pictures] == [12, 13, 14]  # turned back


@pytest.mark.parametrize(
    ("matrix", "mirrored"),
    [
        ((-1, 0, 0, 1), lambda picture: picture[:, ::-1]),
        ((1, 0, 0, -1), lambda picture: picture[::-1]),
        ((0, 1, 1, 0), lambda picture: picture.T),
        ((0, -1, -1, 0), lambda picture: np.rot90(picture, 2).T),
    ],
)
def test_a_picture_that_was_filmed_mirrored_is_shown_as_players_show_it(
    tmp_path: Path, matrix: tuple[int, int, int, int], mirrored: Callable[[np.ndarray], np.ndarray]
) -> None:
    film, clip = draw_film(tmp_path / "film.mp4", 20, marked=True), tmp_path / "clip.mp4"
    with av.open(str(film)) as container:
        stored = next(container.decode(video=0)).to_ndarray(format="gray")
    cut(_turned(film, matrix), 0, 0.1, clip)
    with av.open(str(clip)) as container:
        drawn = next(container.decode(video=0)).to_ndarray(format="gray")
    assert np.abs(mirrored(stored).astype(float) - drawn).mean() < 10


def test_pixels_become_square(tmp_path: Path) -> None:
    film = draw_film(tmp_path / "film.mp4", 20, pixels=Fraction(3, 2))
    assert frame_numbers(film, 1, 1.3, tmp_path / "clip.mp4") == [10, 11, 12]
    assert described(tmp_path / "clip.mp4")["size"] == (192, 64)


@pytest.mark.parametrize("name", ["{:05}.png", "frame{}.png", "{:03}.jpg", "film 2 {}.webp"])
def test_frames_of_a_folder_come_by_number_and_at_their_rate(tmp_path: Path, name: str) -> None:
    folder = draw_frames(tmp_path / "film", 30, name)
    (folder / "notes.txt").write_text("no picture")
    assert frame_numbers(folder, 2, 4, tmp_path / "clip.mp4", 5) == list(range(10, 20))
    assert described(tmp_path / "clip.mp4")["seconds"] == pytest.approx(2)


def test_between_two_frames_of_a_folder_the_one_before_is_on(tmp_path: Path) -> None:
    folder = draw_frames(tmp_path / "film", 6)
    assert frame_numbers(folder, 1.2, 1.4, tmp_path / "clip.mp4", 1) == [1]
    assert frame_numbers(folder, 1.2, 3.5, tmp_path / "clip.mp4", 1) == [1, 2, 3]
    assert frame_numbers(folder, 1, 3, tmp_path / "clip.mp4", 29.97 / 30) == [0, 1, 2]


def _empty(film: Path) -> Path:
    film.write_bytes(b"")
    return film


def _text(film: Path) -> Path:
    film.write_text("This is no film. " * 100)
    return film


def _cut_off(film: Path) -> Path:
    film.write_bytes(film.read_bytes()[:1500])
    return film


def _noise(film: Path) -> Path:
    content = bytearray(film.read_bytes())
    content[100:2500:5] = bytes(byte ^ 0x55 for byte in content[100:2500:5])
    film.write_bytes(content)
    return film


def _playlist(film: Path) -> Path:
    film.write_text("#EXTM3U\n#EXTINF:10,\nhttp://127.0.0.1:1/film.ts\n")
    return film


def _sound_only(film: Path) -> Path:
    return draw_sound(film)


def _gone(film: Path) -> Path:
    film.unlink()
    return film


def _unknown(film: Path) -> Path:
    return film.rename(film.with_suffix(".txt"))


def _no_frames(film: Path) -> Path:
    folder = film.with_suffix("")
    folder.mkdir()
    return folder


def _broken_frame(film: Path) -> Path:
    folder = draw_frames(film.with_suffix(""), 3)
    content = (folder / "00001.png").read_bytes()
    (folder / "00001.png").write_bytes(content[: len(content) // 2])
    return folder


def _png(header: bytes) -> bytes:
    """A PNG with that header, and next to nothing behind it."""
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", b"x") + _chunk(b"IEND", b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _bomb(film: Path) -> Path:
    folder = draw_frames(film.with_suffix(""), 1)
    (folder / "00000.png").write_bytes(_png(struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)))
    return folder


def _no_header(film: Path) -> Path:
    folder = draw_frames(film.with_suffix(""), 1)
    (folder / "00000.png").write_bytes(_png(b""))
    return folder


def _another_format(film: Path) -> Path:
    folder = draw_frames(film.with_suffix(""), 1)
    Image.new("RGB", (16, 16)).save(folder / "00000.png", format="TIFF")
    return folder


FAULTS: dict[Fault, str] = {
    _empty: "cannot be decoded",
    _text: "cannot be decoded",
    _cut_off: "has no picture",
    _noise: "",
    _playlist: "cannot be decoded",
    _sound_only: "has no picture",
    _gone: "cannot be decoded (No such file or directory)",
    _unknown: "not a known kind of video file; expected ., .3g2, .3gp, .avi",
    _no_frames: "no frame lies in this stretch",
    _broken_frame: "cannot be decoded (image file is truncated",
    _bomb: "cannot be decoded (Image size (3600000000 pixels) exceeds limit",
    _another_format: "cannot be decoded (cannot identify image file",
    _no_header: "cannot be decoded (Truncated IHDR chunk)",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_source_that_is_no_film_is_refused_readably(tmp_path: Path, fault: Fault) -> None:
    source = fault(draw_film(tmp_path / "film.mp4", 20))
    with pytest.raises(CorpusError) as refusal:
        cut(source, 0, 2, tmp_path / "clip.mp4", 1)
    assert FAULTS[fault] in str(refusal.value)
    assert str(refusal.value).startswith((source.name, "no frame"))


def test_a_stretch_that_is_too_long_is_refused(film: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="601 seconds; a clip is at most 600 long"):
        cut(film, 0, 601, tmp_path / "clip.mp4")
