"""Who may sign in by OpenID Connect: people who are known here or invited, and nobody else."""

from __future__ import annotations

import functools
from typing import Any

from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from allauth.utils import generate_unique_username
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.invitations import IN_SESSION, confirm_address, in_session, welcome
from base.errors import Refused
from base.transactions import all_or_nothing
from campaigns.models import Invitation


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Believe only addresses that the provider has confirmed, and that are nobody else's here."""
        if sociallogin.is_existing:
            return
        sociallogin.email_addresses = [
            each
            for each in sociallogin.email_addresses
            if each.verified and not EmailAddress.objects.filter(email=each.email.lower()).exists()
        ]
        sociallogin.user.email = ""

    def authenticate_by_email(self, sociallogin: SocialLogin) -> tuple[User, str] | None:
        """Return the account with an address that both its owner and the provider have confirmed, and the address."""
        given = [each.email.lower() for each in sociallogin.email_addresses if each.verified]
        known = EmailAddress.objects.filter(email__in=given, verified=True).select_related("user").first()
        return (known.user, known.email) if known else None

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return True for somebody who is invited. Raises Refused for a stranger; the message says what to do."""
        if _invitation(request, sociallogin):
            return True
        raise Refused(
            _(
                "There is no account here for the one that you signed in with at %(provider)s. If you have an account, "
                "sign in with your password and connect it under your name. If you were invited, open the link of your "
                "invitation first."
            )
            % {"provider": sociallogin.provider.name}
        )

    @all_or_nothing
    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Make the account, and the membership that the invitation is for, both or neither."""
        user: User = sociallogin.user
        user.set_unusable_password()
        claims = sociallogin.account.get_provider_account().get_user_data()
        names = [claims.get(name) for name in ("preferred_username", "email", "name")]
        user.username = generate_unique_username([*names, "user"])
        invitation = _invitation(request, sociallogin)
        sociallogin.save(request)
        assert invitation
        invitation.accept(user)
        confirm_address(user, invitation)
        request.session.pop(IN_SESSION, None)
        sociallogin.state["next"] = reverse("home")  # not back to the invitation, which is used
        welcome(request, invitation)
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("account")

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        """Say on the page to sign in what went wrong, whatever it was."""
        stopped = _("You stopped signing in at %(provider)s.") % {"provider": settings.OIDC_NAME}
        messages.error(request, stopped if error == AuthError.CANCELLED else not_working())
        raise ImmediateHttpResponse(redirect("account" if request.user.is_authenticated else "account_login"))

    def get_requests_session(self) -> Any:
        """Follow no redirects: the server asks the provider that the settings name, at the addresses that it gives."""
        session = super().get_requests_session()
        session.request = functools.partial(session.request, allow_redirects=False)
        return session


def not_working() -> str:
    message = _("Signing in at %(provider)s did not work. Try again, or sign in with your password.")
    return message % {"provider": settings.OIDC_NAME}


def _invitation(request: HttpRequest, sociallogin: SocialLogin) -> Invitation | None:
    """Return the open invitation of who signs in: the one whose link was opened, or one sent to a confirmed address."""
    opened = in_session(request)
    if opened and opened.is_open:
        return opened
    given = [each.email.lower() for each in sociallogin.email_addresses if each.verified]
    return Invitation.objects.open().select_related("campaign").filter(address__in=given).first()
