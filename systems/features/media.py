"""Features computed from films or folders of pictures, stored video by video so that a stop loses one video at most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Floats, Rows
from ..encoders import transformer_in, unit
from ..errors import SystemsError
from ..interface import Progress, Report, silent
from ..neural.device import device
from ..storage import write
from ..windows import clips_in
from .film_names import DEMUXERS, stem_and_ending
from .films import frames, length, pictures

NAME = "plain descriptor (colours, gradients, change)"
SIDE = 32  # pixels to which a picture is scaled, in width and height
GRID = 4  # cells of a picture in each direction
DIRECTIONS = 6  # of gradients
COLOURS = 3  # levels of each of red, green and blue
OF_A_PICTURE = GRID * GRID * (3 + DIRECTIONS) + COLOURS**3
PICTURES_AT_A_TIME = 16
SIDE_FOR_MODELS = 224  # pixels in width and height of the pictures that models are given; they scale them as they need
WIDTH = 2 * OF_A_PICTURE + GRID * GRID  # features of a clip


def describe(pictures: Iterable[Rows]) -> Rows:
    """Return the features of a clip: the mean and the maximum of its pictures', and how much the picture changes.

    pictures: each of shape (SIDE, SIDE, 3), from 0 to 1.
    Returns array of shape (WIDTH,); zeros for a clip without pictures.
    """
    seen = list(pictures)
    if not seen:
        return np.zeros(WIDTH, np.float32)
    each = np.stack([of_picture(picture) for picture in seen])
    changes = [_by_cell(np.abs(one - other).mean(2)) for one, other in pairwise(seen)]
    change = np.mean(changes, axis=0) if changes else np.zeros(GRID * GRID)
    return np.concatenate([each.mean(0), each.max(0), change]).astype(np.float32)


def of_picture(picture: Rows) -> Rows:
    """Return a picture's features: the mean colour and the gradients of each cell, and a histogram of colours."""
    means = np.concatenate([_by_cell(picture[:, :, channel]) for channel in range(3)])
    levels = np.minimum((picture * COLOURS).astype(np.int64), COLOURS - 1)
    numbers = (levels[:, :, 0] * COLOURS + levels[:, :, 1]) * COLOURS + levels[:, :, 2]
    histogram = np.bincount(numbers.ravel(), minlength=COLOURS**3) / SIDE**2
    return np.concatenate([means, _gradients(picture.mean(2)), histogram]).astype(np.float32)


def _gradients(grey: Rows) -> Floats:
    """Return how strong the gradients of each cell are in each direction."""
    down, right = np.gradient(grey)
    strength, angle = np.hypot(down, right), np.arctan2(down, right) % np.pi
    direction = np.minimum((angle / np.pi * DIRECTIONS).astype(np.int64), DIRECTIONS - 1)
    return np.concatenate([_by_cell(np.where(direction == each, strength, 0)) for each in range(DIRECTIONS)])


def _by_cell(values: Rows | Floats) -> Floats:
    """Return the mean of values in each cell of the grid: shape (GRID × GRID,)."""
    size = SIDE // GRID
    cells = values.reshape(GRID, size, GRID, size).mean(axis=(1, 3), dtype=np.float64)
    return np.asarray(cells.ravel(), np.float64)


@dataclass(frozen=True)
class Extractor:
    """How features are made of a film.

    clip_seconds: length of a clip.
    describe: returns the features of a clip from its pictures, each of shape (side, side, 3), from 0 to 1.
    side: pixels to which pictures are scaled in width and height.
    rate: pictures a second that are looked at, five by default (STAL, Section 4.1).
    frame_rate: pictures a second of videos that are folders.
    sign: a function that is called for each picture and each clip: a film can take longer than a job's lease.
    """

    clip_seconds: float
    describe: Callable[[Iterable[Rows]], Rows] = describe
    side: int = SIDE
    rate: float = 5.0
    frame_rate: float = 0.0
    sign: Callable[[], None] = lambda: None

    def features(self, name: str, file: Path, duration: float) -> Rows:
        """Return the features of a video's clips: shape (clips, d). Raises SystemsError if the film cannot be read."""
        clips: list[list[Rows]] = [[] for _ in range(int(clips_in(np.array(duration), self.clip_seconds)))]
        try:
            for time, picture in self.seen(file, duration):
                clips[min(int(time / self.clip_seconds), len(clips) - 1)].append(picture)
                self.sign()
        except (OSError, ValueError) as fault:
            raise SystemsError(f"video {name!r}: {file.name} cannot be read ({fault})") from fault
        if not clips[0]:
            raise SystemsError(f"video {name!r}: {file.name} has no picture in its first {self.clip_seconds:g} s")
        if not clips[-1] and file.is_file():
            length(file)  # which refuses a film that is not whole
        # A film may end a little before the duration that the corpus says, or show a picture for long.
        for number in range(1, len(clips)):
            clips[number] = clips[number] or clips[number - 1][-1:]
        return np.stack([self._described(clip) for clip in clips])

    def _described(self, clip: list[Rows]) -> Rows:
        self.sign()
        return self.describe(clip)

    def seen(self, file: Path, duration: float) -> Iterator[tuple[float, Rows]]:
        """Yield the pictures that are looked at, with their times in seconds."""
        is_folder = file.is_dir()
        found = pictures(file, 0.0, duration, self.frame_rate) if is_folder else frames(file, 0.0, duration)
        due = 0.0
        for frame in found:
            time = float(frame.time or 0.0)
            if time + 1e-6 >= due:
                due = max(due + 1 / self.rate, time)
                small = frame.reformat(width=self.side, height=self.side, format="rgb24").to_ndarray()
                yield time, (small / 255).astype(np.float32)


def extractor(clip_seconds: float, vision_model: str = "", frame_rate: float = 0.0) -> Extractor:
    """Return an extractor that uses a vision model, or else the plain descriptor. Raises SystemsError."""
    if not vision_model:
        return Extractor(clip_seconds, frame_rate=frame_rate)
    return Extractor(clip_seconds, _vision(vision_model).describe, SIDE_FOR_MODELS, frame_rate=frame_rate)


@cache
def _vision(model: str) -> VisionModel:
    return VisionModel(model)


def films_in(folder: Path, durations: Mapping[str, float]) -> dict[str, tuple[Path, float]]:
    """Return each video's film and duration in seconds. Raises SystemsError naming the first that has no film."""
    found: dict[str, tuple[Path, float]] = {}
    for name, duration in durations.items():
        files = (folder / f"{name}{ending}" for ending in ("", *DEMUXERS))
        known = (file for file in files if file.is_dir() or stem_and_ending(file.name)[1] in DEMUXERS)
        film = next((file for file in known if file.is_dir() or file.is_file()), None)
        if film is None:
            raise SystemsError(f"{folder}: video {name!r} has no film; expected {name}.mp4, another kind, or a folder")
        found[name] = film, duration
    return found


def compute(
    media: Mapping[str, tuple[Path, float]], extractor: Extractor, folder: Path, report: Report = silent
) -> None:
    """Compute the features of videos, and store each as NAME.npy in a folder; what is there already stays.

    media: file (or folder of pictures) and duration in seconds of each video, by name.
    Raises SystemsError naming the video whose film cannot be read.
    """
    for done, (name, (file, duration)) in enumerate(media.items(), 1):
        target = folder / f"{name}.npy"
        if not target.resolve().is_relative_to(folder.resolve()):
            raise SystemsError(f"video {name!r}: its name leads out of {folder}; expected one that does not")
        if not target.exists():
            found = extractor.features(name, file, duration)
            write(target, partial(np.save, arr=found, allow_pickle=False))
        report(Progress(done, len(media), "computing features"))


class VisionModel:
    """A vision model and its preparation of pictures. Clips get the maximum over their pictures (STAL, Section 4.1); if
    the model compares pictures with texts, as CLIP does, the mean of their vectors, each brought to length 1.

    name: a folder, or a name at a model hub that this machine has a copy of or can reach.
    Raises SystemsError if it cannot be loaded.
    """

    def __init__(self, name: str) -> None:
        from transformers import AutoImageProcessor, AutoModel
        from transformers.utils import logging

        logging.disable_progress_bar()
        self.name, where = name, device()
        try:
            folder = transformer_in(name)
            self.prepare: Any = AutoImageProcessor.from_pretrained(folder)
            self.model: Any = AutoModel.from_pretrained(folder).eval().to(where)
        except (OSError, ValueError, KeyError, ImportError) as fault:
            reason = str(fault).partition("\n")[0]
            raise SystemsError(
                f"vision model {name}: cannot be loaded ({reason}); expected a folder, or a name at a model hub that "
                "this machine reaches"
            ) from fault

    def describe(self, pictures: Iterable[Rows]) -> Rows:
        """Return the features of a clip from its pictures, each of shape (height, width, 3), from 0 to 1."""
        import torch

        seen = [np.round(picture * 255).astype(np.uint8) for picture in pictures]
        if not seen:
            raise SystemsError("a clip has no pictures; expected at least one")
        parts = []
        for start in range(0, len(seen), PICTURES_AT_A_TIME):
            given = self.prepare(images=seen[start : start + PICTURES_AT_A_TIME], return_tensors="pt")
            with torch.inference_mode():
                parts.append(self._features(given["pixel_values"].to(self.model.device)))
        each = np.concatenate(parts)
        if hasattr(self.model, "get_image_features"):
            return np.asarray(unit(each).mean(0), np.float32)
        return np.asarray(each.max(0), np.float32)

    def _features(self, pixels: Any) -> Rows:
        """Return one vector a picture: that of a model of pictures and texts, or the pooled one, or the mean."""
        seen = getattr(self.model, "get_image_features", self.model)(pixel_values=pixels)
        if not hasattr(seen, "last_hidden_state"):
            return np.asarray(seen.float().cpu().numpy(), np.float32)
        pooled = getattr(seen, "pooler_output", None)
        states = pooled if pooled is not None else seen.last_hidden_state
        if states.ndim == 4:
            states = states.mean((2, 3))
        return np.asarray((states.mean(1) if states.ndim == 3 else states).float().cpu().numpy(), np.float32)
