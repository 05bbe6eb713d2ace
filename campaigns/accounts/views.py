"""The pages of a person's account: the password, the second factor, and its code at sign-in."""

from __future__ import annotations

from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.contrib import messages
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.views import PasswordChangeView
from django.contrib.messages.views import SuccessMessageMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse_lazy
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_otp import login as otp_login
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticToken

from campaigns import doors
from campaigns.accounts import second_factor
from campaigns.accounts.forms import NewPasswordForm
from campaigns.accounts.second_factor import before_setting_up, code_not_required

page_or_form = require_http_methods(["GET", "HEAD", "POST"])


class ChangePassword(SuccessMessageMixin, PasswordChangeView):  # type: ignore[type-arg]
    form_class = NewPasswordForm
    template_name = "accounts/password.html"
    success_url = reverse_lazy("account")
    success_message = gettext_lazy("Your password is changed.")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Change the password. Wrong present passwords count towards the lock-out as those of signing in do."""
        if not _may_try(request):
            return HttpResponse()  # axes' middleware says in its place that this name is locked out
        answer: HttpResponse = super().post(request, *args, **kwargs)
        return answer

    def form_invalid(self, form: PasswordChangeForm) -> HttpResponse:
        if form.has_error("old_password", "password_incorrect"):
            _failed(self.request)
        return super().form_invalid(form)


@require_safe
@before_setting_up
def account(request: HttpRequest) -> HttpResponse:
    left = StaticToken.objects.filter(device__user=request.user.pk).count()
    return render(request, "accounts/account.html", {"backup_codes_left": left})


@code_not_required
@page_or_form
def code(request: HttpRequest) -> HttpResponse:
    """The second step of signing in."""
    user = doors.signed_in(request)
    onward = _onward(request)
    if not second_factor.is_due(user):
        return redirect(onward)
    if request.method == "POST" and (device := _accepted(request, user)):
        otp_login(request, device)
        request.session.cycle_key()
        return redirect(onward)
    context = {"next": onward, "wrong": request.method == "POST"}
    return render(request, "accounts/code.html", context)


@page_or_form
@before_setting_up
def set_up(request: HttpRequest) -> HttpResponse:
    """Show the QR code for the app. The app's first code turns the second factor on."""
    user = doors.signed_in(request)
    if request.method == "POST" and (codes := second_factor.turn_on(user, request.POST.get("code", ""))):
        otp_login(request, second_factor.app_of(user))
        return render(request, "accounts/backup_codes.html", {"codes": codes, "fresh": True})
    device = second_factor.begin(user)
    context = {"qr": second_factor.qr(device), "secret": second_factor.secret_of(device)}
    return render(request, "accounts/second_factor.html", context | {"wrong": request.method == "POST"})


@require_POST
def backup_codes(request: HttpRequest) -> HttpResponse:
    user = doors.signed_in(request)
    if not _accepted(request, user):
        return _refused(request)
    codes = second_factor.new_backup_codes(user)
    return render(request, "accounts/backup_codes.html", {"codes": codes})


@require_POST
def turn_off(request: HttpRequest) -> HttpResponse:
    user = doors.signed_in(request)
    if not _accepted(request, user):
        return _refused(request)
    second_factor.turn_off(user)
    messages.success(request, _("The second factor is off. From now on your password is enough to sign in."))
    return redirect("account")


def _accepted(request: HttpRequest, user: User) -> Device | None:
    """Return the device whose code was sent, or None. Wrong codes count towards the lock-out as wrong passwords do."""
    if not _may_try(request):
        return None
    device = second_factor.accepted(user, request.POST.get("code", ""))
    if device is None:
        _failed(request)
    return device


def _may_try(request: HttpRequest) -> bool:
    """Return whether the signed-in person is not locked out; otherwise axes' middleware answers."""
    is_allowed = bool(AxesProxyHandler.is_allowed(request, _credentials(request)))
    request.axes_locked_out = not is_allowed  # type: ignore[attr-defined]  # the interface of axes' middleware
    return is_allowed


def _failed(request: HttpRequest) -> None:
    user_login_failed.send(__name__, credentials=_credentials(request), request=request)


def _credentials(request: HttpRequest) -> dict[str, str]:
    return {"username": doors.signed_in(request).get_username()}


def _refused(request: HttpRequest) -> HttpResponse:
    messages.error(request, _("That code is wrong, or was used before. Wait for the next one."))
    return redirect("account")


def _onward(request: HttpRequest) -> str:
    """Return the address that the person wanted, if it is on this site, and else that of the home page."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_ours else resolve_url("home")
