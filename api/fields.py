"""Fields of request bodies, which take values of their own JSON type only: "3" is not a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.drainage import set_override
from rest_framework import serializers

from base.text import abbreviated

ANY = r"^[^\u0000]*$"
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
        pattern, right = (ANY, "a text without NUL") if self.allow_blank else (SOME, "a text that is not empty")
        self.validators.append(RegexValidator(pattern, f"expected {right}"))


class Choice(_Strict, serializers.ChoiceField):
    types, right = (str,), "a text"


class Key(_Strict, serializers.UUIDField):
    types, right = (str,), "a UUID"
