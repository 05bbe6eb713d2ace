"""What a system sees: videos as features of their clips, queries, examples of moments, and a validation set.

Times are seconds from the start of the video. Rows of all videos stand together in one array each, which may be a
memory map, so that a collection of millions of clips is read only where it is used.
"""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .errors import SystemsError
from .library import Qrels, qrels_from_dict
from .storage import Spool

Rows = NDArray[np.float32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Value = TypeVar("Value")
MOST_NAMED = 5  # in a message


def let_go(rows: Rows | None) -> None:
    """Give back the memory that what was read of a memory map takes; it is read again where it is needed."""
    owner: Any = rows
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


def ranges(first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Return the numbers first to stop - 1 of each range, one range behind the other, and where each begins there."""
    begins = starts_of(stop - first)
    return np.arange(begins[-1]) + np.repeat(first - begins[:-1], stop - first), begins


def starts_of(counts: Iterable[int]) -> Ints:
    """Return where each of several parts begins, and where the last one ends."""
    return np.cumsum([0, *counts])


def video_blocks(counts: Ints, clips: int) -> Iterator[Ints]:
    """Yield the numbers of videos in their order, some at a time, with about so many clips together."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + clips, side="right")))
        yield np.arange(start, stop)
        start = stop


class Video(NamedTuple):
    """One video of a collection.

    duration: in seconds.
    clips: features of its clips in their order: shape (clips, d).
    subtitles: features of what is said in each clip: shape (clips, e); None if the collection has none.
    """

    name: str
    duration: float
    clips: Rows
    subtitles: Rows | None = None


@dataclass(frozen=True, eq=False)
class Objects:
    """Objects that were detected in clips, sorted by clip.

    clip: the clip's number among all clips of the collection, never falling: shape (objects,).
    name: the number of its name in `names`: shape (objects,).
    box: centre x and y, width and height, as shares of the picture's width and height: shape (objects, 4).
    names: each name once.
    vectors: of the names, by the encoder of the queries' tokens: shape (names, w). None: a system learns them.
    """

    clip: Ints
    name: Ints
    box: Rows
    names: tuple[str, ...]
    vectors: Rows | None = None

    def of(self, clips: Ints) -> Objects:
        """Return the objects of clips, which are numbered anew by their places among these."""
        first, stop = np.searchsorted(self.clip, clips), np.searchsorted(self.clip, clips, side="right")
        rows, _ = ranges(first, stop)
        places = np.repeat(np.arange(len(clips)), stop - first)
        return replace(self, clip=places, name=self.name[rows], box=self.box[rows])


class Features(NamedTuple):
    """What is known of a file of features, as it was read.

    sha256: of the file; of a folder that of its videos' names and files.
    videos, clips, width: how many there are of the collection, and how many values a clip has.
    mean, deviation: of all values.
    constant_columns, constant_rows: how many have one value in all clips, and how many clips the same value everywhere.
    missing: names of the collection's videos that are not in the file.
    """

    file: str
    sha256: str
    videos: int
    clips: int
    width: int
    mean: float
    deviation: float
    constant_columns: int
    constant_rows: int
    missing: tuple[str, ...] = ()


class Tally:
    """Figures of rows that come some at a time."""

    def __init__(self, width: int) -> None:
        self.count = self.constant_rows = 0
        self.sums, self.squares = np.zeros(width), np.zeros(width)
        self.least, self.largest = np.full(width, np.inf), np.full(width, -np.inf)

    def add(self, rows: Rows) -> None:
        """Count some more rows."""
        if not len(rows):
            return
        self.count += len(rows)
        self.sums += rows.sum(0, dtype=np.float64)
        self.squares += np.einsum("rc,rc->c", rows, rows, dtype=np.float64)
        self.least = np.minimum(self.least, rows.min(0))
        self.largest = np.maximum(self.largest, rows.max(0))
        self.constant_rows += int((rows.min(1) == rows.max(1)).sum())

    def figures(self) -> tuple[float, float, int]:
        """Return the mean and the deviation of all values, and how many columns are constant."""
        if not self.count:
            return 0.0, 0.0, 0
        values = self.count * len(self.sums)
        mean = float(self.sums.sum()) / values
        variance = max(0.0, float(self.squares.sum()) / values - mean * mean)
        return mean, float(np.sqrt(variance)), int((self.least == self.largest).sum())


def named_of(names: Sequence[str]) -> str:
    """Return the first few names in words, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(map(repr, names[:MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")


@dataclass(frozen=True, eq=False)
class Videos:
    """The videos of a collection; clips offsets[i] to offsets[i + 1] are those of video i.

    duration: in seconds: shape (videos,).
    offsets: shape (videos + 1,).
    clips: features: shape (clips of all videos, d), float16 or float32.
    clip_seconds: length of a clip; the last one of a video may be cut short by the video's end.
    subtitles: features of what is said in each clip: shape (clips of all videos, e).
    features: what is known of the files that the features came from.
    """

    names: tuple[str, ...]
    duration: Floats
    offsets: Ints
    clips: Rows
    clip_seconds: float
    objects: Objects | None = None
    subtitles: Rows | None = None
    features: tuple[Features, ...] = ()

    @classmethod
    def of(cls, videos: Sequence[Video], clip_seconds: float, objects: Objects | None = None) -> Videos:
        """Put videos together; either all of them have subtitles or none."""
        if not videos:
            raise SystemsError("there are no videos; expected at least one")
        subtitles = [video.subtitles for video in videos if video.subtitles is not None]
        return cls(
            names=tuple(video.name for video in videos),
            duration=np.array([video.duration for video in videos], np.float64),
            offsets=np.concatenate([[0], np.cumsum([len(video.clips) for video in videos])]).astype(np.int64),
            clips=np.concatenate([video.clips for video in videos]),
            clip_seconds=clip_seconds,
            objects=objects,
            subtitles=np.concatenate(subtitles) if len(subtitles) == len(videos) else None,
        )

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> Video:
        rows = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        subtitles = None if self.subtitles is None else self.subtitles[rows]
        return Video(self.names[number], float(self.duration[number]), self.clips[rows], subtitles)

    def some(self, numbers: Ints) -> Videos:
        """Return the videos of these numbers, in ascending order; their rows are in a temporary file, not in memory."""
        clips, begins = ranges(self.offsets[numbers], self.offsets[numbers + 1])
        return Videos(
            names=tuple(self.names[number] for number in numbers.tolist()),
            duration=self.duration[numbers],
            offsets=begins,
            clips=self._copied(self.clips, numbers),
            clip_seconds=self.clip_seconds,
            objects=self.objects and self.objects.of(clips),
            subtitles=None if self.subtitles is None else self._copied(self.subtitles, numbers),
        )

    def _copied(self, rows: Rows, numbers: Ints) -> Rows:
        """Return the rows of the videos of these numbers, in a temporary file."""
        with Spool() as spool:
            for number in numbers.tolist():
                spool.add(rows[self.offsets[number] : self.offsets[number + 1]])
                let_go(rows)
            return spool.rows(rows.shape[1], rows.dtype)

    def part(self, first: int, stop: int) -> Videos:
        """Return the videos first to stop - 1, without their objects and subtitles; the rows are not copied."""
        offsets = self.offsets[first : stop + 1]
        clips = self.clips[offsets[0] : offsets[-1]]
        return Videos(self.names[first:stop], self.duration[first:stop], offsets - offsets[0], clips, self.clip_seconds)

    @cached_property
    def number(self) -> Mapping[str, int]:
        """The number of each video, by its name."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def notices(self) -> list[str]:
        """What is missing from the files of features, or is the same everywhere, in whole sentences."""
        found = []
        for each in self.features:
            if each.missing:
                found.append(f"{each.file}: {len(each.missing):,} videos have no features: {named_of(each.missing)}.")
            if each.constant_columns:
                same = f"{each.constant_columns:,} of {each.width:,} columns have one value in all clips"
                found.append(f"{each.file}: {same}.")
            if each.constant_rows:
                same = f"{each.constant_rows:,} of {each.clips:,} clips have the same value in all columns"
                found.append(f"{each.file}: {same}.")
        return found

    @property
    def lacking_objects(self) -> tuple[int, int]:
        """How many clips, and how many videos, have no detected object."""
        found = np.zeros(len(self.clips), np.bool_)
        if self.objects:
            found[self.objects.clip] = True
        each = np.concatenate([[0], np.cumsum(found)])[self.offsets]
        return int((~found).sum()), int((np.diff(each) == 0).sum())

    @property
    def counts(self) -> Ints:
        """How many clips each video has: shape (videos,)."""
        return np.diff(self.offsets)

    @cached_property
    def means(self) -> Rows:
        """The mean of each video's clips: shape (videos, d); 0 for a video without clips."""
        means = np.zeros((len(self), self.clips.shape[1]), np.float32)
        for number in range(len(self)):
            if self.counts[number]:
                means[number] = self[number].clips.mean(0, dtype=np.float32)
                let_go(self.clips)
        return means


@dataclass(frozen=True, eq=False)
class Query:
    """A query in words.

    tokens: vectors of its tokens: shape (tokens, w). None: a system splits the text into words and learns their
    vectors.
    """

    id: str
    text: str
    tokens: Rows | None = None


@dataclass(frozen=True, eq=False)
class Example:
    """A moment that answers a query.

    Several examples may have one query, as in TVR-Ranking's pseudo training sets.

    video: its name.
    start, end: in seconds.
    weight: how much it counts in the loss, such as the similarity of the query to the moment's caption.
    """

    query: Query
    video: str
    start: float
    end: float
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Examples(Sequence[Example]):
    """Examples as columns, which take 32 bytes of each; one is made when it is looked at.

    queries: each object once, in the order of their first examples.
    names: of the videos, in the same order.
    query, video: numbers among these: shape (examples,).
    start, end: in seconds: shape (examples,).
    weight: shape (examples,).
    """

    queries: Sequence[Query]
    names: Sequence[str]
    query: NDArray[np.int32]
    video: NDArray[np.int32]
    start: Floats
    end: Floats
    weight: Floats

    @classmethod
    def of(cls, examples: Iterable[Example]) -> Examples:
        """Return examples as columns, whose order they keep; they may come one by one."""
        if isinstance(examples, cls):
            return examples
        queries, names = dict[int, tuple[int, Query]](), dict[str, int]()
        query, video, start, end, weight = array("i"), array("i"), array("d"), array("d"), array("d")
        for each in examples:
            query.append(queries.setdefault(id(each.query), (len(queries), each.query))[0])
            video.append(names.setdefault(each.video, len(names)))
            start.append(each.start)
            end.append(each.end)
            weight.append(each.weight)
        times = (np.array(each, np.float64) for each in (start, end, weight))
        known = [each for _, each in queries.values()]
        return cls(known, tuple(names), np.array(query, np.int32), np.array(video, np.int32), *times)

    def __len__(self) -> int:
        return len(self.query)

    @overload
    def __getitem__(self, number: int) -> Example: ...

    @overload
    def __getitem__(self, number: slice) -> Examples: ...

    def __getitem__(self, number: int | slice) -> Example | Examples:
        if isinstance(number, slice):
            return self.take(np.arange(len(self))[number])
        query, name = self.queries[self.query[number]], self.names[self.video[number]]
        return Example(query, name, float(self.start[number]), float(self.end[number]), float(self.weight[number]))

    def take(self, rows: NDArray[Any]) -> Examples:
        """Return the examples of these numbers, or where this is true."""
        queries, query = _used(self.queries, self.query[rows])
        names, video = _used(self.names, self.video[rows])
        return Examples(queries, names, query, video, self.start[rows], self.end[rows], self.weight[rows])


def _used(values: Sequence[Value], numbers: NDArray[np.int32]) -> tuple[list[Value], NDArray[np.int32]]:
    """Return the values that numbers mean, in the order in which they come first, and these numbers among them."""
    found, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(found), np.int32)
    place[order] = np.arange(len(found))
    return [values[number] for number in found[order].tolist()], place[inverse]


@dataclass(frozen=True, eq=False)
class Validation:
    """Queries whose answers are known, over the videos of `videos`, and the measure that training is stopped by."""

    queries: Sequence[Query]
    qrels: Qrels
    videos: Videos
    measure: str = "nDCG_IoU(iou=0.5)@20"

    @classmethod
    def of(
        cls, examples: Sequence[Example], videos: Videos, measure: str = "Success_IoU(iou=0.5+0.7)@100"
    ) -> Validation:
        """Make a validation set of examples, with recall as the measure (STAL, Section 4.1)."""
        queries = {example.query.id: example.query for example in examples}
        moments: dict[str, list[tuple[str, float, float, int]]] = {}
        for example in examples:
            here = moments.setdefault(example.query.id, [])
            here.append((example.video, example.start, example.end, 1))
        return cls(list(queries.values()), qrels_from_dict(moments), videos, measure)

    def among(self, most: int, seed: int) -> Validation:
        """Return the validation over so many videos: all with answers, and others drawn by the seed. 0: over all."""
        answers = set(np.array(self.qrels.videos)[self.qrels.grades > 0].tolist())
        is_answer = np.array([name in answers for name in self.videos.names])
        if not 0 < most < len(self.videos) or is_answer.all():
            return self
        others = np.random.default_rng([seed, 3]).permutation(np.flatnonzero(~is_answer))
        kept = np.concatenate([np.flatnonzero(is_answer), others[: max(0, most - int(is_answer.sum()))]])
        return replace(self, videos=self.videos.some(np.sort(kept)))


@dataclass(frozen=True, eq=False)
class Data:
    """What a system is trained on."""

    videos: Videos
    examples: Sequence[Example]
    validation: Validation | None = field(default=None)

    @cached_property
    def columns(self) -> Examples:
        """The examples as columns."""
        return Examples.of(self.examples)

    @cached_property
    def queries(self) -> list[Query]:
        """The queries of the examples, each id once."""
        return list({query.id: query for query in self.columns.queries}.values())
