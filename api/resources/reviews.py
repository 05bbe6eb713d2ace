"""The lead's decisions about what was judged: reviews, flags and questions, the lead's own grades, reopenings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404
from rest_framework import serializers

from api.fields import Choice, Text, Truth, Whole
from api.operations import OR_LATER, UNFIT, USUAL, Rows, annotated, changes, makes, reads, starts
from api.resource import CAMPAIGN, ClipAddress, Resource
from api.serializers import Body, ModelAnswer, Page, PageParameters, QueryParameters, filters_of, inline
from base.errors import Unfit
from base.forms import LARGEST, LARGEST_KEY
from campaigns.models import Membership
from campaigns.models.membership import LONGEST_MESSAGE
from judging import access as judging_access
from judging.consensus import GRADES
from judging.models import ActionRow, Flag, Question, Reopening, Review
from judging.models.judgement import LONGEST_QUESTION
from judging.review import reviewing
from judging.review.actions import act, reopen, undo_all, undo_reopening
from judging.review.decisions import ACTIONS, adjudicate, answer, put_aside, tell_all, withdraw_adjudication
from judging.review.reopening import OFF, ReopeningScope
from reports.tables.costs import cost_of
from reports.tables.queue import FLAGS, WAITING, Thread, flags_of, questions_with_pairs, threads, waiting_subjects

WEEK_HELP = "of a worker, only what was submitted in this week, such as 2026-W05"
OFF_HELP = f"of a worker, only what is off: {OFF}"
WITH_HELP = "of a worker, only what stands beside this worker's"
REOPENED_STATES = [("reopened", "Reopened"), ("undone", "Undone"), ("kept", "not undone, or only in part")]
REOPENED_AS = {"done": "reopened", "undone": "undone", "kept": "kept"}  # the states of an action's rows


class ReviewSerializer(ModelAnswer):
    batch = serializers.IntegerField(source="batch_id")
    by = serializers.IntegerField(source="lead.worker", allow_null=True, default=None, help_text="null: the policy")

    class Meta:
        model = Review
        fields = ["id", "verdict", "reason", "at"]


class Verdict(Body):
    class Meta:
        model = Review
        fields = ["verdict", "reason"]


class Reviews(Resource, at=f"{CAMPAIGN}/reviews", name="reviews"):
    @reads(Page(ReviewSerializer))
    def get(self) -> Any:
        """The reviews that are in force, the newest first."""
        found = Review.objects.in_force().filter(batch__campaign=self.member.campaign)
        return Rows(found.select_related("lead"), ("-pk",))


class OneReview(Resource, at=f"{CAMPAIGN}/batches/<int:pk>/review", name="review"):
    @changes(ReviewSerializer, body=Verdict)
    def put(self, pk: int) -> Any:
        """Review a settled batch: open the second, or close the query."""
        batch, reason = judging_access.batch(self.lead, pk).newest_edition, self.data.get("reason", "").strip()
        return reviewing.review(batch, self.lead, self.data["verdict"], reason)

    @changes()
    def delete(self, pk: int) -> Any:
        """Undo the review of a batch."""
        review = reviewing.review_in_force(judging_access.batch(self.lead, pk).newest_edition)
        if review is None:
            raise Http404
        reviewing.undo(review, self.lead)


class FlagSerializer(ModelAnswer):
    candidate = serializers.IntegerField(source="candidate_id")
    batch = serializers.IntegerField(source="candidate.batch_id", allow_null=True)
    worker = serializers.IntegerField(source="assignment.annotator.worker")
    comment = serializers.CharField(read_only=True, help_text="for leads")

    class Meta:
        model = Flag
        fields = ["id", "reason", "at", "handled"]


class FlagAction(Body):
    action = Choice(choices=list(ACTIONS), help_text="dismiss it, or have the clips of its batch cut again")


class Flags(Resource, at=f"{CAMPAIGN}/flags", name="flags"):
    @reads(Page(FlagSerializer), query=filters_of(FLAGS))
    def get(self) -> Any:
        """What annotators could not judge, the newest first: what waits, unless `show` names something else."""
        choices = FLAGS.choices(self.request.query_params)
        rows = flags_of(self.member.campaign, choices.filters.get("show", WAITING))
        return Rows(*choices.ordered(choices.chosen(rows)), self.as_read)

    def as_read(self, flags: list[Flag]) -> list[Any]:
        return [annotated(flag, comment=flag.comment if self.member.may_review else "") for flag in flags]


class OneFlag(Resource, at=f"{CAMPAIGN}/flags/<int:pk>", name="flag-handled"):
    @changes(inline("Done", done=serializers.CharField(help_text="what was done, in words")), body=FlagAction)
    def post(self, pk: int) -> Any:
        """Deal with a flag."""
        return {"done": ACTIONS[self.data["action"]](judging_access.flag(self.lead, pk), self.lead)}


class QuestionSerializer(ModelAnswer):
    worker = serializers.IntegerField(source="annotator.worker")
    query = serializers.CharField(source="query.text", allow_null=True, default=None)
    candidate = serializers.IntegerField(
        source="candidate_id",
        allow_null=True,
        help_text="the pair that it is about; null if it is about a query or nothing in particular",
    )
    caption = serializers.CharField(source="candidate.moment.caption", allow_null=True, default=None)
    letter = serializers.IntegerField(source="letter_id", allow_null=True, help_text="the message that it answers")
    answer = serializers.CharField(source="answer.text", allow_null=True, default=None)
    about = serializers.ChoiceField(Question.About.choices)
    clip = ClipAddress(source="candidate.clip", read_only=True)

    class Meta:
        model = Question
        fields = ["id", "at", "text", "handled"]
        help_texts = {"handled": "when a lead answered it or put it aside"}


class QuestionsParameters(PageParameters):
    waiting = Truth(required=False, help_text="only those that no lead has answered or put aside")


class QuestionHandled(Body):
    answer = Text(required=False, max_length=LONGEST_MESSAGE, help_text="sent to who asked; else it is put aside")
    wording = Text(
        required=False,
        max_length=LONGEST_QUESTION,
        help_text="with it, all are told the answer, and it is kept beside the guideline below this question",
    )


class Questions(Resource, at=f"{CAMPAIGN}/questions", name="questions"):
    @reads(Page(QuestionSerializer), query=QuestionsParameters)
    def get(self) -> Any:
        """What annotators ask, the oldest first, with their pairs."""
        campaign = self.lead.campaign
        questions = questions_with_pairs().filter(annotator__campaign=campaign)
        return questions.waiting(campaign) if self.params.get("waiting") else questions


class QuestionDone(Resource, at=f"{CAMPAIGN}/questions/<int:pk>/handled", name="question-handled"):
    @changes(QuestionSerializer, UNFIT, body=QuestionHandled)
    def post(self, pk: int) -> Any:
        """Answer a question by a message, tell the answer to all, or put the question aside."""
        question, wording = judging_access.question(self.lead, pk), self.data.get("wording", "").strip()
        text = self.data.get("answer", "").strip()
        if wording and not text:
            raise Unfit({"answer": ["empty; expected the answer that all are told"]})
        if wording:
            tell_all(question, self.lead, text, wording)
        elif text:
            answer(question, self.lead, text)
        else:
            put_aside(question, self.lead)
        return questions_with_pairs().get(pk=pk)


class ThreadSerializer(serializers.Serializer):
    candidate = serializers.IntegerField(
        source="candidate.id",
        allow_null=True,
        default=None,
        help_text="the pair that it is about; null if it is about a query or nothing in particular",
    )
    query = serializers.CharField(source="query.text", allow_null=True, default=None)
    flags = FlagSerializer(many=True)
    questions = QuestionSerializer(many=True, help_text="for leads")


class QueueParameters(QueryParameters):
    page = serializers.IntegerField(required=False, min_value=1, max_value=10**6, help_text="from 1")


class Queue(Resource, at=f"{CAMPAIGN}/queue", name="queue"):
    @reads(
        inline(
            "QueueSerializer",
            number=serializers.IntegerField(help_text="of threads, on all pages"),
            threads=ThreadSerializer(many=True, help_text="the oldest first"),
        ),
        query=QueueParameters,
    )
    def get(self) -> Any:
        """The flags and questions that wait, grouped by the pair or the query that they are about."""
        waiting, first = waiting_subjects(self.member), (self.params.get("page", 1) - 1) * USUAL
        found = threads(waiting[first : first + USUAL], self.member)
        return {"number": len(waiting), "threads": [self.as_read(each) for each in found]}

    def as_read(self, thread: Thread) -> Any:
        """Return the thread's own rows, without what the page adds; the annotators' words are for leads."""
        for_lead = self.member.may_review
        return {
            "candidate": thread.candidate,
            "query": thread.query,
            "flags": [annotated(row.flag, comment=row.flag.comment if for_lead else "") for row in thread.flags],
            "questions": [row.question for row in thread.questions],
        }


class OwnGrade(Body):
    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    reason = Text(max_length=500, help_text="kept on record")


class OneGrade(Resource, at=f"{CAMPAIGN}/candidates/<int:pk>/grade", name="grade"):
    @changes(body=OwnGrade)
    def put(self, pk: int) -> Any:
        """Grade a candidate without a consensus; it is exported apart."""
        adjudicate(judging_access.candidate(self.lead, pk), self.lead, self.data["grade"], self.data["reason"])

    @changes()
    def delete(self, pk: int) -> Any:
        """Take the lead's grade back."""
        withdraw_adjudication(judging_access.candidate(self.lead, pk), self.lead)


class ReopenedQuerySerializer(ModelAnswer):
    query = serializers.IntegerField(source="row")
    state = serializers.ChoiceField(REOPENED_STATES)

    class Meta:
        model = ActionRow
        fields = ["why"]
        help_texts = {"why": "why something of it was not undone"}


class ReopeningSerializer(ModelAnswer):
    undone = serializers.DateTimeField(source="action.undone", allow_null=True, help_text="when a lead undid it")
    reason = serializers.CharField(read_only=True, help_text="for leads, where it is about a person")

    class Meta:
        model = Reopening
        fields = ["id", "what", "at", "week", "off"]
        help_texts = {"week": "empty if it was not the work of one week"}


class ToReopen(Body):
    what = Choice(choices=list(judging_access.REOPENED), help_text="worker: work of an annotator, by a job")
    id = Whole(min_value=1, max_value=LARGEST_KEY, help_text="of the candidate or the batch, or the worker's number")
    week = Text(required=False, max_length=8, help_text=WEEK_HELP)
    off = Truth(required=False, help_text=OFF_HELP)
    with_ = Whole(required=False, min_value=0, max_value=LARGEST, help_text=WITH_HELP)
    reason = Text(max_length=500, help_text="kept on record")


class Reopenings(Resource, at=f"{CAMPAIGN}/reopenings", name="reopenings"):
    @reads(Page(ReopeningSerializer))
    def get(self) -> Any:
        """What was reopened, the newest first."""
        return Rows(self.member.campaign.reopenings.select_related("action"), ("-pk",), self.as_read)

    def as_read(self, records: list[Reopening]) -> list[Any]:
        return [_reopening(each, self.member) for each in records]

    @makes(ReopeningSerializer, OR_LATER, body=ToReopen)
    def post(self) -> Any:
        """Have others judge something again."""
        record = reopen(self.lead, _scope(self.lead, self.data), self.data["reason"])
        return self.under_way(act.jobs(record.action).first(), _reopening(record, self.lead))


def _scope(lead: Membership, data: Mapping[str, Any]) -> ReopeningScope:
    part = data.get("week", ""), data.get("with"), data.get("off", False)
    return judging_access.scope(lead, data["what"], data["id"], *part)


def _reopening(record: Reopening, reader: Membership) -> Any:
    reason = record.reason if reader.may_review or not record.annotator_id else ""
    return annotated(record, reason=reason)


class ReopeningUndone(Resource, at=f"{CAMPAIGN}/reopenings/<int:pk>/undone", name="reopening-undone"):
    @starts(ReopeningSerializer)
    def put(self, pk: int) -> Any:
        """Undo a reopening, as far as nobody has begun to judge again."""
        action = undo_reopening(judging_access.reopening(self.lead, pk), self.lead)
        record = _reopening(judging_access.reopening(self.lead, pk), self.lead)
        return self.under_way(undo_all.jobs(action).first(), record)


class ReopenedQueries(Resource, at=f"{CAMPAIGN}/reopenings/<int:pk>/queries", name="reopened-queries"):
    @reads(Page(ReopenedQuerySerializer))
    def get(self, pk: int) -> Any:
        """The queries of a reopening, and what became of them when it was undone."""
        rows = ActionRow.objects.filter(action__reopening=judging_access.reopening(self.member, pk))
        return Rows(rows.filter(state__in=REOPENED_AS), ("pk",), self.as_read)

    def as_read(self, rows: list[ActionRow]) -> list[Any]:
        return [annotated(row, state=REOPENED_AS[row.state]) for row in rows]


class CostParameters(QueryParameters):
    what = serializers.ChoiceField(list(judging_access.REOPENED))
    id = serializers.IntegerField(min_value=1, max_value=LARGEST_KEY)
    week = Text(required=False, max_length=8, help_text=WEEK_HELP)
    off = serializers.BooleanField(required=False, help_text=OFF_HELP)
    with_ = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST, help_text=WITH_HELP)


class CostSerializer(serializers.Serializer):
    candidates = serializers.IntegerField()
    batches = serializers.IntegerField()
    judgements = serializers.IntegerField(help_text="that count no longer")
    places = serializers.IntegerField(help_text="taken away in batches that are still in work")
    hours = serializers.FloatField(allow_null=True, help_text="of work; null where nobody's time is known")
    stuck = serializers.IntegerField(help_text="batches for which not even two annotators remain")
    tight = serializers.IntegerField(help_text="batches for which not four remain")
    ready = serializers.IntegerField(help_text="queries up to the frontier, which are a random sample of all")
    ready_after = serializers.IntegerField(help_text="how many would be left of them")


class ReopeningCost(Resource, at=f"{CAMPAIGN}/reopenings/cost", name="reopening-cost"):
    @reads(CostSerializer, query=CostParameters)
    def get(self) -> Any:
        """What reopening would come to, before it is done."""
        return cost_of(self.lead.campaign, _scope(self.lead, self.params))
