"""Captions: rewording the descriptions of a corpus, what waits for a lead, and what was replaced."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Shape, Text, Truth
from api.problems import unfit
from api.resource import Resource, later
from api.resources.jobs import JobShape
from campaigns import doors
from campaigns.models import Token
from corpus.importers.rows import LONGEST_TEXT
from corpus.models import Corpus
from judging.pool.rewording import PAIRS, WORDS, By, accept_caption, ask_for_rewording, state_of
from retrieval.models import Rewording
from retrieval.rewriting.counting import counted

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


class SubstitutionShape(Shape):
    by = serializers.ChoiceField(By.choices)
    model = serializers.CharField(help_text="of the chat endpoint")
    again = serializers.BooleanField()
    at = serializers.DateTimeField()
    ended = serializers.DateTimeField(allow_null=True)
    descriptions = serializers.IntegerField()
    requests = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField()


class EstimateShape(Shape):
    descriptions = serializers.IntegerField()
    requests = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField()


class CaptionsShape(Shape):
    descriptions = serializers.IntegerField(allow_null=True, help_text="null until a job has counted them")
    captions = serializers.IntegerField(allow_null=True)
    ready = serializers.IntegerField(allow_null=True, help_text="captions that may become queries")
    counted = serializers.DateTimeField(allow_null=True, help_text="when, if captions have changed since")
    settled = serializers.IntegerField(help_text="descriptions that are reworded")
    waiting = serializers.IntegerField(source="queued", help_text="that wait for a lead")
    names = serializers.IntegerField(source="confirmed", help_text="of the cast list that are confirmed")
    drafted = serializers.IntegerField(help_text="names that are not confirmed")
    model = serializers.CharField(help_text="of the chat endpoint; empty without one")
    estimate = EstimateShape(allow_null=True, help_text="what the chat endpoint would cost")
    substitutions = SubstitutionShape(many=True, help_text="the newest first")
    jobs = JobShape(many=True, help_text="under way, or failed")
    example = {
        "descriptions": 8063,
        "captions": 8001,
        "ready": 7950,
        "counted": None,
        "settled": 8000,
        "waiting": 63,
        "names": 12,
        "drafted": 0,
        "model": "",
        "estimate": None,
        "substitutions": [],
        "jobs": [],
    }


class NewRewording(Body):
    by = Choice(choices=By.choices)
    again = Truth(required=False, help_text="make captions again that have passed the checks")
    example = {"by": "cast"}


class WaitingCaption(Shape):
    id = serializers.IntegerField(source="pk")
    before = serializers.CharField(help_text="the description")
    after = serializers.CharField(help_text="what is proposed")
    state = serializers.ChoiceField(Rewording.State.choices)
    why = serializers.CharField(help_text="what the checks said")
    similarity = serializers.FloatField(allow_null=True, help_text="of the two, from -1 to 1")
    example = {
        "id": 4,
        "before": "Monica sits down.",
        "after": "A woman sits down.",
        "state": "queued",
        "why": "a name is left",
        "similarity": 0.71,
    }


class Accepted(Body):
    text = Text(max_length=LONGEST_TEXT)
    example = {"text": "A woman sits down."}


class WordShape(Shape):
    word = serializers.CharField()
    count = serializers.IntegerField()
    gender = serializers.ChoiceField(["M", "F", "N"])


class PairShape(Shape):
    before = serializers.CharField()
    after = serializers.CharField()
    count = serializers.IntegerField()


class ReplacedShape(Shape):
    """Table 3 of TVR-Ranking for this corpus."""

    descriptions = serializers.IntegerField(help_text="whose caption is settled")
    changed = serializers.IntegerField(help_text="of these, whose caption differs")
    total = serializers.IntegerField(help_text="words that were put in")
    words = WordShape(many=True)
    pairs = PairShape(many=True)


class ReplacedFound(Shape):
    counting = serializers.BooleanField(help_text="whether a job counts them anew")
    replaced = ReplacedShape(allow_null=True, help_text="null until they were counted once")
    example = {
        "counting": False,
        "replaced": {
            "descriptions": 8000,
            "changed": 5200,
            "total": 5900,
            "words": [{"word": "woman", "count": 812, "gender": "F"}],
            "pairs": [{"before": "Monica", "after": "a woman", "count": 240}],
        },
    }


def state_shown(corpus: Corpus) -> Any:
    known = state_of(corpus)
    figures = known["counted"].figures
    names = ("descriptions", "captions", "ready")
    numbers = {name: getattr(figures, name) if figures else None for name in names}
    return CaptionsShape(known | numbers | {"counted": known["counted"].old}).data


def rewording_later(corpus: Corpus) -> Response:
    """Answer that a job rewords or drafts; the captions tell how far it is."""
    return later(reverse("api-captions", args=[corpus.pk]), state_shown(corpus))


class Captions(Resource):
    @operation("How far a corpus is reworded", scope=READ, answer=CaptionsShape)
    def get(self, request: Request, corpus: int) -> Response:
        return Response(state_shown(doors.corpus_to_reword(request, corpus)))


class RewordCaptions(Resource):
    @operation(
        "Reword the descriptions by the cast list or the chat endpoint",
        scope=LEAD,
        body=NewRewording,
        answer=CaptionsShape,
        later=True,
        makes=True,
    )
    def post(self, request: Request, corpus: int) -> Response:
        found, said = doors.corpus_to_reword(request, corpus), self.said
        ask_for_rewording(found, said["by"], doors.signed_in(request), again=said.get("again", False))
        return rewording_later(found)


class WaitingCaptions(Resource):
    @operation("The descriptions that wait for a lead", scope=READ, answer=WaitingCaption, pages=True)
    def get(self, request: Request, corpus: int) -> Response:
        found = doors.corpus_to_reword(request, corpus)
        return self.page(Rewording.objects.filter(corpus=found).queued(), WaitingCaption)


class AcceptCaption(Resource):
    @operation("Make a text the caption of a description", scope=LEAD, body=Accepted, answer=WaitingCaption)
    def put(self, request: Request, corpus: int, pk: int) -> Response:
        found = doors.corpus_to_reword(request, corpus)
        row = get_object_or_404(Rewording, corpus=found, pk=pk)
        with unfit():
            accept_caption(row, doors.signed_in(request), self.said["text"])
        row.refresh_from_db()
        return Response(WaitingCaption(row).data)


class Replaced(Resource):
    @operation(
        "What was replaced, how often; the most frequent words and pairs", scope=READ, answer=ReplacedFound
    )
    def get(self, request: Request, corpus: int) -> Response:
        known = counted(doors.corpus_to_reword(request, corpus))
        found = known.figures.replaced if known.figures else None
        if found is None:
            return Response({"counting": True, "replaced": None})
        pairs = [dict(zip(("before", "after", "count"), each, strict=True)) for each in found.pairs[:PAIRS]]
        words = WordShape(found.words[:WORDS], many=True).data
        numbers = {name: getattr(found, name) for name in ("descriptions", "changed", "total")}
        told = numbers | {"words": words, "pairs": pairs}
        return Response({"counting": known.old is not None, "replaced": told})
