"""Sittings: an annotator's exam, round by round, and how it is marked."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from django.db import models
from django.db.models import Exists, OuterRef, Q, Subquery
from django.db.models.functions import Now

from judging.errors import WrongState
from judging.models.campaign import Campaign
from judging.models.judgement import Flag, Judgement, Revision
from judging.models.membership import Membership
from judging.models.people import Event
from judging.models.pool import Batch, BatchQuerySet, Candidate, Kind
from judging.transactions import all_or_nothing, locked

if TYPE_CHECKING:
    from judging.models.assignment import Assignment

QUORUM = 3  # examinees whose grades make a median worth marking by
Truths = dict[int, float]  # by candidate; a median may be a half


class Said(NamedTuple):
    """One examinee's grades of one pair: the first, and the last so far; and whether it is back to be judged again."""

    judgement: int
    annotator: int
    candidate: int
    first: int
    last: int
    back: bool


class SittingQuerySet(models.QuerySet["Sitting"]):
    def waiting(self) -> SittingQuerySet:
        """Handed in, and not marked yet."""
        return self.filter(result=Sitting.Result.OPEN, ended__isnull=False)

    def hand_out(self, member: Membership) -> Assignment | None:
        """The next batch of the member's exam, lent to her, if there is one. The caller holds her row's lock."""
        sitting = self._of(member)
        batch = sitting.left().filter(state=Batch.State.OPEN).first() if sitting else None
        return batch.lend_to(member, sitting.round) if sitting and batch else None

    def _of(self, member: Membership) -> Sitting | None:
        """Her open sitting; the first is made where there is an exam to sit."""
        if not member.sittings.exists() and exam_batches(member.campaign).exists():
            return self.create(member=member)
        return self.filter(member=member, result=Sitting.Result.OPEN).first()

    def hand_in(self, member: Membership) -> None:
        """Mark her sitting once its last batch is submitted, and others that waited for her grades."""
        sitting = self.filter(member=member, result=Sitting.Result.OPEN).first()
        if sitting and not sitting.left().exists():
            self.filter(pk=sitting.pk).update(ended=Now())
            self.mark(member.campaign)

    @all_or_nothing
    def mark(self, campaign: Campaign) -> None:
        """Mark every sitting that is handed in, where the truth of its pairs is known."""
        # One at a time: of two who finish together, the second sees the first's grades.
        locked(Campaign.objects.filter(pk=campaign.pk)).get()
        known = truths(campaign, said := said_in(campaign))
        waiting = self.waiting().filter(member__campaign=campaign, member__qualified__isnull=True)
        for sitting in waiting.select_related("member__campaign"):
            sitting.mark(known, said)

    @all_or_nothing
    def repeat(self, member: Membership, lead: Membership, reason: str) -> Sitting:
        """Another round for who failed. Asking twice gives the same round."""
        member = locked(Membership.objects.filter(pk=member.pk)).get()
        last = self.filter(member=member).select_related("member").last()
        if last and last.result == Sitting.Result.OPEN:
            return last
        if not last or not last.may_be_repeated:
            raise WrongState(
                "Another round is for who failed the exam by pairs that are off, and has no work yet."
            )
        words = f"another round of the exam: {reason}"
        Event.objects.create(member=member, kind=Event.Kind.RESUMED, by=lead, words=words)
        return self.create(member=member, round=last.round + 1)


class Sitting(models.Model):
    """One round of one annotator's exam: all pairs the first time, then those that came back."""

    class Result(models.TextChoices):
        OPEN = "open"  # being judged, or waiting for others' grades
        PASSED = "passed"
        RETURNED = "returned"  # some pairs came back
        FAILED = "failed"  # and no round is left

    member = models.ForeignKey("judging.Membership", models.PROTECT, related_name="sittings")
    round = models.PositiveSmallIntegerField(default=1)
    result = models.CharField(max_length=10, choices=Result.choices, default=Result.OPEN)
    began = models.DateTimeField(db_default=Now())
    ended = models.DateTimeField(null=True)
    pairs = models.PositiveIntegerField(default=0, help_text="judged in this round")
    off = models.PositiveIntegerField(default=0, help_text="further than the tolerance from the truth")

    objects = SittingQuerySet.as_manager()

    class Meta:
        ordering = ["member", "round"]
        constraints = [
            models.UniqueConstraint(fields=["member", "round"], name="one_sitting_per_round"),
            models.UniqueConstraint(
                fields=["member"], condition=Q(result="open"), name="one_open_sitting_per_member"
            ),
        ]

    def __str__(self) -> str:
        return f"round {self.round}: {self.result}"

    @property
    def is_waiting(self) -> bool:
        return self.result == Sitting.Result.OPEN and self.ended is not None

    @property
    def may_be_repeated(self) -> bool:
        """Whether the lead may give another round: some pairs are off, so that they can come back."""
        return self.result == Sitting.Result.FAILED and self.off > 0 and self.member.qualified is None

    def left(self) -> BatchQuerySet:
        """The batches of this round that she has not submitted."""
        batches = exam_batches(self.member.campaign)
        if self.round > 1:
            back = self.member.judgements.filter(returned__isnull=False, candidate__batch=OuterRef("pk"))
            batches = batches.filter(Exists(back))
        done = self.member.assignments.submitted().filter(round=self.round, batch=OuterRef("pk"))
        return batches.exclude(Exists(done)).order_by("pk")

    def mark(self, known: Truths, said: list[Said]) -> None:
        """Compare its grades with the truth, unless some of that is still unknown. Results once given stay."""
        judged = [
            each for each in said if each.annotator == self.member_id and (self.round == 1 or each.back)
        ]
        if any(each.candidate not in known for each in judged):
            return
        tolerance = self.member.campaign.tolerance
        off = [each.judgement for each in judged if abs(each.last - known[each.candidate]) > tolerance]
        self.pairs, self.off = len(judged), len(off)
        Judgement.objects.filter(pk__in=[each.judgement for each in judged]).update(returned=None)
        Judgement.objects.filter(pk__in=off).update(returned=Now())
        self._conclude()

    def _conclude(self) -> None:
        """Passed, back with what was off, or failed."""
        if not self.off and not self._flagged_too_much():
            self.result = Sitting.Result.PASSED
            Membership.objects.filter(pk=self.member_id, qualified__isnull=True).update(qualified=Now())
            self._note(Event.Kind.QUALIFIED, f"passed the exam in round {self.round}")
        elif self.off and self.round < self.member.campaign.exam_rounds:
            self.result = Sitting.Result.RETURNED
        else:
            self.result = Sitting.Result.FAILED
            flagged = "" if self.off else "; most pairs were flagged"
            self._note(
                Event.Kind.FAILED, f"{self.off} of {self.pairs} pairs off in round {self.round}{flagged}"
            )
        self.save(update_fields=["pairs", "off", "result"])
        if self.result == Sitting.Result.RETURNED:
            Sitting.objects.create(member=self.member, round=self.round + 1)

    def _flagged_too_much(self) -> bool:
        """A flag excuses a pair; who flags most of them has not shown how she grades."""
        handed = Candidate.objects.filter(batch__in=exam_batches(self.member.campaign)).count()
        return self.round == 1 and 2 * self.pairs < handed

    def _note(self, kind: Event.Kind, words: str) -> None:
        Event.objects.create(member=self.member, kind=kind, words=words)


def exam_batches(campaign: Campaign) -> BatchQuerySet:
    return Batch.objects.in_campaign(campaign).filter(kind=Kind.EXAM, query__withdrawn__isnull=True)


def said_in(campaign: Campaign) -> list[Said]:
    """All grades of the exam. Who has not handed in the first round does not count yet; a pair that was flagged
    in it is excused."""
    begun = Sitting.objects.filter(member=OuterRef("annotator"), round=1)
    rows = Judgement.objects.filter(candidate__batch__in=exam_batches(campaign))
    rows = rows.annotate(handed_in=Subquery(begun.values("ended"))).filter(handed_in__isnull=False)
    flags = Flag.objects.filter(assignment=OuterRef("assignment"), candidate=OuterRef("candidate"))
    rows = rows.exclude(Exists(flags.filter(at__lte=OuterRef("handed_in"))))
    said = Revision.objects.filter(judgement=OuterRef("pk"), at__lte=OuterRef("handed_in"))
    columns = rows.annotate(said_first=Subquery(said.order_by("-number").values("grade")[:1])).values_list(
        "pk", "annotator", "candidate", "said_first", "grade", "returned"
    )
    return [
        Said(pk, who, what, first, last, bool(back))
        for pk, who, what, first, last, back in columns.order_by("pk")
    ]


def truths(campaign: Campaign, said: list[Said]) -> Truths:
    """The truth of each exam pair that has one: the lead's own grade, else the median of all first grades."""
    graded = Candidate.objects.filter(batch__in=exam_batches(campaign), truth__isnull=False)
    known = {pk: float(truth or 0) for pk, truth in graded.values_list("pk", "truth")}
    handed_in = Sitting.objects.filter(member__campaign=campaign, round=1, ended__isnull=False)
    if handed_in.count() >= QUORUM:
        grades = defaultdict(list)
        for each in said:
            grades[each.candidate].append(each.first)
        known = {candidate: float(median(given)) for candidate, given in grades.items()} | known
    return known
