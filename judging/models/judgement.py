"""Judgements and their revisions: nothing that was said is ever changed or lost."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from campaigns.models.campaign import Campaign
    from campaigns.models.membership import Membership


class JudgementQuerySet(models.QuerySet["Judgement"]):
    def standing(self) -> JudgementQuerySet:
        """All but those that came back in an exam and were not judged again yet."""
        again = Revision.objects.filter(judgement=OuterRef("pk"), at__gt=OuterRef("returned"))
        return self.filter(Q(returned__isnull=True) | Exists(again))


class Judgement(models.Model):
    """What one annotator thinks of one candidate; it counts from submission on, in one of four seats."""

    assignment = models.ForeignKey("judging.Assignment", models.PROTECT, related_name="judgements")
    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, related_name="judgements")
    annotator = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="judgements")
    grade = models.PositiveSmallIntegerField(help_text="of the last revision")
    seat = models.PositiveSmallIntegerField(null=True, help_text="1-4 when it counts, else nothing")
    returned = models.DateTimeField(null=True, help_text="when it came back in an exam, to be judged again")
    reopening = models.ForeignKey(
        "judging.Reopening",
        models.PROTECT,
        null=True,
        related_name="judgements",
        help_text="what took its seat",
    )

    objects = JudgementQuerySet.as_manager()

    class Meta:
        ordering = ["candidate", "seat"]
        constraints = [
            models.UniqueConstraint(
                fields=["candidate", "annotator"], name="nobody_judges_a_candidate_twice"
            ),
            models.UniqueConstraint(fields=["candidate", "seat"], name="one_judgement_per_seat"),
            models.CheckConstraint(condition=Q(grade__in=[0, 1, 2, 3, 4]), name="grade_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(seat__isnull=True) | Q(seat__in=[1, 2, 3, 4]),
                name="at_most_four_judgements_count",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.grade} by {self.annotator_id}"

    def revise(self, grade: int, key: UUID, seconds: float | None, input: str = "") -> Revision:
        """Add what is said now; the caller holds the assignment's lock."""
        revision = Revision.objects.create(
            judgement=self,
            number=self.revisions.count() + 1,
            grade=grade,
            key=key,
            seconds=seconds,
            input=input,
        )
        if self.grade != grade:
            self.grade = grade
            self.save(update_fields=["grade"])
        return revision


class Revision(models.Model):
    """One press of a key."""

    class Input(models.TextChoices):
        KEY = "key"
        POINTER = "pointer"
        TOUCH = "touch"

    judgement = models.ForeignKey("judging.Judgement", models.PROTECT, related_name="revisions")
    number = models.PositiveSmallIntegerField()
    grade = models.PositiveSmallIntegerField()
    seconds = models.FloatField(null=True, help_text="active ones; never more than the server's clock allows")
    input = models.CharField(max_length=10, choices=Input.choices, blank=True)
    key = models.UUIDField(unique=True, help_text="the browser's idempotency key")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["judgement", "number"]
        constraints = [
            models.UniqueConstraint(fields=["judgement", "number"], name="revisions_are_numbered"),
            models.CheckConstraint(condition=Q(grade__in=[0, 1, 2, 3, 4]), name="revised_grade_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="seconds_are_not_negative"
            ),
        ]
        indexes = [models.Index(fields=["at"])]

    def __str__(self) -> str:
        return f"{self.grade}, revision {self.number}"


class FlagQuerySet(models.QuerySet["Flag"]):
    def standing(self) -> FlagQuerySet:
        """All but those of an exam's pair that came back since."""
        pair = {"assignment": OuterRef("assignment"), "candidate": OuterRef("candidate")}
        return self.exclude(Exists(Judgement.objects.filter(**pair, returned__gte=OuterRef("at"))))

    def waiting(self, campaign: Campaign | OuterRef) -> FlagQuerySet:
        """Those of batches handed in that no lead has dealt with."""
        pool = self.filter(candidate__query__campaign=campaign, candidate__query__kind="pool")
        return pool.filter(handled=None, candidate__query__withdrawn=None, assignment__state="submitted")

    def handle(self, lead: Membership) -> None:
        """Note that the lead has dealt with them. Doing it twice keeps the first time."""
        self.filter(handled=None).update(handled=Now(), handled_by=lead)


AllFlags = models.Manager.from_queryset(FlagQuerySet)


class FlagManager(AllFlags["Flag"]):
    """Flags as they stand: those that were taken back are on record only."""

    def get_queryset(self) -> FlagQuerySet:
        return FlagQuerySet(self.model, using=self._db).filter(taken_back=None)


class Flag(models.Model):
    class Reason(models.TextChoices):
        CLIP = "clip", _("The clip is missing or broken")
        QUERY = "query", _("The query is unclear")
        OTHER = "other", _("I cannot judge this")

    assignment = models.ForeignKey("judging.Assignment", models.PROTECT, related_name="flags")
    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=10, choices=Reason.choices)
    comment = models.CharField(max_length=500, blank=True)
    seconds = models.FloatField(null=True, help_text="as of a judgement, until they go to another saying")
    handled = models.DateTimeField(null=True, help_text="when the lead had dealt with it")
    handled_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    key = models.UUIDField(null=True, unique=True, help_text="the browser's idempotency key")
    taken_back = models.DateTimeField(null=True)
    taken_back_key = models.UUIDField(null=True, unique=True, help_text="that of taking it back")

    objects = FlagManager()
    recorded = AllFlags["Flag"]()  # also those that were taken back

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "candidate"],
                condition=Q(taken_back__isnull=True),
                name="one_flag_per_assignment_and_candidate",
            )
        ]

    def __str__(self) -> str:
        return self.get_reason_display()
