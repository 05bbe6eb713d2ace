"""Queries, their candidates, and the batches in which candidates are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Avg, Exists, OuterRef, Q

from corpus.models import Moment
from judging.consensus import RULE, consensus
from judging.errors import WrongState
from judging.models.campaign import LAST, SECOND_BATCH_FROM, Campaign, Membership
from judging.models.review import Review
from judging.preparing import prepare
from judging.transactions import all_or_nothing, locked

if TYPE_CHECKING:
    from judging.models.assignment import Assignment

ANNOTATORS = 2  # in each round


class Query(models.Model):
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="queries")
    query_id = models.CharField(max_length=100, help_text="in runs and qrels")
    text = models.TextField()
    split = models.CharField(max_length=20, blank=True)
    aliases = models.JSONField(default=list, help_text="ids of other queries with the same text")
    closed = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "queries"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "query_id"], name="one_query_per_id"),
            models.UniqueConstraint(fields=["campaign", "text"], name="identical_queries_are_one"),
        ]

    def __str__(self) -> str:
        return self.text

    @all_or_nothing
    def open_batch(self, number: int) -> Batch:
        """The batch of that number, made and filled if it is not there yet; its clips are asked for."""
        size = self.campaign.batch_size
        ranks = (size * (number - 1) + 1, size * number)
        if not self.candidates.filter(rank__range=ranks).exists():
            raise WrongState(f"“{self.text}” has no candidates of ranks {ranks[0]}-{ranks[1]}.")
        batch, made = self.batches.get_or_create(number=number)
        if made:
            self.candidates.filter(rank__range=ranks).update(batch=batch)
            prepare(batch)
        return batch

    @property
    def can_open_second(self) -> bool:
        return (
            self.campaign.batches > 1 and self.candidates.filter(rank__gt=self.campaign.batch_size).exists()
        )


class CandidateQuerySet(models.QuerySet["Candidate"]):
    def in_campaign(self, campaign: Campaign) -> CandidateQuerySet:
        return self.filter(query__campaign=campaign)

    def settled(self) -> CandidateQuerySet:
        return self.filter(outcome=Candidate.Outcome.SETTLED)

    def escalated(self) -> CandidateQuerySet:
        return self.filter(escalated=True)


class Candidate(models.Model):
    """A query–moment pair."""

    class Outcome(models.TextChoices):
        OPEN = "open"
        CONTESTED = "contested"
        SETTLED = "settled"
        DISCARDED = "discarded"
        FLAGGED = "flagged"  # an annotator could not judge it: a lead's word is needed

    query = models.ForeignKey(Query, models.CASCADE, related_name="candidates")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="candidates")
    batch = models.ForeignKey("Batch", models.SET_NULL, null=True, related_name="candidates")
    rank = models.PositiveSmallIntegerField()
    similarity = models.FloatField()
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.OPEN)
    escalated = models.BooleanField(default=False, help_text="contested after round one, so in round two")
    grade = models.PositiveSmallIntegerField(null=True, help_text="the final grade, once settled")
    rule = models.CharField(
        max_length=40, blank=True, help_text="the version of the consensus that settled it"
    )

    objects = CandidateQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["query", "rank"], name="one_candidate_per_rank"),
            models.UniqueConstraint(fields=["query", "moment"], name="one_candidate_per_moment"),
            models.CheckConstraint(condition=Q(rank__gte=1), name="ranks_start_at_one"),
            models.CheckConstraint(
                condition=Q(outcome="settled", grade__isnull=False, grade__lte=4)
                | (~Q(outcome="settled") & Q(grade__isnull=True)),
                name="final_grade_exactly_when_settled",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.query_id}-{self.rank}"

    def counted_grades(self, rounds: int = 2) -> list[int]:
        """The grades that count, of the first rounds."""
        last = ANNOTATORS * rounds
        return [
            judgement.grade
            for judgement in self.judgements.all()
            if judgement.seat and judgement.seat <= last
        ]

    def settle(self, rounds: int, grades: list[int]) -> None:
        """Note the outcome of the counted grades, after so many complete rounds."""
        outcome = consensus(grades, self.query.campaign.tolerance)
        self.outcome = Candidate.Outcome.FLAGGED if len(grades) < ANNOTATORS * rounds else outcome.status
        self.grade = outcome.grade if self.outcome == Candidate.Outcome.SETTLED else None
        self.escalated = self.escalated or self.outcome == Candidate.Outcome.CONTESTED
        self.rule = RULE


class BatchQuerySet(models.QuerySet["Batch"]):
    def in_campaign(self, campaign: Campaign) -> BatchQuerySet:
        return self.filter(query__campaign=campaign)

    def claimable_by(self, annotator: Membership) -> BatchQuerySet:
        """Open batches with a free place, that the annotator neither holds nor has judged; fullest first."""
        held = annotator.assignments.holding().filter(batch=OuterRef("pk"))
        free = self.in_campaign(annotator.campaign).filter(state=Batch.State.OPEN, taken__lt=ANNOTATORS)
        return free.exclude(Exists(held)).order_by("-round", "-taken", "pk")

    def to_review(self) -> BatchQuerySet:
        return self.filter(state=Batch.State.SETTLED)


class Batch(models.Model):
    """Up to twenty candidates of one query, judged together: in round one by two annotators, those contested
    in round two by two others."""

    class State(models.TextChoices):
        PREPARING = "preparing"  # its clips are being cut
        OPEN = "open"
        SETTLED = "settled"  # every candidate has its outcome; the lead's review is next
        REVIEWED = "reviewed"

    query = models.ForeignKey(Query, models.CASCADE, related_name="batches")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=10, default="pool")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PREPARING)
    round = models.PositiveSmallIntegerField(default=1)
    taken = models.PositiveSmallIntegerField(
        default=0, help_text="places of this round that are held or done"
    )

    objects = BatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["query", "kind", "number"], name="one_batch_per_number"),
            models.CheckConstraint(condition=Q(number__in=[1, 2]), name="never_a_third_batch_of_a_query"),
            models.CheckConstraint(condition=Q(round__in=[1, 2]), name="never_a_third_round"),
            models.CheckConstraint(condition=Q(taken__lte=ANNOTATORS), name="two_hands_in_a_round"),
        ]
        indexes = [models.Index(fields=["state", "taken"])]

    def __str__(self) -> str:
        return f"batch {self.number} of “{self.query.text}”"

    @property
    def in_round(self) -> CandidateQuerySet:
        """The candidates that the present round hands out."""
        return self.of_round(self.round)

    def of_round(self, number: int) -> CandidateQuerySet:
        rows = Candidate.objects.filter(batch=self)
        return rows if number == 1 else rows.escalated()

    def open(self) -> None:
        """Let annotators claim it: its clips are cut, or known to be missing."""
        Batch.objects.filter(pk=self.pk, state=Batch.State.PREPARING).update(state=Batch.State.OPEN)

    def hand_to(self, annotator: Membership) -> Assignment:
        """Give a free place to the annotator. The caller holds this row's lock."""
        used = set(self.assignments.holding().filter(round=self.round).values_list("slot", flat=True))
        slot = 2 if 1 in used else 1
        assignment = self.assignments.lease_out(self, annotator, slot)
        self.taken += 1
        self.save(update_fields=["taken"])
        return assignment

    def take_back(self) -> None:
        """One place of this round is free again. The caller holds this row's lock."""
        self.taken -= 1
        self.save(update_fields=["taken"])

    def conclude(self) -> None:
        """Settle the round's candidates once both annotators have submitted. The caller holds the lock."""
        submitted = self.assignments.submitted().filter(round=self.round).count()
        if submitted < ANNOTATORS:
            return
        candidates = list(self.in_round.select_related("query__campaign").prefetch_related("judgements"))
        for candidate in candidates:
            candidate.settle(self.round, candidate.counted_grades(self.round))
        Candidate.objects.bulk_update(candidates, ["outcome", "grade", "escalated", "rule"])
        if any(candidate.outcome == Candidate.Outcome.CONTESTED for candidate in candidates):
            self.round, self.taken = 2, 0
        else:
            self.state = Batch.State.SETTLED
        self.save(update_fields=["round", "taken", "state"])

    def last_mean(self) -> float | None:
        """Mean final grade of the settled ones among the last five candidates by rank."""
        mean: float | None = self.last().settled().aggregate(mean=Avg("grade"))["mean"]
        return mean

    def last(self) -> CandidateQuerySet:
        ranks = self.candidates.order_by("-rank").values_list("rank", flat=True)[:LAST]
        return Candidate.objects.filter(batch=self, rank__gte=min(ranks, default=0))

    def recommends_second(self) -> bool | None:
        mean = self.last_mean()
        return None if mean is None else mean >= SECOND_BATCH_FROM

    @all_or_nothing
    def review(self, lead: Membership, verdict: str, reason: str = "") -> Review:
        """The lead's word on a settled batch: a second batch, or the query is closed. Saying it twice is harmless."""
        batch = locked(Batch.objects.filter(pk=self.pk)).select_related("query__campaign").get()
        earlier = Review.objects.filter(batch=batch).first()
        if earlier and earlier.verdict == verdict:
            return earlier
        if batch.state != Batch.State.SETTLED:
            raise WrongState(f"This batch is {batch.state}, not settled; it cannot be reviewed.")
        if verdict == Review.Verdict.SECOND:
            batch.open_second()
        else:
            Query.objects.filter(pk=batch.query_id).update(closed=True)
        batch.state = Batch.State.REVIEWED
        batch.save(update_fields=["state"])
        return Review.objects.create(batch=batch, lead=lead, verdict=verdict, reason=reason)

    def open_second(self) -> None:
        if self.number != 1 or self.query.campaign.batches < 2:
            raise WrongState(
                "A query has at most two batches; this was the last one. Close the query instead."
            )
        self.query.open_batch(2)
