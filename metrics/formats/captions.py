"""Captions with their times: Charades-STA's lines, and the records of ActivityNet Captions and TACoS."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats
from .columns import MOMENT, Columns, Rows
from .errors import Place, show
from .json_files import Records

SLOWEST, FASTEST = 0.001, 1_000_000  # frames a second
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
        raise place.fail(f"is {show(line.strip())}; it must be VIDEO start end##sentence")
    return shape[1], place.number(shape[2], "start"), place.number(shape[3], "end"), shape[4]


def charades_qrels(text: str, source: str) -> Columns:
    """Charades-STA: a line ``VIDEO start end##sentence``; the query is the number of the line."""
    rows = Rows(source, MOMENT)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = Place(source, f"line {number}")
        video, start, end, _ = charades_line(place, line)
        rows.queries[str(number)] = None
        rows.add_span(place, str(number), video, [start, end], 1)
    return rows.columns()


def in_seconds(place: Place, record: Any) -> float:
    """The unit of ActivityNet Captions."""
    return 1.0


def in_frames(place: Place, record: Any) -> float:
    """The unit of TACoS, whose records tell the frames a second as `fps`."""
    fps = place.need(record, "fps")
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not SLOWEST <= fps <= FASTEST:
        raise place.fail(f"fps is {show(fps)}; it must be a number of frames a second, above 0")
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


def activitynet_qrels(records: Records) -> Columns:
    """ActivityNet Captions: ``{video: {"duration", "timestamps": [[start, end], …], "sentences"}}``; the query is
    the video and the number of the sentence, ``v_abc#1``. A span whose end stands first is turned round, as in
    the published loaders.
    """
    return _captions(records, in_seconds)


def tacos_qrels(records: Records) -> Columns:
    """TACoS: as ActivityNet Captions, but with times in frames and the frames a second as `fps`."""

    return _captions(records, in_frames)


def _captions(records: Records, unit: Unit) -> Columns:
    """Videos with their sentences and times; `unit`: what a record's times are in, in seconds."""
    rows = Rows(records.source, MOMENT)
    for outer, pair in records:
        if not isinstance(pair, tuple):
            raise outer.fail(f"is {show(pair)}; this format is an object from video to its sentences")
        video, record = pair
        for place, n, sentence, span in captions(records.source, video, record, unit):
            query = rows.new_query(place, {"query": f"{video}#{n}"}, "query")
            rows.tell(query, sentence)
            rows.add_span(place, query, video, span, 1)
    return rows.columns()


def floats(place: Place, name: str, values: Any, dimensions: int) -> Floats:
    """Numbers in lists, as an array of so many dimensions."""
    try:
        array = np.array(values)
    except ValueError:  # lists of different lengths
        array = np.array(None)
    if array.size == 0:
        array = np.zeros((0,) * dimensions)
    if array.dtype.kind not in "iuf" or array.ndim != dimensions or not np.isfinite(array).all():
        shape = "a list of finite numbers" if dimensions == 1 else "lists of finite numbers, all equally long"
        raise place.fail(f"{name} must be {shape}{_first_wrong(name, values, dimensions)}")
    return array.astype(np.float64)


def _first_wrong(name: str, values: Any, dimensions: int) -> str:
    """The first of several values that is wrong, for a message; empty if nothing better can be said."""
    if not isinstance(values, list):
        return f"; {name} is {show(values)}"
    is_right = _is_finite if dimensions == 1 else _like(values[0]) if values else bool
    wrong = (f"; {name}[{n}] is {show(value)}" for n, value in enumerate(values) if not is_right(value))
    return next(wrong, "")


def _like(first: Any) -> Callable[[Any], bool]:
    """Whether a value is a list of finite numbers, as many as the first one has."""
    length = len(first) if isinstance(first, list) else None
    return lambda value: isinstance(value, list) and len(value) == length and all(map(_is_finite, value))


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < float("inf")
