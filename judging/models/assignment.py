"""Assignments: a batch that one annotator holds until the lease runs out."""

from __future__ import annotations

import json
import secrets
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import F, Max, Q, Subquery
from django.db.models.functions import Now
from django.utils.translation import gettext

from base.database import with_clock
from base.errors import BadValue, Stale
from base.transactions import all_or_nothing, locked
from campaigns.models.membership import Membership
from judging.consensus import ANNOTATORS
from judging.models.judgement import COUNTED, REPORTED, Flag, FlagQuerySet, Judgement, JudgementQuerySet
from judging.models.pool import Batch, Candidate, CandidateQuerySet
from judging.models.states import AssignmentState

AHEAD = 3  # batches that an annotator may hold beside the one in hand


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def live(self) -> AssignmentQuerySet:
        return self.filter(state=Assignment.State.LIVE)

    def alone(self) -> AssignmentQuerySet:
        """Return those that an annotator opens, without those that are judged in the places of another."""
        return self.filter(joined_to=None)

    def in_turn(self) -> AssignmentQuerySet:
        """Return what somebody holds in the order in which it is judged: the batch in hand, then those loaded ahead."""
        return self.live().alone().order_by("turn")

    def held(self) -> AssignmentQuerySet:
        """Return the live assignments whose lease runs."""
        return self.live().alone().filter(lease__gt=Now())

    def submitted(self) -> AssignmentQuerySet:
        return self.filter(state=Assignment.State.SUBMITTED)

    def not_lapsed(self) -> AssignmentQuerySet:
        """Return the live and the submitted assignments: each of them occupies a slot, if it has one."""
        return self.filter(state__in=[Assignment.State.LIVE, Assignment.State.SUBMITTED])

    def expired(self) -> AssignmentQuerySet:
        """Return the live assignments whose lease has run out."""
        return self.live().alone().filter(lease__lte=Now())

    def saved_since(self, instant: datetime) -> AssignmentQuerySet:
        """Return those in which something may have been said since then, found by an index for each annotator.

        Each save extends the lease, so the lease did not run out before the last save.
        """
        submitted = Q(state=AssignmentState.SUBMITTED, submitted__gte=instant)
        others = Q(state__in=[AssignmentState.LIVE, AssignmentState.LAPSED], lease__gte=instant)
        return self.filter(submitted | others)

    def of(self, user: int | None) -> AssignmentQuerySet:
        """Return the assignments of a person, in any state, while the person is an active annotator.

        Somebody who has become a lead sees too much to judge.
        """
        active, role = Membership.State.ACTIVE, Membership.Role.ANNOTATOR
        return self.filter(annotator__user=user, annotator__state=active, annotator__role=role)

    def lease_out(
        self,
        batch: Batch,
        annotator: Membership,
        round: int,
        places: list[Candidate],
        *,
        takes_slot: bool,
        joined_to: Assignment | None = None,
        resumes: bool = False,
        turn: int = 0,
    ) -> Assignment:
        """Lease the batch to the annotator: in a new assignment, or in their lapsed one under a new fence.

        The candidates come with their moments. A lapsed assignment of the same round keeps its places and its token,
        unless it has pairs of other batches, now or before, and the annotator does not resume it.
        """
        values: dict[str, Any] = {"batch": batch.pk, "annotator": annotator.pk, "round": round}
        values |= {"campaign": annotator.campaign_id, "takes_slot": takes_slot}
        values |= {"lease": settings.ASSIGNMENT_LEASE, "places": json.dumps([pair.pk for pair in places])}
        limits = [annotator.campaign.most_seconds(pair.moment.length) for pair in places]
        values |= {"token": secrets.token_urlsafe(), "limits": json.dumps(limits)}
        values["hidden"] = sum(pair.is_hidden for pair in places)
        is_mixed = any(pair.batch_id != batch.pk and not pair.is_hidden for pair in places)
        values |= {"joined_to": joined_to and joined_to.pk, "turn": turn, "resumes": resumes}
        values["is_mixed"] = is_mixed
        [leased] = self.raw(with_clock(LEASE), values)
        leased.batch, leased.annotator = batch, annotator
        leased.is_new = leased.fence == 1 and not is_mixed
        leased.handed = places if leased.fence == 1 else None
        if takes_slot and not leased.is_new and leased.token == values["token"]:
            # What the annotator said about the batch in another round is judged again.
            of_annotator = {"assignment__batch": batch, "assignment__annotator": annotator}
            Judgement.objects.filter(**of_annotator).update(returned=Now())
            Flag.objects.filter(**of_annotator).update(taken_back=Now())
        return leased


# What is hidden is drawn once for each round. Positions stand for other candidates in another round, and when something
# comes to be hidden or other batches are joined. A new token keeps the old page from writing then.
KEPT = """judging_assignment.round = excluded.round AND (%(resumes)s OR NOT %(is_mixed)s AND NOT EXISTS (
        SELECT 1 FROM judging_assignment AS joined WHERE joined.joined_to_id = judging_assignment.id))"""
LEASE = f"""
INSERT INTO judging_assignment (
    batch_id, annotator_id, token, round, slot, lease, fence, guideline, state, places, limits, hidden, turn,
    joined_to_id)
VALUES (%(batch)s, %(annotator)s, %(token)s, %(round)s,
    CASE WHEN NOT %(takes_slot)s THEN NULL WHEN EXISTS (
        SELECT 1 FROM judging_assignment AS other WHERE other.batch_id = %(batch)s AND other.round = %(round)s
        AND other.slot = 1 AND other.state <> 'lapsed'
    ) THEN 2 ELSE 1 END,
    {{lease_end}}, 1,
    (SELECT COALESCE(MAX(version), 0) FROM campaigns_guideline WHERE campaign_id = %(campaign)s),
    'live', %(places)s, %(limits)s, %(hidden)s, %(turn)s, %(joined_to)s)
ON CONFLICT (batch_id, annotator_id) DO UPDATE SET
    token = CASE WHEN {KEPT} AND (judging_assignment.hidden > 0 OR excluded.hidden = 0)
        THEN judging_assignment.token ELSE excluded.token END,
    round = excluded.round, slot = excluded.slot, lease = excluded.lease, fence = judging_assignment.fence + 1,
    guideline = excluded.guideline, state = excluded.state, began = excluded.began, submitted = NULL,
    places = CASE WHEN {KEPT} AND judging_assignment.hidden > 0
        THEN judging_assignment.places ELSE excluded.places END,
    limits = CASE WHEN {KEPT} AND judging_assignment.hidden > 0
        THEN judging_assignment.limits ELSE excluded.limits END,
    hidden = CASE WHEN {KEPT} AND judging_assignment.hidden > 0
        THEN judging_assignment.hidden ELSE excluded.hidden END,
    turn = excluded.turn, joined_to_id = excluded.joined_to_id
RETURNING *
"""  # noqa: S608 - of our own parts
TAKE_UP = """
UPDATE judging_assignment SET
    fence = CASE WHEN lease > {now} THEN fence ELSE fence + 1 END,
    began = CASE WHEN lease > {now} THEN began ELSE {now} END,
    lease = CASE WHEN lease > {now} THEN lease ELSE {lease_end} END
WHERE id = %(assignment)s AND state = 'live'
RETURNING *
"""


Value = TypeVar("Value", int, float)


def at_position(places: list[Value], position: int) -> Value:
    """Return what stands at a position, counted from 1: the primary key of a candidate, or a limit.

    Raise BadValue if there is no such position.
    """
    if not 1 <= position <= len(places):
        raise BadValue("position", str(position), f"1 to {len(places)}")
    return places[position - 1]


def taken_from_you() -> Stale:
    """Return the refusal of a writer who does not hold the assignment any more."""
    return Stale(gettext("You were away too long, or it was submitted or opened elsewhere. Open your work again."))


class Assignment(models.Model):
    """A batch that was given to one annotator. Its fence rises each time the lease is taken up again."""

    State = AssignmentState

    # Without an index of their own: those of the constraints and of Meta begin with the same column.
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="assignments", db_index=False)
    annotator = models.ForeignKey(Membership, models.PROTECT, related_name="assignments", db_index=False)
    token = models.CharField(max_length=64, unique=True, default=secrets.token_urlsafe)
    round = models.PositiveSmallIntegerField()
    slot = models.PositiveSmallIntegerField(
        null=True, help_text="1 or 2; none in exams, which any number of annotators may take"
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
    places = models.JSONField(
        default=list, help_text="the candidates' primary keys, in the order in which the annotator gets them"
    )
    limits = models.JSONField(default=list, help_text="the active seconds that one press may count, for each place")
    hidden = models.PositiveSmallIntegerField(
        default=0, help_text="places with copies or distractors, which count for no consensus"
    )
    joined_to = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="joined", help_text="that in whose places it is judged"
    )

    turn = models.PositiveSmallIntegerField(
        default=0, help_text="0: the batch in hand; from 1 on, those loaded ahead, in their order"
    )

    is_new = False  # whether it was handed out for the first time just now, so that nothing is said about it
    handed: list[Candidate] | None = None  # its candidates in order, once they are read
    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch", "round", "slot"],
                condition=~Q(state=AssignmentState.LAPSED),
                name="one_assignment_per_slot",
            ),
            models.UniqueConstraint(fields=["batch", "annotator"], name="one_assignment_per_batch_and_annotator"),
            models.UniqueConstraint(
                fields=["annotator", "turn"],
                condition=Q(state=AssignmentState.LIVE, joined_to=None),
                name="one_live_assignment_per_annotator_and_turn",
            ),
            models.CheckConstraint(condition=Q(turn__lte=AHEAD), name="few_assignments_are_loaded_ahead"),
            models.CheckConstraint(
                condition=Q(round__in=[1, 2]) | Q(slot__isnull=True), name="assignment_of_round_one_or_two"
            ),
            models.CheckConstraint(condition=Q(slot__in=[1, 2]), name="assignment_of_slot_one_or_two"),
        ]
        # None holds the lease, which changes with each press: PostgreSQL then writes no index when it is extended.
        indexes = [
            models.Index(fields=["state"]),
            models.Index(fields=["annotator", "state", "submitted"]),
            models.Index(
                fields=["annotator", "submitted"],
                condition=Q(state=AssignmentState.SUBMITTED, hidden__gt=0),
                name="submitted_with_hidden_places",
            ),
        ]

    def __str__(self) -> str:
        return self.token

    @property
    def user_id(self) -> int:
        return self.annotator.user_id

    @property
    def seat(self) -> int | None:
        """The seat of its judgements among the four that count: 1 or 2 in round one, 3 or 4 in round two."""
        return None if self.slot is None else ANNOTATORS * (self.round - 1) + self.slot

    @property
    def is_again(self) -> bool:
        """Whether it holds the pairs of an exam that the annotator has to judge again."""
        return self.slot is None and self.round > 1

    @property
    def answers(self) -> tuple[JudgementQuerySet, FlagQuerySet]:
        """The judgements of its candidates by its annotator, and the flags, also those that were taken back.

        They may belong to assignments that are joined to it.
        """
        judgements = Judgement.objects.filter(annotator=self.annotator_id, candidate__in=self.places)
        flags = Flag.recorded.filter(assignment__annotator=self.annotator_id, candidate__in=self.places)
        return judgements, flags

    @property
    def presses(self) -> int:
        """The number of the last press that is stored of it; 0 if there is none."""
        judgements, flags = self.answers
        last = judgements.order_by().values("annotator").annotate(last=Max("revisions__press"))
        of_flags = flags.order_by().values("assignment__annotator").annotate(last=Max("press"))
        numbers = Subquery(last.values("last")), Subquery(of_flags.values("last"))
        return max(number or 0 for number in Assignment.objects.filter(pk=self.pk).values_list(*numbers).get())

    def holder_of(self, candidate: int) -> int:
        """Return the primary key of the assignment that the candidate's judgement belongs to: its own or a joined."""
        joined = self.joined.filter(batch__candidates=candidate).values_list("pk", flat=True)
        return joined.first() or self.pk

    @property
    def candidates(self) -> CandidateQuerySet:
        """The candidates that the annotator judges for the batch, without the copies in hidden places."""
        if self.is_again:
            returned = Judgement.objects.filter(assignment=self, returned__isnull=False)
            return Candidate.objects.filter(pk__in=returned.values("candidate"))
        return Candidate.objects.filter(batch=self.batch_id).judged_in(self.round)

    def candidates_in_order(self) -> list[Candidate]:
        """Return the candidates in the order in which the annotator gets them."""
        if self.handed is None:
            by_key = Candidate.objects.select_related("moment", "clip", "query").in_bulk(self.places)
            self.handed = [by_key[candidate] for candidate in self.places]
        return self.handed

    def candidate_at(self, position: int) -> int:
        """Return the primary key of the candidate at a position; see `at_position`."""
        places: list[int] = self.places
        return at_position(places, position)

    def take_up(self) -> Assignment | None:
        """Go on with a live assignment. If its lease has run out, a new one begins under a new fence.

        Only what the annotator says about a clip extends a lease that runs.

        Return the assignment as it is then, or None if it has ended meanwhile.
        """
        values = {"assignment": self.pk, "lease": settings.ASSIGNMENT_LEASE}
        return next(iter(Assignment.objects.raw(with_clock(TAKE_UP), values)), None)

    @property
    def is_done(self) -> bool:
        """Whether the annotator submitted it, even if a lead has reopened it since."""
        return bool(self.submitted) or self.judgements.filter(reopening__isnull=False).exists()

    def give_back(self) -> None:
        """End the assignment, live or submitted, and free its slot. The caller holds the batch's lock.

        What is joined to it ends too if it is live. One that is joined to another ends by itself: its places then only
        fill the other.
        """
        ended = {"state": Assignment.State.LAPSED, "fence": F("fence") + 1}
        for each in [self, *self.joined.live().order_by("batch")]:
            Assignment.objects.filter(pk=each.pk).update(**ended)
            if each.slot:
                locked(Batch.objects.filter(pk=each.batch_id)).get().free_slot()

    def lapse(self) -> None:
        """End an expired assignment and free its slot, unless it is renewed or submitted at this moment."""
        joined = list(self.joined.live())
        batches = Batch.objects.filter(pk__in=[each.batch_id for each in (self, *joined)])
        free = list(locked(batches, skip_locked=True).order_by("pk"))
        expired = Assignment.objects.expired().filter(pk=self.pk)
        if len(free) == 1 + len(joined) and expired.update(state=Assignment.State.LAPSED) and self.slot:
            self.joined.live().update(state=Assignment.State.LAPSED)
            for batch in free:
                batch.free_slot()

    @all_or_nothing
    def take_away(self) -> bool:
        """End the assignment at once, although its lease still runs, and free its slot.

        It gets a new fence and a new token, so that the annotator's open page can neither write nor resume it. Return
        False if the assignment was not live any more; then nothing changes.
        """
        joined = list(self.joined.live())
        batches = list(locked(Batch.objects.filter(pk__in=[each.batch_id for each in (self, *joined)])).order_by("pk"))
        live = Assignment.objects.live().filter(pk=self.pk)
        ended = {"state": Assignment.State.LAPSED, "fence": F("fence") + 1, "token": secrets.token_urlsafe()}
        taken = bool(live.update(**ended))
        if taken and self.slot:
            self.joined.live().update(state=Assignment.State.LAPSED)
            for batch in batches:
                batch.free_slot()
        return taken

    def unanswered(self) -> list[int]:
        """Return the positions that have neither a grade nor a flag."""
        judgements, flags = self.answers
        graded = judgements.not_returned().order_by().values_list("candidate", flat=True)
        flagged = flags.filter(taken_back=None).not_returned().order_by().values_list("candidate", flat=True)
        answered = set(graded.union(flagged))
        return [position for position, candidate in enumerate(self.places, 1) if candidate not in answered]

    def extend_lease(self, fence: int) -> None:
        """Extend the lease for a writer that has the present fence. This locks the row.

        Raise Stale if the fence is an old one, the lease has run out, or the assignment is not live any more.
        """
        live = Assignment.objects.held().filter(pk=self.pk, fence=fence)
        if not live.update(lease=Now() + timedelta(seconds=settings.ASSIGNMENT_LEASE)):
            raise taken_from_you()


class ListTime(models.Model):
    """The time that an annotator spent in the list of all clips before submitting."""

    assignment = models.ForeignKey(Assignment, models.PROTECT, related_name="list_times")
    at = models.DateTimeField(db_default=Now())
    reported = models.FloatField(help_text=REPORTED)
    seconds = models.FloatField(help_text=COUNTED)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(seconds__gte=0), name="seconds_in_the_list_are_not_negative")]

    def __str__(self) -> str:
        return f"{self.seconds:g} s"
