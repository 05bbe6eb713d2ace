"""What the steps of a draft say over the API, put into the forms of the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.forms import BaseForm
from rest_framework import serializers

from api.fields import Body, Choice, Number, Text, Truth, Whole
from api.resources.rules import SettingsChange
from campaigns.models import Campaign, Draft, Membership
from corpus.importers.registry import FORMATS
from judging.drafts import changes
from judging.drafts.forms import (
    LONGEST_PASTE,
    MOST_DRAWN,
    MOST_PEOPLE,
    CorpusForm,
    FilmsForm,
    NewSettingsForm,
    PeopleForm,
    QueriesForm,
)
from judging.pool.queries import LONGEST_SPLIT
from judging.pool.selection import LARGEST_SEED
from retrieval.rewriting.counting import counted, ready_in

LARGEST = 10**18 - 1  # a primary key


class CorpusStep(Body):
    """A corpus that is there, by its id; or a new one, and how its file is read."""

    corpus = Whole(required=False, allow_null=True, min_value=1, max_value=LARGEST)
    corpus_name = Text(required=False, max_length=100, allow_blank=True)
    format = Choice(choices=list(FORMATS), required=False)
    kind = Text(required=False, max_length=20, allow_blank=True)
    columns = serializers.DictField(child=Text(max_length=100), required=False)
    text = Text(
        required=False,
        max_length=LONGEST_PASTE,
        trim_whitespace=False,
        help_text="its lines, in place of a file",
    )


class FilmsStep(Body):
    films = Choice(choices=Draft.Media.choices)
    root = Text(required=False, max_length=500, help_text="one of the folders that the settings name")
    below = Text(required=False, max_length=300, allow_blank=True)
    frame_rate = Number(required=False, allow_null=True, min_value=0.01, max_value=1000)


class QueriesStep(Body):
    """Queries that are drawn, those of a text with one a line, or both."""

    draws = Truth(required=False)
    validation = Whole(required=False, min_value=0, max_value=MOST_DRAWN)
    test = Whole(required=False, min_value=0, max_value=MOST_DRAWN)
    seed = Whole(required=False, min_value=0, max_value=LARGEST_SEED)
    strata = serializers.ListField(child=Choice(choices=["show", "length"]), required=False, max_length=2)
    text = Text(required=False, max_length=LONGEST_PASTE, trim_whitespace=False)
    split = Text(required=False, max_length=LONGEST_SPLIT, allow_blank=True)


class SettingsStep(SettingsChange):
    """The campaign's name, and any of the settings."""

    name = Text(max_length=100, help_text="letters, digits, - and _")
    order_seed = all_days = None  # type: ignore[assignment]  # takes the fields away
    example: dict[str, Any] = {}


class PersonStep(Body):
    name = Text(max_length=150)
    role = Choice(choices=Membership.Role.choices)


class Changes(Body):
    """Any of the steps; what is not named stays as it is."""

    corpus = CorpusStep(required=False)
    films = FilmsStep(required=False)
    queries = QueriesStep(required=False)
    settings = SettingsStep(required=False)
    people = serializers.ListField(child=PersonStep(), required=False, max_length=MOST_PEOPLE)
    example = {
        "corpus": {"corpus": 1},
        "queries": {"draws": True, "validation": 500, "test": 2281, "seed": 1},
        "settings": {"name": "films", "title": "Films of 2024"},
        "people": [{"name": "ada", "role": "annotator"}],
    }


def _corpus(draft: Draft, said: dict[str, Any]) -> CorpusForm:
    names = ("corpus_name", "format", "kind")
    columns = said.get("columns", draft.columns)
    lines = "".join(f"{name} = {column}\n" for name, column in columns.items())
    known = {name: getattr(draft, name) for name in names}
    return CorpusForm(draft.owner, known | said | {"columns": lines, "pasted": said.get("text", "")})


def _films(draft: Draft, said: dict[str, Any]) -> FilmsForm:
    return FilmsForm(said)


def _queries(draft: Draft, said: dict[str, Any]) -> QueriesForm:
    ready = ready_in(counted(draft.corpus)) if draft.corpus else None
    form = QueriesForm(draft, ready)
    usual = {name: form.initial[name] for name in form.fields if name in form.initial}
    return QueriesForm(draft, ready, usual | said | {"pasted": said.get("text", "")})


def _settings(draft: Draft, said: dict[str, Any]) -> NewSettingsForm:
    so_far = Campaign(name=draft.name, **draft.settings)
    form = NewSettingsForm(instance=so_far)
    return NewSettingsForm({name: form.initial.get(name) for name in form.fields} | said, instance=so_far)


def _people(draft: Draft, said: list[dict[str, str]]) -> PeopleForm:
    return PeopleForm(draft.owner, {"people": "".join(f"{each['name']} {each['role']}\n" for each in said)})


FORMS: dict[str, Callable[[Draft, Any], BaseForm]] = {
    "corpus": _corpus,
    "films": _films,
    "queries": _queries,
    "settings": _settings,
    "people": _people,
}
STORES: dict[str, Callable[[Draft, Any], None]] = {
    "corpus": changes.change_corpus,
    "films": changes.change_films,
    "queries": changes.change_queries,
    "settings": changes.change_settings,
    "people": changes.change_people,
}
