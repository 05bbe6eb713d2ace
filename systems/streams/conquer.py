"""CONQUER (Hou et al. 2021): the best videos of a first stage, read together with the words of the query.

The first stage is a ReLoCLNet of the same data and options, in a folder of its own below the system's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from .. import options as kinds
from ..data import Data, Floats, Ints, Query, Rows, Validation, Videos
from ..errors import SystemsError
from ..interface import Progress, Report, silent
from ..library import Run
from ..neural.description import MODEL
from ..neural.device import placed
from ..neural.training import Learned, Lesson
from ..options import Options
from ..ranking import Ranked, best, run_of
from ..storage import read_arrays, write_arrays
from .index import Index, store, stored, temporary
from .inputs import Batch, Pairs, Reading, check_validation, facts_of
from .judging import ConquerNetwork, Judged
from .losses import boundary_losses, weighted
from .network import Boundaries
from .two_streams import QUERIES_AT_A_TIME, Reloclnet, best_moments, best_videos, rows_of

FIRST = "first"  # the folder of the first stage
POOL = "pool.npz"
NOBODY = -1


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

        def loss_of(network: ConquerNetwork, step: int) -> torch.Tensor:
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
        store(self.folder, videos, self.reading, self.rows(videos, part_of(report, 1, 1, 2)), width)
        report(Progress(1, 1, f"{len(videos):,} videos are indexed"))

    def rows(self, videos: Videos, report: Report = silent) -> Iterator[Rows]:
        """Yield the rows of an index, some videos at a time: for each stream, the vector of a clip."""
        return rows_of(videos, self.reading, self.network.features, self.network.look, report)

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
        first, own = (temporary(videos, each.reading, each.rows(videos, report)) for each in (self.first, self))
        return self.search_in(first, own, validation.queries, depth, report)

    def search_in(self, first: Index, own: Index, queries: Sequence[Query], depth: int, report: Report = silent) -> Run:
        """Search the indexes of the first stage and of CONQUER itself, both of the same videos."""
        return run_of(self.name, queries, self._ranked(first, own, queries, depth), own.names, report)

    def _ranked(self, first: Index, own: Index, queries: Sequence[Query], depth: int) -> Iterator[Ranked]:
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            some = queries[start : start + QUERIES_AT_A_TIME]
            for query, scores in zip(some, self.first.of_videos(first, self.first.ask(some)), strict=True):
                numbers = best_videos(scores, self.options.candidates)
                closeness = self.options.closeness * scores[numbers]
                yield self.among(own, query, numbers, closeness, depth)

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
    """Return the scores of a query's candidate videos as `best_moments` adds them: of their clips, and of the videos.

    closeness: logarithms of what the first stage says of the videos: shape (candidates,).
    """
    starts, ends = judged.starts[0].cpu(), judged.ends[0].cpu()
    if similarity == "disjoint":
        return Boundaries(starts, ends), np.zeros(len(starts))
    found = Boundaries(starts.log_softmax(1), ends.log_softmax(1))
    if judged.videos is None:
        return found, closeness
    return found, judged.videos[0].log_softmax(0).cpu().numpy()


def losses_of(judged: Judged, batch: Batch, options: kinds.Conquer) -> torch.Tensor:
    """Return CONQUER's loss of each pair, whose own video is the first candidate. Starts and ends are normalised over
    the clips of all candidates (shared normalisation), so that a clip must be better than those of other videos too.
    """
    starts, ends = judged.starts.flatten(1), judged.ends.flatten(1)
    losses = options.span * boundary_losses(starts, ends, batch.first, batch.last)
    if judged.videos is None:
        return losses
    own = torch.zeros(len(starts), dtype=torch.int64, device=starts.device)
    return losses + options.choice * functional.cross_entropy(judged.videos, own, reduction="none")


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
