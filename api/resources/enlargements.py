"""Pools that are enlarged by what runs found, and how the order of the runs changes by that."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Choice, Number, Whole
from api.operations import ONCE, UNFIT, Rows, annotated, reads, starts
from api.resource import CAMPAIGN, Resource
from api.serializers import Body, ModelAnswer, Page, QueryParameters
from campaigns.models import Membership
from judging.review.actions import act, begin
from releases.models import Release
from runs.access import enlargement as enlargement_of
from runs.measures import NDCG
from runs.models import Enlargement, Near
from runs.pools.comparing import HEADLINE, comparison, found_moments
from runs.pools.enlarging import DEEPEST, MOST_MOMENTS, PoolPlan, ask_to_propose, prepare_opening, propose_moments

MOST = 2**31 - 1


class EnlargementSerializer(ModelAnswer):
    release = serializers.IntegerField(source="release.version")
    runs = serializers.ListField(child=serializers.IntegerField())
    moments = serializers.SerializerMethodField(help_text="how many were found; null until then")

    class Meta:
        model = Enlargement
        fields = ["number", "at", "depth", "iou", "taken", "near", "opened"]
        help_texts = {
            "depth": "how many ranks of each run are looked at",
            "iou": "from which a prediction matches a judged moment",
            "taken": "how many of the first are judged",
        }

    def get_moments(self, enlargement: Enlargement) -> int | None:
        return None if enlargement.found is None else len(enlargement.moments)


class FinderSerializer(serializers.Serializer):
    run = serializers.IntegerField(allow_null=True, help_text="its number; null of a private run")
    rank = serializers.IntegerField()


class FoundSerializer(serializers.Serializer):
    """A moment that runs found."""

    query = serializers.CharField()
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    influence = serializers.FloatField(help_text="how much it could change the order of the runs")
    found_by = FinderSerializer(many=True)
    overlap = serializers.FloatField(allow_null=True, help_text="IoU with the judged moment that it may be; null: none")
    batch = serializers.IntegerField(allow_null=True, help_text="the batch in which it is judged")


class OneEnlargementSerializer(EnlargementSerializer):
    found = FoundSerializer(many=True, source="found_moments", help_text="the most decisive first")


class NewEnlargement(Body):
    runs = serializers.ListField(child=Whole(min_value=1, max_value=MOST), max_length=1000)
    depth = Whole(min_value=1, max_value=DEEPEST, required=False)
    iou = Number(min_value=0, max_value=1, required=False, help_text="0.3, 0.5 or 0.7")


class Opening(Body):
    taken = Whole(min_value=0, max_value=MOST, help_text="how many are judged, from the top")
    near = Choice(choices=Near.choices, required=False, help_text="what becomes of those near to judged ones")


class Enlargements(Resource, at=f"{CAMPAIGN}/enlargements", name="enlargements"):
    @reads(Page(EnlargementSerializer))
    def get(self) -> Any:
        """The enlargements of the pool."""
        return Rows(self.participant.campaign.enlargements.select_related("release"), ("-number",))

    @starts(EnlargementSerializer, ONCE, UNFIT, body=NewEnlargement)
    def post(self) -> Any:
        """Ask which unjudged moments would decide between runs."""
        made = ask_to_propose(self.lead, PoolPlan(**self.data))
        return self.under_way(propose_moments.jobs(made).get(), made)


class OneEnlargement(Resource, at=f"{CAMPAIGN}/enlargements/<int:number>", name="enlargement"):
    @reads(OneEnlargementSerializer)
    def get(self, number: int) -> Any:
        """An enlargement, with the moments that were found."""
        enlargement = enlargement_of(self.participant, number)
        return annotated(enlargement, found_moments=_found(enlargement, self.participant))


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
    @starts(EnlargementSerializer, UNFIT, body=Opening)
    def put(self, number: int) -> Any:
        """Have the first moments judged, in further batches."""
        near = self.data.get("near", Near.LEAVE)
        enlargement = enlargement_of(self.lead, number)
        action = begin(prepare_opening(enlargement, self.lead, self.data["taken"], near), self.lead)
        enlargement.refresh_from_db()
        return self.under_way(act.jobs(action).first(), enlargement)


class PoolsParameters(QueryParameters):
    release = serializers.IntegerField(required=False, min_value=1, max_value=MOST, help_text="else the newest")
    measure = serializers.ChoiceField(NDCG, required=False)


class PoolRow(serializers.Serializer):
    first = serializers.FloatField(help_text="the score with the first pool")
    whole = serializers.FloatField(help_text="with the enlarged pool")
    without = serializers.FloatField(allow_null=True, help_text="without what only its system found")
    reused = serializers.FloatField(allow_null=True, help_text="with the grades of near moments too")
    place_first = serializers.IntegerField()
    place_whole = serializers.IntegerField()
    run = serializers.IntegerField(source="run.number")
    name = serializers.CharField(source="run.name")


class PoolsSerializer(serializers.Serializer):
    release = serializers.IntegerField()
    measure = serializers.CharField()
    convention = serializers.CharField()
    tau = serializers.FloatField(allow_null=True, help_text="Kendall's τ-b of the two orders")
    runs = PoolRow(many=True)


class Pools(Resource, at=f"{CAMPAIGN}/pools", name="pools"):
    @reads(PoolsSerializer, query=PoolsParameters)
    def get(self) -> Any:
        """The runs with the first and with the enlarged pool."""
        releases = Release.objects.filter(campaign=self.participant.campaign, pool_scores__isnull=False).distinct()
        if "release" in self.params:
            releases = releases.filter(version=self.params["release"])
        release = get_object_or_404(releases.order_by("-version")[:1])
        measure = self.params.get("measure", HEADLINE)
        found = comparison(self.participant, release, measure)
        about = {"release": release.version, "measure": measure, "convention": "paper"}
        return about | {"tau": found.tau if found else None, "runs": found.rows if found else []}
