"""Pages of a campaign: rendered for one of its members, whom every template can ask what they may do."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from campaigns.models import Membership


def campaign_page(
    request: HttpRequest, member: Membership, template: str, /, status: int = 200, **context: object
) -> HttpResponse:
    """Render a page for a member; its template finds `member` and `campaign` beside what it is given."""
    known = {"member": member, "campaign": member.campaign}
    return render(request, template, known | context, status=status)
