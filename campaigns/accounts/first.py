"""The first account of an installation, which is made in the browser by a link that `serve` prints."""

from __future__ import annotations

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import record_authentication
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from base.errors import NotFound
from campaigns.accounts.forms import SignUpForm
from campaigns.accounts.sessions import wait
from campaigns.models import FirstLink
from campaigns.models.invitation import hash_of
from jobs.registry import at_start

IN_SESSION = "first_link"  # the session stores the hash only, which opens nothing
TO_SIGN_UP = 3600  # seconds from opening the link


@at_start
def tell_the_link(address: str) -> list[str]:
    """Return the lines that a starting server prints while there is no account: a link that makes one."""
    if User.objects.exists():
        return []
    link = address.rstrip("/") + reverse("first-link", args=[FirstLink.objects.make()])
    return ["Nobody has an account here yet. Make the first one in a browser, within a day:", f"  {link}"]


@csrf_exempt
@login_not_required
def opened(request: HttpRequest, secret: str) -> HttpResponse:
    """Note in the session that the link was opened, and redirect to an address without the secret.

    As with invitations, the view accepts every method, because a refusal would be logged with its address.
    """
    if link := FirstLink.objects.open().filter(hash=hash_of(secret)).first():
        request.session[IN_SESSION] = link.hash
        wait(request, TO_SIGN_UP)
    elif IN_SESSION in request.session:
        del request.session[IN_SESSION]
    return redirect("first-account")


@login_not_required
@sensitive_post_parameters("password1", "password2")
@require_http_methods(["GET", "HEAD", "POST"])
def make(request: HttpRequest) -> HttpResponse:
    """Ask for a name and a password, and make the account."""
    link = FirstLink.objects.open().filter(hash=request.session.get(IN_SESSION, "")).first()
    if link is None:
        raise NotFound(
            "There is no such link. Open the whole link that the server printed when it started. It works once, for a "
            "day, and only while nobody has an account."
        )
    form = SignUpForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        # Slow on purpose, so before anything is locked.
        hashed = make_password(form.cleaned_data["password1"])
        user = link.make_account(form.cleaned_data["username"], hashed)
        _sign_in(request, user)
        messages.success(request, "Your account is made, and you are signed in. Create your first campaign.")
        return redirect(settings.LOGIN_REDIRECT_URL)
    return render(request, "accounts/first.html", {"form": form}, status=400 if form.is_bound else 200)


def _sign_in(request: HttpRequest, user: User) -> None:
    record_authentication(request, user, method="password")
    get_adapter().login(request, user)
    UserSession.objects.create_from_request(request)
    request.session.pop(IN_SESSION, None)
