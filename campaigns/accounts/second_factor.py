"""The second factor: codes of an authenticator app, or backup codes, which people give before they see any page."""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

import segno
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django_otp import verify_token
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from base.errors import CodeNeeded, WrongState
from base.problem_documents import problem, speaks_json
from base.transactions import all_or_nothing, locked
from campaigns.models import Membership

BACKUP_CODES = 10
CODE = re.compile(r"\d{6}|[a-z2-7]{8}", re.ASCII)  # the code of an app, or a backup code
View = TypeVar("View", bound=Callable[..., HttpResponse])


class Backend(ModelBackend):
    """Django's accounts, which also say whether they have a second factor, without another database query."""

    def get_user(self, user_id: int) -> Any:
        confirmed = TOTPDevice.objects.filter(user=OuterRef("pk"), confirmed=True)
        user = User.objects.annotate(has_second_factor=Exists(confirmed)).filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


def code_not_required(view: View) -> View:
    """Mark a view that people can reach after the password and before the code.

    The mark is an attribute of the view, as Django's `login_not_required` sets one.
    """
    view.code_not_required = True  # type: ignore[attr-defined]
    return view


class SecondFactorMiddleware:
    """Asks people with a second factor for a code before any page, and leads to set one up if that is required."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        user: Any = request.user
        if not user.is_authenticated or user.is_verified() or getattr(view, "code_not_required", False):
            return None
        if is_due(user):
            return _redirect_to(request, "code", gettext("Enter the code of your second factor to go on."))
        if settings.REQUIRE_SECOND_FACTOR and not getattr(view, "before_setting_up", False) and leads(user):
            message = gettext("Leads need a second factor here. Set one up to go on.")
            return _redirect_to(request, "second-factor", message)
        return None


def is_due(user: Any) -> bool:
    """Return whether the person has given the password and still has to give the code."""
    return bool(user.has_second_factor and not user.is_verified())


def before_setting_up(view: View) -> View:
    """Mark a view that leads can reach before they set up a second factor that is required of them."""
    view.before_setting_up = True  # type: ignore[attr-defined]
    return view


def leads(user: User) -> bool:
    return Membership.objects.leads().filter(user=user).exists()


def _redirect_to(request: HttpRequest, page: str, message: str) -> HttpResponse:
    if speaks_json(request):
        return problem(request, CodeNeeded(message))
    back = f"?{urlencode({'next': request.get_full_path()})}" if request.method == "GET" else ""
    return redirect(resolve_url(page) + back)


def accepted(user: User, typed: str) -> Device | None:
    """Return the person's device that a code belongs to, or None if the code is wrong.

    A right code is used up. After a wrong code the person must wait before the next one.
    """
    code = typed[:40].replace(" ", "").replace("-", "").lower()
    if not CODE.fullmatch(code):
        return None
    kind = TOTPDevice if code.isdigit() and len(code) == 6 else StaticDevice
    device = kind.objects.filter(user=user, confirmed=True).first()
    return verify_token(user, device.persistent_id, code) if device else None


def app_of(user: User) -> TOTPDevice:
    return TOTPDevice.objects.get(user=user, confirmed=True)


@all_or_nothing
def begin(user: User) -> TOTPDevice:
    """Return the person's app device that waits for its first code, made if there is none.

    Raises
    ------
    WrongState
        If the person has a second factor already.
    """
    locked(User.objects.filter(pk=user.pk)).get()
    if TOTPDevice.objects.filter(user=user, confirmed=True).exists():
        raise WrongState(
            gettext("Your second factor is already on. Turn it off first to set up another app.")
        )
    device, _ = TOTPDevice.objects.get_or_create(user=user, confirmed=False, defaults={"name": "app"})
    return device


@all_or_nothing
def turn_on(user: User, typed: str) -> list[str]:
    """Confirm the app by its first code. Return the backup codes, or an empty list if the code is wrong."""
    device = locked(TOTPDevice.objects.filter(pk=begin(user).pk)).get()
    code = typed[:40].replace(" ", "")
    if not CODE.fullmatch(code) or not device.verify_token(code):
        return []
    device.confirmed = True
    device.save(update_fields=["confirmed"])
    return new_backup_codes(user)


@all_or_nothing
def turn_off(user: User) -> None:
    TOTPDevice.objects.filter(user=user).delete()
    StaticDevice.objects.filter(user=user).delete()


@all_or_nothing
def new_backup_codes(user: User) -> list[str]:
    """Replace the person's backup codes by ten new ones. Each works once."""
    locked(User.objects.filter(pk=user.pk)).get()
    device, _ = StaticDevice.objects.get_or_create(user=user, defaults={"name": "backup codes"})
    device.token_set.all().delete()
    codes = [StaticToken.random_token() for _ in range(BACKUP_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=code) for code in codes)
    return codes


def qr(device: TOTPDevice) -> SafeString:
    """Return the QR code that an app scans, as SVG with a white background."""
    drawn = segno.make(device.config_url, error="m").svg_inline(dark="#000", light="#fff", omitsize=True)
    return mark_safe(drawn)  # noqa: S308 - segno's own drawing: paths and numbers


def secret_of(device: TOTPDevice) -> str:
    """Return the secret for apps that cannot scan, in groups of four letters."""
    letters = b32encode(device.bin_key).decode()
    return " ".join(letters[start : start + 4] for start in range(0, len(letters), 4))
