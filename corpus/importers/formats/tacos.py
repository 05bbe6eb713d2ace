"""TACoS in 2D-TAN's form: an object from video to `timestamps` in frames, `sentences`, `fps` and `num_frames`."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

from corpus.errors import Problem
from corpus.importers.formats.activitynet import described_videos
from corpus.importers.interface import Choice, Importer
from corpus.importers.rows import Row, number
from metrics.formats.captions import in_frames


def read(file: Path, choice: Choice) -> Iterator[Row | Problem]:
    return described_videos(file, in_frames, _duration)


def _duration(record: dict[str, Any]) -> float | None:
    frames = record.get("num_frames")
    return None if frames is None else number(frames, "num_frames", "number of frames") / record["fps"]


# Frames are counted and rates are rounded, so that ends may lie behind the film; 2D-TAN's loader cuts them off there.
IMPORTER = Importer("tacos", "TACoS", read, overhang=inf, leaves_out_empty=True)
