"""What goes into the networks: queries and videos as padded tensors, and the pairs of both that a step learns from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data import Data, Ints, Query, Videos
from ..errors import SystemsError
from ..neural import layers
from ..neural.contrast import answers, rows_of_step
from ..windows import counts_in
from .options import Streams


class Padded(NamedTuple):
    """Sequences of different lengths in one tensor, and which places of it hold something."""

    vectors: Tensor
    are_there: Tensor


class Words(layers.Words):
    """The vectors of queries' words, as a padded tensor."""

    def forward(self, queries: Sequence[Query]) -> Padded:
        """Return the vectors: shape (queries, words, width)."""
        vectors, lengths = self.read(queries)
        return Padded(vectors, torch.arange(vectors.shape[1])[None] < lengths[:, None])


def facts_of(videos: Videos, queries: Sequence[Query], width: int) -> dict[str, Any]:
    """Return what of the training data the shape of a network depends on. `width` is that of learned word vectors."""
    return {"features": widths_of(videos)} | layers.words_and_width(width, queries)


def widths_of(videos: Videos) -> list[int]:
    """Return the number of features of each stream: of clips, and of subtitles if there are any."""
    return [int(stream.shape[1]) for stream in (videos.clips, videos.subtitles) if stream is not None]


def check_streams(videos: Videos, features: Sequence[int]) -> None:
    """Raise SystemsError if videos do not have the streams that a network was trained on."""
    if (found := widths_of(videos)) != list(features):
        raise SystemsError(f"the videos have {_in_words(found)}; expected {_in_words(features)}, as in training")


def check_validation(data: Data) -> None:
    """Raise SystemsError if the validation set's videos do not have the streams of those that are learned from."""
    if data.validation is not None:
        check_streams(data.validation.videos, widths_of(data.videos))


def _in_words(features: Sequence[int]) -> str:
    subtitles = f"{features[1]} of subtitles" if len(features) > 1 else "none of subtitles"
    return f"{features[0]} features of a clip and {subtitles}"


def read(videos: Videos, numbers: Ints, counts: Ints) -> tuple[list[Tensor], Tensor]:
    """Return the streams of the videos of these numbers, and which clips are there.

    counts: of all videos, by `counts_in`.
    Returns tensors of shape (videos, clips, features) for each stream, and of shape (videos, clips). Each video has
    room for one clip at least, and its first clip is said to be there even if it has none, so that attention has
    something to look at: what comes out of such a video means nothing.
    """
    lengths = counts[numbers]
    places = np.arange(max(1, int(lengths.max(initial=1))))
    are_there = places < np.maximum(lengths, 1)[:, None]
    rows = np.where(places < lengths[:, None], videos.offsets[numbers][:, None] + places, 0)
    streams = [stream for stream in (videos.clips, videos.subtitles) if stream is not None]
    read_ones = [torch.from_numpy(unit(np.asarray(stream[rows], np.float32))) for stream in streams]
    return [each * torch.from_numpy(are_there)[:, :, None] for each in read_ones], torch.from_numpy(are_there)


def unit(features: Any) -> Any:
    """Return features of length 1, as XML's are; zeros, such as of a clip without subtitles, stay zeros."""
    return features / np.maximum(np.linalg.norm(features, axis=-1, keepdims=True), 1e-6)


class Batch(NamedTuple):
    """The pairs of a step.

    query: numbers of the pairs' queries: shape (B,).
    video, first, last: the moments: the video's number, and the moment's first and last clip: shape (B,).
    positives: the mask of positive pairs, shape (B, B); see `systems.streams.losses`.
    weights: sim(q, m.c): shape (B,).
    """

    query: Ints
    video: Ints
    first: Tensor
    last: Tensor
    positives: Tensor
    weights: Tensor


class Pairs:
    """All pairs of a training set, whose queries are numbered in the order of their first examples."""

    def __init__(self, data: Data, options: Streams) -> None:
        self.videos, self.options = data.videos, options
        self.counts = counts_in(data.videos)
        self.moments = answers(data)
        numbers: dict[str, int] = {}
        rows = [numbers.setdefault(example.query.id, len(numbers)) for example in data.examples]
        self.query = np.array(rows, np.int64)
        by_id = {example.query.id: example.query for example in data.examples}
        self.queries: Sequence[Query] = list(by_id.values())
        self.weights = np.array([example.weight for example in data.examples], np.float32)
        self._known = np.unique(self.query * len(data.videos) + self.moments.video)

    def batch(self, step: int) -> Batch:
        """Return the pairs of the step of this number, which follow from it and the seed alone."""
        rows = rows_of_step(step, self.options.batch_size, len(self.query), self.options.seed)
        moments = self.moments.take(rows)
        return Batch(
            self.query[rows],
            moments.video,
            torch.from_numpy(moments.first),
            torch.from_numpy(moments.stop - 1),
            torch.from_numpy(self.answer(self.query[rows][:, None], moments.video[None])),
            torch.from_numpy(self.weights[rows]),
        )

    def answer(self, query: Ints, video: Ints) -> NDArray[np.bool_]:
        """Return which videos hold a moment that the training set gives the query, by broadcasting."""
        return np.isin(query * len(self.videos) + video, self._known)

    def queries_of(self, batch: Batch) -> list[Query]:
        """Return the queries of a step."""
        return [self.queries[number] for number in batch.query.tolist()]
