"""The page of a person's tokens: making one, and revoking it."""

from __future__ import annotations

from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from base.errors import WrongState
from base.text import storable
from campaigns import access
from campaigns.accounts import security_log
from campaigns.models import Token

MOST = 50  # tokens of one person
DAYS = {1: gettext_lazy("1 day"), 7: gettext_lazy("7 days"), 30: gettext_lazy("30 days")}
DAYS |= {90: gettext_lazy("90 days"), 365: gettext_lazy("a year")}
SCOPES = {
    Token.Scope.READ: gettext_lazy("Read what you can read"),
    Token.Scope.JUDGE: gettext_lazy("Judge: claim, grade, flag and submit"),
    Token.Scope.LEAD: gettext_lazy("Lead: change what a lead can change"),
    Token.Scope.RUNS: gettext_lazy("Submit runs, and change your own"),
}


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        label=gettext_lazy("What it is for"),
        help_text=gettext_lazy("For example the name of the program."),
    )
    scopes = forms.MultipleChoiceField(
        choices=list(SCOPES.items()),
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
def index(request: HttpRequest) -> HttpResponse:
    """List the person's tokens. A new one is shown this once, because only its hash is kept."""
    if request.method != "POST":
        return _page(request, TokenForm())
    # A token is a way to sign in, so making one needs what changing a password needs.
    raise_if_reauthentication_required(request, app="allauth.account")
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    return _page(request, TokenForm(), secret=_make(request, form))


def _make(request: HttpRequest, form: TokenForm) -> str:
    user, data = access.signed_in(request), form.cleaned_data
    if user.tokens.usable().count() >= MOST:
        raise WrongState(_("You have %(most)d tokens. Revoke one first.") % {"most": MOST})
    token, secret = Token.objects.make(user, data["name"], data["scopes"], data["days"])
    security_log.note("token made", user, request, "+".join(token.scopes))
    return secret


def _page(request: HttpRequest, form: TokenForm, secret: str = "", status: int = 200) -> HttpResponse:
    tokens = access.signed_in(request).tokens.usable().order_by("-pk")
    rows = [(token, [SCOPES[scope] for scope in SCOPES if token.allows(scope)]) for token in tokens]
    context = {"tokens": rows, "form": form, "secret": secret}
    return render(request, "accounts/tokens.html", context, status=status)


@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    user = access.signed_in(request)
    get_object_or_404(user.tokens.all(), pk=pk).delete()
    security_log.note("token revoked", user, request)
    messages.success(request, _("The token is revoked: it no longer works."))
    return redirect("tokens")
