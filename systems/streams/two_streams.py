"""What XML and ReLoCLNet share: training, an index of clips, videos by their clips, and moments in the best videos."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ..data import Data, Floats, Ints, Query, Rows, Videos, let_go, video_blocks
from ..interface import Progress, Report, silent
from ..neural.device import placed
from ..neural.layers import as_rows
from ..neural.training import Learned, Lesson
from ..options import Options, Streams
from ..ranking import Ranked, best, rank
from ..windows import Windows
from . import inputs
from .inputs import Batch, Index, Pairs, Reading, check_streams, check_validation, facts_of, room_for
from .losses import boundary_losses, clip_losses, ranking_losses, video_losses, weighted
from .network import Boundaries, Network, QueryVectors, Seen, cosines, products, spans

CLIPS_AT_A_TIME = 8192  # that the network looks at together
ROWS_AT_A_TIME = 65_536  # of an index, that queries are compared with together
QUERIES_AT_A_TIME = 64


class TwoStreams(Learned):
    """Videos by their best clip, and moments in the best videos by ConvSE.

    A row of the index holds, for each stream, the vector of length 1 by which a clip's video is found, and then, for
    each stream, the vector by which moments are found.
    """

    network_class = Network
    options: Streams
    two_levels: ClassVar[bool]
    after: ClassVar[int]  # clips from a moment's last one to its end, in the authors' code

    @property
    def reading(self) -> Reading:
        """How the features of videos are read."""
        options = self.options
        return Reading(options.places, not self.two_levels, (options.unit, True), options.tef, options.padded)

    def facts(self, data: Data) -> dict[str, Any]:
        known = facts_of(data.videos, data.columns.queries, self.options.words)
        return known | {"two_levels": self.two_levels}

    def lesson(self, data: Data) -> Lesson:
        check_validation(data)
        pairs = Pairs(data, self.options, self.reading)
        return lambda network, step: loss_of(network, pairs, step)

    def index(self, videos: Videos, report: Report = silent) -> None:
        self.keep_card()
        width = 2 * len(self.network.features) * self.options.hidden
        inputs.store(self.folder, videos, self.reading, self.rows(videos, report), width)
        report(Progress(1, 1, f"{len(videos):,} videos are indexed"))

    def rows(self, videos: Videos, report: Report = silent) -> Iterator[Rows]:
        """Yield the rows of an index, some videos at a time."""

        def look(streams: Sequence[Tensor], are_there: Tensor) -> Tensor:
            seen = self.network.look(streams, are_there)
            return torch.cat([functional.normalize(seen.for_videos, dim=3), seen.for_moments], 1)

        return rows_of(videos, self.reading, self.network.features, look, report)

    def indexed(self) -> Index:
        return inputs.stored(self.folder)

    def look_at(self, videos: Videos, report: Report = silent) -> Index:
        return inputs.temporary(videos, self.reading, self.rows(videos, report))

    def ranked(self, index: Index, queries: Sequence[Query], depth: int) -> Iterator[Ranked]:
        for start in range(0, len(queries), QUERIES_AT_A_TIME):
            query_vectors = self.ask(queries[start : start + QUERIES_AT_A_TIME])
            for scores, of_moments in zip(self.of_videos(index, query_vectors), query_vectors.of_moments, strict=True):
                numbers = best_videos(scores, self.options.candidates)
                found = self.moments(index, of_moments, numbers)
                closeness = self.options.closeness * scores[numbers]
                yield best_moments(
                    index, numbers, found, closeness, self.options, depth, 0 if self.options.closed else self.after
                )

    def ask(self, queries: Sequence[Query]) -> QueryVectors:
        """Return the vectors of queries."""
        with torch.inference_mode():
            return cast(QueryVectors, self.network.ask(queries))

    def of_videos(self, index: Index, query_vectors: QueryVectors) -> Rows:
        """Return cosines of queries and each video's best clip, -inf without clips (XML, Eq. 4): (queries, videos)."""
        streams, hidden = query_vectors.of_videos.shape[1:]
        vectors = as_rows(functional.normalize(query_vectors.of_videos, dim=2))
        offsets = index.offsets
        scores = np.full((len(vectors), len(index.names)), -np.inf, np.float32)
        for numbers in video_blocks(index.room, ROWS_AT_A_TIME):
            here = numbers[index.counts[numbers] > 0]
            rows = index.rows[offsets[numbers[0]] : offsets[numbers[-1] + 1]]
            begins = offsets[here] - offsets[numbers[0]]
            edges = np.stack([begins, begins + index.counts[here]], 1).ravel()
            total = np.zeros((len(vectors), len(here)), np.float32)
            for stream in range(streams):
                part = rows[:, stream * hidden : (stream + 1) * hidden]
                cosines = np.pad(vectors[:, stream] @ part.T, ((0, 0), (0, 1)))  # the last edge may be behind the end
                if len(here):
                    total += np.maximum.reduceat(cosines, edges, axis=1)[:, ::2]
            scores[:, here] = total / streams
            let_go(index.rows)
        return scores

    def moments(self, index: Index, of_moments: Tensor, numbers: Ints) -> Boundaries:
        """Return the log-probabilities of the starts and ends of a query's moments in some videos."""
        streams, hidden = of_moments.shape
        rows, are_there = index.of(numbers, skipped=streams * hidden)
        own = placed(rows).unflatten(2, (streams, hidden)).transpose(1, 2)
        with torch.inference_mode():
            query_vectors = of_moments.expand(len(numbers), -1, -1)
            found = self.network.find(query_vectors, own, placed(are_there), self.options.padded)
            return Boundaries(found.starts.log_softmax(1).cpu(), found.ends.log_softmax(1).cpu())


def rows_of(
    videos: Videos,
    reading: Reading,
    features: Sequence[int],
    look: Callable[[Sequence[Tensor], Tensor], Tensor],
    report: Report,
) -> Iterator[Rows]:
    """Yield the rows of an index, some videos at a time.

    features: of each stream, as in training.
    look: returns the vectors of videos' clips, shape (videos, streams, clips, hidden), for what `Reading.read` returns.
    """
    check_streams(videos, features)
    room = room_for(reading, reading.counts(videos))
    for numbers in video_blocks(room, CLIPS_AT_A_TIME):
        with torch.inference_mode():
            each = as_rows(look(*reading.read(videos, numbers)).transpose(1, 2).flatten(2))
        yield each[np.arange(each.shape[1]) < room[numbers][:, None]]
        report(Progress(int(numbers[-1]) + 1, len(videos), "indexing videos"))


def best_videos(scores: Rows, count: int) -> Ints:
    """Return the numbers of the videos with the highest scores; those without clips are not among them."""
    numbers = best(scores, count)
    return numbers[np.isfinite(scores[numbers])]


def best_moments(
    index: Index,
    numbers: Ints,
    found: Boundaries,
    of_videos: Rows | Floats,
    options: Options,
    depth: int,
    after: int = 0,
) -> Ranked:
    """Return the best moments of some videos.

    A moment's score is the sum of its start's, of its end's and of its video's; so it is the logarithm of the
    papers' product, which has the same order and does not overflow.

    numbers, of_videos: of the videos, and their scores: shape (videos,).
    after: as in `spans`.
    """
    counts = torch.from_numpy(index.counts[numbers])
    scores, is_one = spans(found.starts, found.ends, counts, options.shortest, options.longest, after)
    place, first, length = (each.numpy() for each in is_one.nonzero(as_tuple=True))
    video, stop = numbers[place], first + length + 1
    seconds = index.seconds[video]
    ends = np.minimum(stop * seconds, index.duration[video])
    windows = Windows(video, first, stop, first * seconds, ends)
    return rank(windows, scores[is_one].numpy() + of_videos[place], depth, options.nms)


def loss_of(network: Network, pairs: Pairs, step: int) -> Tensor:
    """Return the loss of a step; dropout and the negatives of the ranking are drawn from torch's random numbers."""
    batch, options = pairs.batch(step), pairs.options
    seen = network.look(*pairs.reading.read(pairs.videos, batch.video))
    query_vectors = network.ask(pairs.queries_of(batch))
    losses = losses_of(network, query_vectors, seen, batch, options)
    loss = weighted(losses, batch.weights)
    if options.ranking:
        hardest = options.hardest if step >= options.hard_after else None
        scores = cosines(query_vectors.of_videos, seen.for_videos, seen.are_there)
        draws = torch.rand(2, *scores.shape).to(scores.device)  # the same ones on every device
        kind = options.ranking_loss
        both = ranking_losses(scores, batch.positives, draws, margin=options.margin, hardest=hardest, loss=kind)
        loss = loss + options.ranking * (both[0] + both[1]).mean()
    return loss


def losses_of(network: Network, query_vectors: QueryVectors, seen: Seen, batch: Batch, options: Streams) -> Tensor:
    """Return the losses of a step's pairs that are weighted by their similarities."""
    found = network.find(query_vectors.of_moments, seen.for_moments, seen.are_there, options.padded)
    losses = options.span * boundary_losses(found.starts, found.ends, batch.first, batch.last)
    if options.video:
        scores = products(query_vectors.of_videos, seen.for_contrast, seen.are_there)
        losses = losses + options.video * video_losses(scores, batch.positives)
    if options.frame:
        by_clip = torch.einsum("qsh,qsch->qsc", query_vectors.of_videos, seen.for_contrast)
        losses = losses + options.frame * _of_clips(by_clip, batch, seen.are_there)
    return losses


def _of_clips(by_clip: Tensor, batch: Batch, are_there: Tensor) -> Tensor:
    """Return ReLoCLNet's loss between a query and clips, mean of the streams."""
    clips = torch.arange(by_clip.shape[2], device=by_clip.device)
    inside = (clips >= batch.first[:, None]) & (clips <= batch.last[:, None])
    outside = are_there & ~inside
    each = [clip_losses(by_clip[:, stream], inside, outside) for stream in range(by_clip.shape[1])]
    return torch.stack(each).mean(0)


class Xml(TwoStreams):
    """Cross-modal moment localisation. In its code a moment goes to the end of the clip that is its end."""

    name = "xml"
    two_levels = True
    after = 0


class Reloclnet(TwoStreams):
    """Retrieval and localisation by contrastive learning. In its code a moment goes to the start of its end's clip."""

    name = "reloclnet"
    two_levels = False
    after = 1
