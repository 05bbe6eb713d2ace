"""The paper's tables and figures of a campaign: their numbers, their files, and the study of similarity."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Query, Shape, Text, Whole
from api.problems import unfit
from api.resource import Resource, under_way
from campaigns.models import Token
from judging import doors
from judging.models import Kind
from judging.pool.study import MOST_CANDIDATES, MOST_QUERIES, Plan, ask_for_study
from reports.figures.catalogue import DRAWN, TABLES, Figure
from reports.figures.files import campaign_figure_file, query_of
from reports.figures.numbers import Subject
from reports.summaries import FIGURES, current_summary

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
LARGEST = 2**31 - 1
FILE_TYPES = ("text/csv", "application/json", "image/svg+xml", "application/pdf")


class FigureShape(Shape):
    key = serializers.CharField(help_text="names it in addresses")
    title = serializers.CharField()
    caption = serializers.CharField()
    tells = serializers.CharField(help_text="what its numbers show, in words")
    rows = serializers.ListField(child=serializers.DictField())
    files = serializers.ListField(child=serializers.CharField(), help_text="names of its files")


class FiguresShape(Shape):
    made = serializers.DateTimeField(allow_null=True, help_text="when their judgements were read")
    counting = serializers.BooleanField(help_text="whether newer numbers are being counted")
    study = serializers.IntegerField(help_text="queries of the study; 0 if there is none")
    figures = FigureShape(many=True, help_text="none before there is something to count")
    example = {
        "made": "2026-01-05T09:00:00Z",
        "counting": False,
        "study": 0,
        "figures": [
            {
                "key": "figure-5b",
                "title": "Figure 5b: final grades",
                "caption": "Of 4,000 final grades.",
                "tells": "The most frequent grade is 0.",
                "rows": [{"grade": 0, "candidates": 2100, "share": 0.525}],
                "files": ["figure-5b.csv", "figure-5b.json", "figure-5b.svg", "figure-5b.pdf"],
            }
        ],
    }


class OfQuery(Query):
    query = Text(
        required=False,
        max_length=100,
        help_text="whose figure 6 is wanted, by its id in runs; else the first",
    )


class OfFigure(OfQuery):
    worker = serializers.IntegerField(
        required=False, min_value=0, max_value=10**9 - 1, help_text="of the figure `drift`"
    )


class NewStudy(Body):
    queries = Whole(required=False, min_value=1, max_value=MOST_QUERIES)
    top = Whole(required=False, min_value=1, max_value=MOST_CANDIDATES, help_text="the most similar moments")
    random = Whole(required=False, min_value=0, max_value=MOST_CANDIDATES, help_text="drawn from the rest")
    seed = Whole(required=False, min_value=0, max_value=LARGEST)
    example = {"queries": 10, "top": 60, "random": 60, "seed": 1}


class StudyShape(Shape):
    queries = serializers.IntegerField(help_text="0 until the job has made them")
    example = {"queries": 0}


class Figures(Resource):
    @operation(
        "The numbers of the paper's tables and figures", scope=READ, answer=FiguresShape, query=OfQuery
    )
    def get(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        with unfit():
            subject = Subject(member.campaign, query=query_of(member.campaign, request.query_params))
        found = current_summary(member.campaign, FIGURES)
        has_any = bool(found.counts and found.counts["splits"]["all"]["queries"])
        told = [_shown(each, found.counts, subject) for each in (*TABLES, *DRAWN) if has_any]
        study = member.campaign.queries.filter(kind=Kind.STUDY).count()
        about = {"made": found.made, "counting": found.counting, "study": study}
        return Response(FiguresShape(about | {"figures": told}).data)


def _shown(figure: Figure, counts: Any, subject: Subject) -> dict[str, Any]:
    rows = figure.rows(counts, subject)
    endings = ("csv", "json", "svg", "pdf") if figure.drawn else ("csv",)
    return {
        "key": figure.key,
        "title": figure.title,
        "caption": figure.captioned(counts, subject),
        "tells": figure.tells(rows),
        "rows": rows,
        "files": [f"{figure.key}.{ending}" for ending in endings],
    }


class FigureFile(Resource):
    @operation(
        "A table or a figure: its numbers as CSV, its drawing as JSON (Vega-Lite), SVG or PDF",
        scope=READ,
        query=OfFigure,
        file=FILE_TYPES,
    )
    def get(self, request: Request, name: str, file: str) -> Any:
        with unfit():
            return campaign_figure_file(doors.membership(request, name).campaign, file, request.query_params)


class Study(Resource):
    @operation(
        "Have the study of grade against similarity made; a campaign has one",
        scope=LEAD,
        body=NewStudy,
        answer=StudyShape,
        later=True,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = doors.lead(request, name).campaign
        with unfit():
            job = ask_for_study(campaign, Plan(**self.said))
        queries = campaign.queries.filter(kind=Kind.STUDY).count()
        return under_way(name, job, {"queries": queries})
