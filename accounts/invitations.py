"""The pages of links by which people get an account: an invitation, and the first account of an installation."""

from __future__ import annotations

import time

from allauth.account.adapter import get_adapter
from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.adapter import wait
from accounts.forms import SignUpForm
from accounts.models import FirstLink
from base.errors import NotFound
from base.transactions import all_or_nothing
from campaigns import access
from campaigns.models import Invitation, Membership
from campaigns.models.invitation import hash_of

IN_SESSION = "invitation"  # the session stores the hash only, which opens nothing
TO_JOIN = 24 * 3600  # seconds from opening the link
FIRST_IN_SESSION = "first_link"  # the session stores the hash only, which opens nothing
TO_SIGN_UP = 3600  # seconds from opening the link


@csrf_exempt
@login_not_required
def opened(request: HttpRequest, secret: str) -> HttpResponse:
    """Store the invitation in the session if there is one, and redirect to an address without the secret.

    So no later page, form or log entry repeats the secret, and guesses leave no sessions. The view accepts every
    method, because a refusal would be logged with its address.
    """
    if invitation := Invitation.objects.filter(hash=hash_of(secret)).first():
        invitation.note_opened()
        request.session[IN_SESSION] = invitation.hash
        wait(request, TO_JOIN)
    elif IN_SESSION in request.session:
        del request.session[IN_SESSION]
    return redirect("join")


@login_not_required
@sensitive_post_parameters("password1", "password2")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Let the person join the campaign, with a new account if nobody is signed in."""
    invitation = in_session(request)
    if invitation is None:
        raise NotFound(_("There is no such invitation. Open the whole link, or ask your lead for a new one."))
    user = access.signed_in(request) if request.user.is_authenticated else None
    if user and (news := _known(invitation, user)):
        del request.session[IN_SESSION]
        messages.info(request, news)
        return redirect("home")
    invitation.must_be_open()
    form: SignUpForm | None = None
    if user is None:
        initial = {"username": ".".join(invitation.name.lower().split())}
        form = SignUpForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and (form is None or form.is_valid()):
        return _come_in(request, invitation, user, form)
    role = Membership.Role(invitation.role).label.lower()
    context = {"invitation": invitation, "role": role, "form": form}
    return render(request, "accounts/invitation.html", context)


def _known(invitation: Invitation, user: User) -> str:
    """Say why the person needs no invitation any more; empty if the person can use it."""
    if invitation.campaign.memberships.filter(user=user).exists():
        return _("You are already a member. The invitation stays open for somebody else.")
    if invitation.applicants.filter(user=user).exists():
        return _("You have asked to join %(campaign)s before.") % {"campaign": invitation.campaign}
    return ""


def _come_in(request: HttpRequest, invitation: Invitation, user: User | None, form: SignUpForm | None) -> HttpResponse:
    if user is None:
        assert form is not None
        hashed = make_password(form.cleaned_data["password1"])  # slow on purpose, so before anything is locked
        user = sign_up(invitation, form.cleaned_data["username"], hashed)
        _sign_in(request, user)
    else:
        invitation.accept(user)
    request.session.pop(IN_SESSION, None)
    welcome(request, invitation)
    return redirect("home")


def welcome(request: HttpRequest, invitation: Invitation) -> None:
    """Greet whoever has used the invitation, and say so if the person waits for a lead."""
    if invitation.places is None:
        messages.success(request, _("Welcome to %(campaign)s.") % {"campaign": invitation.campaign})
    else:
        asks = _("You have asked to join %(campaign)s. A lead of it decides.")
        messages.success(request, asks % {"campaign": invitation.campaign})


def _sign_in(request: HttpRequest, user: User) -> None:
    request.session[AUTHENTICATION_METHODS_SESSION_KEY] = [{"method": "password", "at": time.time()}]
    get_adapter().login(request, user)
    UserSession.objects.create_from_request(request)


def in_session(request: HttpRequest) -> Invitation | None:
    """Return the invitation whose link was opened in this browser."""
    invitations = Invitation.objects.select_related("campaign")
    return invitations.filter(hash=request.session.get(IN_SESSION, "")).first()


@all_or_nothing
def sign_up(invitation: Invitation, username: str, hashed: str) -> User:
    """Make an account and what the invitation gives it, both or neither."""
    user = User.objects.create(username=username, password=hashed)
    invitation.accept(user)
    confirm_address(user, invitation)
    return user


def confirm_address(user: User, invitation: Invitation) -> None:
    """Store the address that the invitation was sent to as confirmed: nobody else has its link.

    Nothing is stored if a lead handed the link out, or if somebody has confirmed the address already.
    """
    address = "" if invitation.by_hand else invitation.address
    if address and not EmailAddress.objects.filter(email=address.lower(), verified=True).exists():
        EmailAddress.objects.create(user=user, email=address.lower(), verified=True, primary=True)


def first_account_lines(address: str) -> list[str]:
    """Return the lines that a starting server prints while there is no account: a link that makes one."""
    if User.objects.exists():
        return []
    link = address.rstrip("/") + reverse("first-link", args=[FirstLink.objects.make()])
    return ["Nobody has an account here yet. Make the first one in a browser, within a day:", f"  {link}"]


@csrf_exempt
@login_not_required
def first_link_opened(request: HttpRequest, secret: str) -> HttpResponse:
    """Note in the session that the link was opened, and redirect to an address without the secret.

    As with invitations, the view accepts every method, because a refusal would be logged with its address.
    """
    if link := FirstLink.objects.open().filter(hash=hash_of(secret)).first():
        request.session[FIRST_IN_SESSION] = link.hash
        wait(request, TO_SIGN_UP)
    elif FIRST_IN_SESSION in request.session:
        del request.session[FIRST_IN_SESSION]
    return redirect("first-account")


@login_not_required
@sensitive_post_parameters("password1", "password2")
@require_http_methods(["GET", "HEAD", "POST"])
def make_first_account(request: HttpRequest) -> HttpResponse:
    """Ask for a name and a password, and make the account."""
    link = FirstLink.objects.open().filter(hash=request.session.get(FIRST_IN_SESSION, "")).first()
    if link is None:
        raise NotFound(
            "There is no such link. Open the whole link that the server printed when it started. It works once, for a "
            "day, and only while nobody has an account."
        )
    form = SignUpForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        hashed = make_password(form.cleaned_data["password1"])  # slow on purpose, so before anything is locked
        user = link.make_account(form.cleaned_data["username"], hashed)
        _sign_in(request, user)
        request.session.pop(FIRST_IN_SESSION, None)
        messages.success(request, "Your account is made, and you are signed in. Create your first campaign.")
        return redirect(settings.LOGIN_REDIRECT_URL)
    return render(request, "accounts/first.html", {"form": form}, status=400 if form.is_bound else 200)
