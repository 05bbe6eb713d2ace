"""Clips, at an address of the API, so that a token opens them too."""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from api.describing import operation
from api.resource import Resource
from campaigns.models import Token
from corpus.media.clip_files import clip_file
from judging import doors


class Clip(Resource):
    @operation(
        "A clip, as its address was told; ranges are answered", scope=Token.Scope.READ, file="video/mp4"
    )
    def get(self, request: Request, token: str) -> HttpResponseBase:
        return clip_file(request._request, doors.clip(request, token))
