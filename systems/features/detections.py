"""Reading objects that a detector found, as JSON Lines, checked against the corpus that they are for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import Objects, Videos
from ..errors import SystemsError
from ..library import MeasureError, read_json

LONGEST_LINE = 2**16  # characters; the rest of a longer one is no JSON
MOST_OF_A_CLIP = 10  # objects, those with the highest scores (STAL, Section 4.1)


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
    count from 0, the box is in shares of the picture's width and height, and the score may be left out.

    Raises
    ------
    SystemsError
        Naming the line and the field that is wrong.
    """
    if file.exists() and not file.is_file():
        raise SystemsError(f"{file.name}: is no regular file; expected JSON Lines")
    found: list[Found] = []
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE), ""), 1):
                if line.strip() and (each := _object(f"{file.name}: line {number}", number, line, videos)):
                    found.append(each)
    except (OSError, UnicodeDecodeError) as fault:
        raise SystemsError(f"{file.name}: cannot be read ({fault})") from fault
    return _as_columns(_best(sorted(found), most))


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
    """Return the first objects of each clip."""
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


def _object(place: str, number: int, line: str, videos: Videos) -> Found | None:
    """Return a line's object; None if its video is not of the collection."""
    record = _record(place, line)
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


def _record(place: str, line: str) -> Mapping[str, Any]:
    try:
        record = read_json(line, line=0)
    except MeasureError as fault:
        raise SystemsError(f"{place}: is not JSON ({fault})") from None
    if not isinstance(record, dict):
        raise SystemsError(f"{place}: is not an object; expected video, clip, name and box")
    return record


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
