"""The lead's decisions about what was judged: reviews, flags, grades of the lead's own, reopenings."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers

from api.fields import Body, Choice, Number, Page, Query, Shape, Text, Whole, shape
from api.operations import OR_LATER, Rows, With, changes, makes, reads
from api.resource import CAMPAIGN, Resource
from judging import access
from judging.consensus import GRADES
from judging.models import Flag, Reopening, Review
from judging.review import reviewing
from judging.review.decisions import ACTIONS, adjudicate, withdraw_adjudication
from judging.review.reopening import reopen, reopen_work
from reports.tables.costs import Cost, cost_of

LARGEST = 10**18 - 1  # a primary key


class ReviewShape(Shape):
    of = Review, "id verdict reason at batch=batch_id by=lead.worker"
    helps = {"by": "null: the policy"}


class Verdict(Body):
    of = Review, "verdict reason"


class Reviews(Resource, at=f"{CAMPAIGN}/reviews", name="reviews"):
    @reads(Page(ReviewShape))
    def get(self) -> Any:
        """The reviews that are in force, the newest first."""
        found = Review.objects.in_force().filter(batch__campaign=self.member.campaign)
        return Rows(found.select_related("lead"), ("-pk",))


class OneReview(Resource, at=f"{CAMPAIGN}/batches/<int:pk>/review", name="review"):
    @changes(ReviewShape, body=Verdict)
    def put(self, pk: int) -> Any:
        """Review a settled batch: open the second, or close the query."""
        batch, reason = access.batch(self.lead, pk).newest_edition, self.data.get("reason", "").strip()
        return reviewing.review(batch, self.lead, self.data["verdict"], reason)

    @changes()
    def delete(self, pk: int) -> Any:
        """Undo the review of a batch."""
        review = reviewing.review_in_force(access.batch(self.lead, pk).newest_edition)
        if review is None:
            raise Http404
        reviewing.undo(review, self.lead)


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


class LeftShape(Shape):
    batch = serializers.IntegerField()
    why = serializers.CharField()


class AcceptedShape(Shape):
    done = ReviewShape(many=True)
    left = LeftShape(many=True, help_text="batches that are left as they are, such as where grades have changed")


class Acceptance(Resource, at=f"{CAMPAIGN}/batches/acceptance", name="accept"):
    @changes(AcceptedShape, body=ToAccept)
    def post(self) -> Any:
        """Follow the recommendations for several batches."""
        seen = [
            (access.batch(self.lead, each["batch"]), each["verdict"], reviewing.as_seen(each["mean"]))
            for each in self.data["seen"]
        ]
        done, left = reviewing.accept_all(self.lead, seen)
        return {"done": done, "left": [{"batch": batch.pk, "why": why} for batch, why in left]}


class FlagShape(Shape):
    of = (
        Flag,
        "id candidate=candidate_id batch=candidate.batch_id worker=assignment.annotator.worker reason comment at",
    )
    comment = serializers.CharField(read_only=True, help_text="for leads")


class FlagAction(Body):
    action = Choice(choices=list(ACTIONS), help_text="dismiss it, or have the clips of its batch cut again")


class Flags(Resource, at=f"{CAMPAIGN}/flags", name="flags"):
    @reads(Page(FlagShape))
    def get(self) -> Any:
        """What annotators could not judge, the newest first."""
        rows = Flag.objects.waiting(self.member.campaign).select_related("candidate", "assignment__annotator")
        return Rows(rows, ("-pk",), self.as_read)

    def as_read(self, flags: list[Flag]) -> list[With]:
        return [With(flag, comment=flag.comment if self.member.may_review else "") for flag in flags]


class OneFlag(Resource, at=f"{CAMPAIGN}/flags/<int:pk>", name="flag-handled"):
    @changes(shape("Done", done=serializers.CharField(help_text="what was done, in words")), body=FlagAction)
    def post(self, pk: int) -> Any:
        """Deal with a flag."""
        return {"done": ACTIONS[self.data["action"]](access.flag(self.lead, pk), self.lead)}


class OwnGrade(Body):
    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    reason = Text(max_length=500, help_text="kept on record")


class OneGrade(Resource, at=f"{CAMPAIGN}/candidates/<int:pk>/grade", name="grade"):
    @changes(body=OwnGrade)
    def put(self, pk: int) -> Any:
        """Grade a candidate without a consensus; it is exported apart."""
        adjudicate(access.candidate(self.lead, pk), self.lead, self.data["grade"], self.data["reason"])

    @changes()
    def delete(self, pk: int) -> Any:
        """Take the lead's grade back."""
        withdraw_adjudication(access.candidate(self.lead, pk), self.lead)


class ReopeningShape(Shape):
    of = Reopening, "id what at"
    reason = serializers.CharField(read_only=True, help_text="for leads, where it is about a person")


class ToReopen(Body):
    what = Choice(choices=list(access.REOPENED), help_text="worker: all work of an annotator, by a job")
    id = Whole(min_value=1, max_value=LARGEST, help_text="of the candidate or the batch, or the worker's number")
    reason = Text(max_length=500, help_text="kept on record")


class Reopenings(Resource, at=f"{CAMPAIGN}/reopenings", name="reopenings"):
    @reads(Page(ReopeningShape))
    def get(self) -> Any:
        """What was reopened, the newest first."""
        return Rows(self.member.campaign.reopenings.all(), ("-pk",), self.as_read)

    def as_read(self, records: list[Reopening]) -> list[With]:
        leads = self.member.may_review
        return [With(each, reason=each.reason if leads or not each.annotator_id else "") for each in records]

    @makes(ReopeningShape, OR_LATER, body=ToReopen)
    def post(self) -> Any:
        """Have others judge something again."""
        scope = access.scope(self.lead, self.data["what"], self.data["id"])
        record = reopen(self.lead, scope, self.data["reason"])
        return self.under_way(reopen_work.jobs(record).first(), record)


class CostAsked(Query):
    what = serializers.ChoiceField(list(access.REOPENED))
    id = serializers.IntegerField(min_value=1, max_value=LARGEST)


class CostShape(Shape):
    of = Cost, "candidates batches judgements places hours stuck tight"
    helps = {
        "judgements": "that count no longer",
        "places": "taken away in batches that are still in work",
        "hours": "of work; null where nobody's time is known",
        "stuck": "batches for which not even two annotators remain",
        "tight": "batches for which not four remain",
    }


class ReopeningCost(Resource, at=f"{CAMPAIGN}/reopenings/cost", name="reopening-cost"):
    @reads(CostShape, query=CostAsked)
    def get(self) -> Any:
        """What reopening would come to, before it is done."""
        return cost_of(self.lead.campaign, access.scope(self.lead, self.params["what"], self.params["id"]))
