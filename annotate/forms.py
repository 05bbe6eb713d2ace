"""The forms of annotators' pages: questions, practice, the tutorial, and how a person likes to work."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.script_texts import FIXED, KEY_WORDS, key_name, key_named
from base.forms import LARGEST, LARGEST_KEY, Text
from campaigns.guideline_text import LEVELS
from campaigns.models import Preferences
from campaigns.models.accounts import HIGHEST_GOAL, KEYS
from judging.models.judgement import LONGEST_QUESTION
from judging.work.grading import LONGEST

GRADES = [(str(grade), str(grade)) for grade in LEVELS]


class AskForm(forms.Form):
    """A question to the leads, or the answer to a message of theirs."""

    key = forms.UUIDField(widget=forms.HiddenInput)
    letter = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, widget=forms.HiddenInput)
    text = Text(max_length=LONGEST_QUESTION, label=gettext_lazy("Your question"))


class PracticeForm(forms.Form):
    grade = forms.TypedChoiceField(choices=GRADES, coerce=int, widget=forms.HiddenInput)
    seconds = forms.FloatField(required=False, min_value=0, max_value=LONGEST, widget=forms.HiddenInput)


class TutorialForm(forms.Form):
    """Where somebody is in the tutorial, and what was answered there."""

    step = example = forms.IntegerField(required=False, max_value=LARGEST)
    answer = forms.ChoiceField(required=False, choices=[*GRADES, ("flag", "flag")])


class KeyField(forms.CharField):
    """A key, shown by its name. It is pressed, or typed where no script runs."""

    def __init__(self, **options: Any) -> None:
        required = {"required": gettext_lazy("Press the key that you want here.")}
        super().__init__(strip=False, max_length=20, error_messages=required, **options)
        self.widget.attrs |= {"data-key": "", "autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        key = key_named(text)
        if key is None:
            raise ValidationError(_("Press one key: a letter, a digit, a sign, space or an arrow."))
        if key in FIXED:
            values = {"key": key_name(key), "what": FIXED[key]}
            raise ValidationError(_("“%(key)s” always means: %(what)s. Choose another key.") % values)
        return key


class PreferencesForm(forms.Form):
    """How a person likes to work: a key for each thing to do, a goal for the day, and suggestions of breaks."""

    goal = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=HIGHEST_GOAL,
        label=gettext_lazy("My goal for a day, in clips"),
        help_text=gettext_lazy("The workplace shows how far you are. Nobody else sees it. Leave it empty for none."),
    )
    suggests_breaks = forms.BooleanField(required=False, label=gettext_lazy("Suggest a break after 50 minutes of work"))

    def __init__(self, data: Any = None, *, preferences: Preferences) -> None:
        initial: dict[str, Any] = {does: key_name(key) for does, key in preferences.keys.items()}
        initial |= {"goal": preferences.goal, "suggests_breaks": preferences.suggests_breaks}
        super().__init__(data, initial=initial)
        self.fields |= {does: KeyField(label=words) for does, words in KEY_WORDS.items()}

    @property
    def keys(self) -> list[forms.BoundField]:
        """The fields of keys."""
        return [self[does] for does in KEYS]

    def clean(self) -> dict[str, Any]:
        chosen = {does: self.cleaned_data[does] for does in KEYS if does in self.cleaned_data}
        for does, key in chosen.items():
            if others := [str(KEY_WORDS[other]) for other in chosen if chosen[other] == key and other != does]:
                values = {"key": key_name(key), "others": ", ".join(others)}
                self.add_error(does, _("“%(key)s” is also the key for: %(others)s. Choose another key.") % values)
        return self.cleaned_data

    @property
    def values(self) -> dict[str, Any]:
        """The fields of `Preferences`."""
        changed = {does: self.cleaned_data[does] for does in KEYS if self.cleaned_data[does] != KEYS[does]}
        rest = {name: self.cleaned_data[name] for name in ("goal", "suggests_breaks")}
        return {"changed_keys": changed} | rest
