"""The cast list of a corpus, which a lead completes and confirms."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, PageQuery, Shape, Text, Truth, Whole
from api.resource import Resource, must_match, tag_of
from api.resources.corpora.captions import CaptionsShape, rewording_later
from base.errors import ReeljudgeError, Unfit
from base.transactions import all_or_nothing, locked
from campaigns import doors
from campaigns.models import Token
from corpus.models import Corpus
from judging.pool.rewording import ask_for_draft
from retrieval.models import CastName
from retrieval.rewriting.cast_file import NAMES_ON_A_PAGE, names_of, save_names
from retrieval.rewriting.models import LONGEST_NAME

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
LARGEST = 10**18 - 1  # a primary key


class NameShape(Shape):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    phrase = serializers.CharField(help_text="takes its place, without an article")
    same_as = serializers.CharField(help_text="another name of the same person")
    stays = serializers.BooleanField(help_text="whether it names no person, and captions keep it")
    confirmed = serializers.BooleanField()
    count = serializers.IntegerField(
        help_text="descriptions that contain it, as the last draft counted; 0 before one"
    )
    contexts = serializers.ListField(child=serializers.CharField(), help_text="some of them")
    example = {
        "id": 8,
        "name": "Monica",
        "phrase": "woman",
        "same_as": "",
        "stays": False,
        "confirmed": True,
        "count": 812,
        "contexts": ["Monica sits down."],
    }


class NamesAsked(PageQuery):
    show = serializers.ChoiceField(["open", "confirmed"], required=False)


class NameSaid(Body):
    """What is not said of a name stays as it is."""

    id = Whole(min_value=1, max_value=LARGEST)
    phrase = Text(required=False, max_length=LONGEST_NAME, allow_blank=True)
    same_as = Text(required=False, max_length=LONGEST_NAME, allow_blank=True)
    stays = Truth(required=False)
    confirmed = Truth(required=False)


class NamesSaid(Body):
    names = serializers.ListField(child=NameSaid(), min_length=1, max_length=NAMES_ON_A_PAGE)
    example = {"names": [{"id": 8, "phrase": "woman", "confirmed": True}]}


class CastList(Resource):
    @operation(
        "The names of a corpus, the most frequent first",
        scope=READ,
        answer=NameShape,
        query=NamesAsked,
        pages=True,
        tagged=True,
    )
    def get(self, request: Request, corpus: int) -> Response:
        found = doors.corpus_to_reword(request, corpus)
        answer = self.page(names_of(found, self.asked.get("show", "")), NameShape, "-count", "name")
        answer["ETag"] = _tag(found)
        return answer

    @operation(
        "Say who some names are: all of it is stored, or nothing",
        scope=LEAD,
        body=NamesSaid,
        answer=NameShape(many=True),
        versioned=True,
        tagged=True,
    )
    def patch(self, request: Request, corpus: int) -> Response:
        found = doors.corpus_to_reword(request, corpus)
        names = _save(request, found, {each["id"]: each for each in self.said["names"]})
        return Response(NameShape(names, many=True).data, headers={"ETag": _tag(found)})


@all_or_nothing
def _save(request: Request, corpus: Corpus, said: dict[int, dict[str, Any]]) -> list[CastName]:
    list(locked(Corpus.objects.filter(pk=corpus.pk)))
    must_match(request, _tag(corpus))
    rows = CastName.objects.filter(corpus=corpus, pk__in=said).order_by("-count", "name")
    names = list(rows)
    if len(names) < len(said):
        raise Http404
    for name in names:
        for field, value in said[name.pk].items():
            if field != "id":
                setattr(name, field, value)
    try:
        save_names(corpus, names)
    except ReeljudgeError as fault:
        raise Unfit({"names": str(fault).splitlines()[1:] or [str(fault)]}) from fault
    return list(rows.all())


def _tag(corpus: Corpus) -> str:
    fields = ("name", "phrase", "same_as", "stays", "confirmed")
    return tag_of("cast", *CastName.objects.filter(corpus=corpus).order_by("pk").values_list("pk", *fields))


class DraftCast(Resource):
    @operation(
        "Have the cast list drafted; what a lead said is kept", scope=LEAD, answer=CaptionsShape, later=True
    )
    def post(self, request: Request, corpus: int) -> Response:
        found = doors.corpus_to_reword(request, corpus)
        ask_for_draft(found)
        return rewording_later(found)
