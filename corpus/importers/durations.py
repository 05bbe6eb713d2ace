"""The durations of videos, from a file beside the corpus: JSON of several shapes, or a CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from base.text import printable
from corpus.errors import CorpusError
from corpus.importers.rows import seconds
from metrics.formats.csv_tables import separator_of
from metrics.formats.json_reader import read_json

VIDEO = ("video", "video_name", "vid_name", "vid", "video_id", "id")  # names of columns
DURATION = ("duration", "length", "seconds")
LARGEST = 64 * 2**20  # bytes


def read_durations(file: Path) -> dict[str, float]:
    """Return the seconds of each video that a file tells.

    JSON is an object from video to seconds, to a list that begins with them, or to an object with a field `duration`;
    it may be divided into splits. A CSV has a column `video` or `id`, and a column `duration` or `length`. Raises
    CorpusError naming the file, and the video or the line that is wrong.
    """
    try:
        if file.stat().st_size > LARGEST:
            raise CorpusError(f"over {LARGEST:,} bytes; expected the seconds of each video")
        content = file.read_bytes()
        pairs = _of_csv(content.decode("utf-8-sig")) if _is_csv(content) else _of_json(content)
        return dict(pairs)
    except OSError as fault:
        raise CorpusError(f"--durations {file}: cannot be read ({fault.strerror})") from fault
    except CorpusError as fault:
        raise CorpusError(f"--durations {file}: {fault}") from fault
    except (ValueError, csv.Error) as fault:
        raise CorpusError(f"--durations {file}: not JSON ({fault}), and no CSV") from fault


def _is_csv(content: bytes) -> bool:
    first = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:2000].partition(b"\n")[0].lower()
    return first[:1] not in (b"{", b"[") and any(name.encode() in first for name in DURATION)


def _of_json(content: bytes) -> Iterator[tuple[str, float]]:
    found = read_json(content, strict=False)
    if not isinstance(found, dict):
        raise CorpusError(f"a JSON {type(found).__name__}; expected an object by video")
    is_divided = all(isinstance(value, dict) and "duration" not in value for value in found.values())
    for level in found.values() if is_divided else [found]:
        for video, value in level.items():
            if isinstance(value, dict):
                value = value.get("duration")
            elif isinstance(value, list) and value:
                value = value[0]
            yield video, _positive(video, value)


def _of_csv(content: str) -> Iterator[tuple[str, float]]:
    lines = content.splitlines()
    rows = csv.reader(lines, delimiter=separator_of(lines[0]))
    header = [name.strip().lower() for name in next(rows)]
    places = [next((header.index(name) for name in names if name in header), None) for names in (VIDEO, DURATION)]
    video, length = places
    if video is None or length is None:
        raise CorpusError(
            f"line 1: there are the columns {printable(', '.join(header)[:300])}; "
            f"expected one of {', '.join(VIDEO)} and one of {', '.join(DURATION)}"
        )
    for row in rows:
        if not row:
            continue
        where = f"line {rows.line_num}: "
        if len(row) <= max(video, length):
            raise CorpusError(f"{where}has {len(row)} columns; expected {len(header)}")
        try:
            value: Any = float(row[length])
        except ValueError:
            value = row[length]
        yield row[video].strip(), _positive(row[video].strip(), value, where)


def _positive(video: str, value: Any, where: str = "") -> float:
    try:
        found = seconds(value, video)
    except CorpusError as fault:
        raise CorpusError(f"{where}{fault}") from fault
    if found <= 0:
        raise CorpusError(f"{where}field {printable(video)}: {found:g}; expected more than 0 seconds")
    return found
