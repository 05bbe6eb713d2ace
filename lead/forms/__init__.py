"""What forms of leads' pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django import forms

from base.forms import LARGEST
from judging.models import Reopening

HIDDEN = forms.HiddenInput()
KEY = r"\d{1,18}"


def plain_choices(keys: Iterable[object]) -> list[tuple[str, str]]:
    """Return the choices of a field that buttons fill, whose labels nobody reads."""
    return [(str(key), str(key)) for key in keys]


class PatternsField(forms.TypedMultipleChoiceField):
    """Texts that a page sends several times, such as the keys of ticked rows."""

    widget = forms.MultipleHiddenInput

    def __init__(self, pattern: str = KEY, coerce: Any = int) -> None:
        super().__init__(required=False, coerce=coerce)
        self.pattern = re.compile(pattern, re.ASCII)

    def valid_value(self, value: Any) -> bool:
        return self.pattern.fullmatch(str(value)) is not None


def require(form: forms.BaseForm, *names: str) -> dict[str, Any]:
    """Return the cleaned data. Fields that are needed beside the value of another one, and are empty, become faults."""
    for name in names:
        if name not in form.errors and form.cleaned_data[name] in ("", None):
            form.add_error(name, form.fields[name].error_messages["required"])
    return form.cleaned_data


class ReasonForm(forms.Form):
    reason = Reopening._meta.get_field("reason").formfield(
        help_text="It is kept on record.", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )


class PlaceForm(forms.Form):
    """The place in a queue to which the answer leads."""

    page = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, widget=HIDDEN)
    place = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, widget=HIDDEN)
