"""Drafts of campaigns: what each step holds, their files, and the jobs that check a draft and make the campaign."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.forms import BaseForm
from django.http import StreamingHttpResponse
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Choice, Number, Text, Whole
from api.operations import (
    LEAD,
    STORES,
    TAGGED,
    UNFIT,
    VERSIONED,
    Answer,
    annotated,
    changes,
    fresh,
    makes,
    reads,
    starts,
)
from api.resource import Resource, must_match, tag_of
from api.resources.campaigns import SettingsChange
from api.resources.jobs import JobSerializer
from api.resources.runs import PIECE, FileSerializer, take
from api.serializers import Body, ModelAnswer, Page, inline
from base.errors import Unfit
from base.forms import LARGEST_KEY, faults_of
from base.transactions import all_or_nothing, locked
from campaigns import access
from campaigns.models import Campaign, Membership
from corpus.importers.formats import FORMATS
from corpus.importers.rows import FIELDS
from drafts import access as drafts_access
from drafts import changes as steps
from drafts import forms, reading
from drafts.builder import marks
from drafts.models import Draft, Upload
from drafts.sources import draw_queries, store_corpus
from drafts.uploads import begin, remove_draft
from retrieval.rewriting.counting import counted, ready_in
from runs.estimates.planning import costs_of_pools

LARGEST_FILE = 2**53 - 1  # bytes; the settings allow less


class DraftLine(ModelAnswer):
    class Meta:
        model = Draft
        fields = ["token", "name", "created"]
        help_texts = {"token": "names the draft in addresses", "name": "of the campaign"}


class DraftSerializer(DraftLine):
    corpus = serializers.CharField(source="corpus.name", allow_null=True, default=None, help_text="null: a new one")
    reuses = serializers.CharField(
        source="reuses.name",
        allow_null=True,
        default=None,
        help_text="the campaign whose grades are reused; null: none",
    )
    films = serializers.ChoiceField(Draft.Media.choices, source="media")
    folder = serializers.CharField(source="media_folder")
    columns = serializers.DictField(child=serializers.CharField())
    selection = serializers.DictField(help_text="how many queries are drawn, and how; empty if none are")
    drawn = serializers.DictField(help_text="what was drawn to be looked at")
    settings = serializers.DictField()
    people = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    findings = serializers.DictField(help_text="of the last check; empty if something changed since")
    ready = serializers.BooleanField(source="is_ready", help_text="whether the campaign can be made")
    campaign = serializers.CharField(source="campaign.name", allow_null=True, default=None)
    files = FileSerializer(many=True)
    jobs = JobSerializer(many=True, help_text="under way, or failed")

    class Meta(DraftLine.Meta):
        fields = [
            *DraftLine.Meta.fields,
            "corpus_name",
            "format",
            "kind",
            "leaves_out_unusable",
            "frame_rate",
            "split",
            "pool_depth",
        ]
        help_texts = DraftLine.Meta.help_texts | {
            "corpus_name": "of the new corpus",
            "kind": "of the descriptions to import",
            "pool_depth": "ranks of each run that are judged; null: no leaderboard is judged again",
        }


class NewUpload(Body):
    size = Whole(min_value=1, max_value=LARGEST_FILE, help_text="bytes")

    class Meta:
        model = Upload
        fields = ["purpose", "name"]


OF_FIELDS = {name: Text(required=False, max_length=200, help_text=f"holds {what}") for name, what in FIELDS.items()}
Columns = inline("Columns", Body, **OF_FIELDS)


class CorpusStep(Body):
    """A corpus that is there, by its id; or a new one, and how its file is read."""

    corpus = Whole(required=False, allow_null=True, min_value=1, max_value=LARGEST_KEY)
    format = Choice(choices=list(FORMATS), required=False, allow_blank=True, help_text="empty: as recognised")
    columns = Columns(required=False, help_text="of a csv or jsonl; empty: those that are proposed")
    text = Text(required=False, max_length=forms.LONGEST_PASTE, trim_whitespace=False, help_text="in place of a file")

    class Meta:
        form = forms.CorpusForm
        fields = ["corpus_name", "kind", "leaves_out_unusable"]


class FilmsStep(Body):
    root = Text(required=False, max_length=500, help_text="one of the folders that the settings name")
    frame_rate = Number(required=False, allow_null=True, min_value=0.01, max_value=1000)

    class Meta:
        form = forms.FilmsForm
        fields = ["films", "below"]


class QueriesStep(Body):
    """Queries that are drawn, those of a text with one a line, or both; or with a depth those of a benchmark."""

    text = Text(required=False, max_length=forms.LONGEST_PASTE, trim_whitespace=False)
    reuses = Text(required=False, allow_null=True, max_length=100, help_text="the name of a campaign; null: of none")

    class Meta:
        form = forms.QueriesForm
        fields = ["validation", "test", "seed", "strata", "split", "pool_depth"]


class SettingsStep(SettingsChange):
    """The campaign's name, and any of the settings."""

    left_out = ("order_seed", "all_days")
    name = Text(max_length=100, help_text="letters, digits, - and _")


class PersonStep(Body):
    name = Text(max_length=150)
    role = Choice(choices=Membership.Role.choices)


class Changes(Body):
    """Any of the steps; what is not named stays as it is."""

    corpus = CorpusStep(required=False)
    films = FilmsStep(required=False)
    queries = QueriesStep(required=False)
    settings = SettingsStep(required=False)
    people = serializers.ListField(child=PersonStep(), required=False, max_length=forms.MOST_PEOPLE)


def _corpus(draft: Draft, data: dict[str, Any]) -> forms.CorpusForm:
    columns = {f"column_{name}": column for name, column in data.get("columns", draft.columns).items()}
    present = {name: getattr(draft, name) for name in ("corpus_name", "format", "kind", "leaves_out_unusable")}
    return forms.CorpusForm(draft.owner, present | data | columns | {"pasted": data.get("text", "")})


def _queries(draft: Draft, data: dict[str, Any]) -> forms.QueriesForm:
    ready = ready_in(counted(draft.corpus)) if draft.corpus else None
    form = forms.QueriesForm(draft, ready)
    present = {name: form.initial[name] for name in form.fields if name in form.initial}
    return forms.QueriesForm(draft, ready, present | data | {"pasted": data.get("text", "")})


def _settings(draft: Draft, data: dict[str, Any]) -> forms.NewSettingsForm:
    so_far = Campaign(name=draft.name, **draft.settings)
    form = forms.NewSettingsForm(instance=so_far)
    return forms.NewSettingsForm({name: form.initial.get(name) for name in form.fields} | data, instance=so_far)


def _people(draft: Draft, data: list[dict[str, str]]) -> forms.PeopleForm:
    return forms.PeopleForm(draft.owner, {"people": "".join(f"{each['name']} {each['role']}\n" for each in data)})


FORMS: dict[str, Callable[[Draft, Any], BaseForm]] = {
    "corpus": _corpus,
    "films": lambda draft, data: forms.FilmsForm(data),
    "queries": _queries,
    "settings": _settings,
    "people": _people,
}


class FaultSerializer(serializers.Serializer):
    line = serializers.IntegerField(allow_null=True, help_text="its number; null: of the whole file, or of an entry")
    text = serializers.CharField(allow_blank=True, help_text="how the line begins")
    problem = serializers.CharField(help_text="what is wrong with it, and what was expected")


class ReadingSerializer(serializers.Serializer):
    """What was found in a file."""

    recognised = serializers.CharField(help_text="the format that the file seems to have; empty if none, or of queries")
    format = serializers.CharField(help_text="the one that it was read in")
    wrong = serializers.IntegerField(help_text="how many problems there are")
    names = serializers.ListField(child=serializers.CharField(), help_text="of the file's columns or keys")
    columns = serializers.DictField(child=serializers.CharField(), help_text="that are proposed for the fields")
    first = serializers.ListField(child=serializers.ListField(), help_text="the first ten moments or queries")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="of videos, moments, queries or repeats")
    problems = FaultSerializer(many=True, help_text="the first ten of them")


class PoolCostSerializer(serializers.Serializer):
    depth = serializers.IntegerField(help_text="ranks of each run that are judged")
    candidates = serializers.IntegerField()
    judgements = serializers.IntegerField()
    hours = serializers.IntegerField()
    cost = serializers.IntegerField(allow_null=True, help_text="null without an hourly rate")


class ReadingsSerializer(serializers.Serializer):
    """What was found in a draft's files; null where there is none, or it is still being read."""

    moments = ReadingSerializer(allow_null=True)
    queries = ReadingSerializer(allow_null=True)
    benchmark = ReadingSerializer(allow_null=True, help_text="and the runs on it")
    depths = PoolCostSerializer(many=True, help_text="what judging the leaderboard again takes")
    corpus_name = serializers.CharField(allow_blank=True, help_text="a free name that is proposed for the new corpus")
    name = serializers.CharField(allow_blank=True, help_text="a free name that is proposed for the campaign")


def _answer(draft: Draft) -> Answer:
    return Answer.tagged(_with_jobs(draft), _tag(draft))


def _with_jobs(draft: Draft) -> Any:
    return annotated(fresh(draft), jobs=steps.jobs_of(draft, *steps.KINDS))


def _tag(draft: Draft) -> str:
    return tag_of("draft", marks(draft))


def _later(draft: Draft, ask: Callable[[Draft], object]) -> Answer:
    """Ask for one of the draft's jobs, and answer that the draft tells how far it is."""
    ask(draft)
    return Answer.later(reverse("api-draft", args=[draft.token]), _with_jobs(draft))


class Drafts(Resource, at="drafts", name="drafts"):
    @reads(Page(DraftLine))
    def get(self) -> Any:
        """The person's drafts of campaigns."""
        return Draft.objects.unfinished().filter(owner=access.creator(self.request))

    @makes(DraftSerializer)
    def post(self) -> Any:
        """Begin a draft."""
        return _answer(steps.begin_draft(access.creator(self.request)))


def _open_draft(resource: Resource, token: str) -> Draft:
    return drafts_access.open_draft(resource.request, token)


class OneDraft(Resource, at="drafts/<slug:token>", name="draft"):
    @reads(DraftSerializer, TAGGED)
    def get(self, token: str) -> Any:
        """A draft, what its check found, and its jobs."""
        return _answer(drafts_access.draft(self.request, token))

    @changes(DraftSerializer, VERSIONED, STORES, UNFIT, body=Changes, door=_open_draft)
    def patch(self, token: str) -> Any:
        """Say what some steps hold: all of it is stored, or nothing."""
        draft = drafts_access.open_draft(self.request, token)
        _change(self.request, draft, self.data)
        return _answer(draft)

    @changes()
    def delete(self, token: str) -> Any:
        """Remove a draft with its files."""
        remove_draft(drafts_access.open_draft(self.request, token))


@all_or_nothing
def _change(request: Request, draft: Draft, data: dict[str, Any]) -> None:
    locked(Draft.objects.filter(pk=draft.pk)).get()
    must_match(request, _tag(draft))
    filled: dict[str, BaseForm] = {step: FORMS[step](draft, data[step]) for step in FORMS if step in data}
    faults = {f"{step}.{name}": words for step, form in filled.items() for name, words in faults_of(form).items()}
    if faults:
        raise Unfit(faults)
    for step, form in filled.items():
        steps.CHANGES[step](draft, form)


class DraftReading(Resource, at="drafts/<slug:token>/reading", name="draft-reading"):
    @reads(ReadingsSerializer)
    def get(self, token: str) -> Any:
        """What was found in the draft's files, and the names that are proposed."""
        draft = drafts_access.draft(self.request, token)
        names = {"corpus_name": reading.proposed_corpus_name(draft), "name": reading.proposed_name(draft)}
        found = {purpose: reading.reading_of(draft, purpose) for purpose in reading.READERS}
        board = found[Upload.Purpose.BENCHMARK]
        return found | names | {"depths": costs_of_pools(draft, board.sizes) if board else []}


class DraftProblems(Resource, at="drafts/<slug:token>/problems", name="draft-problems"):
    @reads(("text/csv",))
    def get(self, token: str) -> Any:
        """All that is wrong with the draft: the step, the file, the line, its text, and what was expected."""
        lines = reading.problems_csv(drafts_access.draft(self.request, token))
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


class CheckDraft(Resource, at="drafts/<slug:token>/check", name="draft-check"):
    @starts(DraftSerializer)
    def post(self, token: str) -> Any:
        """Find out whether the campaign can be made."""
        return _later(drafts_access.open_draft(self.request, token), steps.ask_to_check)


class StoreCorpus(Resource, at="drafts/<slug:token>/corpus", name="draft-store"):
    @starts(DraftSerializer)
    def post(self, token: str) -> Any:
        """Store the new corpus before the campaign, so that it can be reworded."""
        return _later(drafts_access.open_draft(self.request, token), store_corpus.ask)


class DrawQueries(Resource, at="drafts/<slug:token>/queries", name="draft-draw"):
    @starts(DraftSerializer)
    def post(self, token: str) -> Any:
        """Draw the queries to look at them."""
        return _later(drafts_access.open_draft(self.request, token), draw_queries.ask)


class MakeCampaign(Resource, at="drafts/<slug:token>/campaign", name="draft-make"):
    @starts(DraftSerializer)
    def post(self, token: str) -> Any:
        """Make the campaign of a draft that was checked."""
        return _later(drafts_access.draft(self.request, token), steps.ask_to_make)


class Uploads(Resource, at="drafts/<slug:token>/files", name="uploads"):
    @changes(FileSerializer, STORES, UNFIT, body=NewUpload, status=201, door=_open_draft)
    def post(self, token: str) -> Any:
        """Announce a file of a draft, or find one that broke off."""
        return begin(drafts_access.open_draft(self.request, token), **self.data)


class OneUpload(Resource, at="drafts/<slug:token>/files/<slug:file>", name="upload"):
    @reads(FileSerializer, scope=LEAD)
    def get(self, token: str, file: str) -> Any:
        """How much of a draft's file has arrived."""
        return take(self.request, partial(drafts_access.upload, self.request, token, file))

    @changes(FileSerializer, PIECE, STORES)
    def patch(self, token: str, file: str) -> Any:
        """Send the next piece, of a mebibyte at most; 422 and where to go on, if it belongs elsewhere."""
        answer = take(self.request, partial(drafts_access.upload, self.request, token, file))
        reading.ask_to_read(drafts_access.draft(self.request, token))
        return answer

    @changes()
    def delete(self, token: str, file: str) -> Any:
        """Remove a file of a draft."""
        drafts_access.open_draft(self.request, token)
        steps.remove_file(drafts_access.upload(self.request, token, file))
