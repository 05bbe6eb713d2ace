"""What is judged: queries, their batches, and the candidates with what was said of them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Page, PageQuery, Shape, Text
from api.operations import Representation, Rows, changes, reads
from api.resource import CAMPAIGN, Resource, clip_address
from campaigns.models import Membership
from judging import doors
from judging.models import Batch, Candidate, Kind, Query, Review
from judging.pool.opening import open_all_without_clips, open_without_clips
from judging.review.decisions import bring_back, withdraw
from judging.review.reviewing import Recommendation, recommendations
from reports.tables.batch import CandidateRow, Editions, candidate_rows
from reports.tables.queries import FILTERS, SORTS, Table, query_rows


class BatchShape(Shape):
    of = Batch, "id number edition state round taken"
    helps = {
        "edition": "editions after the first hold reopened candidates",
        "taken": "places of this round that are taken, of 2",
    }
    query = serializers.IntegerField(source="query_id", help_text="the id of its query's resource")


class Advice(Shape):
    """What the grades of a batch's last candidates suggest."""

    of = Recommendation, "mean reason"
    helps = {"mean": "of the last five candidates"}
    verdict = serializers.ChoiceField(Review.Verdict.choices, allow_null=True, help_text="null: decide by hand")
    possible = serializers.ListField(child=serializers.ChoiceField(Review.Verdict.choices))


class BatchToReview(BatchShape):
    recommendation = Advice()


class QueryShape(Shape):
    of = Query, "id query_id text split closed withdrawn"
    helps = {"query_id": "the id in runs and qrels"}
    batches = BatchShape(many=True, help_text="of each number the edition in work, or the newest")


class Grade(Shape):
    worker = serializers.IntegerField()
    name = serializers.CharField(required=False, help_text="for leads")
    grade = serializers.IntegerField()
    round = serializers.IntegerField()
    counts = serializers.BooleanField(help_text="false once the candidate was reopened")
    seconds = serializers.FloatField(allow_null=True)


class CandidateShape(Shape):
    id = serializers.IntegerField()
    rank = serializers.IntegerField()
    similarity = serializers.FloatField(allow_null=True, help_text="null of a moment that a run found")
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    caption = serializers.CharField()
    clip = serializers.CharField(allow_null=True, help_text="its address, once it is cut")
    outcome = serializers.ChoiceField(Candidate.Outcome.choices)
    grade = serializers.IntegerField(allow_null=True, help_text="the final one")
    grades = Grade(many=True)
    flags = serializers.ListField(child=serializers.IntegerField(), help_text="ids of flags")


class BatchDetail(BatchShape):
    text = serializers.CharField()
    candidates = CandidateShape(many=True)


def candidate_of(row: CandidateRow, reader: Membership) -> dict[str, Any]:
    candidate, moment = row.candidate, row.candidate.moment
    return {
        "id": candidate.pk,
        "rank": candidate.rank,
        "similarity": candidate.similarity,
        "video": moment.video.name,
        "start": moment.start,
        "end": moment.end,
        "caption": moment.caption,
        "clip": clip_address(candidate.clip),
        "outcome": candidate.outcome,
        "grade": candidate.grade,
        "grades": [
            {
                "worker": (who := grade.judgement.annotator.as_worker).worker,
                **({"name": who.user.get_username()} if reader.may_review else {}),
                "grade": grade.judgement.grade,
                "round": grade.judgement.assignment.round,
                "counts": not grade.struck,
                "seconds": grade.seconds,
            }
            for grade in row.grades
        ],
        "flags": [each.flag.pk for each in row.flags],
    }


class QueriesAsked(PageQuery):
    show = serializers.ChoiceField([name for name in FILTERS if name], required=False)
    sort = serializers.ChoiceField([name for name in SORTS if name], required=False)
    q = Text(required=False, max_length=200, help_text="words of the query, or its id in runs")


class Queries(Resource, at=f"{CAMPAIGN}/queries", name="queries"):
    @reads(Page(QueryShape), query=QueriesAsked)
    def get(self, request: Request, name: str) -> Any:
        """The queries of the pool."""
        campaign = doors.membership(request, name).campaign
        table = Table(*(self.params.get(field, "") for field in ("show", "q", "sort")))
        return Rows(table.queries(campaign), table.order, _with_batches)


def _with_batches(queries: list[Query]) -> list[dict[str, Any]]:
    return [
        {
            "pk": row.query.pk,
            "query_id": row.query.query_id,
            "text": row.query.text,
            "split": row.query.split,
            "closed": row.query.closed,
            "withdrawn": row.query.withdrawn,
            "batches": [each.batch for each in row.batches],
        }
        for row in query_rows(queries)
    ]


class OneQuery(Resource, at=f"{CAMPAIGN}/queries/<int:pk>", name="query"):
    @reads(QueryShape)
    def get(self, request: Request, name: str, pk: int) -> Any:
        """A query of the pool."""
        return _with_batches([doors.pool_query(doors.membership(request, name), pk)])[0]


class Reason(Body):
    reason = Text(max_length=500, help_text="kept on record")


class Withdrawal(Resource, at=f"{CAMPAIGN}/queries/<int:pk>/withdrawal", name="withdrawal"):
    @changes(body=Reason)
    def put(self, request: Request, name: str, pk: int) -> Any:
        """Withdraw a query: nobody judges it any more, and no export has it."""
        withdraw(doors.pool_query(doors.lead(request, name), pk), self.data["reason"])

    @changes()
    def delete(self, request: Request, name: str, pk: int) -> Any:
        """Bring a withdrawn query back."""
        bring_back(doors.pool_query(doors.lead(request, name), pk))


class BatchesAsked(PageQuery):
    state = serializers.ChoiceField(Batch.State.choices, required=False)


class Batches(Resource, at=f"{CAMPAIGN}/batches", name="batches"):
    @reads(Page(BatchShape), query=BatchesAsked)
    def get(self, request: Request, name: str) -> Any:
        """The batches of the pool."""
        rows = Batch.objects.in_pool(doors.membership(request, name).campaign)
        return rows.filter(state=self.params["state"]) if "state" in self.params else rows


class BatchesToReview(Resource, at=f"{CAMPAIGN}/batches/to-review", name="to-review"):
    @reads(Page(BatchToReview))
    def get(self, request: Request, name: str) -> Any:
        """The batches that wait for a review, with what is recommended."""
        waiting = Batch.objects.in_campaign(doors.membership(request, name).campaign).to_review()
        return Rows(waiting.select_related("query__campaign"), show=_with_recommendations)


def _with_recommendations(batches: list[Batch]) -> list[Representation]:
    advice = recommendations(batches)
    return [
        Representation(BatchShape(each).data | {"recommendation": Advice(advice[each.pk]).data}) for each in batches
    ]


class OneBatch(Resource, at=f"{CAMPAIGN}/batches/<int:pk>", name="batch"):
    @reads(BatchDetail)
    def get(self, request: Request, name: str, pk: int) -> Any:
        """A batch, with its candidates by rank and who graded them."""
        member = doors.membership(request, name)
        batch = doors.batch(member, pk)
        rows = candidate_rows(Editions.of(batch), member) if batch.kind == Kind.POOL else []
        candidates = CandidateShape([candidate_of(row, member) for row in rows], many=True).data
        return Representation(BatchShape(batch).data | {"text": batch.query.text, "candidates": candidates})


class OpenBatch(Resource, at=f"{CAMPAIGN}/batches/<int:pk>/open", name="batch-open"):
    @changes(BatchShape)
    def post(self, request: Request, name: str, pk: int) -> Any:
        """Open a batch without the clips that cannot be cut."""
        lead = doors.lead(request, name)
        batch = doors.batch(lead, pk)
        open_without_clips(lead, batch)
        batch.refresh_from_db()
        return batch


class HowManyOpened(Shape):
    number = serializers.IntegerField(help_text="of batches that are open now")


class OpenBatches(Resource, at=f"{CAMPAIGN}/batches/open", name="batches-open"):
    @changes(HowManyOpened)
    def post(self, request: Request, name: str) -> Any:
        """Open all batches that wait because clips of them cannot be cut."""
        return {"number": open_all_without_clips(doors.lead(request, name))}
