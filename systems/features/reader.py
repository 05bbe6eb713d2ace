"""Reading features of clips and of subtitles in a confined process, checked against the corpus that they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Objects, Rows, Video, Videos
from ..errors import SystemsError, Unavailable
from ..windows import clips_in
from . import sources
from .confinement import Confined

SECONDS, MEMORY = 300.0, 4096  # the limits of a part, of which MEMORY are MiB
CLIPS_AT_A_TIME = 4096  # of a part
Wanted = tuple[str, int, float]


class Reader(Confined):
    """Reads a feature file, some videos at a time. The process reads no files but those beside it, or in its folder."""

    module = sources.__name__
    packages = (__name__.partition(".features")[0],)
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
    objects: Objects | None = None,
    sign: Callable[[], None] = lambda: None,
) -> Videos:
    """Read the features of a corpus's videos; what the files hold of others is not looked at.

    Parameters
    ----------
    durations
        Of the corpus's videos, in seconds, by name. The videos keep this order.
    clips, subtitles
        HDF5 with a data set a video, .npz with an array a video, or a folder with NAME.npy: each array float16, float32
        or float64, of shape (clips, d).
    sign
        Is called every few seconds meanwhile.

    Raises
    ------
    SystemsError
        Naming the file and the first video that is missing, too long, too short, of another width than the others,
        or has values that are not numbers; also if reading exceeds the limits. `Unavailable` if there is no room for
        temporary files, or somebody ended the process that reads.
    """
    if not clip_seconds > 0:
        raise SystemsError(f"clip length: {clip_seconds:g} s; expected more than 0")
    rows = _read(clips, durations, clip_seconds, sign)
    words = _read(subtitles, durations, clip_seconds, sign) if subtitles else None
    videos = [Video(name, duration, *_as_long(name, rows, words)) for name, duration in durations.items()]
    return Videos.of(videos, clip_seconds, objects)


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
