"""Long lists in pages. A cursor names the row after which a page begins, so new rows move nothing."""

from __future__ import annotations

from typing import Any

from django.core.signing import BadSignature, Signer
from django.db.models import QuerySet
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from base.errors import NotFound

USUAL, MOST = 50, 200  # rows of a page


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
            raise NotFound(
                "cursor: not one of this list; expected the one in another page's address"
            ) from fault
        return Cursor(offset=offset, reverse=reverse, position=position)

    def encode_cursor(self, cursor: Cursor) -> str:
        from rest_framework.utils.urls import replace_query_param

        signed = self._signer.sign_object([cursor.offset, cursor.reverse, cursor.position])
        return str(replace_query_param(self.base_url, self.cursor_query_param, signed))
