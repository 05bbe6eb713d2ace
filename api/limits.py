"""How much one person may ask for, and which other sites' scripts may ask."""

from __future__ import annotations

from allauth.core.internal import ratelimit
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers
from rest_framework.request import Request

from base.errors import TooManyRequests, Unencrypted

ACTION = "api"
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
HEADERS = "Authorization, Content-Type, Idempotency-Key, If-Match"
EXPOSED = "ETag, Location, Retry-After, X-Request-ID"


def must_be_private(request: Request) -> None:
    """Refuse a request that came readable where the settings want HTTPS, before its token is looked at.

    Raises
    ------
    Unencrypted
        Always then: a redirect would have the program send its token readable each time.
    """
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        raise Unencrypted("This came without HTTPS. Whoever listened has your token: revoke it, and use https://.")


def count(request: Request) -> None:
    """Count the request of somebody who is signed in.

    Raises
    ------
    TooManyRequests
        If there were more than the settings allow.
    """
    if not settings.API_RATE:
        return
    rates = {ACTION: f"{settings.API_RATE}/user"}
    counted = ratelimit.consume(
        request._request, app="api", action=ACTION, config=rates, user=request.user, limit_get=True
    )
    if counted is None:
        raise TooManyRequests(f"More than {settings.API_RATE} requests. Wait some seconds, and send fewer at once.")


def is_from_allowed_site(request: HttpRequest) -> bool:
    return request.headers.get("origin", "") in settings.API_ORIGINS


def open_to_site(request: HttpRequest, answer: HttpResponseBase) -> None:
    """Let the script of an allowed site read the answer. Cookies are never sent along, so it needs a token."""
    answer["Access-Control-Allow-Origin"] = request.headers["origin"]
    answer["Access-Control-Allow-Methods"] = METHODS
    answer["Access-Control-Allow-Headers"] = HEADERS
    answer["Access-Control-Expose-Headers"] = EXPOSED
    patch_vary_headers(answer, ["Origin"])
