"""Quiet checks, for leads: where each annotator stands, the judgements behind it, and gold."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, PageQuery, Shape, Whole
from api.resource import Resource
from campaigns.models import Token
from judging import doors
from judging.models import Judgement, Query
from judging.quality import check_results
from judging.quality.gold import DRAWN_AT_ONCE, SOURCES_LOOKED_AT, draw_gold, gold, make_gold, sources
from reports.summaries import PEOPLE, current_summary
from reports.tables.checks import CheckRow, check_rows

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
LARGEST = 10**18 - 1  # a primary key


class CheckedShape(Shape):
    worker = serializers.IntegerField(source="annotator.worker")
    pairs = serializers.IntegerField(source="checked.pairs", default=0, help_text="check pairs in all")
    missed = serializers.IntegerField(source="checked.missed", default=0)
    recent = serializers.IntegerField(source="recent.recent", help_text="the newest, which decide")
    recent_missed = serializers.IntegerField(source="recent.recent_missed")
    warned = serializers.DateTimeField(source="recent.warned", allow_null=True)
    paused = serializers.DateTimeField(source="recent.paused", allow_null=True)
    judgements = serializers.IntegerField(source="speed.judgements", default=0, help_text="of thirty days")
    fast = serializers.IntegerField(
        source="speed.fast", default=0, help_text=f"of these, under {check_results.FAST:g} seconds"
    )
    median = serializers.FloatField(source="speed.median", allow_null=True, default=None, help_text="seconds")


class ChecksShape(Shape):
    made = serializers.DateTimeField(allow_null=True, help_text="when the numbers in all were counted")
    counting = serializers.BooleanField()
    window = serializers.IntegerField(help_text="of the newest check pairs, which decide")
    enough = serializers.IntegerField(help_text="check pairs before anything follows")
    annotators = CheckedShape(many=True)
    example = {
        "made": "2026-01-05T09:00:00Z",
        "counting": False,
        "window": 20,
        "enough": 10,
        "annotators": [
            {
                "worker": 2,
                "pairs": 40,
                "missed": 3,
                "recent": 20,
                "recent_missed": 1,
                "warned": None,
                "paused": None,
                "judgements": 900,
                "fast": 4,
                "median": 6.1,
            }
        ],
    }


class CheckPairShape(Shape):
    id = serializers.IntegerField(source="pk")
    query = serializers.CharField(source="candidate.query.text")
    grade = serializers.IntegerField()
    expected = serializers.FloatField(required=False, allow_null=True, help_text="without `show=speed`")
    missed = serializers.BooleanField(required=False, allow_null=True, help_text="without `show=speed`")
    seconds = serializers.FloatField(source="spent", allow_null=True, help_text="before the first grade")
    example = {
        "id": 90,
        "query": "Somebody opens a door.",
        "grade": 4,
        "expected": 2.0,
        "missed": True,
        "seconds": 6.1,
    }


class PairsAsked(PageQuery):
    show = serializers.ChoiceField(list(check_results.SELECTIONS), required=False, help_text="else all")


class GoldShape(Shape):
    id = serializers.IntegerField(source="pk")
    text = serializers.CharField()
    pairs = serializers.IntegerField()
    had = serializers.IntegerField(help_text="annotators who have judged it")
    example = {"id": 31, "text": "Somebody opens a door.", "pairs": 5, "had": 3}


class NewGold(Body):
    query = Whole(
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text=f"closed; without it, {DRAWN_AT_ONCE} are drawn",
    )
    example = {"query": 3}


class SourceShape(Shape):
    query = serializers.IntegerField()
    text = serializers.CharField()
    pairs = serializers.IntegerField(help_text="on which all annotators agreed")
    example = {"query": 3, "text": "Somebody opens a door.", "pairs": 12}


class Checks(Resource):
    @operation("Where each annotator stands by the quiet checks", scope=READ, answer=ChecksShape)
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.lead(request, name).campaign
        counted = current_summary(campaign, PEOPLE)
        rows: list[CheckRow] = check_rows(campaign, counted)
        about = {"made": counted.made, "counting": counted.counting}
        rules = {"window": check_results.WINDOW, "enough": check_results.ENOUGH}
        return Response(ChecksShape(about | rules | {"annotators": rows}).data)


class CheckPairs(Resource):
    @operation(
        "The judgements behind a number of the checks",
        scope=READ,
        answer=CheckPairShape,
        query=PairsAsked,
        pages=True,
    )
    def get(self, request: Request, name: str, worker: int) -> Response:
        annotator = doors.annotator_of(doors.lead(request, name), worker)
        which = self.asked.get("show", "all")
        rows = check_results.pairs_behind(annotator, which)
        if which == "speed":
            return self.page(rows, CheckPairShape, "spent", "pk")
        if which == "newest":  # a slice, which a page cannot divide further
            keys = [each.pk for each in rows]
            rows = check_results.pairs_behind(annotator, "all").filter(pk__in=keys)
        return self.page_by(rows, _shown, "-pk")


def _shown(pairs: list[Judgement]) -> Any:
    return CheckPairShape(pairs, many=True).data


class Gold(Resource):
    @operation("The gold: checks of pairs on which all agreed", scope=READ, answer=GoldShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        return self.page(gold(doors.lead(request, name).campaign), GoldShape, "-pk")

    @operation(
        "Make gold of a closed query, or of some that are drawn",
        scope=LEAD,
        body=NewGold,
        answer=GoldShape(many=True),
        status=201,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = doors.lead(request, name).campaign
        if "query" in self.said:
            made: list[Query] = [make_gold(get_object_or_404(campaign.queries, pk=self.said["query"]))]
        else:
            made = draw_gold(campaign, DRAWN_AT_ONCE, seed=campaign.order_seed)
        rows = gold(campaign).filter(pk__in=[each.pk for each in made])
        return Response(GoldShape(rows, many=True).data, 201)


class GoldSources(Resource):
    @operation(
        f"The closed queries that can become gold, of the first {SOURCES_LOOKED_AT}, most pairs first",
        scope=READ,
        answer=SourceShape(many=True),
    )
    def get(self, request: Request, name: str) -> Response:
        found = sources(doors.lead(request, name).campaign, most=SOURCES_LOOKED_AT)
        rows = [{"query": query.pk, "text": query.text, "pairs": pairs} for query, pairs in found]
        return Response(SourceShape(rows, many=True).data)
