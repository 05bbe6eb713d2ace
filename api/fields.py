"""Fields of requests and answers. Those of requests take nothing that merely looks like a value: "3" is no number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from heapq import nsmallest
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.drainage import set_override
from rest_framework import serializers
from rest_framework.settings import api_settings

from base.text import abbreviated

MOST_UNKNOWN = 10  # fields that an answer names
ANY = r"^[^\u0000]*$"
WRITTEN = {
    serializers.IntegerField: ("0|-?[1-9][0-9]*", "a whole number"),
    serializers.DateField: ("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a day such as 2026-01-31"),
}
SOME = r"^[^\u0000]*[^\s\u0000-\u001f\u0085\ufeff][^\u0000]*$"


class _Strict(serializers.Field):
    """Refuses what is not of the field's own JSON types, with what was found."""

    types: tuple[type, ...] = ()
    right = ""

    def to_internal_value(self, data: Any) -> Any:
        if type(data) not in self.types:
            raise serializers.ValidationError(f"{abbreviated(data)}; expected {self.right}")
        return super().to_internal_value(data)


class Whole(_Strict, serializers.IntegerField):
    types, right = (int, float), "a whole number"

    def to_internal_value(self, data: Any) -> Any:
        whole = int(data) if isinstance(data, float) and data.is_integer() else data  # JSON's 3.0 is 3
        if type(whole) is float:
            raise serializers.ValidationError(f"{abbreviated(data)}; expected {self.right}")
        return super().to_internal_value(whole)


class WholeChoice(Whole):
    """One of some whole numbers."""

    def __init__(self, choices: Iterable[int], **options: Any) -> None:
        self.choices = list(choices)
        super().__init__(**options)
        set_override(self, "field", {"type": "integer", "enum": self.choices})

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if value not in self.choices:
            right = ", ".join(map(str, self.choices))
            raise serializers.ValidationError(f"{abbreviated(data)}; expected one of {right}")
        return value


class Number(_Strict, serializers.FloatField):
    types, right = (int, float), "a number"


class Truth(_Strict, serializers.BooleanField):
    types, right = (bool,), "true or false"


class Text(_Strict, serializers.CharField):
    """A text without NUL, and with more than white space unless it may be blank."""

    types, right = (str,), "a text"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        pattern, right = (
            (ANY, "a text without NUL") if self.allow_blank else (SOME, "a text that is not empty")
        )
        self.validators.append(RegexValidator(pattern, f"expected {right}"))


class Choice(_Strict, serializers.ChoiceField):
    types, right = (str,), "a text"


class Key(_Strict, serializers.UUIDField):
    types, right = (str,), "a UUID"


class Shape(serializers.Serializer):
    """What an answer holds. A shape with `example` shows it in the schema."""

    example: dict[str, Any] = {}


class Body(Shape):
    """What a request holds. A field that is not known is refused, so that no wrong name goes unnoticed."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := data.keys() - self.fields.keys()):
            known = ", ".join(self.fields) or "none"
            first = nsmallest(MOST_UNKNOWN, unknown)
            faults = {str(name)[:100]: [f"not known; expected one of {known}"] for name in first}
            if more := len(unknown) - len(first):
                faults[api_settings.NON_FIELD_ERRORS_KEY] = [f"{more:,} more fields are not known"]
            raise serializers.ValidationError(faults)
        return super().to_internal_value(data)


class Query(Body):
    """What stands behind the question mark of an address, as text: each field once, written as the document says."""

    def to_internal_value(self, data: Any) -> Any:
        faults = {
            name: self._faults(self.fields[name], data.getlist(name)) for name in data if name in self.fields
        }
        if any(faults.values()):
            raise serializers.ValidationError({name: said for name, said in faults.items() if said})
        # As a dictionary, an empty text is a value; in a form it would be a field that is not there.
        lists = {name for name, field in self.fields.items() if isinstance(field, serializers.ListField)}
        return super().to_internal_value(
            {name: data.getlist(name) if name in lists else data[name] for name in data}
        )

    @staticmethod
    def _faults(field: serializers.Field, values: list[str]) -> list[str]:
        """Return what is wrong with how a field is written; Python also takes 1_0 and the digits of any script."""
        if isinstance(field, serializers.ListField):
            field = field.child
        elif len(values) > 1:
            return ["stands there more than once; expected once"]
        pattern, right = next((each for kind, each in WRITTEN.items() if isinstance(field, kind)), (".*", ""))
        wrong = (value for value in values if not re.fullmatch(pattern, value, re.DOTALL))
        return [f"{abbreviated(value)}; expected {right}" for value in wrong]


class PageQuery(Query):
    """Which part of a long list is wanted."""

    cursor = Text(required=False, max_length=500, help_text="from the address of another page")
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=200, help_text="entries of a page"
    )
