"""What goes into the networks: videos as padded tensors, and pairs of a step; the index of what comes out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..data import Data, Floats, Ints, Query, Rows, Videos, let_go
from ..errors import SystemsError
from ..neural import layers
from ..neural.contrast import answers, rows_of_step
from ..neural.device import placed
from ..options import Streams
from ..storage import Spool, read_arrays, write, write_arrays
from ..windows import counts_in

INDEX, ROWS = "index.npz", "rows"


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


class Reading(NamedTuple):
    """How the features of videos are read.

    places: clips of a video that there is room for.
    is_pooled: whether of a longer video means are read; else its first clips.
    units: of each stream, whether its features get length 1.
    tef: whether temporal endpoints stand beside the features.
    is_padded: whether each video is padded to `places` clips; else to the longest one that is read with it.
    """

    places: int
    is_pooled: bool
    units: tuple[bool, bool]
    tef: bool
    is_padded: bool

    def counts(self, videos: Videos) -> Ints:
        """Return how many clips, or means of clips, are read of each video."""
        return np.minimum(counts_in(videos), self.places)

    def seconds(self, videos: Videos) -> Floats:
        """Return how long each of them lasts: shape (videos,)."""
        shares = np.maximum(1.0, counts_in(videos) / self.places) if self.is_pooled else np.ones(len(videos))
        return shares * videos.clip_seconds

    def clips(self, rows: Rows) -> Rows:
        """Return what is read of a video's features: shape (clips or places, d)."""
        if len(rows) <= self.places or not self.is_pooled:
            return np.asarray(rows[: self.places], np.float32)
        return means(np.asarray(rows, np.float32), self.places)

    def read(self, videos: Videos, numbers: Ints) -> tuple[list[Tensor], Tensor]:
        """Return the streams of the videos of these numbers, and which clips are there.

        Returns tensors of shape (videos, clips, features) for each stream, and of shape (videos, clips). Each video
        has room for one clip at least, and its first clip is there even if it has none, so that attention has something
        to look at: what comes out of such a video means nothing.
        """
        all_counts = counts_in(videos)[numbers]
        lengths = np.minimum(all_counts, self.places)
        room = self.places if self.is_padded else max(1, int(lengths.max(initial=1)))
        streams = []
        for stream, unit in zip((videos.clips, videos.subtitles), self.units, strict=True):
            if stream is not None:
                features = np.zeros((len(numbers), room, stream.shape[1] + 2 * self.tef), np.float32)
                for row, (number, count) in enumerate(zip(numbers.tolist(), all_counts.tolist(), strict=True)):
                    begin = int(videos.offsets[number])
                    found = self.prepared(stream[begin : begin + count], unit)
                    features[row, : len(found)] = found
                let_go(stream)
                streams.append(placed(features))
        return streams, placed(np.arange(room) < np.maximum(lengths, 1)[:, None])

    def prepared(self, rows: Rows, unit: bool) -> Rows:
        """Return a video's features as the network reads them."""
        found = self.clips(rows)
        if unit:
            found = found / (np.linalg.norm(found, axis=1, keepdims=True) + 1e-5)
        if self.tef:
            found = np.concatenate([found, ends_of(len(found))], axis=1)
        return found


def means(rows: Rows, parts: int) -> Rows:
    """Return the means of so many parts of a longer video; as in ReLoCLNet's code the last part lacks the last clip."""
    edges = np.minimum(np.round(np.arange(parts + 1) / parts * len(rows)).astype(np.int64), len(rows) - 1)
    firsts, stops = edges[:-1], np.maximum(edges[1:], edges[:-1] + 1)
    return np.stack([rows[first:stop].mean(0) for first, stop in zip(firsts, stops, strict=True)])


def ends_of(count: int) -> Rows:
    """Return where each clip of a video starts and ends, as shares of it: shape (count, 2)."""
    edges = np.arange(count + 1, dtype=np.float32) / np.float32(max(1, count))
    return np.stack([edges[:-1], edges[1:]], axis=1)


class Batch(NamedTuple):
    """The pairs of a step.

    query: numbers of the pairs' queries: shape (B,).
    video, first, last: the moments: the video's number, the moment's first clip, and the one that is learned as its
    end: shape (B,).
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

    def __init__(self, data: Data, options: Streams, reading: Reading) -> None:
        self.videos, self.options, self.reading = data.videos, options, reading
        self.video = answers(data).video
        self.queries: Sequence[Query] = data.queries
        numbers = {query.id: number for number, query in enumerate(data.queries)}
        self.query = np.array([numbers[query.id] for query in data.columns.queries], np.int64)[data.columns.query]
        self.weights = data.columns.weight.astype(np.float32)
        self._known = np.unique(self.query * len(data.videos) + self.video)
        self.first, self.last = self._edges(data)

    def _edges(self, data: Data) -> tuple[Ints, Ints]:
        """Return the clips that are learned as start and end of each moment."""
        seconds = self.reading.seconds(data.videos)[self.video]
        highest = np.maximum(self.reading.counts(data.videos)[self.video] - 1, 0)
        starts, ends = data.columns.start / seconds, data.columns.end / seconds
        first = np.minimum(np.floor(starts + 1e-9).astype(np.int64), highest)
        last = np.ceil(ends - 1e-9).astype(np.int64) - self.options.closed
        return first, np.clip(last, first, highest)

    def batch(self, step: int) -> Batch:
        """Return the pairs of the step of this number, which follow from it and the seed alone."""
        rows = rows_of_step(step, self.options.batch_size, len(self.query), self.options.seed)
        query, video = self.query[rows], self.video[rows]
        own = np.eye(len(rows), dtype=np.bool_)
        positives = self.answer(query[:, None], video[None]) if self.options.several else own
        return Batch(
            query,
            video,
            placed(self.first[rows]),
            placed(self.last[rows]),
            placed(positives),
            placed(self.weights[rows]),
        )

    def answer(self, query: Ints, video: Ints) -> NDArray[np.bool_]:
        """Return which videos hold a moment that the training set gives the query, by broadcasting."""
        return np.isin(query * len(self.videos) + video, self._known)

    def queries_of(self, batch: Batch) -> list[Query]:
        """Return the queries of a step."""
        return [self.queries[number] for number in batch.query.tolist()]


@dataclass(frozen=True, eq=False)
class Index:
    """Videos, and what a system computed of their clips.

    duration: in seconds: shape (videos,).
    counts: clips that are read of each video: shape (videos,).
    seconds: how long each of them lasts: shape (videos,).
    rows: of all clips that are read, and of the padding behind them if that counts, video by video: shape (rows,
    width).
    room: rows of each video: shape (videos,).
    first: that of the first stage, if there is one.
    """

    names: tuple[str, ...]
    duration: Floats
    counts: Ints
    seconds: Floats
    rows: Rows
    room: Ints
    first: Index | None = None

    @property
    def offsets(self) -> Ints:
        """Where the rows of each video begin: shape (videos + 1,)."""
        return np.concatenate([[0], np.cumsum(self.room)]).astype(np.int64)

    def of(self, numbers: Ints, skipped: int = 0) -> tuple[Rows, Any]:
        """Return rows of videos with clips, without the first columns: (videos, clips, width), and which are there."""
        lengths, begins = self.room[numbers][:, None], self.offsets[numbers][:, None]
        places = np.arange(int(lengths.max(initial=1)))
        rows = np.where(places < lengths, begins + places, begins)
        found = np.array(self.rows[:, skipped:][rows], np.float32)
        let_go(self.rows)
        return found, places < self.counts[numbers][:, None]


def temporary(videos: Videos, reading: Reading, blocks: Iterable[Rows]) -> Index:
    """Return an index of which nothing stays, such as of a validation set; its rows are in a temporary file."""
    width = 1
    with Spool() as spool:
        for block in blocks:
            spool.add(block)
            width = block.shape[1]
        rows = spool.rows(width, np.dtype(np.float32))
    return Index(videos.names, rows=rows, **_columns(videos, reading))


def _columns(videos: Videos, reading: Reading) -> dict[str, Any]:
    counts = reading.counts(videos)
    columns = {"duration": videos.duration, "counts": counts, "seconds": reading.seconds(videos)}
    return columns | {"room": room_for(reading, counts)}


def room_for(reading: Reading, counts: Ints) -> Ints:
    """Return how many rows of an index each video has, by the number of its clips."""
    return np.where(counts > 0, reading.places, 0) if reading.is_padded else counts


def store(folder: Path, videos: Videos, reading: Reading, blocks: Iterable[Rows], width: int) -> None:
    """Store an index, whose rows come as blocks in their order; the old one is kept until the new one is whole."""
    columns = _columns(videos, reading)
    name = f"{ROWS}-{os.urandom(6).hex()}.npy"  # a new one, because somebody may be reading the old one
    write(folder / name, lambda out: _fill(out, blocks, (int(columns["room"].sum()), width)))
    texts = {"names": np.array(videos.names, np.str_), "rows": np.array(name, np.str_)}
    try:
        write_arrays(folder / INDEX, columns | texts)
    except SystemsError:
        (folder / name).unlink()
        raise
    for other in folder.glob(f"{ROWS}-*.npy"):
        if other.name != name:
            other.unlink()


def _fill(out: BinaryIO, blocks: Iterable[Rows], shape: tuple[int, int]) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(out, header)
    for block in blocks:
        out.write(np.ascontiguousarray(block, np.float32).tobytes())


def stored(folder: Path) -> Index:
    """Return the index that was stored. Raises SystemsError if there is none, or it cannot be read."""
    if not (folder / INDEX).exists():
        raise SystemsError(f"{folder}: there is no index; index a collection first")
    columns: dict[str, Any] = read_arrays(folder / INDEX)
    names, file = tuple(columns.pop("names").tolist()), folder / str(columns.pop("rows"))
    try:
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); index the collection again") from fault
    if len(rows) != (expected := int(columns["room"].sum())):
        raise SystemsError(f"{file}: has {len(rows):,} rows; expected {expected:,}; index the collection again")
    return Index(names, rows=rows, **columns)
