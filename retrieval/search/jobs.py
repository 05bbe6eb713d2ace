"""The kinds of job that a search waits for: writing an index, and encoding a query that no web process can encode."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from corpus.errors import CorpusError, Unavailable
from corpus.models import Corpus
from jobs.errors import JobError
from jobs.registry import Report, kind
from jobs.upkeep import each_hour
from retrieval.embedding import embed
from retrieval.encoders import model_key
from retrieval.models import SearchIndex
from retrieval.search.index import INDEX, build, holds_every_caption, lacks_approximate
from retrieval.search.searching import ENCODE, job_of_index


@kind(INDEX)
def index_captions(arguments: dict[str, Any], report: Report) -> None:
    _told(lambda: build(Corpus.objects.get(pk=arguments["corpus"]), report))


@kind(ENCODE)
def encode_a_query(arguments: dict[str, Any], report: Report) -> None:
    _told(lambda: embed([arguments["text"]]))


@each_hour
def ask_for_indexes_that_are_out_of_date() -> None:
    """Find the changed captions that no search has come upon, and large corpora on machines that have got faiss."""
    for index in SearchIndex.objects.filter(model=model_key()).select_related("corpus"):
        with suppress(Unavailable):  # a search says so
            if lacks_approximate(index) or not holds_every_caption(index):
                job_of_index(index.corpus)


def _told(work: Callable[[], object]) -> None:
    """Do the work, and tell the job which of its errors pass by themselves."""
    try:
        work()
    except Unavailable:
        raise
    except CorpusError as fault:
        raise JobError(str(fault)) from fault
