"""The formats that corpora come in: how the lines or entries of each are read, and the importers by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, BinaryIO

from corpus.errors import CorpusError, Problem, Reason, Unusable
from corpus.importers.interface import Choice, Importer, Source, each_entry, each_line, each_object, problem
from corpus.importers.rows import (
    LONGEST_LINE,
    NEEDED,
    BadField,
    MomentRow,
    keys_of,
    name,
    number,
    opened,
    places_of,
    seconds,
    seconds_of_cell,
    seconds_or_none,
    text,
)
from metrics import MeasureError
from metrics.formats import annotations as published
from metrics.formats.csv_tables import CsvLines
from metrics.formats.errors import Place
from metrics.formats.json_reader import Entry

TYPES = ("v", "t", "vt")
ALL = "all"
Span = tuple[int, int]
Time = Callable[[Any, str], float]  # reads the seconds of a field, which messages name


def rows_of_tvr(file: Path, choice: Choice) -> Iterator[MomentRow | Problem]:
    """TVR: one JSON object a line with vid_name, duration, ts, desc and type.

    Only descriptions of one type are read: by default those of type v, which tell what is seen.
    """
    wanted = choice.kind or TYPES[0]

    def rows(where: str, record: dict[str, Any]) -> Iterator[MomentRow]:
        kind = record.get("type", TYPES[0])
        if kind not in TYPES:
            raise BadField("type", kind, "v, t or vt")
        if wanted not in (ALL, kind):
            return
        times = record.get("ts")
        if not isinstance(times, list) or len(times) != 2:
            raise BadField("ts", times, "[start, end] in seconds")
        yield MomentRow(
            where=where,
            video=name(record.get("vid_name"), "vid_name"),
            start=seconds(times[0], "ts[0]"),
            end=seconds(times[1], "ts[1]"),
            duration=seconds_or_none(record.get("duration"), "duration"),
            description=text(record.get("desc"), "desc"),
            caption=text(record["caption"], "caption") if "caption" in record else None,
        )

    return each_object(file, rows)


def rows_of_charades(file: Path, choice: Choice) -> Iterator[MomentRow | Problem]:
    """Charades-STA: lines of `VIDEO start end##sentence`, with times in seconds and without the lengths of videos."""

    def rows(where: str, line: bytes) -> Iterator[MomentRow]:
        try:
            written = line.removeprefix(b"\xef\xbb\xbf").decode()
        except UnicodeDecodeError as fault:
            raise CorpusError(
                f"not UTF-8 at byte {fault.start + 1}; expected VIDEO start end##sentence in UTF-8"
            ) from fault
        video, start, end, sentence = published.charades_line(Place(str(file), where), written)
        yield MomentRow(where, name(video, "video"), start, end, None, text(sentence, "sentence"))

    return each_line(file, rows)


def rows_of_activitynet(file: Path, choice: Choice) -> Iterator[MomentRow | Problem]:
    """ActivityNet Captions: an object from video to `duration`, `timestamps` and `sentences`, times in seconds."""
    return described_videos(file, published.in_seconds, lambda record: record.get("duration"))


def described_videos(file: Path, unit: published.Unit, length: Any) -> Iterator[MomentRow | Problem]:
    """Yield the sentences of each video of a document. `length` returns a record's duration in seconds, or None."""

    def rows(where: str, entry: Entry) -> Iterator[MomentRow | Problem]:
        if entry.key is None:
            raise CorpusError("the document is a list; expected an object from video to its sentences")
        video = name(entry.key, "video")
        sentences = list(published.captions(str(file), entry.key, entry.value, unit))
        duration = seconds_or_none(length(entry.value), "duration")
        for place, n, sentence, (start, end) in sentences:
            try:
                yield MomentRow(place.spot, video, start, end, duration, text(sentence, f"sentences[{n - 1}]"))
            except CorpusError as fault:
                yield problem(file, where, fault)

    return each_entry(file, rows)


def rows_of_didemo(file: Path, choice: Choice) -> Iterator[MomentRow | Problem]:
    """DiDeMo: a list of objects with video, description, num_segments and times, in segments of five seconds.

    Several annotators marked each description. Its moment is the one that most of them marked; among those that equally
    many marked, the one that overlaps most with all marks, and then the earliest.
    """

    def rows(where: str, entry: Entry) -> Iterator[MomentRow]:
        record = entry.value
        if entry.key is not None:
            raise CorpusError("the document is an object; expected a list of objects")
        if not isinstance(record, dict):
            raise CorpusError(f"a JSON {type(record).__name__}; expected an object")
        times: Any = record.get("times")
        _must_hold_moments(times, "times", "a list of [first, last] segments that is not empty")
        place = Place(str(file), where)
        spans = [published.seconds_of_segments(place, f"field times[{n}]", each) for n, each in enumerate(times)]
        start, end = agreed([(first, last) for first, last in spans])
        yield MomentRow(
            where,
            name(record.get("video"), "video"),
            start,
            end,
            _longest(record.get("num_segments")),
            text(record.get("description"), "description"),
        )

    return each_entry(file, rows)


def _must_hold_moments(value: Any, field: str, right: str) -> None:
    fault = BadField(field, value, right)
    if value in ([], None):
        raise Unusable(str(fault), Reason.NO_MOMENT)
    if not isinstance(value, list):
        raise fault


def agreed(marks: list[Span]) -> Span:
    """Return the moment that most annotators marked.

    >>> agreed([(5, 10), (0, 5), (5, 10), (0, 15)])
    (5, 10)
    >>> agreed([(0, 5), (20, 30), (0, 10)])
    (0, 10)
    """
    times = Counter(marks)
    return min(times, key=lambda mark: (-times[mark], -sum(_iou(mark, other) for other in marks), mark))


def _iou(one: Span, other: Span) -> float:
    overlap = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return overlap / (max(one[1], other[1]) - min(one[0], other[0])) if overlap else 0.0


def _longest(segments: object) -> float | None:
    """Return the seconds that so many segments can have. The last of them may be shorter."""
    if segments is None:
        return None
    if isinstance(segments, bool) or not isinstance(segments, int) or not 0 < segments <= 10_000:
        raise BadField("num_segments", segments, "a whole number from 1 to 10,000")
    return float(segments * published.SEGMENT_SECONDS)


def rows_of_qvhighlights(file: Path, choice: Choice) -> Iterator[MomentRow | Problem]:
    """QVHighlights: one JSON object a line with query, vid, duration and relevant_windows, each of them a moment."""

    def rows(where: str, record: dict[str, Any]) -> Iterator[MomentRow | Problem]:
        windows: Any = record.get("relevant_windows")
        _must_hold_moments(windows, "relevant_windows", "a list of [start, end] in seconds that is not empty")
        video, sentence = name(record.get("vid"), "vid"), text(record.get("query"), "query")
        duration = seconds_or_none(record.get("duration"), "duration")
        for n, window in enumerate(windows):
            try:
                yield MomentRow(where, video, *_window(window, f"relevant_windows[{n}]"), duration, sentence)
            except CorpusError as fault:
                yield problem(file, where, fault)

    return each_object(file, rows)


def _window(window: object, field: str) -> tuple[float, float]:
    if not isinstance(window, list) or len(window) != 2:
        raise BadField(field, window, "[start, end] in seconds")
    return seconds(window[0], f"{field}[0]"), seconds(window[1], f"{field}[1]")


def rows_of_tacos(file: Path, choice: Choice) -> Iterator[MomentRow | Problem]:
    """TACoS in 2D-TAN's form: an object from video to `timestamps` in frames, `sentences`, `fps` and `num_frames`."""
    return described_videos(file, published.in_frames, _tacos_duration)


def _tacos_duration(record: dict[str, Any]) -> float | None:
    frames = record.get("num_frames")
    return None if frames is None else number(frames, "num_frames", "number of frames") / record["fps"]


def rows_of_csv(file: Path, choice: Choice) -> Iterator[MomentRow | Problem]:
    """CSV of our own, with the columns video, start, end and description; or any CSV whose columns a person names."""
    with opened(file) as content:
        table = CsvLines(_decoded(content, file), str(file))
        places = places_of(table.header, choice.columns, file)
        names = {field: table.header[place] for field, place in places.items()}
        for n, cells, wrong in table:
            where = f"line {n}"
            try:
                if wrong:
                    raise CorpusError(wrong)
                filled = ((field, cells[place].strip()) for field, place in places.items())
                found = {field: cell for field, cell in filled if cell or field in NEEDED}
                yield _own_row(where, found, names, partial(seconds_of_cell, separator=table.separator))
            except CorpusError as fault:
                yield problem(file, where, fault)


def _decoded(content: BinaryIO, file: Path) -> Iterator[str]:
    n = 0
    while line := content.readline(LONGEST_LINE + 1):
        n += 1
        if len(line) > LONGEST_LINE:
            raise MeasureError(f"{file}: line {n}: longer than {LONGEST_LINE:,} bytes; is this the right file?")
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise MeasureError(f"{file}: line {n}: is not UTF-8 text; expected a CSV in UTF-8") from None


def _own_row(where: str, values: Mapping[str, Any], names: Mapping[str, str], time: Time) -> MomentRow:
    """Return a row of our own formats, given the value of each field, and how the file calls the field."""
    duration, caption = values.get("duration"), values.get("caption")
    return MomentRow(
        where=where,
        video=name(values.get("video"), names["video"]),
        start=time(values.get("start"), names["start"]),
        end=time(values.get("end"), names["end"]),
        duration=None if duration is None else time(duration, names["duration"]),
        description=text(values.get("description"), names["description"]),
        caption=None if caption is None else text(caption, names["caption"]),
    )


def rows_of_jsonl(file: Path, choice: Choice) -> Iterator[MomentRow | Problem]:
    """JSONL of our own: one object a line with video, start, end, description; or with the keys that a person names."""
    keys = keys_of(choice.columns)

    def rows(where: str, record: dict[str, Any]) -> Iterator[MomentRow]:
        yield _own_row(where, {field: record.get(key) for field, key in keys.items()}, keys, seconds)

    return each_object(file, rows)


IMPORTERS = (
    Importer("tvr", "TVR", rows_of_tvr, kinds=(*TYPES, ALL), times=("ts", "ts[0]", "ts[1]")),
    # Its moments were cut out of longer actions, which may end after the film; published loaders cut them off there.
    Importer("charades", "Charades-STA", rows_of_charades, overhang=inf),
    # Two of its sentences begin and end in the same instant.
    Importer("activitynet", "ActivityNet Captions", rows_of_activitynet, leaves_out=frozenset({Reason.EMPTY})),
    Importer("didemo", "DiDeMo", rows_of_didemo, True, overhang=float(published.SEGMENT_SECONDS)),
    Importer("qvhighlights", "QVHighlights", rows_of_qvhighlights),
    # Frames are counted and rates rounded, so that ends may lie behind the film; 2D-TAN's loader cuts them off there.
    Importer("tacos", "TACoS", rows_of_tacos, overhang=inf, leaves_out=frozenset({Reason.EMPTY})),
    Importer("csv", "CSV with columns of our own, or mapped", rows_of_csv, takes_columns=True),
    Importer("jsonl", "JSONL with fields of our own, or mapped", rows_of_jsonl, takes_columns=True),
)
FORMATS = {importer.name: importer for importer in IMPORTERS}


def rows_of_file(file: Path, format: str, kind: str, columns: dict[str, str]) -> Iterator[list[Any]]:
    """Yield the values of each row of a file, or of what is wrong, as a confined process does."""
    for row in FORMATS[format].read(file, Choice(kind, columns)):
        yield [row.where, row.message, row.reason] if isinstance(row, Problem) else list(row)


def importer_of(source: Source) -> Importer:
    """Return the importer of the source's format. Raises CorpusError for an unknown format, or a choice it lacks."""
    found = FORMATS.get(source.format)
    if found is None:
        raise CorpusError(f"format: {source.format!r}; expected one of {', '.join(FORMATS)}")
    if source.kind and source.kind not in found.kinds:
        right = f"one of {', '.join(found.kinds)}" if found.kinds else "none, because it has no kinds"
        raise CorpusError(f"type: {source.kind!r}; expected, for {found.title}, {right}")
    if source.columns and not found.takes_columns:
        takes = ", ".join(each.name for each in FORMATS.values() if each.takes_columns)
        raise CorpusError(f"columns: {found.title} has its own; only {takes} can be mapped")
    return found
