"""Queries that are drawn from the captions of a draft's corpus, and how they are shown before they are stored."""

from __future__ import annotations

from typing import Any

from base.errors import ReeljudgeError
from campaigns.models import Draft
from corpus.errors import CorpusError
from corpus.models import Corpus
from jobs.registry import Report, kind
from judging.pool.selection import Counts, Selection, select
from retrieval.models import Rewording

EXAMPLES = 10  # of each split
MOST_STRATA = 50  # that are shown


def selection_of(draft: Draft) -> Selection | None:
    """Draw what the draft asks for; return None if it asks for nothing.

    Raises
    ------
    BadValue
        If so many cannot be drawn.
    ReeljudgeError
        If the corpus is not stored yet.
    """
    if not (wanted := draft.selection):
        return None
    if draft.corpus is None:
        raise ReeljudgeError("can be drawn once the corpus is stored; store it in the step Queries, or draw no queries")
    return select(draft.corpus, Counts(wanted["validation"], wanted["test"]), wanted["seed"], wanted["strata"])


def summary_of(found: Selection) -> dict[str, Any]:
    """Return what a draft keeps of a selection: its record, the numbers of each stratum, and the first queries."""
    strata = [[*each, each.training] for each in found.strata]
    return {
        "record": found.record,
        "training": found.training,
        "strata": strata[:MOST_STRATA] if found.by else [],
        "more_strata": max(0, len(strata) - MOST_STRATA),
        "validation": found.validation[:EXAMPLES],
        "test": found.test[:EXAMPLES],
    }


def captions_of(corpus: Corpus) -> dict[str, Any]:
    """Return how far the corpus is reworded: whether that has begun, and how many descriptions are settled or wait."""
    rows = Rewording.objects.filter(corpus=corpus)
    return {"begun": rows.exists(), "settled": rows.settled().count(), "queued": rows.queued().count()}


@kind("draw-queries", "Draw queries", of=Draft, person="owner", page=("draft-queries", "token"))
def draw_queries(draft: Draft, report: Report) -> None:
    """Draw, and store with the draft what was drawn and of what, or why it cannot be drawn."""
    report(0, 0, "drawing queries")
    try:
        found = selection_of(draft)
        drawn_now = summary_of(found) if found else {}
    except (CorpusError, ReeljudgeError) as fault:
        drawn_now = {"fault": str(fault)}
    Draft.objects.filter(pk=draft.pk).update(drawn=drawn_now | {"of": _wanted(draft)})


def drawn(draft: Draft) -> dict[str, Any]:
    """Return what was drawn, unless the draft asks for something else by now."""
    return draft.drawn if draft.selection and draft.drawn.get("of") == _wanted(draft) else {}


def _wanted(draft: Draft) -> list[Any]:
    return [draft.corpus_id, draft.selection]
