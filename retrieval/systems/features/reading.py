"""Reading features of clips and of subtitles, checked against the corpus that they are for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.systems.data import Objects, Rows, Video, Videos
from retrieval.systems.errors import SystemsError
from retrieval.systems.features.sources import Source, opened
from retrieval.systems.windows import clips_in

MOST_NAMED = 5  # videos, in a message
SLACK = 1  # clips by which features may differ from a video's duration: extractors drop or fill the last one


def read_videos(
    durations: Mapping[str, float],
    clip_seconds: float,
    clips: Path,
    subtitles: Path | None = None,
    objects: Objects | None = None,
) -> Videos:
    """Read the features of a corpus's videos; what the files hold of others is not looked at.

    Parameters
    ----------
    durations
        Of the corpus's videos, in seconds, by name. The videos keep this order.
    clips, subtitles
        HDF5 with a data set a video, .npz with an array a video, or a folder with NAME.npy: each array float16, float32
        or float64, of shape (clips, d).

    Raises
    ------
    SystemsError
        Naming the file and the first video that is missing, too long, too short, of another width than the others,
        or has values that are not numbers.
    """
    if not clip_seconds > 0:
        raise SystemsError(f"clip length: {clip_seconds:g} s; expected more than 0")
    rows = _read(clips, durations, clip_seconds)
    said = _read(subtitles, durations, clip_seconds) if subtitles else None
    videos = [Video(name, duration, *_as_long(name, rows, said)) for name, duration in durations.items()]
    return Videos.of(videos, clip_seconds, objects)


def _as_long(name: str, rows: dict[str, Rows], said: dict[str, Rows] | None) -> tuple[Rows, Rows | None]:
    """Return a video's clips and subtitles, with as many rows in both."""
    clips = rows[name]
    if said is None:
        return clips, None
    subtitles = said[name][: len(clips)]
    lacking = np.zeros((len(clips) - len(subtitles), subtitles.shape[1]), subtitles.dtype)
    return clips, np.concatenate([subtitles, lacking])


def _read(path: Path, durations: Mapping[str, float], clip_seconds: float) -> dict[str, Rows]:
    """Return each video's array, cut to the clips that begin before its end."""
    with opened(path) as source:
        _check_all_there(path, source, durations)
        arrays: dict[str, Rows] = {}
        width: int | None = None
        for name, duration in durations.items():
            array = source.read(name)
            fault = _fault(array, width) or _misfit(len(array), duration, clip_seconds)
            if fault:
                raise SystemsError(f"{path.name}: video {name!r}: {fault}")
            width = int(array.shape[1])
            kept = array[: int(clips_in(np.array(duration), clip_seconds))]
            arrays[name] = kept if kept.dtype == np.float16 else kept.astype(np.float32)
        return arrays


def _check_all_there(path: Path, source: Source, durations: Mapping[str, float]) -> None:
    missing = [name for name in durations if name not in source]
    if missing:
        named = ", ".join(repr(name) for name in missing[:MOST_NAMED])
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        raise SystemsError(
            f"{path.name}: {len(missing):,} of {len(durations):,} videos have no features: {named}{more}; "
            "expected one array for each video of the corpus"
        )


def _fault(array: NDArray[Any], width: int | None) -> str:
    """Return what is wrong with an array by itself, or beside those before it."""
    if array.dtype.kind != "f" or array.ndim != 2 or not array.shape[1]:
        return f"an array of {array.dtype} with shape {array.shape}; expected floats of shape (clips, d)"
    if width is not None and array.shape[1] != width:
        return f"{array.shape[1]} features a clip; expected {width}, as in the videos before"
    wrong = np.flatnonzero(~np.isfinite(array).all(1))
    if len(wrong):
        return f"clip {wrong[0]} holds a value that is not a number; expected finite numbers"
    return ""


def _misfit(clips: int, duration: float, clip_seconds: float) -> str:
    """Return what is wrong with a number of clips beside the video's duration."""
    right = int(clips_in(np.array(duration), clip_seconds))
    if abs(clips - right) <= SLACK and clips:
        return ""
    long = "too long" if clips > right else "too short"
    return f"{clips} clips of {clip_seconds:g} s: {long} for {duration:g} s; expected {right}, or another clip length"
