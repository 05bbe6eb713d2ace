"""DiDeMo: a list of objects with video, description, num_segments and times, in segments of five seconds.

Several annotators marked each description. Its moment is the one that most of them marked; among those that equally
many marked, the one that overlaps most with all marks, and then the earliest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpus.errors import CorpusError, Problem
from corpus.importers.interface import Choice, Durations, Importer, each_entry, place_of, where
from corpus.importers.rows import BadField, Row, name, text
from metrics.formats.annotations import SEGMENT_SECONDS, seconds_of_segments
from metrics.formats.json_entries import Entry

Span = tuple[int, int]


def read(file: Path, choice: Choice) -> Iterator[Row | Problem]:
    def rows(entry: Entry) -> Iterator[Row]:
        record = entry.value
        if entry.key is not None:
            raise CorpusError("the document is an object; expected a list of objects")
        if not isinstance(record, dict):
            raise CorpusError(f"a JSON {type(record).__name__}; expected an object")
        spot = where(entry)
        times = record.get("times")
        if not isinstance(times, list) or not times:
            raise BadField("times", times, "a list of [first, last] segments that is not empty")
        place = place_of(file, spot)
        spans = [seconds_of_segments(place, f"field times[{n}]", each) for n, each in enumerate(times)]
        start, end = agreed([(first, last) for first, last in spans])
        yield Row(
            spot,
            name(record.get("video"), "video"),
            start,
            end,
            _longest(record.get("num_segments")),
            text(record.get("description"), "description"),
        )

    return each_entry(file, rows)


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
    return float(segments * SEGMENT_SECONDS)


IMPORTER = Importer("didemo", "DiDeMo", read, Durations.BOUND, overhang=float(SEGMENT_SECONDS))
