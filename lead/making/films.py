"""Films that do not fit their corpus: missing, broken, shorter or longer than it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corpus.clips import cutter
from corpus.cutter import Cutter
from corpus.errors import CorpusError, FilmAway, Unavailable
from corpus.importers.interface import Source
from corpus.importers.registry import importer_of
from corpus.importers.rows import Row
from corpus.media import MediaFolder
from jobs.errors import JobLeft, JobPostponed
from jobs.registry import Report

NAMED = 5  # of the videos without a film
SHORTER, LONGER = 1.0, 3.0  # seconds by which a film may differ from its video


def faults_of_films(source: Source, report: Report) -> Iterator[str]:
    """Yield what is wrong with the films of a source whose moments are right. Without films nothing is."""
    if source.media is None:
        return
    lengths = _lengths(source)
    there = [video for video in lengths if video in source.media.index]
    missing = [video for video in lengths if video not in source.media.index]
    if missing:
        yield f"Videos without a film, whose clips will be missing: {len(missing):,} ({_some(missing)})."
    if spare := sorted(source.media.index.keys() - lengths.keys()):
        yield f"Films with the name of no video: {len(spare):,} ({_some(spare)})."
    if source.media.frame_rate is None:
        yield from _compared(source.media, {video: lengths[video] for video in there}, report)


def _lengths(source: Source) -> dict[str, float | None]:
    """Return the seconds of each video as the files tell them; None where only the film does."""
    known, read = source.durations or {}, importer_of(source).read
    rows = (row for file in source.files for row in read(file, source.choice) if isinstance(row, Row))
    return {row.video: known.get(row.video, row.duration) for row in rows}


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _compared(media: MediaFolder, lengths: dict[str, float | None], report: Report) -> Iterator[str]:
    with cutter() as tool:
        for number, (video, wanted) in enumerate(lengths.items()):
            report(number, len(lengths), f"looking at the film of {video}")
            try:
                lasts = _length(tool, media.folder / media.index[video])
            except CorpusError as fault:
                yield f"{video}: its film cannot be used ({str(fault).partition(': ')[2] or fault})."
                continue
            if wanted is None or -SHORTER <= lasts - wanted <= LONGER:
                continue
            than = "shorter" if lasts < wanted else "longer"
            yield f"{video}: its film lasts {lasts:g} s, {than} than the {wanted:g} s of the corpus."


def _length(tool: Cutter, film: Path) -> float:
    try:
        return tool.length(film)
    except FilmAway as fault:
        raise JobLeft(str(fault)) from fault
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault
