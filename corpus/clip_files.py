"""View helpers that answer with a clip, or with a range of it."""

from __future__ import annotations

import hashlib
import logging
import re

from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext

from base.errors import Busy
from corpus.models import Clip
from corpus.stored_files import STORE_FAULTS, FileRange, opened

log = logging.getLogger(__name__)
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
TYPE = "video/mp4"
DAY = 24 * 3600
JITTER, BOX = 4096, 8  # bytes: of a padded file's size, and of the head of a box


def clip_file(request: HttpRequest, clip: Clip, key: str = "", full: int = 0) -> HttpResponseBase:
    """Answer with the clip, for somebody who may see it; a shared cache may not keep it.

    With a key, it is the clip as one place of a batch has it: with an `ETag` and a size that no other place has. An MP4
    box without meaning follows the clip then. It fills the file up to `full` bytes, which some clips of the batch
    share, and a little more: up to `JITTER` bytes, by the key.
    """
    answer = _proxied(request, clip.file, key or clip.token, full)
    patch_cache_control(answer, private=True, max_age=DAY, immutable=True)
    return answer


def _padding(size: int, full: int, key: str) -> bytes:
    jitter = int(hashlib.sha256(key.encode()).hexdigest(), 16) % JITTER
    length = max(full - size, 0) + jitter + BOX
    return length.to_bytes(4) + b"free" + bytes(length - BOX)


def _proxied(request: HttpRequest, file: FieldFile, tag: str, full: int = 0) -> HttpResponseBase:
    """Answer with a stored file, or with the range of it that the request asks for.

    Browsers keep parts of a file only if they can tell by the tag that it is the same.
    """
    try:
        content = opened(file)
        after = _padding(content.size, full, tag) if full else b""
        size = content.size + len(after)
    except OSError as fault:
        _tell(file, fault)
        raise Http404 from fault
    except STORE_FAULTS as fault:
        _tell(file, fault)
        raise Busy(gettext("The store of clips does not answer.")) from fault
    match = RANGE.fullmatch(request.headers.get("range", ""))
    if not match or not (match[1] or match[2]):
        return _answer(FileRange(content, 0, size, after), size, tag)
    first, last = _bounds(match[1], match[2], size)
    if first > last:
        content.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    answer = _answer(FileRange(content, first, last + 1, after), last + 1 - first, tag, status=206)
    answer["Content-Range"] = f"bytes {first}-{last}/{size}"
    return answer


def _tell(file: FieldFile, fault: Exception) -> None:
    """Log in one line why a clip cannot be sent."""
    log.warning("clip %s: %s: %s", file.name, type(fault).__name__, " ".join(str(fault).split()))


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """The first and last byte that a range asks for (RFC 9110, section 14.1.2); none when first > last."""
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


def _answer(part: FileRange, length: int, tag: str, status: int = 200) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(part, status=status, content_type=TYPE)
    answer["Content-Length"], answer["Accept-Ranges"], answer["ETag"] = length, "bytes", f'"{tag}"'
    return answer
