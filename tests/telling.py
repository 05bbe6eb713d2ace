"""Films that tell a canary wherever a film can tell something, batches of them, and whether their clips repeat it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import av
import numpy as np

from campaigns.models import Campaign
from corpus.models import Corpus, Moment, Video
from jobs.running import work_off
from judging.models import Batch
from tests.cast import make_query
from tests.numbered import RATE, numbered, seen

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
    captions = b"\xb5\x00\x31" + CAPTIONS + b"\x03" + bytes([0x40 | len(CANARY) // 2]) + b"\xff" + pairs + b"\xff"
    for packet in packets:
        messages = _message(4, captions) + _message(5, UUID(int=7).bytes + CANARY)
        telling = av.Packet(messages + bytes(packet))
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


def check_clip(clip: Path, frames: int) -> None:
    """It has that many frames, and neither bytes nor container tell more than a clip's length and codecs."""
    content = clip.read_bytes()
    for secret in (CANARY, CAPTIONS, b"1999", b"cnr", b"Lavf", b"Lavc"):
        assert secret not in content
    assert len(seen(clip)) == frames
    with av.open(str(clip)) as container:
        assert {stream.type for stream in container.streams} <= {"video", "audio"}
        assert container.chapters() == []
        for metadata in (container.metadata, *(stream.metadata for stream in container.streams)):
            assert metadata.keys() <= PLAIN
    for box in (b"mvhd", b"tkhd", b"mdhd"):  # neither made nor changed at any time
        assert content[content.index(box) + 8 :][:8] == bytes(8)


class Sent(NamedTuple):
    """A clip as a browser gets it."""

    token: str
    headers: Mapping[str, str]
    content: bytes


def cut_telling_batch(folder: Path) -> Batch:
    """Make a campaign whose only query has a batch of twenty clips, of a few frames each, cut from a telling film."""
    draw_telling_film(folder / "canary.mkv")
    corpus = Corpus.objects.create(name="canary", format="tvr", media_folder=str(folder))
    video = Video.objects.create(corpus=corpus, name="canary", duration=2, media="canary.mkv")
    for number in range(20):
        start = number * 0.08
        words = f"canary {number}"
        Moment.objects.create(video=video, start=start, end=start + 0.299, description=words, caption=words)
    campaign = Campaign.objects.create(name="films", corpus=corpus)
    make_query(campaign, "1", "A person sits down.")
    assert work_off(StringIO()) == []
    return Batch.objects.get(state=Batch.State.OPEN)


def check_sent(sent: list[Sent], folder: Path) -> None:
    """Neither clips nor headers repeat the canary, and headers differ by token, size and content of the clip only."""
    alike = set()
    for token, headers, content in sent:
        file = folder / "sent.mp4"
        file.write_bytes(content)
        check_clip(file, len(seen(file)))
        assert "canary" not in str(headers).lower()
        hashes = (hash(content).hexdigest() for hash in (hashlib.md5, hashlib.sha256))
        own = {token: "TOKEN", f"-{len(content):x}": "-SIZE"} | dict.fromkeys(hashes, "HASH")
        alike.add(tuple(sorted((name.lower(), _without(own, value)) for name, value in headers.items())))
    names = {name for each in alike for name, _ in each}
    assert len(alike) == 1, names
    assert {"content-type", "cache-control"} <= names


def _without(own: dict[str, str], value: str) -> str:
    for what, word in own.items():
        value = value.replace(what, word)
    return value
