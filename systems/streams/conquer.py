"""CONQUER (Hou et al. 2021): the best videos of a first stage, read together with the words of the query.

The first stage is a ReLoCLNet of the same data and options, in a folder of its own below the system's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from .. import options as kinds
from ..data import Data, Floats, Ints, Query, Rows, Videos
from ..errors import SystemsError
from ..interface import Progress, Report, part_of, silent
from ..neural.description import MODEL
from ..neural.device import placed
from ..neural.layers import Padded, Words
from ..neural.training import Learned, Lesson
from ..options import Options
from ..ranking import Ranked, best
from ..storage import read_arrays, write_arrays
from . import inputs
from .inputs import Batch, Index, Pairs, Reading, check_validation, facts_of
from .losses import NEVER, boundary_losses, weighted
from .network import Attention, Boundaries, Entry, Places, begin
from .two_streams import QUERIES_AT_A_TIME, Reloclnet, best_moments, best_videos, rows_of

FIRST = "first"  # the folder of the first stage
POOL = "pool.npz"
NOBODY = -1
NOWHERE = -1e10  # in place of a similarity to what is only padding: finite, so that a clip of padding has a mean
OF_QUERIES = 1  # the kind of a query's tokens; that of clips and of subtitles is their number


class Judged(NamedTuple):
    """What CONQUER says of the candidate videos of queries.

    starts, ends: logits of clips, `NEVER` where there is none: shape (queries, candidates, clips).
    videos: logits of the candidates, if it is `exclusive`: shape (queries, candidates).
    """

    starts: Tensor
    ends: Tensor
    videos: Tensor | None


class Kinds(Places):
    """Adds what kind of thing a vector stands for, and its place."""

    def __init__(self, count: int, hidden: int, dropout: float) -> None:
        super().__init__(count, hidden, dropout)
        self.kinds = nn.Embedding(2, hidden)

    def of(self, vectors: Tensor, kind: int) -> Tensor:
        """Return the vectors anew."""
        return self(vectors + self.kinds.weight[kind])


class Block(nn.Module):
    """A transformer's block: attention, then a small network for each vector."""

    def __init__(self, options: kinds.Conquer) -> None:
        super().__init__()
        self.attention = Attention(options.hidden, options.heads, options.dropout)
        self.wide, self.narrow = nn.Linear(options.hidden, options.inner), nn.Linear(options.inner, options.hidden)
        self.norm, self.drop = nn.LayerNorm(options.hidden), nn.Dropout(options.dropout)

    def forward(self, vectors: Tensor, are_there: Tensor) -> Tensor:
        """Return the vectors anew; see `Attention`."""
        seen = self.attention(vectors, vectors, are_there[:, None])
        renewed: Tensor = self.norm(self.drop(self.narrow(functional.gelu(self.wide(seen)))) + seen)
        return renewed


class Reader(nn.Module):
    """Maps vectors to the hidden size, and reads them as a sequence, without places."""

    def __init__(self, features: int, options: kinds.Conquer) -> None:
        super().__init__()
        self.entry, self.block = Entry(features, options.hidden, options.dropout), Block(options)

    def forward(self, vectors: Tensor, are_there: Tensor) -> Tensor:
        """Return vectors: shape (sequences, length, hidden)."""
        read: Tensor = self.block(self.entry(vectors), are_there)
        return read


class Head(nn.Module):
    """Scores each clip by itself and the two clips on either side."""

    def __init__(self, options: kinds.Conquer) -> None:
        super().__init__()
        self.near = nn.Conv1d(options.hidden, options.filters, 5, padding=2, bias=False)
        self.out = nn.Conv1d(options.filters, 1, 1, bias=False)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the scores: shape (videos, clips)."""
        scores: Tensor = self.out(torch.relu(self.near(vectors.transpose(1, 2)))).squeeze(1)
        return scores


class Mix(nn.Module):
    """Weights of the streams by what the query is about: its words are counted in soft clusters (NetVLAD)."""

    def __init__(self, options: kinds.Conquer, streams: int) -> None:
        super().__init__()
        hidden, clusters = options.hidden, options.clusters
        self.near = nn.Parameter(torch.randn(hidden, clusters) / hidden**0.5)
        self.centres = nn.Parameter(torch.randn(1, hidden, clusters) / hidden**0.5)
        self.norm, self.drop = nn.LayerNorm(clusters), nn.Dropout(options.dropout)
        self.weigh = nn.Linear(hidden * clusters, streams, bias=False)

    def forward(self, query: Tensor, counts: Tensor) -> Tensor:
        """Return the weights: shape (queries, streams).

        query, counts: vectors of words, and which of them count: shapes (queries, words, hidden) and (queries, words).
        """
        shares = self.norm(query @ self.near).softmax(2) * counts[:, :, None]
        sums = query.transpose(1, 2) @ shares - shares.sum(1, keepdim=True) * self.centres
        pooled = functional.normalize(functional.normalize(sums, dim=1).flatten(1), dim=1)
        weights: Tensor = self.weigh(self.drop(pooled)).softmax(1)
        return weights


class Coupling(nn.Module):
    """Attention both ways: what the query says to each clip, and what the clips say to it, in each clip's vector."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(3 * hidden, 1, bias=False)

    def forward(self, clips: Tensor, are_clips: Tensor, query: Padded) -> Tensor:
        """Return the vectors of clips, which know of the query: shape (videos, clips, 4 × hidden)."""
        of_clips, of_words, of_both = self.weigh.weight[0].chunk(3)
        words, are_words = query
        similar = (clips * of_both) @ words.transpose(1, 2)
        similar = similar + (clips @ of_clips)[:, :, None] + (words @ of_words)[:, None]
        similar = similar.masked_fill(~(are_clips[:, :, None] & are_words[:, None]), NOWHERE)
        from_words = similar.softmax(2) @ words
        heard = similar.amax(2).softmax(1)[:, None] @ clips
        return torch.cat([clips, from_words, clips * from_words, clips * heard], 2)


class ConquerNetwork(nn.Module):
    """Fusion by the query, attention both ways between words and clips, and heads for starts, ends and videos.

    features: number of features of each stream.
    words, width: as in `Words`.
    """

    def __init__(self, options: kinds.Conquer, features: Sequence[int], words: Sequence[str], width: int) -> None:
        super().__init__()
        hidden, dropout = options.hidden, options.dropout
        self.features, self.is_padded = list(features), options.padded
        self.words, self.tokens = Words(words, width), options.tokens
        self.entry, self.places = Entry(width, hidden, dropout), Kinds(options.tokens, hidden, dropout)
        self.block = Block(options)
        self.entries = nn.ModuleList(Entry(each, hidden, dropout) for each in features)
        self.clip_places, self.clip_block = Kinds(options.places, hidden, dropout), Block(options)
        self.mix = Mix(options, len(features)) if options.fusion and len(features) > 1 else None
        self.coupling, self.reading = Coupling(hidden), Reader(4 * hidden, options)
        self.starts, self.ends = Reader(5 * hidden, options), Reader(2 * hidden, options)
        self.start, self.end = Head(options), Head(options)
        self.whole = Reader(5 * hidden, options) if options.is_exclusive else None
        self.video = nn.Sequential(
            nn.Linear(hidden, options.filters, bias=False), nn.ReLU(), nn.Linear(options.filters, 1, bias=False)
        )
        self.video = self.video if options.is_exclusive else None
        self.apply(begin)

    def ask(self, queries: Sequence[Query]) -> Padded:
        """Read queries: the vectors of their words, shape (queries, words, hidden)."""
        return self.ask_words(self.words.padded(queries))

    def ask_words(self, words: Padded) -> Padded:
        """Read queries from the vectors of their words."""
        vectors, are_there = words.vectors[:, : self.tokens], words.are_there[:, : self.tokens]
        if self.is_padded:
            room = self.tokens - vectors.shape[1]
            vectors, are_there = functional.pad(vectors, (0, 0, 0, room)), functional.pad(are_there, (0, room))
        return Padded(self.block(self.places.of(self.entry(vectors), OF_QUERIES), are_there), are_there)

    def look(self, streams: Sequence[Tensor], are_there: Tensor) -> Tensor:
        """Look at videos, whatever is asked, all streams together: shape (videos, streams, clips, hidden)."""
        each = [
            self.clip_places.of(entry(stream), kind)
            for kind, (stream, entry) in enumerate(zip(streams, self.entries, strict=True))
        ]
        seen = self.clip_block(torch.cat(each, 1), are_there.repeat(1, len(each)))
        return torch.stack(seen.chunk(len(each), 1), 1)

    def judge(self, query: Padded, seen: Tensor, clips: Tensor, candidates: Tensor) -> Judged:
        """Read each query together with its candidate videos.

        seen, clips: of the candidates of the first query, then of the second, and so on: what `look` returned, and
        which clips are there, shape (queries × candidates, clips).
        candidates: which candidates there are: shape (queries, candidates).
        """
        counts = torch.ones_like(query.are_there) if self.is_padded else query.are_there
        shares = None if self.mix is None else self.mix(query.vectors, counts).repeat_interleave(candidates.shape[1], 0)
        query = Padded(*(each.repeat_interleave(candidates.shape[1], 0) for each in query))
        fused = seen.mean(1) if shares is None else torch.einsum("vs,vsch->vch", shares, seen)
        coupled = self.coupling(fused, clips, query)
        read = self.reading(coupled, clips)
        both = torch.cat([coupled, read], 2)
        starts = self.starts(both, clips)
        ends = self.ends(torch.cat([read, starts], 2), clips)
        found = [
            head(self._without_padding(each, clips, 0.0)).masked_fill(~clips, NEVER).unflatten(0, candidates.shape)
            for head, each in ((self.start, starts), (self.end, ends))
        ]
        found = [each.masked_fill(~candidates[:, :, None], NEVER) for each in found]
        return Judged(found[0], found[1], self._choose(both, clips, candidates))

    def _choose(self, both: Tensor, clips: Tensor, candidates: Tensor) -> Tensor | None:
        """Return the logits of the candidates, by the highest of each feature over a video."""
        if self.whole is None or self.video is None:
            return None
        seen = self._without_padding(self.whole(both, clips), clips, NEVER).amax(1)
        chosen: Tensor = self.video(seen).view_as(candidates).masked_fill(~candidates, NEVER)
        return chosen

    def _without_padding(self, vectors: Tensor, clips: Tensor, instead: float) -> Tensor:
        return vectors if self.is_padded else vectors.masked_fill(~clips[:, :, None], instead)


class Conquer(Learned):
    """Contextual query-aware ranking, with a ReLoCLNet as the first stage."""

    name = "conquer"
    network_class = ConquerNetwork
    options: kinds.Conquer

    @property
    def reading(self) -> Reading:
        """How the features of videos are read."""
        options = self.options
        return Reading(options.places, False, (options.unit, False), False, options.padded)

    def __init__(self, options: Options, folder: Path) -> None:
        super().__init__(options, folder)
        values = {field.name: getattr(options, field.name) for field in fields(kinds.Reloclnet)}
        values |= {"iterations": self.options.first_iterations}
        self.first = Reloclnet(kinds.Reloclnet(**values), folder / FIRST)

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()
        if not all((each / MODEL).exists() for each in (self.folder, self.first.folder)):
            own, both = self.options.iterations, self.options.iterations + self.options.first_iterations
            self.first.train(data, part_of(report, 0, both - own, both))
            super().train(data, part_of(report, both - own, own, both))
        else:
            super().train(data, report)

    def facts(self, data: Data) -> dict[str, Any]:
        return facts_of(data.videos, data.columns.queries, self.options.words)

    def lesson(self, data: Data) -> Lesson:
        check_validation(data)
        options = replace(self.options, closed=True)
        pairs = Pairs(data, options, self.reading)
        others = Others.of(self.first, pairs, options, self.folder)

        def loss_of(network: ConquerNetwork, step: int) -> Tensor:
            batch = pairs.batch(step)
            numbers, are_there = others.draw(batch, step)
            candidates = np.concatenate([batch.video[:, None], numbers], 1)
            streams, clips = self.reading.read(pairs.videos, candidates.ravel())
            there = placed(np.concatenate([np.ones_like(are_there[:, :1]), are_there], 1))
            seen = network.look(streams, clips)
            judged = network.judge(network.ask(pairs.queries_of(batch)), seen, clips, there)
            return weighted(losses_of(judged, batch, options), batch.weights)

        return loss_of

    def index(self, videos: Videos, report: Report = silent) -> None:
        self.keep_card()
        self.first.index(videos, part_of(report, 0, 1, 2))
        width = len(self.network.features) * self.options.hidden
        inputs.store(self.folder, videos, self.reading, self.rows(videos, part_of(report, 1, 1, 2)), width)
        report(Progress(1, 1, f"{len(videos):,} videos are indexed"))

    def rows(self, videos: Videos, report: Report = silent) -> Iterator[Rows]:
        """Yield the rows of an index, some videos at a time: for each stream, the vector of a clip."""
        return rows_of(videos, self.reading, self.network.features, self.network.look, report)

    def indexed(self) -> Index:
        """Return the stored index of CONQUER itself, with that of the first stage as `first`."""
        first, own = self.first.indexed(), inputs.stored(self.folder)
        if first.names != own.names:
            raise SystemsError(f"{self.folder}: the stages' indexes differ; index the collection again")
        return replace(own, first=first)

    def look_at(self, videos: Videos, report: Report = silent) -> Index:
        first = self.first.look_at(videos, report)
        return replace(inputs.temporary(videos, self.reading, self.rows(videos, report)), first=first)

    def ranked(self, index: Index, queries: Sequence[Query], depth: int) -> Iterator[Ranked]:
        assert index.first is not None
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            some = queries[start : start + QUERIES_AT_A_TIME]
            for query, scores in zip(some, self.first.of_videos(index.first, self.first.ask(some)), strict=True):
                numbers = best_videos(scores, self.options.candidates)
                closeness = self.options.closeness * scores[numbers]
                yield self.among(index, query, numbers, closeness, depth)

    def among(self, own: Index, query: Query, numbers: Ints, closeness: Rows | Floats, depth: int) -> Ranked:
        """Return the best moments of a query's candidate videos.

        numbers, closeness: of the candidates, and the logarithms of what the first stage says of them, which
        `disjoint` leaves out: shape (candidates,).
        """
        rows, are_there = own.of(numbers)
        streams = len(self.network.features)
        with torch.inference_mode():
            seen = placed(rows).unflatten(2, (streams, -1)).transpose(1, 2)
            candidates = placed(np.ones((1, len(numbers)), np.bool_))
            judged = self.network.judge(self.network.ask([query]), seen, placed(are_there), candidates)
        found, of_videos = scores_of(judged, closeness, self.options.similarity)
        return best_moments(own, numbers, found, of_videos, self.options, depth)


def scores_of(judged: Judged, closeness: Rows | Floats, similarity: str) -> tuple[Boundaries, Rows | Floats]:
    """Return the scores of candidates' clips and videos; `closeness` is the first stage's: shape (candidates,)."""
    starts, ends = judged.starts[0].cpu(), judged.ends[0].cpu()
    if similarity == "disjoint":
        return Boundaries(starts, ends), np.zeros(len(starts))
    found = Boundaries(starts.log_softmax(1), ends.log_softmax(1))
    if judged.videos is None:
        return found, closeness
    return found, judged.videos[0].log_softmax(0).cpu().numpy()


def losses_of(judged: Judged, batch: Batch, options: kinds.Conquer) -> Tensor:
    """Return the loss of each pair, its own video first; clips of all candidates are normalised together (sharing)."""
    starts, ends = judged.starts.flatten(1), judged.ends.flatten(1)
    losses = options.span * boundary_losses(starts, ends, batch.first, batch.last)
    if judged.videos is None:
        return losses
    own = torch.zeros(len(starts), dtype=torch.int64, device=starts.device)
    return losses + options.choice * functional.cross_entropy(judged.videos, own, reduction="none")


@dataclass(frozen=True, eq=False)
class Others:
    """The highest videos of the first stage for each query, `NOBODY` after the last one: shape (queries, pool)."""

    pool: Ints
    options: kinds.Conquer

    @classmethod
    def of(cls, first: Reloclnet, pairs: Pairs, options: kinds.Conquer, folder: Path) -> Others:
        """Search with the first stage, or take what an earlier start of the same training found and stored."""
        file = folder / POOL
        if not file.exists():
            first.index(pairs.videos)
            pool = np.concatenate(list(_pools(first, first.indexed(), pairs, options.pool)))
            write_arrays(file, {"pool": pool})
        pool = read_arrays(file)["pool"]
        if pool.shape[0] != len(pairs.queries):
            raise SystemsError(
                f"{file}: has {pool.shape[0]} queries, and the training set {len(pairs.queries)}; expected the "
                "training set with which the training began"
            )
        return cls(pool, options)

    def draw(self, batch: Batch, step: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Draw other videos for each pair by the seed and the step, and say which there are: shape (B, others) both."""
        pool = self.pool[batch.query]
        draws = np.random.default_rng([self.options.seed, 3, step]).random(pool.shape)
        order = np.argsort(np.where(pool == NOBODY, -1, draws), axis=1)[:, ::-1][:, : self.options.others]
        numbers = np.take_along_axis(pool, order, 1)
        return np.maximum(numbers, 0), numbers != NOBODY


def _pools(first: Reloclnet, index: Index, pairs: Pairs, size: int) -> Iterator[Ints]:
    videos = np.arange(len(pairs.videos))
    for start in range(0, len(pairs.queries), QUERIES_AT_A_TIME):
        numbers = np.arange(start, min(start + QUERIES_AT_A_TIME, len(pairs.queries)))
        scores = first.of_videos(index, first.ask([pairs.queries[number] for number in numbers.tolist()]))
        scores[pairs.answer(numbers[:, None], videos[None])] = -np.inf
        pool = np.full((len(numbers), size), NOBODY, np.int64)
        for row, each in enumerate(scores):
            found = best(each, size)
            found = found[np.isfinite(each[found])]
            pool[row, : len(found)] = found
        yield pool
