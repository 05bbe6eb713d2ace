"""The kinds of job that a search waits for: writing an index, and encoding a query that no web process can encode."""

from collections.abc import Callable
from typing import Any

from corpus.errors import CorpusError, Unavailable
from corpus.models import Corpus
from jobs.errors import JobError, JobPostponed
from jobs.registry import Report, kind
from retrieval.embedding import embed
from retrieval.search.index import INDEX, build
from retrieval.search.searching import ENCODE


@kind(INDEX)
def index_captions(arguments: dict[str, Any], report: Report) -> None:
    _told(lambda: build(Corpus.objects.get(pk=arguments["corpus"]), report))


@kind(ENCODE)
def encode_a_query(arguments: dict[str, Any], report: Report) -> None:
    _told(lambda: embed([arguments["text"]]))


def _told(work: Callable[[], object]) -> None:
    """Do the work, and tell the job which of its errors pass by themselves."""
    try:
        work()
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault
    except CorpusError as fault:
        raise JobError(str(fault)) from fault
