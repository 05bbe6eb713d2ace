"""Assignments: a batch in one annotator's hands, for as long as the lease lasts."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext

from base.errors import BadValue, Stale
from base.transactions import all_or_nothing, locked
from campaigns.models.membership import Membership
from judging.models.judgement import Judgement
from judging.models.pool import ANNOTATORS, Batch, Candidate, CandidateQuerySet


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def live(self) -> AssignmentQuerySet:
        return self.filter(state=Assignment.State.LIVE)

    def submitted(self) -> AssignmentQuerySet:
        return self.filter(state=Assignment.State.SUBMITTED)

    def holding(self) -> AssignmentQuerySet:
        """Those that take up a place of their batch."""
        return self.filter(state__in=[Assignment.State.LIVE, Assignment.State.SUBMITTED])

    def expired(self) -> AssignmentQuerySet:
        return self.live().filter(lease__lte=Now())

    def lease_out(self, batch: Batch, annotator: Membership, round: int, slot: int | None) -> Assignment:
        """The annotator's assignment to that place: a new one, or the one that had lapsed, with a new fence."""
        place = {"round": round, "slot": slot, "lease": lease_end(), "state": Assignment.State.LIVE}
        place |= {"guideline": annotator.campaign.guideline.version, "submitted": None}
        # In another round the places are other candidates: an open page of the old round must not write into them.
        another = self.filter(batch=batch, annotator=annotator).exclude(round=round)
        another.update(token=secrets.token_urlsafe())
        self.update_or_create(
            batch=batch,
            annotator=annotator,
            defaults=place | {"fence": F("fence") + 1},
            create_defaults=place,
        )
        return self.get(batch=batch, annotator=annotator)


def lease_end() -> models.expressions.CombinedExpression:
    return Now() + timedelta(seconds=settings.ASSIGNMENT_LEASE)


class Assignment(models.Model):
    class State(models.TextChoices):
        LIVE = "live"
        SUBMITTED = "submitted"
        LAPSED = "lapsed"

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="assignments")
    annotator = models.ForeignKey(Membership, models.PROTECT, related_name="assignments")
    token = models.CharField(max_length=64, unique=True, default=secrets.token_urlsafe)
    round = models.PositiveSmallIntegerField()
    slot = models.PositiveSmallIntegerField(
        null=True, help_text="none in exams and checks, which all may take"
    )
    lease = models.DateTimeField()
    fence = models.PositiveIntegerField(default=1)
    guideline = models.PositiveIntegerField(default=0, help_text="the version in force when it was claimed")
    state = models.CharField(max_length=10, choices=State.choices, default=State.LIVE)
    claimed = models.DateTimeField(db_default=Now())
    submitted = models.DateTimeField(null=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch", "round", "slot"],
                condition=~Q(state="lapsed"),
                name="one_assignment_per_place",
            ),
            models.UniqueConstraint(
                fields=["batch", "annotator"], name="one_assignment_per_batch_and_annotator"
            ),
            models.UniqueConstraint(
                fields=["annotator"], condition=Q(state="live"), name="one_live_assignment_per_annotator"
            ),
            models.CheckConstraint(
                condition=Q(round__in=[1, 2]) | Q(slot__isnull=True), name="assignment_of_round_one_or_two"
            ),
            models.CheckConstraint(condition=Q(slot__in=[1, 2]), name="assignment_of_slot_one_or_two"),
        ]
        indexes = [models.Index(fields=["state", "lease"]), models.Index(fields=["submitted"])]

    def __str__(self) -> str:
        return self.token

    @property
    def seat(self) -> int | None:
        """The place of its judgements among the four that count for a candidate: 1 and 2, then 3 and 4."""
        return None if self.slot is None else ANNOTATORS * (self.round - 1) + self.slot

    @property
    def is_again(self) -> bool:
        """Whether it hands out what came back in an exam."""
        return self.slot is None and self.round > 1

    @property
    def candidates(self) -> CandidateQuerySet:
        """What it hands out, in no order."""
        if self.is_again:
            back = Judgement.objects.filter(assignment=self, returned__isnull=False)
            return Candidate.objects.filter(pk__in=back.values("candidate"))
        held = Candidate.objects.filter(batch=self.batch_id)
        return held if self.round == 1 else held.filter(escalated=True)

    def places(self) -> list[int]:
        """The keys of the candidates it hands out, in an order of its own that tells nothing about rank."""
        seed = self.annotator.campaign.order_seed

        def place(candidate: int) -> bytes:
            return hashlib.sha256(f"{seed}:{self.pk}:{candidate}".encode()).digest()

        return sorted(self.candidates.values_list("pk", flat=True), key=place)

    def handed(self) -> list[Candidate]:
        """What it hands out, place by place."""
        places = self.places()
        rows = Candidate.objects.select_related("moment", "clip").in_bulk(places)
        return [rows[candidate] for candidate in places]

    def at(self, position: int) -> int:
        """The key of the candidate at a position from 1."""
        places = self.places()
        if not 1 <= position <= len(places):
            raise BadValue("position", str(position), f"1 to {len(places)}")
        return places[position - 1]

    def renew(self) -> Assignment:
        """Hold it for another lease; if the last one had run out, with a new fence."""
        Assignment.objects.filter(pk=self.pk, lease__lte=Now()).update(fence=F("fence") + 1)
        Assignment.objects.filter(pk=self.pk).update(lease=lease_end())
        self.refresh_from_db()
        return self

    @property
    def is_done(self) -> bool:
        """Whether the annotator handed it in; also if a lead has others judge it since."""
        return bool(self.submitted) or self.judgements.filter(reopening__isnull=False).exists()

    def give_back(self) -> None:
        """Free its place, handed in or not. The caller holds the batch's lock."""
        ended = {"state": Assignment.State.LAPSED, "fence": F("fence") + 1}
        Assignment.objects.filter(pk=self.pk).update(**ended)
        if self.slot:
            Batch.objects.get(pk=self.batch_id).take_back()

    def lapse(self) -> None:
        """Free its place, unless somebody renews it or submits this very moment."""
        batch = locked(Batch.objects.filter(pk=self.batch_id), skip_locked=True).first()
        expired = Assignment.objects.expired().filter(pk=self.pk)
        if batch and expired.update(state=Assignment.State.LAPSED) and self.slot:
            batch.take_back()

    @all_or_nothing
    def take_away(self) -> bool:
        """Free its place at once, whatever the lease; whether it was still in hand.

        Another fence and another address: the page that is open there neither writes nor takes it up again.
        """
        batch = locked(Batch.objects.filter(pk=self.batch_id)).get()
        held = Assignment.objects.live().filter(pk=self.pk)
        ended = {"state": Assignment.State.LAPSED, "fence": F("fence") + 1, "token": secrets.token_urlsafe()}
        taken = bool(held.update(**ended))
        if taken and self.slot:
            batch.take_back()
        return taken

    def unanswered(self) -> list[int]:
        """Positions with neither a grade nor a flag."""
        answered = set(self.judgements.standing().values_list("candidate", flat=True))
        answered |= set(self.flags.standing().values_list("candidate", flat=True))
        return [position for position, candidate in enumerate(self.places(), 1) if candidate not in answered]

    def hold(self, fence: int) -> None:
        """Renew the lease, which locks the row; a stale writer is refused."""
        held = Assignment.objects.live().filter(pk=self.pk, fence=fence, lease__gt=Now())
        if not held.update(lease=lease_end()):
            raise Stale(
                gettext(
                    "You were away too long, or it was submitted or opened elsewhere. Open your work again."
                )
            )
