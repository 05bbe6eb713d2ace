"""Helpers of views: pages of a campaign, rendered for one of its members, and files that arrive in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from base.errors import BadValue
from base.text import abbreviated
from campaigns.models import Membership
from campaigns.models.draft import ArrivingFile
from campaigns.uploads import Arriving, append
from metrics import MeasureError
from metrics.formats.json_reader import read_json

SHA256 = "sha256 "


def campaign_page(
    request: HttpRequest, member: Membership, template: str, /, status: int = 200, **context: object
) -> HttpResponse:
    """Render a page for a member; its template finds `member` and `campaign` beside what it is given."""
    known = {"member": member, "campaign": member.campaign}
    return render(request, template, known | context, status=status)


def while_working(fragment: HttpResponse, is_working: bool) -> HttpResponse:
    """Return a fragment that the page asks for again; once the work has ended, the whole page is loaded again."""
    if not is_working:
        fragment["HX-Refresh"] = "true"
    return fragment


def announced(request: HttpRequest, purposes: Collection[str]) -> tuple[str, str, int]:
    """Return the purpose, the name and the size of the file that a request announces.

    Raises BadValue if the body is not an object with the three.
    """
    try:
        data = read_json(request.body)
    except MeasureError as fault:
        raise BadValue("body", f"no JSON ({fault})", "an object with purpose, name and size") from fault
    if not isinstance(data, dict):
        raise BadValue("body", "no JSON object", "an object with purpose, name and size")
    purpose, name, size = (data.get(field) for field in ("purpose", "name", "size"))
    if not isinstance(purpose, str) or purpose not in purposes:
        raise BadValue("purpose", abbreviated(purpose), f"one of {', '.join(purposes)}")
    if not isinstance(name, str):
        raise BadValue("name", abbreviated(name), "the name of the file")
    if type(size) is not int or not 0 <= size < 2**53:
        raise BadValue("size", abbreviated(size), "the bytes of the file, a whole number")
    return purpose, name.strip(), size


def take_piece(
    request: HttpRequest, find: Callable[[], Arriving], tell: Callable[[Arriving, int], HttpResponse]
) -> HttpResponse:
    """Answer how much of a file has arrived, after storing the piece that a PATCH brings.

    A piece for another place is answered by a 409.
    """
    content = request.body  # before the row is read, because other pieces may arrive while this one does
    found = find()
    if request.method != "PATCH":
        return tell(found, 200)
    place = request.headers.get("Upload-Offset", "")
    if not re.fullmatch("[0-9]{1,18}", place):
        raise BadValue("Upload-Offset", abbreviated(place), "the place of the piece")
    offset = int(place)
    checksum = request.headers.get("Upload-Checksum", "")
    if checksum and not checksum.startswith(SHA256):
        raise BadValue("Upload-Checksum", checksum[:20], "sha256, a space, and 64 hexadecimal digits")
    found = append(found, offset, content, checksum.removeprefix(SHA256))
    return tell(found, 200 if found.received == offset + len(content) else 409)


def progress_answer(file: ArrivingFile, address: str, status: int, **more: object) -> HttpResponse:
    """Return the answer that tells how much of a file has arrived, and where its pieces go."""
    answer = {"address": address, "name": file.name, "size": file.size, "received": file.received}
    return JsonResponse(answer | {"whole": file.is_whole} | more, status=status)
