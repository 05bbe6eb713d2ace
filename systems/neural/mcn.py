"""MCN: a moment by the mean of its clips, the mean of its video and its place (Hendricks et al. 2017; STAL, Eq. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from ..data import Data, Floats, Query, Rows, Videos
from ..errors import BadOption
from ..exhaustive import Arrays, Index
from ..interface import Progress, Report, silent
from ..options import Mcn as McnOptions
from ..windows import Windows
from .contrast import QUERIES_AT_A_TIME, WINDOWS_AT_A_TIME, Contrasted, Network, check_width, squared_distances
from .layers import Clips, Language, Perceptron, as_rows

LOT = 1e-9  # less than costs differ by that are not equal


class McnNetwork(Network):
    """A perceptron over a moment's features, and an LSTM whose last state stands for the query.

    visual: features of a clip; 0 for a system that does not see the video.
    """

    def __init__(self, options: McnOptions, visual: int, words: Sequence[str], width: int) -> None:
        super().__init__()
        if not (visual or options.endpoints):
            raise BadOption("endpoints", "False", "True for a system that sees nothing else")
        self.visual, self.has_endpoints = visual, options.endpoints
        self.language = Language(options, words, width, both_ways=False)
        self.moment = Perceptron(options, 0, 2 * visual + 2 * options.endpoints)

    def costs(self, queries: Sequence[Query], videos: Videos, windows: Windows) -> torch.Tensor:
        sentences, _, _ = self.language(queries)
        moments = self.moments(Clips(videos, bool(self.visual)), windows)
        return (moments.unflatten(0, (len(queries), -1)) - sentences.unsqueeze(1)).square().sum(-1)

    def moments(self, clips: Clips, windows: Windows) -> torch.Tensor:
        """Return the vectors of windows: shape (windows, embedding)."""
        parts = [clips.endpoints_of(windows)] if self.has_endpoints else []
        if self.visual:
            check_width(clips.videos, self.visual)
            parts += [clips.of(windows).means(), clips.context_of(windows)]
        features = torch.cat(parts, dim=1)
        return self.moment(features, features, torch.arange(len(windows)))


class Mcn(Contrasted):
    """Moments ranked by the squared Euclidean distance of their vectors from the query's."""

    name = "mcn"
    network_class = McnNetwork

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        clips, parts = Clips(videos, has_context=True), []
        with torch.inference_mode():
            for start in range(0, len(windows), WINDOWS_AT_A_TIME):
                rows = np.arange(start, min(start + WINDOWS_AT_A_TIME, len(windows)))
                parts.append(as_rows(self.network.moments(clips, windows.take(rows))))
                report(Progress(int(rows[-1]) + 1, len(windows), "indexing moments"))
        return {"moments": np.concatenate(parts)}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        moments = torch.from_numpy(index.arrays["moments"])
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            with torch.inference_mode():
                sentences, _, _ = self.network.language(queries[start : start + QUERIES_AT_A_TIME])
                yield from as_rows(-squared_distances(sentences.cpu(), moments))


class TefOnly(Mcn):
    """MCN that sees nothing of a video but a moment's place in it (STAL, Section 4.1)."""

    name = "tef_only"

    def facts_of(self, data: Data) -> dict[str, Any]:
        return {"visual": 0}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        """Moments at the same place of different videos cost the same: the seed draws lots, as for the prior."""
        for number, scores in enumerate(super().scores(index, queries)):
            lots = np.random.default_rng([self.options.seed, number]).random(len(scores))
            yield scores + LOT * lots
