"""STAL: words aligned with clips and objects by the Chamfer distance (TEF), or a query with clips (Eqs. 2 and 6); and
MCN: a moment by the mean of its clips, the mean of its video and its place (Hendricks et al. 2017; STAL, Eq. 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..data import Data, Floats, Ints, Query, Rows, Videos, let_go
from ..errors import SystemsError
from ..exhaustive import Arrays, Index
from ..interface import Progress, Report, silent
from ..options import Contrastive
from ..options import Mcn as McnOptions
from ..windows import Windows
from .contrast import QUERIES_AT_A_TIME, WINDOWS_AT_A_TIME, Contrasted, chamfer, check_width, squared_distances
from .device import placed
from .layers import Language, Perceptron, Ragged, as_rows, clips_of, context_of, endpoints_of, objects_of

BRANCHES = ("clips", "objects")
LOT = 1e-9  # less than costs differ by that are not equal


class StalNetwork(nn.Module):
    """Perceptrons for clips and, with `objects`, for these (late fusion), both with temporal endpoints; an LSTM."""

    def __init__(self, options: Contrastive, visual: int, objects: bool, words: Sequence[str], width: int) -> None:
        super().__init__()
        self.visual, self.objects = visual, objects
        self.language = Language(options, words, width, both_ways=True)
        self.clip = Perceptron(options, visual, visual + 2)
        if objects:
            self.thing = Perceptron(options, width + 4, 2)

    def costs(self, queries: Sequence[Query], videos: Videos, windows: Windows) -> torch.Tensor:
        _, words, are_words = self.language(queries)
        total = torch.zeros(())
        for branch in self.sets(videos, windows):
            vectors, are_there = branch.padded()
            sets = vectors.unflatten(0, (len(queries), -1))
            there = are_there.unflatten(0, (len(queries), -1))
            total = total + chamfer(sets, there, words.unsqueeze(1), are_words.unsqueeze(1))
        return total

    def sets(self, videos: Videos, windows: Windows) -> list[Ragged]:
        """Return the vectors of each window's clips and, if there is that branch, of its objects."""
        check_width(videos, self.visual)
        places, each = endpoints_of(videos, windows), clips_of(videos, windows)
        shared = torch.cat([context_of(videos, windows), places], dim=1)
        found = [each._replace(rows=self.clip(each.rows, shared, each.owner))]
        if self.objects:
            if videos.objects is None:
                raise SystemsError("the videos have no objects; expected some, as in training")
            things = objects_of(videos, videos.objects, self.language.names(videos.objects), windows)
            found.append(things._replace(rows=self.thing(things.rows, places, things.owner)))
        return found


class Stal(Contrasted):
    """Moments ranked by the sum of the alignment costs of their clips and of their objects."""

    name = "stal"
    network_class = StalNetwork

    def facts(self, data: Data) -> dict[str, Any]:
        return super().facts(data) | {"objects": data.videos.objects is not None}

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        parts: dict[str, list[NDArray[Any]]] = {}
        with torch.inference_mode():
            for start in range(0, len(windows), WINDOWS_AT_A_TIME):
                rows = np.arange(start, min(start + WINDOWS_AT_A_TIME, len(windows)))
                found = self.network.sets(videos, windows.take(rows))
                for branch, sets in zip(BRANCHES, found, strict=False):
                    parts.setdefault(branch, []).append(as_rows(sets.rows))
                    parts.setdefault(f"{branch} sizes", []).append(sets.sizes.cpu().numpy())
                report(Progress(int(rows[-1]) + 1, len(windows), "indexing moments"))
        return {name: np.concatenate(each) for name, each in parts.items()}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        branches = [
            Sets(index.arrays[branch], index.arrays[f"{branch} sizes"]) for branch in BRANCHES if branch in index.arrays
        ]
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            for words in self.word_vectors(queries[start : start + QUERIES_AT_A_TIME]):
                yield -np.sum([chamfer_to_words(sets, words) for sets in branches], axis=0)

    def word_vectors(self, queries: Sequence[Query]) -> list[Rows]:
        """Return the vectors of each query's words: (words, embedding)."""
        with torch.inference_mode():
            _, words, are_words = self.network.language(queries)
        return [as_rows(each[there]) for each, there in zip(words, are_words, strict=True)]


class ClipsNetwork(nn.Module):
    """A perceptron over each clip beside the mean of its video, and an LSTM whose last states stand for the query."""

    def __init__(self, options: Contrastive, visual: int, words: Sequence[str], width: int) -> None:
        super().__init__()
        self.visual = visual
        self.language = Language(options, words, width, both_ways=True)
        self.clip = Perceptron(options, visual, visual)

    def costs(self, queries: Sequence[Query], videos: Videos, windows: Windows) -> torch.Tensor:
        check_width(videos, self.visual)
        rows, owner, sizes = clips_of(videos, windows)
        vectors = self.clip(rows, context_of(videos, windows), owner)
        sentences, _, _ = self.language(queries)
        each = len(windows) // len(queries)
        distances = (vectors - sentences[owner // each]).square().sum(1, keepdim=True)
        return Ragged(distances, owner, sizes).means().view(len(queries), each)


class StalClips(Contrasted):
    """Moments ranked by the mean squared Euclidean distance of their clips' vectors from the query's."""

    name = "stal_clips"
    network_class = ClipsNetwork

    def clip_vectors(self, videos: Videos, report: Report = silent) -> Iterator[Rows]:
        """Yield the vectors of all clips, in their order, some thousand at a time: (clips, embedding)."""
        check_width(videos, self.network.visual)
        context = placed(videos.means)
        video = np.repeat(np.arange(len(videos)), videos.counts)
        for start in range(0, len(video), WINDOWS_AT_A_TIME):
            rows = slice(start, start + WINDOWS_AT_A_TIME)
            clips = placed(np.array(videos.clips[rows], np.float32))
            let_go(videos.clips)
            with torch.inference_mode():
                yield as_rows(self.network.clip(clips, context, placed(video[rows])))
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
            sentences = torch.from_numpy(self.query_vectors(queries[start : start + QUERIES_AT_A_TIME]))
            for distances in as_rows(squared_distances(sentences, clips)):
                sums = np.concatenate([[0.0], np.cumsum(distances, dtype=np.float64)])
                yield (sums[first] - sums[first + length]) / length


class Sets:
    """Sets of vectors, such as moments' clips, with what is computed of them once for all queries.

    vectors: shape (members of all sets, d); those of one set stand together.
    sizes: members of each set, which may be 0: shape (sets,).
    """

    def __init__(self, vectors: Rows, sizes: Ints) -> None:
        self.vectors, self.sizes = vectors, sizes
        self.lengths = np.asarray(np.einsum("nd,nd->n", vectors, vectors), np.float32)
        self.filled = np.flatnonzero(sizes)
        self.starts = (np.cumsum(sizes) - sizes)[self.filled]


def chamfer_to_words(sets: Sets, words: Rows) -> Floats:
    """Return the symmetric squared Chamfer distance of each set from the words.

    An empty set has the mean of the others, which makes it neither better nor worse than what is not known of it.

    words: shape (words, d).
    """
    costs = np.zeros(len(sets.sizes))
    if not len(sets.filled) or not len(words):
        return costs
    distances = sets.vectors @ (-2 * words.T)
    distances += sets.lengths[:, None]
    distances += np.einsum("nd,nd->n", words, words)
    np.maximum(distances, 0, out=distances)
    to_words = np.add.reduceat(distances.min(1), sets.starts) / sets.sizes[sets.filled]
    to_members = np.minimum.reduceat(distances, sets.starts, axis=0).mean(1)
    costs[sets.filled] = found = to_words + to_members
    costs[sets.sizes == 0] = found.mean(dtype=np.float64)
    return costs


class McnNetwork(nn.Module):
    """A perceptron over a moment, of whose video it sees `visual` features a clip, and an LSTM over the query."""

    def __init__(self, options: Contrastive, visual: int, words: Sequence[str], width: int) -> None:
        super().__init__()
        self.visual, self.has_endpoints = visual, not isinstance(options, McnOptions) or options.endpoints
        self.language = Language(options, words, width, both_ways=False)
        self.moment = Perceptron(options, 0, 2 * visual + 2 * self.has_endpoints)

    def costs(self, queries: Sequence[Query], videos: Videos, windows: Windows) -> torch.Tensor:
        sentences, _, _ = self.language(queries)
        moments = self.moments(videos, windows)
        return (moments.unflatten(0, (len(queries), -1)) - sentences.unsqueeze(1)).square().sum(-1)

    def moments(self, videos: Videos, windows: Windows) -> torch.Tensor:
        """Return the vectors of windows: shape (windows, embedding)."""
        parts = [endpoints_of(videos, windows)] if self.has_endpoints else []
        if self.visual:
            check_width(videos, self.visual)
            parts += [clips_of(videos, windows).means(), context_of(videos, windows)]
        features = torch.cat(parts, dim=1)
        return self.moment(features, features, torch.arange(len(windows)))


class Mcn(Contrasted):
    """Moments ranked by the squared Euclidean distance of their vectors from the query's."""

    name = "mcn"
    network_class = McnNetwork

    def represent(self, videos: Videos, windows: Windows, report: Report = silent) -> Arrays:
        parts = []
        with torch.inference_mode():
            for start in range(0, len(windows), WINDOWS_AT_A_TIME):
                rows = np.arange(start, min(start + WINDOWS_AT_A_TIME, len(windows)))
                parts.append(as_rows(self.network.moments(videos, windows.take(rows))))
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

    def facts(self, data: Data) -> dict[str, Any]:
        return super().facts(data) | {"visual": 0}

    def scores(self, index: Index, queries: Sequence[Query]) -> Iterator[Rows | Floats]:
        """Moments at the same place of different videos cost the same: the seed draws lots, as for the prior."""
        for number, scores in enumerate(super().scores(index, queries)):
            lots = np.random.default_rng([self.options.seed, number]).random(len(scores))
            yield scores + LOT * lots
