"""Finding campaigns and their members for a person who may see them; anybody else gets a 404.

Every view gets its campaign and its person through these functions, or through those of `judging.doors`.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from campaigns.models import Campaign, Membership
from corpus.models import Corpus


def may_create_campaigns(user: User) -> bool:
    """Return whether the person may create campaigns, and therefore see every corpus."""
    return user.is_superuser


def corpora(request: HttpRequest) -> QuerySet[Corpus]:
    """Return the corpora of the campaigns that the person leads or follows as a researcher, or all of them to those who
    may create campaigns.
    """
    user = signed_in(request)
    if may_create_campaigns(user):
        return Corpus.objects.all()
    return Corpus.objects.filter(pk__in=Campaign.objects.led_by(user).values("corpus"))


def corpus(request: HttpRequest, name: str) -> Corpus:
    return get_object_or_404(corpora(request), name=name)


def signed_in(request: HttpRequest) -> User:
    """Return the signed-in user, on pages for everybody with an account."""
    assert isinstance(request.user, User)
    return request.user


def membership(request: HttpRequest, name: str, *roles: str) -> Membership:
    """Return the person's active membership of the campaign in one of the roles; by default, lead or researcher."""
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
    """Return the person's membership in any role, also while it is paused. Learning stays possible then."""
    memberships = Membership.objects.select_related("campaign__corpus")
    states = Membership.MAY_LEARN
    return get_object_or_404(memberships, campaign__name=name, user=request.user, state__in=states)


def own(request: HttpRequest, name: str) -> Membership:
    """Return the person's membership as an annotator in any state, because former annotators see their hours too."""
    memberships = Membership.objects.select_related("campaign")
    role = Membership.Role.ANNOTATOR
    return get_object_or_404(memberships, campaign__name=name, user=request.user, role=role)


def person(lead: Membership, worker: int) -> Membership:
    """Return the member with that worker number in the lead's campaign, in any role and state."""
    return get_object_or_404(lead.campaign.memberships.select_related("user"), worker=worker)


def annotator_of(member: Membership, worker: int) -> Membership:
    """Return the annotator with that worker number in the member's campaign."""
    memberships = member.campaign.memberships.select_related("campaign", "user")
    return get_object_or_404(memberships, worker=worker, role=Membership.Role.ANNOTATOR)
