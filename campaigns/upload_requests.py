"""How browsers and programs send a file in pieces.

A POST announces a file and tells how much of it is there. Each PATCH brings the piece at `Upload-Offset`, at most a
mebibyte. After a break, a GET or the same POST tells where to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from django.http import HttpRequest, HttpResponse, JsonResponse

from base.errors import BadValue
from base.request_fields import KEY, one_of, text_in, whole
from campaigns.models.draft import ArrivingFile
from campaigns.uploads import Arriving, append
from metrics import MeasureError
from metrics.formats.json_reader import read_json

SHA256 = "sha256 "


def announced(request: HttpRequest, purposes: Collection[str]) -> tuple[str, str, int]:
    """Return the purpose, the name and the size of the file that a request announces.

    Raises
    ------
    BadValue
        If the body is not an object with the three.
    """
    try:
        data = read_json(request.body)
    except MeasureError as fault:
        raise BadValue("body", f"no JSON ({fault})", "an object with purpose, name and size") from fault
    if not isinstance(data, dict):
        raise BadValue("body", "no JSON object", "an object with purpose, name and size")
    purpose = one_of("purpose", data.get("purpose"), purposes)
    size = data.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**53:
        raise BadValue("size", str(size)[:20], "the bytes of the file, a whole number")
    return purpose, text_in(data, "name", 255), size


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
    offset = whole("Upload-Offset", request.headers.get("Upload-Offset", ""), "the place of the piece", digits=KEY)
    checksum = request.headers.get("Upload-Checksum", "")
    if checksum and not checksum.startswith(SHA256):
        raise BadValue("Upload-Checksum", checksum[:20], "sha256, a space, and 64 hexadecimal digits")
    found = append(found, offset, content, checksum.removeprefix(SHA256))
    return tell(found, 200 if found.received == offset + len(content) else 409)


def progress_answer(file: ArrivingFile, address: str, status: int) -> HttpResponse:
    """Return the answer that tells how much of a file has arrived, and where its pieces go."""
    answer = {"address": address, "name": file.name, "size": file.size, "received": file.received}
    return JsonResponse(answer | {"whole": file.is_whole}, status=status)
