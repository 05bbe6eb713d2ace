"""Storing a new corpus part by part, where nobody sees it until it is whole.

A transaction around all of a large corpus would keep everybody else from writing to SQLite until it ends, and nothing
could renew the lease of a job meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.models import Model, QuerySet

from corpus.errors import CorpusError
from corpus.importers.interface import Source
from corpus.importers.load import Sign, fill
from corpus.models import Corpus, Moment, Video

UNFINISHED = "unfinished "  # with the key, the name of a corpus that is not whole
AT_A_TIME = 2000  # rows in one transaction


@contextmanager
def staged(key: str, source: Source, sign: Sign) -> Iterator[Corpus]:
    """Store a source as a corpus that nobody sees, and delete it again unless it was revealed inside.

    What another attempt with this key has left is deleted first.

    Raises
    ------
    BadLines
        If anything in the files is wrong; it names the first 100 problems. Nothing is stored then.
    CorpusError
        If the source chooses what its format does not have.
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
    """Give a staged corpus its name, with which everybody sees it.

    Raises
    ------
    CorpusError
        If there is a corpus of this name.
    """
    if Corpus.objects.filter(name=name).exists():
        raise CorpusError(f"The corpus {name} exists already; choose it, or another name")
    corpus.name, corpus.is_whole = name, True
    corpus.save(update_fields=["name", "is_whole"])


def unfinished() -> Iterator[tuple[str, Corpus]]:
    """Yield the staged corpora with their keys."""
    for corpus in Corpus.everything.filter(is_whole=False):
        yield corpus.name.removeprefix(UNFINISHED), corpus


def forget(corpus: Corpus, sign: Sign = lambda rows: None) -> None:
    """Delete a staged corpus, part by part. `sign` is called with 0 after each part."""
    _delete(Moment.objects.filter(video__corpus=corpus), sign)
    _delete(Video.objects.filter(corpus=corpus), sign)
    Corpus.everything.filter(pk=corpus.pk, is_whole=False).delete()


def _delete(rows: QuerySet[Moment] | QuerySet[Video], sign: Sign) -> None:
    kind: type[Model] = rows.model
    while keys := list(rows.order_by().values_list("pk", flat=True)[:AT_A_TIME]):
        kind._default_manager.filter(pk__in=keys).delete()
        sign(0)
