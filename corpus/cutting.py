"""Cutting clips: H.264, yuv420p, at most 480 lines, fast start, no sound and no metadata."""

import re
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import av
from av.video.frame import VideoFrame
from PIL import Image

from corpus.errors import CorpusError
from corpus.media import DEMUXERS, PICTURES

MOST_LINES = 480
LONGEST = 600.0  # seconds
NEAR = 1e-4  # seconds; times in corpora are rounded, frames' times are not
# What FFmpeg and Pillow raise for a broken or hostile source.
UNREADABLE = (av.error.FFmpegError, OSError, ValueError, SyntaxError, Image.DecompressionBombError)
# bitexact keeps the encoder's name and the date out of the file
ENCODING = {"preset": "veryfast", "crf": "23", "flags": "+bitexact"}
OPTIONS = {"movflags": "+faststart", "fflags": "+bitexact"}


def cut(source: Path, start: float, end: float, to: Path, frame_rate: float | None = None) -> None:
    """Write the frames of [start, end) of a video file or a folder of frames as a clip.

    Parameters
    ----------
    source : a video file, or a folder of pictures in the order of the numbers in their names
    start, end : seconds
    to : the file to write, ending in .mp4
    frame_rate : of a folder of frames, in frames a second

    Raises
    ------
    CorpusError
        When the source cannot be read, has no picture there, or the stretch is too long.
    """
    if end - start > LONGEST:
        raise CorpusError(f"{source.name}: {end - start:.0f} seconds; a clip is at most {LONGEST:.0f} long")
    try:
        if source.is_dir():
            _write(_pictures(source, start, end, frame_rate or 1), to)
        else:
            _write(_frames(source, start, end), to)
    except UNREADABLE as fault:
        reason = getattr(fault, "strerror", None) or fault
        raise CorpusError(f"{source.name}: cannot be decoded ({reason})") from fault


def _frames(file: Path, start: float, end: float) -> Iterator[VideoFrame]:
    demuxer = DEMUXERS.get(file.suffix.lower())
    if not demuxer:
        raise CorpusError(
            f"{file.name}: not a video file that is known; expected {', '.join(sorted(DEMUXERS))}"
        )
    with av.open(str(file), format=demuxer, options={"protocol_whitelist": "file"}) as container:
        if not container.streams.video:
            raise CorpusError(f"{file.name}: has no picture")
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        zero = (container.start_time or 0) / av.time_base  # players count from the first frame or sound
        container.seek(max(0, floor((zero + start) / stream.time_base)), stream=stream)  # type: ignore[operator]
        for frame in container.decode(stream):
            if frame.time is None or frame.time - zero < start - NEAR:
                continue
            if frame.time - zero >= end - NEAR:
                return
            yield frame


def _pictures(folder: Path, start: float, end: float, frame_rate: float) -> Iterator[VideoFrame]:
    files = sorted((file for file in folder.iterdir() if file.suffix.lower() in PICTURES), key=_by_number)
    rate = Fraction(frame_rate).limit_denominator(1001)
    first, last = floor(start * frame_rate + NEAR), ceil(end * frame_rate - NEAR)
    for number, file in enumerate(files[first : max(last, first + 1)]):
        with Image.open(file) as picture:
            frame: VideoFrame = VideoFrame.from_image(picture.convert("RGB"))  # type: ignore[no-untyped-call]
        frame.pts, frame.duration, frame.time_base = number, 1, 1 / rate
        yield frame


def _by_number(file: Path) -> list[str | int]:
    """Sorts 9.jpg before 10.jpg."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", file.name)]


def _write(frames: Iterator[VideoFrame], to: Path) -> None:
    first = next(frames, None)
    if first is None:
        raise CorpusError("no frame lies in this stretch of the video")
    lines = min(MOST_LINES, first.height)
    height, width = max(2, lines - lines % 2), max(2, 2 * round(first.width * lines / first.height / 2))
    with av.open(str(to), "w", options=OPTIONS) as clip:
        stream = clip.add_stream("libx264", rate=_rate(first), options=ENCODING)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.time_base = first.time_base  # type: ignore[assignment]
        start = first.pts or 0
        for frame in _chain(first, frames):
            pts = (frame.pts or 0) - start
            frame = frame.reformat(width, height, "yuv420p")
            frame.pts, frame.time_base, frame.pict_type = pts, first.time_base, 0
            clip.mux(stream.encode(frame))
        clip.mux(stream.encode(None))


def _rate(frame: VideoFrame) -> Fraction:
    """Frames a second, which tell how long the last one of a clip stays on."""
    return 1 / (frame.duration * frame.time_base) if frame.duration and frame.time_base else Fraction(24)


def _chain(first: VideoFrame, rest: Iterator[VideoFrame]) -> Iterator[VideoFrame]:
    yield first
    yield from rest
