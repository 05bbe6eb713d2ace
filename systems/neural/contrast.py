"""Training by contrast: moments' costs beside those of negative moments, which are drawn here, and their losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import torch

from ..data import Data, Example, Floats, Ints, Videos
from ..errors import SystemsError
from ..exhaustive import Exhaustive
from ..options import Contrastive
from ..windows import Windows, counts_in, windows_of
from .device import placed
from .layers import words_and_width
from .training import Learned, Lesson

WINDOWS_AT_A_TIME = 4096  # that are represented together
QUERIES_AT_A_TIME = 64
FAR = 1e9  # in place of a distance to what is only padding
TRIES = 8  # windows drawn for each negative, of which the first far enough from the example's moment is taken


class Contrasted(Exhaustive, Learned):
    """What the trained systems of STAL's tables share: training by contrast, over all candidate moments.

    A network has `costs`, which returns what each query's moments cost, of which as many belong to each: shape
    (queries, moments of each).
    """

    options: Contrastive

    def facts(self, data: Data) -> dict[str, Any]:
        names = data.videos.objects.names if data.videos.objects else ()
        visual = int(data.videos.clips.shape[1])
        return {"visual": visual} | words_and_width(self.options.words, data.queries, names)

    def lesson(self, data: Data) -> Lesson:
        options, sampler = self.options, Sampler(data, self.options)

        def loss_of(network: Any, step: int) -> torch.Tensor:
            examples, windows = sampler.step(step)
            costs = network.costs([example.query for example in examples], data.videos, windows)
            weights = placed(np.array([example.weight for example in examples], np.float32))
            return contrast(costs, weights, options.loss, options.margin)

        return loss_of


def check_width(videos: Videos, width: int) -> None:
    """Raise SystemsError if videos do not have features of the width that a network was trained on."""
    if videos.clips.shape[1] != width:
        raise SystemsError(f"the clips have {videos.clips.shape[1]} features; expected {width}, as in training")


def contrast(costs: torch.Tensor, weights: torch.Tensor, loss: str, margin: float) -> torch.Tensor:
    """Return the mean loss of examples.

    costs: of each example's own moment, then of its negatives: shape (examples, 1 + negatives).
    weights: how much each example counts: shape (examples,).
    loss: `nce` or `triplet`.
    """
    if loss == "nce":
        each = torch.logsumexp(-costs, dim=1) + costs[:, 0]
    else:
        each = torch.relu(costs[:, :1] - costs[:, 1:] + margin).sum(1)
    return (each * weights).sum() / weights.sum().clamp_min(1e-12)


def squared_distances(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the squared Euclidean distance of each row to each other row: (..., n, d), (..., m, d) to (..., n, m).

    It is a small difference of large numbers, so it is computed with 32 bits at least, also in `device.mixed`.
    """
    with torch.autocast(one.device.type, enabled=False):
        one, other = (each.to(torch.promote_types(each.dtype, torch.float32)) for each in (one, other))
        products = one @ other.transpose(-1, -2)
        lengths = one.square().sum(-1, keepdim=True) + other.square().sum(-1).unsqueeze(-2)
        return (lengths - 2 * products).clamp_min(0)


def chamfer(one: torch.Tensor, is_one: torch.Tensor, other: torch.Tensor, is_other: torch.Tensor) -> torch.Tensor:
    """Return the symmetric squared Chamfer distance of sets of vectors (STAL, Equation 2).

    one, other: shapes (..., n, d) and (..., m, d).
    is_one, is_other: which rows are there, and not padding: shapes (..., n) and (..., m).
    Returns tensor of shape (...). A pair that lacks rows of one set has the mean of the others along the last
    dimension, or 0 if all of them do.
    """
    distances = squared_distances(one, other)
    nobody = ~is_one.unsqueeze(-1) | ~is_other.unsqueeze(-2)
    distances = distances.masked_fill(nobody, FAR)
    both = is_one.any(-1) & is_other.any(-1)
    total = _mean(distances.amin(-1), is_one) + _mean(distances.amin(-2), is_other)
    return torch.where(both, total, _mean(total, both).unsqueeze(-1))


def _mean(values: torch.Tensor, is_there: torch.Tensor) -> torch.Tensor:
    return values.masked_fill(~is_there, 0).sum(-1) / is_there.sum(-1).clamp_min(1)


class Sampler:
    """The examples of a training set, and the windows that negatives are drawn from. Raises what `answers` raises."""

    def __init__(self, data: Data, options: Contrastive) -> None:
        if options.inter + options.anywhere and len(data.videos) < 2:
            raise SystemsError("there is one video; negatives of other videos need at least two")
        self.options, self.examples = options, data.columns
        self.duration = data.videos.duration
        self.counts = counts_in(data.videos)
        self.windows = windows_of(data.videos, options.scales)
        self.offsets = self.windows.offsets(len(data.videos))
        self.positives = answers(data)

    def step(self, number: int) -> tuple[list[Example], Windows]:
        """Return the examples of a step, and the moments of each: its own, then its negatives, row by row.

        They follow from the seed and the step's number alone. The windows' arrays have shape
        (examples × (1 + intra + inter + anywhere),).
        """
        random = np.random.default_rng([self.options.seed, 1, number])
        rows = rows_of_step(number, self.options.batch_size, len(self.examples), self.options.seed)
        own = self.positives.take(rows)
        groups = [own]
        groups += [self._same_video(own, random) for _ in range(self.options.intra)]
        groups += [self._same_time(own, random) for _ in range(self.options.inter)]
        groups += [self._anywhere(own, random) for _ in range(self.options.anywhere)]
        return [self.examples[row] for row in rows.tolist()], interleaved(groups)

    def _same_video(self, own: Windows, random: np.random.Generator) -> Windows:
        """Draw for each moment a window of its video whose IoU with it is low, or the lowest of those drawn."""
        low = self.offsets[own.video][:, None]
        size = (self.offsets[own.video + 1] - self.offsets[own.video])[:, None]
        drawn = low + (random.random((len(own), TRIES)) * size).astype(np.int64)
        iou = overlaps(own.start[:, None], own.end[:, None], self.windows.start[drawn], self.windows.end[drawn])
        far = iou < self.options.intra_iou
        column = np.where(far.any(1), far.argmax(1), iou.argmin(1))
        return self.windows.take(drawn[np.arange(len(own)), column])

    def _same_time(self, own: Windows, random: np.random.Generator) -> Windows:
        """Draw for each moment one at the same time of another video; any window of it if it is too short."""
        video = (own.video + random.integers(1, len(self.counts), len(own))) % len(self.counts)
        fits = (own.stop <= self.counts[video]) & (own.start < self.duration[video])
        low, high = self.offsets[video], self.offsets[video + 1]
        other = self.windows.take(low + (random.random(len(own)) * (high - low)).astype(np.int64))
        return Windows(
            video,
            np.where(fits, own.first, other.first),
            np.where(fits, own.stop, other.stop),
            np.where(fits, own.start, other.start),
            np.where(fits, np.minimum(own.end, self.duration[video]), other.end),
        )

    def _anywhere(self, own: Windows, random: np.random.Generator) -> Windows:
        """Draw for each moment a window of any other video; long videos, which have more, are drawn more often."""
        low, high = self.offsets[own.video], self.offsets[own.video + 1]
        size = high - low
        drawn = (random.random(len(own)) * (len(self.windows) - size)).astype(np.int64)
        return self.windows.take(np.where(drawn < low, drawn, drawn + size))


def overlaps(start: Floats, end: Floats, other_start: Floats, other_end: Floats) -> Floats:
    """Return the IoU of moments of one video, by broadcasting; times are in seconds."""
    shared = np.maximum(np.minimum(end, other_end) - np.maximum(start, other_start), 0)
    return np.asarray(shared / (end - start + other_end - other_start - shared), np.float64)


def interleaved(groups: Sequence[Windows]) -> Windows:
    """Return the first window of every group, then the second of every group, and so on."""
    columns = ([getattr(group, column.name) for group in groups] for column in fields(Windows))
    return Windows(*(np.stack(column, axis=1).ravel() for column in columns))


def answers(data: Data) -> Windows:
    """Return the examples' moments with the clips that they touch. Raises SystemsError if one is not in its video."""
    examples = data.columns
    if not examples:
        raise SystemsError("there are no examples; expected at least one to learn from")
    unknown = [name for name in examples.names if name not in data.videos.number]
    if unknown:
        raise SystemsError(f"an example is of video {unknown[0]!r}; expected one that has features")
    video = np.array([data.videos.number[name] for name in examples.names], np.int64)[examples.video]
    start, end = examples.start, np.minimum(examples.end, data.videos.duration[video])
    seconds, last = data.videos.clip_seconds, counts_in(data.videos)[video]
    wrong = np.flatnonzero(~((start >= 0) & (start < end)) | (last < 1))
    if len(wrong):
        bad = examples[int(wrong[0])]
        raise SystemsError(
            f"an example of video {bad.video!r} is from {bad.start:g} to {bad.end:g} s; expected a moment inside "
            f"its {data.videos.duration[video[wrong[0]]]:g} s, and at least one clip with features"
        )
    first = np.minimum(np.floor(start / seconds + 1e-6).astype(np.int64), last - 1)
    stop = np.clip(np.ceil(end / seconds - 1e-6).astype(np.int64), first + 1, last)
    return Windows(video, first, stop, start, end)


def rows_of_step(number: int, size: int, count: int, seed: int) -> Ints:
    """Return which examples a step learns from; each is seen once before one is seen again.

    number, size: of the step, from 0, and how many examples it has.
    count: of all examples.
    """
    places = np.arange(number * size, (number + 1) * size)
    rows = np.empty(size, np.int64)
    for epoch in range(int(places[0]) // count, int(places[-1]) // count + 1):
        order = np.random.default_rng([seed, 2, epoch]).permutation(count)
        here = places // count == epoch
        rows[here] = order[places[here] % count]
    return rows
