"""Quiet checks, for leads: where each annotator stands, the judgements behind it, and gold."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Page, PageQuery, Shape, Whole
from api.operations import Rows, makes, reads
from api.resource import CAMPAIGN, Resource
from judging import doors
from judging.quality import check_results
from judging.quality.checks import DRAWN_AT_ONCE, SOURCES_LOOKED_AT, draw_gold, gold, make_gold, sources
from reports.summaries import PEOPLE, current_summary
from reports.tables.people import check_rows


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


class CheckPairShape(Shape):
    id = serializers.IntegerField(source="pk")
    query = serializers.CharField(source="candidate.query.text")
    grade = serializers.IntegerField()
    expected = serializers.FloatField(required=False, allow_null=True, help_text="without `show=speed`")
    missed = serializers.BooleanField(required=False, allow_null=True, help_text="without `show=speed`")
    seconds = serializers.FloatField(source="spent", allow_null=True, help_text="before the first grade")


class PairsAsked(PageQuery):
    show = serializers.ChoiceField(list(check_results.SELECTIONS), required=False, help_text="else all")


class GoldShape(Shape):
    id = serializers.IntegerField(source="pk")
    text = serializers.CharField()
    pairs = serializers.IntegerField()
    had = serializers.IntegerField(help_text="annotators who have judged it")


class NewGold(Body):
    query = Whole(
        required=False, min_value=1, max_value=10**18 - 1, help_text=f"closed; without it, {DRAWN_AT_ONCE} are drawn"
    )


class SourceShape(Shape):
    query = serializers.IntegerField()
    text = serializers.CharField()
    pairs = serializers.IntegerField(help_text="on which all annotators agreed")


class Checks(Resource, at=f"{CAMPAIGN}/checks", name="checks"):
    @reads(ChecksShape)
    def get(self, request: Request, name: str) -> Any:
        """Where each annotator stands by the quiet checks."""
        campaign = doors.lead(request, name).campaign
        summary = current_summary(campaign, PEOPLE)
        about = {"made": summary.made, "counting": summary.counting}
        rules = {"window": check_results.WINDOW, "enough": check_results.ENOUGH}
        return about | rules | {"annotators": check_rows(campaign, summary)}


class CheckPairs(Resource, at=f"{CAMPAIGN}/checks/<int:worker>/pairs", name="check-pairs"):
    @reads(Page(CheckPairShape), query=PairsAsked)
    def get(self, request: Request, name: str, worker: int) -> Any:
        """The judgements behind a number of the checks."""
        annotator = doors.annotator_of(doors.lead(request, name), worker)
        which = self.params.get("show", "all")
        rows = check_results.pairs_behind(annotator, which)
        if which == "newest":  # a slice, which a page cannot divide further
            keys = [each.pk for each in rows]
            rows = check_results.pairs_behind(annotator, "all").filter(pk__in=keys)
        return Rows(rows, ("spent", "pk") if which == "speed" else ("-pk",))


class Gold(Resource, at=f"{CAMPAIGN}/checks/gold", name="gold"):
    @reads(Page(GoldShape))
    def get(self, request: Request, name: str) -> Any:
        """The gold: checks of pairs on which all agreed."""
        return Rows(gold(doors.lead(request, name).campaign), ("-pk",))

    @makes(GoldShape(many=True), body=NewGold)
    def post(self, request: Request, name: str) -> Any:
        """Make gold of a closed query, or of some that are drawn."""
        campaign = doors.lead(request, name).campaign
        if "query" in self.data:
            made = [make_gold(get_object_or_404(campaign.queries, pk=self.data["query"]))]
        else:
            made = draw_gold(campaign, DRAWN_AT_ONCE, seed=campaign.order_seed)
        return gold(campaign).filter(pk__in=[each.pk for each in made])


class GoldSources(Resource, at=f"{CAMPAIGN}/checks/gold/sources", name="gold-sources"):
    @reads(SourceShape(many=True))
    def get(self, request: Request, name: str) -> Any:
        """The closed queries that can become gold, of the first 200, most pairs first."""
        found = sources(doors.lead(request, name).campaign, most=SOURCES_LOOKED_AT)
        return [{"query": query.pk, "text": query.text, "pairs": pairs} for query, pairs in found]
