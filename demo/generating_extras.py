"""Adding an exam, checks, flags, adjudications and reopenings to a generated campaign."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from base.transactions import many_rows_are_new, store
from campaigns.models import Campaign, Membership
from demo.generating import DAYS, Made, add_judgement
from judging.models import Assignment, Batch, Candidate, Flag, Judgement, Kind, Query, Sitting
from judging.models.pool import ANNOTATORS
from judging.models.sitting import exam_batches
from judging.quality.checks import clear_pairs
from judging.quality.exam import mark_waiting, set_exam
from judging.review.decisions import adjudicate
from judging.review.reopening import reopen, scope_of_batch

PAIRS = 8  # of a check
GOLD, REPEATED = 2.5, 2.5  # judgements in checks for each query, beside about a hundred others
SPREAD = 0.8  # standard deviation of grades around the expected grade
RATE = 0.05

Expected = Sequence[tuple[Candidate, int]]  # pairs, each with the grade that is expected of it
Check = tuple[Batch, Expected]


@dataclass
class More:
    """New rows of checks and their judgements, which are stored table by table."""

    queries: list[Query] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    made: Made = field(default_factory=Made)

    def store(self) -> None:
        for rows in (self.queries, self.batches, self.candidates):
            store(rows)
        self.made.store()


@transaction.atomic
def generate_extras(campaign: Campaign, seed: int) -> None:
    """Add the extras to a campaign that `generate` made, in proportion to its number of queries."""
    chance, queries = random.Random(seed), campaign.queries.count()
    people = list(campaign.memberships.annotators().order_by("worker"))
    lead = Membership.objects.leads().get(campaign=campaign)
    batches = Batch.objects.in_pool(campaign).filter(state=Batch.State.REVIEWED).order_by("pk")
    for batch in batches[: max(1, queries // 1000)]:
        reopen(lead, scope_of_batch(batch), "black at first")
    discarded = Candidate.objects.in_pool(campaign).filter(outcome=Candidate.Outcome.DISCARDED).order_by("pk")
    for candidate in discarded[: max(1, queries // 100)]:
        adjudicate(candidate, lead, 2, "seen twice")
    _flags(campaign, max(1, queries // 100))
    _checks(campaign, people, queries, chance)
    if queries >= 100:
        _exam(campaign, people, min(10, queries // 100), chance)
    many_rows_are_new()


def _flags(campaign: Campaign, number: int) -> None:
    """Flag some candidates of settled batches that wait for their review. One grade remains for each."""
    candidates = Candidate.objects.in_pool(campaign).filter(batch__state=Batch.State.SETTLED, escalated=False)
    first = candidates.filter(rank__in=(1, 21)).select_related("query__campaign")
    for candidate in first.order_by("pk")[:number]:
        judgement = candidate.judgements.earliest("seat")
        Judgement.objects.filter(pk=judgement.pk).update(seat=None)
        Flag.objects.create(assignment=judgement.assignment, candidate=candidate, reason=Flag.Reason.CLIP)
        candidate.settle(1, candidate.counted_grades(1))
        candidate.save()


def _checks(campaign: Campaign, people: list[Membership], queries: int, chance: random.Random) -> None:
    """Make gold, each for all annotators who did not judge its query, and repeats of earlier work."""
    more = More()
    _gold(campaign, people, max(1, round(queries * GOLD / PAIRS / (len(people) - ANNOTATORS))), chance, more)
    _repeats(campaign, max(1, round(queries * REPEATED / PAIRS)), chance, more)
    more.store()
    Campaign.objects.filter(pk=campaign.pk).update(check_rate=RATE)


def _gold(campaign: Campaign, people: list[Membership], number: int, chance: random.Random, more: More) -> None:
    closed = list(campaign.queries.pool().filter(closed=True).order_by("pk"))
    for source in chance.sample(closed, min(len(closed), number)):
        pairs = [
            (pair, pair.grade or 0) for pair in clear_pairs(campaign).filter(query=source).order_by("rank")[:PAIRS]
        ]
        had = set(Judgement.objects.filter(candidate__query=source).values_list("annotator", flat=True))
        batch, copies = _copy(source, f"gold:{source.pk}", pairs, None, more)
        for member in people:
            began = timezone.now() - timedelta(days=chance.uniform(1, DAYS))
            if member.pk not in had:
                _judge(batch, member, copies, began, chance, more.made)


def _repeats(campaign: Campaign, number: int, chance: random.Random, more: More) -> None:
    done = Assignment.objects.submitted().filter(batch__campaign=campaign, round=1)
    done = done.filter(batch__kind=Kind.POOL, batch__state=Batch.State.REVIEWED).order_by("pk")
    keys = list(done.values_list("pk", flat=True))
    earlier = done.filter(pk__in=chance.sample(keys, min(len(keys), number)))
    earlier = earlier.select_related("batch__query", "annotator").prefetch_related("judgements__candidate")
    for each in earlier.iterator(chunk_size=20):
        pairs = [(judgement.candidate, judgement.grade) for judgement in each.judgements.all()][:PAIRS]
        batch, copies = _copy(each.batch.query, f"repeat:{each.pk}", pairs, each.annotator, more)
        assert each.submitted
        _judge(batch, each.annotator, copies, each.submitted + timedelta(hours=30), chance, more.made)


def _exam(campaign: Campaign, people: list[Membership], queries: int, chance: random.Random) -> None:
    """Make an exam that everybody sat at the beginning. The lead let those work who did not pass."""
    set_exam(campaign, seed=1, queries=queries, keep_in_pool=True)
    made, began = Made(), timezone.now() - timedelta(days=DAYS + 1)
    for batch in exam_batches(campaign).order_by("pk"):
        pairs = [(each, round(4 * (each.similarity or 0.0))) for each in batch.candidates.order_by("rank")]
        for member in people:
            _judge(batch, member, pairs, began, chance, made)
    made.store()
    store([Sitting(member=member, began=began, ended=began + timedelta(days=1)) for member in people])
    mark_waiting(campaign)
    campaign.memberships.filter(qualified=None).update(qualified=timezone.now())


def _copy(source: Query, name: str, pairs: Expected, owner: Membership | None, more: More) -> Check:
    """Make a check as `judging.quality.checks` does. Return its batch, and its pairs with their expected grades."""
    query = Query(campaign_id=source.campaign_id, kind=Kind.CHECK, query_id=name, text=source.text, owner=owner)
    batch = Batch.of(query, 1, state=Batch.State.OPEN)
    copies = [
        (Candidate(query=query, batch=batch, rank=rank, repeats=pair, truth=None if owner else grade), grade)
        for rank, (pair, grade) in enumerate(pairs, 1)
    ]
    for (copy, _), (pair, _) in zip(copies, pairs, strict=True):
        copy.moment_id, copy.similarity = pair.moment_id, pair.similarity
    more.queries.append(query)
    more.batches.append(batch)
    more.candidates += [copy for copy, _ in copies]
    return batch, copies


def _judge(
    batch: Batch, member: Membership, pairs: Expected, began: datetime, chance: random.Random, made: Made
) -> None:
    """Let a member judge the pairs, mostly with the expected grades. The judgements do not count."""
    ended = began + timedelta(seconds=20 * len(pairs) + 60)
    assignment = Assignment(batch=batch, annotator=member, round=1, state=Assignment.State.SUBMITTED)
    assignment.lease, assignment.claimed, assignment.submitted = ended, began, ended
    made.assignments.append(assignment)
    for place, (candidate, expected) in enumerate(pairs, 1):
        grade = min(4, max(0, round(chance.gauss(expected, SPREAD))))
        add_judgement(assignment, candidate, grade, began + timedelta(seconds=20 * place), chance, made)
