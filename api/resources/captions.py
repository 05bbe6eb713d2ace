"""Captions of a corpus: rewording descriptions, what waits for a lead, what was replaced, and the cast list."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Choice, Text, Truth, Whole
from api.operations import ONCE, TAGGED, UNFIT, VERSIONED, Answer, Rows, annotated, changes, fresh, reads, starts
from api.resource import Resource, must_match, tag_of
from api.resources.jobs import JobSerializer
from api.serializers import Body, ModelAnswer, Page, PageParameters, inline
from base.errors import ReeljudgeError, Unfit
from base.forms import LARGEST_KEY
from base.transactions import all_or_nothing, locked
from campaigns import access
from corpus.importers.rows import LONGEST_TEXT
from corpus.models import Corpus
from judging.pool.rewording import PAIRS, WORDS, By, accept_caption, ask_for_rewording, state_of
from retrieval.models import CastName, Rewording, Substitution
from retrieval.rewriting.cast_file import NAMES_ON_A_PAGE, draft_cast, names_of, save_names
from retrieval.rewriting.counting import counted

BY_FREQUENCY = ("-count", "name")


class SubstitutionSerializer(ModelAnswer):
    cost = serializers.FloatField()

    class Meta:
        model = Substitution
        fields = ["by", "model", "again", "at", "ended", "descriptions", "requests", "input_tokens", "output_tokens"]
        help_texts = {"model": "of the chat endpoint"}


class RewordingCostSerializer(serializers.Serializer):
    descriptions = serializers.IntegerField()
    requests = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField()


class CaptionsSerializer(serializers.Serializer):
    descriptions = serializers.IntegerField(
        source="counted.figures.descriptions", allow_null=True, help_text="null until a job has counted them"
    )
    captions = serializers.IntegerField(source="counted.figures.captions", allow_null=True)
    ready = serializers.IntegerField(source="counted.figures.ready", allow_null=True, help_text="that may be queries")
    counted = serializers.DateTimeField(source="counted.old", allow_null=True, help_text="null: they are up to date")
    settled = serializers.IntegerField(help_text="descriptions that are reworded")
    waiting = serializers.IntegerField(source="queued", help_text="that wait for a lead")
    names = serializers.IntegerField(source="confirmed", help_text="of the cast list that are confirmed")
    drafted = serializers.IntegerField(help_text="names that are not confirmed")
    model = serializers.CharField(help_text="of the chat endpoint; empty without one")
    estimate = RewordingCostSerializer(allow_null=True, help_text="what the chat endpoint would cost")
    substitutions = SubstitutionSerializer(many=True, help_text="the newest first")
    jobs = JobSerializer(many=True, help_text="under way, or failed")


class NewRewording(Body):
    by = Choice(choices=By.choices)
    again = Truth(required=False, help_text="make captions again that have passed the checks")


class WaitingCaption(ModelAnswer):
    class Meta:
        model = Rewording
        fields = ["id", "before", "after", "state", "why", "similarity"]
        help_texts = {
            "before": "the description",
            "after": "what is proposed",
            "why": "what the checks said",
            "similarity": "of the two, from -1 to 1",
        }


class WordSerializer(serializers.Serializer):
    word = serializers.CharField()
    count = serializers.IntegerField()
    gender = serializers.ChoiceField(["M", "F", "N"])


class PairSerializer(serializers.Serializer):
    before = serializers.CharField()
    after = serializers.CharField()
    count = serializers.IntegerField()


class ReplacedSerializer(serializers.Serializer):
    """Table 3 of TVR-Ranking for this corpus."""

    descriptions = serializers.IntegerField(help_text="whose caption is settled")
    changed = serializers.IntegerField(help_text="of these, whose caption differs")
    total = serializers.IntegerField(help_text="words that were put in")
    words = WordSerializer(many=True)
    pairs = PairSerializer(many=True)


class ReplacedFound(serializers.Serializer):
    counting = serializers.BooleanField(help_text="whether a job counts them anew")
    replaced = ReplacedSerializer(allow_null=True, help_text="null until a job has counted them")


def _rewording_later(corpus: Corpus) -> Answer:
    """Answer that a job rewords or drafts; the captions tell how far it is."""
    return Answer.later(reverse("api-captions", args=[corpus.pk]), state_of(corpus))


class Captions(Resource, at="corpora/<int:corpus>/captions", name="captions"):
    @reads(CaptionsSerializer)
    def get(self, corpus: int) -> Any:
        """How far a corpus is reworded."""
        return state_of(access.corpus_to_reword(self.request, corpus))


def _corpus(resource: Resource, corpus: int, **_: Any) -> Corpus:
    return access.corpus_to_reword(resource.request, corpus)


class RewordCaptions(Resource, at="corpora/<int:corpus>/captions/rewording", name="reword"):
    @starts(CaptionsSerializer, ONCE, body=NewRewording, door=_corpus)
    def post(self, corpus: int) -> Any:
        """Reword the descriptions by the cast list or the chat endpoint."""
        found = access.corpus_to_reword(self.request, corpus)
        ask_for_rewording(found, asked_by=access.signed_in(self.request), **self.data)
        return _rewording_later(found)


class WaitingCaptions(Resource, at="corpora/<int:corpus>/captions/waiting", name="captions-waiting"):
    @reads(Page(WaitingCaption))
    def get(self, corpus: int) -> Any:
        """The descriptions that wait for a lead."""
        return Rewording.objects.filter(corpus=access.corpus_to_reword(self.request, corpus)).queued()


class AcceptCaption(Resource, at="corpora/<int:corpus>/captions/waiting/<int:pk>", name="caption-accept"):
    @changes(
        WaitingCaption, UNFIT, body=inline("AcceptedCaption", Body, text=Text(max_length=LONGEST_TEXT)), door=_corpus
    )
    def put(self, corpus: int, pk: int) -> Any:
        """Make a text the caption of a description."""
        row = get_object_or_404(Rewording, corpus=access.corpus_to_reword(self.request, corpus), pk=pk)
        accept_caption(row, access.signed_in(self.request), self.data["text"])
        return fresh(row)


class Replaced(Resource, at="corpora/<int:corpus>/captions/replaced", name="replaced"):
    @reads(ReplacedFound)
    def get(self, corpus: int) -> Any:
        """What was replaced, how often; the most frequent words and pairs."""
        known = counted(access.corpus_to_reword(self.request, corpus))
        found = known.figures.replaced if known.figures else None
        if found is None:
            return {"counting": True, "replaced": None}
        pairs = [dict(zip(("before", "after", "count"), each, strict=True)) for each in found.pairs[:PAIRS]]
        replaced = annotated(found, words=found.words[:WORDS], pairs=pairs)
        return {"counting": known.old is not None, "replaced": replaced}


class NameSerializer(ModelAnswer):
    contexts = serializers.ListField(child=serializers.CharField(), help_text="some of them")

    class Meta:
        model = CastName
        fields = ["id", "name", "phrase", "same_as", "stays", "confirmed", "count"]
        help_texts = {
            "phrase": "takes its place, without an article",
            "same_as": "another name of the same person",
            "stays": "whether it names no person, and captions keep it",
            "count": "descriptions that contain it, as the last draft counted; 0 before one",
        }


class NamesParameters(PageParameters):
    show = serializers.ChoiceField(["open", "confirmed"], required=False)


class NameSaid(Body):
    """What is not said of a name stays as it is."""

    id = Whole(min_value=1, max_value=LARGEST_KEY)

    class Meta:
        model = CastName
        fields = ["phrase", "same_as", "stays", "confirmed"]


class NamesSaid(Body):
    names = serializers.ListField(child=NameSaid(), min_length=1, max_length=NAMES_ON_A_PAGE)


class CastList(Resource, at="corpora/<int:corpus>/cast", name="cast"):
    @reads(Page(NameSerializer), TAGGED, query=NamesParameters)
    def get(self, corpus: int) -> Any:
        """The names of a corpus, the most frequent first."""
        found = access.corpus_to_reword(self.request, corpus)
        return Answer.tagged(Rows(names_of(found, self.params.get("show", "")), BY_FREQUENCY), _tag(found))

    @changes(NameSerializer(many=True), VERSIONED, body=NamesSaid, door=_corpus)
    def patch(self, corpus: int) -> Any:
        """Say who some names are: all of it is stored, or nothing."""
        found = access.corpus_to_reword(self.request, corpus)
        names = _save(self.request, found, {each["id"]: each for each in self.data["names"]})
        return Answer.tagged(names, _tag(found))


@all_or_nothing
def _save(request: Request, corpus: Corpus, changed: dict[int, dict[str, Any]]) -> list[CastName]:
    list(locked(Corpus.objects.filter(pk=corpus.pk)))
    must_match(request, _tag(corpus))
    rows = CastName.objects.filter(corpus=corpus, pk__in=changed).order_by(*BY_FREQUENCY)
    names = list(rows)
    if len(names) < len(changed):
        raise Http404
    for name in names:
        for field in changed[name.pk].keys() - {"id"}:
            setattr(name, field, changed[name.pk][field])
    try:
        save_names(corpus, names)
    except ReeljudgeError as fault:
        raise Unfit({"names": str(fault).splitlines()[1:] or [str(fault)]}) from fault
    return list(rows.all())


def _tag(corpus: Corpus) -> str:
    fields = ("name", "phrase", "same_as", "stays", "confirmed")
    return tag_of("cast", *CastName.objects.filter(corpus=corpus).order_by("pk").values_list("pk", *fields))


class DraftCast(Resource, at="corpora/<int:corpus>/cast/draft", name="cast-draft"):
    @starts(CaptionsSerializer)
    def post(self, corpus: int) -> Any:
        """Have the cast list drafted; what a lead said is kept."""
        found = access.corpus_to_reword(self.request, corpus)
        draft_cast.ask(found)
        return _rewording_later(found)
