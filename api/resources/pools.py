"""Pools: having judged what runs found and nobody has judged, and the scores with and without it."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Number, Query, Shape, Whole
from api.problems import unfit
from api.resource import Resource, under_way
from campaigns.models import Token
from releases.models import Release
from runs import doors
from runs.measures import NDCG
from runs.models import Enlargement, Near
from runs.pools.opening import ask_to_open, open_further_batches
from runs.pools.proposing import Plan, ask_to_propose, propose_moments
from runs.pools.rows import HEADLINE, comparison, found_moments

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
MOST = 2**31 - 1
MOST_MOMENTS = 5000


class EnlargementShape(Shape):
    number = serializers.IntegerField()
    release = serializers.IntegerField(source="release.version")
    at = serializers.DateTimeField()
    depth = serializers.IntegerField(help_text="how many ranks of each run are looked at")
    iou = serializers.FloatField(help_text="from which a prediction matches a judged moment")
    runs = serializers.ListField(child=serializers.IntegerField())
    moments = serializers.SerializerMethodField(help_text="how many were found; null until then")
    taken = serializers.IntegerField(allow_null=True, help_text="how many of the first are judged")
    near = serializers.ChoiceField(Near.choices)
    opened = serializers.DateTimeField(allow_null=True)
    example = {
        "number": 1,
        "release": 1,
        "at": "2026-01-05T09:00:00Z",
        "depth": 10,
        "iou": 0.5,
        "runs": [1, 2],
        "moments": 240,
        "taken": None,
        "near": "leave",
        "opened": None,
    }

    def get_moments(self, enlargement: Enlargement) -> int | None:
        return None if enlargement.found is None else len(enlargement.moments)


class FinderShape(Shape):
    run = serializers.IntegerField(allow_null=True, help_text="its number; null of a private run")
    rank = serializers.IntegerField()


class FoundShape(Shape):
    """A moment that runs found."""

    query = serializers.CharField()
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    influence = serializers.FloatField(help_text="how much it could change the order of the runs")
    found_by = FinderShape(many=True)
    overlap = serializers.FloatField(
        allow_null=True, help_text="IoU with the judged moment that it may be; null if there is none"
    )
    batch = serializers.IntegerField(allow_null=True, help_text="the batch in which it is judged")


class OneEnlargementShape(EnlargementShape):
    found = FoundShape(many=True, help_text="the most decisive first")
    example: Any = None


class NewEnlargement(Body):
    runs = serializers.ListField(child=Whole(min_value=1, max_value=MOST), max_length=1000)
    depth = Whole(min_value=1, max_value=100, required=False)
    iou = Number(min_value=0, max_value=1, required=False, help_text="0.3, 0.5 or 0.7")
    example = {"runs": [1, 2], "depth": 10, "iou": 0.5}


class Opening(Body):
    taken = Whole(min_value=0, max_value=MOST, help_text="how many are judged, from the top")
    near = Choice(choices=Near.choices, required=False, help_text="what becomes of those near to judged ones")
    example = {"taken": 100, "near": "leave"}


def _shown(enlargement: Enlargement) -> Any:
    return EnlargementShape(enlargement).data


class Enlargements(Resource):
    @operation("The enlargements of the pool", scope=READ, answer=EnlargementShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        return self.page(campaign.enlargements.select_related("release"), EnlargementShape, "-number")

    @operation(
        "Ask which unjudged moments would decide between runs",
        scope=LEAD,
        body=NewEnlargement,
        answer=EnlargementShape,
        later=True,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        with unfit():
            made = ask_to_propose(lead, Plan(**self.said))
        return under_way(name, propose_moments.jobs(made).get(), _shown(made))


class OneEnlargement(Resource):
    @operation("An enlargement, with the moments that were found", scope=READ, answer=OneEnlargementShape)
    def get(self, request: Request, name: str, number: int) -> Response:
        member = doors.membership(request, name)
        enlargement = doors.enlargement(member, number)
        found = [
            {
                **each.told,
                "found_by": [
                    {"run": run.number if run else None, "rank": rank} for run, rank in each.sources
                ],
                "overlap": each.told["near"]["iou"] if each.told["near"] else None,
                "batch": each.candidate.batch_id if each.candidate else None,
            }
            for each in found_moments(enlargement, member, MOST_MOMENTS)
        ]
        return Response(_shown(enlargement) | {"found": FoundShape(found, many=True).data})


class EnlargementOpening(Resource):
    @operation(
        "Have the first moments judged, in further batches",
        scope=LEAD,
        body=Opening,
        answer=EnlargementShape,
        later=True,
    )
    def put(self, request: Request, name: str, number: int) -> Response:
        lead = doors.lead(request, name)
        with unfit():
            opened = ask_to_open(
                doors.enlargement(lead, number), lead, self.said["taken"], self.said.get("near", Near.LEAVE)
            )
        return under_way(name, open_further_batches.jobs(opened).get(), _shown(opened))


class PoolsAsked(Query):
    release = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text="else the newest with two pools"
    )
    measure = serializers.ChoiceField(NDCG, required=False)


class PoolRow(Shape):
    run = serializers.IntegerField(source="run.number")
    name = serializers.CharField(source="run.name")
    first = serializers.FloatField(help_text="the score with the first pool")
    whole = serializers.FloatField(help_text="with the enlarged pool")
    without = serializers.FloatField(allow_null=True, help_text="without what only its system found")
    reused = serializers.FloatField(allow_null=True, help_text="with reused grades too")
    place_first = serializers.IntegerField()
    place_whole = serializers.IntegerField()


class PoolsShape(Shape):
    release = serializers.IntegerField()
    measure = serializers.CharField()
    convention = serializers.CharField()
    tau = serializers.FloatField(allow_null=True, help_text="Kendall's τ-b of the two orders")
    runs = PoolRow(many=True)


class Pools(Resource):
    @operation(
        "The runs with the first and with the enlarged pool", scope=READ, query=PoolsAsked, answer=PoolsShape
    )
    def get(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        releases = Release.objects.filter(campaign=member.campaign, pool_scores__isnull=False).distinct()
        if "release" in self.asked:
            releases = releases.filter(version=self.asked["release"])
        release = get_object_or_404(releases.order_by("-version")[:1])
        measure = self.asked.get("measure", HEADLINE)
        found = comparison(member, release, measure)
        about = {"release": release.version, "measure": measure, "convention": "paper"}
        rows = {"tau": found.tau if found else None, "runs": found.rows if found else []}
        return Response(PoolsShape(about | rows).data)
