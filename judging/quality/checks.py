"""Quiet checks: making gold, when an annotator gets which check, and what follows from the result.

Annotators cannot tell a check from other batches. It holds either gold, pairs on which all annotators agreed, or a
repeat of pairs that the annotator graded some batches ago. It is judged at the same addresses, and paid like all work.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop as _

from base.database import JSONLength
from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Event, Membership, Message
from judging.models import Assignment, Batch, Candidate, Judgement, Kind, Query
from judging.models.assignment import AssignmentQuerySet
from judging.models.pool import CandidateQuerySet
from judging.models.states import CLAIMED
from judging.pool import opening
from judging.quality.check_results import ENOUGH, RecentChecks, recent_checks

MOST_PAIRS = 10  # of a check, and never more than a batch
REPEAT_AFTER = 5  # batches between a pair and its repeat
# Newest batches of an annotator that are looked at, so that a claim never costs more as they work.
REMEMBERED = 500
SOURCES_LOOKED_AT = 200  # closed queries, for gold
DRAWN_AT_ONCE = 10


def due(annotator: Membership) -> Batch | None:
    """Return the check that the annotator gets now instead of other work, or None, which is the usual case.

    The caller holds the annotator's lock.
    """
    campaign = annotator.campaign
    if not campaign.check_rate:
        return None
    done = _done(annotator).annotate(pairs=JSONLength("places"))
    columns = done.values_list("pk", "pairs", "batch__kind", "batch__query__owner", named=True)
    newest = list(columns[:REMEMBERED])
    checks = [each for each in newest if each.batch__kind == Kind.CHECK]
    judged, checked = (sum(each.pairs for each in some) for some in (newest, checks))
    draw = chance(campaign, annotator.pk, *(each.pk for each in newest[:1]))
    if checks[:1] == newest[:1] or not is_wanted(campaign.check_rate, judged, checked, draw):
        return None
    makers: list[Callable[[Membership], Batch | None]] = [_gold_for, _repeat]
    if checks and checks[0].batch__query__owner is None:  # the last one was gold
        makers.reverse()
    return makers[0](annotator) or makers[1](annotator)


def is_wanted(rate: float, judged: int, checked: int, draw: float) -> bool:
    """Return whether the next batch is a check.

    The further the share of checks among the annotator's newest batches is below the campaign's rate, the likelier a
    check is. At or above the rate there is none. So the share tends to the rate, and nobody can tell when the next
    check comes.

    Parameters
    ----------
    rate
        The share of pairs that are to be checks, from 0 to 1.
    judged, checked
        The number of pairs in the annotator's newest batches, and of those in checks.
    draw
        A random number from 0 to 1.
    """
    return rate * judged - checked > draw * MOST_PAIRS


def chance(campaign: Campaign, *about: object) -> float:
    """Return a number from 0 to 1 that depends on the arguments and on the campaign's secret seed only."""
    text = ":".join(map(str, ("check", campaign.order_seed, *about)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) / 2**56


def size(campaign: Campaign, *about: object) -> int:
    """Return the number of pairs of a check. It varies, as the size of batches in round two does."""
    return fewest(campaign) + int(chance(campaign, "size", *about) * (_most(campaign) - fewest(campaign) + 1))


def fewest(campaign: Campaign) -> int:
    return (_most(campaign) + 1) // 2


def _most(campaign: Campaign) -> int:
    return min(MOST_PAIRS, campaign.batch_size)


def copy_pairs(query: Query, pairs: Iterable[Candidate], *, truths: bool) -> Batch:
    """Copy pairs into a check and return its batch, which opens when its clips are cut.

    Each copy refers to its original. With `truths`, the original's grade is the truth of the copy.
    """
    Candidate.objects.bulk_create(
        Candidate(
            query=query,
            moment_id=pair.moment_id,
            rank=rank,
            similarity=pair.similarity,
            repeats=pair,
            truth=pair.grade if truths else None,
        )
        for rank, pair in enumerate(pairs, 1)
    )
    batch = opening.open_batch(query, 1)
    batch.refresh_from_db()
    return batch


def _done(annotator: Membership) -> AssignmentQuerySet:
    """Return the annotator's submitted assignments without those of exams, newest first."""
    assignments = annotator.assignments.submitted().exclude(batch__kind=Kind.EXAM)
    return assignments.order_by("-submitted", "-pk")


def _gold_for(annotator: Membership) -> Batch | None:
    """Return gold that the annotator has not had, with pairs new to them whose final grade has not changed."""
    had = annotator.assignments.submitted().filter(batch=OuterRef("pk"))
    pairs = Candidate.objects.filter(batch=OuterRef("pk"))
    judged = pairs.filter(repeats__judgements__annotator=annotator)
    changed = pairs.exclude(repeats__outcome=Candidate.Outcome.SETTLED, repeats__grade=F("truth"))
    of_campaign = {"campaign": annotator.campaign, "kind": Kind.CHECK, "owner": None, "withdrawn": None}
    # Asked for beforehand: in one statement PostgreSQL would look at the pairs of all repeats too.
    queries = list(Query.objects.filter(**of_campaign).values_list("pk", flat=True))
    gold = Batch.objects.filter(query__in=queries, state=Batch.State.OPEN)
    gold = gold.exclude(Exists(had)).exclude(Exists(judged)).exclude(Exists(changed))
    return min(gold, key=lambda batch: chance(annotator.campaign, annotator.pk, "gold", batch.pk), default=None)


def _repeat(annotator: Membership) -> Batch | None:
    """Return a repeat of some pairs that the annotator judged: one that was made before, or a new one."""
    had = annotator.assignments.submitted().filter(batch=OuterRef("pk"))
    waiting = Batch.objects.filter(kind=Kind.CHECK, query__owner=annotator).exclude(Exists(had)).first()
    if waiting is None:
        earlier = _repeatable(annotator)
        waiting = _repeat_of(earlier) if earlier else None
    return waiting if waiting and waiting.state == Batch.State.OPEN else None


def _repeatable(annotator: Membership) -> Assignment | None:
    ago = list(_done(annotator).values_list("pk", flat=True)[REPEAT_AFTER:REMEMBERED])
    repeated = Candidate.objects.filter(query__owner=annotator, repeats__judgements__assignment=OuterRef("pk"))
    earlier = _done(annotator).filter(batch__kind__in=CLAIMED, pk__in=ago)
    earlier = earlier.filter(batch__query__withdrawn__isnull=True).exclude(Exists(repeated))
    earlier = earlier.annotate(pairs=Count("judgements")).filter(pairs__gte=fewest(annotator.campaign))
    earlier = earlier.select_related("batch__query", "annotator__campaign")
    return min(earlier, key=lambda each: chance(annotator.campaign, "repeat", each.pk), default=None)


def _repeat_of(earlier: Assignment) -> Batch:
    campaign, source = earlier.annotator.campaign, earlier.batch.query
    pairs = Candidate.objects.filter(judgements__assignment=earlier)
    drawn = sorted(pairs, key=lambda pair: chance(campaign, earlier.pk, pair.pk))
    query = Query.objects.create(
        campaign=campaign,
        kind=Kind.CHECK,
        owner=earlier.annotator,
        query_id=f"repeat:{earlier.pk}",
        text=source.text,
        split=source.split,
    )
    return copy_pairs(query, drawn[: size(campaign, query.query_id)], truths=False)


def warn_or_pause(annotator: Membership) -> None:
    """Warn or pause an annotator who has just submitted a check, if the campaign's thresholds say so.

    A pause lasts until a lead ends it. The caller holds the annotator's lock.
    """
    campaign = annotator.campaign
    checks = recent_checks(campaign, only=annotator).get(annotator.pk, RecentChecks())
    if not checks.tells:
        return
    if checks.share >= campaign.check_pause:
        annotator.pause(None, _reason(checks, campaign.check_pause))
        Message.objects.create(to=annotator, text=PAUSE)
    elif checks.share >= campaign.check_warn and (not checks.warned or checks.since_warning >= ENOUGH):
        reason = _reason(checks, campaign.check_warn)
        Event.objects.create(member=annotator, kind=Event.Kind.WARNED, reason=reason)
        Message.objects.create(to=annotator, text=WARNING)


def _reason(checks: RecentChecks, threshold: float) -> str:
    """Return the reason for the lead. The annotator's message has no numbers."""
    share = f"{checks.recent_missed} of the last {checks.recent} check pairs were missed ({checks.share:.0%})"
    return f"{share}; the threshold is {threshold:.0%}."


WARNING = _(
    "Some of your recent grades differ from what we expected. Please read the guideline again, and take the time "
    "that you need. If something in it is unclear, tell your lead."
)
PAUSE = _(
    "Your work is paused until your lead has looked at it with you. Nothing that you did is lost, and all of it is "
    "counted. Your lead will be in touch."
)


def sources(campaign: Campaign, most: int | None = None) -> list[tuple[Query, int]]:
    """Return the closed queries that can become gold, each with its number of clear pairs, most pairs first.

    With `most`, only that many closed queries are examined.
    """
    # Annotators who sat the exam know the answers to its queries.
    examined = campaign.queries.filter(kind=Kind.EXAM).values("text")
    copies = Candidate.objects.in_campaign(campaign).filter(query__in=_gold(campaign))
    closed = campaign.queries.pool().filter(closed=True).exclude(text__in=examined)
    closed = closed.exclude(pk__in=copies.values("repeats__query")).order_by("pk")
    pks = closed.values_list("pk", flat=True)
    keys = list(pks[:most]) if most else pks.order_by()
    counts = clear_pairs(campaign).filter(query__in=keys).order_by().values_list("query").annotate(n=Count("pk"))
    numbers = dict(counts.filter(n__gte=fewest(campaign)).order_by("-n", "query"))
    queries = Query.objects.in_bulk(numbers)
    return [(queries[query], number) for query, number in numbers.items()]


def clear_pairs(campaign: Campaign) -> CandidateQuerySet:
    """Return the pairs of closed queries that settled in round one by grades that were all the same."""
    another = Judgement.objects.filter(candidate=OuterRef("pk"), seat__isnull=False)
    another = another.exclude(grade=OuterRef("grade"))
    settled = Candidate.objects.in_pool(campaign).settled().filter(escalated=False, query__closed=True)
    return settled.exclude(Exists(another))


def gold(campaign: Campaign) -> QuerySet[Any]:
    """Return the campaign's gold, newest first.

    Each query has its `batch`, its number of `pairs`, and the number of annotators who `had` it.
    """
    done = Q(batches__assignments__state=Assignment.State.SUBMITTED)
    return _gold(campaign).annotate(
        pairs=Count("candidates", distinct=True),
        batch=Min("batches"),
        had=Count("batches__assignments", filter=done, distinct=True),
    )


@all_or_nothing
def make_gold(query: Query) -> Query:
    """Make gold of some clear pairs of a closed query, and return it. If it exists already, return that.

    Raise WrongState if the query has too few clear pairs.
    """
    query = locked(Query.objects.filter(pk=query.pk)).select_related("campaign").get()
    campaign, name = query.campaign, f"gold:{query.pk}"
    if made := campaign.queries.filter(kind=Kind.CHECK, query_id=name).first():
        return made
    pairs = _spread(list(clear_pairs(campaign).filter(query=query)), campaign)
    if len(pairs) < fewest(campaign):
        raise WrongState(
            f"“{query}” has {len(pairs)} pairs on which all agreed; gold takes a closed query with at least "
            f"{fewest(campaign)}."
        )
    made = Query.objects.create(campaign=campaign, kind=Kind.CHECK, query_id=name, text=query.text, split=query.split)
    copy_pairs(made, pairs[: size(campaign, name)], truths=True)
    return made


def draw_gold(campaign: Campaign, number: int, seed: int) -> list[Query]:
    """Make gold of up to `number` more queries. The same seed draws the same queries."""

    def shuffled(source: tuple[Query, int]) -> bytes:
        return hashlib.sha256(f"{seed}:{source[0].pk}".encode()).digest()

    return [make_gold(query) for query, _ in sorted(sources(campaign), key=shuffled)[:number]]


def _spread(pairs: list[Candidate], campaign: Campaign) -> list[Candidate]:
    """Return the pairs in an order that takes one pair of each grade in turn, so that a check has many grades."""
    drawn = sorted(pairs, key=lambda pair: chance(campaign, "gold", pair.pk))
    turns: Counter[int | None] = Counter()
    order = {}
    for pair in drawn:
        order[pair.pk] = turns[pair.grade]
        turns[pair.grade] += 1
    return sorted(drawn, key=lambda pair: order[pair.pk])


def _gold(campaign: Campaign) -> QuerySet[Query]:
    return campaign.queries.filter(kind=Kind.CHECK, owner__isnull=True).order_by("-pk")
