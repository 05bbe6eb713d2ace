"""Canaries in films: whatever a source says about itself besides its picture, no clip repeats it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import av
import numpy as np
import pytest
from PIL import Image

from corpus.cutting import cut
from tests.numbered import RATE, draw_frames, numbered, seen

CANARY = b"canary"
DATE = "1999-12-31T23:59:59Z"
CAPTIONS = b"GA94"  # how closed captions begin, in the stream of the pictures itself
PLAIN = {"major_brand", "minor_version", "compatible_brands", "language", "handler_name"}


def draw_telling_film(file: Path) -> Path:
    """A film that tells the canary in its tags, chapters, subtitles, sound, captions and comments of the encoder."""
    with av.open(str(file), "w") as film:
        film.metadata.update(title="canary", comment="canary", artist="canary", creation_time=DATE)
        chapter = {"id": 1, "start": 0, "end": 2, "time_base": Fraction(1), "metadata": {"title": "canary"}}
        film.set_chapters([chapter])  # type: ignore[list-item]
        picture: Any = film.add_stream("libx264", rate=RATE, options={"g": "5", "bf": "0"})
        picture.width, picture.height, picture.pix_fmt = 128, 64, "yuv420p"
        sound: Any = film.add_stream("aac", rate=8000)
        words: Any = film.add_mux_stream("subrip")
        for stream in (picture, sound, words):
            stream.metadata.update(title="canary", language="cnr")
        for number in range(20):
            frame = av.VideoFrame.from_ndarray(numbered(number, 128, 64), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            film.mux(list(_with_captions(picture.encode(frame))))
        film.mux(list(_with_captions(picture.encode(None))))
        film.mux(_words(words))
        film.mux(sound.encode(_hum()))
        film.mux(sound.encode(None))
    return file


def _with_captions(packets: list[Any]) -> Iterator[Any]:
    pairs = b"".join(b"\xfc" + CANARY[at : at + 2] for at in range(0, len(CANARY), 2))
    captions = (
        b"\xb5\x00\x31" + CAPTIONS + b"\x03" + bytes([0x40 | len(CANARY) // 2]) + b"\xff" + pairs + b"\xff"
    )
    for packet in packets:
        told = _message(4, captions) + _message(5, UUID(int=7).bytes + CANARY)
        telling = av.Packet(told + bytes(packet))
        telling.pts, telling.dts, telling.time_base = packet.pts, packet.dts, packet.time_base
        telling.is_keyframe, telling.stream = packet.is_keyframe, packet.stream
        yield telling


def _message(kind: int, content: bytes) -> bytes:
    """Supplemental enhancement information, as H.264 has it between pictures."""
    return b"\0\0\0\1\6" + bytes([kind, len(content)]) + content + b"\x80"


def _hum() -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(np.full((1, 16_000), 0.1, np.float32), format="fltp", layout="mono")
    frame.sample_rate = 8000
    return frame


def _words(stream: Any) -> Any:
    packet = av.Packet(CANARY)
    packet.pts = packet.dts = 0
    packet.duration, packet.time_base, packet.stream = 1000, Fraction(1, 1000), stream
    return packet


@pytest.mark.parametrize("with_sound", [False, True])
def test_a_clip_repeats_nothing_that_its_film_tells(tmp_path: Path, with_sound: bool) -> None:
    film = draw_telling_film(tmp_path / "canary.mkv")
    with av.open(str(film)) as source:
        sides: Any = next(source.decode(video=0)).side_data
        told = {side.type.name for side in sides}
        assert {"A53_CC", "SEI_UNREGISTERED"} <= told
    clip = tmp_path / "clip.mp4"
    cut(film, 0.5, 1.5, clip, with_sound=with_sound)
    check(clip)


def test_a_clip_repeats_nothing_that_its_frames_tell(tmp_path: Path) -> None:
    folder = draw_frames(tmp_path / "canary", 10, "canary{}.jpg")
    for file in folder.iterdir():
        picture = Image.open(file)
        exif = Image.Exif()
        exif[0x010E], exif[0x0132], exif[0x9286] = "canary", DATE, CANARY  # description, date, comment
        picture.save(file, exif=exif, comment=CANARY)
        assert file.read_bytes().count(CANARY) >= 3
    cut(folder, 0, 1, tmp_path / "clip.mp4", RATE)
    check(tmp_path / "clip.mp4")


def check(clip: Path) -> None:
    """It has ten frames, and neither bytes nor container tell more than a clip's length and codecs."""
    content = clip.read_bytes()
    for secret in (CANARY, CAPTIONS, b"1999", b"cnr", b"Lavf", b"Lavc"):
        assert secret not in content
    assert len(seen(clip)) == 10
    with av.open(str(clip)) as container:
        assert {stream.type for stream in container.streams} <= {"video", "audio"}
        assert container.chapters() == []
        for told in (container.metadata, *(stream.metadata for stream in container.streams)):
            assert told.keys() <= PLAIN
    for box in (b"mvhd", b"tkhd", b"mdhd"):  # neither made nor changed at any time
        assert content[content.index(box) + 8 :][:8] == bytes(8)
