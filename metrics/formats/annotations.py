"""The annotation files of the data sets and their evaluators' predictions, captions with times, lengths of videos."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats
from .columns import MOMENT, PREDICTION, Columns, Rows
from .csv_tables import csv_rows
from .errors import MeasureError, Place, show
from .files import read_bytes, text_of
from .json_files import Records, looks_like_json, read_records

SEGMENT_SECONDS = 5  # DiDeMo's times are segments of five seconds
CLIP_SECONDS = 2  # QVHighlights judges saliency in clips of two seconds
LONGEST_VIDEO = 1_000_000  # seconds
VIDEO = ("video", "video_name", "vid_name", "vid", "video_id", "id")  # names of columns and fields
DURATION = ("duration", "length", "seconds")
SLOWEST, FASTEST = 0.001, 1_000_000  # frames a second
CHARADES_LINE = re.compile(r"(\S+)\s+(\S+)\s+(\S+)\s*##(.*)")
Unit = Callable[[Place, Any], float]  # what the times of a record are in, in seconds


def tvr_qrels(records: Records) -> Columns:
    """TVR's annotations: ``{"desc_id", "vid_name", "ts": [s, e] or several of them, "type"}``."""
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query = rows.new_query(place, record, "desc_id")
        spans = place.many(place.need(record, "ts"), "ts")
        if not spans or not isinstance(spans[0], list):
            spans = [spans]
        if "type" in record:
            rows.types[query] = str(record["type"])
        rows.add_annotations(place, query, place.need(record, "vid_name"), spans)
    return rows.columns()


def didemo_qrels(records: Records) -> Columns:
    """DiDeMo's annotations, times in segments where `num_segments` says so and in seconds otherwise (STAL)."""
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query = rows.new_query(place, record, "annotation_id", "query_id")
        spans = place.many(place.need(record, "times"), "times")
        if "num_segments" in record:
            spans = [seconds_of_segments(place, f"time {n}", segments) for n, segments in enumerate(spans, 1)]
        video = place.need(record, "video", "video_index")
        rows.add_annotations(place, query, str(video), spans)
    return rows.columns()


def didemo_run(records: Records) -> Columns:
    """DiDeMo's predictions: ``{"annotation_id", "segments": [[first, last], …]}``, the best moment first; its first and
    last segment of 5 s belong to a moment. The video is the query's own, so none is named; ranks are the scores.
    Also an object from query id to segments.
    """
    if records.is_object and "segments" not in records.only():
        listed = [{"annotation_id": query, "segments": spans} for query, spans in records.only().items()]
        records = Records(records.source, listed)
    rows = Rows(records.source, PREDICTION)
    for place, record in records:
        query = rows.new_query(place, record, "annotation_id", "query_id")
        moments = place.many(place.need(record, "segments"), "segments")
        for rank, moment in enumerate(moments, 1):
            span = seconds_of_segments(place, f"query {query!r}, moment {rank}", moment)
            rows.add_span(place, query, str(record.get("video", query)), span, float(len(moments) - rank))
    return rows.columns()


def seconds_of_segments(place: Place, name: str, segments: Any) -> list[int]:
    """Start and end, in seconds, of a moment from its first to its last segment."""
    whole = isinstance(segments, list) and [type(number) for number in segments] == [int, int]
    if not whole or not 0 <= segments[0] <= segments[1]:
        raise place.fail(f"{name}: is {show(segments)}; it must be [first, last], the numbers of two segments, from 0")
    return [SEGMENT_SECONDS * segments[0], SEGMENT_SECONDS * (segments[1] + 1)]


def stal_run(records: Records) -> Columns:
    """STAL's ranked segments: parallel lists of video indices and [start, end]; without scores, ranks stand in."""
    rows = Rows(records.source, PREDICTION)
    for place, record in records:
        query = rows.new_query(place, record, "annotation_id", "query_id")
        videos = place.many(place.need(record, "pred_video_indices"), "pred_video_indices")
        spans = place.many(place.need(record, "pred_segments"), "pred_segments")
        if len(videos) != len(spans):
            raise place.fail(f"{len(videos)} pred_video_indices but {len(spans)} pred_segments; they must agree")
        for rank, (video, span) in enumerate(zip(videos, spans, strict=True)):
            rows.add_span(place, query, str(video), span, float(len(spans) - rank))
    return rows.columns()


def axiou_qrels(records: Records) -> Columns:
    """AxIoU's ground truth: ``[[video, sentence], [start, end, duration]]``; the query is both words together."""
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query, video = _axiou_query(rows, place, record, 2)
        rows.add_span(place, query, video, record[1], 1)
        _axiou_duration(rows, query, record[1])
    return rows.columns()


def axiou_run(records: Records) -> Columns:
    """AxIoU's predictions: ``[[video, sentence], [[start, end, duration], …] or null, [rating, …]]``. Records whose
    locations and ratings are both null, as SCDM's file holds them beside the real ones, are passed over and counted.
    """
    rows = Rows(records.source, PREDICTION)
    null = [place for place, record in records if isinstance(record, list) and record[1:] == [None, None]]
    if null:
        rows.notes.append(f"{len(null)} records are null (the first: {null[0].spot}) and passed over")
    for place, record in records:
        if isinstance(record, list) and record[1:] == [None, None]:
            continue
        query, video = _axiou_query(rows, place, record, 3)
        spans, ratings = record[1] or [], place.many(record[2], "ratings")
        if len(place.many(spans, "locations")) != len(ratings):
            raise place.fail(f"{len(spans)} locations but {len(ratings)} ratings; they must agree")
        for span, rating in zip(spans, ratings, strict=True):
            rows.add_span(place, query, video, span, rating)
            _axiou_duration(rows, query, span)
    return rows.columns()


def _axiou_query(rows: Rows, place: Place, record: Any, parts: int) -> tuple[str, str]:
    whole = isinstance(record, list) and len(record) == parts and isinstance(record[0], list)
    if not whole or [type(word) for word in record[0]] != [str, str]:
        raise place.fail(f"is {show(record)}; it must be [[video, sentence], …] of {parts} parts")
    return rows.new_query(place, {"query": " ".join(record[0])}, "query"), record[0][0]


def _axiou_duration(rows: Rows, query: str, span: list[Any]) -> None:
    if len(span) > 2:
        rows.durations.setdefault(query, span[2])


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
        video, start, end, sentence = charades_line(place, line)
        rows.tell(str(number), sentence)
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


def captions_qrels(records: Records, unit: Unit) -> Columns:
    """ActivityNet Captions: ``{video: {"duration", "timestamps": [[start, end], …], "sentences"}}``; the query is the
    video and the number of the sentence, ``v_abc#1``. TACoS has frames in place of seconds, and `fps`.

    unit: what a record's times are in, in seconds.
    """
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

    def is_right(value: Any) -> bool:
        if dimensions == 1:
            return _is_finite(value)
        return isinstance(value, list) and len(value) == len(values[0]) and all(map(_is_finite, value))

    return next((f"; {name}[{n}] is {show(value)}" for n, value in enumerate(values) if not is_right(value)), "")


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < float("inf")


def read_durations(path: str | Path) -> dict[str, float]:
    """Seconds of each video; a video without them is an error.

    From an object from video to seconds, ``[seconds, index]`` or an object with ``duration``, which may be divided into
    splits; from records with a video and its duration, such as annotations, in JSON Lines or a list; or from a CSV.
    """
    found = dict[str, float]()
    for place, video, entry in _entries(read_bytes(path), str(path)):
        value = entry.get("duration") if isinstance(entry, dict) else entry
        seconds = value[0] if isinstance(value, list) and value else value
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_VIDEO:
            right = "seconds above 0, [seconds, index], or an object with duration"
            raise place.fail(f"the duration is {show(entry)}; it must be {right}")
        found[str(video)] = float(seconds)
    return found


def _entries(data: bytes, source: str) -> Iterator[tuple[Place, Any, Any]]:
    """Place and name of each video, and what holds its duration."""
    if not looks_like_json(data):
        for place, row in csv_rows(text_of(data, source), source):
            yield place, place.need(row, *VIDEO), place.number(place.need(row, *DURATION), "duration")
        return
    records = read_records(data, source)
    if records.is_object and not any(isinstance(records.items[0].get(name), str) for name in VIDEO):
        for video, entry in without_split(records.items[0], source).items():
            yield Place(source, f"video {video!r}"), video, entry
        return
    for place, record in records:
        yield place, place.need(record, *VIDEO), place.need(record, *DURATION)


def without_split(index: Any, source: str) -> dict[str, Any]:
    """What an index tells of each video, without the split that may be above it."""
    if not isinstance(index, dict):
        raise MeasureError(f"{source}: is {show(index)}; a video index is an object from video to [duration, index]")
    if index and all(isinstance(value, dict) and "duration" not in value for value in index.values()):
        return {video: entry for split in index.values() for video, entry in split.items()}
    return dict(index)
