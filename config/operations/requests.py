"""What every answer carries: the number of its request, and the version of the pages that this machine serves."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse

from base.middleware import is_within, networks
from config.operations.logs import request_id

PROPER = re.compile(r"[A-Za-z0-9-]{8,64}")


class RequestMiddleware:
    """Numbers each request. A proxy that the settings trust may have done so already, in the header X-Request-ID."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.proxies = networks(settings.TRUSTED_PROXIES)
        self.version = page_version()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("x-request-id", "")
        believed = PROPER.fullmatch(given) and is_within(request.META.get("REMOTE_ADDR", ""), self.proxies)
        number = given if believed else uuid4().hex
        request.META["REQUEST_ID"] = number
        # It holds until this thread's next request, because Django logs an error, and streams, after the middleware.
        request_id.set(number)
        answer = self.get_response(request)
        answer["X-Request-ID"] = number
        answer["Reeljudge-Version"] = self.version
        return answer


def page_version() -> str:
    """Return a word that changes whenever a script, a stylesheet or another static file of the pages does."""
    return getattr(staticfiles_storage, "manifest_hash", "") or "none"


def version(request: HttpRequest) -> dict[str, str]:
    """Tell templates the version of the pages, and the release that serves them (a context processor)."""
    return {"page_version": page_version(), "release_version": settings.VERSION}
