"""The decorators of operations. Each checks a request, makes an answer of what the handler returns, and describes both.

A handler's docstring is the operation's summary. It takes what the address names beside the campaign, and finds the
checked query in `self.params`, the checked body in `self.data`, and who asks in `self.member` or `self.lead`.
It returns what the serializer of the answer shows, alone or in an `Answer`; rows for a page; or a response.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, TypeVar

from django.core.signing import BadSignature, Signer
from django.db.models import Model, QuerySet
from django.http import HttpResponseBase
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from accounts.models import Token
from api import document
from api.authentication import must_allow
from api.document import Trait
from api.models import once
from api.serializers import Body, Page, PageParameters, QueryParameters
from base.errors import BadValue, NotFound, ReeljudgeError, Unfit
from base.sites import site_address
from campaigns.access import count_file

READ, LEAD, RUNS, JUDGE = Token.Scope.READ, Token.Scope.LEAD, Token.Scope.RUNS, Token.Scope.JUDGE
Row = TypeVar("Row", bound=Model)
Record = TypeVar("Record")
Handler = Callable[..., Any]
Decorator = Callable[[Handler], Handler]
# Lets a person in at a resource, whose address has these parts, or raises: a 404 as a rule.
Door = Callable[..., Any]
DOORS: dict[str, Door] = {LEAD: lambda resource, **_: resource.lead, RUNS: lambda resource, **_: resource.participant}
USUAL, MOST = 50, 200  # rows of a page
COUNTED = {"text/csv", "text/plain"}  # files that are made when somebody asks for them

TAGGED = Trait((document.TAG,))
VERSIONED = Trait((document.IF_MATCH, document.TAG), (412, 428))
ONCE = Trait((document.KEY,))  # a request that arrives twice is done once
STORES = Trait(refusals=(507,))  # a file, for which the disk may have no room
UNFIT = Trait(refusals=(422,))  # a value of the right kind, but that nothing here goes with
OR_NOTHING = Trait(empty=204)
OR_LATER = Trait((document.PLACE,), also=202)


@dataclass(frozen=True)
class Answer:
    """What a handler returns if it says more than the data: a status, or headers."""

    data: Any
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def tagged(cls, data: Any, tag: str) -> Answer:
        """Answer with the ETag of the version."""
        return cls(data, headers={"ETag": tag})

    @classmethod
    def later(cls, address: str, data: Any) -> Answer:
        """Answer that a job does the work, and that this address tells how far it is."""
        return cls(data, 202, {"Location": address})


@dataclass(frozen=True)
class Rows:
    """Rows for a page, their order, and a function that makes of a page's rows what their serializer shows."""

    rows: QuerySet[Any]
    order: tuple[str, ...] = ("pk",)
    show: Callable[[list[Any]], list[Any]] = list


def annotated(row: Record, **values: Any) -> Record:
    """Return a row with further attributes, as `QuerySet.annotate` adds what the database computes."""
    vars(row).update(values)
    return row


def fresh(row: Row) -> Row:
    """Return a row as the database has it now: with its defaults, and with what a verb has changed."""
    row.refresh_from_db()
    return row


def reads(answer: Any, *traits: Trait, query: type[QueryParameters] | None = None, scope: str = READ) -> Decorator:
    """Make an operation that changes nothing. `answer` is a serializer, a page of one, or the types of a file."""
    return partial(_operation, scope, None, query, answer, 200, traits, None)


def changes(
    answer: Any = None,
    *traits: Trait,
    body: type[Body] | None = None,
    query: type[QueryParameters] | None = None,
    scope: str = LEAD,
    status: int | None = None,
    door: Door | None = None,
) -> Decorator:
    """Make an operation that changes something. The status is 200, or 204 if the answer is empty.

    `door` is that of the handler, for a wrong body: it is tried before the answer says what is wrong. By default it is
    that of the scope, at the addresses of campaigns.
    """
    if body or query:
        door = door or DOORS[scope]
    return partial(_operation, scope, body, query, answer, status or (200 if answer else 204), traits, door)


def makes(answer: Any, *traits: Trait, status: int = 201, **options: Any) -> Decorator:
    """Make an operation that makes something; an idempotency key keeps it from being made twice."""
    return changes(answer, ONCE, *traits, status=status, **options)


def starts(answer: Any, *traits: Trait, **options: Any) -> Decorator:
    """Make an operation that answers 202 and where the job is that does the work."""
    return changes(answer, Trait((document.PLACE,)), *traits, status=202, **options)


def _operation(
    scope: str,
    body: type[Body] | None,
    query: type[QueryParameters] | None,
    answer: Any,
    status: int,
    traits: tuple[Trait, ...],
    door: Door | None,
    handler: Handler,
) -> Handler:
    query = query or (PageParameters if isinstance(answer, Page) else None)

    @wraps(handler)
    def operation(self: Any, request: Request, name: str = "", **of_address: Any) -> Any:
        must_allow(request, scope)
        if isinstance(answer, tuple) and COUNTED & {*answer}:
            count_file(request, request.path.rpartition("/")[2].rpartition(".")[2])
        try:
            self.params = _valid(query or QueryParameters, request.query_params)
            self.data = _valid(body, request.data, self) if body else {}
        except (APIException, ReeljudgeError):
            if door:  # who may not come in gets the answer that a right body gets
                door(self, **of_address)
            raise

        def act() -> Any:
            try:
                return _response(request, handler(self, **of_address), answer, status)
            except BadValue as fault:
                if UNFIT not in traits:
                    raise
                raise Unfit({fault.field: [fault.fault]}) from fault

        return once(request, act) if ONCE in traits else act()

    return document.described(operation, scope, body, query, answer, status, traits)


def _valid(serializer: type[Body], data: Any, resource: Any = None) -> dict[str, Any]:
    form = serializer(data=data, context={"resource": resource})
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


def _response(request: Request, result: Any, serializer: Any, status: int) -> Any:
    """Turn what a handler has returned into a response."""
    if isinstance(result, HttpResponseBase):
        return result
    answer = result if isinstance(result, Answer) else Answer(result)
    if answer.data is None:
        return Response(status=204)
    if isinstance(serializer, Page):
        data = _page(request, answer.data, serializer.serializer)
    elif isinstance(serializer, type):
        data = serializer(answer.data).data
    else:  # an instance with `many`
        data = type(serializer.child)(answer.data, many=True).data
    return Response(data, answer.status or status, headers=answer.headers)


def _page(request: Request, found: QuerySet[Any] | Rows, serializer: type[serializers.Serializer]) -> dict[str, Any]:
    rows = found if isinstance(found, Rows) else Rows(found)
    pages = Pages(*rows.order)
    results = serializer(rows.show(pages.paginate(rows.rows, request)), many=True).data
    return {"next": pages.get_next_link(), "previous": pages.get_previous_link(), "results": results}


class Pages(CursorPagination):
    """Django REST framework's cursors, signed: only what an answer held is taken, and only at the same address."""

    page_size, max_page_size = USUAL, MOST
    page_size_query_param = "limit"

    def __init__(self, *order: str) -> None:
        self.ordering = order

    def paginate(self, rows: QuerySet[Any], request: Request) -> list[Any]:
        self._signer = Signer(salt=f"api {request.path}")
        page: list[Any] = self.paginate_queryset(rows, request)
        self.base_url = site_address(request) + request.get_full_path()
        return page

    def decode_cursor(self, request: Request) -> Cursor | None:
        signed = request.query_params.get(self.cursor_query_param)
        if signed is None:
            return None
        try:
            offset, reverse, position = self._signer.unsign_object(signed)
        except (BadSignature, ValueError) as fault:
            raise NotFound("cursor: not one of this list; expected the one in another page's address") from fault
        return Cursor(offset=offset, reverse=reverse, position=position)

    def encode_cursor(self, cursor: Cursor) -> str:
        signed = self._signer.sign_object([cursor.offset, cursor.reverse, cursor.position])
        return str(replace_query_param(self.base_url, self.cursor_query_param, signed))
