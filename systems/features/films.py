"""Reading the frames of a video file, or of a folder of pictures, between two times.

Reeljudge cuts its clips with it, in a confined process.
"""

import re
from array import array
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from math import ceil, floor, inf
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image

from ..errors import SystemsError
from .film_names import DEMUXERS, PICTURES, stem_and_ending

FORMATS = ("JPEG", "PNG", "WEBP")  # nothing else is decoded, whatever the file's name says
MOST_PIXELS = 8192 * 8192  # of a frame
MOST_UNSEEN = 100_000  # frames that are decoded before the first wanted one
# The filters that show a picture as its display matrix says, by the matrix's upper left four numbers.
TURNS: dict[tuple[int, ...], list[tuple[str, ...]]] = {
    (-1, 0, 0, 1): [("hflip",)],
    (1, 0, 0, -1): [("vflip",)],
    (-1, 0, 0, -1): [("hflip",), ("vflip",)],
    (0, 1, -1, 0): [("transpose", "clock")],
    (0, -1, 1, 0): [("transpose", "cclock")],
    (0, 1, 1, 0): [("transpose", "cclock_flip")],
    (0, -1, -1, 0): [("transpose", "clock_flip")],
}
# Seconds before a stretch at which to look for its beginning, because containers without an index lead behind it. In a
# program stream of MPEG even the times are wrong behind the place that was looked for, so it is decoded from the first.
EARLIER = (0.0, 2.0, 20.0, inf)
WHOLE = 1.0  # seconds that may be missing at the end of a film
NEAR = 1e-4  # seconds; times in corpora are rounded, times of frames are not


def open_film(file: Path) -> InputContainer:
    demuxer = DEMUXERS.get(stem_and_ending(file.name)[1])
    if demuxer is None:
        raise SystemsError(f"{file.name}: not a known kind of video file; expected {', '.join(sorted(DEMUXERS))}")
    options = {"protocol_whitelist": "file", "format_whitelist": ",".join(filter(None, DEMUXERS.values()))}
    return av.open(str(file), format=demuxer or None, options=options)


def beginning(film: InputContainer) -> float:
    """Return the time in the container, in seconds, from which players count: that of the first frame or sound."""
    return (film.start_time or 0) / av.time_base


def length(file: Path) -> float:
    """Return the seconds that a film lasts: as its header says or, without one, until its last packet ends.

    Raises SystemsError if the film has no length, or lacks its last second, as a file that was copied in part.
    """
    with open_film(file) as film:
        stream, header = film.streams.best("video"), (film.duration or 0) / av.time_base
        if not header and stream and stream.duration and stream.time_base:
            header = float(stream.duration * stream.time_base)
        if header > WHOLE and film.format.name != "mpeg":  # whose length is that of its packets, and which cannot seek
            film.seek(max(0, round((beginning(film) + header - WHOLE) * av.time_base)))
            if max(map(_end, film.demux()), default=-inf) < beginning(film) + header - WHOLE:
                raise SystemsError(f"{file.name}: its last second is missing, of {header:.2f} s; expected a whole file")
        seconds = header or max(map(_end, film.demux()), default=-inf) - beginning(film)
    if seconds <= 0:
        raise SystemsError(f"{file.name}: does not tell how long it lasts")
    return seconds


def _end(packet: Any) -> float:
    """Return when a packet ends, in seconds; -inf if it does not tell, or is empty as a part that never arrived."""
    time = packet.dts if packet.pts is None else packet.pts
    is_empty = time is None or not any(bytes(packet))
    return -inf if is_empty else float((time + (packet.duration or 0)) * packet.time_base)


def frames(file: Path, start: float, end: float) -> Iterator[VideoFrame]:
    """Yield the frames shown in [start, end), in seconds, each with the time until the next as its duration."""
    for earlier in EARLIER:
        with open_film(file) as film:
            earlier = inf if film.format.name == "mpeg" else earlier
            stream = film.streams.best("video")  # not an attached cover picture
            if not isinstance(stream, VideoStream):
                raise SystemsError(f"{file.name}: has no picture")
            _check(file, stream.width, stream.height)
            decoded = _decoded(film, stream, start - earlier)
            first = next(decoded, None)
            if earlier == inf or (first and first.time <= start + NEAR):
                found = chain([first], decoded) if first else decoded
                yield from _upright(_wanted(file, _held(found), start, end), stream)
                return


def _wanted(file: Path, decoded: Iterator[Any], start: float, end: float) -> Iterator[VideoFrame]:
    for unseen, frame in enumerate(decoded):
        if frame.time >= end - NEAR:
            return
        if frame.time + frame.duration * frame.time_base > start + NEAR:
            yield frame
        elif unseen > MOST_UNSEEN:
            raise SystemsError(f"{file.name}: no key frame within {MOST_UNSEEN:,} frames before {start:g} s")


def _held(decoded: Iterator[VideoFrame]) -> Iterator[VideoFrame]:
    """Yield the frames with the durations for which they are shown: each until the next, the last as it says itself."""
    last: Any = next(decoded, None)
    if last is None:
        return
    for frame in decoded:
        last.duration = max(0, (frame.pts or 0) - last.pts)
        yield last
        last = frame
    yield last


def _upright(wanted: Iterator[VideoFrame], stream: VideoStream) -> Iterator[VideoFrame]:
    """Yield the frames as players show them: turned and mirrored as the film says, and with square pixels."""
    first = next(wanted, None)
    if first is None:
        return
    changes = TURNS.get(_matrix(first), [])
    if (wide := stream.sample_aspect_ratio or 1) != 1:
        changes = [("scale", f"iw*{wide}:ih"), *changes]
    if not changes:
        yield first
        yield from wanted
        return
    graph = Graph()
    filters = [graph.add(*change) for change in changes]
    graph.link_nodes(graph.add_buffer(template=stream), *filters, graph.add("buffersink")).configure()
    for frame in chain([first], wanted):
        graph.vpush(frame)
        yield graph.vpull()


def _matrix(frame: VideoFrame) -> tuple[int, ...]:
    """Return the upper left four numbers of a frame's display matrix, in which 1 is a whole; empty without one."""
    found: Any = frame.side_data.get("DISPLAYMATRIX")
    numbers = array("i", bytes(found)) if found else []
    return tuple(round(numbers[place] / 2**16) for place in (0, 1, 3, 4)) if numbers else ()


def _decoded(film: InputContainer, stream: VideoStream, start: float) -> Iterator[VideoFrame]:
    """Yield frames in the order of their display, from a key frame near `start`; from the first if that is -inf."""
    context: Any = stream.codec_context
    context.options = {"max_pixels": str(MOST_PIXELS)}  # frames may differ from what the stream says
    context.thread_type = "AUTO"
    tick: Any = stream.time_base
    zero = beginning(film)
    # AVI has no times of display. Counted from the start, the n-th displayed frame gets the n-th place in the file.
    by_place = film.format.name == "avi" and context.has_b_frames
    places: deque[int] = deque()
    if not by_place and start != -inf:
        film.seek(max(0, floor((zero + start) / tick)), stream=stream)
    for packet in film.demux(stream):
        if by_place and packet.dts is not None:
            places.append(packet.dts)
        for frame in packet.decode():
            frame.pts = places.popleft() if places else frame.pts
            if frame.pts is not None:
                frame.pts -= round(zero / tick)
                yield frame


def pictures(folder: Path, start: float, end: float, frame_rate: float) -> Iterator[VideoFrame]:
    """Yield the pictures that are displayed in [start, end). The first has time 0."""
    files = sorted((file for file in folder.iterdir() if file.suffix.lower() in PICTURES), key=_by_number)
    rate = Fraction(frame_rate).limit_denominator(1001)
    first, last = floor(start * frame_rate + NEAR), ceil(end * frame_rate - NEAR)
    for number, file in enumerate(files[first : max(last, first + 1)]):
        with Image.open(file, formats=FORMATS) as picture:
            _check(file, picture.width, picture.height)
            frame: VideoFrame = VideoFrame.from_image(picture.convert("RGB"))  # type: ignore[no-untyped-call]
        frame.pts, frame.duration, frame.time_base = number, 1, 1 / rate
        yield frame


def _check(file: Path, width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise SystemsError(f"{file.name}: {width}x{height} is too large; at most {MOST_PIXELS:,} pixels can be cut")


def _by_number(file: Path) -> list[str | int]:
    """Return a sort key that puts 9.jpg before 10.jpg."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", file.name)]
