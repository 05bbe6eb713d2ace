"""The lead's decisions about what was judged: reviews, flags, grades of the lead's own, reopenings."""

from __future__ import annotations

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Number, Query, Shape, Text, Whole
from api.resource import Resource, empty, under_way
from campaigns.models import Token
from judging import doors
from judging.consensus import GRADES
from judging.models import Flag, Reopening, Review
from judging.review import reviewing
from judging.review.adjudicating import adjudicate, withdraw_adjudication
from judging.review.flags import ACTIONS
from judging.review.recommending import as_seen
from judging.review.reopening import jobs_of, reopen
from reports.tables.reopening_cost import cost_of

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
LARGEST = 10**18 - 1  # a primary key


class ReviewShape(Shape):
    id = serializers.IntegerField(source="pk")
    batch = serializers.IntegerField(source="batch_id")
    verdict = serializers.ChoiceField(Review.Verdict.choices)
    reason = serializers.CharField()
    by = serializers.IntegerField(
        source="lead.worker", allow_null=True, default=None, help_text="null: the policy"
    )
    at = serializers.DateTimeField()
    example = {
        "id": 5,
        "batch": 7,
        "verdict": "close",
        "reason": "",
        "by": 1,
        "at": "2026-01-05T09:00:00Z",
    }


class Verdict(Body):
    verdict = Choice(choices=Review.Verdict.choices)
    reason = Text(max_length=500, required=False, allow_blank=True)
    example = {"verdict": "close", "reason": "nothing more to find"}


class Reviews(Resource):
    @operation("The reviews that are in force, the newest first", scope=READ, answer=ReviewShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        rows = Review.objects.in_force().filter(batch__campaign=campaign).select_related("lead")
        return self.page(rows, ReviewShape, "-pk")


class OneReview(Resource):
    @operation(
        "Review a settled batch: open the second, or close the query",
        scope=LEAD,
        body=Verdict,
        answer=ReviewShape,
    )
    def put(self, request: Request, name: str, pk: int) -> Response:
        lead = doors.lead(request, name)
        batch = doors.batch(lead, pk).newest_edition
        reason = self.said.get("reason", "").strip()
        return Response(ReviewShape(reviewing.review(batch, lead, self.said["verdict"], reason)).data)

    @operation("Undo the review of a batch", scope=LEAD, status=204)
    def delete(self, request: Request, name: str, pk: int) -> Response:
        lead = doors.lead(request, name)
        found = reviewing.review_in_force(doors.batch(lead, pk).newest_edition)
        if found is None:
            raise Http404
        reviewing.undo(found, lead)
        return empty()


class SeenAdvice(Body):
    batch = Whole(min_value=1, max_value=LARGEST, help_text="its id")
    verdict = Choice(choices=Review.Verdict.choices)
    mean = Number(allow_null=True, min_value=min(GRADES), max_value=max(GRADES), help_text="of the last five")


class ToAccept(Body):
    seen = serializers.ListField(
        child=SeenAdvice(),
        min_length=1,
        max_length=reviewing.MOST_AT_ONCE,
        help_text="what `batches/to-review` recommended",
    )
    example = {"seen": [{"batch": 7, "verdict": "close", "mean": 1.0}]}


class LeftShape(Shape):
    batch = serializers.IntegerField()
    why = serializers.CharField()


class AcceptedShape(Shape):
    done = ReviewShape(many=True)
    left = LeftShape(
        many=True, help_text="batches that are left as they are, such as where grades have changed"
    )
    example = {"done": [ReviewShape.example], "left": []}


class Acceptance(Resource):
    @operation(
        "Follow the recommendations for several batches", scope=LEAD, body=ToAccept, answer=AcceptedShape
    )
    def post(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        seen = [
            (doors.batch(lead, each["batch"]), each["verdict"], as_seen(each["mean"]))
            for each in self.said["seen"]
        ]
        done, left = reviewing.accept_all(lead, seen)
        told = [{"batch": batch.pk, "why": why} for batch, why in left]
        return Response(AcceptedShape({"done": done, "left": told}).data)


class FlagShape(Shape):
    id = serializers.IntegerField(source="pk")
    candidate = serializers.IntegerField(source="candidate_id")
    batch = serializers.IntegerField(source="candidate.batch_id", allow_null=True)
    worker = serializers.IntegerField(source="assignment.annotator.worker")
    reason = serializers.ChoiceField(Flag.Reason.choices)
    comment = serializers.SerializerMethodField(help_text="for leads")
    at = serializers.DateTimeField()
    example = {
        "id": 9,
        "candidate": 41,
        "batch": 7,
        "worker": 2,
        "reason": "clip",
        "comment": "black picture",
        "at": "2026-01-05T09:00:00Z",
    }

    def get_comment(self, flag: Flag) -> str:
        return flag.comment if self.context["reader"].may_review else ""


class FlagAction(Body):
    action = Choice(choices=list(ACTIONS), help_text="dismiss it, or have the clips of its batch cut again")
    example = {"action": "dismiss"}


class Done(Shape):
    done = serializers.CharField(help_text="what was done, in words")
    example = {"done": "The flag is put away."}


class Flags(Resource):
    @operation("What annotators could not judge, the newest first", scope=READ, answer=FlagShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        rows = Flag.objects.waiting(member.campaign).select_related("candidate", "assignment__annotator")
        return self.page(rows, FlagShape, "-pk", reader=member)


class OneFlag(Resource):
    @operation("Deal with a flag", scope=LEAD, body=FlagAction, answer=Done)
    def post(self, request: Request, name: str, pk: int) -> Response:
        lead = doors.lead(request, name)
        return Response({"done": ACTIONS[self.said["action"]](doors.flag(lead, pk), lead)})


class OwnGrade(Body):
    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    reason = Text(max_length=500, help_text="kept on record")
    example = {"grade": 3, "reason": "the clip begins a second late"}


class OneGrade(Resource):
    @operation(
        "Grade a candidate without a consensus; it is exported apart", scope=LEAD, body=OwnGrade, status=204
    )
    def put(self, request: Request, name: str, pk: int) -> Response:
        lead = doors.lead(request, name)
        adjudicate(doors.candidate(lead, pk), lead, self.said["grade"], self.said["reason"])
        return empty()

    @operation("Take the lead's grade back", scope=LEAD, status=204)
    def delete(self, request: Request, name: str, pk: int) -> Response:
        lead = doors.lead(request, name)
        withdraw_adjudication(doors.candidate(lead, pk), lead)
        return empty()


class ReopeningShape(Shape):
    id = serializers.IntegerField(source="pk")
    what = serializers.CharField()
    reason = serializers.SerializerMethodField(help_text="for leads, where it is about a person")
    at = serializers.DateTimeField()
    example = {
        "id": 2,
        "what": "rank 3 of “Somebody opens a door.”",
        "reason": "wrong clip",
        "at": "2026-01-05T09:00:00Z",
    }

    def get_reason(self, record: Reopening) -> str:
        private = record.annotator_id and not self.context["reader"].may_review
        return "" if private else record.reason


class ToReopen(Body):
    what = Choice(choices=list(doors.REOPENED), help_text="worker: all work of an annotator, by a job")
    id = Whole(
        min_value=1, max_value=LARGEST, help_text="of the candidate or the batch, or the worker's number"
    )
    reason = Text(max_length=500, help_text="kept on record")
    example = {"what": "candidate", "id": 41, "reason": "wrong clip"}


class Reopenings(Resource):
    @operation("What was reopened, the newest first", scope=READ, answer=ReopeningShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        return self.page(member.campaign.reopenings.all(), ReopeningShape, "-pk", reader=member)

    @operation(
        "Have others judge something again",
        scope=LEAD,
        body=ToReopen,
        answer=ReopeningShape,
        status=201,
        or_later=True,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        record = reopen(lead, doors.scope(lead, self.said["what"], self.said["id"]), self.said["reason"])
        shown = ReopeningShape(record, context={"reader": lead}).data
        job = jobs_of([record]).first() if record.annotator_id else None
        return under_way(name, job, shown) if job else Response(shown, 201)


class CostAsked(Query):
    what = serializers.ChoiceField(list(doors.REOPENED))
    id = serializers.IntegerField(min_value=1, max_value=LARGEST)


class CostShape(Shape):
    candidates = serializers.IntegerField()
    batches = serializers.IntegerField()
    judgements = serializers.IntegerField(help_text="that count no longer")
    places = serializers.IntegerField(help_text="taken away in batches that are still in work")
    hours = serializers.FloatField(allow_null=True, help_text="of work; null where nobody's time is known")
    stuck = serializers.IntegerField(help_text="batches for which not even two annotators remain")
    tight = serializers.IntegerField(help_text="batches for which not four remain")
    example = {
        "candidates": 20,
        "batches": 1,
        "judgements": 44,
        "places": 0,
        "hours": 0.1,
        "stuck": 0,
        "tight": 1,
    }


class ReopeningCost(Resource):
    @operation(
        "What reopening would come to, before it is done", scope=READ, query=CostAsked, answer=CostShape
    )
    def get(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        scope = doors.scope(lead, self.asked["what"], self.asked["id"])
        return Response(CostShape(cost_of(lead.campaign, scope)).data)
