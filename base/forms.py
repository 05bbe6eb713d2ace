"""What the forms of pages have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from base.errors import BadFields, BadValue

LARGEST, LARGEST_KEY = 10**9 - 1, 10**18 - 1  # of the numbers that people see, and of primary keys
WHOLE = "body"  # the name of a fault that belongs to no single field


def faults_of(form: forms.BaseForm) -> dict[str, list[str]]:
    """Return the faults that a form has found, by field."""
    faults = {name: [str(fault) for fault in found] for name, found in form.errors.items()}
    return {WHOLE if name == NON_FIELD_ERRORS else name: found for name, found in faults.items()}


def valid_data(form: forms.BaseForm) -> dict[str, Any]:
    """Return the cleaned data of a form.

    Raises BadFields with the faults of each field. The page of the error shows a form with visible fields again, as it
    was typed.
    """
    if not form.is_valid():
        raise BadFields(faults_of(form), form)
    return form.cleaned_data


@contextmanager
def refusal_at_field(form: forms.BaseForm) -> Iterator[None]:
    """Catch a verb's refusal of a value, and add it to the form at the field of the value."""
    try:
        yield
    except BadValue as refusal:
        form.add_error(refusal.field if refusal.field in form.fields else None, refusal.fault)


class Text(forms.CharField):
    """A text of several lines. Browsers send CR LF, which counts as one character."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


def limits_of(column: models.Field[Any, Any]) -> dict[str, Any]:
    """Return the range that the validators of a column of numbers state, as the options of a form's field."""
    names = {MinValueValidator: "min_value", MaxValueValidator: "max_value"}
    return {
        name: validator.limit_value
        for validator in column.validators
        for kind, name in names.items()
        if type(validator) is kind
    }


def ranged_field(column: models.Field[Any, Any], **options: Any) -> forms.Field | None:
    """Return a column's field for `Meta.formfield_callback`, with its range: the browser then shows it, too."""
    return column.formfield(**limits_of(column), **options)
