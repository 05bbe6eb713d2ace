"""STAL (TEF): words aligned with clips and with objects by the Chamfer distance (STAL, Equation 2 and Figure 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from retrieval.systems.aligning import Sets, chamfer_to_words
from retrieval.systems.data import Data, Floats, Query, Rows, Videos
from retrieval.systems.errors import SystemsError
from retrieval.systems.exhaustive import Arrays, Index
from retrieval.systems.interface import Progress, Report, silent
from retrieval.systems.neural.contrasted import (
    QUERIES_AT_A_TIME,
    WINDOWS_AT_A_TIME,
    Contrasted,
    Network,
    check_width,
)
from retrieval.systems.neural.layers import Clips, Detections, Language, Perceptron, as_rows
from retrieval.systems.neural.losses import chamfer
from retrieval.systems.options import Contrastive
from retrieval.systems.windows import Windows

Vectors = tuple[torch.Tensor, torch.Tensor]  # of sets, padded, and which are there
BRANCHES = ("clips", "objects")


class StalNetwork(Network):
    """One perceptron for clips, one for objects, both with the moment's temporal endpoints, and one LSTM.

    Parameters
    ----------
    objects
        Whether objects are aligned as well (late fusion, trained jointly).
    """

    def __init__(
        self, options: Contrastive, visual: int, objects: bool, words: Sequence[str], width: int
    ) -> None:
        super().__init__()
        self.visual, self.objects = visual, objects
        self.language = Language(options, words, width, both_ways=True)
        self.clip = Perceptron(options, 2 * visual, has_endpoints=True)
        if objects:
            self.thing = Perceptron(options, width + 4, has_endpoints=True)

    def costs(self, queries: Sequence[Query], videos: Videos, windows: Windows) -> torch.Tensor:
        _, words, are_words = self.language(queries)
        total = torch.zeros(())
        for vectors, are_there in self.sets(videos, windows):
            sets = vectors.unflatten(0, (len(queries), -1))
            there = are_there.unflatten(0, (len(queries), -1))
            total = total + chamfer(sets, there, words.unsqueeze(1), are_words.unsqueeze(1))
        return total

    def sets(self, videos: Videos, windows: Windows) -> list[Vectors]:
        """Return the vectors of each window's clips and, if there is that branch, of its objects."""
        check_width(videos, self.visual)
        clips = Clips(videos, has_context=True)
        places = clips.endpoints_of(windows)
        each, are_clips = clips.of(windows)
        found = [(self.clip(_beside(each, clips.context_of(windows), places)), are_clips)]
        if self.objects:
            if videos.objects is None:
                raise SystemsError("the videos have no objects; expected some, as in training")
            things, are_things = Detections(videos, videos.objects, self.language).of(windows)
            found.append((self.thing(_beside(things, places)), are_things))
        return found


def _beside(each: torch.Tensor, *shared: torch.Tensor) -> torch.Tensor:
    """Return each member of each set, with what all members of the set share."""
    wide = [part.unsqueeze(1).expand(-1, each.shape[1], -1) for part in shared]
    return torch.cat([each, *wide], dim=2)


class Stal(Contrasted):
    """Moments ranked by the sum of the alignment costs of their clips and of their objects."""

    name = "stal"
    network_class = StalNetwork

    def facts_of(self, data: Data) -> dict[str, Any]:
        return {
            "visual": int(data.videos.clips.shape[1]),
            "objects": data.videos.objects is not None,
        }

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        parts: dict[str, list[Rows]] = {}
        with torch.inference_mode():
            for start in range(0, len(windows), WINDOWS_AT_A_TIME):
                rows = np.arange(start, min(start + WINDOWS_AT_A_TIME, len(windows)))
                for branch, (vectors, are_there) in zip(
                    BRANCHES, self.network.sets(videos, windows.take(rows)), strict=False
                ):
                    parts.setdefault(branch, []).append(as_rows(vectors[are_there]))
                    parts.setdefault(f"{branch} sizes", []).append(are_there.sum(1).numpy())
                report(Progress(int(rows[-1]) + 1, len(windows), "indexing moments"))
        return {name: np.concatenate(each) for name, each in parts.items()}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        branches = [
            Sets(index.arrays[branch], index.arrays[f"{branch} sizes"])
            for branch in BRANCHES
            if branch in index.arrays
        ]
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            for words in self.word_vectors(queries[start : start + QUERIES_AT_A_TIME]):
                yield -np.sum([chamfer_to_words(sets, words) for sets in branches], axis=0)

    def word_vectors(self, queries: Sequence[Query]) -> list[Rows]:
        """Return the vectors of each query's words: (words, embedding)."""
        with torch.inference_mode():
            _, words, are_words = self.network.language(queries)
        return [as_rows(each[there]) for each, there in zip(words, are_words, strict=True)]
