"""What an operation of the API takes, answers and needs: for its checks, and for the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers

from api import repeating
from api.authentication import must_allow
from api.fields import Body, PageQuery, Query, Shape

BYTES, PROBLEM = "application/octet-stream", "application/problem+json"
READING = (400, 401, 403, 404, 409, 422, 429, 503)
CHANGING = (413, 415)
VERSIONED = (412, 428)
STORING = (507,)
Handler = Callable[..., Any]
IF_MATCH = OpenApiParameter(
    "If-Match", str, "header", required=True, description="the ETag that came with what is changed"
)
TAG = OpenApiParameter("ETag", str, "header", response=[200], description="the version, for `If-Match`")
PLACE = OpenApiParameter("Location", str, "header", response=[202], description="tells how far the job is")
KEY = OpenApiParameter(
    repeating.HEADER,
    {"type": "string", "minLength": 1, "maxLength": repeating.LONGEST, "pattern": repeating.PATTERN},
    "header",
    description="new for each request; one that arrives twice is done once",
)


class Problem(Shape):
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
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="faults by field",
    )
    example = {
        "type": "about:blank",
        "title": "A value is wrong",
        "status": 400,
        "detail": "grade: 5; expected one of the integers 0, 1, 2, 3, 4",
        "code": "badvalue",
        "field": "grade",
    }


def operation(
    what: str,
    *,
    scope: str,
    answer: Any = None,
    status: int = 200,
    body: type[Body] | None = None,
    query: type[Query] | None = None,
    pages: bool = False,
    makes: bool = False,
    versioned: bool = False,
    tagged: bool = False,
    or_nothing: bool = False,
    or_later: bool = False,
    later: bool = False,
    file: str | tuple[str, ...] = "",
    raw: bool = False,
    stores: bool = False,
    headers: tuple[OpenApiParameter, ...] = (),
) -> Callable[[Handler], Handler]:
    """Describe a method of a resource; before it runs, its token's scope, its query and its body are checked.

    Parameters
    ----------
    what
        A sentence about what it does.
    answer
        The shape of what it answers; None if the answer is empty.
    pages
        Whether it answers a page of such shapes.
    makes
        Whether it makes something, so that an idempotency key keeps it from being made twice.
    versioned
        Whether it needs `If-Match`.
    tagged
        Whether its answer has an `ETag`.
    or_nothing, or_later
        Whether it may answer 204, or 202 and where the job is that does the work.
    later
        Whether it always answers so.
    file
        The type of content of the file that it answers instead, or several.
    raw, headers
        Whether its body is bytes, and further headers that it takes.
    stores
        Whether it stores a file, for which the disk may have no room.
    """
    status = 202 if later else status
    query = query or (PageQuery if pages else None)

    def describe(handler: Handler) -> Handler:
        changes = handler.__name__ != "get"
        refusals = READING + CHANGING * changes + VERSIONED * versioned + STORING * stores
        shown = _page_of(answer) if pages else answer
        others = {204: None} if or_nothing else {202: shown} if or_later else {}
        described: Handler = extend_schema(
            operation_id=_name(handler),
            summary=what,
            description=f"Needs the scope `{scope}`.",
            parameters=[
                *([query] if query else []),
                *([KEY] if makes else []),
                *([IF_MATCH] if versioned else []),
                *([TAG] if tagged else []),
                *([PLACE] if later or or_later else []),
                *headers,
            ],
            request={BYTES: OpenApiTypes.BINARY} if raw else body,
            responses=_refusals(refusals)
            | _answers(status, shown, file)
            | {code: _described(each) for code, each in others.items()},
            examples=_examples(body, answer, pages, status),
        )(_checked(handler, scope, query, body, makes))
        return described

    return describe


def _checked(
    handler: Handler, scope: str, query: type[Query] | None, body: type[Body] | None, makes: bool
) -> Handler:
    """Return a handler before which the token's scope, the query and the body are checked."""

    @wraps(handler)
    def checked(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        must_allow(request, scope)
        self.asked = _valid(query or Query, request.query_params)
        self.said = _valid(body, request.data) if body else {}
        if makes:
            return repeating.once(request, lambda: handler(self, request, *args, **kwargs))
        return handler(self, request, *args, **kwargs)

    return checked


def _valid(shape: type[Body], data: Any) -> dict[str, Any]:
    given = shape(data=data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def _name(handler: Handler) -> str:
    """Return the operation's name: `get_batches` of `Batches.get`."""
    resource, _, method = handler.__qualname__.rpartition(".")
    return f"{method}_{re.sub('(?<!^)(?=[A-Z])', '_', resource).lower()}"


def _refusals(codes: tuple[int, ...]) -> dict[Any, Any]:
    return {(code, PROBLEM): Problem for code in codes}


def _answers(status: int, shown: Any, file: str | tuple[str, ...]) -> dict[Any, Any]:
    """Return what is answered when all goes well: a shape, or a file of one of these types."""
    kinds = (file,) if isinstance(file, str) else file
    if not file:
        return {status: _described(shown)}
    return {(status, kind): OpenApiTypes.BINARY for kind in kinds}


def _described(shown: Any) -> Any:
    return OpenApiResponse(description="Nothing to say.") if shown is None else shown


@cache
def _page_of(shape: type[Shape]) -> type[Shape]:
    """Return the shape of a page with a list of such shapes, the same for all lists."""
    address = serializers.CharField(allow_null=True, help_text="the address of that page, if there is one")
    fields = {"next": address, "previous": address, "results": shape(many=True), "__module__": __name__}
    return type(f"PageOf{shape.__name__}", (Shape,), fields)


def _examples(body: type[Body] | None, answer: Any, pages: bool, status: int) -> list[OpenApiExample]:
    examples = []
    if body and body.example:
        examples.append(OpenApiExample("request", body.example, request_only=True))
    shown = getattr(answer, "example", None) or getattr(getattr(answer, "child", None), "example", None)
    if shown:
        value = {"next": None, "previous": None, "results": [shown]} if pages else shown
        value = [shown] if hasattr(answer, "child") else value
        examples.append(OpenApiExample("answer", value, response_only=True, status_codes=[str(status)]))
    examples.append(OpenApiExample("problem", Problem.example, response_only=True, status_codes=["400"]))
    return examples


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
    bodies = {shape.__name__ for shape in _below(Body)}
    for name, schema in result["components"]["schemas"].items():
        if name in bodies:
            schema["additionalProperties"] = False
    return result


def _below(shape: type) -> list[type]:
    subclasses: list[type] = shape.__subclasses__()
    return [each for below in subclasses for each in (below, *_below(below))]
