"""The number of a request, in each answer, and the version of the pages, for people whom we know."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse

from base.middleware import is_within, networks
from config.operations.logs import request_id

VERSION = "Reeljudge-Version"  # the header
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
        if _is_known(request):
            answer[VERSION] = self.version
        return answer


def _is_known(request: HttpRequest) -> bool:
    """Return whether the answer was made for a token or a signed-in person. Nothing is asked for that: pages for
    everybody do not look at the session.
    """
    found = vars(request)
    user = found.get("_cached_user")  # as Django's middleware keeps it
    return bool(found.get("auth") or (user and user.is_authenticated))


def page_version() -> str:
    """Return a word that changes whenever a script, a stylesheet or another static file of the pages does."""
    return getattr(staticfiles_storage, "manifest_hash", "") or "none"


def version(request: HttpRequest) -> dict[str, str]:
    """Tell templates the version of the pages, and the release that serves them (a context processor)."""
    return {"page_version": page_version(), "release_version": settings.VERSION}
