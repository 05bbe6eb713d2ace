"""The lead's decisions: reviews of settled batches, reopenings, adjudications, and worked examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Now

from judging.consensus import GRADES, LEAST_OVERLAP
from judging.models.pool import Batch
from judging.models.states import WITHOUT_CONSENSUS, BatchState

if TYPE_CHECKING:
    from campaigns.models.membership import Membership


class UndoableQuerySet(models.QuerySet[Any]):
    """Reviews or adjudications. They are never changed; they are undone, and made anew."""

    def in_force(self) -> Self:
        return self.filter(undone__isnull=True)

    def undo(self, lead: Membership, reopening: Reopening | None = None) -> None:
        """Note that the lead has undone them, by a reopening or else by themselves.

        The caller changes the batches and candidates.
        """
        self.in_force().update(undone=Now(), undone_by=lead, reopening=reopening)

    def restore(self) -> None:
        """Put them in force again that a reopening has undone."""
        self.update(undone=None, undone_by=None, reopening=None)


class ReviewQuerySet(UndoableQuerySet):
    def with_begun(self) -> Self:
        """Return the reviews, each with `is_begun` set."""
        # One that is reviewed has grades, even if all of them are reused.
        done = Q(assignments__isnull=False) | Q(state=BatchState.REVIEWED)
        begun = Batch.objects.filter(done, query=OuterRef("batch__query"), number=2)
        opened = Q(verdict=Review.Verdict.SECOND)
        return self.annotate(is_begun=Case(When(opened, then=Exists(begun)), default=Value(False)))


class Review(models.Model):
    """A verdict on a batch: open the second batch, or close the query."""

    class Verdict(models.TextChoices):
        SECOND = "second", "Open the second batch"
        CLOSE = "close", "Close the query"

    batch = models.ForeignKey("judging.Batch", models.PROTECT, related_name="reviews")
    lead = models.ForeignKey(
        "campaigns.Membership",
        models.PROTECT,
        null=True,
        related_name="reviews",
        help_text="empty if the campaign's policy made it",
    )
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(db_default=Now())
    undone = models.DateTimeField(null=True)
    undone_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")
    reopening = models.ForeignKey(
        "Reopening", models.PROTECT, null=True, related_name="reviews", help_text="the reopening that undid it"
    )

    # Whether somebody has begun the second batch that it opened, so that it cannot be undone.
    is_begun = False
    objects = ReviewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch"], condition=Q(undone__isnull=True), name="one_review_of_a_batch_holds"
            )
        ]

    def __str__(self) -> str:
        return self.get_verdict_display()

    @property
    def outcome(self) -> str:
        """What became of the query, in words."""
        return "Closed" if self.verdict == self.Verdict.CLOSE else "Second batch opened"


class Reopening(models.Model):
    """Candidates that other annotators judge again. The earlier judgements are kept and no longer count."""

    campaign = models.ForeignKey("campaigns.Campaign", models.PROTECT, related_name="reopenings")
    lead = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="reopenings")
    what = models.CharField(max_length=200, help_text="what was reopened, in words")
    annotator = models.ForeignKey(
        "campaigns.Membership",
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="the annotator, if their work was reopened",
    )
    week = models.CharField(max_length=8, blank=True, help_text="as 2026-W05, if it was the work of one week")
    beside = models.ForeignKey(
        "campaigns.Membership",
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="the co-judge, if it was the work beside one",
    )
    off = models.BooleanField(default=False, help_text="whether it was only what differs much from the consensus")
    reason = models.CharField(max_length=500)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.what


class Adjudication(models.Model):
    """A lead's grade of a candidate on which annotators reached no consensus. It never counts as a consensus."""

    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, related_name="adjudications")
    lead = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="adjudications")
    grade = models.PositiveSmallIntegerField()
    before = models.CharField(max_length=20, help_text="the outcome that the annotators' grades have")
    reason = models.CharField(max_length=500)
    at = models.DateTimeField(db_default=Now())
    undone = models.DateTimeField(null=True)
    undone_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")
    reopening = models.ForeignKey(
        Reopening, models.PROTECT, null=True, related_name="adjudications", help_text="the reopening that undid it"
    )

    objects = UndoableQuerySet.as_manager()

    class Meta:
        ordering = ["candidate", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["candidate"], condition=Q(undone__isnull=True), name="one_adjudication_holds"
            ),
            models.CheckConstraint(condition=Q(grade__in=list(GRADES)), name="adjudged_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(before__in=WITHOUT_CONSENSUS), name="adjudged_where_there_is_no_consensus"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.grade} by the lead"


class ReusedGrade(models.Model):
    """The consensus of an earlier campaign that a candidate has in place of judgements. It is kept as it was then.

    The candidate of the earlier campaign tells its campaign, query and moment. The grade holds while the candidate is
    in the batch in which it got it; once it is reopened, annotators judge it.
    """

    candidate = models.OneToOneField("judging.Candidate", models.PROTECT, related_name="reuse")
    source = models.ForeignKey(
        "judging.Candidate", models.PROTECT, related_name="reused_by", help_text="the candidate that was judged"
    )
    overlap = models.FloatField(help_text="intersection over union of the two moments")
    grade = models.PositiveSmallIntegerField(help_text="the consensus")
    grades = models.JSONField(help_text="of the judgements that it rests on")
    rule = models.CharField(max_length=40, help_text="the version of the consensus")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["candidate"]
        constraints = [
            models.CheckConstraint(condition=Q(grade__in=list(GRADES)), name="reused_grade_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(overlap__gte=LEAST_OVERLAP, overlap__lte=1), name="reused_of_nearly_the_same_moment"
            ),
            models.CheckConstraint(condition=~Q(candidate=F("source")), name="reused_of_another_candidate"),
        ]

    def __str__(self) -> str:
        return f"{self.grade}, reused"


class Example(models.Model):
    """A query and a clip with a grade and its reason. Pairs that are still to be judged are never examples."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="examples")
    query = models.TextField()
    moment = models.ForeignKey("corpus.Moment", models.PROTECT, related_name="+")
    clip = models.ForeignKey("corpus.Clip", models.SET_NULL, null=True, related_name="+")
    grade = models.PositiveSmallIntegerField()
    why = models.TextField()
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["campaign", "-grade", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "query", "moment"], name="one_example_per_pair"),
            models.CheckConstraint(condition=Q(grade__in=list(GRADES)), name="example_grade_from_0_to_4"),
        ]

    def __str__(self) -> str:
        return f"{self.grade}: {self.query}"


class Action(models.Model):
    """Something that a lead has done to many rows of a list at once, and can undo as one."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="actions")
    lead = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="actions")
    verb = models.CharField(max_length=20)
    argument = models.CharField(max_length=100, blank=True, help_text="what some verbs need, such as a group's name")
    chosen = models.CharField(max_length=500, blank=True, help_text="the filters that chose the rows, in words")
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(db_default=Now(), help_text="when it was prepared")
    begun = models.DateTimeField(null=True, help_text="when the lead said to go on; nothing happens before")
    ended = models.DateTimeField(null=True)
    undone = models.DateTimeField(null=True, help_text="when a lead said to undo it")
    undone_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")
    undone_ended = models.DateTimeField(null=True)
    reopening = models.OneToOneField(
        Reopening, models.PROTECT, null=True, related_name="action", help_text="what it reopens, if it does"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(ended=None) | Q(begun__isnull=False), name="what_has_ended_was_begun"),
            models.CheckConstraint(condition=Q(undone=None) | Q(ended__isnull=False), name="what_is_undone_has_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.verb}, {self.rows.count():,} rows"


class ActionRow(models.Model):
    """One row of an action, and what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        LEFT = "left", "left as it was"
        UNDONE = "undone"
        KEPT = "kept", "not undone"

    action = models.ForeignKey(Action, models.CASCADE, related_name="rows")
    row = models.BigIntegerField(help_text="the primary key of a query, or of a membership")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    made = models.BigIntegerField(null=True, help_text="the primary key of what the verb made, such as a review")
    before = models.JSONField(null=True, help_text="what the verb replaced, by which it is undone")
    why = models.CharField(max_length=500, blank=True, help_text="why it was left, or not undone")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["action", "row"], name="a_row_is_in_an_action_once")]

    def __str__(self) -> str:
        return f"{self.row}: {self.get_state_display()}"
