"""What every resource of the API is: an address with methods, for whom the doors of the pages let in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.functional import cached_property
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.views import APIView

from api import authentication
from api.operations import Answer
from base.errors import Changed, Unconditional
from campaigns import access
from campaigns.models import Membership
from corpus.models import Clip
from jobs.models import Job
from metrics import MeasureError
from metrics.formats.json_reader import read_json

CAMPAIGN = "campaigns/<slug:name>"
ROUTES: list[URLPattern] = []


class AlwaysJSON(BaseContentNegotiation):
    """There is one format, whatever a request would like."""

    def select_parser(self, request: Request, parsers: list[Any]) -> Any:
        wanted = request.content_type.partition(";")[0].strip().lower()
        return next((each for each in parsers if each.media_type == wanted), None)

    def select_renderer(self, request: Request, renderers: list[Any], format_suffix: str | None = None) -> Any:
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
    """An address below /api/v1/ with its methods. `reverse` knows it by `api-` and its name."""

    content_negotiation_class = AlwaysJSON
    parser_classes = [JSONBody]
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    params: dict[str, Any]  # the query of the address, checked
    data: dict[str, Any]  # the body, checked

    def __init_subclass__(cls, *, at: str, name: str) -> None:
        super().__init_subclass__()
        ROUTES.append(path(at, cls.as_view(), name=f"api-{name}"))

    @classmethod
    def as_view(cls, **options: Any) -> Callable[..., HttpResponseBase]:
        view: Any = super().as_view(**options)
        view.login_required = False  # the API says itself who may come in, and answers in JSON
        made: Callable[..., HttpResponseBase] = view
        return made

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        from_site = authentication.is_from_allowed_site(request)
        if from_site and request.method == "OPTIONS":
            answer: HttpResponseBase = HttpResponse(status=204)
        else:
            answer = super().dispatch(request, *args, **kwargs)
        if from_site:
            authentication.open_to_site(request, answer)
        return answer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        authentication.must_be_private(request)
        super().initial(request, *args, **kwargs)

    def through(self, door: Callable[[Request, str], Membership]) -> Membership:
        """Return who asks as a member of the address's campaign, if that door of `access` lets the person in."""
        return door(self.request, self.kwargs["name"])

    @cached_property
    def member(self) -> Membership:
        """Who asks, as a lead or a researcher of the address's campaign; anybody else gets a 404."""
        return self.through(access.membership)

    @cached_property
    def participant(self) -> Membership:
        """Who asks, also a researcher from whom grades are held back: for what has to do with runs alone."""
        return self.through(access.participant)

    @cached_property
    def lead(self) -> Membership:
        """Who asks, as a lead of the address's campaign; anybody else gets a 404."""
        return self.through(access.lead)

    def under_way(self, job: Job | None, data: Any) -> Any:
        """Answer that a job does the work, and where the campaign tells how far it is; without a job, the data."""
        return Answer.later(reverse("api-job", args=[self.kwargs["name"], job.pk]), data) if job else data


class ClipAddress(serializers.CharField):
    """The address of a clip, or null unless it is cut."""

    def __init__(self, help_text: str = "its address, once it is cut", **options: Any) -> None:
        super().__init__(allow_null=True, help_text=help_text, **options)

    def to_representation(self, value: Clip) -> Any:
        return reverse("api-clip", args=[value.token]) if value.is_ready else None


def tag_of(*parts: object) -> str:
    """Return the ETag of a version that these parts make up."""
    text = json.dumps(parts, default=str, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def must_match(request: Request, tag: str) -> None:
    """Refuse a change that was not made to the version with this ETag.

    Raises Unconditional if the request does not say which version it changes; Changed if it names another version.
    """
    named = request.headers.get("if-match")
    if named is None:
        raise Unconditional("If-Match: missing; expected the ETag that came with what you change")
    # An answer that is compressed on its way has the same tag, but a weak one: W/ says that its bytes may differ.
    versions = [each.strip().removeprefix("W/") for each in named.split(",")]
    if named.strip() != "*" and tag not in versions:
        raise Changed(f"If-Match: {named[:100]} is not the version in force, {tag}. Read it again, then change it.")
