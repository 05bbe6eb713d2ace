"""Corpora: how large one is, its moments, and clips."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Page, PageQuery, Shape, Text
from api.operations import Representation, Rows, changes, reads
from api.resource import Resource, clip_address
from api.resources.jobs import JobShape
from corpus.clip_files import clip_file
from corpus.clips import FOR_CORPUS_PAGE, clips_of
from corpus.counting import figures_of
from corpus.models import Clip as CorpusClip
from corpus.models import Corpus, Moment
from judging import doors
from judging.pool.clips import prepare_clip
from reports.tables.moments import LONGEST_SEARCH, moments_found


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
    return get_object_or_404(doors.corpora(request), pk=pk)


class Corpora(Resource, at="corpora", name="corpora"):
    @reads(Page(CorpusShape))
    def get(self, request: Request) -> Any:
        """The corpora that the person may see."""
        return doors.corpora(request)


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
        return clip_file(request._request, doors.clip(request, token))
