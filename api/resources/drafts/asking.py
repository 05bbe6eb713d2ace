"""Drafts of campaigns: what each step says, their files, and the jobs that check a draft and make the campaign."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.forms import BaseForm
from django.http import HttpResponseBase
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Shape, Text, Whole
from api.problems import faults_of, unfit
from api.resource import Resource, empty, later, must_match, tag_of
from api.resources.drafts.steps import FORMS, STORES, Changes
from api.resources.jobs import JobShape
from api.resources.pieces import CHECKSUM, OFFSET, FileShape, take
from base.errors import Unfit
from base.transactions import all_or_nothing, locked
from campaigns.models import Draft, Token, Upload
from campaigns.uploads import begin, remove_draft
from judging import doors
from judging.drafts.builder import marks
from judging.drafts.changes import (
    KINDS,
    ask_for,
    ask_to_check,
    ask_to_make,
    begin_draft,
    jobs_of,
    remove_file,
)
from judging.drafts.corpora import DRAW, STORE

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
LARGEST_FILE = 2**53 - 1  # bytes; the settings allow less


class DraftLine(Shape):
    token = serializers.CharField(help_text="names the draft in addresses")
    name = serializers.CharField(help_text="of the campaign")
    created = serializers.DateTimeField()
    example = {"token": "0b1f", "name": "films", "created": "2026-01-05T09:00:00Z"}


class DraftShape(DraftLine):
    corpus = serializers.CharField(
        source="corpus.name", allow_null=True, default=None, help_text="null: a new one"
    )
    corpus_name = serializers.CharField(help_text="of the new corpus")
    format = serializers.CharField()
    kind = serializers.CharField(help_text="of the descriptions to import")
    columns = serializers.DictField(child=serializers.CharField())
    films = serializers.ChoiceField(Draft.Media.choices, source="media")
    folder = serializers.CharField(source="media_folder")
    frame_rate = serializers.FloatField(allow_null=True)
    split = serializers.CharField()
    selection = serializers.DictField(help_text="how many queries are drawn, and how; empty if none are")
    drawn = serializers.DictField(help_text="what was drawn to be looked at")
    settings = serializers.DictField()
    people = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    findings = serializers.DictField(help_text="of the last check; empty if something changed since")
    ready = serializers.BooleanField(source="is_ready", help_text="whether the campaign can be made")
    campaign = serializers.CharField(source="campaign.name", allow_null=True, default=None)
    files = FileShape(many=True)
    jobs = JobShape(many=True, help_text="under way, or failed")
    example = DraftLine.example | {
        "corpus": "tvr",
        "corpus_name": "",
        "format": "",
        "kind": "",
        "columns": {},
        "films": "none",
        "folder": "",
        "frame_rate": None,
        "split": "val",
        "selection": {"validation": 500, "test": 2281, "seed": 1, "strata": []},
        "drawn": {},
        "settings": {"batch_size": 20},
        "people": [["ada", "annotator"]],
        "findings": {},
        "ready": False,
        "campaign": None,
        "files": [],
        "jobs": [],
    }


class NewUpload(Body):
    purpose = Choice(choices=Upload.Purpose.choices)
    name = Text(max_length=255)
    size = Whole(min_value=1, max_value=LARGEST_FILE, help_text="bytes")
    example = {"purpose": "moments", "name": "tvr_val.jsonl", "size": 481230}


def _shown(draft: Draft) -> Any:
    draft.refresh_from_db()
    draft.files = draft.uploads.order_by("pk")  # type: ignore[attr-defined]
    draft.jobs = jobs_of(draft, *KINDS)  # type: ignore[attr-defined]
    return DraftShape(draft).data


def _answer(draft: Draft, status: int = 200) -> Response:
    return Response(_shown(draft), status, headers={"ETag": _tag(draft)})


def _tag(draft: Draft) -> str:
    return tag_of("draft", marks(draft))


class Drafts(Resource):
    @operation("The person's drafts of campaigns", scope=READ, answer=DraftLine, pages=True)
    def get(self, request: Request) -> Response:
        own = Draft.objects.unfinished().filter(owner=doors.creator(request))
        return self.page(own, DraftLine)

    @operation("Begin a draft", scope=LEAD, answer=DraftShape, status=201, makes=True)
    def post(self, request: Request) -> Response:
        return _answer(begin_draft(doors.creator(request)), 201)


class OneDraft(Resource):
    @operation("A draft, what its check found, and its jobs", scope=READ, answer=DraftShape, tagged=True)
    def get(self, request: Request, token: str) -> Response:
        return _answer(doors.draft(request, token))

    @operation(
        "Say what some steps hold: all of it is stored, or nothing",
        scope=LEAD,
        body=Changes,
        answer=DraftShape,
        versioned=True,
        tagged=True,
        stores=True,
    )
    def patch(self, request: Request, token: str) -> Response:
        draft = doors.open_draft(request, token)
        with unfit():
            _change(request, draft, self.said)
        return _answer(draft)

    @operation("Remove a draft with its files", scope=LEAD, status=204)
    def delete(self, request: Request, token: str) -> Response:
        remove_draft(doors.open_draft(request, token))
        return empty()


@all_or_nothing
def _change(request: Request, draft: Draft, said: dict[str, Any]) -> None:
    locked(Draft.objects.filter(pk=draft.pk)).get()
    must_match(request, _tag(draft))
    forms: dict[str, BaseForm] = {step: FORMS[step](draft, said[step]) for step in FORMS if step in said}
    faults = {
        f"{step}.{name}": told for step, form in forms.items() for name, told in faults_of(form).items()
    }
    if faults:
        raise Unfit(faults)
    for step, form in forms.items():
        STORES[step](draft, form)


class _DraftJob(Resource):
    """Asks for one of a draft's jobs; the draft tells how far it is."""

    def _ask(self, draft: Draft, ask: Callable[[Draft], object]) -> Response:
        ask(draft)
        return later(reverse("api-draft", args=[draft.token]), _shown(draft))


class CheckDraft(_DraftJob):
    @operation("Find out whether the campaign can be made", scope=LEAD, answer=DraftShape, later=True)
    def post(self, request: Request, token: str) -> Response:
        return self._ask(doors.open_draft(request, token), ask_to_check)


class StoreCorpus(_DraftJob):
    @operation(
        "Store the new corpus before the campaign, so that it can be reworded",
        scope=LEAD,
        answer=DraftShape,
        later=True,
    )
    def post(self, request: Request, token: str) -> Response:
        return self._ask(doors.open_draft(request, token), partial(ask_for, STORE))


class DrawQueries(_DraftJob):
    @operation("Draw the queries to look at them", scope=LEAD, answer=DraftShape, later=True)
    def post(self, request: Request, token: str) -> Response:
        return self._ask(doors.open_draft(request, token), partial(ask_for, DRAW))


class MakeCampaign(_DraftJob):
    @operation("Make the campaign of a draft that was checked", scope=LEAD, answer=DraftShape, later=True)
    def post(self, request: Request, token: str) -> Response:
        return self._ask(doors.draft(request, token), ask_to_make)


class Uploads(Resource):
    @operation(
        "Announce a file of a draft, or find one that broke off",
        scope=LEAD,
        body=NewUpload,
        answer=FileShape,
        status=201,
        stores=True,
    )
    def post(self, request: Request, token: str) -> Response:
        draft, said = doors.open_draft(request, token), self.said
        with unfit():
            return Response(FileShape(begin(draft, said["purpose"], said["name"], said["size"])).data, 201)


class OneUpload(Resource):
    @operation("How much of a draft's file has arrived", scope=LEAD, answer=FileShape)
    def get(self, request: Request, token: str, file: str) -> HttpResponseBase:
        return take(request, partial(doors.upload, request, token, file))

    @operation(
        "Send the next piece, of a mebibyte at most; 422 and where to go on, if it belongs elsewhere",
        scope=LEAD,
        raw=True,
        stores=True,
        headers=(OFFSET, CHECKSUM),
        answer=FileShape,
    )
    def patch(self, request: Request, token: str, file: str) -> HttpResponseBase:
        return take(request, partial(doors.upload, request, token, file))

    @operation("Remove a file of a draft", scope=LEAD, status=204)
    def delete(self, request: Request, token: str, file: str) -> Response:
        doors.open_draft(request, token)
        remove_file(doors.upload(request, token, file))
        return empty()
