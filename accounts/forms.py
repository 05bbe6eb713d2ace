"""The forms of accounts: allauth's and Django's, in our words; passwords hard to guess, and codes that work once."""

from __future__ import annotations

import secrets
from base64 import b32encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, ClassVar

from allauth.account.adapter import get_adapter
from allauth.account.forms import (
    AddEmailForm,
    ChangePasswordForm,
    LoginForm,
    ReauthenticateForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
)
from allauth.account.models import EmailAddress
from allauth.core import context, ratelimit
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.forms import ReauthenticateForm as ReauthenticateByCodeForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django import forms
from django.conf import settings
from django.contrib.auth.forms import UserCreationForm
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop, ngettext_lazy
from fido2.webauthn import AuthenticationResponse

from accounts.adapter import limit, why_not
from base.database import decrypt, encrypt

FIRST, SECOND = _("New password"), _("New password, once more")
# Words of this site; docs/security.md names them too.
WORDS = [
    *("reeljudge", "annotate", "annotator", "judge", "lead", "researcher"),
    *("campaign", "batch", "query", "video", "moment", "clip", "grade", "relevance", "retrieval"),
]
LOOKED_AT = 72  # characters; zxcvbn takes longer than in proportion, and this many are enough
EASY = _("This password is easy to guess. Put several words together that nobody expects.")
ENOUGH = 3  # of zxcvbn's scores from 0 to 4: at least 100 million guesses
# What Django and allauth say in these forms. They do not know each of our languages, and ours come first.
OF_LIBRARIES = [
    gettext_noop("This field is required."),
    gettext_noop("Enter a valid email address."),
    gettext_noop("Enter a valid username. This value may contain only letters, numbers, and @/./+/-/_ characters."),
    gettext_noop("A user with that username already exists."),
    gettext_noop("The two password fields didn’t match."),
    gettext_noop("You must type the same password each time."),
    ngettext_lazy(
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
    ),
    gettext_noop("This password is too common."),
    gettext_noop("Null characters are not allowed."),
]
SECOND_FACTOR = "the secret of an app that is being set up"  # in the session, encrypted
RIGHT_FOR = 30 * (2 * settings.MFA_TOTP_TOLERANCE + 2)  # seconds: longer than any code of an app can be right


class Labelled(forms.Form):
    """Labels the fields of a form, without its help and the words that allauth puts into empty fields."""

    labels: ClassVar[dict[str, str | Promise]]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name, label in self.labels.items():
            field = self.fields[name]
            field.label, field.help_text = label, ""  # type: ignore[assignment]  # lazy texts
            field.widget.attrs.pop("placeholder", None)


class SignUpForm(Labelled, UserCreationForm):  # type: ignore[type-arg]  # not generic at run time
    """A name and a password for a new account; the page says once what a password must be."""

    labels = {"username": _("Name"), "password1": _("Password"), "password2": _("Password, once more")}


class SignInForm(Labelled, LoginForm):  # type: ignore[misc]  # allauth has no types
    """A name or a mail address, and the password. The first field is sent as `username`, which browsers know."""

    labels = {"login": _("Name or e-mail address"), "password": _("Password")}

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["login"].widget.attrs |= {"autocomplete": "username", "autocapitalize": "none"}
        self.fields["password" if self.is_bound else "login"].widget.attrs["autofocus"] = True

    def login(self, request: HttpRequest, redirect_url: str | None = None) -> HttpResponse:
        """Sign the person in, or ask for a second factor. allauth's form would prolong the session at each write."""
        answer: HttpResponse = super().login(request, redirect_url)
        limit(request)
        return answer

    def add_prefix(self, field_name: str) -> str:
        return str(super().add_prefix("username" if field_name == "login" else field_name))


class NewPasswordForm(Labelled, ChangePasswordForm):  # type: ignore[misc]
    labels = {"oldpassword": _("Present password"), "password1": FIRST, "password2": SECOND}

    def clean_oldpassword(self) -> str:
        """Check the present password. Wrong ones count towards the lock-out as those of signing in do."""
        typed: str = self.cleaned_data["oldpassword"]
        if not get_adapter().reauthenticate(self.user, typed):
            raise get_adapter().validation_error("enter_current_password")
        return typed


class FirstPasswordForm(Labelled, SetPasswordForm):  # type: ignore[misc]
    labels = {"password1": FIRST, "password2": SECOND}


class ResetForm(Labelled, ResetPasswordKeyForm):  # type: ignore[misc]
    labels = {"password1": FIRST, "password2": SECOND}


class ConfirmForm(Labelled, ReauthenticateForm):  # type: ignore[misc]
    labels = {"password": _("Your password")}


class ForgottenForm(Labelled, ResetPasswordForm):  # type: ignore[misc]
    """Sends a link to whoever confirmed that address, and says nothing about whether there is somebody."""

    labels = {"email": _("E-mail address")}

    def clean_email(self) -> str:
        address: str = self.cleaned_data["email"].lower()
        confirmed = EmailAddress.objects.filter(email=address, verified=True, user__is_active=True)
        self.users = [each.user for each in confirmed.select_related("user")]
        return address


class MailAddressForm(Labelled, AddEmailForm):  # type: ignore[misc]
    labels = {"email": _("E-mail address")}


class HardToGuess:
    """Refuses what zxcvbn finds easy: common words and passwords, names, dates, rows of keys, however combined."""

    def validate(self, password: str, user: Any = None) -> None:
        from zxcvbn import zxcvbn  # its lists take 14 MB, so a process loads them once it needs them

        own = [user.get_username(), user.first_name, user.last_name, user.email] if user else []
        known = WORDS + [word for word in own if word]
        if zxcvbn(password[:LOOKED_AT], user_inputs=known)["score"] < ENOUGH:
            raise ValidationError(EASY, code="easy_to_guess")

    def get_help_text(self) -> str:
        return str(EASY)


class UsedOnce(forms.Form):
    """Refuses the code of an app that was used.

    allauth remembers a code for half a minute only, although a tolerance lets it be right for longer.
    """

    user: Any
    authenticator: Authenticator

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        key = _used(self.user, code)
        if cache.get(key):
            if not ratelimit.consume(context.request, action="login_failed", key=_attempts(self.user)):
                raise why_not(context.request, _attempts(self.user), self.user)
            raise get_adapter().validation_error("incorrect_code")
        _counted(self.user, super().clean_code)  # type: ignore[misc]  # of the form of allauth's that comes next
        if self.authenticator.type == Authenticator.Type.TOTP and not cache.add(key, True, RIGHT_FOR):
            raise get_adapter().validation_error("incorrect_code")
        return code


def _used(user: Any, code: str) -> str:
    """Return the name in the cache of a code that was used."""
    typed = "".join(filter(str.isalnum, code)).lower()  # allauth accepts spaces and punctuation
    return f"used-code:{user.pk}:{sha256(typed.encode()).hexdigest()}"


def _attempts(user: Any) -> str:
    """Return the key by which allauth counts the wrong codes of a person."""
    return f"mfa-auth-user-{user.pk}"


def _counted(user: Any, check: Callable[[], Any]) -> None:
    """Check a code, and raise LockedOut or Busy instead of an error of the form if it was not looked at."""
    try:
        check()
    except ValidationError as fault:
        if fault.code in ("too_many_login_attempts", "rate_limited"):
            raise why_not(context.request, _attempts(user), user) from fault
        raise


class CodeForm(UsedOnce, AuthenticateForm):  # type: ignore[misc]  # allauth has no types
    pass


class ConfirmCodeForm(UsedOnce, ReauthenticateByCodeForm):  # type: ignore[misc]
    pass


class SetUpAppForm(ActivateTOTPForm):  # type: ignore[misc]
    """The first code of an app. Until it comes, the session stores the app's secret, encrypted."""

    def __init__(self, *arguments: Any, user: Any, **options: Any) -> None:
        self.user = user
        forms.Form.__init__(self, *arguments, **options)  # allauth's would store the secret as it is
        session = context.request.session
        if SECOND_FACTOR not in session:
            session[SECOND_FACTOR] = encrypt(b32encode(secrets.token_bytes(20)).decode())
        self.secret = decrypt(session[SECOND_FACTOR])

    def clean_code(self) -> str:
        _counted(self.user, super().clean_code)
        code = str(self.cleaned_data["code"])
        cache.set(_used(self.user, code), True, RIGHT_FOR)
        return code


class Hostile(forms.Form):
    """Refuses what no browser sends as a passkey, which the library does not expect."""

    def full_clean(self) -> None:
        try:
            super().full_clean()
        except (AttributeError, KeyError, TypeError, ValueError):
            self.cleaned_data = {}
            self.add_error(None, get_adapter().validation_error("incorrect_code"))


class AddPasskeyForm(Hostile, AddWebAuthnForm):  # type: ignore[misc]
    name = forms.CharField(required=False, max_length=60)


class PasskeyForm(Hostile, AuthenticateWebAuthnForm):  # type: ignore[misc]
    pass


class ConfirmPasskeyForm(Hostile, ReauthenticateWebAuthnForm):  # type: ignore[misc]
    pass


class SignInPasskeyForm(Hostile, LoginWebAuthnForm):  # type: ignore[misc]
    def clean_credential(self) -> Authenticator:
        """Refuse a key that was not unlocked by a PIN or a finger: it alone is no proof of who has it.

        allauth asks for that by its challenge, but takes any challenge of the session, also that of a second factor,
        which asks for less.
        """
        authenticator: Authenticator = super().clean_credential()
        answer = AuthenticationResponse.from_dict(self.cleaned_data["credential"])
        if not answer.response.authenticator_data.is_user_verified():
            raise get_adapter().validation_error("incorrect_code")
        return authenticator
