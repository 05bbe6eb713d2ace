"""The kinds of job of drafts: what a draft asks for, from the check to the campaign."""

from collections.abc import Callable
from typing import Any

from base.errors import ReeljudgeError
from campaigns.models import Draft
from corpus.errors import CorpusError
from jobs.errors import JobError
from jobs.registry import Report, kind
from judging.drafts import builder, corpora, draws
from judging.drafts.corpora import CHECK, DRAW, MAKE, STORE


@kind(CHECK)
def check_draft(arguments: dict[str, Any], report: Report) -> None:
    _carry_out(builder.check, arguments, report)


@kind(MAKE)
def make_campaign(arguments: dict[str, Any], report: Report) -> None:
    _carry_out(builder.make, arguments, report)


@kind(STORE)
def store_corpus(arguments: dict[str, Any], report: Report) -> None:
    _carry_out(corpora.store_corpus, arguments, report)


@kind(DRAW)
def draw_queries(arguments: dict[str, Any], report: Report) -> None:
    _carry_out(draws.draw, arguments, report)


def _carry_out(work: Callable[[Draft, Report], None], arguments: dict[str, Any], report: Report) -> None:
    draft = Draft.objects.filter(pk=arguments["draft"]).first()
    if draft is None:
        return  # It was removed.
    try:
        work(draft, report)
    except (CorpusError, ReeljudgeError) as fault:
        raise JobError(str(fault)) from fault
