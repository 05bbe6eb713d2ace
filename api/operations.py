"""The decorators of operations. Each checks a request, makes an answer of what the handler returns, and describes both.

A handler's docstring is the operation's summary. It finds the checked query in `self.params` and the checked body in
`self.data`. It returns what the shape of the answer shows, alone or in an `Answer`; rows for a page; or a response.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

from django.core.signing import BadSignature, Signer
from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from api import document
from api.authentication import must_allow
from api.fields import Body, Page, PageQuery, Query
from api.models import once
from base.errors import NotFound
from campaigns.models import Token
from jobs.models import Job

READ, LEAD, RUNS, JUDGE = Token.Scope.READ, Token.Scope.LEAD, Token.Scope.RUNS, Token.Scope.JUDGE
Handler = Callable[..., Any]
USUAL, MOST = 50, 200  # rows of a page


@dataclass(frozen=True)
class Trait:
    """What an operation takes or may answer besides: headers, a status without content or with it, and refusals."""

    parameters: tuple[OpenApiParameter, ...] = ()
    refusals: tuple[int, ...] = ()
    empty: int | None = None
    also: int | None = None
    takes_bytes: bool = False


TAGGED = Trait((document.TAG,))
VERSIONED = Trait((document.IF_MATCH, document.TAG), (412, 428))
ONCE = Trait((document.KEY,))  # a request that arrives twice is done once
STORES = Trait(refusals=(507,))  # a file, for which the disk may have no room
OR_NOTHING = Trait(empty=204)
OR_LATER = Trait((document.PLACE,), also=202)


@dataclass(frozen=True)
class Answer:
    """What a handler returns if it says more than the data: a status, or headers."""

    data: Any
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Representation(dict[str, Any]):
    """Data that a handler has put into the shape of its answer already."""


@dataclass(frozen=True)
class Rows:
    """Rows for a page, their order, a function that makes of a page's rows what their shape shows, and its context."""

    rows: QuerySet[Any]
    order: tuple[str, ...] = ("pk",)
    show: Callable[[list[Any]], Any] = list
    context: dict[str, Any] = field(default_factory=dict)


def tagged(data: Any, tag: str, status: int | None = None) -> Answer:
    """Answer with the ETag of the version."""
    return Answer(data, status, {"ETag": tag})


def later(address: str, data: Any) -> Answer:
    """Answer that a job does the work, and that this address tells how far it is."""
    return Answer(data, 202, {"Location": address})


def under_way(campaign: str, job: Job, data: Any) -> Answer:
    """Answer that a job of a campaign does the work, and where to ask how far it is."""
    return later(reverse("api-job", args=[campaign, job.pk]), data)


def reads(
    answer: Any, *traits: Trait, query: type[Query] | None = None, scope: str = READ
) -> Callable[[Handler], Handler]:
    """Make an operation that changes nothing. `answer` is a shape, a page of one, or the types of a file."""
    return partial(_operation, scope, None, query, answer, 200, traits)


def changes(
    answer: Any = None,
    *traits: Trait,
    body: type[Body] | None = None,
    query: type[Query] | None = None,
    scope: str = LEAD,
    status: int | None = None,
) -> Callable[[Handler], Handler]:
    """Make an operation that changes something. The status is 200, or 204 if the answer is empty."""
    return partial(_operation, scope, body, query, answer, status or (200 if answer else 204), traits)


def makes(
    answer: Any, *traits: Trait, body: type[Body] | None = None, scope: str = LEAD, status: int = 201
) -> Callable[[Handler], Handler]:
    """Make an operation that makes something; an idempotency key keeps it from being made twice."""
    return partial(_operation, scope, body, None, answer, status, (ONCE, *traits))


def starts(
    answer: Any, *traits: Trait, body: type[Body] | None = None, scope: str = LEAD
) -> Callable[[Handler], Handler]:
    """Make an operation that answers 202 and where the job is that does the work."""
    return partial(_operation, scope, body, None, answer, 202, (Trait((document.PLACE,)), *traits))


def _operation(
    scope: str,
    body: type[Body] | None,
    query: type[Query] | None,
    answer: Any,
    status: int,
    traits: tuple[Trait, ...],
    handler: Handler,
) -> Handler:
    query = query or (PageQuery if isinstance(answer, Page) else None)
    answers: dict[int, Any] = {status: answer}
    for trait in traits:
        answers |= {trait.empty: None} if trait.empty else {}
        answers |= {trait.also: answer} if trait.also else {}

    @wraps(handler)
    def operation(self: Any, request: Request, *args: Any, **kwargs: Any) -> Any:
        must_allow(request, scope)
        self.params = _valid(query or Query, request.query_params)
        self.data = _valid(body, request.data) if body else {}

        def act() -> Any:
            return _response(request, handler(self, request, *args, **kwargs), answer, status)

        return once(request, act) if ONCE in traits else act()

    takes_bytes = any(trait.takes_bytes for trait in traits)
    return document.described(
        operation,
        scope,
        document.BYTES if takes_bytes else body,
        query,
        [each for trait in traits for each in trait.parameters],
        tuple(code for trait in traits for code in trait.refusals),
        answers,
    )


def _valid(shape: type[Body], data: Any) -> dict[str, Any]:
    form = shape(data=data)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


def _response(request: Request, result: Any, shape: Any, status: int) -> Any:
    """Turn what a handler has returned into a response."""
    if isinstance(result, HttpResponseBase):
        return result
    answer = result if isinstance(result, Answer) else Answer(result)
    if answer.data is None:
        return Response(status=204)
    data = _page(request, answer.data, shape) if isinstance(shape, Page) else _represented(answer.data, shape)
    return Response(data, answer.status or status, headers=answer.headers)


def _represented(data: Any, shape: Any, **context: Any) -> Any:
    """Return data in its shape, which for a list is an instance with `many`."""
    rows = [data] if isinstance(shape, type) else list(data)
    if not all(isinstance(each, Representation) for each in rows):
        one = shape if isinstance(shape, type) else type(shape.child)
        rows = one(rows, many=True, context=context).data
    return rows[0] if isinstance(shape, type) else rows


def _page(request: Request, found: QuerySet[Any] | Rows, page: Page) -> dict[str, Any]:
    rows = found if isinstance(found, Rows) else Rows(found)
    pages = Pages(*rows.order)
    results = _represented(rows.show(pages.paginate(rows.rows, request)), page.shape(many=True), **rows.context)
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
        return page

    def get_ordering(self, request: Request, queryset: Any, view: Any) -> tuple[str, ...]:
        return self.ordering

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
        from rest_framework.utils.urls import replace_query_param

        signed = self._signer.sign_object([cursor.offset, cursor.reverse, cursor.position])
        return str(replace_query_param(self.base_url, self.cursor_query_param, signed))
