"""Serializers of the API: of answers, of request bodies, and of the query of an address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from django import forms
from django.db import models
from rest_framework import serializers
from rest_framework.settings import api_settings

from api.fields import Choice, Number, Text, Truth, Whole
from base.listing import Listing
from base.text import abbreviated

MOST_UNKNOWN = 10  # unknown fields that an answer names
# How numbers and days are written in an address: Python also takes 1_0, and the digits of any script.
WRITTEN = {
    serializers.IntegerField: ("0|-?[1-9][0-9]*", "a whole number"),
    serializers.DateField: ("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a day such as 2026-01-31"),
}


class ModelAnswer(serializers.ModelSerializer):
    """What an answer shows of a row: the columns in `Meta.fields`, and the fields that are declared.

    `Meta.help_texts` describes columns, as in a ModelForm. The limits of columns are left out: they are for requests.
    """

    serializer_field_mapping = {
        models.AutoField: serializers.IntegerField,
        models.IntegerField: serializers.IntegerField,
        models.FloatField: serializers.FloatField,
        models.DecimalField: serializers.FloatField,
        models.BooleanField: serializers.BooleanField,
        models.DateTimeField: serializers.DateTimeField,
        models.DateField: serializers.DateField,
    }

    def get_field_names(self, declared_fields: Any, info: Any) -> list[str]:
        """Return the columns and then the declared fields, which need no place in `Meta.fields`."""
        return [*dict.fromkeys([*self.Meta.fields, *declared_fields])]

    def build_field(self, field_name: str, info: Any, model_class: Any, nested_depth: int) -> Any:
        column = model_class._meta.get_field(field_name)
        options: dict[str, Any] = {"allow_null": True} if column.null else {}
        if help_text := getattr(self.Meta, "help_texts", {}).get(field_name):
            options["help_text"] = help_text
        if column.choices:
            return serializers.ChoiceField, options | {"choices": column.choices}
        kinds = self.serializer_field_mapping
        return next((kinds[kind] for kind in type(column).__mro__ if kind in kinds), serializers.CharField), options


def inline(name: str, base: type[serializers.Serializer] = serializers.Serializer, /, **fields: Any) -> Any:
    """Return a serializer class of one field or two, as drf-spectacular's `inline_serializer` makes an instance."""
    return type(name, (base,), fields)


@dataclass(frozen=True)
class Page:
    """An answer that is a page of a list."""

    serializer: type[serializers.Serializer]


class Body(serializers.Serializer):
    """The body of a request. A field that is not known is refused, so that no wrong name goes unnoticed.

    With a `Meta`, the fields in `Meta.fields` come from `Meta.form` or `Meta.model`, with their limits and choices. A
    name that Python reserves has an underscore at its end: `from_`.
    """

    def get_fields(self) -> dict[str, serializers.Field]:
        declared = {name.removesuffix("_"): field for name, field in super().get_fields().items()}
        meta: Any = getattr(self, "Meta", None)
        if meta is None:
            return declared
        columns = meta.form.base_fields if hasattr(meta, "form") else _columns(meta.model)
        helps = getattr(meta, "help_texts", {})
        made = {name: self.field_for(columns[name], helps.get(name)) for name in meta.fields if name not in declared}
        return made | declared

    @staticmethod
    def field_for(column: Any, help_text: str | None) -> serializers.Field:
        return body_field(column, **({"help_text": help_text} if help_text else {}))

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := data.keys() - self.fields.keys()):
            known = ", ".join(self.fields) or "none"
            first = nsmallest(MOST_UNKNOWN, unknown)
            faults = {str(name)[:100]: [f"not known; expected one of {known}"] for name in first}
            if more := len(unknown) - len(first):
                faults[api_settings.NON_FIELD_ERRORS_KEY] = [f"{more:,} more fields are not known"]
            raise serializers.ValidationError(faults)
        return super().to_internal_value(data)


def _columns(model: type[models.Model]) -> dict[str, Any]:
    return {column.name: column for column in model._meta.get_fields()}


class QueryParameters(Body):
    """The query of an address, as text: each field once, written as the OpenAPI document describes."""

    @staticmethod
    def field_for(column: Any, help_text: str | None) -> serializers.Field:
        """Return the field that reads what a field of a form takes, with its limits and choices."""
        options = {"required": False, "help_text": help_text or column.help_text or column.label}
        if hasattr(column, "each"):  # a parameter that may come several times
            return serializers.ListField(
                child=QueryParameters.field_for(column.each, None), max_length=column.most, **options
            )
        if isinstance(column, forms.ChoiceField):
            choices: Any = column.choices
            return serializers.ChoiceField([key for key, _ in choices if key], **options)
        kind = next((QUERY_FIELDS[kind] for kind in type(column).__mro__ if kind in QUERY_FIELDS), Text)
        return kind(**_limits(column, "min_value", "max_value", "max_length") | options)

    def to_internal_value(self, data: Any) -> Any:
        faults = {name: self._faults(self.fields[name], data.getlist(name)) for name in data if name in self.fields}
        if any(faults.values()):
            raise serializers.ValidationError({name: words for name, words in faults.items() if words})
        # As a dictionary, an empty text is a value; in a form it would be a field that is not there.
        lists = {name for name, field in self.fields.items() if isinstance(field, serializers.ListField)}
        return super().to_internal_value({name: data.getlist(name) if name in lists else data[name] for name in data})

    @staticmethod
    def _faults(field: serializers.Field, values: list[str]) -> list[str]:
        """Return what is wrong with how a field is written."""
        if isinstance(field, serializers.ListField):
            field = field.child
        elif len(values) > 1:
            return ["more than once in the address; expected once"]
        pattern, right = next((form for kind, form in WRITTEN.items() if isinstance(field, kind)), (".*", ""))
        wrong = (value for value in values if not re.fullmatch(pattern, value, re.DOTALL))
        return [f"{abbreviated(value)}; expected {right}" for value in wrong]


class PageParameters(QueryParameters):
    """Which part of a long list is wanted."""

    cursor = Text(required=False, max_length=500, help_text="from the address of another page")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200, help_text="entries of a page")


def filters_of(listing: Listing, base: type[QueryParameters] = PageParameters) -> Any:
    """Return the query of a list's address: its filters and its orders."""
    sort = serializers.ChoiceField(listing.sorts, required=False, help_text="a column; the largest first after “-”")
    meta = type("Meta", (), {"form": listing.form, "fields": [*listing.filters]})
    return inline(listing.key, base, Meta=meta, sort=sort)


def parameters_of(form: type[forms.Form], **fields: serializers.Field) -> Any:
    """Return the query of an address that takes what the form of its page takes, and other fields."""
    meta = type("Meta", (), {"form": form, "fields": [*form.base_fields]})
    return inline(form.__name__, QueryParameters, Meta=meta, **fields)


QUERY_FIELDS: dict[type, type[serializers.Field]] = {
    forms.BooleanField: serializers.BooleanField,
    forms.FloatField: serializers.FloatField,
    forms.IntegerField: serializers.IntegerField,
}
BODY_FIELDS: dict[type, type[serializers.Field]] = {
    models.BooleanField: Truth,
    models.IntegerField: Whole,
    models.FloatField: Number,
    models.DecimalField: Number,
    forms.BooleanField: Truth,
    forms.IntegerField: Whole,
    forms.FloatField: Number,
}


def body_field(column: Any, **options: Any) -> serializers.Field:
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
    kind = next((BODY_FIELDS[kind] for kind in type(column).__mro__ if kind in BODY_FIELDS), Text)
    options |= {"allow_null": True} if getattr(column, "null", False) else {}
    options |= {"max_length": column.max_length, "allow_blank": not is_required} if kind is Text else {}
    return kind(**_limits(column, "min_value", "max_value") | options)


def _limits(column: Any, *names: str) -> dict[str, Any]:
    limits = {name: getattr(column, name, None) for name in names}
    return {name: limit for name, limit in limits.items() if limit is not None}
