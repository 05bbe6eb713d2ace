"""Storing the corpus of a draft: with its campaign, or before it, so that its descriptions can be reworded first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from base.errors import ReeljudgeError
from base.transactions import locked
from campaigns.models import Draft, Upload
from campaigns.uploads import remove
from corpus.errors import CorpusError
from corpus.importers.load import reveal, staged
from corpus.models import Corpus
from jobs.registry import Report, kind
from judging.drafts.sources import must_be_here, partial_films, source_of


@kind(
    "store-corpus", "Store a corpus", of=Draft, person="owner", page=("draft-queries", "token"), refusals=(CorpusError,)
)
def store_corpus(draft: Draft, report: Report) -> None:
    """Store a draft's new corpus, which is the draft's corpus then. Doing it twice is harmless.

    Raises
    ------
    CorpusError, ReeljudgeError
        If something is wrong. Nothing is stored then.
    """
    must_be_here(draft)
    draft.refresh_from_db()
    if not draft.is_new_corpus:
        return
    if partial := partial_films(draft):
        raise ReeljudgeError("\n".join(partial))
    with corpus_of(draft, report) as corpus, transaction.atomic():
        draft = locked(Draft.objects.filter(pk=draft.pk)).get()
        reveal(corpus, draft.corpus_name)
        draft.change(corpus=corpus)
        for upload in draft.uploads.filter(purpose__in=[Upload.Purpose.MOMENTS, Upload.Purpose.DURATIONS]):
            remove(upload)


@contextmanager
def corpus_of(draft: Draft, report: Report) -> Iterator[Corpus]:
    """Give the draft's corpus. A new one is stored, but not revealed, and deleted unless the caller reveals it."""
    if draft.corpus:
        yield draft.corpus
        return
    if not draft.corpus_name:
        raise ReeljudgeError("The corpus: has no name; expected one, in the first step")
    if Corpus.objects.filter(name=draft.corpus_name).exists():
        raise ReeljudgeError(f"The corpus {draft.corpus_name} exists already; choose it, or another name")

    def sign(rows: int) -> None:
        report(0, 0, f"storing the corpus: {rows:,} moments so far")

    sign(0)
    with staged(draft.token, source_of(draft), sign) as corpus:
        yield corpus
