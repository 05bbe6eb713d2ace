"""Checking the rows of a corpus file against each other, and storing all of them or none."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from django.db import transaction

from base.text import abbreviated, storable
from corpus.errors import BadLines, CorpusError
from corpus.importers import FORMATS
from corpus.importers.rows import Row
from corpus.media import MediaFolder
from corpus.models import Corpus, Moment, Video

CHUNK = 2000  # rows in memory at a time
OVERHANG = 1.0  # seconds; a moment that ends at most so much after its video is cut off there


@dataclass
class Report:
    """What an import found and did."""

    rows: int = 0
    videos_added: int = 0
    moments_added: int = 0
    clipped: int = 0
    with_media: int = 0
    videos: int = 0


@dataclass(frozen=True)
class Source:
    """What to import: a file and its format, and where durations and media are."""

    file: Path
    format: str
    kind: str = ""
    durations: dict[str, float] | None = None
    media: MediaFolder | None = None


@transaction.atomic
def load(name: str, source: Source) -> Report:
    """Import a corpus file, all or nothing. Importing it again adds nothing.

    Raises
    ------
    BadLines
        If lines are wrong; it names up to 20 of them and their fields. Nothing is stored then.
    CorpusError
        If the file holds no moments, or the corpus has another format.
    """
    corpus = _corpus(name, source)
    loader = _Loader(corpus, source)
    rows = loader.checked(FORMATS[source.format](source.file, source.kind))
    while chunk := list(islice(rows, CHUNK)):
        if not loader.problems:
            loader.store(chunk)
    loader.stop_if_bad()
    if not loader.report.rows:
        wanted = f" of type {source.kind}" if source.kind else ""
        raise CorpusError(f"{source.file}: holds no moments{wanted}; nothing was imported")
    return loader.totals()


def _corpus(name: str, source: Source) -> Corpus:
    if not 0 < len(name.strip()) <= 100 or not storable(name):
        raise CorpusError(f"name: {abbreviated(name)}; expected 1 to 100 characters")
    corpus, _ = Corpus.objects.get_or_create(name=name, defaults={"format": source.format})
    if corpus.format != source.format:
        raise CorpusError(
            f"corpus {name} was imported as {corpus.format}; choose another name for {source.format}"
        )
    if source.media:
        corpus.media_folder, corpus.frame_rate = str(source.media.folder), source.media.frame_rate
        corpus.save()
    return corpus


class _Loader:
    def __init__(self, corpus: Corpus, source: Source) -> None:
        self.corpus, self.source = corpus, source
        self.report = Report()
        self.problems: list[str] = []
        self.videos = {video.name: video for video in corpus.videos.all()}
        self.lengths = {name: video.duration for name, video in self.videos.items()}
        self.moments_before = Moment.objects.filter(video__corpus=corpus).count()

    def checked(self, rows: Iterable[Row | CorpusError]) -> Iterator[Row]:
        """Yield the good rows, and collect the problems of the others. At 20 problems the import ends."""
        for row in rows:
            try:
                if isinstance(row, CorpusError):
                    raise row
                yield self._timed(row)
                self.report.rows += 1
            except CorpusError as fault:
                self.problems.append(str(fault))
                if len(self.problems) == BadLines.MOST_PROBLEMS:
                    self.stop_if_bad(more=True)

    def stop_if_bad(self, more: bool = False) -> None:
        if self.problems:
            raise BadLines(str(self.source.file), self.problems, more)

    def _timed(self, row: Row) -> Row:
        """Return the row with a known duration and times within the video. A small overhang is cut off."""
        duration = (self.source.durations or {}).get(row.video, row.duration)
        where = f"line {row.line}: field"
        if duration is None:
            raise CorpusError(
                f"{where} duration: missing; expected seconds here, or the video in --durations"
            )
        if duration <= 0:
            raise CorpusError(f"{where} duration: {duration:g}; expected more than 0 seconds")
        known = self.lengths.setdefault(row.video, duration)
        if abs(known - duration) > OVERHANG:
            raise CorpusError(
                f"{where} duration: {duration:g}; so far video {row.video} had {known:g} seconds"
            )
        if row.start < 0:
            raise CorpusError(f"{where} ts[0]: {row.start:g}; expected a start of at least 0 seconds")
        if row.end > known + OVERHANG:
            raise CorpusError(f"{where} ts[1]: {row.end:g}; expected at most the video's {known:g} seconds")
        if row.end > known:
            self.report.clipped += 1
        end = min(row.end, known)
        if row.start >= end:
            raise CorpusError(
                f"{where} ts: start {row.start:g} is not before end {end:g}; expected start < end"
            )
        return replace(row, end=end, duration=known)

    def store(self, rows: list[Row]) -> None:
        self._store_videos(rows)
        Moment.objects.bulk_create(
            [
                Moment(
                    video=self.videos[row.video],
                    start=row.start,
                    end=row.end,
                    description=row.description,
                    caption=row.caption,
                )
                for row in rows
            ],
            ignore_conflicts=True,
        )

    def _store_videos(self, rows: list[Row]) -> None:
        fresh = {
            row.video: Video(corpus=self.corpus, name=row.video, duration=self.lengths[row.video])
            for row in rows
            if row.video not in self.videos
        }
        Video.objects.bulk_create(fresh.values())
        self.videos.update(fresh)
        self.report.videos_added += len(fresh)

    def totals(self) -> Report:
        report = self.report
        report.moments_added = Moment.objects.filter(video__corpus=self.corpus).count() - self.moments_before
        report.videos = len(self.videos)
        if self.source.media:
            report.with_media = self.source.media.attach(self.videos.values())
        return report
