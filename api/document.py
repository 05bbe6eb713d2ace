"""The OpenAPI document: how operations, refusals and the ways to sign in are described, examples, and its address."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.fields import empty

from api import models
from api.serializers import Body, Page, QueryParameters

TIME = "2026-01-05T09:00:00Z"
EXAMPLES = tomllib.loads((Path(__file__).parent / "examples.toml").read_text(encoding="utf-8"))
TEXTS, NUMBERS = EXAMPLES["texts"], EXAMPLES["numbers"]
VALUES: dict[type[serializers.Field], Any] = {
    serializers.DictField: {},
    serializers.JSONField: {},
    serializers.BooleanField: False,
    serializers.DateTimeField: TIME,
    serializers.DateField: TIME[:10],
    serializers.UUIDField: "6f1e6d3c-3e6b-4a57-9d4c-8d2f4b1f2a10",
}
BYTES, PROBLEM = "application/octet-stream", "application/problem+json"
READING = (400, 401, 403, 404, 409, 422, 429, 503)
CHANGING = (413, 415)
TAG = OpenApiParameter("ETag", str, "header", response=[200], description="the version, for `If-Match`")
PLACE = OpenApiParameter("Location", str, "header", response=[202], description="tells how far the job is")


def example_of(field: serializers.Field, name: str = "") -> Any:
    """Return a value that a field or a whole serializer may have.

    What may be null is null, unless its name has a value. A serializer has all that is
    always there, or its first field.
    """
    if field.allow_null and name not in TEXTS | NUMBERS:
        return None
    if isinstance(field, serializers.ListField | serializers.ListSerializer):
        return [example_of(field.child, name)]
    if isinstance(field, serializers.Serializer):
        always = {key: each for key, each in field.fields.items() if _is_always_there(each)}
        chosen = always or dict(list(field.fields.items())[:1])
        return {key: example_of(each, key) for key, each in chosen.items()}
    if isinstance(field, serializers.SerializerMethodField):
        return TEXTS.get(name)
    if isinstance(field, serializers.ChoiceField):
        return next(iter(field.choices))
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        return _number(field, name)
    usual = TEXTS.get(name, name)
    return next((value for kind, value in VALUES.items() if isinstance(field, kind)), usual)


def _is_always_there(field: serializers.Field) -> bool:
    return field.required or field.read_only or field.default is not empty


def _number(field: Any, name: str) -> float:
    """Return the number of this name, in the range of the field and of its kind."""
    number = NUMBERS.get(name, 1 if isinstance(field, serializers.IntegerField) else 0.5)
    if choices := getattr(field, "choices", None):
        return float(number) if number in choices else int(choices[0])
    number = max(number, field.min_value or 0) if field.min_value is not None else number
    number = min(number, field.max_value) if field.max_value is not None else number
    return int(number) if isinstance(field, serializers.IntegerField) else number


IF_MATCH = OpenApiParameter(
    "If-Match", str, "header", required=True, description="the ETag that came with what is changed"
)
KEY = OpenApiParameter(
    models.HEADER,
    {"type": "string", "minLength": 1, "maxLength": models.LONGEST, "pattern": models.PATTERN},
    "header",
    description="new for each request; one that arrives twice is done once",
)


class Problem(serializers.Serializer):
    """An error (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="what was wrong, where, and what would be right")
    code = serializers.CharField(help_text="the kind of error, for programs")
    request = serializers.CharField(required=False, help_text="the request's number, as the log has it")
    user = serializers.CharField(required=False, help_text="who is signed in")
    field = serializers.CharField(required=False, help_text="the field that is wrong")
    fields = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()), required=False, help_text="faults by field"
    )


@dataclass(frozen=True)
class Trait:
    """What an operation takes or may answer besides: headers, a status without content or with it, and refusals."""

    parameters: tuple[OpenApiParameter, ...] = ()
    refusals: tuple[int, ...] = ()
    empty: int | None = None
    also: int | None = None
    takes_bytes: bool = False


def described(
    handler: Callable[..., Any],
    scope: str,
    body: type[Body] | None,
    query: type[QueryParameters] | None,
    answer: Any,
    status: int,
    traits: tuple[Trait, ...],
) -> Callable[..., Any]:
    """Describe an operation, whose handler's docstring says in a sentence what it does.

    Its answer is a serializer, a page, a tuple of types of files, or None if it is empty.
    """
    codes = [*READING, *(CHANGING if handler.__name__ != "get" else ())]
    parameters: list[Any] = [query] if query else []
    answer = _page_serializer(answer) if isinstance(answer, Page) else answer
    answers: dict[int, Any] = {status: answer}
    for trait in traits:
        parameters += trait.parameters
        codes += trait.refusals
        answers |= {trait.empty: None} if trait.empty else {}
        answers |= {trait.also: answer} if trait.also else {}
    description: Callable[..., Any] = extend_schema(
        operation_id=_name(handler),
        summary=" ".join((handler.__doc__ or "").split()).removesuffix("."),
        description=f"Needs the scope `{scope}`.",
        parameters=parameters,
        request={BYTES: OpenApiTypes.BINARY} if any(trait.takes_bytes for trait in traits) else body,
        responses={(code, PROBLEM): Problem for code in codes}
        | {key: content for code, serializer in answers.items() for key, content in _answer(code, serializer)},
        examples=[
            *_example("request", body, request_only=True),
            *_example("answer", answer, response_only=True, status_codes=[str(status)]),
            *_example("problem", Problem, response_only=True, status_codes=["400"]),
        ],
    )(handler)
    return description


def _name(handler: Callable[..., Any]) -> str:
    """Return the operation's name: `get_batches` of `Batches.get`."""
    resource, _, method = handler.__qualname__.rpartition(".")
    return f"{method}_{re.sub('(?<!^)(?=[A-Z])', '_', resource).lower()}"


def _answer(status: int, answer: Any) -> list[tuple[Any, Any]]:
    if isinstance(answer, tuple):
        return [((status, kind), OpenApiTypes.BINARY) for kind in answer]
    if answer is None:
        return [(status, OpenApiResponse(description="Nothing to say."))]
    return [(status, answer)]


@cache
def _page_serializer(page: Page) -> type[serializers.Serializer]:
    """Return the serializer of a page of such a list."""
    address = serializers.CharField(allow_null=True, help_text="the address of that page, if there is one")
    fields = {"next": address, "previous": address, "results": page.serializer(many=True), "__module__": __name__}
    return type(f"PageOf{page.serializer.__name__}", (serializers.Serializer,), fields)


def _example(name: str, serializer: Any, **where: Any) -> list[OpenApiExample]:
    if serializer is None or isinstance(serializer, str | tuple):
        return []
    # Of a list the generator wants one entry.
    one = serializer() if isinstance(serializer, type) else serializer.child
    return [OpenApiExample(name, example_of(one), **where)]


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class, name = "api.authentication.ByToken", "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "a token of one's account"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class, name = "api.authentication.BySession", "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


def finished(result: dict[str, Any], generator: Any, **_: Any) -> dict[str, Any]:
    """Say in the document what the checks do: a body has no other fields than those named."""
    bodies = {body.__name__ for body in _below(Body)}
    schemas = result["components"]["schemas"]
    for name in bodies & schemas.keys():
        schemas[name]["additionalProperties"] = False
    return result


def _below(serializer: type) -> list[type]:
    subclasses: list[type] = serializer.__subclasses__()
    return [each for below in subclasses for each in (below, *_below(below))]


@cache
def document() -> str:
    """Return the document, which changes with the program only."""
    generator: Any = SchemaGenerator
    return json.dumps(generator().get_schema(request=None, public=True), ensure_ascii=False)
