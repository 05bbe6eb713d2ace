"""The addresses to which the browser sends files in pieces.

A POST announces a file and tells how much of it is there. Each PATCH brings the piece at `Upload-Offset`, at most a
mebibyte. After a break, a GET or the same POST tells where to go on.
"""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from base.errors import BadValue
from base.request_fields import KEY, one_of, text_in, whole
from campaigns.models import Upload
from campaigns.uploads import append, begin, remove
from judging import doors
from lead.making.views import open_draft

SHA256 = "sha256 "


@require_POST
def announce(request: HttpRequest, token: str) -> HttpResponse:
    """Begin an upload, or find the one that broke off."""
    draft = open_draft(request, token)
    try:
        said = json.loads(request.body)
    except (ValueError, RecursionError) as fault:
        raise BadValue("body", "no JSON", "an object with purpose, name and size") from fault
    if not isinstance(said, dict):
        raise BadValue("body", "no JSON object", "an object with purpose, name and size")
    purpose = one_of("purpose", said.get("purpose"), Upload.Purpose.values)
    size = said.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**53:
        raise BadValue("size", str(size)[:20], "the bytes of the file, a whole number")
    upload = begin(draft, purpose, text_in(said, "name", 255), size)
    return _told(upload, status=201)


@require_http_methods(["GET", "HEAD", "PATCH"])
def piece(request: HttpRequest, token: str, upload: str) -> HttpResponse:
    """Tell how much has arrived, or store the next piece. A piece for another place is answered by a 409."""
    content = request.body  # before the row is read, because other pieces may arrive while this one does
    found = doors.upload(request, token, upload)
    if request.method != "PATCH":
        return _told(found)
    offset = whole(
        "Upload-Offset", request.headers.get("Upload-Offset", ""), "the place of the piece", digits=KEY
    )
    checksum = request.headers.get("Upload-Checksum", "")
    if checksum and not checksum.startswith(SHA256):
        raise BadValue("Upload-Checksum", checksum[:20], "sha256, a space, and 64 hexadecimal digits")
    found = append(found, offset, content, checksum.removeprefix(SHA256))
    return _told(found, status=200 if found.received == offset + len(content) else 409)


@require_POST
def remove_upload(request: HttpRequest, token: str, upload: str) -> HttpResponse:
    """Remove a file, and lead back to the step that it belongs to."""
    open_draft(request, token)
    found = doors.upload(request, token, upload)
    found.draft.change()
    remove(found)
    return redirect(STEPS[Upload.Purpose(found.purpose)], token)


STEPS = {
    Upload.Purpose.MOMENTS: "draft-corpus",
    Upload.Purpose.DURATIONS: "draft-corpus",
    Upload.Purpose.FILM: "draft-films",
    Upload.Purpose.QUERIES: "draft-queries",
}


def _told(upload: Upload, status: int = 200) -> HttpResponse:
    address = reverse("upload", args=[upload.draft.token, upload.token])
    told = {"address": address, "name": upload.name, "size": upload.size, "received": upload.received}
    return JsonResponse(told | {"whole": upload.is_whole}, status=status)
