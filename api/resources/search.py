"""Searching the corpus of a campaign."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Query, Shape, Text, Whole
from api.resource import Resource, under_way
from campaigns.models import Token
from corpus.models import Moment
from judging import doors
from judging.pool.clips import clips_found, cut_for_search
from metrics.formats.moment_ids import moment_id
from retrieval.search.index import ask_for_index
from retrieval.search.searching import HITS, LONGEST_QUERY, Hit, search


class Words(Query):
    q = Text(max_length=LONGEST_QUERY, help_text="the query")


class HitShape(Shape):
    id = serializers.IntegerField(help_text="of the moment's resource")
    moment = serializers.CharField(help_text="its id in TREC files")
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    caption = serializers.CharField()
    similarity = serializers.FloatField()
    clip = serializers.CharField(allow_null=True, help_text="its address, if it is cut")


class Found(Shape):
    captions = serializers.IntegerField(help_text="how many were searched")
    is_current = serializers.BooleanField(help_text="false if the index is older than the corpus")
    hits = HitShape(many=True, help_text="the nearest first")
    example = {
        "captions": 8063,
        "is_current": True,
        "hits": [
            {
                "id": 77,
                "moment": "friends_s01e01@3200-7500",
                "video": "friends_s01e01",
                "start": 3.2,
                "end": 7.5,
                "caption": "A woman sits down.",
                "similarity": 0.83,
                "clip": None,
            }
        ],
    }


class Search(Resource):
    @operation(
        "The moments whose captions are nearest to a query; 202 while a job makes the answer possible",
        scope=Token.Scope.READ,
        query=Words,
        answer=Found,
        or_later=True,
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        answer = search(campaign.corpus, self.asked["q"], HITS)
        clips = clips_found([hit.moment for hit in answer.hits], campaign)
        hits = [_shown(hit, clips.get(hit.moment.pk)) for hit in answer.hits]
        found = {"captions": answer.captions, "is_current": answer.is_current, "hits": hits}
        shown = Found(found).data
        if answer.job and not answer.hits:
            return under_way(name, answer.job, shown)
        return Response(shown)


def _shown(hit: Hit, clip: Any) -> dict[str, Any]:
    moment = hit.moment
    return {
        "id": moment.pk,
        "moment": moment_id(moment.video.name, moment.start, moment.end),
        "video": moment.video.name,
        "start": moment.start,
        "end": moment.end,
        "caption": moment.caption,
        "similarity": hit.similarity,
        "clip": reverse("api-clip", args=[clip.token]) if clip and clip.is_ready else None,
    }


class WantedClip(Body):
    moment = Whole(min_value=1, max_value=10**18 - 1, help_text="the id of what was found")
    example = {"moment": 77}


class Asked(Shape):
    asked = serializers.BooleanField(help_text="false if the clip is there, or cannot be cut")
    example = {"asked": True}


class SearchClip(Resource):
    @operation(
        "Have the clip of a moment cut that a search has found",
        scope=Token.Scope.LEAD,
        body=WantedClip,
        answer=Asked,
        status=202,
    )
    def post(self, request: Request, name: str) -> Response:
        campaign = doors.lead(request, name).campaign
        moments = Moment.objects.filter(video__corpus=campaign.corpus).select_related("video")
        return Response(
            {"asked": cut_for_search(get_object_or_404(moments, pk=self.said["moment"]), campaign)}, 202
        )


class SearchIndexed(Shape):
    kind = serializers.CharField(help_text="of the job")
    example = {"kind": "index captions"}


class SearchIndex(Resource):
    @operation(
        "Ask once more for a search index whose job has failed",
        scope=Token.Scope.LEAD,
        answer=SearchIndexed,
        later=True,
    )
    def post(self, request: Request, name: str) -> Response:
        job = ask_for_index(doors.lead(request, name).campaign.corpus)
        return under_way(name, job, {"kind": job.kind})
