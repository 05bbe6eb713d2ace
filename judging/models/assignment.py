"""Assignments: a batch in one annotator's hands, for as long as the lease lasts."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from judging.errors import JudgingError, KeyReused, Stale, WrongState
from judging.models.campaign import Membership
from judging.models.judgement import Flag, Judgement, Revision
from judging.models.pool import ANNOTATORS, Batch, Candidate
from judging.transactions import all_or_nothing, locked


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

    @all_or_nothing
    def claim(self, annotator: Membership) -> Assignment | None:
        """The batch in the annotator's hands, or a free one put there; None when there is nothing to judge."""
        # One claim at a time for each person: two tabs get the same batch.
        annotator = locked(Membership.objects.filter(pk=annotator.pk)).select_related("campaign").get()
        if not annotator.may_judge:
            raise WrongState("Your membership of this campaign is not that of an active annotator.")
        if mine := locked(self.live().filter(annotator=annotator)).first():
            return mine.renew()
        self._lapse_expired(annotator)
        batch = self._free_batch(annotator)
        return batch.hand_to(annotator) if batch else None

    def _free_batch(self, annotator: Membership) -> Batch | None:
        free = Batch.objects.claimable_by(annotator)
        # Rows that others are claiming are skipped, so that nobody waits; if that leaves nothing, wait for one.
        return locked(free, skip_locked=True).first() or locked(free).first()

    def _lapse_expired(self, annotator: Membership) -> None:
        for assignment in self.expired().filter(annotator__campaign=annotator.campaign_id):
            assignment.lapse()

    def lease_out(self, batch: Batch, annotator: Membership, slot: int) -> Assignment:
        """The annotator's assignment to that place: a new one, or the one that had lapsed, with a new fence."""
        place = {"round": batch.round, "slot": slot, "lease": lease_end(), "state": Assignment.State.LIVE}
        # In another round the places are other candidates: an open page of the old round must not write into them.
        another = self.filter(batch=batch, annotator=annotator).exclude(round=batch.round)
        another.update(token=secrets.token_urlsafe())
        self.update_or_create(
            batch=batch,
            annotator=annotator,
            defaults=place | {"fence": F("fence") + 1},
            create_defaults=place,
        )
        return self.get(batch=batch, annotator=annotator)


class Assignment(models.Model):
    class State(models.TextChoices):
        LIVE = "live"
        SUBMITTED = "submitted"
        LAPSED = "lapsed"

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="assignments")
    annotator = models.ForeignKey(Membership, models.PROTECT, related_name="assignments")
    token = models.CharField(max_length=64, unique=True, default=secrets.token_urlsafe)
    round = models.PositiveSmallIntegerField()
    slot = models.PositiveSmallIntegerField()
    lease = models.DateTimeField()
    fence = models.PositiveIntegerField(default=1)
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
            models.CheckConstraint(condition=Q(round__in=[1, 2]), name="assignment_of_round_one_or_two"),
            models.CheckConstraint(condition=Q(slot__in=[1, 2]), name="assignment_of_slot_one_or_two"),
        ]
        indexes = [models.Index(fields=["state", "lease"])]

    def __str__(self) -> str:
        return self.token

    @property
    def seat(self) -> int:
        """The place of its judgements among the four that count for a candidate: 1 and 2, then 3 and 4."""
        return ANNOTATORS * (self.round - 1) + self.slot

    def places(self) -> list[int]:
        """The keys of the candidates it hands out, in an order of its own that tells nothing about rank."""
        seed = self.annotator.campaign.order_seed

        def place(candidate: int) -> bytes:
            return hashlib.sha256(f"{seed}:{self.pk}:{candidate}".encode()).digest()

        return sorted(self.batch.of_round(self.round).values_list("pk", flat=True), key=place)

    def handed(self) -> list[Candidate]:
        """What it hands out, place by place."""
        places = self.places()
        rows = Candidate.objects.select_related("moment").in_bulk(places)
        return [rows[candidate] for candidate in places]

    def at(self, position: int) -> int:
        """The key of the candidate at a position from 1."""
        places = self.places()
        if not 1 <= position <= len(places):
            raise JudgingError(f"position: {position}; expected 1 to {len(places)}")
        return places[position - 1]

    def renew(self) -> Assignment:
        """Hold it for another lease; if the last one had run out, with a new fence."""
        Assignment.objects.filter(pk=self.pk, lease__lte=Now()).update(fence=F("fence") + 1)
        Assignment.objects.filter(pk=self.pk).update(lease=lease_end())
        self.refresh_from_db()
        return self

    @all_or_nothing
    def resume(self) -> Assignment:
        """Take it up again after the lease ran out, under a new fence, if nobody else has its place."""
        annotator = locked(Membership.objects.filter(pk=self.annotator_id)).get()
        batch = locked(Batch.objects.filter(pk=self.batch_id)).get()
        self.refresh_from_db()
        if self.state == Assignment.State.LIVE:
            return self.renew()
        free = batch.state == Batch.State.OPEN and batch.round == self.round and batch.taken < ANNOTATORS
        busy = annotator.assignments.live().exists()
        if self.state == Assignment.State.SUBMITTED or busy or not free or not annotator.may_judge:
            raise Stale(
                "This batch has gone to others meanwhile, or is submitted. What you saved is kept on record."
            )
        return batch.hand_to(annotator)

    def lapse(self) -> None:
        """Free its place, unless somebody renews it or submits this very moment."""
        batch = locked(Batch.objects.filter(pk=self.batch_id), skip_locked=True).first()
        if batch and Assignment.objects.expired().filter(pk=self.pk).update(state=Assignment.State.LAPSED):
            batch.take_back()

    def judge(
        self, position: int, grade: int, *, fence: int, key: UUID, seconds: float | None = None
    ) -> Revision:
        """Store a grade. The same key again gives the first answer again."""
        return self._say(self.at(position), grade, fence, key, seconds)

    @all_or_nothing
    def _say(self, candidate: int, grade: int, fence: int, key: UUID, seconds: float | None) -> Revision:
        if earlier := Revision.objects.filter(key=key).select_related("judgement").first():
            said = (earlier.judgement.assignment_id, earlier.judgement.candidate_id, earlier.grade)
            if said == (self.pk, candidate, grade):
                return earlier
            raise KeyReused(
                f"key: {key} came before with another grade or place; expected a new key for each press"
            )
        self._hold(fence)
        judgement, _ = Judgement.objects.get_or_create(
            candidate_id=candidate, annotator=self.annotator, defaults={"assignment": self, "grade": grade}
        )
        return judgement.revise(grade, key, seconds)

    def flag(self, position: int, reason: str, comment: str, *, fence: int) -> Flag:
        """Say that a candidate cannot be judged as it is. Saying it again replaces what was said."""
        return self._flag(self.at(position), reason, comment, fence)

    @all_or_nothing
    def _flag(self, candidate: int, reason: str, comment: str, fence: int) -> Flag:
        self._hold(fence)
        flag, _ = Flag.objects.update_or_create(
            assignment=self, candidate_id=candidate, defaults={"reason": reason, "comment": comment}
        )
        return flag

    @all_or_nothing
    def submit(self, fence: int) -> None:
        """Hand the batch in: its judgements count, and with the second annotator's the round is settled."""
        batch = locked(Batch.objects.filter(pk=self.batch_id)).get()
        self.refresh_from_db()
        if self.state == Assignment.State.SUBMITTED:
            return
        self._hold(fence)
        if missing := self.unanswered():
            raise WrongState(
                f"Not judged yet: {', '.join(map(str, missing))}. Grade or flag each, then submit."
            )
        handed = batch.of_round(self.round)
        Judgement.objects.filter(assignment=self, candidate__in=handed).update(seat=self.seat)
        Assignment.objects.filter(pk=self.pk).update(state=Assignment.State.SUBMITTED, submitted=Now())
        self.refresh_from_db()
        batch.conclude()

    def unanswered(self) -> list[int]:
        """Positions with neither a grade nor a flag."""
        answered = set(self.judgements.values_list("candidate", flat=True))
        answered |= set(self.flags.values_list("candidate", flat=True))
        return [position for position, candidate in enumerate(self.places(), 1) if candidate not in answered]

    def _hold(self, fence: int) -> None:
        """Renew the lease, which locks the row; a stale writer is refused."""
        held = Assignment.objects.live().filter(pk=self.pk, fence=fence, lease__gt=Now())
        if not held.update(lease=lease_end()):
            raise Stale(
                "You were away too long, or it was submitted or opened elsewhere. Open your work again."
            )


def lease_end() -> models.expressions.CombinedExpression:
    return Now() + timedelta(seconds=settings.ASSIGNMENT_LEASE)
