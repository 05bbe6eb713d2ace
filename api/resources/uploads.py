"""Sending a file in pieces: what announces it, what tells how much has arrived, and the headers of a piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.fields import Shape
from api.operations import Trait
from base.errors import BadValue, Unfit
from campaigns.models import Upload
from campaigns.models.draft import ArrivingFile
from campaigns.upload_requests import take_piece

HEADER = "Upload-Offset"
OFFSET = OpenApiParameter(
    HEADER, {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}, "header", required=True,
    description="the place of the piece",
)  # fmt: skip
CHECKSUM = OpenApiParameter(
    "Upload-Checksum", {"type": "string", "pattern": "^sha256 [0-9a-f]{64}$"}, "header", description="of the piece"
)
PIECE = Trait((OFFSET, CHECKSUM), takes_bytes=True)


class FileShape(Shape):
    of = Upload, "token name size received"
    helps = {"token": "names the file in addresses", "received": "bytes that have arrived; the next piece goes there"}
    purpose = serializers.CharField()
    whole = serializers.BooleanField(source="is_whole")


def take(request: Request, find: Callable[[], Any]) -> Any:
    """Answer how much of a file has arrived, after storing the piece that a PATCH brings."""
    try:
        return take_piece(request._request, find, _progress)
    except BadValue as fault:
        if fault.field == HEADER:
            raise
        raise Unfit({fault.field: [str(fault)]}) from fault


def _progress(file: ArrivingFile, status: int) -> Any:
    if status == 409:
        raise Unfit({HEADER: [f"not the next place; expected {file.received}"]})
    return Response(FileShape(file).data, status)
