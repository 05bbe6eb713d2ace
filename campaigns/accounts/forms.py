"""The forms of accounts: allauth's and Django's, in our words, and the rule that a password is hard to guess."""

from __future__ import annotations

from typing import Any

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
from django.contrib.auth.forms import UserCreationForm
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from campaigns.accounts import sessions

FIRST, SECOND = _("New password"), _("New password, once more")
# Words of this site; docs/security.md names them too.
WORDS = [
    *("reeljudge", "annotate", "annotator", "judge", "lead", "researcher"),
    *("campaign", "batch", "query", "video", "moment", "clip", "grade", "relevance", "retrieval"),
]
LOOKED_AT = 72  # characters; zxcvbn takes longer than in proportion, and this many are enough
EASY = _("This password is easy to guess. Put several words together that nobody expects.")
ENOUGH = 3  # of zxcvbn's scores from 0 to 4: at least 100 million guesses


def _say(form: BaseForm, labels: dict[str, str | Promise]) -> None:
    """Label the fields of a form of allauth's, without its help and the words that it puts into empty fields."""
    for name, label in labels.items():
        field = form.fields[name]
        field.label, field.help_text = label, ""  # type: ignore[assignment]  # lazy texts
        field.widget.attrs.pop("placeholder", None)


class SignUpForm(UserCreationForm):  # type: ignore[type-arg]  # not generic at run time
    """A name and a password for a new account; the page says once what a password must be."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _say(self, {"username": _("Name"), "password1": _("Password"), "password2": _("Password, once more")})


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth has no types
    """A name or a mail address, and the password. The first field is sent as `username`, which browsers know."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _say(self, {"login": _("Name or mail address"), "password": _("Password")})
        self.fields["login"].widget.attrs |= {"autocomplete": "username", "autocapitalize": "none"}
        self.fields["password" if self.is_bound else "login"].widget.attrs["autofocus"] = True

    def login(self, request: HttpRequest, redirect_url: str | None = None) -> HttpResponse:
        """Sign the person in, or ask for a second factor. allauth's form would prolong the session at each write."""
        answer: HttpResponse = super().login(request, redirect_url)
        sessions.limit(request)
        return answer

    def add_prefix(self, field_name: str) -> str:
        return str(super().add_prefix("username" if field_name == "login" else field_name))


class NewPasswordForm(ChangePasswordForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _say(self, {"oldpassword": _("Present password"), "password1": FIRST, "password2": SECOND})

    def clean_oldpassword(self) -> str:
        """Check the present password. Wrong ones count towards the lock-out as those of signing in do."""
        typed: str = self.cleaned_data["oldpassword"]
        if not get_adapter().reauthenticate(self.user, typed):
            raise get_adapter().validation_error("enter_current_password")
        return typed


class FirstPasswordForm(SetPasswordForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _say(self, {"password1": FIRST, "password2": SECOND})


class ResetForm(ResetPasswordKeyForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _say(self, {"password1": FIRST, "password2": SECOND})


class ConfirmForm(ReauthenticateForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _say(self, {"password": _("Your password")})


class ForgottenForm(ResetPasswordForm):  # type: ignore[misc]
    """Sends a link to whoever confirmed that address, and says nothing about whether there is somebody."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _say(self, {"email": _("Mail address")})

    def clean_email(self) -> str:
        address: str = self.cleaned_data["email"].lower()
        confirmed = EmailAddress.objects.filter(email=address, verified=True, user__is_active=True)
        self.users = [each.user for each in confirmed.select_related("user")]
        return address


class MailAddressForm(AddEmailForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _say(self, {"email": _("Mail address")})


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
