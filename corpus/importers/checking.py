"""Checking the rows of a source against each other and against what is known of their videos."""

from __future__ import annotations

from array import array
from collections import ChainMap
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpus.errors import CorpusError, Problem, Reason, Unavailable, Unusable
from corpus.importers.interface import OVERHANG, Importer, Report, Source, problem
from corpus.importers.rows import MomentRow
from corpus.reading import moments_in

FIRST = 5  # moments that a report shows
SIGN_EVERY = 2000  # rows


class Fingerprints:
    """For each row a number of 64 bits that stands for its times in its video, and others that stand for its texts."""

    def __init__(self) -> None:
        self.stretches, self.moments, self.captions = array("q"), array("q"), array("q")

    def add(self, video: str, start: float, end: float, description: str, caption: str | None) -> None:
        stretch = f"{video}\0{start!r}\0{end!r}"
        self.stretches.append(hash(stretch))
        self.moments.append(hash(f"{stretch}\0{description}"))
        self.captions.append(0 if caption is None else hash(caption) or 1)

    def last(self, count: int) -> NDArray[np.int64]:
        """Return the fingerprints of the last moments."""
        return np.array(self.moments[-count:], dtype=np.int64)


class Checker:
    """Reads a source once. `rows` yields what is right in it; the report counts, and tells what is wrong.

    stored: the durations of the corpus's videos, in seconds, by their names. `lengths` has those of new videos.
    measured: returns the length of a video's film, or None if there is no film.
    sign: is called with the number of rows from time to time.
    faulty: is called with each problem; the report lists the first of them.
    """

    def __init__(
        self,
        source: Source,
        importer: Importer,
        stored: MutableMapping[str, float],
        measured: Callable[[str], float | None] = lambda video: None,
        sign: Callable[[int], None] = lambda rows: None,
        faulty: Callable[[Problem], None] = lambda problem: None,
    ) -> None:
        self.source, self.importer, self.stored = source, importer, stored
        self.measured, self.sign = measured, sign
        self.lengths: dict[str, float] = {}
        self.report, self.prints = Report(lengths=ChainMap(self.lengths, stored), faulty=faulty), Fingerprints()
        self.videos: set[str] = set()
        self._measured: dict[str, float | None] = {}
        self._unknown: set[str] = set()  # videos without a duration

    def rows(self) -> Iterator[MomentRow]:
        """Yield the rows that are right, with durations, their ends cut off where their videos end."""
        for file in self.source.files:
            yield from self._rows_of(file)
        self.report.videos = len(self.videos)
        self.report.without_duration = len(self._unknown)
        self.videos.clear()  # they take much memory, which comparing needs
        self._measured.clear()
        if not (self.report.rows or self.report.wrong):
            wanted = f" of type {self.source.kind}" if self.source.kind else ""
            if left_out := self.report.left_out:
                reasons = ", ".join(f"because {reason}: {number:,}" for reason, number in left_out.items())
                wanted += f" that can be used; left out, {reasons}"
            self.report.add_problem(Problem(file, "", f"{file}: holds no moments{wanted}"))

    def _rows_of(self, file: Path) -> Iterator[MomentRow]:
        try:
            for row in moments_in(file, self.source, lambda: self.sign(self.report.rows)):
                if isinstance(row, Problem):
                    self._refuse(row)
                elif checked := self._checked(file, row):
                    self._count(checked)
                    yield checked
        except CorpusError as fault:  # of the file as a whole, which is read no further
            message = str(fault)
            named = message if message.startswith(f"{file}: ") else f"{file}: {message}"
            self.report.add_problem(Problem(file, "", named))

    def _checked(self, file: Path, row: MomentRow) -> MomentRow | None:
        try:
            return self._timed(row)
        except Unavailable:  # the film may be there later
            raise
        except CorpusError as fault:
            self._refuse(problem(file, row.where, fault), row.video)
        return None

    def _refuse(self, fault: Problem, video: str = "") -> None:
        """Count what can be left out; anything else is a problem. A video without a length is one problem."""
        is_new = video not in self._unknown
        if fault.reason is Reason.NO_DURATION:
            self._unknown.add(video)
        if self.source.leaves_out_unusable or fault.reason in self.importer.leaves_out:
            self.report.left_out[fault.reason] += 1
        elif is_new:
            self.report.add_problem(fault)

    def _timed(self, row: MomentRow) -> MomentRow | None:
        known, (times, start, end) = self._length(row), self.importer.times
        if row.start < 0:
            right = "expected a start of at least 0 seconds"
            raise Unusable(f"field {start}: {row.start:g}; {right}", Reason.EARLY)
        if row.start >= row.end:
            reason = Reason.EMPTY if row.start == row.end else Reason.REVERSED
            wrong = f"start {row.start:g} is not before end {row.end:g}"
            raise Unusable(f"field {times}: {wrong}; expected start < end", reason)
        if row.end > known + self.importer.overhang and not self.source.leaves_out_unusable:
            raise CorpusError(f"field {end}: {row.end:g}; expected at most the video's {known:g} seconds")
        if row.start >= known:
            right = f"expected less than the video's {known:g} seconds"
            raise Unusable(f"field {start}: {row.start:g}; {right}", Reason.LATE)
        self.report.clipped += row.end > known
        # Sums with 0.0 are never integers and never -0.0, so that equal times have equal fingerprints.
        return row._replace(start=row.start + 0.0, end=min(row.end, known) + 0.0, duration=known)

    def _length(self, row: MomentRow) -> float:
        """Return the length of the row's video, which a file of durations, the row or the film tells."""
        length = self.importer.exact_length(self.source, row)
        if length is None:
            length = self._elsewhere(row.video) or row.duration
        if length is None:
            right = "seconds here, the video in a file of durations, or its film"
            raise Unusable(f"field duration: missing; expected {right}", Reason.NO_DURATION)
        if length <= 0:
            raise Unusable(f"field duration: {length:g}; expected more than 0 seconds", Reason.NO_DURATION)
        known = self.stored.get(row.video) or self.lengths.setdefault(row.video, length)
        if abs(known - length) > OVERHANG:
            wrong = f"field duration: {length:g}; so far video {row.video} had {known:g} seconds"
            raise Unusable(wrong, Reason.OTHER_DURATION)
        return known

    def _elsewhere(self, video: str) -> float | None:
        """Return the length that the corpus or the film tells."""
        if video in self.stored:
            return self.stored[video]
        if video not in self._measured:
            self.sign(self.report.rows)  # looking at a film takes longer than reading its rows
            self._measured[video] = self.measured(video)
        return self._measured[video]

    def _count(self, row: MomentRow) -> None:
        report = self.report
        report.rows += 1
        self.videos.add(row.video)
        self.prints.add(row.video, row.start, row.end, row.description, row.caption)
        if len(report.first) < FIRST:
            report.first.append(row)
        if report.rows % SIGN_EVERY == 0:
            self.sign(report.rows)
