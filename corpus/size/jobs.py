"""The kind of job that counts a corpus."""

from __future__ import annotations

from typing import Any

from corpus.models import Corpus
from corpus.size.counting import COUNT_CORPUS, count, keep
from jobs.registry import Report, kind


@kind(COUNT_CORPUS)
def count_corpus(arguments: dict[str, Any], report: Report) -> None:
    corpus = Corpus.objects.filter(pk=arguments["corpus"]).first()
    if corpus:
        keep(corpus, count(corpus, report))
