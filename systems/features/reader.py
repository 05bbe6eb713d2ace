"""Reading features of clips and of subtitles, fitted to their corpus and joined."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data import Features, Rows, Tally, Videos, named_of, video_blocks
from ..errors import BadOption, SystemsError
from ..storage import Spool, digest_of
from ..windows import clips_in, overlaps
from . import sources

CLIPS_AT_A_TIME = 4096  # of a part
NAMES_AT_A_TIME = 4096
SLACK = 1  # clips by which features may differ from a video's duration: extractors drop or fill the last one
# What becomes of features that do not fit their videos.
STRICT, CUT, PAD = FITS = ("strict", "cut", "pad")
FIT_MEANING = (
    "What becomes of features that do not fit their videos: strict refuses them; cut leaves out a video that a set "
    "lacks, and ends one where its shortest set ends; pad takes zeros for what is missing."
)
UNIT_MEANING = "Bring each row of each set to length 1, before sets are joined."
CLIPS_MEANING = (
    "1.5s, 100clips or evenly if the clips of a set have another length: in seconds, so many in every video, or any "
    "number, evenly over each video."
)
FAR = 2.0  # times as many or as few rows as clips, which are clips of another length, and no missing or spare end
OF_CLIPS = r"(?P<number>\d{1,6}(\.\d{1,6})?)(?P<kind>s|clips)"
LENGTH = re.compile(rf"(?P<path>.+)@({OF_CLIPS}|evenly)")
EPSILON = 1e-5  # of a norm
Sign = Callable[[], None]
OpenFile = Callable[[Path], AbstractContextManager[sources.Reader]]


def open_here(path: Path) -> AbstractContextManager[sources.Reader]:
    """Open a feature file or a folder in this process."""
    return nullcontext(sources.Reader(path))


class FeatureSet(NamedTuple):
    """Features of one kind.

    path: HDF5, .npz, .pt, or a folder.
    seconds: how long a clip is; None: as long as those of the collection.
    clips: of every video, evenly over it, whatever its duration; 0: any number, evenly over it; None: as many as its
    duration has.
    """

    path: Path
    seconds: float | None = None
    clips: int | None = None

    @classmethod
    def of(cls, words: str) -> FeatureSet:
        """Return the set that is called PATH, PATH@1.5s, PATH@100clips or PATH@evenly.

        >>> FeatureSet.of("c3d.h5@1.5s")[1:]
        (1.5, None)
        >>> FeatureSet.of("c3d.h5@evenly")[1:]
        (None, 0)
        """
        found = LENGTH.fullmatch(words)
        if not found:
            return cls(Path(words))
        if not found["number"]:
            return cls(Path(found["path"]), None, 0)
        path, number = Path(found["path"]), float(found["number"])
        if not number or (found["kind"] == "clips" and number % 1):
            raise BadOption("--clips", repr(words), "PATH, PATH@1.5s, PATH@100clips or PATH@evenly")
        return cls(path, number) if found["kind"] == "s" else cls(path, None, int(number))


def read_videos(
    durations: Mapping[str, float],
    clip_seconds: float,
    clips: Path | Sequence[FeatureSet],
    subtitles: Path | FeatureSet | None = None,
    sign: Sign = lambda: None,
    fit: str = STRICT,
    unit: bool = False,
    open_file: OpenFile = open_here,
) -> Videos:
    """Read the features of a corpus's videos; what the files hold of others is not looked at.

    The rows are in a file without a name, which is read where they are used.

    durations: of the corpus's videos, in seconds, by name. The videos keep this order.
    clips: one or more sets, each an array a video, floats of shape (clips, d). Clips of several are joined, after those
    of another length were brought to `clip_seconds` by means weighted by how long they overlap.
    subtitles: one more such set, whose lacking rows are zeros.
    sign: is called every few seconds meanwhile.
    fit, unit: see `FIT_MEANING` and `UNIT_MEANING`; `strict` allows a clip more or less.
    open_file: opens the file or folder of a set; the server does it in a confined process.
    Raises SystemsError naming the file and the first video that does not fit or has values that are not numbers.
    Raises Unavailable if there is no room for temporary files.
    """
    if not clip_seconds > 0:
        raise SystemsError(f"clip length: {clip_seconds:g} s; expected more than 0")
    if fit not in FITS:
        raise BadOption("fit", repr(fit), f"one of {', '.join(FITS)}")
    corpus = Corpus(durations, clip_seconds, fit, unit, sign)
    sets = [FeatureSet(clips)] if isinstance(clips, Path) else clips
    words = FeatureSet(subtitles) if isinstance(subtitles, Path) else subtitles
    with ExitStack() as open_files:
        opened = [
            Opened(each, corpus, open_files.enter_context(open_file(each.path)))
            for each in (*sets, *([words] if words else []))
        ]
        spools = open_files.enter_context(Spool()), open_files.enter_context(Spool())
        return _read(corpus, opened[: len(sets)], opened[-1] if words else None, *spools)


class Corpus(NamedTuple):
    """The videos whose features are read, and how; see `read_videos`."""

    durations: Mapping[str, float]
    clip_seconds: float
    fit: str
    unit: bool
    sign: Sign

    def clips(self, name: str) -> int:
        """Return how many clips a video has by its duration."""
        return int(clips_in(np.array(self.durations[name]), self.clip_seconds))


def _read(corpus: Corpus, sets: Sequence[Opened], words: Opened | None, clips: Spool, subtitles: Spool) -> Videos:
    """Return the videos, whose rows are read some thousand at a time."""
    counts = {name: min(each.covers(name) for each in sets) for name in corpus.durations}
    if corpus.fit == PAD:
        counts = {name: corpus.clips(name) for name in counts}
    elif corpus.fit == CUT:
        counts = {name: count for name, count in counts.items() if count}
        if not counts:
            raise SystemsError(f"{sets[0].path.name}: no video is in every set; expected one at least")
    types = [np.result_type(*(each.type for each in some)) for some in (sets, [words] if words else sets)]
    largest = max(sets, key=lambda each: each.total)
    sizes = np.array([max(count, largest.rows_of(name)) for name, count in counts.items()], np.int64)
    every = list(counts)
    for numbers in video_blocks(sizes, CLIPS_AT_A_TIME):
        names = every[numbers[0] : numbers[-1] + 1]
        parts = [each.read(names, counts) for each in sets]
        for place in range(len(names)):
            clips.add(np.concatenate([part[place] for part in parts], axis=1, dtype=types[0]))
        for rows in words.read(names, counts) if words else ():
            subtitles.add(rows.astype(types[1]))
    return Videos(
        names=tuple(counts),
        duration=np.array([corpus.durations[name] for name in counts], np.float64),
        offsets=np.concatenate([[0], np.cumsum(list(counts.values()))]).astype(np.int64),
        clips=clips.rows(sum(each.width for each in sets), types[0]),
        clip_seconds=corpus.clip_seconds,
        subtitles=subtitles.rows(words.width, types[1]) if words else None,
        features=tuple(each.described() for each in (*sets, *([words] if words else []))),
    )


def readable_folder(path: Path) -> Path:
    """Return the folder that a process may read to read this file or folder. Raises SystemsError if it is neither."""
    sources.check_path(path)
    if path.is_dir():
        return sources.root_of(path.resolve())
    root, target = sources.root_of(path.parent.resolve()), path.resolve()
    return root if target.is_relative_to(root) else target.parent


def lacking(reader: sources.Reader, what: str, missing: Sequence[str], of: int) -> SystemsError:
    """Return the error that names what a file lacks, and what it has instead."""
    count, some = reader.contents()
    return SystemsError(
        f"{reader.path.name}: {len(missing):,} of {of:,} {what} have no features: {named_of(missing)}; "
        f"expected one array for each of them (it holds {count:,}: {', '.join(map(repr, some))}"
        f"{', …' if count > len(some) else ''})"
    )


class Opened:
    """A set of features that is open: every video was looked at, and its rows can be read."""

    def __init__(self, named: FeatureSet, corpus: Corpus, reader: sources.Reader) -> None:
        self.path, self.named, self.corpus, self.reader = named.path, named, corpus, reader
        self.shapes: dict[str, tuple[int, int]] = {}
        sizes = set()
        names = list(corpus.durations)
        for start in range(0, len(names), NAMES_AT_A_TIME):
            some = names[start : start + NAMES_AT_A_TIME]
            for name, found in zip(some, reader.shapes(some), strict=True):
                if found is not None:
                    self.shapes[name] = found[0], found[1]
                    sizes.add(found[2])
        self.missing = [name for name in names if name not in self.shapes]
        self._check()
        self.width = next(width for _, width in self.shapes.values())
        self.type = np.dtype(np.float16 if sizes == {2} else np.float32)
        self.total = sum(rows for rows, _ in self.shapes.values())
        self.tally = Tally(self.width)

    def _check(self) -> None:
        """Raise SystemsError if the videos that are there do not fit the corpus."""
        if self.missing and (self.corpus.fit == STRICT or not self.shapes):
            raise lacking(self.reader, "videos", self.missing, len(self.corpus.durations))
        width = None
        for name, (rows, columns) in self.shapes.items():
            width = width or columns
            fault = self._misfit(name, rows)
            if columns != width:
                fault = f"{columns} features a clip; expected {width}, as in the videos before"
            if fault:
                raise SystemsError(f"{self.path.name}: video {name!r}: {fault}")

    def _misfit(self, name: str, rows: int) -> str:
        """Return what is wrong with a number of rows beside the video's duration."""
        if self.named.clips is not None:
            return (
                ""
                if rows == (self.named.clips or rows)
                else f"{rows} clips; expected {self.named.clips}, as every video has"
            )
        seconds, duration = self.named.seconds or self.corpus.clip_seconds, self.corpus.durations[name]
        right = int(clips_in(np.array(duration), seconds))
        is_near = not rows or right / FAR - SLACK <= rows <= right * FAR + SLACK
        if (self.corpus.fit != STRICT and is_near) or (abs(rows - right) <= SLACK and rows):
            return ""
        long = "too long" if rows > right else "too short"
        return f"{rows} clips of {seconds:g} s: {long} for {duration:g} s; expected {right}, or another clip length"

    def rows_of(self, name: str) -> int:
        """Return how many rows the file has of a video."""
        return self.shapes.get(name, (0, 0))[0]

    def covers(self, name: str) -> int:
        """Return how many clips of the collection have features of a video, which end where the video ends."""
        rows, right = self.rows_of(name), self.corpus.clips(name)
        if not rows or self.named.clips is not None:
            return right if rows else 0
        seconds = self.named.seconds
        if seconds is None:
            return min(rows, right)
        return min(int(clips_in(np.array(rows * seconds), self.corpus.clip_seconds)), right)

    def read(self, names: Sequence[str], counts: Mapping[str, int]) -> list[Rows]:
        """Return so many rows of each video, with zeros for those that are lacking."""
        there = [(name, self.shapes[name]) for name in names if name in self.shapes]
        found: dict[str, Rows] = {}
        if there:
            rows = self.reader.rows(there, self.type.str)
            self.tally.add(rows)
            ends = np.cumsum([shape[0] for _, shape in there])
            found = dict(zip((name for name, _ in there), np.split(rows, ends[:-1]), strict=True))
        return [self._fitted(name, found.get(name), counts[name]) for name in names]

    def _fitted(self, name: str, rows: Rows | None, count: int) -> Rows:
        """Return the rows of a video as rows of so many clips of the collection."""
        fitted = np.zeros((count, self.width), self.type)
        if rows is None or not len(rows):
            return fitted
        if self.named.seconds or self.named.clips is not None:
            duration = self.corpus.durations[name]
            seconds = self.named.seconds or duration / len(rows)
            shares = overlaps(len(rows), seconds, self.corpus.clips(name), self.corpus.clip_seconds, duration)
            rows = np.asarray(shares @ rows.astype(np.float32), np.float32)
        if self.corpus.unit:
            rows = rows.astype(np.float32)
            rows = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + EPSILON)
        fitted[: min(count, len(rows))] = rows[:count]
        return fitted

    def _files(self) -> dict[str, Path]:
        """Return the files that were read, by the names of their videos; the one file under no name."""
        if not self.path.is_dir():
            return {"": self.path}
        found = {name: sources.file_in(self.path.resolve(), name) for name in sorted(self.shapes)}
        return {name: file for name, file in found.items() if file}

    def described(self) -> Features:
        """Return what is known of the file, once it was read."""
        mean, deviation, columns = self.tally.figures()
        return Features(
            file=self.path.name,
            sha256=digest_of(self._files(), self.corpus.sign),
            videos=len(self.shapes),
            clips=self.tally.count,
            width=self.width,
            mean=mean,
            deviation=deviation,
            constant_columns=columns,
            constant_rows=self.tally.constant_rows,
            missing=tuple(self.missing),
        )
