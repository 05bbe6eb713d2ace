"""CONQUER (Hou et al. 2021): the best videos of a first stage, read together with the words of the query.

The first stage is a ReLoCLNet of the same data and options, in a folder of its own below the system's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ..data import Data, Ints, Query, Rows, Validation, Videos
from ..errors import SystemsError
from ..interface import Progress, Report, silent
from ..library import Run
from ..neural.layers import as_rows
from ..neural.training import MODEL, Learned, Lesson
from ..options import Options
from ..ranking import Ranked, best, run_of
from ..storage import read_arrays, write_arrays
from . import options as kinds
from .index import Index, in_memory, store, stored
from .inputs import Batch, Padded, Pairs, Words, check_validation, facts_of, read
from .losses import NEVER, boundary_losses, weighted
from .network import Block, Boundaries, Entry, Pooling
from .two_streams import QUERIES_AT_A_TIME, Reloclnet, best_moments, best_videos, rows_of

FIRST = "first"  # the folder of the first stage
POOL = "pool.npz"
NOBODY = -1


class Judged(NamedTuple):
    """What CONQUER says of the candidate videos of queries.

    starts, ends: logits of clips, `NEVER` where there is none: shape (queries, candidates, clips).
    videos: logits of the candidates: shape (queries, candidates).
    """

    starts: Tensor
    ends: Tensor
    videos: Tensor


class ConquerNetwork(nn.Module):
    """Fusion by the query, attention both ways between words and clips, and heads for starts, ends and videos.

    features: number of features of each stream.
    words, width: as in `Words`.
    """

    def __init__(self, options: kinds.Conquer, features: Sequence[int], words: Sequence[str], width: int) -> None:
        super().__init__()
        hidden, heads, dropout = options.hidden, options.heads, options.dropout
        self.features = list(features)
        self.words = Words(words, width)
        self.entry, self.block = Entry(width, hidden, dropout), Block(hidden, heads, dropout)
        self.entries = nn.ModuleList(Entry(each, hidden, dropout) for each in features)
        self.blocks = nn.ModuleList(Block(hidden, heads, dropout) for _ in features)
        self.pooling, self.mix = Pooling(hidden, 1), nn.Linear(hidden, len(features))
        self.coupling = Coupling(hidden)
        self.reading = Block(hidden, heads, dropout)
        self.starts, self.ends = Block(hidden, heads, dropout), Block(hidden, heads, dropout)
        self.start, self.end = nn.Linear(2 * hidden, 1), nn.Linear(2 * hidden, 1)
        self.summary, self.video = Pooling(hidden, 1), nn.Linear(hidden, 1)

    def ask(self, queries: Sequence[Query]) -> Padded:
        """Read queries: the vectors of their words, shape (queries, words, hidden)."""
        words, are_there = self.words(queries)
        return Padded(self.block(self.entry(words), are_there), are_there)

    def look(self, streams: Sequence[Tensor], are_there: Tensor) -> Tensor:
        """Look at videos, whatever is asked: shape (videos, streams, clips, hidden)."""
        each = zip(streams, self.entries, self.blocks, strict=True)
        return torch.stack([block(entry(stream), are_there) for stream, entry, block in each], 1)

    def judge(self, query: Padded, seen: Tensor, clips: Tensor, candidates: Tensor) -> Judged:
        """Read each query together with its candidate videos.

        seen, clips: of the candidates of the first query, then of the second, and so on: what `look` returned, and
        which clips are there, shape (queries × candidates, clips).
        candidates: which candidates there are: shape (queries, candidates).
        """
        query = Padded(*(each.repeat_interleave(candidates.shape[1], 0) for each in query))
        mixed = self.coupling(self.fuse(query, seen), clips, query)
        read = self.reading(mixed, clips)
        starts = self.starts(read, clips)
        ends = self.ends(starts, clips)
        found = [
            head(torch.cat([read, each], 2)).squeeze(2).masked_fill(~clips, NEVER)
            for head, each in ((self.start, starts), (self.end, ends))
        ]
        videos = self.video(self.summary(read, clips).squeeze(1)).view_as(candidates)
        shaped = [each.unflatten(0, candidates.shape) for each in found]
        missing = ~candidates[:, :, None]
        return Judged(
            shaped[0].masked_fill(missing, NEVER),
            shaped[1].masked_fill(missing, NEVER),
            videos.masked_fill(~candidates, NEVER),
        )

    def fuse(self, query: Padded, seen: Tensor) -> Tensor:
        """Return one vector for each clip: the streams', weighted as the query wants it (query-dependent fusion)."""
        shares = self.mix(self.pooling(*query).squeeze(1)).softmax(1)
        return torch.einsum("vs,vsch->vch", shares, seen)


class Coupling(nn.Module):
    """Attention both ways: what the query says to each clip, and what the clips say to it, in each clip's vector."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.of_clips, self.of_words = nn.Linear(hidden, 1, bias=False), nn.Linear(hidden, 1, bias=False)
        self.together = nn.Parameter(torch.randn(hidden) / math.sqrt(hidden))
        self.join, self.norm = nn.Linear(4 * hidden, hidden), nn.LayerNorm(hidden)

    def forward(self, clips: Tensor, are_clips: Tensor, query: Padded) -> Tensor:
        """Return the vectors of clips, which know of the query: shape (videos, clips, hidden)."""
        words, are_words = query
        similar = (clips * self.together) @ words.transpose(1, 2)
        similar = similar + self.of_clips(clips) + self.of_words(words).transpose(1, 2)
        to_words = similar.masked_fill(~are_words[:, None], NEVER).softmax(2)
        to_clips = similar.masked_fill(~are_clips[:, :, None], NEVER).softmax(1)
        from_words = to_words @ words
        heard = to_words @ (to_clips.transpose(1, 2) @ clips)
        return self.norm(clips + self.join(torch.cat([clips, from_words, clips * from_words, clips * heard], 2)))


class Conquer(Learned):
    """Contextual query-aware ranking, with TVR-Ranking's weights of losses (appendix C.1)."""

    name = "conquer"
    network_class = ConquerNetwork
    options: kinds.Conquer

    def __init__(self, options: Options, folder: Path) -> None:
        super().__init__(options, folder)
        values = {field.name: getattr(options, field.name) for field in fields(kinds.Reloclnet)}
        values |= {"iterations": self.options.first_iterations}
        self.first = Reloclnet(kinds.Reloclnet(**values), folder / FIRST)

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()
        if not (self.folder / MODEL).exists():
            own, both = self.options.iterations, self.options.iterations + self.options.first_iterations
            self.first.train(data, part_of(report, 0, both - own, both))
            super().train(data, part_of(report, both - own, own, both))
        else:
            super().train(data, report)

    def facts(self, data: Data) -> dict[str, Any]:
        return facts_of(data.videos, [example.query for example in data.examples], self.options.words)

    def lesson(self, data: Data) -> Lesson:
        check_validation(data)
        pairs, options = Pairs(data, self.options), self.options
        others = Others.of(self.first, pairs, options, self.folder)

        def loss_of(network: ConquerNetwork, step: int) -> torch.Tensor:
            batch = pairs.batch(step)
            numbers, are_there = others.draw(batch, step)
            candidates = np.concatenate([batch.video[:, None], numbers], 1)
            streams, clips = read(pairs.videos, candidates.ravel(), pairs.counts)
            there = torch.from_numpy(np.concatenate([np.ones_like(are_there[:, :1]), are_there], 1))
            seen = network.look(streams, clips)
            judged = network.judge(network.ask(pairs.queries_of(batch)), seen, clips, there)
            return weighted(losses_of(judged, batch, options.choice), batch.weights)

        return loss_of

    def index(self, videos: Videos, report: Report = silent) -> None:
        self.keep_card()
        self.first.index(videos, part_of(report, 0, 1, 2))
        width = len(self.network.features) * self.options.hidden
        store(self.folder, videos, self.rows(videos, part_of(report, 1, 1, 2)), width)
        report(Progress(1, 1, f"{len(videos):,} videos are indexed"))

    def rows(self, videos: Videos, report: Report = silent) -> Iterator[Rows]:
        """Yield the rows of an index, some videos at a time: for each stream, the vector of a clip."""
        return rows_of(videos, self.network.features, self.network.look, report)

    def check_index(self) -> None:
        self.stages()

    def search(self, queries: Sequence[Query], depth: int = 100, report: Report = silent) -> Run:
        return self.search_in(*self.stages(), queries, depth, report)

    def stages(self) -> tuple[Index, Index]:
        """Return the stored indexes of the first stage and of CONQUER itself."""
        first, own = stored(self.first.folder), stored(self.folder)
        if first.names != own.names:
            raise SystemsError(f"{self.folder}: the stages' indexes differ; index the collection again")
        return first, own

    def search_among(self, validation: Validation, depth: int, report: Report = silent) -> Run:
        videos = validation.videos
        first, own = (in_memory(videos, each.rows(videos, report)) for each in (self.first, self))
        return self.search_in(first, own, validation.queries, depth, report)

    def search_in(self, first: Index, own: Index, queries: Sequence[Query], depth: int, report: Report = silent) -> Run:
        """Search the indexes of the first stage and of CONQUER itself, both of the same videos."""
        return run_of(self.name, queries, self._ranked(first, own, queries, depth), own.names, report)

    def _ranked(self, first: Index, own: Index, queries: Sequence[Query], depth: int) -> Iterator[Ranked]:
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            some = queries[start : start + QUERIES_AT_A_TIME]
            for query, scores in zip(some, self.first.of_videos(first, self.first.ask(some)), strict=True):
                numbers = best_videos(scores, self.options.candidates)
                found, chosen = self.judge(own, query, numbers)
                of_videos = chosen + self.options.closeness * scores[numbers]
                yield best_moments(own, numbers, found, of_videos, self.options, depth)

    def judge(self, own: Index, query: Query, numbers: Ints) -> tuple[Boundaries, Rows]:
        """Return the log-probabilities of starts and ends, over all candidate videos, and those of the videos."""
        rows, are_there = own.of(numbers)
        streams = len(self.network.features)
        with torch.inference_mode():
            seen = torch.from_numpy(rows).unflatten(2, (streams, -1)).transpose(1, 2)
            candidates = torch.ones(1, len(numbers), dtype=torch.bool)
            judged = self.network.judge(self.network.ask([query]), seen, torch.from_numpy(are_there), candidates)
            logits = (judged.starts, judged.ends)
            found = [each.flatten(1).log_softmax(1).view_as(each).squeeze(0) for each in logits]
            return Boundaries(*found), as_rows(judged.videos.log_softmax(1).squeeze(0))


def losses_of(judged: Judged, batch: Batch, choice: float) -> torch.Tensor:
    """Return CONQUER's loss of each pair, whose own video is the first candidate. Starts and ends are normalised over
    the clips of all candidates (shared normalisation), so that a clip must be better than those of other videos too.
    """
    starts, ends = judged.starts.flatten(1), judged.ends.flatten(1)
    own = torch.zeros(len(starts), dtype=torch.int64)
    chosen = functional.cross_entropy(judged.videos, own, reduction="none")
    return boundary_losses(starts, ends, batch.first, batch.last) + choice * chosen


def part_of(report: Report, before: int, size: int, total: int) -> Report:
    """Return a report for a part of the work, of so many steps, after others."""

    def report_part(progress: Progress) -> None:
        done = before + size * progress.done // max(1, progress.total)
        report(replace(progress, done=done, total=total))

    return report_part


class Others:
    """The highest videos of the first stage for each query of a training set, without those that answer it.

    pool: numbers of videos, `NOBODY` where there are no more: shape (queries, size of the pool).
    """

    def __init__(self, pool: Ints, options: kinds.Conquer) -> None:
        self.pool, self.options = pool, options

    @classmethod
    def of(cls, first: Reloclnet, pairs: Pairs, options: kinds.Conquer, folder: Path) -> Others:
        """Search with the first stage, or take what an earlier start of the same training found and stored."""
        file = folder / POOL
        if not file.exists():
            first.index(pairs.videos)
            pool = np.concatenate(list(_pools(first, stored(first.folder), pairs, options.pool)))
            write_arrays(file, {"pool": pool})
        pool = read_arrays(file)["pool"]
        if pool.shape[0] != len(pairs.queries):
            raise SystemsError(
                f"{file}: has {pool.shape[0]} queries, and the training set {len(pairs.queries)}; expected the "
                "training set with which the training began"
            )
        return cls(pool, options)

    def draw(self, batch: Batch, step: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Draw other videos for each pair of a step, each once, and say which there are: shape (B, others) both. They
        follow from the seed and the step's number. Where a pool has too few, there are fewer.
        """
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
