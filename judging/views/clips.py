"""Clips: opaque addresses, permission at every request, ranges answered."""

import re
from collections.abc import Iterator
from typing import IO

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from judging import doors

CHUNK = 64 * 1024
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


@require_safe
@cache_control(private=True, max_age=24 * 3600, immutable=True)
def clip(request: HttpRequest, token: str) -> HttpResponseBase:
    file = doors.clip(request, token).file
    try:
        size, content = file.size, file.open("rb")
    except OSError as fault:
        raise Http404 from fault
    asked = RANGE.fullmatch(request.headers.get("range", ""))
    if not asked or not (asked[1] or asked[2]):
        return _answer(content, 0, size)
    first, last = _bounds(asked[1], asked[2], size)
    if first > last:
        content.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    answer = _answer(content, first, last + 1, status=206)
    answer["Content-Range"] = f"bytes {first}-{last}/{size}"
    return answer


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """The first and last byte that a range asks for (RFC 9110, section 14.1.2); none when first > last."""
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


def _answer(content: IO[bytes], start: int, stop: int, status: int = 200) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(_Part(content, start, stop), status=status, content_type="video/mp4")
    answer["Content-Length"], answer["Accept-Ranges"] = stop - start, "bytes"
    return answer


class _Part:
    """A stretch of a file in chunks; closed with the answer, also when nobody reads it."""

    def __init__(self, content: IO[bytes], start: int, stop: int) -> None:
        self.content, self.start, self.stop = content, start, stop

    def __iter__(self) -> Iterator[bytes]:
        self.content.seek(self.start)
        left = self.stop - self.start
        while left and (chunk := self.content.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk

    def close(self) -> None:
        self.content.close()
