"""Judgements, their revisions, flags, questions, and answers to all. All of them are kept for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from base.transactions import all_or_nothing
from campaigns.models.log import LogEntry, log
from campaigns.models.membership import LONGEST_MESSAGE
from judging.consensus import GRADES
from judging.models.states import AssignmentState, Kind

if TYPE_CHECKING:
    from campaigns.models.campaign import Campaign
    from campaigns.models.membership import Membership
    from judging.models.review import Reopening


REPORTED = "active seconds that the browser measured"
COUNTED = "those of them that count: within the limit of a press and the clock"
DOUBTFUL = "whether the annotator hesitated between two grades; it counts nowhere"
PRESS = "the number that the browser gave the press: of two, the higher one was said later"

LONGEST_QUESTION = 1000  # characters
PARTNERS = {1: 2, 2: 1, 3: 4, 4: 3}  # seats of the same round


class JudgementQuerySet(models.QuerySet["Judgement"]):
    def not_returned(self) -> JudgementQuerySet:
        """Exclude the judgements that were returned to the annotator and that are not judged again yet."""
        again = Revision.objects.filter(judgement=OuterRef("pk"), at__gt=OuterRef("returned"))
        return self.filter(Q(returned__isnull=True) | Exists(again))


class Judgement(models.Model):
    """One annotator's grade of one candidate. It gets a seat, and counts, when the assignment is submitted."""

    assignment = models.ForeignKey("judging.Assignment", models.PROTECT, related_name="judgements")
    candidate = models.ForeignKey(  # the indexes of two constraints begin with it
        "judging.Candidate", models.PROTECT, related_name="judgements", db_index=False
    )
    annotator = models.ForeignKey(  # an index of Meta begins with it
        "campaigns.Membership", models.PROTECT, related_name="judgements", db_index=False
    )
    grade = models.PositiveSmallIntegerField(help_text="of the last revision")
    is_doubtful = models.BooleanField(default=False, db_default=False, help_text="as in the last revision")
    seat = models.PositiveSmallIntegerField(null=True, help_text="1 to 4; empty if the judgement does not count")
    returned = models.DateTimeField(null=True, help_text="when it was returned to be judged again")
    reopening = models.ForeignKey(
        "judging.Reopening",
        models.PROTECT,
        null=True,
        related_name="judgements",
        help_text="the reopening that took its seat",
    )

    objects = JudgementQuerySet.as_manager()

    class Meta:
        ordering = ["candidate", "seat"]
        constraints = [
            models.UniqueConstraint(fields=["candidate", "annotator"], name="nobody_judges_a_candidate_twice"),
            models.UniqueConstraint(fields=["candidate", "seat"], name="one_judgement_per_seat"),
            models.CheckConstraint(condition=Q(grade__in=list(GRADES)), name="grade_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(seat__isnull=True) | Q(seat__in=[1, 2, 3, 4]), name="at_most_four_judgements_count"
            ),
        ]
        indexes = [models.Index(fields=["annotator", "id"], name="judgements_newest_last")]

    def __str__(self) -> str:
        return f"{self.grade} by {self.annotator_id}"


class Revision(models.Model):
    """One press of a key: the grade that an annotator gave at one moment. That of the last press holds."""

    class Input(models.TextChoices):
        KEY = "key"
        POINTER = "pointer"
        TOUCH = "touch"

    judgement = models.ForeignKey(  # the index of a constraint begins with it
        "judging.Judgement", models.PROTECT, related_name="revisions", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    press = models.PositiveIntegerField(default=0, help_text=PRESS)
    grade = models.PositiveSmallIntegerField()
    is_doubtful = models.BooleanField(default=False, db_default=False, help_text=DOUBTFUL)
    reported = models.FloatField(null=True, help_text=REPORTED)
    seconds = models.FloatField(null=True, help_text=COUNTED)
    input = models.CharField(max_length=10, choices=Input.choices, blank=True)
    key = models.UUIDField(unique=True, help_text="the browser's idempotency key")
    at = models.DateTimeField(db_default=Now())
    overtaken = False  # whether something later was stored before it

    class Meta:
        ordering = ["judgement", "number"]
        constraints = [
            models.UniqueConstraint(fields=["judgement", "number"], name="revisions_are_numbered"),
            models.CheckConstraint(condition=Q(grade__in=list(GRADES)), name="revised_grade_from_0_to_4"),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="seconds_are_not_negative"
            ),
        ]
        indexes = [models.Index(fields=["at"])]

    def __str__(self) -> str:
        return f"{self.grade}, revision {self.number}"


class FlagQuerySet(models.QuerySet["Flag"]):
    def not_returned(self) -> FlagQuerySet:
        """Exclude the flags of an exam's pairs that were returned after they were flagged."""
        pair = {"assignment": OuterRef("assignment"), "candidate": OuterRef("candidate")}
        return self.exclude(Exists(Judgement.objects.filter(**pair, returned__gte=OuterRef("at"))))

    def waiting(self, campaign: Campaign | OuterRef) -> FlagQuerySet:
        """Return the flags of the campaign's submitted assignments that no lead has handled."""
        query = {"query__campaign": campaign, "query__kind": Kind.POOL, "query__withdrawn": None}
        pool = self.filter(**{f"candidate__{field}": value for field, value in query.items()})
        return pool.filter(handled=None, assignment__state=AssignmentState.SUBMITTED)

    def handle(self, lead: Membership, reopening: Reopening | None = None) -> int:
        """Note that the lead has handled the flags, by a reopening if one is given. Return how many this changes.

        Those that were handled before keep their time.
        """
        return self.filter(handled=None).update(handled=Now(), handled_by=lead, reopening=reopening)


AllFlags = models.Manager.from_queryset(FlagQuerySet)


class FlagManager(AllFlags["Flag"]):
    """Leaves out flags that were taken back. `Flag.recorded` has them too."""

    def get_queryset(self) -> FlagQuerySet:
        return FlagQuerySet(self.model, using=self._db).filter(taken_back=None)


class Flag(models.Model):
    """An annotator's note that a candidate cannot be judged. It takes the place of a grade."""

    class Reason(models.TextChoices):
        CLIP = "clip", _("The clip is missing or broken")
        QUERY = "query", _("The query is unclear")
        OTHER = "other", _("I cannot judge this")

    assignment = models.ForeignKey("judging.Assignment", models.PROTECT, related_name="flags")
    candidate = models.ForeignKey("judging.Candidate", models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=10, choices=Reason.choices)
    comment = models.CharField(max_length=500, blank=True)
    reported = models.FloatField(null=True, help_text=REPORTED)
    seconds = models.FloatField(null=True, help_text=COUNTED)
    handled = models.DateTimeField(null=True, help_text="when a lead handled it")
    handled_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")
    reopening = models.ForeignKey(
        "judging.Reopening", models.PROTECT, null=True, related_name="flags", help_text="the reopening that handled it"
    )
    at = models.DateTimeField(db_default=Now())

    key = models.UUIDField(null=True, unique=True, help_text="the browser's idempotency key")
    press = models.PositiveIntegerField(default=0, help_text=PRESS)
    taken_back = models.DateTimeField(null=True)
    taken_back_key = models.UUIDField(null=True, unique=True, help_text="the idempotency key of taking it back")

    overtaken = False  # as of a revision
    objects = FlagManager()
    recorded = AllFlags["Flag"]()  # includes flags that were taken back

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


class QuestionQuerySet(models.QuerySet["Question"]):
    def waiting(self, campaign: Campaign | OuterRef) -> QuestionQuerySet:
        """Return the campaign's questions that no lead has answered or put aside."""
        return self.filter(annotator__campaign=campaign, handled=None)


class Question(models.Model):
    """What an annotator asks the leads: about a pair, about its query, or about nothing in particular.

    A lead answers with a message to the annotator, and the annotator may answer a message with a question. So the two
    make conversations.
    """

    class About(models.TextChoices):
        CLIP = "clip", "a clip"
        QUERY = "query", "a query"
        NOTHING = "nothing", "nothing in particular"

    annotator = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="questions")
    query = models.ForeignKey(
        "judging.Query", models.PROTECT, null=True, related_name="questions", help_text="that it is about"
    )
    candidate = models.ForeignKey(
        "judging.Candidate", models.PROTECT, null=True, related_name="questions", help_text="the pair that it is about"
    )
    assignment = models.ForeignKey(
        "judging.Assignment", models.PROTECT, null=True, related_name="questions", help_text="in which it was asked"
    )
    place = models.ForeignKey(
        "judging.Candidate",
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="the pair, or the copy of it, in whose place it was asked",
    )
    letter = models.ForeignKey(
        "campaigns.Message", models.PROTECT, null=True, related_name="replies", help_text="the message that it answers"
    )
    text = models.TextField(max_length=LONGEST_QUESTION)
    at = models.DateTimeField(db_default=Now())
    answer = models.ForeignKey(
        "campaigns.Message", models.PROTECT, null=True, related_name="questions", help_text="a lead's answer"
    )
    handled = models.DateTimeField(null=True, help_text="when a lead answered it or put it aside")
    handled_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")
    key = models.UUIDField(unique=True, help_text="the browser's idempotency key")

    objects = QuestionQuerySet.as_manager()

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(candidate__isnull=True) | Q(query__isnull=False), name="a_pair_has_a_query"
            ),
            models.CheckConstraint(
                condition=Q(answer__isnull=True) | Q(handled__isnull=False), name="what_is_answered_is_handled"
            ),
        ]
        indexes = [models.Index(fields=["annotator"], condition=Q(handled__isnull=True), name="questions_that_wait")]

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def about(self) -> About:
        if self.candidate_id:
            return Question.About.CLIP
        return Question.About.QUERY if self.query_id else Question.About.NOTHING


class KeptAnswerQuerySet(models.QuerySet["KeptAnswer"]):
    def in_force(self) -> KeptAnswerQuerySet:
        return self.filter(taken_back=None)


class KeptAnswer(models.Model):
    """A question and its answer that a lead told all annotators, and that stand beside the guideline.

    Both are in the lead's words, and name neither the pair nor who asked.
    """

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="kept_answers")
    source = models.ForeignKey(
        "judging.Question", models.PROTECT, related_name="kept", help_text="as an annotator wrote it, for leads only"
    )
    question = models.TextField(max_length=LONGEST_QUESTION, help_text="in the lead's words")
    answer = models.TextField(max_length=LONGEST_MESSAGE)
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())
    taken_back = models.DateTimeField(null=True)
    taken_back_by = models.ForeignKey("campaigns.Membership", models.PROTECT, null=True, related_name="+")

    objects = KeptAnswerQuerySet.as_manager()

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["source"], condition=Q(taken_back__isnull=True), name="a_question_is_kept_once"
            )
        ]

    def __str__(self) -> str:
        return self.question[:60]

    @all_or_nothing
    def take_back(self, lead: Membership) -> None:
        """Take the answer away from beside the guideline. Only the first time is stored."""
        if KeptAnswer.objects.in_force().filter(pk=self.pk).update(taken_back=Now(), taken_back_by=lead):
            log(lead, LogEntry.Kind.KEPT_ANSWER, self.question, self.answer, "taken back")
