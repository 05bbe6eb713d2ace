"""STAL (clips): the mean distance of a moment's clips from the query (Equation 6), which a clip index can serve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from retrieval.systems.data import Data, Floats, Query, Rows, Videos
from retrieval.systems.exhaustive import Arrays, Index
from retrieval.systems.interface import Progress, Report, silent
from retrieval.systems.neural.contrasted import (
    QUERIES_AT_A_TIME,
    WINDOWS_AT_A_TIME,
    Contrasted,
    Network,
    check_width,
)
from retrieval.systems.neural.layers import Clips, Language, Perceptron, Ragged, as_rows
from retrieval.systems.neural.losses import squared_distances
from retrieval.systems.options import Contrastive
from retrieval.systems.windows import Windows


class ClipsNetwork(Network):
    """A perceptron over each clip beside the mean of its video, and an LSTM whose last states stand for the query."""

    def __init__(self, options: Contrastive, visual: int, words: Sequence[str], width: int) -> None:
        super().__init__()
        self.visual = visual
        self.language = Language(options, words, width, both_ways=True)
        self.clip = Perceptron(options, visual, visual)

    def costs(self, queries: Sequence[Query], videos: Videos, windows: Windows) -> torch.Tensor:
        check_width(videos, self.visual)
        clips = Clips(videos, has_context=True)
        rows, owner, sizes = clips.of(windows)
        vectors = self.clip(rows, clips.context_of(windows), owner)
        asked, _, _ = self.language(queries)
        each = len(windows) // len(queries)
        distances = (vectors - asked[owner // each]).square().sum(1, keepdim=True)
        return Ragged(distances, owner, sizes).means().view(len(queries), each)


class StalClips(Contrasted):
    """Moments ranked by the mean squared Euclidean distance of their clips' vectors from the query's."""

    name = "stal_clips"
    network_class = ClipsNetwork

    def facts_of(self, data: Data) -> dict[str, Any]:
        return {"visual": int(data.videos.clips.shape[1])}

    def clip_vectors(self, videos: Videos, report: Report = silent) -> Iterator[Rows]:
        """Yield the vectors of all clips, in their order, some thousand at a time: (clips, embedding)."""
        check_width(videos, self.network.visual)
        context = torch.from_numpy(videos.means)
        video = np.repeat(np.arange(len(videos)), videos.counts)
        for start in range(0, len(video), WINDOWS_AT_A_TIME):
            rows = slice(start, start + WINDOWS_AT_A_TIME)
            clips = torch.from_numpy(np.asarray(videos.clips[rows], np.float32))
            with torch.inference_mode():
                yield as_rows(self.network.clip(clips, context, torch.from_numpy(video[rows])))
            report(Progress(min(rows.stop, len(video)), len(video), "indexing clips"))

    def query_vectors(self, queries: Sequence[Query]) -> Rows:
        """Return the vectors of queries: (queries, embedding)."""
        with torch.inference_mode():
            return as_rows(self.network.language(queries)[0])

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        vectors = np.concatenate(list(self.clip_vectors(videos, report)))
        return {"clips": vectors, "first": videos.offsets[windows.video] + windows.first}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        clips, first = torch.from_numpy(index.arrays["clips"]), index.arrays["first"]
        length = index.windows.stop - index.windows.first
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            asked = torch.from_numpy(self.query_vectors(queries[start : start + QUERIES_AT_A_TIME]))
            for distances in as_rows(squared_distances(asked, clips)):
                sums = np.concatenate([[0.0], np.cumsum(distances, dtype=np.float64)])
                yield (sums[first] - sums[first + length]) / length
