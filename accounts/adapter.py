"""What allauth asks about accounts: whom to lock out, what to say, how mails are sent, and how long sessions last."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.account.utils import filter_users_by_email, filter_users_by_username
from allauth.core import context
from allauth.core.internal import ratelimit  # the public module only reads a count by writing to the cache
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts import security_log
from base.errors import Busy, LockedOut, ReeljudgeError, Refused
from campaigns import mails

COUNTED = {"app": "allauth.account", "action": "login_failed"}


def wait(request: HttpRequest, seconds: int) -> None:
    """Give somebody who is not signed in that much time, where ten minutes are too few."""
    if not request.user.is_authenticated:
        request.session.set_expiry(seconds)


def limit(request: HttpRequest) -> None:
    """Let the session end 14 days from now, however often it is written, or soon if nobody is signed in yet."""
    signed_in = request.user.is_authenticated
    request.session.set_expiry(timedelta(seconds=settings.SESSION_COOKIE_AGE) if signed_in else None)


WRONG = _("The name or the password is wrong. Capital letters count in the password.")
WRONG_CODE = _("That code is wrong, or was used before. Wait for the next one.")
ERRORS = {
    "email_password_mismatch": WRONG,
    "username_password_mismatch": WRONG,
    "enter_current_password": _("This is not your present password."),
    "incorrect_password": _("This is not your present password."),
    "incorrect_code": WRONG_CODE,
    "duplicate_email": _("This is your address already."),
    "email_taken": _("Somebody else has this address."),
    "rate_limited": _("There were too many attempts. Try again in a quarter of an hour."),
}
# What is said once something is done; what is not named here is not said.
DONE = {
    "account/messages/password_changed.txt": _("Your password is changed."),
    "account/messages/password_set.txt": _("Your password is set."),
    "account/messages/email_confirmation_sent.txt": _("An e-mail with a link is on its way to you."),
    "account/messages/email_confirmed.txt": _("Your e-mail address is confirmed."),
    "account/messages/email_confirmation_failed.txt": _("Somebody else has confirmed this address."),
    "account/messages/email_deleted.txt": _("The e-mail address is removed."),
    "mfa/messages/totp_activated.txt": _("The app is set up. Your other sessions have ended."),
    "mfa/messages/totp_deactivated.txt": _("The app is removed."),
    "mfa/messages/webauthn_added.txt": _("The passkey is set up. Your other sessions have ended."),
    "mfa/messages/webauthn_removed.txt": _("The passkey is removed."),
    "usersessions/messages/sessions_logged_out.txt": _("All your other sessions have ended."),
    "socialaccount/messages/account_connected.txt": _("You can sign in that way from now on."),
    "socialaccount/messages/account_connected_other.txt": _("That account belongs to somebody else here."),
    "socialaccount/messages/account_disconnected.txt": _("You can no longer sign in that way."),
}


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    error_messages = DefaultAccountAdapter.error_messages | ERRORS

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # A name is locked out for the address that tried it only, so that no stranger can lock out a lead.
        # A name and its mail address count together.
        name, user = _typed(credentials), account_of(credentials)
        who = f"account {user.pk}" if user else f"name {name.lower()}"
        return f"{who} from {ratelimit.get_ip(request)}"

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Look whether there were too many wrong attempts. Only a wrong one is counted: a right one costs no write.

        Raises LockedOut if there were too many.
        """
        if is_full(request, self._get_login_attempts_cache_key(request, **credentials)):
            raise locked(request, account_of(credentials))

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Count the wrong attempt.

        Raises Busy if the database cannot count it now; nobody learns whether the password was right.
        """
        key = self._get_login_attempts_cache_key(request, **credentials)
        if not ratelimit.consume(request, **COUNTED, key=key):
            raise why_not(request, key, account_of(credentials))

    def login(self, request: HttpRequest, user: User) -> None:
        super().login(request, user)
        limit(request)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        raise Refused(_("This account is closed. Ask your lead."))

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        try:
            return str(super().get_client_ip(request))
        except PermissionDenied:  # there is none on a socket
            return ""

    def is_reauthentication_required(self, *, app: str, **options: Any) -> bool:
        """Return whether the person must give the password again: not within minutes of signing in."""
        if not super().is_reauthentication_required(app=app, **options):
            return False
        records = context.request.session.get(AUTHENTICATION_METHODS_SESSION_KEY, [])
        since = time.time() - settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
        return not any(record["at"] > since for record in records)

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        for method in methods:
            method["description"] = METHODS[method["id"]]
        return methods

    def add_message(
        self, request: HttpRequest, level: int, message_template: str | None = None, *rest: Any, **options: Any
    ) -> None:
        if message := options.get("message") or DONE.get(message_template or ""):
            messages.add_message(request, level, message)

    def send_password_reset_mail(self, user: User, email: str, context: dict[str, Any]) -> None:
        mails.ask_for(mails.mail_new_password, user, self.request)

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        mails.ask_for(mails.mail_confirmation, emailconfirmation.email_address, request)


def account_of(credentials: dict[str, Any]) -> User | None:
    """Return the account that somebody wants to sign in to, by its name or its mail address."""
    name = _typed(credentials)
    named = [user for user in filter_users_by_username(name) if user.get_username().lower() == name.lower()]
    users = named if len(named) == 1 else filter_users_by_email(name, prefer_verified=True)
    return min(users, key=lambda user: user.pk, default=None)


def _typed(credentials: dict[str, Any]) -> str:
    return credentials.get("username") or credentials.get("email") or ""


def is_full(request: HttpRequest, key: str) -> bool:
    """Return whether there were as many wrong attempts as the settings allow, by one of their rates."""
    rates = ratelimit.get_rates(**COUNTED)
    keys = {ratelimit.get_cache_key(request, **COUNTED, rate=rate, key=key): rate for rate in rates}
    now, counted = time.time(), cache.get_many(keys)
    return not all(
        ratelimit.apply_rate(counted.get(name, []), now, rate, dry_run=True)[0] for name, rate in keys.items()
    )


def locked(request: HttpRequest, user: User | None) -> LockedOut:
    """Return the error for an attempt that is not looked at, because there were too many wrong ones, and note it."""
    security_log.note("locked out", user, request, level=logging.WARNING)
    return LockedOut(TOO_MANY)


def why_not(request: HttpRequest, key: str, user: User | None) -> ReeljudgeError:
    """Return why an attempt was not let through, which allauth does not say: too many, or a database that is busy."""
    if is_full(request, key):
        return locked(request, user)
    return Busy(_("The database cannot do this now. Go back and try again in a moment."))


TOO_MANY = _(
    "There were too many wrong passwords or codes for this name from here. Try again in a quarter of an hour, or ask "
    "your lead."
)
METHODS = {
    "reauthenticate": _("Use your password"),
    "mfa_reauthenticate": _("Use a code of your app, or a recovery code"),
    "mfa_reauthenticate:webauthn": _("Use a passkey"),
}
