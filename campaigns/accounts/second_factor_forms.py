"""The forms of the second factor: allauth's, which also refuse a code of an app for as long as it could be right."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.core import context
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.base.internal.flows import check_rate_limit
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal.auth import generate_totp_secret
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django import forms
from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ValidationError

from campaigns.accounts.adapter import why_not
from campaigns.accounts.encryption import decrypt, encrypt

SECOND_FACTOR = "the secret of an app that is being set up"  # in the session, encrypted
NAMED = 60  # characters of a passkey's name
RIGHT_FOR = 30 * (2 * settings.MFA_TOTP_TOLERANCE + 2)  # seconds: longer than any code of an app can be right


class UsedOnce(forms.Form):
    """Refuses the code of an app that was used.

    allauth remembers a code for half a minute only, although a tolerance lets it be right for longer.
    """

    user: Any
    authenticator: Authenticator

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        key = f"used-code:{self.user.pk}:{sha256(normalize_user_code(code).encode()).hexdigest()}"
        if cache.get(key):
            _counted(self.user, lambda: check_rate_limit(self.user))
            raise get_adapter().validation_error("incorrect_code")
        _counted(self.user, super().clean_code)  # type: ignore[misc]  # of the form of allauth's that comes next
        if self.authenticator.type == Authenticator.Type.TOTP and not cache.add(key, True, RIGHT_FOR):
            raise get_adapter().validation_error("incorrect_code")
        return code


def _counted(user: Any, check: Callable[[], Any]) -> None:
    """Check a code, and raise LockedOut or Busy instead of an error of the form if it was not looked at."""
    try:
        check()
    except ValidationError as fault:
        if fault.code in ("too_many_login_attempts", "rate_limited"):
            raise why_not(context.request, f"mfa-auth-user-{user.pk}", user) from fault
        raise


class CodeForm(UsedOnce, AuthenticateForm):  # type: ignore[misc]  # allauth has no types
    pass


class ConfirmCodeForm(UsedOnce, ReauthenticateForm):  # type: ignore[misc]
    pass


class SetUpAppForm(ActivateTOTPForm):  # type: ignore[misc]
    """The first code of an app. Until it comes, the session stores the app's secret, encrypted."""

    def __init__(self, *arguments: Any, user: Any, **options: Any) -> None:
        self.user = user
        forms.Form.__init__(self, *arguments, **options)  # allauth's would store the secret as it is
        session = context.request.session
        if SECOND_FACTOR not in session:
            session[SECOND_FACTOR] = encrypt(generate_totp_secret())
        self.secret = decrypt(session[SECOND_FACTOR])

    def clean_code(self) -> str:
        _counted(self.user, super().clean_code)
        return str(self.cleaned_data["code"])


class Hostile(forms.Form):
    """Refuses what no browser sends as a passkey, which the library does not expect."""

    def full_clean(self) -> None:
        try:
            super().full_clean()
        except (AttributeError, KeyError, TypeError, ValueError):
            self.cleaned_data = {}
            self.add_error(None, get_adapter().validation_error("incorrect_code"))


class AddPasskeyForm(Hostile, AddWebAuthnForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["name"].widget.attrs["maxlength"] = NAMED

    def clean_name(self) -> str:
        return str(super().clean_name())[:NAMED]


class PasskeyForm(Hostile, AuthenticateWebAuthnForm):  # type: ignore[misc]
    pass


class ConfirmPasskeyForm(Hostile, ReauthenticateWebAuthnForm):  # type: ignore[misc]
    pass


class SignInPasskeyForm(Hostile, LoginWebAuthnForm):  # type: ignore[misc]
    pass
