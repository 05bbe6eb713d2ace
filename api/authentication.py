"""Who asks, by a token or by the session of the pages; how much they may ask for; and which other sites may."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import Token
from accounts.second_factor import Backend
from base.errors import CodeNeeded, NotAllowed, OutOfScope, SignedOut, Unencrypted
from base.problem_documents import foreign_origin
from campaigns.models import spend

REALM = "Bearer"
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
HEADERS = "Authorization, Content-Type, Idempotency-Key, If-Match"
EXPOSED = "ETag, Location, Retry-After, X-Request-ID"


class ByToken(BaseAuthentication):
    """The header `Authorization: Bearer` with a token."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != REALM.lower():
            return None
        token = Token.objects.with_secret(secret.strip())
        user = Backend().get_user(token.user_id) if token else None
        if token is None or user is None or not token.was_made_with_password_of(user):
            raise SignedOut("The token is unknown, revoked or expired. Make a new one on the page of your account.")
        if settings.REQUIRE_SECOND_FACTOR and user.lacks_second_factor:
            raise CodeNeeded("Leads need a second factor here. Set one up in the browser, then make a new token.")
        token.note_used()
        return user, token

    def authenticate_header(self, request: Request) -> str:
        return REALM


class BySession(SessionAuthentication):
    """The session of somebody who is signed in, with the token of forms for whatever changes something."""

    def authenticate_header(self, request: Request) -> str:
        return REALM

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as fault:
            if words := foreign_origin(request._request, str(fault.detail)):
                raise NotAllowed(words) from fault
            raise


def must_allow(request: Request, scope: str) -> None:
    """Refuse a token without this scope. A session may do all that its person may do.

    Raises OutOfScope if the token has other scopes only.
    """
    token = request.auth
    if isinstance(token, Token) and not token.allows(scope):
        raise OutOfScope(f"This needs the scope {scope}; the token has {', '.join(token.scopes) or 'none'}.")


def must_be_private(request: Request) -> None:
    """Refuse a request that came readable where the settings want HTTPS, before its token is looked at.

    It is not redirected: the program would send its token readable each time.
    """
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        raise Unencrypted("This came without HTTPS. Whoever listened has your token: revoke it, and use https://.")


class RequestRate(BaseThrottle):
    """API_RATE for each person. It is counted under a lock: the framework's throttles read and write apart."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if request.user.is_authenticated:
            spend(request.user.pk, "API_RATE", f"More than {settings.API_RATE} requests.")
        return True


def is_from_allowed_site(request: HttpRequest) -> bool:
    return request.headers.get("origin", "") in settings.API_ORIGINS


def open_to_site(request: HttpRequest, answer: HttpResponseBase) -> None:
    """Let the script of an allowed site read the answer. Cookies are never sent along, so it needs a token."""
    answer["Access-Control-Allow-Origin"] = request.headers["origin"]
    answer["Access-Control-Allow-Methods"] = METHODS
    answer["Access-Control-Allow-Headers"] = HEADERS
    answer["Access-Control-Expose-Headers"] = EXPOSED
    patch_vary_headers(answer, ["Origin"])
