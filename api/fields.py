"""Fields and shapes of requests and answers. Requests hold values of the right kind: "3" is no number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from heapq import nsmallest
from types import NoneType, UnionType
from typing import Any, ClassVar, get_type_hints

from django import forms
from django.core.validators import RegexValidator
from django.db import models
from drf_spectacular.drainage import set_override
from rest_framework import serializers
from rest_framework.settings import api_settings

from base.listing import Listing
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
        pattern, right = (ANY, "a text without NUL") if self.allow_blank else (SOME, "a text that is not empty")
        self.validators.append(RegexValidator(pattern, f"expected {right}"))


class Choice(_Strict, serializers.ChoiceField):
    types, right = (str,), "a text"


class Key(_Strict, serializers.UUIDField):
    types, right = (str,), "a UUID"


class Shape(serializers.Serializer):
    """What an answer holds."""

    # A model or a row class (of a body also a form), and what is taken from it: `name`, or `name=path` for what another
    # object holds. A field that is declared below takes its place there. Words about some of them.
    of: ClassVar[tuple[Any, str]]
    helps: ClassVar[dict[str, str]] = {}

    def get_fields(self) -> dict[str, serializers.Field]:
        """Return the columns, those of the classes above first, and then the other fields that are declared."""
        declared = dict(super().get_fields())
        fields: dict[str, serializers.Field] = {}
        for shape in reversed(type(self).__mro__):
            source, columns = vars(shape).get("of", (None, ""))
            helps = vars(shape).get("helps", {})
            for name, _, path in (column.partition("=") for column in columns.split()):
                fields[name] = declared.get(name) or self.made_of(source, name, path or name, helps.get(name))
        return fields | declared

    def made_of(self, source: Any, name: str, path: str, help_text: str | None) -> serializers.Field:
        return answer_field(source, name, path, help_text)


def shape(name: str, base: type[Shape] = Shape, /, **fields: Any) -> Any:
    """Return a shape of one field or two; the OpenAPI document calls it by the name."""
    return type(name, (base,), fields)


@dataclass(frozen=True)
class Page:
    """An answer that is a page of such shapes."""

    shape: type[Shape]


class Body(Shape):
    """What a request holds. A field that is not known is refused, so that no wrong name goes unnoticed."""

    def made_of(self, source: Any, name: str, path: str, help_text: str | None) -> serializers.Field:
        column = source.base_fields[path] if hasattr(source, "base_fields") else source._meta.get_field(path)
        return request_field(column, **({"help_text": help_text} if help_text else {}))

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

    def made_of(self, source: Any, name: str, path: str, help_text: str | None) -> serializers.Field:
        """Return the field that reads what a field of a list's filters takes, with its limits and choices."""
        field = source.base_fields[path]
        options = {"required": False, "help_text": help_text or field.help_text or field.label}
        if isinstance(field, forms.ChoiceField):
            choices: Any = field.choices
            return serializers.ChoiceField([key for key, _ in choices if key], **options)
        kind = next((FILTERED[each] for each in type(field).__mro__ if each in FILTERED), Text)
        limits = {name: getattr(field, name, None) for name in ("min_value", "max_value", "max_length")}
        return kind(**{name: limit for name, limit in limits.items() if limit is not None} | options)

    def to_internal_value(self, data: Any) -> Any:
        faults = {name: self._faults(self.fields[name], data.getlist(name)) for name in data if name in self.fields}
        if any(faults.values()):
            raise serializers.ValidationError({name: words for name, words in faults.items() if words})
        # As a dictionary, an empty text is a value; in a form it would be a field that is not there.
        lists = {name for name, field in self.fields.items() if isinstance(field, serializers.ListField)}
        return super().to_internal_value({name: data.getlist(name) if name in lists else data[name] for name in data})

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
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200, help_text="entries of a page")


def filters_of(listing: Listing, base: type[Query] = PageQuery) -> Any:
    """Return what may stand behind the question mark of a list's address: its filters and its orders."""
    sort = serializers.ChoiceField(listing.sorts, required=False, help_text="a column; the largest first after “-”")
    return shape(listing.key, base, of=(listing.form, " ".join(listing.filters)), sort=sort)


COLUMNS: dict[type, type[serializers.Field]] = {
    models.AutoField: serializers.IntegerField,
    models.IntegerField: serializers.IntegerField,
    models.FloatField: serializers.FloatField,
    models.DecimalField: serializers.FloatField,
    models.BooleanField: serializers.BooleanField,
    models.DateTimeField: serializers.DateTimeField,
    models.DateField: serializers.DateField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
    date: serializers.DateField,
    Decimal: serializers.FloatField,
}


def answer_field(source: Any, name: str, path: str, help_text: str | None) -> serializers.Field:
    """Return the field that shows a column of a model, or by its annotation one of a row class or a property."""
    options: dict[str, Any] = {"help_text": help_text} if help_text else {}
    *way, last = ["pk"] if path == "id" else path.split(".")
    options |= {"source": ".".join([*way, last])} if [*way, last] != [name] else {}
    for step in way:
        source, is_optional = _without_none(_type_of(source, step))
        options |= {"allow_null": True, "default": None} if is_optional else {}
    if not hasattr(source, "_meta") or (last != "pk" and isinstance(getattr(source, last, None), property)):
        return _annotated(_type_of(source, last), options)
    column = source._meta.pk if last == "pk" else source._meta.get_field(last)
    options |= {"allow_null": True} if column.null else {}
    if column.choices:
        return serializers.ChoiceField(column.choices, **options)
    return _kind_of(type(column.target_field if last == f"{column.name}_id" else column))(**options)


def _type_of(source: Any, name: str) -> Any:
    """Return the annotation of a property or of a row class, or the model to which a column leads."""
    if isinstance(computed := getattr(source, name, None), property) and computed.fget:
        return get_type_hints(computed.fget)["return"]
    if not hasattr(source, "_meta"):
        return get_type_hints(source)[name]
    column = source._meta.get_field(name)
    return column.related_model | None if column.null else column.related_model


def _annotated(hint: Any, options: dict[str, Any]) -> serializers.Field:
    hint, is_optional = _without_none(hint)
    options |= {"allow_null": True} if is_optional else {}
    if getattr(hint, "__origin__", None) is list:
        return serializers.ListField(child=_annotated(hint.__args__[0], {}), **options)
    return _kind_of(hint)(**options)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if not isinstance(hint, UnionType):
        return hint, False
    [plain] = [each for each in hint.__args__ if each is not NoneType]
    return plain, True


def _kind_of(kind: type) -> type[serializers.Field]:
    return next((COLUMNS[each] for each in kind.__mro__ if each in COLUMNS), serializers.CharField)


FILTERED: dict[type, type[serializers.Field]] = {
    forms.BooleanField: serializers.BooleanField,
    forms.FloatField: serializers.FloatField,
    forms.IntegerField: serializers.IntegerField,
}
TAKEN: dict[type, type[serializers.Field]] = {
    models.BooleanField: Truth,
    models.IntegerField: Whole,
    models.FloatField: Number,
    models.DecimalField: Number,
    forms.BooleanField: Truth,
    forms.IntegerField: Whole,
    forms.FloatField: Number,
    forms.ChoiceField: Choice,
}


def request_field(column: Any, **options: Any) -> serializers.Field:
    """Return the field that takes what a column of a model or a field of a form takes, with its limits and choices."""
    is_required = column.required if isinstance(column, forms.Field) else not (column.blank or column.has_default())
    options = {"required": is_required} | options
    choices: Any = getattr(column, "choices", None)
    if isinstance(column, forms.MultipleChoiceField):
        return serializers.ListField(
            child=Choice(choices=[key for key, _ in choices]), max_length=len(choices), **options
        )
    if choices:
        return Choice(choices=choices, **options)
    kind = next((TAKEN[each] for each in type(column).__mro__ if each in TAKEN), Text)
    options |= {"allow_null": True} if getattr(column, "null", False) else {}
    options |= {"max_length": column.max_length, "allow_blank": not is_required} if kind is Text else {}
    limits = {name: getattr(column, name, None) for name in ("min_value", "max_value")}
    return kind(**{name: limit for name, limit in limits.items() if limit is not None} | options)
