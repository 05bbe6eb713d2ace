"""Assignments: a batch in one annotator's hands, for as long as the lease lasts."""

from __future__ import annotations

import hashlib
import secrets
from uuid import UUID

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext

from judging import checks
from judging.clock import bounded, together
from judging.errors import JudgingError, KeyReused, Stale, WrongState
from judging.models.handing_out import AssignmentQuerySet, lease_end
from judging.models.judgement import Flag, Judgement, Revision
from judging.models.membership import Membership
from judging.models.pool import ANNOTATORS, Batch, Candidate, CandidateQuerySet, Kind
from judging.models.sitting import Sitting
from judging.reviewing import follow_policy
from judging.transactions import all_or_nothing, locked


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
        return self.batch.of_round(self.round)

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
        if batch.query.withdrawn:
            raise Stale(gettext("This query is no longer judged. What you saved is kept on record."))
        lent = self.slot is None
        free = batch.state == Batch.State.OPEN and batch.round == self.round and batch.taken < ANNOTATORS
        if self.is_done or not (lent or free) or not annotator.may_judge:
            raise Stale(
                gettext(
                    "This batch has gone to others meanwhile, or is submitted. What you saved is kept on record."
                )
            )
        if annotator.assignments.live().exists():
            raise WrongState(gettext("You have another batch in your hands. Submit that one first."))
        return batch.lend_to(annotator, self.round) if lent else batch.hand_to(annotator)

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

    def judge(
        self,
        position: int,
        grade: int,
        *,
        fence: int,
        key: UUID,
        seconds: float | None = None,
        input: str = "",
    ) -> Revision:
        """Store a grade, which takes back a flag. The same key again gives the first answer again."""
        return self._say(self.at(position), grade, fence, key, seconds, input)

    @all_or_nothing
    def _say(
        self, candidate: int, grade: int, fence: int, key: UUID, seconds: float | None, input: str
    ) -> Revision:
        if earlier := Revision.objects.filter(key=key).select_related("judgement").first():
            said = (earlier.judgement.assignment_id, earlier.judgement.candidate_id, earlier.grade)
            if said == (self.pk, candidate, grade):
                return earlier
            raise KeyReused(
                f"key: {key} came before with another grade or place; expected a new key for each press"
            )
        self._hold(fence)
        seconds = bounded(self, together(self._instead_of_flag(candidate), seconds))
        judgement, _ = Judgement.objects.get_or_create(
            candidate_id=candidate, annotator=self.annotator, defaults={"assignment": self, "grade": grade}
        )
        return judgement.revise(grade, key, seconds, input)

    def flag(
        self,
        position: int,
        reason: str,
        comment: str,
        *,
        fence: int,
        key: UUID,
        seconds: float | None = None,
    ) -> Flag:
        """Say that a candidate cannot be judged as it is; a grade that it had does not count then.

        The same key again changes nothing; another flag replaces the first.
        """
        return self._flag(self.at(position), reason, comment, fence, key, seconds)

    @all_or_nothing
    def _flag(
        self, candidate: int, reason: str, comment: str, fence: int, key: UUID, seconds: float | None
    ) -> Flag:
        if earlier := Flag.said.filter(key=key).first():
            said = (earlier.assignment_id, earlier.candidate_id, earlier.reason, earlier.comment)
            if said == (self.pk, candidate, reason, comment):
                return earlier
            raise KeyReused(
                f"key: {key} came before with another flag or place; expected a new key for each press"
            )
        self._hold(fence)
        seconds = bounded(self, together(self._instead_of_flag(candidate), seconds))
        return self.flags.create(
            candidate_id=candidate, reason=reason, comment=comment, seconds=seconds, key=key
        )

    def unflag(self, position: int, *, fence: int, key: UUID) -> None:
        """Take a flag back: the grade that was there counts again. The same key again changes nothing."""
        self._unflag(self.at(position), fence, key)

    @all_or_nothing
    def _unflag(self, candidate: int, fence: int, key: UUID) -> None:
        self._hold(fence)
        if not Flag.said.filter(taken_back_key=key).exists():
            self.flags.filter(candidate=candidate).update(taken_back=Now(), taken_back_key=key)

    def _instead_of_flag(self, candidate: int) -> float | None:
        """Take back what flag there is, for what is said instead; returns the seconds that go to that, also of
        flags that were taken back before."""
        flags = Flag.said.filter(assignment=self, candidate=candidate)
        if not (spent := list(flags.values_list("seconds", flat=True))):
            return None
        flags.filter(taken_back=None).update(taken_back=Now())
        flags.update(seconds=None)
        known = [seconds for seconds in spent if seconds is not None]
        return sum(known) if known else None

    @all_or_nothing
    def submit(self, fence: int) -> None:
        """Hand the batch in: its judgements count, and with the second annotator's the round is settled."""
        if self.slot is None:  # what follows may touch the membership; it is locked first, as in a claim
            locked(Membership.objects.filter(pk=self.annotator_id)).get()
        batch = locked(Batch.objects.filter(pk=self.batch_id)).get()
        self.refresh_from_db()
        if self.state == Assignment.State.SUBMITTED:
            return
        self._hold(fence)
        if missing := self.unanswered():
            places = ", ".join(map(str, missing))
            raise WrongState(
                gettext("Not judged yet: {places}. Grade or flag each, then submit.").format(places=places)
            )
        graded = self.candidates.exclude(pk__in=self.flags.values("candidate"))
        Judgement.objects.filter(assignment=self, candidate__in=graded).update(seat=self.seat)
        Assignment.objects.filter(pk=self.pk).update(state=Assignment.State.SUBMITTED, submitted=Now())
        self.refresh_from_db()
        if self.slot:
            batch.conclude()
            follow_policy(batch)
        elif batch.kind == Kind.EXAM:
            Sitting.objects.hand_in(self.annotator)
        elif batch.kind == Kind.CHECK:
            checks.weigh(self.annotator)

    def unanswered(self) -> list[int]:
        """Positions with neither a grade nor a flag."""
        answered = set(self.judgements.standing().values_list("candidate", flat=True))
        answered |= set(self.flags.standing().values_list("candidate", flat=True))
        return [position for position, candidate in enumerate(self.places(), 1) if candidate not in answered]

    def _hold(self, fence: int) -> None:
        """Renew the lease, which locks the row; a stale writer is refused."""
        held = Assignment.objects.live().filter(pk=self.pk, fence=fence, lease__gt=Now())
        if not held.update(lease=lease_end()):
            raise Stale(
                gettext(
                    "You were away too long, or it was submitted or opened elsewhere. Open your work again."
                )
            )
