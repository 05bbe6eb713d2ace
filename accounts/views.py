"""The pages of a person's account that allauth does not have, tokens among them, and those that do more here."""

from __future__ import annotations

from functools import partial
from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.account.views import EmailView
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.views import ActivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView
from allauth.socialaccount.forms import DisconnectForm
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.openid_connect import views as oidc
from allauth.usersessions.forms import ManageUserSessionsForm
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from requests import RequestException

from accounts import security_log
from accounts.forms import SECOND_FACTOR
from accounts.models import Token
from accounts.single_sign_on import not_working
from base.errors import WrongState
from base.text import storable
from campaigns import access

MOST_TOKENS = 50  # tokens of one person


class Account(EmailView):  # type: ignore[misc]  # allauth has no types
    """A person's mail address, and single sign-on."""

    template_name = "accounts/account.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        connected = SocialAccount.objects.filter(user=access.signed_in(self.request)).first()
        return super().get_context_data(connected=connected, **kwargs)  # type: ignore[no-any-return]


@require_safe
def security(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/security.html")


@require_POST
def end_session(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of the person's sessions. If it is this one, the person is signed out."""
    session = get_object_or_404(UserSession, pk=pk, user=access.signed_in(request))
    is_this_one = session.is_current()
    session.end()
    if is_this_one:
        logout(request)
    messages.success(request, _("That session has ended."))
    return redirect("mfa_index")


@login_not_required
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign out, and have the browser delete the clips that it keeps for a day. It does so over HTTPS only."""
    answer = LogoutView.as_view()(request)
    answer["Clear-Site-Data"] = '"cache"'
    return answer


@login_not_required
@require_POST
def go_elsewhere(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Lead to the provider of single sign-on, unless it does not answer."""
    try:
        answer: HttpResponse = oidc.login(request, provider_id)
    except (RequestException, ValueError):
        messages.error(request, not_working())
        return redirect("account" if request.user.is_authenticated else "account_login")
    return answer


@require_POST
@reauthentication_required(app="allauth.socialaccount")  # type: ignore[untyped-decorator]  # allauth has no types
def disconnect(request: HttpRequest, pk: int) -> HttpResponse:
    """Take away the way to sign in by an account elsewhere, unless it is the only way."""
    form = DisconnectForm({"account": pk}, request=request)
    if form.is_valid():
        form.save()
    elif SocialAccount.objects.filter(user=access.signed_in(request), pk=pk).exists():
        messages.error(request, _("Set a password first: you could not sign in any more."))
    return redirect("account")


class SetUpApp(ActivateTOTPView):  # type: ignore[misc]
    template_name = "accounts/app.html"

    def form_valid(self, form: Any) -> HttpResponse:
        """Turn it on, and end the sessions and tokens that began without it."""
        answer: HttpResponse = super().form_valid(form)
        self.request.session.pop(SECOND_FACTOR, None)
        _end_what_began_before(self.request)
        return answer


class AddPasskey(AddWebAuthnView):  # type: ignore[misc]
    template_name = "accounts/passkey.html"

    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        _end_what_began_before(self.request)
        return answer


def _end_what_began_before(request: HttpRequest) -> None:
    """End the person's other sessions, and all tokens: they were begun and made without the new factor."""
    ManageUserSessionsForm(request=request).save(request)
    access.signed_in(request).tokens.all().delete()


def ways_in(request: HttpRequest) -> dict[str, object]:
    """Return the name of single sign-on, or an empty text if there is none, and whether this site sends mails.

    `own_security` is a function, because allauth's views render the page of security behind their forms.
    """
    sso = settings.OIDC_ISSUER and settings.OIDC_NAME
    return {"sso": sso, "mails": settings.MAILS, "own_security": partial(own_security, request)}


def own_security(request: HttpRequest) -> dict[str, object]:
    """Return the person's passkeys, whether they have an app, their recovery codes, and their sessions."""
    user = access.signed_in(request)
    ways = Authenticator.objects.filter(user=user).order_by("created_at")
    by_type = {kind: [way.wrap() for way in ways if way.type == kind] for kind in Authenticator.Type}
    return {
        "passkeys": by_type[Authenticator.Type.WEBAUTHN],
        "has_app": bool(by_type[Authenticator.Type.TOTP]),
        "codes": next(iter(by_type[Authenticator.Type.RECOVERY_CODES]), None),
        "sessions": sorted(UserSession.objects.purge_and_list(user), key=lambda session: session.created_at),
    }


DAYS = {1: gettext_lazy("1 day"), 7: gettext_lazy("7 days"), 30: gettext_lazy("30 days")}
DAYS |= {90: gettext_lazy("90 days"), 365: gettext_lazy("a year")}


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        label=gettext_lazy("What it is for"),
        help_text=gettext_lazy("For example the name of the program."),
    )
    scopes = forms.MultipleChoiceField(
        choices=Token.Scope.choices,
        label=gettext_lazy("What it may do"),
        widget=forms.CheckboxSelectMultiple,
        initial=[Token.Scope.READ],
    )
    days = forms.TypedChoiceField(coerce=int, choices=list(DAYS.items()), label=gettext_lazy("Works for"), initial=30)

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if not storable(name):
            raise forms.ValidationError(_("Write a name without control characters."))
        return name


@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required(  # type: ignore[untyped-decorator]
    app="allauth.account", enabled=lambda request: request.method == "POST"
)
def list_tokens(request: HttpRequest) -> HttpResponse:
    """List the person's tokens. A new one is shown this once, because only its hash is kept.

    A token is a way to sign in, so making one needs what changing a password needs.
    """
    form, secret = TokenForm(request.POST if request.method == "POST" else None), ""
    if form.is_valid():
        form, secret = TokenForm(), _make_token(request, form)
    tokens = access.signed_in(request).tokens.usable().order_by("-pk")
    rows = [(token, [scope.label for scope in Token.Scope if token.allows(scope)]) for token in tokens]
    context = {"tokens": rows, "form": form, "secret": secret}
    return render(request, "accounts/tokens.html", context, status=400 if form.is_bound else 200)


def _make_token(request: HttpRequest, form: TokenForm) -> str:
    user, data = access.signed_in(request), form.cleaned_data
    if user.tokens.usable().count() >= MOST_TOKENS:
        raise WrongState(_("You have %(most)d tokens. Revoke one first.") % {"most": MOST_TOKENS})
    token, secret = Token.objects.make(user, data["name"], data["scopes"], data["days"])
    security_log.note("token made", user, request, "+".join(token.scopes))
    return secret


@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    user = access.signed_in(request)
    get_object_or_404(user.tokens.all(), pk=pk).delete()
    security_log.note("token revoked", user, request)
    messages.success(request, _("The token is revoked: it no longer works."))
    return redirect("tokens")
