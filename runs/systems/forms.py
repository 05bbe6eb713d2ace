"""The forms that ask for trained systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

from django import forms

from campaigns.models import Campaign
from corpus.features import DESCRIPTOR, JOIN, VISION, sets_of
from corpus.models import Corpus
from releases.training import DEEPEST
from runs.systems.orders import ENCODER, LEARNED, LONGEST, SHORTEST, Wanted
from systems.features.reader import CLIPS_MEANING, FIT_MEANING, FITS, OF_CLIPS, UNIT_MEANING
from systems.interface import Entry
from systems.options import FIRST, GROUPS, Options

NUMBERS: dict[type, type[forms.Field]] = {int: forms.IntegerField, float: forms.FloatField}
SETS = ("features", "joined")  # the fields of a form that name sets of features
READING = ("features_clips", "joined_clips", "fit", "unit_rows")  # those that say how sets of files are read
LABELS = {"nms": "NMS", "intra_iou": "Intra IoU", "words": "Size of word vectors"}
TITLES = {
    DESCRIPTOR: "Plain descriptor of the films, computed here",
    VISION: "Vision model of the settings, computed here from the films",
}


class WantedForm(forms.Form):
    """What is asked for beside a system's options."""

    name = forms.CharField(max_length=90, label="Name", help_text="Of its run; no other run has it.")
    features = forms.ChoiceField(label="Features")
    joined = forms.ChoiceField(
        label="Joined with",
        required=False,
        help_text="A second set of files, whose features stand behind those of the first in each clip.",
    )
    clip_seconds = forms.FloatField(
        label="Length of a clip",
        initial=Wanted.clip_seconds,
        min_value=SHORTEST,
        max_value=LONGEST,
        help_text="In seconds. Features from files are of clips of one length, which must be said here.",
    )
    features_clips = forms.RegexField(
        OF_CLIPS, label="Clip length of the set", required=False, max_length=20, help_text=CLIPS_MEANING
    )
    joined_clips = forms.RegexField(
        OF_CLIPS, label="Clip length of the joined set", required=False, max_length=20, help_text="In the same words."
    )
    fit = forms.ChoiceField(label="Fit", choices=[(each, each) for each in FITS], help_text=FIT_MEANING)
    unit_rows = forms.BooleanField(label="Rows of length 1", required=False, help_text=UNIT_MEANING)
    depth = forms.IntegerField(
        label="N",
        initial=Wanted.depth,
        min_value=1,
        max_value=DEEPEST,
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
        if not entry.reads or entry.compares:
            del self.fields["word_vectors"]
        if entry.compares:
            self.fields["features"].initial = VISION
        if not entry.learns:
            del self.fields["depth"]
        sets = [(name, TITLES.get(name, name)) for name in sets_of(corpus)]
        files = [each for each in sets if each[0] not in TITLES]
        for name, choices in (("features", sets), ("joined", [("", "No other set"), *files])):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = choices
        if len(files) < 2:
            del self.fields["joined"], self.fields["joined_clips"]
        if not files:
            del self.fields["features_clips"], self.fields["fit"], self.fields["unit_rows"]

    @property
    def first(self) -> list[forms.BoundField]:
        """What matters first."""
        return [field for field in self if field.name not in READING]

    @property
    def reading(self) -> list[forms.BoundField]:
        """How features from files are read; none if there are no files."""
        return [field for field in self if field.name in READING]

    @property
    def is_open(self) -> bool:
        """Whether something is wrong with how features are read."""
        return any(field.errors for field in self.reading)

    @property
    def sets(self) -> str:
        """The name of the sets of features together, each with the length of its clips if that is another."""
        named = [(self.cleaned_data.get(name), self.cleaned_data.get(f"{name}_clips")) for name in SETS]
        return JOIN.join(f"{name}@{clips}" if clips else str(name) for name, clips in named if name)

    def clean_seeds(self) -> list[int]:
        words = self.cleaned_data["seeds"].replace(",", " ").split()
        if not words or not all(word.isascii() and word.isdecimal() and len(word) < 19 for word in words):
            raise forms.ValidationError("Whole numbers with spaces between them.")
        return [int(word) for word in words]


class OptionsForm(forms.Form):
    """The options of one system, with its defaults or what a preset has instead."""

    def __init__(self, data: Any, kind: type[Options], preset: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.names: dict[str, list[str]] = {group: [] for group in GROUPS}
        for field in fields(kind):
            if field.name != "seed":
                initial = (preset or {}).get(field.name, field.default)
                self.fields[field.name] = _field(field, initial)
                self.names[field.metadata["group"]].append(field.name)

    @property
    def first(self) -> list[forms.BoundField]:
        """The options that matter first."""
        return [self[name] for name in self.names[FIRST]]

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The other options, in groups with their titles."""
        return [(group, [self[name] for name in names]) for group, names in self.names.items() if names][1:]

    @property
    def is_open(self) -> bool:
        """Whether something is wrong with one of the other options."""
        return any(field.errors for _, group in self.groups for field in group)


def _field(option: Field[Any], initial: Any) -> forms.Field:
    label = LABELS.get(option.name, option.name.replace("_", " ").capitalize())
    shared = {"label": label, "help_text": option.metadata["meaning"], "initial": initial}
    if choices := option.metadata["choices"]:
        return forms.ChoiceField(choices=[(choice, choice) for choice in choices], **shared)
    if isinstance(initial, bool):
        return forms.BooleanField(required=False, **shared)
    return NUMBERS[type(initial)](**shared)


def order_of(system: str, form: WantedForm, options: OptionsForm, campaign: Campaign) -> Wanted | None:
    """Return what two forms ask for. None if something is wrong; then each says all that is wrong with its part."""
    is_right = all([form.is_valid(), options.is_valid()])
    apart = {*SETS, *(f"{name}_clips" for name in SETS)}
    values = {name: value for name, value in form.cleaned_data.items() if name not in apart}
    order = Wanted(system=system, options=options.cleaned_data, **{"name": "", "features": form.sets} | values)
    for name, faults in order.faults(campaign).items():
        owner: forms.Form = options if name in options.fields else form
        if name not in owner.errors:
            is_right = False
            owner.add_error(name if name in owner.fields else None, faults)
    return order if is_right else None
