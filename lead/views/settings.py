"""A campaign's settings: who sees what, who may judge, and when a query has had enough."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import access
from judging.settings import SettingsForm, set_up


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """For researchers to read, for leads to change."""
    if request.method == "POST":
        lead = access.lead(request, name)
        form = set_up(lead, request.POST)
        if form.is_valid():
            messages.success(request, "The settings are saved.")
            return redirect("campaign-settings", name=name)
        return _page(request, lead, form, status=400)
    member = access.membership(request, name)
    return _page(request, member, SettingsForm(instance=member.campaign))


def _page(request: HttpRequest, member: Membership, form: SettingsForm, status: int = 200) -> HttpResponse:
    return campaign_page(request, member, "lead/settings.html", form=form, status=status)
