"""The second factor: codes of an authenticator app or from a list, asked for before any page."""

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
CODE = re.compile(r"\d{6}|[a-z2-7]{8}", re.ASCII)  # of an app, or from the list of backup codes
View = TypeVar("View", bound=Callable[..., HttpResponse])


class Backend(ModelBackend):
    """Django's accounts, loaded together with whether each has a second factor: no question more at each request."""

    def get_user(self, user_id: int) -> Any:
        confirmed = TOTPDevice.objects.filter(user=OuterRef("pk"), confirmed=True)
        user = User.objects.annotate(has_second_factor=Exists(confirmed)).filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None


def code_not_required(view: View) -> View:
    """The few pages for who has given the password, but no code yet."""
    view.code_not_required = True  # type: ignore[attr-defined]
    return view


class SecondFactorMiddleware:
    """Who has a second factor gives a code before anything else; leads may be required to have one."""

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
            return _led_to(request, "code", gettext("Enter the code of your second factor to go on."))
        if settings.REQUIRE_SECOND_FACTOR and not getattr(view, "before_setting_up", False) and leads(user):
            words = gettext("Leads need a second factor here. Set one up to go on.")
            return _led_to(request, "second-factor", words)
        return None


def is_due(user: Any) -> bool:
    """Whether the person has given the password, and owes the code."""
    return bool(user.has_second_factor and not user.is_verified())


def before_setting_up(view: View) -> View:
    """The pages for a lead who has no second factor yet, where one is required."""
    view.before_setting_up = True  # type: ignore[attr-defined]
    return view


def leads(user: User) -> bool:
    return Membership.objects.leads().filter(user=user).exists()


def _led_to(request: HttpRequest, page: str, words: str) -> HttpResponse:
    if speaks_json(request):
        return problem(request, CodeNeeded(words))
    back = f"?{urlencode({'next': request.get_full_path()})}" if request.method == "GET" else ""
    return redirect(resolve_url(page) + back)


def accepted(user: User, typed: str) -> Device | None:
    """The person's device that a code is of, if it is right; it is used up, and a wrong one slows down the next."""
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
    """The device that waits for its first code."""
    locked(User.objects.filter(pk=user.pk)).get()
    if TOTPDevice.objects.filter(user=user, confirmed=True).exists():
        raise WrongState(
            gettext("Your second factor is already on. Turn it off first to set up another app.")
        )
    device, _ = TOTPDevice.objects.get_or_create(user=user, confirmed=False, defaults={"name": "app"})
    return device


@all_or_nothing
def turn_on(user: User, typed: str) -> list[str]:
    """Confirm the app by its first code: the backup codes, or none if the code is wrong."""
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
    """Ten codes that work once each, instead of those before."""
    locked(User.objects.filter(pk=user.pk)).get()
    device, _ = StaticDevice.objects.get_or_create(user=user, defaults={"name": "backup codes"})
    device.token_set.all().delete()
    codes = [StaticToken.random_token() for _ in range(BACKUP_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=code) for code in codes)
    return codes


def qr(device: TOTPDevice) -> SafeString:
    """What an app scans, as SVG that brings its own white ground."""
    drawn = segno.make(device.config_url, error="m").svg_inline(dark="#000", light="#fff", omitsize=True)
    return mark_safe(drawn)  # noqa: S308 - segno's own drawing: paths and numbers


def secret_of(device: TOTPDevice) -> str:
    """What is typed into an app that cannot scan: groups of four letters."""
    letters = b32encode(device.bin_key).decode()
    return " ".join(letters[start : start + 4] for start in range(0, len(letters), 4))
