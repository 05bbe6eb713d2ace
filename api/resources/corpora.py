"""Corpora: how large one is, its moments, searching them by their captions, and clips."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Page, PageQuery, Query, Shape, Text, Whole, shape
from api.operations import OR_LATER, Representation, Rows, changes, reads, starts, under_way
from api.resource import CAMPAIGN, ClipAddress, Resource, clip_address
from api.resources.jobs import JobShape
from corpus.clip_files import clip_file
from corpus.clips import FOR_CORPUS_PAGE, clips_of
from corpus.counting import figures_of
from corpus.models import Clip as CorpusClip
from corpus.models import Corpus, Moment
from judging import access
from judging.pool.clips import clips_found, cut_for_search, prepare_clip
from reports.tables.moments import LONGEST_SEARCH, moments_found
from retrieval.search.index import index_captions
from retrieval.search.searching import HITS, LONGEST_QUERY, search


class CorpusShape(Shape):
    of = Corpus, "id name format"


class CorpusDetail(CorpusShape):
    figures = serializers.DictField(
        allow_null=True, help_text="its size; null while a job counts it", child=serializers.JSONField()
    )
    job = JobShape(allow_null=True, help_text="that counts it, for a large corpus")


class MomentShape(Shape):
    of = Moment, "id start end description caption"
    helps = {"start": "seconds", "end": "seconds"}
    moment = serializers.CharField(source="*", read_only=True, help_text="its id in TREC files")
    video = serializers.CharField(source="video.name")


class MomentDetail(MomentShape):
    clip = serializers.CharField(allow_null=True, help_text="its address, if it was cut for this resource")
    cutting = serializers.BooleanField(help_text="whether it is being cut")


class MomentsAsked(PageQuery):
    find = Text(required=False, max_length=LONGEST_SEARCH, help_text="words of the description")
    video = Text(required=False, max_length=300, help_text="a video's name")


def corpus_of(request: Request, pk: int) -> Corpus:
    return get_object_or_404(access.corpora(request), pk=pk)


class Corpora(Resource, at="corpora", name="corpora"):
    @reads(Page(CorpusShape))
    def get(self, request: Request) -> Any:
        """The corpora that the person may see."""
        return access.corpora(request)


class OneCorpus(Resource, at="corpora/<int:corpus>", name="corpus"):
    @reads(CorpusDetail)
    def get(self, request: Request, corpus: int) -> Any:
        """A corpus and its size, as in the papers' tables."""
        found = corpus_of(request, corpus)
        counted = figures_of(found)
        job = JobShape(counted.job).data if counted.job else None
        return Representation(CorpusShape(found).data | {"figures": counted.figures, "job": job})


class Moments(Resource, at="corpora/<int:corpus>/moments", name="moments"):
    @reads(Page(MomentShape), query=MomentsAsked)
    def get(self, request: Request, corpus: int) -> Any:
        """The moments of a corpus."""
        words, video = (self.params.get(name, "") for name in ("find", "video"))
        return Rows(moments_found(corpus_of(request, corpus), words, video), ("video_id", "start", "pk"))


class OneMoment(Resource, at="corpora/<int:corpus>/moments/<int:pk>", name="moment"):
    @reads(MomentDetail)
    def get(self, request: Request, corpus: int, pk: int) -> Any:
        """A moment, and its clip if it was cut."""
        return _detail(_moment(request, corpus, pk))


class MomentClip(Resource, at="corpora/<int:corpus>/moments/<int:pk>/clip", name="moment-clip"):
    @changes(MomentDetail, status=202)
    def post(self, request: Request, corpus: int, pk: int) -> Any:
        """Have the clip of a moment cut."""
        found = _moment(request, corpus, pk)
        prepare_clip(clips_of([found], FOR_CORPUS_PAGE)[found.pk])
        return _detail(found)


def _moment(request: Request, corpus: int, pk: int) -> Moment:
    moments = Moment.objects.filter(video__corpus=corpus_of(request, corpus))
    return get_object_or_404(moments.select_related("video"), pk=pk)


def _detail(moment: Moment) -> Representation:
    stretch = {"video": moment.video_id, "start": moment.start, "end": moment.end}
    clip = CorpusClip.objects.filter(**stretch, audience=FOR_CORPUS_PAGE).first()
    about = {"clip": clip_address(clip), "cutting": bool(clip and clip.is_waiting)}
    return Representation(MomentShape(moment).data | about)


class Clip(Resource, at="clips/<slug:token>", name="clip"):
    @reads(("video/mp4",))
    def get(self, request: Request, token: str) -> Any:
        """A clip, as its address was told; ranges are answered."""
        return clip_file(request._request, access.clip(request, token))


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
    @reads(Found, OR_LATER, query=shape("Words", Query, q=Text(max_length=LONGEST_QUERY, help_text="the query")))
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


class SearchIndex(Resource, at=f"{CAMPAIGN}/search/index", name="search-index"):
    @starts(shape("SearchIndexed", kind=serializers.CharField(help_text="of the job")))
    def post(self, request: Request, name: str) -> Any:
        """Ask once more for a search index whose job has failed."""
        job = index_captions.ask(access.lead(request, name).campaign.corpus)
        return under_way(name, job, job)
