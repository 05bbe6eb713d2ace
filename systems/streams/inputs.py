"""What goes into the networks: queries as vectors of their words, and videos as streams of features, padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..data import Data, Ints, Query, Videos
from ..errors import SystemsError
from ..neural.layers import UNKNOWN, Vocabulary, padded_numbers, padded_tokens


class Padded(NamedTuple):
    """Sequences of different lengths in one tensor, and which places of it hold something."""

    vectors: Tensor
    are_there: Tensor


class Words(nn.Module):
    """The vectors of queries' words: given ones, or learned ones where there is a vocabulary.

    Parameters
    ----------
    words
        The vocabulary; empty if queries come with vectors of their tokens.
    width
        Of the vectors.
    """

    def __init__(self, words: Sequence[str], width: int) -> None:
        super().__init__()
        self.vocabulary, self.width = Vocabulary(words), width
        if words:
            self.vectors = nn.Embedding(len(words) + 1, width, padding_idx=UNKNOWN)

    def forward(self, queries: Sequence[Query]) -> Padded:
        """Return the vectors: shape (queries, words, width)."""
        if self.vocabulary.words:
            numbers, lengths = padded_numbers(self.vocabulary.numbers(query.text for query in queries))
            vectors = self.vectors(torch.from_numpy(numbers))
        else:
            tokens, lengths = padded_tokens(queries, self.width)
            vectors = torch.from_numpy(tokens)
        return Padded(vectors, torch.from_numpy(np.arange(vectors.shape[1]) < lengths[:, None]))


def facts_of(videos: Videos, queries: Sequence[Query], width: int) -> dict[str, Any]:
    """Return what of the training data the shape of a network depends on.

    Parameters
    ----------
    width
        Of learned word vectors.
    """
    if queries[0].tokens is not None:
        words, width = Vocabulary([]), int(queries[0].tokens.shape[1])
    else:
        words = Vocabulary.of(query.text for query in queries)
    return {"features": widths_of(videos), "words": list(words.words), "width": width}


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

    Parameters
    ----------
    counts
        Of all videos, by `counts_in`.

    Returns
    -------
    tensors of shape (videos, clips, features) for each stream, and of shape (videos, clips)
        Each video has room for one clip at least, and its first clip is said to be there even if it has none, so
        that attention has something to look at: what comes out of such a video means nothing.
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
