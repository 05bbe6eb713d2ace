"""What is judged: queries, their batches, and the candidates with what was said of them."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, PageQuery, Shape, Text
from api.resource import Resource, empty
from campaigns.models import Membership, Token
from judging import doors
from judging.models import Batch, Candidate, Kind, Query, Review
from judging.pool.opening import batches_without_clips, open_without_clips
from judging.review.recommending import recommendations
from judging.review.withdrawing import bring_back, withdraw
from reports.tables.batch import CandidateRow, Editions, candidate_rows
from reports.tables.queries import FILTERS, SORTS, Table, query_rows

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


class BatchShape(Shape):
    id = serializers.IntegerField(source="pk")
    query = serializers.IntegerField(source="query_id", help_text="the id of its query's resource")
    number = serializers.IntegerField()
    edition = serializers.IntegerField(help_text="editions after the first hold reopened candidates")
    state = serializers.ChoiceField(Batch.State.choices)
    round = serializers.IntegerField()
    taken = serializers.IntegerField(help_text="places of this round that are taken, of 2")
    example = {
        "id": 7,
        "query": 3,
        "number": 1,
        "edition": 1,
        "state": "open",
        "round": 1,
        "taken": 2,
    }


class Advice(Shape):
    """What the grades of a batch's last candidates suggest."""

    verdict = serializers.ChoiceField(
        Review.Verdict.choices, allow_null=True, help_text="null: decide by hand"
    )
    possible = serializers.ListField(child=serializers.ChoiceField(Review.Verdict.choices))
    mean = serializers.FloatField(allow_null=True, help_text="of the last five candidates")
    reason = serializers.CharField()


class BatchToReview(BatchShape):
    recommendation = Advice()
    example = BatchShape.example | {
        "state": "settled",
        "recommendation": {
            "verdict": "close",
            "possible": ["second", "close"],
            "mean": 1.0,
            "reason": "last five mean 1.0 < 2.0: close the query",
        },
    }


class QueryShape(Shape):
    id = serializers.IntegerField(source="pk")
    query_id = serializers.CharField(help_text="the id in runs and qrels")
    text = serializers.CharField()
    split = serializers.CharField()
    closed = serializers.BooleanField()
    withdrawn = serializers.DateTimeField(allow_null=True)
    batches = BatchShape(many=True, help_text="of each number the edition in work, or the newest")
    example = {
        "id": 3,
        "query_id": "17",
        "text": "Somebody opens a door.",
        "split": "val",
        "closed": False,
        "withdrawn": None,
        "batches": [BatchShape.example],
    }


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
    example = {
        "id": 41,
        "rank": 1,
        "similarity": 0.83,
        "video": "friends_s01e01",
        "start": 3.2,
        "end": 7.5,
        "caption": "A woman sits down.",
        "clip": "/api/v1/clips/hKd0",
        "outcome": "settled",
        "grade": 4,
        "grades": [{"worker": 2, "grade": 4, "round": 1, "counts": True, "seconds": 6.1}],
        "flags": [],
    }


class BatchDetail(BatchShape):
    text = serializers.CharField(source="query.text")
    candidates = CandidateShape(many=True, source="told")
    example = BatchShape.example | {"text": "Somebody opens a door.", "candidates": [CandidateShape.example]}


def candidate_of(row: CandidateRow, reader: Membership) -> dict[str, Any]:
    candidate, clip = row.candidate, row.candidate.clip
    return {
        "id": candidate.pk,
        "rank": candidate.rank,
        "similarity": candidate.similarity,
        "video": candidate.moment.video.name,
        "start": candidate.moment.start,
        "end": candidate.moment.end,
        "caption": candidate.moment.caption,
        "clip": reverse("api-clip", args=[clip.token]) if clip and clip.is_ready else None,
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


ORDERS = {"": ("pk",), "-": ("-pk",), "text": ("text", "pk")}


class Queries(Resource):
    @operation("The queries of the pool", scope=READ, answer=QueryShape, query=QueriesAsked, pages=True)
    def get(self, request: Request, name: str) -> Response:
        campaign, asked = doors.membership(request, name).campaign, self.asked
        table = Table(asked.get("show", ""), asked.get("q", ""), asked.get("sort", ""))
        return self.page_by(table.queries(campaign), _shown, *ORDERS[table.sort])


def _shown(queries: list[Query]) -> Any:
    return [_query_of(row.query, [each.batch for each in row.batches]) for row in query_rows(queries)]


def _query_of(query: Query, batches: list[Batch]) -> dict[str, Any]:
    return {
        "id": query.pk,
        "query_id": query.query_id,
        "text": query.text,
        "split": query.split,
        "closed": query.closed,
        "withdrawn": query.withdrawn,
        "batches": BatchShape(batches, many=True).data,
    }


class OneQuery(Resource):
    @operation("A query of the pool", scope=READ, answer=QueryShape)
    def get(self, request: Request, name: str, pk: int) -> Response:
        return Response(_shown([doors.pool_query(doors.membership(request, name), pk)])[0])


class Reason(Body):
    reason = Text(max_length=500, help_text="kept on record")
    example = {"reason": "not a sentence"}


class Withdrawal(Resource):
    @operation(
        "Withdraw a query: nobody judges it any more, and no export has it",
        scope=LEAD,
        body=Reason,
        status=204,
    )
    def put(self, request: Request, name: str, pk: int) -> Response:
        withdraw(doors.pool_query(doors.lead(request, name), pk), self.said["reason"])
        return empty()

    @operation("Bring a withdrawn query back", scope=LEAD, status=204)
    def delete(self, request: Request, name: str, pk: int) -> Response:
        bring_back(doors.pool_query(doors.lead(request, name), pk))
        return empty()


class BatchesAsked(PageQuery):
    state = serializers.ChoiceField(Batch.State.choices, required=False)


class Batches(Resource):
    @operation("The batches of the pool", scope=READ, answer=BatchShape, query=BatchesAsked, pages=True)
    def get(self, request: Request, name: str) -> Response:
        rows = Batch.objects.in_pool(doors.membership(request, name).campaign)
        return self.page(
            rows.filter(**{key: self.asked[key] for key in ("state",) if key in self.asked}), BatchShape
        )


class BatchesToReview(Resource):
    @operation(
        "The batches that wait for a review, with what is recommended",
        scope=READ,
        answer=BatchToReview,
        pages=True,
    )
    def get(self, request: Request, name: str) -> Response:
        waiting = Batch.objects.in_campaign(doors.membership(request, name).campaign).to_review()
        return self.page_by(waiting.select_related("query__campaign"), _with_recommendations)


def _with_recommendations(batches: list[Batch]) -> Any:
    found = recommendations(batches)
    for batch in batches:
        batch.recommendation = found[batch.pk]  # type: ignore[attr-defined]
    return BatchToReview(batches, many=True).data


class OneBatch(Resource):
    @operation("A batch, with its candidates by rank and who graded them", scope=READ, answer=BatchDetail)
    def get(self, request: Request, name: str, pk: int) -> Response:
        member = doors.membership(request, name)
        batch = doors.batch(member, pk)
        rows = candidate_rows(Editions.of(batch), member) if batch.kind == Kind.POOL else []
        batch.told = [candidate_of(row, member) for row in rows]  # type: ignore[attr-defined]
        return Response(BatchDetail(batch).data)


class OpenBatch(Resource):
    @operation("Open a batch without the clips that cannot be cut", scope=LEAD, answer=BatchShape)
    def post(self, request: Request, name: str, pk: int) -> Response:
        lead = doors.lead(request, name)
        batch = doors.batch(lead, pk)
        open_without_clips(lead, batch)
        batch.refresh_from_db()
        return Response(BatchShape(batch).data)


class HowManyOpened(Shape):
    number = serializers.IntegerField(help_text="of batches that are open now")
    example = {"number": 3}


class OpenBatches(Resource):
    @operation(
        "Open all batches that wait because clips of them cannot be cut", scope=LEAD, answer=HowManyOpened
    )
    def post(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        waiting = batches_without_clips(lead.campaign).select_related("query__campaign")
        return Response({"number": sum(open_without_clips(lead, batch) for batch in waiting)})
