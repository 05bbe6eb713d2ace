"""The shapes of the field's annotation files: what a line or an entry says, for qrels and for corpora alike."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats
from .place import Place
from .showing import show

SEGMENT_SECONDS = 5  # DiDeMo's times are segments of five seconds
CHARADES_LINE = re.compile(r"(\S+)\s+(\S+)\s+(\S+)\s*##(.*)")
Unit = Callable[[Place, Any], float]  # what the times of a record are in, in seconds


class Sentence(NamedTuple):
    """A sentence about a video with its start and end in seconds, and where it stands."""

    place: Place
    number: int
    text: Any
    span: list[float]


def charades_line(place: Place, line: str) -> tuple[str, float, float, str]:
    """Video, start and end in seconds, and sentence of a line ``VIDEO start end##sentence``."""
    shape = CHARADES_LINE.fullmatch(line.strip())
    if not shape:
        raise place.fail("must be: VIDEO start end##sentence")
    return shape[1], place.number(shape[2], "start"), place.number(shape[3], "end"), shape[4]


def seconds_of_segments(place: Place, name: str, segments: Any) -> list[int]:
    """Start and end, in seconds, of a moment from its first to its last segment."""
    whole = isinstance(segments, list) and [type(number) for number in segments] == [int, int]
    if not whole or not 0 <= segments[0] <= segments[1]:
        raise place.fail(
            f"{name}: is {show(segments)}; it must be [first, last], the numbers of two segments, from 0"
        )
    return [SEGMENT_SECONDS * segments[0], SEGMENT_SECONDS * (segments[1] + 1)]


def in_seconds(place: Place, record: Any) -> float:
    """The unit of ActivityNet Captions."""
    return 1.0


def in_frames(place: Place, record: Any) -> float:
    """The unit of TACoS, whose records tell the frames a second as `fps`."""
    fps = floats(place, "fps", [place.need(record, "fps")], 1)[0]
    if fps <= 0:
        raise place.fail(f"fps is {fps:g}; it must be above 0")
    return 1 / float(fps)


def captions(source: str, video: str, record: Any, unit: Unit) -> Iterator[Sentence]:
    """The sentences of a video with their times. A span whose end stands first is turned round, as in the
    published loaders.
    """
    place = Place(source, f"video {video!r}")
    sentences = place.many(place.need(record, "sentences"), "sentences")
    spans = floats(place, "timestamps", place.need(record, "timestamps"), 2) * unit(place, record)
    if len(spans) != len(sentences) or (spans.size and spans.shape[1] != 2):
        raise place.fail(f"has {len(sentences)} sentences; it needs a [start, end] for each")
    for n, (sentence, span) in enumerate(zip(sentences, np.sort(spans).tolist(), strict=True), 1):
        yield Sentence(Place(source, f"video {video!r}, sentence {n}"), n, sentence, span)


def floats(place: Place, name: str, values: Any, dimensions: int) -> Floats:
    """Numbers in lists, as an array of so many dimensions."""
    try:
        array = np.array(values)
    except ValueError:  # lists of different lengths
        array = np.array(None)
    if array.size == 0:
        array = np.zeros((0,) * dimensions)
    if array.dtype.kind not in "iuf" or array.ndim != dimensions or not np.isfinite(array).all():
        raise place.fail(
            f"{name} must be finite numbers, {dimensions}-dimensional{_first_wrong(name, values)}"
        )
    return array.astype(np.float64)


def _first_wrong(name: str, values: Any) -> str:
    """The first of several spans that is none, for a message; empty if nothing better can be said."""
    if not isinstance(values, list):
        return f"; {name} is {show(values)}"
    for n, span in enumerate(values):
        if isinstance(span, list) and not (
            len(span) == 2 and all(type(x) in (int, float) and abs(x) < float("inf") for x in span)
        ):
            return f"; {name}[{n}] is {show(span)}"
    return ""
