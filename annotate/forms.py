"""What annotators send: forms of their pages, and fields of the JSON of the workplace, whose types are strict."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import HIGHEST_GOAL, KEYS, Preferences
from annotate.script_texts import FIXED, KEY_WORDS, key_name, key_named
from base.errors import BadValue, TooLarge
from base.forms import LARGEST, LARGEST_KEY, Text
from base.text import abbreviated, storable
from campaigns.guideline_text import LEVELS
from judging.consensus import GRADES
from judging.models import Flag, Revision
from judging.models.judgement import LONGEST_QUESTION
from judging.work import grading
from judging.work.grading import AT_A_PLACE, LONGEST, LONGEST_COMMENT
from metrics import MeasureError
from metrics.formats.json_reader import read_json

GRADE_CHOICES = [(str(grade), str(grade)) for grade in LEVELS]


class AskForm(forms.Form):
    """A question to the leads, or the answer to a message of theirs."""

    key = forms.UUIDField(widget=forms.HiddenInput)
    letter = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_KEY, widget=forms.HiddenInput)
    text = Text(max_length=LONGEST_QUESTION, label=gettext_lazy("Your question"))


class DayForm(forms.Form):
    day = forms.DateField(required=False, input_formats=["%Y-%m-%d"])


class PracticeForm(forms.Form):
    grade = forms.TypedChoiceField(choices=GRADE_CHOICES, coerce=int, widget=forms.HiddenInput)
    seconds = forms.FloatField(required=False, min_value=0, max_value=LONGEST, widget=forms.HiddenInput)


class TutorialForm(forms.Form):
    """Where somebody is in the tutorial, and what was answered there."""

    step = example = forms.IntegerField(required=False, max_value=LARGEST)
    answer = forms.ChoiceField(required=False, choices=[*GRADE_CHOICES, ("flag", "flag")])


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


LARGEST_BODY = 16 * 1024  # bytes; a judgement takes about 120


def fields_of(request: HttpRequest, *names: str) -> dict[str, Any]:
    """Return the values of fields of the request's JSON object.

    Raises
    ------
    BadValue
        Naming the body, or the first field that is wrong, what was found, and what is expected.
    TooLarge
        If the body has more than `LARGEST_BODY` bytes.
    """
    if int(request.headers.get("content-length") or 0) > LARGEST_BODY:
        raise TooLarge(f"body: more than {LARGEST_BODY:,} bytes")
    try:
        # NaN reaches the field's own check, which names the field.
        body = read_json(request.body, strict=False)
    except MeasureError as fault:
        raise BadValue("body", f"not JSON ({fault})", "a JSON object in UTF-8") from fault
    if not isinstance(body, dict):
        raise BadValue("body", f"a JSON {type(body).__name__}", "a JSON object")
    return {name: value_of(body, name) for name in names}


def value_of(body: dict[str, Any], name: str) -> Any:
    read, expected = FIELDS[name]
    value = body.get(name, MAY_BE_MISSING.get(name))
    if value is None and name in MAY_BE_NULL:
        return None
    try:
        return read(value)
    except ValueError as fault:
        raise BadValue(name, abbreviated(value), expected) from fault


def _whole(numbers: Collection[int]) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if type(value) is not int or value not in numbers:  # True is an int, too
            raise ValueError
        return value

    return read


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _one_of(keys: Collection[str]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in keys:
            raise ValueError
        return value

    return read


def _text(most: int) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most or not storable(value):
            raise ValueError
        return value.strip()

    return read


def _key(value: Any) -> UUID:
    return UUID(value if isinstance(value, str) else "")


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= LONGEST:
        raise ValueError
    return float(value)


SECONDS: tuple[Callable[[Any], Any], str] = (_seconds, f"a number of seconds from 0 to {LONGEST:,}, or null")
# What reads each field, and what it expects.
FIELDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "grade": (_whole(GRADES), "one of the integers 0, 1, 2, 3, 4"),
    "doubt": (_truth, "true or false"),
    "fence": (_whole(range(1, grading.LARGEST + 1)), "the number that came with the batch"),
    "key": (_key, "a UUID, new for each press"),
    "press": (_whole(range(grading.LARGEST + 1)), "a whole number, higher for each press, or null"),
    "seconds": SECONDS,
    "list_seconds": SECONDS,
    "input": (_one_of(("", *Revision.Input.values)), f"one of {', '.join(Revision.Input.values)}"),
    "reason": (_one_of(Flag.Reason.values), f"one of {', '.join(Flag.Reason.values)}"),
    "comment": (_text(LONGEST_COMMENT), f"a text of at most {LONGEST_COMMENT} characters"),
    "about": (_one_of(AT_A_PLACE), f"one of {', '.join(AT_A_PLACE)}"),
    "text": (_text(LONGEST_QUESTION), f"a text of at most {LONGEST_QUESTION} characters"),
}
MAY_BE_MISSING = {"input": "", "comment": "", "text": "", "doubt": False}  # each with its default
MAY_BE_NULL = {"press", "seconds", "list_seconds"}
