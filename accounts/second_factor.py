"""The second factor: who must have one, and what allauth asks Reeljudge about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import urlencode

from allauth.account.auth_backends import AuthenticationBackend
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.adapter import WRONG_CODE
from base.database import decrypt, encrypt, prepared
from base.errors import CodeNeeded
from base.problem_documents import problem, speaks_json
from campaigns.access import creators
from campaigns.models import Membership

SINGLE = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)  # recovery codes alone are no second factor
BEFORE_SETTING_UP = ("/account/", "/sign-out/", "/language", "/sign-in/")


class Backend(AuthenticationBackend):  # type: ignore[misc]  # allauth has no types
    """allauth's accounts. They also say whether a second factor is missing, without another database query."""

    def get_user(self, user_id: int) -> Any:
        statement, constants = _person(settings.REQUIRE_SECOND_FACTOR)
        with prepared():
            user = next(iter(User.objects.raw(statement, [*constants, user_id])), None)
        return user if user and self.user_can_authenticate(user) else None


@cache
def _person(with_second_factor: bool) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that reads a person, which Django would write anew at each request, and its parameters.

    The person's primary key comes after these.
    """
    people = User.objects.filter(pk=0)
    if with_second_factor:
        leads = Membership.objects.leads().filter(user=OuterRef("pk"))
        factors = Authenticator.objects.filter(user=OuterRef("pk"), type__in=SINGLE)
        needs = Exists(leads) | Exists(creators().filter(pk=OuterRef("pk")))
        people = people.annotate(lacks_second_factor=needs & ~Exists(factors))
    statement, parameters = people.query.sql_with_params()
    return statement, parameters[:-1]


class RequiredMiddleware(MiddlewareMixin):
    """Leads leads to set up a second factor where one is required, before they see any page but their account."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        if not settings.REQUIRE_SECOND_FACTOR or request.path.startswith(BEFORE_SETTING_UP):
            return None
        if not getattr(request.user, "lacks_second_factor", False):
            return None
        if speaks_json(request):
            return problem(request, CodeNeeded(gettext("Leads need a second factor here. Set one up to go on.")))
        back = f"?{urlencode({'next': request.get_full_path()})}" if request.method == "GET" else ""
        return redirect(resolve_url("mfa_index") + back)


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """Encrypts the secrets that the database stores, and says things in our words."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": WRONG_CODE,
        "cannot_generate_recovery_codes": _("Set up an app or a passkey first."),
    }

    encrypt = staticmethod(encrypt)
    decrypt = staticmethod(decrypt)

    def get_totp_label(self, user: User) -> str:
        return f"Reeljudge:{user.get_username()}"

    def _get_user_identifier(self, user: User) -> str:
        return user.get_username()

    def _get_site_name(self) -> str:
        return "Reeljudge"

    def generate_authenticator_name(self, user: User, type: str) -> str:
        return gettext("Passkey")
