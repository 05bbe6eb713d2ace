"""How far annotators agree: overall, one annotator, and the queries."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Shape
from api.resource import Resource, under_way
from api.resources.campaigns import Numbers, counted
from campaigns.models import Campaign, Token
from judging import doors
from judging.models import Query
from reports.figures.numbers import annotator_of, week_name
from reports.summaries import AGREEMENT, QUERIES, count_agreement, current_summary

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


class QueryAgreement(Shape):
    query = serializers.IntegerField(help_text="the id of the query's resource")
    text = serializers.CharField()
    pairs = serializers.IntegerField(help_text="of grades")
    contested = serializers.FloatField(allow_null=True)
    discarded = serializers.IntegerField()
    distance = serializers.FloatField(allow_null=True, help_text="mean difference of two grades")
    mean = serializers.FloatField(allow_null=True, help_text="of the grades")


class QueriesAgreement(Shape):
    made = serializers.DateTimeField(allow_null=True, help_text="when their judgements were read")
    counting = serializers.BooleanField(help_text="whether newer numbers are being counted")
    queries = QueryAgreement(many=True, help_text="those with most disagreement first")
    example = {
        "made": "2026-01-05T09:00:00Z",
        "counting": False,
        "queries": [
            {
                "query": 3,
                "text": "Somebody opens a door.",
                "pairs": 20,
                "contested": 0.2,
                "discarded": 1,
                "distance": 0.8,
                "mean": 1.9,
            }
        ],
    }


class Agreement(Resource):
    @operation("How far annotators agree, in all and each of them", scope=READ, answer=Numbers)
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        found = current_summary(campaign, AGREEMENT)
        return counted(found, _by_worker(campaign, found.counts))

    @operation("Have everything counted again", scope=LEAD, answer=Numbers, later=True)
    def post(self, request: Request, name: str) -> Response:
        campaign = doors.lead(request, name).campaign
        job = count_agreement.ask(campaign)
        found = current_summary(campaign, AGREEMENT)
        return under_way(name, job, counted(found, _by_worker(campaign, found.counts)).data)


class AnnotatorAgreement(Resource):
    @operation(
        "How far one annotator agrees with the others, by week and with each", scope=READ, answer=Numbers
    )
    def get(self, request: Request, name: str, worker: int) -> Response:
        campaign = doors.membership(request, name).campaign
        who = get_object_or_404(campaign.memberships, worker=worker)
        found = current_summary(campaign, AGREEMENT)
        own = annotator_of(found.counts, who) if found.counts else None
        return counted(found, _of_one(campaign, own) if own else None)


class AgreementByQuery(Resource):
    @operation("How far annotators agree on each query", scope=READ, answer=QueriesAgreement)
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        found = current_summary(campaign, QUERIES)
        texts = dict(Query.objects.filter(campaign=campaign).values_list("pk", "text"))
        names = ("query", "pairs", "contested", "discarded", "distance", "mean")
        rows = [dict(zip(names, row, strict=True)) for row in found.counts or [] if row[0] in texts]
        queries = [row | {"text": texts[row["query"]]} for row in rows]
        about = {"made": found.made, "counting": found.counting}
        return Response(QueriesAgreement(about | {"queries": queries}).data)


def _by_worker(campaign: Campaign, counts: Any) -> Any:
    """Return the numbers with worker numbers in place of keys of the database."""
    if counts is None:
        return None
    people = [
        {key: value for key, value in row.items() if not isinstance(value, list | dict)}
        for row in _named(campaign, counts["annotators"])
    ]
    return {key: value for key, value in counts.items() if not isinstance(value, list)} | {
        "annotators": people
    }


def _of_one(campaign: Campaign, own: Any) -> Any:
    """Return an annotator's numbers, those by week and beside each other annotator too."""
    [told] = _named(campaign, [own])
    weeks = [each | {"week": week_name(each["week"])} for each in own["weeks"] if each["week"]]
    return told | {"weeks": weeks, "others": _named(campaign, own["others"])}


def _named(campaign: Campaign, rows: Any) -> list[dict[str, Any]]:
    workers = dict(campaign.memberships.values_list("pk", "worker"))
    return [
        {"worker": workers[row["member"]]} | {key: value for key, value in row.items() if key != "member"}
        for row in rows
        if row["member"] in workers
    ]
