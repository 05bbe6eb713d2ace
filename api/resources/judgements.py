"""The judgements of a campaign, chosen by what the numbers of agreement count."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from api.describing import operation
from api.fields import Query, Shape, Text
from api.problems import unfit
from api.resource import Resource
from campaigns.models import Token
from judging import doors
from judging.consensus import GRADES
from reports.tables.judgements import ONLY, Line, judgements_page

LARGEST = 10**18 - 1  # a primary key


class JudgementShape(Shape):
    id = serializers.IntegerField(source="judgement.pk")
    candidate = serializers.IntegerField(source="judgement.candidate_id")
    query = serializers.IntegerField(source="judgement.candidate.query_id")
    rank = serializers.IntegerField(source="judgement.candidate.rank")
    worker = serializers.IntegerField(source="judgement.annotator.as_worker.worker")
    grade = serializers.IntegerField(source="judgement.grade")
    seat = serializers.IntegerField(source="judgement.seat")
    seconds = serializers.FloatField(allow_null=True, help_text="before the first grade")
    other = serializers.IntegerField(
        source="other.grade", allow_null=True, default=None, help_text="the co-judge's"
    )
    example = {
        "id": 90,
        "candidate": 41,
        "query": 3,
        "rank": 1,
        "worker": 2,
        "grade": 4,
        "seat": 1,
        "seconds": 6.1,
        "other": 3,
    }


class JudgementsPage(Shape):
    next = serializers.CharField(allow_null=True, help_text="the address of the page with older ones")
    results = JudgementShape(many=True)


class JudgementsAsked(Query):
    worker = serializers.IntegerField(required=False, min_value=0, max_value=10**9 - 1)
    query = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)
    week = Text(required=False, max_length=20, help_text="as 2026-W05")
    only = serializers.ChoiceField(list(ONLY), required=False)
    own = serializers.IntegerField(required=False, min_value=min(GRADES), max_value=max(GRADES))
    other = serializers.IntegerField(required=False, min_value=min(GRADES), max_value=max(GRADES))
    before = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST, help_text="an id")
    locals()["with"] = serializers.IntegerField(required=False, min_value=0, max_value=10**9 - 1)


class Judgements(Resource):
    @operation(
        "The judgements that count, the newest first",
        scope=Token.Scope.READ,
        query=JudgementsAsked,
        answer=JudgementsPage,
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        with unfit():
            found = judgements_page(campaign, request._request.GET)
        return Response({"next": self._next(request, found.older), "results": _shown(found.lines)})

    def _next(self, request: Request, older: int | None) -> str | None:
        here = request.build_absolute_uri()
        return None if older is None else str(replace_query_param(here, "before", older))


def _shown(lines: list[Line]) -> Any:
    return JudgementShape(lines, many=True).data
