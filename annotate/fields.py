"""Fields of the requests that the workplace sends: a grade, a fence, a key, seconds, and the kind of input.

And the form in which a person chooses the workplace's keys.
"""

import math
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.script_texts import FIXED, KEY_WORDS, key_name, key_named
from base.errors import BadValue, TooLarge
from base.text import abbreviated
from campaigns.models import Preferences
from campaigns.models.accounts import HIGHEST_GOAL, KEYS
from judging.consensus import GRADES
from judging.models import Revision
from judging.work.grading import LARGEST, LONGEST
from metrics import MeasureError
from metrics.formats.json_reader import read_json

LARGEST_BODY = 16 * 1024  # bytes; a judgement takes about 120


def json_body(request: HttpRequest) -> dict[str, Any]:
    """The request's JSON object; anything else is refused with what it was."""
    if int(request.headers.get("content-length") or 0) > LARGEST_BODY:
        raise TooLarge(f"body: more than {LARGEST_BODY:,} bytes")
    try:
        # NaN reaches the field's own check, which names the field.
        body = read_json(request.body, strict=False)
    except MeasureError as fault:
        raise BadValue("body", f"not JSON ({fault})", "a JSON object in UTF-8") from fault
    if not isinstance(body, dict):
        raise BadValue("body", f"a JSON {type(body).__name__}", "a JSON object")
    return body


def grade_in(body: dict[str, Any]) -> int:
    """The grade: one of the integers 0-4, and nothing that merely looks like one."""
    return _whole(body, "grade", GRADES, "one of the integers 0, 1, 2, 3, 4")


def fence_in(body: dict[str, Any]) -> int:
    return _whole(body, "fence", range(1, LARGEST + 1), "the number that came with the batch")


def press_in(body: dict[str, Any]) -> int | None:
    """The press's number in its assignment; None from a program that counts none."""
    if body.get("press") is None:
        return None
    return _whole(body, "press", range(LARGEST + 1), "a whole number, higher for each press, or null")


def _whole(body: dict[str, Any], name: str, among: Collection[int], right: str) -> int:
    value = body.get(name)
    if type(value) is not int or value not in among:
        raise BadValue(name, abbreviated(value), right)
    return value


def key_in(body: dict[str, Any]) -> UUID:
    value = body.get("key")
    try:
        return UUID(value if isinstance(value, str) else "")
    except ValueError as fault:
        raise BadValue("key", abbreviated(value), "a UUID, new for each press") from fault


def seconds_in(body: dict[str, Any]) -> float | None:
    value = body.get("seconds")
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(float(value) if abs(value) < 1e300 else math.inf):
        raise BadValue("seconds", abbreviated(value), "a number of seconds, or null")
    if not 0 <= value <= LONGEST:
        raise BadValue("seconds", abbreviated(value), f"between 0 and {LONGEST:,}")
    return float(value)


def seconds_in_form(form: Mapping[str, str]) -> float | None:
    """The same from a form, where a field that is empty was not measured."""
    text = form.get("seconds", "")
    try:
        return seconds_in({"seconds": float(text) if text else None})
    except ValueError as fault:
        raise BadValue("seconds", abbreviated(text), "a number of seconds, or nothing") from fault


def input_in(body: dict[str, Any]) -> str:
    """How the grade was given: by key, pointer or touch; empty where no browser is at work."""
    value = body.get("input", "")
    if value not in ("", *Revision.Input.values):
        raise BadValue("input", abbreviated(value), f"one of {', '.join(Revision.Input.values)}")
    return str(value)


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
