"""What every resource of the API is: an address with methods, for whom the doors of the pages let in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api import limits
from api.fields import Shape
from api.paging import Pages
from base.errors import Changed, Unconditional
from jobs.models import Job
from metrics import MeasureError
from metrics.formats.json_reader import read_json


class AlwaysJSON(BaseContentNegotiation):
    """There is one format, whatever a request would like."""

    def select_parser(self, request: Request, parsers: list[Any]) -> Any:
        wanted = request.content_type.partition(";")[0].strip().lower()
        return next((each for each in parsers if each.media_type == wanted), None)

    def select_renderer(
        self, request: Request, renderers: list[Any], format_suffix: str | None = None
    ) -> Any:
        return renderers[0], renderers[0].media_type


class JSONBody(BaseParser):
    """Reads a body as every other JSON from outside is read."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        try:
            return read_json(stream.read())
        except MeasureError as fault:
            raise ParseError(str(fault)) from fault


class Resource(APIView):
    content_negotiation_class = AlwaysJSON
    parser_classes = [JSONBody]
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    asked: dict[str, Any]  # the query of the address, checked
    said: dict[str, Any]  # the body, checked

    @classmethod
    def as_view(cls, **options: Any) -> Callable[..., HttpResponseBase]:
        view: Any = super().as_view(**options)
        view.login_required = False  # the API says itself who may come in, and answers in JSON
        made: Callable[..., HttpResponseBase] = view
        return made

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        from_site = limits.is_from_allowed_site(request)
        if from_site and request.method == "OPTIONS":
            answer: HttpResponseBase = HttpResponse(status=204)
        else:
            answer = super().dispatch(request, *args, **kwargs)
        if from_site:
            limits.open_to_site(request, answer)
        return answer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        limits.must_be_private(request)
        super().initial(request, *args, **kwargs)
        limits.count(request)

    def page(self, rows: QuerySet[Any], shape: type[Shape], *order: str, **context: Any) -> Response:
        """Return the page of these rows that the request asks for."""
        return self.page_by(rows, lambda page: shape(page, many=True, context=context).data, *order)

    def page_by(self, rows: QuerySet[Any], show: Callable[[list[Any]], Any], *order: str) -> Response:
        """Return the page of these rows, shown by a function of them."""
        pages = Pages(*(order or ("pk",)))
        found = show(pages.paginate(rows, self.request))
        links = {"next": pages.get_next_link(), "previous": pages.get_previous_link()}
        return Response(links | {"results": found})


def empty() -> Response:
    return Response(status=204)


def under_way(campaign: str, job: Job, data: Any) -> Response:
    """Answer that a job of a campaign does the work, and where to ask how far it is."""
    return later(reverse("api-job", args=[campaign, job.pk]), data)


def later(address: str, data: Any) -> Response:
    """Answer that a job does the work, and that this address tells how far it is."""
    return Response(data, 202, headers={"Location": address})


def tag_of(*parts: object) -> str:
    """Return the ETag of a version that these parts make up."""
    text = json.dumps(parts, default=str, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def must_match(request: Request, tag: str) -> None:
    """Refuse a change that was not made to the version with this ETag.

    Raises
    ------
    Unconditional
        If the request does not say which version it changes.
    Changed
        If it names another version.
    """
    named = request.headers.get("if-match")
    if named is None:
        raise Unconditional("If-Match: missing; expected the ETag that came with what you change")
    # An answer that is compressed on its way has the same tag, but a weak one: W/ says that its bytes may differ.
    versions = [each.strip().removeprefix("W/") for each in named.split(",")]
    if named.strip() != "*" and tag not in versions:
        raise Changed(
            f"If-Match: {named[:100]} is not the version in force, {tag}. Read it again, then change it."
        )
