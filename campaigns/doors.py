"""Finding campaigns and their members for a person who may see them; anybody else gets a 404.

Every view gets its campaign and its person through these functions, or through those of `judging.doors`.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from campaigns.models import Membership
from corpus.models import Corpus


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


def corpus_to_reword(request: HttpRequest, pk: int) -> Corpus:
    """Return the corpus for who may reword it: leads of a campaign over it, and who may create campaigns."""
    user, found = signed_in(request), get_object_or_404(Corpus, pk=pk)
    leads = Membership.objects.filter(
        user=user,
        campaign__corpus=found,
        state=Membership.State.ACTIVE,
        role=Membership.Role.LEAD,
    )
    if not user.has_perm("campaigns.add_campaign") and not leads.exists():
        raise Http404
    return found


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
