"""Quiet checks: when an annotator gets one, which, and what follows from those she judged.

A check is a batch like any other to who judges it: gold, pairs whose grade is beyond doubt, or a repeat of pairs that
she graded some batches ago. It is judged at the same addresses, and paid like all work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from django.db.models import Count, Exists, F, OuterRef
from django.utils.translation import gettext_noop as _

from campaigns.models.campaign import Campaign
from campaigns.models.event import Event
from campaigns.models.membership import Membership
from campaigns.models.message import Message
from judging.models.pool import CLAIMED, Batch, Candidate, Kind, Query
from judging.pool import opening
from judging.quality.check_results import ENOUGH, Standing, standings

if TYPE_CHECKING:
    from judging.models.assignment import Assignment, AssignmentQuerySet

MOST_PAIRS = 10  # of a check, and never more than a batch
REPEAT_AFTER = 5  # batches between a pair and its repeat


def due(annotator: Membership) -> Batch | None:
    """The check that the annotator gets now, instead of other work; mostly none. The caller holds her lock."""
    campaign = annotator.campaign
    if not campaign.check_rate:
        return None
    history = list(_done(annotator).annotate(n=Count("judgements")).values_list("batch__kind", "n"))
    judged = sum(n for kind, n in history)
    checks = [n for kind, n in history if kind == Kind.CHECK]
    draw = chance(campaign, annotator.pk, len(history))
    just_had_one = history[:1] and history[0][0] == Kind.CHECK
    if just_had_one or not is_wanted(campaign.check_rate, judged, sum(checks), draw):
        return None
    sorts: list[Callable[[Membership], Batch | None]] = [_gold, _repeat]
    if len(checks) % 2:
        sorts.reverse()
    return sorts[0](annotator) or sorts[1](annotator)


def is_wanted(rate: float, judged: int, checked: int, draw: float) -> bool:
    """Whether the next batch is a check, with so many pairs judged, of which so many in checks.

    The further the share is below the rate, the likelier; never while it is not. So the share tends to the rate, and
    nobody can tell when the next one comes.
    """
    return rate * judged - checked > draw * MOST_PAIRS


def chance(campaign: Campaign, *about: object) -> float:
    """A number from 0 to 1 that stays the same, and that nobody can guess who does not know the campaign's seed."""
    text = ":".join(map(str, ("check", campaign.order_seed, *about)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) / 2**56


def size(campaign: Campaign, *about: object) -> int:
    """The number of pairs of a check: not always the same, as the small batches of round two are not."""
    return fewest(campaign) + int(chance(campaign, "size", *about) * (_most(campaign) - fewest(campaign) + 1))


def fewest(campaign: Campaign) -> int:
    return (_most(campaign) + 1) // 2


def _most(campaign: Campaign) -> int:
    return min(MOST_PAIRS, campaign.batch_size)


def copy_pairs(query: Query, pairs: Iterable[Candidate], *, truths: bool) -> Batch:
    """Fill a check's query with copies of pairs that refer to their originals; its batch, open once clips are."""
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
    """Her submitted work, newest first; exams apart."""
    rows = annotator.assignments.submitted().exclude(batch__kind=Kind.EXAM)
    return rows.order_by("-submitted", "-pk")


def _gold(annotator: Membership) -> Batch | None:
    """Gold that she has not had, of pairs that she never judged and whose grade still stands."""
    had = annotator.assignments.submitted().filter(batch=OuterRef("pk"))
    pairs = Candidate.objects.filter(batch=OuterRef("pk"))
    judged = pairs.filter(repeats__judgements__annotator=annotator)
    fallen = pairs.exclude(repeats__outcome=Candidate.Outcome.SETTLED, repeats__grade=F("truth"))
    rows = Batch.objects.in_campaign(annotator.campaign).filter(kind=Kind.CHECK, state=Batch.State.OPEN)
    rows = rows.filter(query__owner__isnull=True, query__withdrawn__isnull=True)
    rows = rows.exclude(Exists(had)).exclude(Exists(judged)).exclude(Exists(fallen))
    return min(
        rows, key=lambda batch: chance(annotator.campaign, annotator.pk, "gold", batch.pk), default=None
    )


def _repeat(annotator: Membership) -> Batch | None:
    """Some pairs of an earlier batch of hers, once more: those in her way already, or made now."""
    had = annotator.assignments.submitted().filter(batch=OuterRef("pk"))
    waiting = Batch.objects.filter(kind=Kind.CHECK, query__owner=annotator).exclude(Exists(had)).first()
    if waiting is None:
        earlier = _repeatable(annotator)
        waiting = _repeat_of(earlier) if earlier else None
    return waiting if waiting and waiting.state == Batch.State.OPEN else None


def _repeatable(annotator: Membership) -> Assignment | None:
    newest = list(_done(annotator).values_list("pk", flat=True)[:REPEAT_AFTER])
    repeated = Candidate.objects.filter(
        query__owner=annotator, repeats__judgements__assignment=OuterRef("pk")
    )
    rows = _done(annotator).filter(batch__kind__in=CLAIMED).exclude(pk__in=newest)
    rows = rows.filter(batch__query__withdrawn__isnull=True).exclude(Exists(repeated))
    rows = rows.annotate(pairs=Count("judgements")).filter(pairs__gte=fewest(annotator.campaign))
    rows = rows.select_related("batch__query", "annotator__campaign")
    return min(rows, key=lambda each: chance(annotator.campaign, "repeat", each.pk), default=None)


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


def weigh(annotator: Membership) -> None:
    """After a check: a kind word, or a pause until the lead has looked. The caller holds the annotator's lock."""
    campaign = annotator.campaign
    standing = standings(campaign, only=annotator).get(annotator.pk, Standing())
    if not standing.tells:
        return
    if standing.share >= campaign.check_pause:
        annotator.pause(None, _words(standing, campaign.check_pause))
        Message.objects.create(to=annotator, text=PAUSE)
    elif standing.share >= campaign.check_warn and (not standing.warned or standing.since_warning >= ENOUGH):
        words = _words(standing, campaign.check_warn)
        Event.objects.create(member=annotator, kind=Event.Kind.WARNED, words=words)
        Message.objects.create(to=annotator, text=WARNING)


def _words(standing: Standing, threshold: float) -> str:
    """For the lead; the annotator never reads numbers."""
    share = f"{standing.recent_off} of the last {standing.recent} check pairs were off ({standing.share:.0%})"
    return f"{share}; the threshold is {threshold:.0%}."


WARNING = _(
    "Some of your recent grades differ from what we expected. Please read the guideline again, and take the time "
    "that you need. If something in it is unclear, tell your lead."
)
PAUSE = _(
    "Your work is paused until your lead has looked at it with you. Nothing that you did is lost, and all of it is "
    "counted. Your lead will be in touch."
)
