"""Films that do not fit their corpus: missing, broken, shorter or longer than it says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from corpus.importers.interface import Source
from corpus.importers.lengths import misfits
from corpus.importers.registry import importer_of
from corpus.importers.rows import Row
from jobs.registry import Report

NAMED = 5  # of the videos without a film


def faults_of_films(source: Source, report: Report) -> Iterator[str]:
    """Yield what is wrong with the films of a source whose moments are right. Without films nothing is."""
    if source.media is None:
        return
    lengths = _lengths(source)
    missing = [video for video in lengths if not source.media.place(video)]
    if missing:
        yield f"Videos without a film, whose clips will be missing: {len(missing):,} ({_some(missing)})."
    if spare := sorted(source.media.index.keys() - set(map(source.media.name_of, lengths))):
        yield f"Films with the name of no video: {len(spare):,} ({_some(spare)})."
    told = {video: length for video, length in lengths.items() if length and source.media.place(video)}
    looked = partial(_tell, report, len(told))
    yield from map(str, misfits(told, source.media, looked))


def _tell(report: Report, films: int, number: int) -> None:
    report(number, films, f"looking at films: {number:,} of {films:,}")


def _lengths(source: Source) -> dict[str, float | None]:
    """Return the seconds of each video as the files tell them; None where only the film does."""
    known, read = source.durations or {}, importer_of(source).read
    rows = (row for file in source.files for row in read(file, source.choice) if isinstance(row, Row))
    return {row.video: known.get(row.video, row.duration) for row in rows}


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
