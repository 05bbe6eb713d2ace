"""The forms of accounts: Django's own, in our words."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import PasswordChangeForm, UserCreationForm
from django.utils.translation import gettext_lazy as _


class SignUpForm(UserCreationForm):  # type: ignore[type-arg]  # not generic at run time
    """A name and a password for a new account; the page says once what a password must be."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        labels = {"username": _("Name"), "password1": _("Password"), "password2": _("Password, once more")}
        for name, label in labels.items():
            self.fields[name].label, self.fields[name].help_text = label, ""


class NewPasswordForm(PasswordChangeForm):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["new_password1"].help_text = ""
