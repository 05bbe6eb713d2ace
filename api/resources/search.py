"""Searching the corpus of a campaign."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Query, Shape, Text, Whole
from api.operations import OR_LATER, changes, reads, starts, under_way
from api.resource import CAMPAIGN, ClipAddress, Resource
from corpus.models import Moment
from judging import access
from judging.pool.clips import clips_found, cut_for_search
from retrieval.search.index import index_captions
from retrieval.search.searching import HITS, LONGEST_QUERY, search


class Words(Query):
    q = Text(max_length=LONGEST_QUERY, help_text="the query")


class HitShape(Shape):
    id = serializers.IntegerField(source="moment.pk", help_text="of the moment's resource")
    moment = serializers.CharField(help_text="its id in TREC files")
    video = serializers.CharField(source="moment.video.name")
    start = serializers.FloatField(source="moment.start", help_text="seconds")
    end = serializers.FloatField(source="moment.end", help_text="seconds")
    caption = serializers.CharField(source="moment.caption")
    similarity = serializers.FloatField()
    clip = ClipAddress("its address, if it is cut")


class Found(Shape):
    captions = serializers.IntegerField(help_text="how many were searched")
    is_current = serializers.BooleanField(help_text="false if the index is older than the corpus")
    hits = HitShape(many=True, help_text="the nearest first")


class Search(Resource, at=f"{CAMPAIGN}/search", name="search"):
    @reads(Found, OR_LATER, query=Words)
    def get(self, request: Request, name: str) -> Any:
        """The moments whose captions are nearest to a query; 202 while a job makes the answer possible."""
        campaign = access.membership(request, name).campaign
        answer = search(campaign.corpus, self.params["q"], HITS)
        clips = clips_found([hit.moment for hit in answer.hits], campaign)
        hits = [
            {"moment": hit.moment, "similarity": hit.similarity, "clip": clips.get(hit.moment.pk)}
            for hit in answer.hits
        ]
        data = {"captions": answer.captions, "is_current": answer.is_current, "hits": hits}
        return under_way(name, answer.job, data) if answer.job and not answer.hits else data


class WantedClip(Body):
    moment = Whole(min_value=1, max_value=10**18 - 1, help_text="the id of what was found")


class Asked(Shape):
    asked = serializers.BooleanField(help_text="false if the clip is there, or cannot be cut")


class SearchClip(Resource, at=f"{CAMPAIGN}/search/clips", name="search-clip"):
    @changes(Asked, body=WantedClip, status=202)
    def post(self, request: Request, name: str) -> Any:
        """Have the clip of a moment cut that a search has found."""
        campaign = access.lead(request, name).campaign
        moments = Moment.objects.filter(video__corpus=campaign.corpus).select_related("video")
        moment = get_object_or_404(moments, pk=self.data["moment"])
        return {"asked": cut_for_search(moment, campaign)}


class SearchIndexed(Shape):
    kind = serializers.CharField(help_text="of the job")


class SearchIndex(Resource, at=f"{CAMPAIGN}/search/index", name="search-index"):
    @starts(SearchIndexed)
    def post(self, request: Request, name: str) -> Any:
        """Ask once more for a search index whose job has failed."""
        job = index_captions.ask(access.lead(request, name).campaign.corpus)
        return under_way(name, job, job)
