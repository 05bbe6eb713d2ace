"""The one guarded door to each campaign and its members: found for a person who may see it, or not at all."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from campaigns.models import Membership


def signed_in(request: HttpRequest) -> User:
    """Who is there, on pages that are for anybody with an account."""
    assert isinstance(request.user, User)
    return request.user


def membership(request: HttpRequest, name: str, *roles: str) -> Membership:
    """The person's active membership of the campaign, in one of the roles."""
    return get_object_or_404(
        Membership.objects.select_related("campaign__corpus"),
        campaign__name=name,
        user=request.user,
        state=Membership.State.ACTIVE,
        role__in=roles or Membership.SEES_ALL,
    )


def lead(request: HttpRequest, name: str) -> Membership:
    return membership(request, name, Membership.Role.LEAD)


def annotator(request: HttpRequest, name: str) -> Membership:
    return membership(request, name, Membership.Role.ANNOTATOR)


def anybody(request: HttpRequest, name: str) -> Membership:
    """Whoever belongs to the campaign, in whatever role, also while paused: what one learns from stays open."""
    rows = Membership.objects.select_related("campaign__corpus")
    return get_object_or_404(rows, campaign__name=name, user=request.user, state__in=Membership.MAY_LEARN)


def own(request: HttpRequest, name: str) -> Membership:
    """The person's own membership as an annotator, also one that is paused or has ended: her hours stay hers."""
    rows = Membership.objects.select_related("campaign")
    return get_object_or_404(rows, campaign__name=name, user=request.user, role=Membership.Role.ANNOTATOR)


def person(lead: Membership, worker: int) -> Membership:
    """Anybody of the lead's campaign, in whatever state."""
    return get_object_or_404(lead.campaign.memberships.select_related("user"), worker=worker)


def annotator_of(member: Membership, worker: int) -> Membership:
    """The annotator of that number in the campaign that the member sees."""
    rows = member.campaign.memberships.select_related("campaign", "user")
    return get_object_or_404(rows, worker=worker, role=Membership.Role.ANNOTATOR)
