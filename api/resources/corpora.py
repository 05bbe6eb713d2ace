"""Corpora: how large one is, its moments, searching them by their captions, and clips."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.fields import Body, Page, Query, Shape, Text, Whole, filters_of, shape
from api.operations import OR_LATER, Rows, With, changes, reads, starts
from api.resource import CAMPAIGN, LARGEST_KEY, ClipAddress, Resource
from api.resources.jobs import JobShape
from campaigns import access
from corpus.clip_files import clip_file
from corpus.clips import FOR_CORPUS_PAGE, clip_on_page, clips_of
from corpus.counting import figures_of
from corpus.models import Corpus, Moment
from judging import access as judging_access
from judging.pool.clips import clips_found, cut_for_search, prepare_clip
from reports.tables.moments import MOMENTS, moments_of
from retrieval.search.index import index_captions
from retrieval.search.searching import HITS, LONGEST_QUERY, Answer, Hit, search


class CorpusShape(Shape):
    of = Corpus, "id name format"


class CorpusDetail(CorpusShape):
    figures = serializers.DictField(
        allow_null=True, help_text="its size; null while a job counts it", child=serializers.JSONField()
    )
    job = JobShape(allow_null=True, help_text="that counts it, for a large corpus")


class MomentShape(Shape):
    of = Moment, "id start end description caption moment video=video.name"
    helps = {"start": "seconds", "end": "seconds"}
    moment = serializers.CharField(source="*", read_only=True, help_text="its id in TREC files")


class MomentDetail(MomentShape):
    clip = ClipAddress("its address, if it was cut for this resource")
    cutting = serializers.BooleanField(help_text="whether it is being cut")


class Corpora(Resource, at="corpora", name="corpora"):
    @reads(Page(CorpusShape))
    def get(self) -> Any:
        """The corpora that the person may see."""
        return access.corpora(self.request)


class OneCorpus(Resource, at="corpora/<int:corpus>", name="corpus"):
    @reads(CorpusDetail)
    def get(self, corpus: int) -> Any:
        """A corpus and its size, as in the papers' tables."""
        found = access.corpus(self.request, pk=corpus)
        counted = figures_of(found)
        return With(found, figures=counted.figures, job=counted.job)


class Moments(Resource, at="corpora/<int:corpus>/moments", name="moments"):
    @reads(Page(MomentShape), query=filters_of(MOMENTS))
    def get(self, corpus: int) -> Any:
        """The moments of a corpus."""
        choices = MOMENTS.choices(self.request.query_params)
        return Rows(*choices.ordered(choices.chosen(moments_of(access.corpus(self.request, pk=corpus)))))


class OneMoment(Resource, at="corpora/<int:corpus>/moments/<int:pk>", name="moment"):
    @reads(MomentDetail)
    def get(self, corpus: int, pk: int) -> Any:
        """A moment, and its clip if it was cut."""
        return _detail(access.moment(access.corpus(self.request, pk=corpus), pk))


class MomentClip(Resource, at="corpora/<int:corpus>/moments/<int:pk>/clip", name="moment-clip"):
    @changes(MomentDetail, status=202)
    def post(self, corpus: int, pk: int) -> Any:
        """Have the clip of a moment cut."""
        found = access.moment(access.corpus(self.request, pk=corpus), pk)
        prepare_clip(clips_of([found], FOR_CORPUS_PAGE)[found.pk])
        return _detail(found)


def _detail(moment: Moment) -> With:
    clip = clip_on_page(moment)
    return With(moment, clip=clip, cutting=bool(clip and clip.is_waiting))


class Clip(Resource, at="clips/<slug:token>", name="clip"):
    @reads(("video/mp4",))
    def get(self, token: str) -> Any:
        """A clip, as its address was told; ranges are answered."""
        return clip_file(self.request._request, judging_access.clip(self.request, token))


class HitShape(Shape):
    of = (
        Hit,
        "id=moment.pk moment video=moment.video.name start=moment.start end=moment.end caption=moment.caption "
        "similarity",
    )
    helps = {"id": "of the moment's resource", "moment": "its id in TREC files", "start": "seconds", "end": "seconds"}
    clip = ClipAddress("its address, if it is cut")


class Found(Shape):
    of = Answer, "captions is_current"
    helps = {"captions": "how many were searched", "is_current": "false if the index is older than the corpus"}
    hits = HitShape(many=True, help_text="the nearest first")


class Search(Resource, at=f"{CAMPAIGN}/search", name="search"):
    @reads(Found, OR_LATER, query=shape("Words", Query, q=Text(max_length=LONGEST_QUERY, help_text="the query")))
    def get(self) -> Any:
        """The moments whose captions are nearest to a query; 202 while a job makes the answer possible."""
        campaign = self.member.campaign
        answer = search(campaign.corpus, self.params["q"], HITS, self.member.user_id)
        clips = clips_found([hit.moment for hit in answer.hits], campaign)
        hits = [With(hit, clip=clips.get(hit.moment.pk)) for hit in answer.hits]
        return self.under_way(None if hits else answer.job, With(answer, hits=hits))


class WantedClip(Body):
    moment = Whole(min_value=1, max_value=LARGEST_KEY, help_text="the id of what was found")


class Asked(Shape):
    asked = serializers.BooleanField(help_text="false if the clip is there, or cannot be cut")


class SearchClip(Resource, at=f"{CAMPAIGN}/search/clips", name="search-clip"):
    @changes(Asked, body=WantedClip, status=202)
    def post(self) -> Any:
        """Have the clip of a moment cut that a search has found."""
        campaign = self.lead.campaign
        return {"asked": cut_for_search(access.moment(campaign.corpus, self.data["moment"]), campaign)}


class SearchIndex(Resource, at=f"{CAMPAIGN}/search/index", name="search-index"):
    @starts(shape("SearchIndexed", kind=serializers.CharField(help_text="of the job")))
    def post(self) -> Any:
        """Ask once more for a search index whose job has failed."""
        job = index_captions.ask(self.lead.campaign.corpus)
        return self.under_way(job, job)
