"""The forms of a system that is to be trained: what it learns from, and its options."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django import forms

from base.errors import BadValue
from corpus.features import DESCRIPTOR, VISION, sets_of
from corpus.models import Corpus
from runs.systems.orders import ENCODER, LEARNED, Wanted
from systems.interface import Entry
from systems.options import Options

NUMBERS: dict[type, type[forms.Field]] = {int: forms.IntegerField, float: forms.FloatField}
LABELS = {"nms": "NMS", "intra_iou": "Intra IoU", "words": "Size of word vectors"}
TITLES = {
    DESCRIPTOR: "Plain descriptor of the films, computed here",
    VISION: "Vision model of the settings, computed here from the films",
}


class WantedForm(forms.Form):
    """What is asked for beside a system's options."""

    name = forms.CharField(max_length=90, label="Name", help_text="Of its run; no other run has it.")
    features = forms.ChoiceField(label="Features")
    clip_seconds = forms.FloatField(
        label="Length of a clip",
        initial=Wanted.clip_seconds,
        help_text="In seconds. Features from files are of clips of one length, which must be said here.",
    )
    depth = forms.IntegerField(
        label="N",
        initial=Wanted.depth,
        help_text="So many moments are taken as answers of each training query; TVR-Ranking has 1, 20 and 40.",
    )
    word_vectors = forms.ChoiceField(
        label="Words",
        choices=[(LEARNED, "Learned here, with the system"), (ENCODER, "By the campaign’s encoder")],
        initial=LEARNED,
        help_text="The encoder, which ranked the candidates, also knows words that no caption has.",
    )
    seeds = forms.CharField(
        max_length=200,
        initial="1",
        label="Seeds",
        help_text="Whole numbers with spaces. Each is trained and submitted; the leaderboard shows them as one row.",
    )

    def __init__(self, data: Any, corpus: Corpus, entry: Entry) -> None:
        super().__init__(data)
        if not entry.reads:
            del self.fields["word_vectors"]
        choices = self.fields["features"]
        assert isinstance(choices, forms.ChoiceField)
        choices.choices = [(name, TITLES.get(name, name)) for name in sets_of(corpus)]

    def clean_seeds(self) -> list[int]:
        words = self.cleaned_data["seeds"].replace(",", " ").split()
        if not words or not all(word.isascii() and word.isdecimal() and len(word) < 19 for word in words):
            raise forms.ValidationError("Whole numbers with spaces between them.")
        return [int(word) for word in words]


class OptionsForm(forms.Form):
    """The options of one system, with its defaults."""

    def __init__(self, data: Any, kind: type[Options]) -> None:
        super().__init__(data)
        meanings = kind.meanings()
        for field in fields(kind):
            if field.name != "seed":
                self.fields[field.name] = _field(kind, field.name, field.default, meanings[field.name])


def _field(kind: type[Options], name: str, initial: Any, meaning: str) -> forms.Field:
    shared = {"label": LABELS.get(name, name.replace("_", " ").capitalize()), "help_text": meaning, "initial": initial}
    choices = kind.table("choices").get(name)
    if choices:
        return forms.ChoiceField(choices=[(each, each) for each in choices], **shared)
    if isinstance(initial, bool):
        return forms.BooleanField(required=False, **shared)
    return NUMBERS[type(initial)](**shared)


def wanted(system: str, form: WantedForm, options: OptionsForm) -> Wanted:
    """Return what two valid forms ask for."""
    return Wanted(system=system, options=options.cleaned_data, **form.cleaned_data)


def show_fault(fault: BadValue, form: WantedForm, options: OptionsForm) -> None:
    """Add what was refused to the field that it belongs to."""
    owner: forms.Form = options if fault.field in options.fields else form
    owner.add_error(fault.field if fault.field in owner.fields else None, str(fault))
