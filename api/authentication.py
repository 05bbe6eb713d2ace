"""Who asks: by a token, or by the session of the pages. What holds for a session holds for a token, too."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from base.errors import CodeNeeded, OutOfScope, SignedOut
from campaigns.accounts.second_factor import Backend
from campaigns.models import Token

REALM = "Bearer"


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


def must_allow(request: Request, scope: str) -> None:
    """Refuse a token without this scope. A session may do all that its person may do.

    Raises
    ------
    OutOfScope
        If the token has other scopes only.
    """
    token = request.auth
    if isinstance(token, Token) and not token.allows(scope):
        raise OutOfScope(f"This needs the scope {scope}; the token has {', '.join(token.scopes) or 'none'}.")
