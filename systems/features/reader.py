"""Reading features of clips and of subtitles in a confined process, and detections, checked against their corpus."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import Objects, Rows, Video, Videos
from ..errors import SystemsError, Unavailable
from ..library import MeasureError, read_json
from ..windows import clips_in
from . import sources
from .confinement import Confined

SECONDS, MEMORY = 300.0, 4096  # the limits of a part, of which MEMORY are MiB
CLIPS_AT_A_TIME = 4096  # of a part
Wanted = tuple[str, int, float]
LONGEST_LINE = 2**16  # characters; the rest of a longer one is no JSON
MOST_OF_A_CLIP = 10  # objects, those with the highest scores (STAL, Section 4.1)


class Reader(Confined):
    """Reads a feature file, some videos at a time. The process reads no files but those beside it, or in its folder."""

    module = sources.__name__
    doing = "reading"
    largest = 2**33
    kinds = {kind.__name__: kind for kind in (SystemsError, Unavailable)}
    stopped = Unavailable

    def rows(self, type_: str) -> Rows:
        """Return the rows that the process has written."""
        return np.fromfile(Path(self.writable.name) / sources.ROWS, type_)


def read_videos(
    durations: Mapping[str, float],
    clip_seconds: float,
    clips: Path,
    subtitles: Path | None = None,
    sign: Callable[[], None] = lambda: None,
) -> Videos:
    """Read the features of a corpus's videos; what the files hold of others is not looked at.

    durations: of the corpus's videos, in seconds, by name. The videos keep this order.
    clips, subtitles: HDF5 with a data set a video, .npz with an array a video, or a folder with NAME.npy: each array
    float16, float32 or float64, of shape (clips, d).
    sign: is called every few seconds meanwhile.
    Raises SystemsError naming the file and the first video that is missing, too long, too short, of another width than
    the others, or has values that are not numbers; also if reading exceeds the limits. `Unavailable` if there is no
    room for temporary files, or somebody ended the process that reads.
    """
    if not clip_seconds > 0:
        raise SystemsError(f"clip length: {clip_seconds:g} s; expected more than 0")
    rows = _read(clips, durations, clip_seconds, sign)
    words = _read(subtitles, durations, clip_seconds, sign) if subtitles else None
    videos = [Video(name, duration, *_as_long(name, rows, words)) for name, duration in durations.items()]
    return Videos.of(videos, clip_seconds)


def _as_long(name: str, rows: dict[str, Rows], words: dict[str, Rows] | None) -> tuple[Rows, Rows | None]:
    """Return a video's clips and subtitles, with as many rows in both."""
    clips = rows[name]
    if words is None:
        return clips, None
    subtitles = words[name][: len(clips)]
    lacking = np.zeros((len(clips) - len(subtitles), subtitles.shape[1]), subtitles.dtype)
    return clips, np.concatenate([subtitles, lacking])


def _read(path: Path, durations: Mapping[str, float], clip_seconds: float, sign: Callable[[], None]) -> dict[str, Rows]:
    """Return each video's array, cut to the clips that begin before its end."""
    if not path.exists():
        raise SystemsError(f"{path}: there is no such file or folder")
    if not (path.is_file() or path.is_dir()):
        raise SystemsError(f"{path.name}: is no regular file; expected .h5, .npz, or a folder of .npy")
    readable = path.resolve() if path.is_dir() else path.resolve().parent
    arrays: dict[str, Rows] = {}
    with Reader(SECONDS, MEMORY) as reader:
        reader.ask(path, readable, {"names": list(durations)}, sign)
        order: dict[str, Any] = {"clip_seconds": clip_seconds, "width": None}
        for videos in _parts(durations, clip_seconds):
            part = reader.ask(path, readable, order | {"videos": videos}, sign)
            order["width"] = part["width"]
            rows = reader.rows(part["type"]).reshape(-1, part["width"])
            each = np.split(rows, np.cumsum(part["counts"])[:-1])
            arrays |= zip((name for name, _, _ in videos), each, strict=True)
    return arrays


def _parts(durations: Mapping[str, float], clip_seconds: float) -> Iterator[list[Wanted]]:
    """Yield each video with its number of clips and its duration, as many together as have some thousand clips."""
    part: list[Wanted] = []
    for name, duration in durations.items():
        part.append((name, int(clips_in(np.array(duration), clip_seconds)), duration))
        if sum(clips for _, clips, _ in part) >= CLIPS_AT_A_TIME:
            yield part
            part = []
    if part:
        yield part


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
