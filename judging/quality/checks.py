"""Attention checks: what stands in the hidden places of a batch, and what follows from the results.

A hidden place holds a distractor, whose right grade is 0, or a copy of a pair of the same query. For somebody who never
judged the pair, and on which others agreed, the copy is gold; for who judged it, a repeat; else it only fills the batch
to the size that all batches have. Annotators cannot tell hidden places from others. They are paid alike, and count for
no consensus.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop as _

from base.text import percent
from campaigns.models import Campaign, Event, Membership, Message
from corpus.models import Clip
from judging.models import Assignment, Batch, Candidate, Flag, Judgement, Kind, Query
from judging.quality.check_results import ENOUGH, RecentChecks, recent_checks


def hidden(annotator: Membership, parts: Mapping[Batch, Sequence[Candidate]]) -> dict[Batch, list[Candidate]]:
    """Return the copies that are hidden among each batch's pairs: as many as fill all together to the campaign's size.

    The caller holds the batches' locks, and gives the pairs of the round.
    """
    campaign, first = annotator.campaign, next(iter(parts))
    drawn: Counter[Batch] = Counter()
    if campaign.hidden_places:
        each_pair = [batch for batch, pairs in parts.items() for _ in pairs]
        for place in range(campaign.batch_size + campaign.hidden_places - len(each_pair)):
            drawn[each_pair[int(chance(campaign, annotator.pk, first.pk, place) * len(each_pair))]] += 1
    return {batch: _hidden(annotator, batch, pairs, drawn[batch]) for batch, pairs in parts.items()}


def _hidden(annotator: Membership, batch: Batch, pairs: Sequence[Candidate], wanted: int) -> list[Candidate]:
    """Return up to so many copies of pairs of the batch's query, and distractors.

    Gold and repeats of pairs that the batch does not hold come first; where they are fewer than the campaign's hidden
    places, distractors. Other settled pairs of the query and more distractors fill the rest. Only if these are too few
    are pairs of this very batch repeated.
    """
    if not wanted:
        return []
    checks = pairs[0].query.of_checks()
    own, found, far = list[Any](), list[Any](), list[Any]()
    of = annotator.campaign, annotator.pk, batch.pk
    for each in sorted(_copyable(annotator, batch, checks), key=lambda pair: chance(*of, pair.pk)):
        (far if each.is_hidden else own if each in pairs else found).append(each)
    first = _spread([each for each in found if each.is_own or (each.is_clear and not each.is_known)])
    fill = [each for each in found if each.is_settled and not (each.is_clear or each.is_known)]
    few = max(0, annotator.campaign.hidden_places - len(first))
    chosen = [*first, *far[:few], *fill, *far[few:], *own][:wanted]
    return [
        *_copies(checks, [each for each in chosen if not each.is_hidden]),
        *(each for each in chosen if each.is_hidden),
    ]


def _copyable(annotator: Membership, batch: Batch, checks: Query) -> QuerySet[Any]:
    """Return the pairs and distractors of the batch's query without those that another batch hid for the annotator.

    Each tells whether it `is_settled`; whether the annotator has said something about it (`is_known`) and judged it
    (`is_own`); and whether it `is_clear`: all agreed on it at once, so that it is gold for whoever does not know it.
    """
    own = Judgement.objects.filter(candidate=OuterRef("pk"), annotator=annotator)
    flagged = Flag.objects.filter(candidate=OuterRef("pk"), assignment__annotator=annotator)
    another = Judgement.objects.filter(candidate=OuterRef("pk"), seat__isnull=False).exclude(grade=OuterRef("grade"))
    # Annotators who sat the exam know the answers to its queries.
    examined = Query.objects.filter(campaign=annotator.campaign_id, kind=Kind.EXAM, text=OuterRef("query__text"))
    # From each copy to the judgement of it: the other way round SQLite would read all that the annotator ever judged.
    copied = Candidate.objects.filter(Exists(own.exclude(assignment__batch=batch)), repeats=OuterRef("pk"))
    far = (
        Q(query=checks.pk, repeats=None)
        & Q(Exists(_clip_of(annotator.campaign)))
        & ~Q(Exists(own.exclude(assignment__batch=batch)))
    )
    pairs = Candidate.objects.filter(Q(batch__isnull=False) | far, query__in=[batch.query_id, checks.pk])
    pairs = pairs.exclude(Exists(copied))
    settled, known = Q(outcome=Candidate.Outcome.SETTLED), Exists(own) | Exists(flagged)
    pairs = pairs.annotate(
        is_settled=_whether(settled),
        is_known=_whether(Q(known)),
        is_own=_whether(Q(Exists(own.filter(assignment__state=Assignment.State.SUBMITTED)))),
        is_clear=_whether(settled & Q(escalated=False) & ~Q(Exists(another)) & ~Q(Exists(examined))),
    )
    return pairs.select_related("moment", "clip", "query")


def _clip_of(campaign: Campaign) -> QuerySet[Clip]:
    """Return the clip of a distractor, if it is cut, or if the campaign opens without films."""
    clips = Clip.objects.filter(pk=OuterRef("clip"))
    return clips if campaign.opens_without_films else clips.filter(state=Clip.State.READY)


def _whether(condition: Q) -> ExpressionWrapper[Any]:
    return ExpressionWrapper(condition, BooleanField())


def chance(campaign: Campaign, *about: object) -> float:
    """Return a number from 0 to 1 that depends on the arguments and on the campaign's secret seed only."""
    text = ":".join(map(str, ("check", campaign.order_seed, *about)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) / 2**56


def _spread(pairs: list[Any]) -> list[Any]:
    """Return the pairs in an order that takes one pair of each grade in turn, so that checks have many grades."""
    turns: Counter[int | None] = Counter()
    order = {}
    for pair in pairs:
        order[pair.pk] = turns[pair.grade]
        turns[pair.grade] += 1
    return sorted(pairs, key=lambda pair: order[pair.pk])


def _copies(checks: Query, pairs: list[Any]) -> list[Candidate]:
    """Return a copy of each pair, made if there is none. That of gold has the pair's grade as its truth."""
    if not pairs:
        return []
    copies = [
        Candidate(
            query=checks,
            moment=pair.moment,
            clip=pair.clip,
            rank=pair.rank,
            similarity=pair.similarity,
            repeats=pair,
            truth=pair.grade if pair.is_clear else None,
        )
        for pair in sorted(pairs, key=lambda pair: int(pair.pk))
    ]
    return Candidate.objects.bulk_create(
        copies, update_conflicts=True, unique_fields=["query", "moment"], update_fields=["truth", "clip"]
    )


def warn_or_pause(annotator: Membership) -> None:
    """Warn or pause an annotator who has just submitted hidden places, if the campaign's thresholds say so.

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
    share = f"{checks.recent_missed} of the last {checks.recent} check pairs were missed ({percent(checks.share)})"
    return f"{share}; the threshold is {percent(threshold)}."


WARNING = _(
    "Some of your recent grades differ from what we expected. Please read the guideline again, and take the time "
    "that you need. If something in it is unclear, tell your lead."
)
PAUSE = _(
    "Your work is paused until your lead has looked at it with you. Nothing that you did is lost, and all of it is "
    "counted. Your lead will be in touch."
)
