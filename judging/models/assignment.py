"""Assignments: a batch that one annotator holds until the lease runs out."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Max, Q
from django.db.models.functions import Now
from django.utils.translation import gettext

from base.errors import BadValue, Stale
from base.transactions import all_or_nothing, locked
from campaigns.models.membership import Membership
from judging.models.judgement import Flag, Judgement
from judging.models.pool import ANNOTATORS, Batch, Candidate, CandidateQuerySet
from judging.models.states import AssignmentState


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def live(self) -> AssignmentQuerySet:
        return self.filter(state=Assignment.State.LIVE)

    def held(self) -> AssignmentQuerySet:
        """Return the live assignments whose lease runs."""
        return self.live().filter(lease__gt=Now())

    def submitted(self) -> AssignmentQuerySet:
        return self.filter(state=Assignment.State.SUBMITTED)

    def not_lapsed(self) -> AssignmentQuerySet:
        """Return the live and the submitted assignments: each of them occupies a slot, if it has one."""
        return self.filter(state__in=[Assignment.State.LIVE, Assignment.State.SUBMITTED])

    def expired(self) -> AssignmentQuerySet:
        """Return the live assignments whose lease has run out."""
        return self.live().filter(lease__lte=Now())

    def lease_out(self, batch: Batch, annotator: Membership, round: int, slot: int | None) -> Assignment:
        """Lease the batch to the annotator: in a new assignment, or in their lapsed one under a new fence."""
        fields: dict[str, Any] = {"round": round, "slot": slot, "lease": lease_end()}
        fields |= {"state": Assignment.State.LIVE, "began": Now(), "submitted": None}
        fields["guideline"] = annotator.campaign.guideline.version
        # Positions stand for other candidates in another round. A new token keeps the old page from writing.
        of_another_round = self.filter(batch=batch, annotator=annotator).exclude(round=round)
        if of_another_round.update(token=secrets.token_urlsafe()) and slot:
            self._ask_again(batch, annotator)
        self.update_or_create(
            batch=batch,
            annotator=annotator,
            defaults=fields | {"fence": F("fence") + 1},
            create_defaults=fields,
        )
        return self.get(batch=batch, annotator=annotator)

    def _ask_again(self, batch: Batch, annotator: Membership) -> None:
        """Have the annotator judge again what they said about the batch in another round."""
        said = {"assignment__batch": batch, "assignment__annotator": annotator}
        Judgement.objects.filter(**said).update(returned=Now())
        Flag.objects.filter(**said).update(taken_back=Now())


def lease_end() -> models.expressions.CombinedExpression:
    return Now() + timedelta(seconds=settings.ASSIGNMENT_LEASE)


class Assignment(models.Model):
    """A batch that was given to one annotator. Its fence rises each time the lease is taken up again."""

    State = AssignmentState

    # Without an index of their own: those of the constraints and of Meta begin with the same column.
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="assignments", db_index=False)
    annotator = models.ForeignKey(Membership, models.PROTECT, related_name="assignments", db_index=False)
    token = models.CharField(max_length=64, unique=True, default=secrets.token_urlsafe)
    round = models.PositiveSmallIntegerField()
    slot = models.PositiveSmallIntegerField(
        null=True, help_text="1 or 2; none in exams and checks, which any number of annotators may take"
    )
    lease = models.DateTimeField()
    fence = models.PositiveIntegerField(default=1)
    guideline = models.PositiveIntegerField(default=0, help_text="the version in force when it was claimed")
    state = models.CharField(max_length=10, choices=State.choices, default=State.LIVE)
    claimed = models.DateTimeField(db_default=Now())
    began = models.DateTimeField(
        db_default=Now(), help_text="when the lease began; extending the lease does not change it"
    )
    submitted = models.DateTimeField(null=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch", "round", "slot"],
                condition=~Q(state=AssignmentState.LAPSED),
                name="one_assignment_per_slot",
            ),
            models.UniqueConstraint(
                fields=["batch", "annotator"], name="one_assignment_per_batch_and_annotator"
            ),
            models.UniqueConstraint(
                fields=["annotator"],
                condition=Q(state=AssignmentState.LIVE),
                name="one_live_assignment_per_annotator",
            ),
            models.CheckConstraint(
                condition=Q(round__in=[1, 2]) | Q(slot__isnull=True), name="assignment_of_round_one_or_two"
            ),
            models.CheckConstraint(condition=Q(slot__in=[1, 2]), name="assignment_of_slot_one_or_two"),
        ]
        indexes = [
            models.Index(fields=["state", "lease"]),
            models.Index(fields=["annotator", "state", "submitted"]),
        ]

    def __str__(self) -> str:
        return self.token

    @property
    def seat(self) -> int | None:
        """The seat of its judgements among the four that count: 1 or 2 in round one, 3 or 4 in round two."""
        return None if self.slot is None else ANNOTATORS * (self.round - 1) + self.slot

    @property
    def is_again(self) -> bool:
        """Whether it holds the pairs of an exam that the annotator has to judge again."""
        return self.slot is None and self.round > 1

    @property
    def presses(self) -> int:
        """The number of the last press that is stored of it; 0 if there is none."""
        flags = Flag.recorded.filter(assignment=self)
        numbers = self.judgements.aggregate(last=Max("revisions__press")), flags.aggregate(last=Max("press"))
        return max(number["last"] or 0 for number in numbers)

    @property
    def candidates(self) -> CandidateQuerySet:
        """The candidates that the annotator judges in this assignment, in no particular order."""
        if self.is_again:
            returned = Judgement.objects.filter(assignment=self, returned__isnull=False)
            return Candidate.objects.filter(pk__in=returned.values("candidate"))
        of_batch = Candidate.objects.filter(batch=self.batch_id)
        return of_batch if self.round == 1 else of_batch.filter(escalated=True)

    def candidate_order(self) -> list[int]:
        """Return the candidates' primary keys in the order of this assignment, which says nothing about ranks."""
        seed = self.annotator.campaign.order_seed

        def shuffled(candidate: int) -> bytes:
            return hashlib.sha256(f"{seed}:{self.pk}:{candidate}".encode()).digest()

        return sorted(self.candidates.values_list("pk", flat=True), key=shuffled)

    def candidates_in_order(self) -> list[Candidate]:
        """Return the candidates in the order in which the annotator gets them."""
        order = self.candidate_order()
        by_key = Candidate.objects.select_related("moment", "clip").in_bulk(order)
        return [by_key[candidate] for candidate in order]

    def candidate_at(self, position: int) -> int:
        """Return the primary key of the candidate at a position, counted from 1.

        Raises
        ------
        BadValue
            If the assignment has no such position.
        """
        order = self.candidate_order()
        if not 1 <= position <= len(order):
            raise BadValue("position", str(position), f"1 to {len(order)}")
        return order[position - 1]

    def renew_lease(self) -> Assignment:
        """Extend the lease. If it has run out, begin a new one under a new fence."""
        expired = Assignment.objects.filter(pk=self.pk, lease__lte=Now())
        expired.update(fence=F("fence") + 1, began=Now())
        Assignment.objects.filter(pk=self.pk).update(lease=lease_end())
        self.refresh_from_db()
        return self

    @property
    def is_done(self) -> bool:
        """Whether the annotator submitted it, even if a lead has reopened it since."""
        return bool(self.submitted) or self.judgements.filter(reopening__isnull=False).exists()

    def give_back(self) -> None:
        """End the assignment, live or submitted, and free its slot. The caller holds the batch's lock."""
        ended = {"state": Assignment.State.LAPSED, "fence": F("fence") + 1}
        Assignment.objects.filter(pk=self.pk).update(**ended)
        if self.slot:
            Batch.objects.get(pk=self.batch_id).free_slot()

    def lapse(self) -> None:
        """End an expired assignment and free its slot, unless it is renewed or submitted at this moment."""
        batch = locked(Batch.objects.filter(pk=self.batch_id), skip_locked=True).first()
        expired = Assignment.objects.expired().filter(pk=self.pk)
        if batch and expired.update(state=Assignment.State.LAPSED) and self.slot:
            batch.free_slot()

    @all_or_nothing
    def take_away(self) -> bool:
        """End the assignment at once, although its lease still runs, and free its slot.

        It gets a new fence and a new token, so that the annotator's open page can neither write nor resume it.

        Returns
        -------
        bool
            False if the assignment was not live any more; then nothing changes.
        """
        batch = locked(Batch.objects.filter(pk=self.batch_id)).get()
        live = Assignment.objects.live().filter(pk=self.pk)
        ended = {"state": Assignment.State.LAPSED, "fence": F("fence") + 1, "token": secrets.token_urlsafe()}
        taken = bool(live.update(**ended))
        if taken and self.slot:
            batch.free_slot()
        return taken

    def unanswered(self) -> list[int]:
        """Return the positions that have neither a grade nor a flag."""
        answered = set(self.judgements.not_returned().values_list("candidate", flat=True))
        answered |= set(self.flags.not_returned().values_list("candidate", flat=True))
        return [
            position
            for position, candidate in enumerate(self.candidate_order(), 1)
            if candidate not in answered
        ]

    def extend_lease(self, fence: int) -> None:
        """Extend the lease for a writer that has the present fence. This locks the row.

        Raises
        ------
        Stale
            If the fence is an old one, the lease has run out, or the assignment is not live any more.
        """
        live = Assignment.objects.held().filter(pk=self.pk, fence=fence)
        if not live.update(lease=lease_end()):
            raise Stale(
                gettext(
                    "You were away too long, or it was submitted or opened elsewhere. Open your work again."
                )
            )
