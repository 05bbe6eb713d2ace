"""Cutting clips as H.264 in yuv420p, with at most 480 lines, fast start, no metadata, and sound only on request."""

from collections.abc import Iterator
from fractions import Fraction
from heapq import merge
from io import BytesIO
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any

import av
from av import AudioFrame, VideoFrame
from av.container import InputContainer, OutputContainer
from av.error import BlockingIOError as Hungry
from av.error import EOFError as Over
from av.filter import Graph
from av.video.reformatter import ColorRange, Interpolation, VideoReformatter
from PIL import Image

from corpus.errors import CorpusError, kind_of
from systems.errors import SystemsError
from systems.features.films import WHOLE, beginning, frames, open_film, pictures
from systems.features.films import length as film_length

MOST_LINES = 480
LONGEST = 600.0  # seconds
SMALL = (640, 360)  # of a picture, at most
# The errors of FFmpeg and Pillow for a broken or hostile source.
UNREADABLE = (av.error.FFmpegError, OSError, ValueError, SyntaxError, MemoryError, Image.DecompressionBombError)
# bitexact keeps the encoder's name and the date out of the file; a53cc=0 keeps out the source's closed captions.
# frame_duration has the last frame of a clip stay on for as long as it says.
ENCODING = {"preset": "veryfast", "crf": "23", "flags": "+bitexact+frame_duration", "a53cc": "0"}
TICK = Fraction(1, 90_000)  # seconds; a time in a clip is a multiple
OPTIONS = {"movflags": "+faststart", "fflags": "+bitexact"}
COLOURS = ("colorspace", "color_primaries", "color_trc")

FAULTS = (CorpusError,)

Packets = Iterator[Any]
RATE = 48_000  # samples a second
LAYOUT = "stereo"
BEFORE = 1.0  # seconds; decoders are exact only after some packets


def work(source: Path, order: list[Any] | None, writable: Path) -> float | None:
    """Cut the clip that `corpus.clips` orders, or return the film's length if it orders none."""
    if order is None:
        return length(source)
    name, start, end, frame_rate, with_sound = order
    cut(source, start, end, writable / name, frame_rate, with_sound)
    return None


def cut(
    source: Path, start: float, end: float, to: Path, frame_rate: float | None = None, with_sound: bool = False
) -> None:
    """Write what is shown in [start, end) of a video file or a folder of frames as a clip that lasts as long.

    source: a video file, or a folder of pictures in the order of the numbers in their names.
    start, end: times in seconds.
    to: the file to write; its name ends in .mp4.
    frame_rate: the rate of a folder of frames, in frames a second.
    with_sound: whether to keep the film's sound, if it has any.
    Raises CorpusError if the source cannot be read, has no picture in this time, is too large or not whole, or the clip
    would be too long; `FilmAway` or `Unavailable` if the film is not to blame.
    """
    if end - start > LONGEST:
        raise CorpusError(f"{source.name}: {end - start:.0f} seconds; a clip is at most {LONGEST:.0f} long")
    try:
        if source.is_dir():
            last = _write(to, pictures(source, start, end, frame_rate or 1), 0.0, inf, iter(()))
            start = 0.0
        else:
            tones = sound(source, start, end) if with_sound else iter(())
            last = _write(to, frames(source, start, end), start, end, tones)
            if last < end - WHOLE:
                length(source)  # which refuses a film that is not whole
    except SystemsError as fault:
        raise CorpusError(str(fault)) from fault
    except UNREADABLE as fault:
        reason = getattr(fault, "strerror", None) or fault or "it needs too much memory"
        raise kind_of(fault)(f"{source.name}: cannot be decoded ({reason})") from fault
    if last == start:
        raise CorpusError("no frame lies in this stretch of the video")


def length(source: Path) -> float:
    """Return the seconds that a video lasts. Raises FilmAway if it is not there, CorpusError if it is unreadable."""
    try:
        return film_length(source)
    except SystemsError as fault:
        raise CorpusError(str(fault)) from fault
    except UNREADABLE as fault:
        raise kind_of(fault)(f"{source.name}: cannot be read ({fault})") from fault


def pictures_of(clip: Path, number: int) -> list[bytes]:
    """Return so many pictures of a clip that we have cut, at equal distances, as JPEG with at most 360 lines.

    A clip of fewer frames has fewer pictures. Raises CorpusError if the clip cannot be read.
    """
    gap, found = length(clip) / number, list[bytes]()
    last = None
    try:
        for last in frames(clip, 0.0, LONGEST):
            if len(found) < number and last.time >= (len(found) + 0.5) * gap:
                found.append(_jpeg(last))
    except (SystemsError, *UNREADABLE) as fault:
        raise CorpusError(f"{clip.name}: cannot be decoded ({fault})") from fault
    return found or ([_jpeg(last)] if last else [])


def _jpeg(frame: VideoFrame) -> bytes:
    picture: Any = frame.to_image()  # type: ignore[no-untyped-call]
    picture.thumbnail(SMALL)
    picture.save(content := BytesIO(), "JPEG", quality=80)
    return content.getvalue()


def _write(to: Path, images: Iterator[VideoFrame], start: float, end: float, tones: Iterator[AudioFrame]) -> float:
    """Encode what the frames show from `start` until `end`, in seconds, and the sound. Return when the last one ends;
    `start` without any.
    """
    first = next(images, None)
    if first is None:
        return start
    tone, last = next(tones, None), 0.0
    with av.open(str(to), "w", options=OPTIONS) as clip:
        picture = _picture_stream(clip, first)
        packets = [_encoded_pictures(picture, chain([first], images), start, end)]
        if tone:
            track: Any = clip.add_stream("aac", rate=RATE, layout=LAYOUT, options={"flags": "+bitexact"})
            packets.append(_encoded_tones(track, chain([tone], tones)))
        for packet in merge(*packets, key=lambda packet: packet.dts * packet.time_base):
            if packet.stream is picture:
                last = max(last, float((packet.pts + packet.duration) * packet.time_base))
            clip.mux(packet)
    return start + last


def _picture_stream(clip: OutputContainer, first: VideoFrame) -> Any:
    seconds = (first.duration or 0) * (first.time_base or 0)
    stream: Any = clip.add_stream("libx264", rate=1 / Fraction(seconds) if 0 < seconds < 1 else 24, options=ENCODING)
    lines = min(MOST_LINES, first.height)
    stream.height = max(2, lines - lines % 2)
    stream.width = max(2, 2 * round(first.width * lines / first.height / 2))
    stream.pix_fmt = "yuv420p"
    stream.codec_context.time_base = TICK
    for name in COLOURS:
        setattr(stream.codec_context, name, getattr(first, name))
    stream.codec_context.color_range = ColorRange.MPEG
    return stream


def _encoded_pictures(stream: Any, images: Iterator[Any], start: float, end: float) -> Packets:
    """Encode frames that were begun before `start` as beginning there, and let the last one end at `end`."""
    small = VideoReformatter()
    wanted: Any = {"width": stream.width, "height": stream.height, "format": "yuv420p"}
    wanted |= {"interpolation": Interpolation.BICUBIC, "dst_color_range": ColorRange.MPEG}
    for number, image in enumerate(images):
        begins = max(0, round((image.time - start) / TICK)) if number else 0
        ends = round((min(end, image.time + float(image.duration * image.time_base)) - start) / TICK)
        frame = small.reformat(image, **wanted)
        frame.pts, frame.duration, frame.time_base, frame.pict_type = begins, ends - begins, TICK, 0
        yield from stream.encode(frame)
    yield from stream.encode(None)


def _encoded_tones(stream: Any, frames: Iterator[AudioFrame]) -> Packets:
    for frame in frames:
        yield from stream.encode(frame)
    yield from stream.encode(None)


def sound(file: Path, start: float, end: float) -> Iterator[AudioFrame]:
    """Yield stereo frames of 48,000 samples a second. The first begins at `start` and has time 0. A film without sound
    yields nothing. Silence fills gaps, and the time before the sound begins.
    """
    with open_film(file) as film:
        if stream := film.streams.best("audio"):
            yield from _filtered(film, stream, start, end)


def _filtered(film: InputContainer, stream: Any, start: float, end: float) -> Iterator[AudioFrame]:
    tick, begins = stream.time_base, beginning(film) + start
    graph = _graph(stream, end - start)
    film.seek(max(0, round((begins - BEFORE) * av.time_base)))
    zero = round(begins / tick)
    for frame in film.decode(stream):
        if frame.pts is None:
            continue
        frame.pts -= zero
        if frame.pts * tick > end - start:
            break
        graph.push(frame)
        yield from _ready(graph)
    graph.push(None)
    yield from _ready(graph)


def _graph(stream: Any, seconds: float) -> Graph:
    graph = Graph()
    chain = [
        graph.add_abuffer(template=stream),
        # async=1 fills gaps with silence; first_pts=0 cuts or fills the time before the start.
        graph.add("aresample", f"{RATE}:async=1:first_pts=0"),
        graph.add("aformat", f"sample_fmts=fltp:sample_rates={RATE}:channel_layouts={LAYOUT}"),
        graph.add("atrim", f"end_sample={round(seconds * RATE)}"),
        graph.add("abuffersink"),
    ]
    graph.link_nodes(*chain).configure()
    graph.set_audio_frame_size(1024)
    return graph


def _ready(graph: Graph) -> Iterator[AudioFrame]:
    while True:
        try:
            frame: Any = graph.pull()
        except (Hungry, Over):
            return
        frame.time_base = Fraction(1, RATE)
        yield frame
