"""Corpora: how large one is, its moments, searching them by their captions, and clips."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.fields import Text, Whole
from api.operations import OR_LATER, Rows, annotated, changes, reads, starts
from api.resource import CAMPAIGN, ClipAddress, Resource
from api.resources.jobs import JobSerializer
from api.serializers import Body, ModelAnswer, Page, QueryParameters, filters_of, inline
from base.forms import LARGEST_KEY
from campaigns import access
from corpus.clip_files import clip_file
from corpus.clips import FOR_CORPUS_PAGE, clip_on_page, clips_of
from corpus.counting import figures_of
from corpus.models import Corpus, Moment
from judging import access as judging_access
from judging.pool.clips import clips_found, cut_for_search, prepare_clip
from reports.tables.moments import MOMENTS, moments_of
from retrieval.search.index import index_captions
from retrieval.search.searching import HITS, LONGEST_QUERY, search


class CorpusSerializer(ModelAnswer):
    class Meta:
        model = Corpus
        fields = ["id", "name", "format"]


class CorpusDetail(CorpusSerializer):
    figures = serializers.DictField(
        allow_null=True, help_text="its size; null while a job counts it", child=serializers.JSONField()
    )
    job = JobSerializer(allow_null=True, help_text="that counts it, for a large corpus")


class MomentSerializer(ModelAnswer):
    video = serializers.CharField(source="video.name")
    moment = serializers.CharField(source="*", read_only=True, help_text="its id in TREC files")

    class Meta:
        model = Moment
        fields = ["id", "start", "end", "description", "caption"]
        help_texts = {"start": "seconds", "end": "seconds"}


class MomentDetail(MomentSerializer):
    clip = ClipAddress("its address, if it was cut for this resource")
    cutting = serializers.BooleanField(help_text="whether it is being cut")


class Corpora(Resource, at="corpora", name="corpora"):
    @reads(Page(CorpusSerializer))
    def get(self) -> Any:
        """The corpora that the person may see."""
        return access.corpora(self.request)


class OneCorpus(Resource, at="corpora/<int:corpus>", name="corpus"):
    @reads(CorpusDetail)
    def get(self, corpus: int) -> Any:
        """A corpus and its size, as in the papers' tables."""
        found = access.corpus(self.request, pk=corpus)
        counted = figures_of(found)
        return annotated(found, figures=counted.figures, job=counted.job)


class Moments(Resource, at="corpora/<int:corpus>/moments", name="moments"):
    @reads(Page(MomentSerializer), query=filters_of(MOMENTS))
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


def _detail(moment: Moment) -> Any:
    clip = clip_on_page(moment)
    return annotated(moment, clip=clip, cutting=bool(clip and clip.is_waiting))


class Clip(Resource, at="clips/<slug:token>", name="clip"):
    @reads(("video/mp4",))
    def get(self, token: str) -> Any:
        """A clip, as its address was told; ranges are answered."""
        return clip_file(self.request._request, judging_access.clip(self.request, token))


class HitSerializer(serializers.Serializer):
    id = serializers.IntegerField(source="moment.pk", help_text="of the moment's resource")
    moment = serializers.CharField(help_text="its id in TREC files")
    video = serializers.CharField(source="moment.video.name")
    start = serializers.FloatField(source="moment.start", help_text="seconds")
    end = serializers.FloatField(source="moment.end", help_text="seconds")
    caption = serializers.CharField(source="moment.caption")
    similarity = serializers.FloatField()
    clip = ClipAddress("its address, if it is cut")


class SearchAnswer(serializers.Serializer):
    captions = serializers.IntegerField(help_text="of how many moments the captions were searched")
    is_current = serializers.BooleanField(help_text="false if the index is older than the corpus")
    hits = HitSerializer(many=True, help_text="the nearest first")


class SearchParameters(QueryParameters):
    q = Text(max_length=LONGEST_QUERY, help_text="the query")


class Search(Resource, at=f"{CAMPAIGN}/search", name="search"):
    @reads(SearchAnswer, OR_LATER, query=SearchParameters)
    def get(self) -> Any:
        """The moments whose captions are nearest to a query; 202 while a job makes the answer possible."""
        campaign = self.member.campaign
        answer = search(campaign.corpus, self.params["q"], HITS, self.member.user_id)
        clips = clips_found([hit.moment for hit in answer.hits], campaign)
        hits = [annotated(hit, clip=clips.get(hit.moment.pk)) for hit in answer.hits]
        return self.under_way(None if hits else answer.job, annotated(answer, hits=hits))


class WantedClip(Body):
    moment = Whole(min_value=1, max_value=LARGEST_KEY, help_text="the id of what was found")


class Asked(serializers.Serializer):
    asked = serializers.BooleanField(help_text="false if the clip is there, or cannot be cut")


class SearchClip(Resource, at=f"{CAMPAIGN}/search/clips", name="search-clip"):
    @changes(Asked, body=WantedClip, status=202)
    def post(self) -> Any:
        """Have the clip of a moment cut that a search has found."""
        campaign = self.lead.campaign
        return {"asked": cut_for_search(access.moment(campaign.corpus, self.data["moment"]), campaign)}


class SearchIndex(Resource, at=f"{CAMPAIGN}/search/index", name="search-index"):
    @starts(inline("SearchIndexed", kind=serializers.CharField(help_text="of the job")))
    def post(self) -> Any:
        """Ask once more for a search index whose job has failed."""
        job = index_captions.ask(self.lead.campaign.corpus)
        return self.under_way(job, job)
