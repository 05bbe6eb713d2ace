"""Storing all moments of a source, or none; finding out beforehand what would be stored; and storing part by part.

A transaction around all of a large corpus would keep everybody else from writing to SQLite until it ends, and nothing
could renew the lease of a job meanwhile. So a new corpus can be stored where nobody sees it until it is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice

from django.db import transaction
from django.db.models import Model, QuerySet

from base.text import abbreviated, storable
from corpus.errors import BadLines, CorpusError, Problem
from corpus.importers.checking import Checker
from corpus.importers.comparison import Stored, compare, replace
from corpus.importers.formats import importer_of
from corpus.importers.interface import Report, Source
from corpus.importers.lengths import Measured, film_lengths, lengths_in
from corpus.importers.rows import MomentRow
from corpus.models import Corpus, Moment, Video

__all__ = ["Report", "Source", "load", "preview"]

CHUNK = 2000  # rows in memory at a time
Heartbeat = Callable[[int], None]
UNFINISHED = "unfinished "  # with the key, the name of a corpus that is not whole
AT_A_TIME = 2000  # rows in one transaction


def preview(source: Source, name: str = "", sign: Heartbeat = lambda rows: None) -> Report:
    """Read and check all of a source, and compare it with what is stored, without storing anything.

    source: the files, their format, and what a person chose beside them.
    name: the corpus into which they would go. Without a name, or if there is none of that name, every moment is new.
    sign: is called with the number of rows read so far, every 2,000 rows.
    The report's `is_fine` says whether `load` would store it. `problems` holds the first 100 problems (each with its
    `file`, `where` in it, and `message`; `str` makes a line of them), `wrong` how many there are, and `hints` what
    helps. `rows`, `videos`, `new`, `changed`, `unchanged`, `gone`, `repeated`, `clipped` and `left_out` are counts, and
    `first` holds the first moments. Nothing that is wrong with the source raises an error.
    """
    try:
        corpus = _checked(name, source) if name else None
        with lengths_in(source.media, lambda: sign(checker.report.rows)) as length:
            checker = Checker(source, importer_of(source), _lengths(corpus), length, sign)
            for _ in checker.rows():
                pass
    except CorpusError as fault:
        report = Report()
        report.add_problem(Problem(source.file, "", str(fault)))
        return report
    compare(Stored(corpus), checker.prints, checker.report)
    return checker.report


def load(name: str, source: Source, replacing: bool = False) -> Report:
    """Import a source into the corpus of that name, all or nothing. Importing it again adds nothing.

    Nothing that is stored is changed or removed, unless `replacing` is asked for: then a changed description takes the
    place of the stored one, and a changed caption too, except of moments that something refers to, such as candidates.
    Films are measured before the transaction begins, because that can take hours. Raises BadLines if anything in the
    files is wrong; it names the first 100 problems. Nothing is stored then. Raises CorpusError if the corpus has
    another format, or the source chooses what its format does not have.
    """
    known = _lengths(_checked(name, source))
    return _load(name, source, film_lengths(source, known), replacing)


@transaction.atomic
def _load(name: str, source: Source, measured: Measured, replacing: bool) -> Report:
    corpus = _checked(name, source)
    stored = Stored(corpus)
    before = len(stored.keys)
    corpus = _kept(corpus or Corpus(name=name, format=source.format), source)
    checker = Checker(source, importer_of(source), _lengths(corpus), measured)
    report = _fill(corpus, checker, stored)
    changed = compare(stored, checker.prints, report)
    report.moments_added = Moment.objects.filter(video__corpus=corpus).count() - before
    if replacing:
        report.replaced = replace(changed, checker)
    if report.moments_added or report.replaced:
        corpus.count_change()
    if source.media:
        report.with_media = source.media.attach(corpus.videos.all())
    return report


def fill(corpus: Corpus, source: Source, sign: Heartbeat = lambda rows: None) -> Report:
    """Store a source in a corpus that holds nothing and that nobody sees yet, some thousand rows in a transaction.
    Raises BadLines and CorpusError as `load` does. What was stored until then stays.
    """
    importer = importer_of(source)
    _kept(corpus, source)
    with lengths_in(source.media, lambda: sign(checker.report.rows)) as length:
        checker = Checker(source, importer, {}, length, sign)
        report = _fill(corpus, checker, Stored(corpus))
    if source.media:
        report.with_media = source.media.attach(corpus.videos.all(), lambda: sign(report.rows))
    return report


def _fill(corpus: Corpus, checker: Checker, stored: Stored) -> Report:
    _store(corpus, checker, stored)
    report, source = checker.report, checker.source
    if not report.is_fine:
        raise BadLines(source.files, report.problems, report.wrong, report.hints)
    return report


def _checked(name: str, source: Source) -> Corpus | None:
    if not 0 < len(name.strip()) <= 100 or not storable(name):
        raise CorpusError(f"name: {abbreviated(name)}; expected 1 to 100 characters")
    corpus = Corpus.objects.filter(name=name).first()
    if corpus and corpus.format != source.format:
        raise CorpusError(f"corpus {name} was imported as {corpus.format}; choose another name for {source.format}")
    return corpus


def _kept(corpus: Corpus, source: Source) -> Corpus:
    if source.media:
        corpus.media_folder, corpus.frame_rate = source.media.folder, source.media.frame_rate
    corpus.figures = None
    corpus.save()
    return corpus


def _lengths(corpus: Corpus | None) -> dict[str, float]:
    return dict(corpus.videos.values_list("name", "duration")) if corpus and corpus.pk else {}


def _store(corpus: Corpus, checker: Checker, stored: Stored) -> None:
    """Store the checked rows in parts, until something is wrong; the rest is only checked then."""
    keys: dict[str, int] = {}  # of the videos, read when something is new: they take much memory
    rows = checker.rows()
    while chunk := list(islice(rows, CHUNK)):
        if not checker.report.wrong:
            is_there = stored.holds(checker.prints.last(len(chunk)))
            fresh = [row for row, there in zip(chunk, is_there, strict=True) if not there]
            if not fresh:
                continue
            keys = keys or dict(corpus.videos.values_list("name", "pk"))
            checker.report.videos_added += _store_videos(corpus, fresh, keys, checker.lengths)
            Moment.objects.bulk_create(_moments(fresh, keys), ignore_conflicts=True)


def _store_videos(corpus: Corpus, rows: list[MomentRow], keys: dict[str, int], lengths: dict[str, float]) -> int:
    fresh = {
        row.video: Video(corpus=corpus, name=row.video, duration=lengths[row.video])
        for row in rows
        if row.video not in keys
    }
    for video in Video.objects.bulk_create(fresh.values()):
        keys[video.name] = video.pk
    return len(fresh)


def _moments(rows: list[MomentRow], keys: dict[str, int]) -> Iterator[Moment]:
    for row in rows:
        yield Moment(
            video_id=keys[row.video],
            start=row.start,
            end=row.end,
            description=row.description,
            caption=row.caption or row.description,
        )


@contextmanager
def staged(key: str, source: Source, sign: Heartbeat) -> Iterator[Corpus]:
    """Store a source as a corpus that nobody sees, and delete it again unless it was revealed inside.

    What another attempt with this key has left is deleted first. Raises BadLines if anything in the files is wrong; it
    names the first 100 problems. Nothing is stored then. Raises CorpusError if the source chooses what its format does
    not have.
    """
    for left in Corpus.everything.filter(name=f"{UNFINISHED}{key}", is_whole=False):
        forget(left, sign)
    corpus = Corpus(name=f"{UNFINISHED}{key}", format=source.format, is_whole=False)
    try:
        fill(corpus, source, sign)
        yield corpus
    finally:
        if corpus.pk and Corpus.everything.filter(pk=corpus.pk, is_whole=False).exists():
            forget(corpus, sign)


def reveal(corpus: Corpus, name: str) -> None:
    """Give a staged corpus its name, which makes it visible. Raises CorpusError if the name is taken."""
    if Corpus.objects.filter(name=name).exists():
        raise CorpusError(f"The corpus {name} exists already; choose it, or another name")
    corpus.name, corpus.is_whole = name, True
    corpus.save(update_fields=["name", "is_whole"])


def unfinished() -> Iterator[tuple[str, Corpus]]:
    """Yield the staged corpora with their keys."""
    for corpus in Corpus.everything.filter(is_whole=False):
        yield corpus.name.removeprefix(UNFINISHED), corpus


def forget(corpus: Corpus, sign: Heartbeat = lambda rows: None) -> None:
    """Delete a staged corpus, part by part. `sign` is called with 0 after each part."""
    _delete(Moment.objects.filter(video__corpus=corpus), sign)
    _delete(Video.objects.filter(corpus=corpus), sign)
    Corpus.everything.filter(pk=corpus.pk, is_whole=False).delete()


def _delete(rows: QuerySet[Moment] | QuerySet[Video], sign: Heartbeat) -> None:
    kind: type[Model] = rows.model
    while keys := list(rows.order_by().values_list("pk", flat=True)[:AT_A_TIME]):
        kind._default_manager.filter(pk__in=keys).delete()
        sign(0)
