"""manage.py generate_campaign: make a campaign of any size with generated judgements, for trials."""

import random
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from django.db import transaction
from django.utils import timezone

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from base.transactions import many_rows_are_new, store
from campaigns.models import Campaign, Membership
from demo.generating import DAYS, Made, add_assignment, add_judgement, generate, nearest_grade
from judging.models import Assignment, Batch, Candidate, Flag, Judgement, Kind, Question, Sitting
from judging.models.sitting import exam_batches
from judging.quality.checks import hidden
from judging.quality.exam import mark_waiting, set_exam
from judging.review.actions import reopen
from judging.review.decisions import adjudicate
from judging.review.reopening import scope_of_batch
from judging.summaries import summarize

FEWEST = 4  # annotators, because a contested candidate needs four
MOST = 20_000  # queries


class Command(ReeljudgeCommand):
    help = "Make a campaign with generated queries, candidates and judgements. For trying things out only."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--queries", type=int, default=5000, help="each has 40 candidates")
        parser.add_argument("--annotators", type=int, default=23)
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, **options: Any) -> None:
        name, queries = options["name"], options["queries"]
        if Campaign.objects.filter(name=name).exists():
            raise ReeljudgeError(f"campaign {name}: exists already; expected a new name")
        if not 1 <= queries <= MOST:
            raise ReeljudgeError(f"--queries {queries}: expected 1 to {MOST:,}")
        if options["annotators"] < FEWEST:
            raise ReeljudgeError(f"--annotators {options['annotators']}: expected at least {FEWEST}")
        for done in generate(name, queries, options["annotators"], options["seed"]):
            if self.stdout.isatty():
                self.stdout.write(f"\r{done:,} of {queries:,} queries", ending="")
        campaign = Campaign.objects.get(name=name)
        generate_extras(campaign, options["seed"])
        queries = campaign.queries.pool().count()
        judgements = Judgement.objects.filter(annotator__campaign=campaign).count()
        candidates = Candidate.objects.in_pool(campaign).count()
        self.stdout.write(f"{name}: {queries:,} queries, {candidates:,} candidates, {judgements:,} judgements")


HIDDEN = 2  # places of a batch
CHECKED, MOST_CHECKED = 2.0, 4000  # assignments in which something is hidden: for each query, and in all
SPREAD = 0.8  # standard deviation of grades around the expected grade

Expected = Sequence[tuple[Candidate, int]]  # pairs, each with the grade that is expected of it


def generate_extras(campaign: Campaign, seed: int) -> None:
    """Add the extras to a campaign that `generate` made, in proportion to its number of queries.

    Each is a transaction, so that others can write between two of them.
    """
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
    _checks(campaign, min(MOST_CHECKED, round(queries * CHECKED)), chance)
    if queries >= 100:
        _exam(campaign, people, min(10, queries // 100), chance)
    many_rows_are_new()


def _flags(campaign: Campaign, number: int) -> None:
    """Flag some candidates of settled batches that wait for their review, and ask about them. One grade remains."""
    candidates = Candidate.objects.in_pool(campaign).filter(batch__state=Batch.State.SETTLED, escalated=False)
    first = candidates.filter(rank__in=(1, 21)).select_related("query__campaign")
    for candidate in first.order_by("pk")[:number]:
        _flag(candidate)


@transaction.atomic
def _flag(candidate: Candidate) -> None:
    judgement = candidate.judgements.earliest("seat")
    Judgement.objects.filter(pk=judgement.pk).update(seat=None)
    Flag.objects.create(assignment=judgement.assignment, candidate=candidate, reason=Flag.Reason.CLIP)
    candidate.settle(1, candidate.counted_grades(1))
    candidate.save()
    summarize([candidate.query_id])
    Question.objects.create(
        annotator=judgement.annotator,
        query=candidate.query,
        candidate=candidate,
        text="It is dark at the beginning. Does what cannot be seen count?",
        key=uuid5(NAMESPACE_OID, f"{candidate.query.campaign.name} {candidate.pk}"),
    )


def _checks(campaign: Campaign, number: int, chance: random.Random) -> None:
    """Hide copies of pairs in that many submitted assignments: of the batch itself, and of what others agreed on."""
    Campaign.objects.filter(pk=campaign.pk).update(hidden_places=HIDDEN)
    done = Assignment.objects.submitted().filter(batch__campaign=campaign, batch__kind=Kind.POOL)
    keys = list(done.filter(batch__state=Batch.State.REVIEWED).order_by("pk").values_list("pk", flat=True))
    chosen = done.filter(pk__in=chance.sample(keys, min(len(keys), number))).order_by("pk")
    chosen = chosen.select_related("batch__query__campaign", "annotator__campaign")
    for assignment in chosen.prefetch_related("judgements__candidate").iterator(chunk_size=20):
        _hide(assignment, chance)


@transaction.atomic
def _hide(assignment: Assignment, chance: random.Random) -> None:
    pairs = [judgement.candidate for judgement in assignment.judgements.all() if judgement.seat]
    if not pairs:
        return
    copies = hidden(assignment.annotator, {assignment.batch: pairs})[assignment.batch][:HIDDEN]
    own = {judgement.candidate_id: judgement.grade for judgement in assignment.judgements.all()}
    assignment.hidden, made = len(copies), Made()
    for copy in copies:
        expected = own.get(copy.repeats_id or 0, copy.truth or 0)
        grade = nearest_grade(chance.gauss(expected, SPREAD))
        add_judgement(assignment, copy, grade, assignment.claimed, chance, made)
    made.store()
    assignment.save(update_fields=["places", "hidden"])


@transaction.atomic
def _exam(campaign: Campaign, people: list[Membership], queries: int, chance: random.Random) -> None:
    """Make an exam that everybody sat at the beginning. The lead let those work who did not pass."""
    set_exam(campaign, seed=1, queries=queries, keep_in_pool=True)
    made, began = Made(), timezone.now() - timedelta(days=DAYS + 1)
    for batch in exam_batches(campaign).order_by("pk"):
        pairs = [
            (candidate, round(4 * (candidate.similarity or 0.0))) for candidate in batch.candidates.order_by("rank")
        ]
        for member in people:
            _judge(batch, member, pairs, began, chance, made)
    made.store()
    store([Sitting(member=member, began=began, ended=began + timedelta(days=1)) for member in people])
    mark_waiting(campaign)
    campaign.memberships.filter(qualified=None).update(qualified=timezone.now())


def _judge(
    batch: Batch, member: Membership, pairs: Expected, began: datetime, chance: random.Random, made: Made
) -> None:
    """Let a member judge the pairs, mostly with the expected grades. The judgements do not count."""
    ended = began + timedelta(seconds=20 * len(pairs) + 60)
    assignment = add_assignment(batch, member, began, ended, made, round=1)
    for place, (candidate, expected) in enumerate(pairs, 1):
        grade = nearest_grade(chance.gauss(expected, SPREAD))
        add_judgement(assignment, candidate, grade, began + timedelta(seconds=20 * place), chance, made)
