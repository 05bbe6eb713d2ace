"""Reading what systems learn from beside features, and search for: annotations, pseudo training sets, and queries and
detected objects in JSON Lines.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .data import Example, Examples, Objects, Query, Videos
from .errors import SystemsError
from .library import MeasureError, Qrels, read_json, read_training_set

LONGEST_LINE = 2**20  # characters; the rest of a longer one is no JSON
MOST_OF_A_CLIP = 10  # objects, those with the highest scores (STAL, Section 4.1)


def examples_from(file: Path, videos: Collection[str] | None = None) -> Examples:
    """Return the examples of a pseudo training set, in the file's order.

    videos: names of the videos that have features; moments of others are left out. None: all are taken.
    Raises SystemsError if the file cannot be read, something in it is wrong, or no moment is left.
    """
    try:
        examples = Examples.of(_examples_in(file, videos))
    except MeasureError as fault:
        raise SystemsError(str(fault)) from None
    if not examples:
        raise SystemsError(f"{file}: none of its moments is of a video that has features")
    return examples


def _examples_in(file: Path, videos: Collection[str] | None) -> Iterator[Example]:
    for query in read_training_set(file):
        query_of_moments = Query(query.id, query.text)
        for moment in query.moments:
            if videos is None or moment.video in videos:
                weight = min(1.0, max(0.0, moment.similarity))
                yield Example(query_of_moments, moment.video, moment.start, moment.end, weight)


def examples_of(qrels: Qrels, videos: Collection[str], source: str) -> Examples:
    """Return the relevant moments of qrels as examples, weighted by their grades as shares of the highest one.

    videos: names of the videos that have features; moments of others are left out.
    source: what the qrels are of, for an error.
    Raises SystemsError if no moment is left.
    """
    highest = int(qrels.grades.max(initial=1))
    rows = zip(
        qrels.query_of_row().tolist(),
        qrels.videos,
        qrels.start.tolist(),
        qrels.end.tolist(),
        qrels.grades.tolist(),
        strict=True,
    )
    queries = [Query(query, qrels.texts.get(query, "")) for query in qrels.queries]
    examples = Examples.of(
        Example(queries[query], video, start, end, grade / highest)
        for query, video, start, end, grade in rows
        if grade > 0 and start < end and video in videos
    )
    if not examples:
        raise SystemsError(f"{source}: none of its relevant moments is of a video that has features")
    return examples


def queries_in(file: Path) -> list[Query]:
    """Return the queries of JSON Lines, each once. Raises SystemsError naming the line and the field that is wrong."""
    queries: dict[str, Query] = {}
    for place, record in _records(file):
        id, text = (record.get("query_id"), record.get("query")) if isinstance(record, dict) else (None, None)
        if type(id) not in (int, str) or not isinstance(text, str) or not text.strip():
            raise SystemsError(f"{place}: expected an object with query_id and query")
        if queries.setdefault(str(id), Query(str(id), text)).text != text:
            raise SystemsError(f"{place}: query {id} has other words than before")
    if not queries:
        raise SystemsError(f"{file}: has no queries; expected one a line")
    return list(queries.values())


def _records(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the place and the content of each line of JSON Lines. Raises SystemsError for a line that is not JSON."""
    if file.exists() and not file.is_file():
        raise SystemsError(f"{file.name}: is no regular file; expected JSON Lines")
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE), ""), 1):
                if line.strip():
                    place = f"{file.name}: line {number}"
                    yield place, read_json(line, line=0)
    except (OSError, UnicodeDecodeError) as fault:
        raise SystemsError(f"{file.name}: cannot be read ({fault})") from fault
    except MeasureError as fault:
        raise SystemsError(f"{place}: is not JSON ({fault})") from None


class Found(NamedTuple):
    """An object: the number of its clip among all clips, less its score, and the rest; sorted by these."""

    clip: int
    less_score: float
    line: int
    name: str
    box: tuple[float, float, float, float]


def read_objects(file: Path, videos: Videos, most: int = MOST_OF_A_CLIP) -> Objects:
    """Read objects of a collection's clips, the best of each clip; lines of other videos are not looked at.

    A line is ``{"video": "film", "clip": 3, "name": "cup", "box": [left, top, right, bottom], "score": 0.9}``. Clips
    count from 0, the box is in shares of the picture's width and height, and the score may be left out. Raises
    SystemsError naming the line and the field that is wrong.
    """
    found = (_object(place, number, record, videos) for number, (place, record) in enumerate(_records(file)))
    return _as_columns(_best(sorted(filter(None, found)), most))


def notice_of(videos: Videos) -> str:
    """Return in words how many clips and videos lack objects; empty if none does, or none was detected for."""
    clips, whole = videos.lacking_objects
    if videos.objects is None or not clips:
        return ""
    return (
        f"No objects are detected in {clips:,} of {len(videos.clips):,} clips, and in no clip of {whole:,} of "
        f"{len(videos):,} videos. The objects of a moment without any cost what those of others cost on average."
    )


def _best(found: list[Found], most: int) -> list[Found]:
    kept: list[Found] = []
    for each in found:
        if len(kept) < most or kept[-most].clip != each.clip:
            kept.append(each)
    return kept


def _as_columns(found: list[Found]) -> Objects:
    names = sorted({each.name for each in found})
    number = {name: place for place, name in enumerate(names)}
    corners = np.array([each.box for each in found], np.float32).reshape(-1, 4)
    centres, sizes = (corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]
    return Objects(
        clip=np.array([each.clip for each in found], np.int64),
        name=np.array([number[each.name] for each in found], np.int64),
        box=np.concatenate([centres, sizes], axis=1),
        names=tuple(names),
    )


def _object(place: str, number: int, record: Any, videos: Videos) -> Found | None:
    """Return a line's object; None if its video is not of the collection."""
    if not isinstance(record, dict):
        raise SystemsError(f"{place}: is not an object; expected video, clip, name and box")
    video = _field(place, record, "video", str)
    if video not in videos.number:
        return None
    clip, name = _field(place, record, "clip", int), _field(place, record, "name", str).strip()
    count = int(videos.counts[videos.number[video]])
    if not 0 <= clip < count:
        raise SystemsError(f"{place}: clip is {clip}; expected 0 to {count - 1}, the clips of video {video!r}")
    if not name:
        raise SystemsError(f"{place}: name is empty; expected what the object is")
    score = record.get("score", 0.0)
    if not _is_number(score):
        raise SystemsError(f"{place}: score is {json.dumps(score)[:40]}; expected a number")
    clip_number = int(videos.offsets[videos.number[video]]) + clip
    return Found(clip_number, -float(score), number, name, _box(place, record))


def _field(place: str, record: Mapping[str, Any], name: str, kind: type) -> Any:
    value = record.get(name)
    if type(value) is not kind:
        right = "a text" if kind is str else "a whole number"
        raise SystemsError(f"{place}: {name} is {json.dumps(value)[:40]}; expected {right}")
    return value


def _box(place: str, record: Mapping[str, Any]) -> tuple[float, float, float, float]:
    box = record.get("box")
    right = isinstance(box, list) and len(box) == 4 and all(map(_is_number, box))
    if not right or not (0 <= box[0] < box[2] <= 1 and 0 <= box[1] < box[3] <= 1):  # type: ignore[index]
        raise SystemsError(
            f"{place}: box is {json.dumps(box)[:60]}; expected [left, top, right, bottom], shares from 0 to 1"
        )
    left, top, far, low = map(float, box)  # type: ignore[arg-type]
    return left, top, far, low


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
