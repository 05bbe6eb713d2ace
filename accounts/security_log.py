"""The log of security: who signed in or out, who failed to, and what changed about how somebody signs in.

Each event is one line of the logger `reeljudge.security`, whatever LOG_LEVEL is. The lines hold no password, code or
link. Roles are no part of it: each change of one is an Event in the database.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from allauth.account import signals as account
from allauth.mfa import signals as factors
from allauth.socialaccount import signals as single_sign_on
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import Signal
from django.http import HttpRequest

log = logging.getLogger("reeljudge.security")
log.setLevel(logging.INFO)

SIGNALS: dict[str, Signal] = {
    "signed in": user_logged_in,
    "signed out": user_logged_out,
    "password changed": account.password_changed,
    "password set": account.password_set,
    "password reset": account.password_reset,
    "mail address changed": account.email_changed,
    "mail address removed": account.email_removed,
    "second factor added": factors.authenticator_added,
    "second factor removed": factors.authenticator_removed,
    "recovery codes made": factors.authenticator_reset,
    "second factor refused": factors.authentication_failed,
    "single sign-on added": single_sign_on.social_account_added,
    "single sign-on removed": single_sign_on.social_account_removed,
}


def listen() -> None:
    """Write a line for each of these signals from now on."""
    user_login_failed.connect(_failed)
    for event, signal in SIGNALS.items():
        signal.connect(partial(_happened, event), weak=False, dispatch_uid=event)


def _happened(event: str, request: HttpRequest | None, **about: Any) -> None:
    owned = about.get("user") or about.get("sociallogin") or about.get("socialaccount")
    user = owned if isinstance(owned, User) else getattr(owned, "user", None)
    # allauth keeps in the session by what the person has signed in.
    records = getattr(request, "session", {}).get("account_authentication_methods", [])
    with_what = getattr(about.get("authenticator"), "type", "") or "+".join(record["method"] for record in records)
    note(event, user, request, with_what)


def _failed(request: HttpRequest | None = None, credentials: dict[str, Any] | None = None, **_: Any) -> None:
    """Note a failed attempt. A name that nobody has is left out, because people type their password there."""
    name = (credentials or {}).get("username", "")
    note("sign-in failed", User.objects.filter(username=name).first(), request, level=logging.WARNING)


def note(
    event: str, user: User | None, request: HttpRequest | None, with_what: str = "", level: int = logging.INFO
) -> None:
    """Write a line about what happened, and with what the person signed in."""
    who = repr(user.get_username()) if user else "nobody here"
    address = request.META.get("REMOTE_ADDR", "") if request else "terminal"
    log.log(level, "%s: user=%s with=%s address=%s", event, who, with_what or "-", address)
