"""Sending a file in pieces: what announces it, what tells how much has arrived, and the headers of a piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.fields import Shape
from base.errors import BadValue, Unfit
from campaigns.models.draft import ArrivingFile
from campaigns.pieces import take_piece

HEADER = "Upload-Offset"
OFFSET = OpenApiParameter(
    HEADER, {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}, "header", required=True,
    description="the place of the piece",
)  # fmt: skip
CHECKSUM = OpenApiParameter(
    "Upload-Checksum",
    {"type": "string", "pattern": "^sha256 [0-9a-f]{64}$"},
    "header",
    description="of the piece",
)


class FileShape(Shape):
    token = serializers.CharField(help_text="names the file in addresses")
    purpose = serializers.CharField()
    name = serializers.CharField()
    size = serializers.IntegerField()
    received = serializers.IntegerField(help_text="bytes that have arrived; the next piece goes there")
    whole = serializers.BooleanField(source="is_whole")
    example = {
        "token": "4f1c",
        "purpose": "run",
        "name": "run.json.gz",
        "size": 4821300,
        "received": 1048576,
        "whole": False,
    }


def take(request: Request, find: Callable[[], Any]) -> HttpResponseBase:
    """Answer how much of a file has arrived, after storing the piece that a PATCH brings."""
    try:
        return take_piece(request._request, find, _told)
    except BadValue as fault:
        if fault.field == HEADER:
            raise
        raise Unfit({fault.field: [str(fault)]}) from fault


def _told(file: ArrivingFile, status: int) -> Any:
    if status == 409:
        raise Unfit({HEADER: [f"not the next place; expected {file.received}"]})
    return Response(FileShape(file).data, status)
