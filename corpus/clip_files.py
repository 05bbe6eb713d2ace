"""Sending a clip: ranges are answered, here or by who serves them for us."""

from __future__ import annotations

import logging
import re

from django.conf import settings
from django.core.files.base import File
from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext

from base.errors import Busy
from corpus.models import Clip
from corpus.stored_files import STORE_FAULTS, Part, opened

log = logging.getLogger(__name__)
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
TYPE = "video/mp4"
INTERNAL = "/stored/"  # nginx's location of MEDIA_ROOT, for itself only
PRESIGNED_SECONDS = 600
DAY = 24 * 3600


def clip_file(request: HttpRequest, clip: Clip) -> HttpResponseBase:
    """Answer with the clip itself, or with where it is, for somebody who may see it; a shared cache may not keep it. No
    header depends on when the clip was cut, because clips that are cut together have neighbouring ranks.
    """
    file = clip.file
    if settings.MEDIA_ADDRESSES == "presigned":
        answer: HttpResponseBase = redirect(_presigned(request, file))
        patch_cache_control(answer, private=True, max_age=PRESIGNED_SECONDS // 2)
        return answer
    if settings.MEDIA_ADDRESSES == "accel":
        answer = HttpResponse(content_type=TYPE, headers={"X-Accel-Redirect": f"{INTERNAL}{file.name}"})
    else:
        answer = _proxied(request, file)
        # Browsers keep parts of a file only if they can tell that it is the same.
        answer["ETag"] = f'"{clip.token}"'
    patch_cache_control(answer, private=True, max_age=DAY, immutable=True)
    return answer


def _presigned(request: HttpRequest, file: FieldFile) -> str:
    headers = {"ResponseContentType": TYPE, "ResponseCacheControl": f"private, max-age={DAY}, immutable"}
    address: str = file.storage.url(  # type: ignore[call-arg]
        file.name, headers, expire=PRESIGNED_SECONDS, http_method=request.method
    )
    return address


def _proxied(request: HttpRequest, file: FieldFile) -> HttpResponseBase:
    try:
        content = opened(file)
        size = content.size
    except OSError as fault:
        _tell(file, fault)
        raise Http404 from fault
    except STORE_FAULTS as fault:
        _tell(file, fault)
        raise Busy(gettext("The store of clips does not answer.")) from fault
    match = RANGE.fullmatch(request.headers.get("range", ""))
    if not match or not (match[1] or match[2]):
        return _answer(content, 0, size)
    first, last = _bounds(match[1], match[2], size)
    if first > last:
        content.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    answer = _answer(content, first, last + 1, status=206)
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


def _answer(content: File[bytes], start: int, stop: int, status: int = 200) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(Part(content, start, stop), status=status, content_type=TYPE)
    answer["Content-Length"], answer["Accept-Ranges"] = stop - start, "bytes"
    return answer
