"""Pools: having judged what runs found and nobody has judged, and the scores with and without it."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Choice, Number, Page, Query, Shape, Whole
from api.operations import ONCE, Representation, Rows, reads, starts, under_way
from api.problems import unfit
from api.resource import CAMPAIGN, Resource
from campaigns.models import Membership
from releases.models import Release
from runs import doors
from runs.measures import NDCG
from runs.models import Enlargement, Near
from runs.pools.comparing import HEADLINE, Row, comparison, found_moments
from runs.pools.enlarging import Plan, ask_to_open, ask_to_propose, open_further_batches, propose_moments

MOST = 2**31 - 1
MOST_MOMENTS = 5000


class EnlargementShape(Shape):
    of = Enlargement, "number at depth iou taken near opened"
    helps = {
        "depth": "how many ranks of each run are looked at",
        "iou": "from which a prediction matches a judged moment",
        "taken": "how many of the first are judged",
    }
    release = serializers.IntegerField(source="release.version")
    runs = serializers.ListField(child=serializers.IntegerField())
    moments = serializers.SerializerMethodField(help_text="how many were found; null until then")

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


class NewEnlargement(Body):
    runs = serializers.ListField(child=Whole(min_value=1, max_value=MOST), max_length=1000)
    depth = Whole(min_value=1, max_value=100, required=False)
    iou = Number(min_value=0, max_value=1, required=False, help_text="0.3, 0.5 or 0.7")


class Opening(Body):
    taken = Whole(min_value=0, max_value=MOST, help_text="how many are judged, from the top")
    near = Choice(choices=Near.choices, required=False, help_text="what becomes of those near to judged ones")


class Enlargements(Resource, at=f"{CAMPAIGN}/enlargements", name="enlargements"):
    @reads(Page(EnlargementShape))
    def get(self, request: Request, name: str) -> Any:
        """The enlargements of the pool."""
        campaign = doors.membership(request, name).campaign
        return Rows(campaign.enlargements.select_related("release"), ("-number",))

    @starts(EnlargementShape, ONCE, body=NewEnlargement)
    def post(self, request: Request, name: str) -> Any:
        """Ask which unjudged moments would decide between runs."""
        lead = doors.lead(request, name)
        with unfit():
            made = ask_to_propose(lead, Plan(**self.data))
        return under_way(name, propose_moments.jobs(made).get(), made)


class OneEnlargement(Resource, at=f"{CAMPAIGN}/enlargements/<int:number>", name="enlargement"):
    @reads(OneEnlargementShape)
    def get(self, request: Request, name: str, number: int) -> Any:
        """An enlargement, with the moments that were found."""
        member = doors.membership(request, name)
        enlargement = doors.enlargement(member, number)
        found = FoundShape(_found(enlargement, member), many=True).data
        return Representation(EnlargementShape(enlargement).data | {"found": found})


def _found(enlargement: Enlargement, member: Membership) -> list[dict[str, Any]]:
    return [
        {
            **each.moment,
            "found_by": [{"run": run.number if run else None, "rank": rank} for run, rank in each.sources],
            "overlap": each.moment["near"]["iou"] if each.moment["near"] else None,
            "batch": each.candidate.batch_id if each.candidate else None,
        }
        for each in found_moments(enlargement, member, MOST_MOMENTS)
    ]


class EnlargementOpening(Resource, at=f"{CAMPAIGN}/enlargements/<int:number>/opening", name="enlargement-opening"):
    @starts(EnlargementShape, body=Opening)
    def put(self, request: Request, name: str, number: int) -> Any:
        """Have the first moments judged, in further batches."""
        lead, near = doors.lead(request, name), self.data.get("near", Near.LEAVE)
        with unfit():
            opened = ask_to_open(doors.enlargement(lead, number), lead, self.data["taken"], near)
        return under_way(name, open_further_batches.jobs(opened).get(), opened)


class PoolsAsked(Query):
    release = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text="else the newest with two pools"
    )
    measure = serializers.ChoiceField(NDCG, required=False)


class PoolRow(Shape):
    of = Row, "first whole without reused place_first place_whole"
    helps = {
        "first": "the score with the first pool",
        "whole": "with the enlarged pool",
        "without": "without what only its system found",
        "reused": "with reused grades too",
    }
    run = serializers.IntegerField(source="run.number")
    name = serializers.CharField(source="run.name")


class PoolsShape(Shape):
    release = serializers.IntegerField()
    measure = serializers.CharField()
    convention = serializers.CharField()
    tau = serializers.FloatField(allow_null=True, help_text="Kendall's τ-b of the two orders")
    runs = PoolRow(many=True)


class Pools(Resource, at=f"{CAMPAIGN}/pools", name="pools"):
    @reads(PoolsShape, query=PoolsAsked)
    def get(self, request: Request, name: str) -> Any:
        """The runs with the first and with the enlarged pool."""
        member = doors.membership(request, name)
        releases = Release.objects.filter(campaign=member.campaign, pool_scores__isnull=False).distinct()
        if "release" in self.params:
            releases = releases.filter(version=self.params["release"])
        release = get_object_or_404(releases.order_by("-version")[:1])
        measure = self.params.get("measure", HEADLINE)
        found = comparison(member, release, measure)
        about = {"release": release.version, "measure": measure, "convention": "paper"}
        return about | {"tau": found.tau if found else None, "runs": found.rows if found else []}
