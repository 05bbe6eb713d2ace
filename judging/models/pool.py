"""Queries, their candidates, and the batches in which candidates are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from base.transactions import locked
from campaigns.models.campaign import Campaign
from campaigns.models.membership import Membership
from corpus.models import Clip, Moment
from judging.consensus import RULE, consensus
from judging.models.judgement import Flag

if TYPE_CHECKING:
    from judging.models.assignment import Assignment

ANNOTATORS = 2  # in each round


class Kind(models.TextChoices):
    """What a query's batches are for. All look the same to who judges them."""

    POOL = "pool"  # the only kind that reaches qrels
    EXAM = "exam"
    CHECK = "check"  # of an annotator's care: pairs with a known truth, or earlier ones of her own
    STUDY = "study"  # of similarity against relevance, further down the ranking


CLAIMED = (Kind.POOL, Kind.STUDY)  # kinds that settle in rounds of two; exams and checks are taken by anybody


class QueryQuerySet(models.QuerySet["Query"]):
    def pool(self) -> QueryQuerySet:
        """Those whose candidates reach qrels."""
        return self.filter(kind=Kind.POOL, withdrawn__isnull=True)

    def hold(self) -> None:
        """Lock them until the transaction ends, their batches first, as whoever claims or submits does."""
        keys = set(self.values_list("pk", flat=True))
        list(locked(Batch.objects.filter(query__in=keys)).order_by("pk"))
        list(locked(Query.objects.filter(pk__in=keys)).order_by("pk"))


class Query(models.Model):
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="queries")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.POOL)
    query_id = models.CharField(max_length=100, help_text="in runs and qrels")
    text = models.TextField()
    split = models.CharField(max_length=20, blank=True)
    aliases = models.JSONField(default=list, help_text="ids of other queries with the same text")
    closed = models.BooleanField(default=False)
    withdrawn = models.DateTimeField(null=True, help_text="when the lead took it out of the campaign")
    withdrawn_why = models.CharField(max_length=500, blank=True)
    owner = models.ForeignKey(
        Membership, models.PROTECT, null=True, related_name="+", help_text="the only one it is for"
    )

    objects = QueryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "queries"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "kind", "query_id"], name="one_query_per_id"),
            models.UniqueConstraint(
                fields=["campaign", "text"], condition=Q(kind="pool"), name="identical_queries_are_one"
            ),
        ]

    def __str__(self) -> str:
        return self.text


class CandidateQuerySet(models.QuerySet["Candidate"]):
    def in_campaign(self, campaign: Campaign) -> CandidateQuerySet:
        return self.filter(query__campaign=campaign)

    def in_pool(self, campaign: Campaign) -> CandidateQuerySet:
        """Those that may reach qrels."""
        pool = self.in_campaign(campaign).filter(query__kind=Kind.POOL, query__withdrawn__isnull=True)
        return pool.filter(batch__isnull=False)

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
        ADJUDICATED = "adjudicated"  # graded by the lead, so never part of the consensus

    query = models.ForeignKey(Query, models.CASCADE, related_name="candidates")
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="candidates")
    batch = models.ForeignKey("Batch", models.SET_NULL, null=True, related_name="candidates")
    clip = models.ForeignKey(Clip, models.SET_NULL, null=True, related_name="candidates")
    rank = models.PositiveIntegerField()
    similarity = models.FloatField()
    outcome = models.CharField(max_length=20, choices=Outcome.choices, default=Outcome.OPEN)
    escalated = models.BooleanField(default=False, help_text="contested after round one, so in round two")
    grade = models.PositiveSmallIntegerField(null=True, help_text="the final grade, once settled")
    rule = models.CharField(
        max_length=40, blank=True, help_text="the version of the consensus that settled it"
    )
    truth = models.PositiveSmallIntegerField(null=True, help_text="the lead's own grade, in exams and checks")
    why = models.TextField(blank=True, help_text="explains the truth to who missed it")
    imported_as = models.TextField(blank=True, help_text="the pair's id in the ratings that were imported")
    repeats = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", help_text="the earlier pair that a check repeats"
    )

    objects = CandidateQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["query", "rank"], name="one_candidate_per_rank"),
            models.UniqueConstraint(fields=["query", "moment"], name="one_candidate_per_moment"),
            models.CheckConstraint(condition=Q(rank__gte=1), name="ranks_start_at_one"),
            models.CheckConstraint(
                condition=Q(outcome__in=["settled", "adjudicated"], grade__isnull=False, grade__lte=4)
                | (~Q(outcome__in=["settled", "adjudicated"]) & Q(grade__isnull=True)),
                name="final_grade_exactly_when_settled",
            ),
            models.CheckConstraint(
                condition=Q(truth__isnull=True) | Q(truth__lte=4), name="truth_from_0_to_4"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.query_id}-{self.rank}"

    @property
    def needs_the_lead(self) -> bool:
        """Whether no consensus can give it a grade any more, so that only the lead can."""
        return self.outcome in (Candidate.Outcome.DISCARDED, Candidate.Outcome.FLAGGED)

    @property
    def is_open(self) -> bool:
        return self.outcome == Candidate.Outcome.OPEN

    @property
    def is_contested(self) -> bool:
        return self.outcome == Candidate.Outcome.CONTESTED

    @property
    def is_flagged(self) -> bool:
        return self.outcome == Candidate.Outcome.FLAGGED

    def counted_grades(self, rounds: int = 2) -> list[int]:
        """The grades that count, of the first rounds."""
        last = ANNOTATORS * rounds
        return [
            judgement.grade
            for judgement in self.judgements.all()
            if judgement.seat and judgement.seat <= last
        ]

    def settle(self, rounds: int, grades: list[int], *, final: bool = False) -> None:
        """Turn grades into the stored outcome: the one place where this is done.

        Parameters
        ----------
        rounds
            Complete rounds that the grades are from, 1 or 2.
        grades
            Those that count. Fewer than the rounds ask for: somebody flagged the candidate.
        final
            Whether nobody grades any more, as in imported ratings: what has not settled is discarded.
        """
        outcome = consensus(grades, self.query.campaign.tolerance)
        self.outcome = Candidate.Outcome(outcome.status)
        if final and self.outcome != Candidate.Outcome.SETTLED:
            self.outcome = Candidate.Outcome.DISCARDED
        elif not final and len(grades) < ANNOTATORS * rounds:
            self.outcome = Candidate.Outcome.FLAGGED
        self.grade = outcome.grade if self.outcome == Candidate.Outcome.SETTLED else None
        self.escalated = self.escalated or self.outcome == Candidate.Outcome.CONTESTED
        self.rule = RULE


class BatchQuerySet(models.QuerySet["Batch"]):
    def in_campaign(self, campaign: Campaign) -> BatchQuerySet:
        return self.filter(query__campaign=campaign)

    def in_pool(self, campaign: Campaign) -> BatchQuerySet:
        return self.in_campaign(campaign).filter(kind=Kind.POOL, query__withdrawn__isnull=True)

    def claimable_by(self, annotator: Membership) -> BatchQuerySet:
        """Open batches with a free place, that the annotator neither holds nor has judged; fullest first."""
        here = annotator.assignments.filter(batch=OuterRef("pk"))
        held = here.filter(~Q(state="lapsed") | Q(submitted__isnull=False))
        elsewhere = ~Q(assignment__batch=F("candidate__batch"))  # in an earlier edition
        judged = annotator.judgements.filter(candidate__batch=OuterRef("pk"))
        judged = judged.filter(elsewhere | Q(reopening__isnull=False))
        flagged = Flag.objects.filter(elsewhere, assignment__annotator=annotator)
        flagged = flagged.filter(candidate__batch=OuterRef("pk"))
        free = self.in_campaign(annotator.campaign).filter(state=Batch.State.OPEN, taken__lt=ANNOTATORS)
        free = free.filter(kind__in=CLAIMED, query__withdrawn__isnull=True)
        before = Exists(held) | Exists(judged) | Exists(flagged)
        return free.exclude(before).order_by("-round", "-taken", "pk")

    def unfinished(self) -> BatchQuerySet:
        return self.filter(state__in=[Batch.State.PREPARING, Batch.State.OPEN])

    def to_review(self) -> BatchQuerySet:
        """Where everything of a query and number is settled: the newest edition, which stands for all."""
        same = Batch.objects.filter(query=OuterRef("query"), number=OuterRef("number"))
        settled = self.filter(state=Batch.State.SETTLED, kind=Kind.POOL, query__withdrawn__isnull=True)
        newest = settled.exclude(Exists(same.filter(edition__gt=OuterRef("edition"))))
        return newest.exclude(Exists(same.unfinished()))


class Batch(models.Model):
    """Up to twenty candidates of one query, judged together: in round one by two annotators, those contested
    in round two by two others."""

    class State(models.TextChoices):
        PREPARING = "preparing"  # its clips are being cut
        OPEN = "open"
        SETTLED = "settled"  # every candidate has its outcome; the lead's review is next
        REVIEWED = "reviewed"
        REPLACED = "replaced"  # all its candidates were reopened, in another edition

    query = models.ForeignKey(Query, models.CASCADE, related_name="batches")
    number = models.PositiveSmallIntegerField()
    edition = models.PositiveSmallIntegerField(default=1, help_text="later ones hold reopened candidates")
    kind = models.CharField(
        max_length=10, choices=Kind.choices, default=Kind.POOL, help_text="as its query's"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.PREPARING)
    round = models.PositiveSmallIntegerField(default=1)
    taken = models.PositiveSmallIntegerField(
        default=0, help_text="places of this round that are held or done"
    )

    objects = BatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["query", "number", "edition"], name="one_batch_per_number"),
            models.CheckConstraint(
                condition=Q(number__in=[1, 2]) | ~Q(kind="pool"), name="never_a_third_batch_of_a_query"
            ),
            models.CheckConstraint(condition=Q(round__in=[1, 2]), name="never_a_third_round"),
            models.CheckConstraint(condition=Q(taken__lte=ANNOTATORS), name="two_hands_in_a_round"),
        ]
        indexes = [models.Index(fields=["state", "taken"])]

    def __str__(self) -> str:
        return f"batch {self.number} of “{self.query.text}”"

    @property
    def is_done(self) -> bool:
        """Whether nobody judges in it any more."""
        return self.state not in (Batch.State.PREPARING, Batch.State.OPEN)

    @property
    def in_round(self) -> CandidateQuerySet:
        """The candidates that the present round hands out."""
        held = Candidate.objects.filter(batch=self)
        return held if self.round == 1 else held.escalated()

    def open(self) -> None:
        """Let annotators claim it: its clips are cut, or known to be missing."""
        Batch.objects.filter(pk=self.pk, state=Batch.State.PREPARING).update(state=Batch.State.OPEN)

    def hand_to(self, annotator: Membership) -> Assignment:
        """Give a free place to the annotator. The caller holds this row's lock."""
        used = set(self.assignments.holding().filter(round=self.round).values_list("slot", flat=True))
        slot = 2 if 1 in used else 1
        assignment = self.assignments.lease_out(self, annotator, self.round, slot)
        self.taken += 1
        self.save(update_fields=["taken"])
        return assignment

    def lend_to(self, annotator: Membership, round: int = 1) -> Assignment:
        """Give it to the annotator without taking up a place: exams and checks are judged by anybody, uncounted."""
        return self.assignments.lease_out(self, annotator, round, slot=None)

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

    @property
    def editions(self) -> BatchQuerySet:
        """All of its number, itself among them; candidates that are reopened go into one more."""
        return Batch.objects.filter(query=self.query_id, number=self.number)

    @property
    def newest(self) -> Batch:
        return self.editions.select_related("query__campaign").latest("edition")

    @property
    def whole(self) -> CandidateQuerySet:
        """The candidates of its number, in whichever edition they are."""
        return Candidate.objects.filter(batch__in=self.editions)
