"""Corpora: how large one is, its moments, and a clip of each."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import PageQuery, Shape, Text
from api.resource import Resource
from api.resources.jobs import JobShape
from api.resources.quality.examples import clip_address
from campaigns.models import Token
from corpus.clips import FOR_CORPUS_PAGE, clips_of
from corpus.models import Clip, Corpus, Moment
from corpus.size.counting import figures_of
from judging import doors
from judging.pool.clips import prepare_clip
from reports.tables.moments import LONGEST_SEARCH, moments_found

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


class CorpusShape(Shape):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    format = serializers.CharField()
    example = {"id": 1, "name": "tvr", "format": "tvr"}


class CorpusDetail(CorpusShape):
    figures = serializers.DictField(
        allow_null=True, help_text="its size; null while a job counts it", child=serializers.JSONField()
    )
    job = JobShape(allow_null=True, help_text="that counts it, for a large corpus")
    example = CorpusShape.example | {"figures": {"moments": 8063, "videos": 1090}, "job": None}


class MomentShape(Shape):
    id = serializers.IntegerField(source="pk")
    moment = serializers.SerializerMethodField(help_text="its id in TREC files")
    video = serializers.CharField(source="video.name")
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    description = serializers.CharField()
    caption = serializers.CharField()
    example = {
        "id": 77,
        "moment": "friends_s01e01@3200-7500",
        "video": "friends_s01e01",
        "start": 3.2,
        "end": 7.5,
        "description": "Monica sits down.",
        "caption": "A woman sits down.",
    }

    def get_moment(self, moment: Moment) -> str:
        return str(moment)


class MomentDetail(MomentShape):
    clip = serializers.CharField(allow_null=True, help_text="its address, if it was cut for this resource")
    cutting = serializers.BooleanField(help_text="whether it is being cut")
    example = MomentShape.example | {"clip": None, "cutting": False}


class MomentsAsked(PageQuery):
    find = Text(required=False, max_length=LONGEST_SEARCH, help_text="words of the description")
    video = Text(required=False, max_length=300, help_text="a video's name")


def corpus_of(request: Request, pk: int) -> Corpus:
    return get_object_or_404(doors.corpora(request), pk=pk)


class Corpora(Resource):
    @operation("The corpora that the person may see", scope=READ, answer=CorpusShape, pages=True)
    def get(self, request: Request) -> Response:
        return self.page(doors.corpora(request), CorpusShape)


class OneCorpus(Resource):
    @operation("A corpus and its size, as in the papers' tables", scope=READ, answer=CorpusDetail)
    def get(self, request: Request, corpus: int) -> Response:
        found = corpus_of(request, corpus)
        counted = figures_of(found)
        job = JobShape(counted.job).data if counted.job else None
        return Response(CorpusShape(found).data | {"figures": counted.figures, "job": job})


class Moments(Resource):
    @operation("The moments of a corpus", scope=READ, answer=MomentShape, query=MomentsAsked, pages=True)
    def get(self, request: Request, corpus: int) -> Response:
        asked = (self.asked.get(name, "") for name in ("find", "video"))
        return self.page(
            moments_found(corpus_of(request, corpus), *asked), MomentShape, "video_id", "start", "pk"
        )


class OneMoment(Resource):
    @operation("A moment, and its clip if it was cut", scope=READ, answer=MomentDetail)
    def get(self, request: Request, corpus: int, pk: int) -> Response:
        return Response(_shown(_moment(request, corpus, pk)))


class MomentClip(Resource):
    @operation("Have the clip of a moment cut", scope=LEAD, answer=MomentDetail, status=202)
    def post(self, request: Request, corpus: int, pk: int) -> Response:
        found = _moment(request, corpus, pk)
        prepare_clip(clips_of([found], FOR_CORPUS_PAGE)[found.pk])
        return Response(_shown(found), 202)


def _moment(request: Request, corpus: int, pk: int) -> Moment:
    moments = Moment.objects.filter(video__corpus=corpus_of(request, corpus))
    return get_object_or_404(moments.select_related("video"), pk=pk)


def _shown(moment: Moment) -> Any:
    stretch = {"video": moment.video_id, "start": moment.start, "end": moment.end}
    clip = Clip.objects.filter(**stretch, audience=FOR_CORPUS_PAGE).first()
    told = {"clip": clip_address(clip), "cutting": bool(clip and clip.is_waiting)}
    return MomentShape(moment).data | told
