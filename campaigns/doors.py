"""Finding campaigns and their members for a person who may see them; anybody else gets a 404.

Every view gets its campaign and its person through these functions, or through those of `judging.doors`.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from campaigns.creating import corpora_open_to, may_create_campaigns
from campaigns.models import Campaign, Draft, Membership, Upload
from corpus.models import Corpus


def corpora(request: HttpRequest) -> QuerySet[Corpus]:
    """Return the corpora of the campaigns that the person leads or follows as a researcher.

    To those who may create campaigns they are all but the corpora of campaigns in which they annotate.
    """
    user = signed_in(request)
    led = Campaign.objects.led_by(user).values("corpus")
    return Corpus.objects.filter(Q(pk__in=led) | Q(pk__in=corpora_open_to(user).values("pk")))


def corpus(request: HttpRequest, name: str) -> Corpus:
    return get_object_or_404(corpora(request), name=name)


def corpora_to_reword(request: HttpRequest) -> QuerySet[Corpus]:
    """Return the corpora that the person may reword: those of the campaigns that they lead, and those open to them."""
    user = signed_in(request)
    led = Membership.objects.leads().filter(user=user).values("campaign__corpus")
    return Corpus.objects.filter(Q(pk__in=led) | Q(pk__in=corpora_open_to(user).values("pk")))


def corpus_to_reword(request: HttpRequest, pk: int) -> Corpus:
    return get_object_or_404(corpora_to_reword(request), pk=pk)


def signed_in(request: HttpRequest) -> User:
    """Return the signed-in user, on pages for everybody with an account."""
    assert isinstance(request.user, User)
    return request.user


def creator(request: HttpRequest) -> User:
    """Return the signed-in user, who may create campaigns."""
    user = signed_in(request)
    if not may_create_campaigns(user):
        raise Http404
    return user


def draft(request: HttpRequest, token: str) -> Draft:
    """Return a draft of the person's own, whether a campaign was made of it or not."""
    return get_object_or_404(
        Draft.objects.select_related("corpus", "campaign"), token=token, owner=creator(request)
    )


def upload(request: HttpRequest, draft: str, token: str) -> Upload:
    """Return an upload for a draft of the person's own that is no campaign yet."""
    own = Upload.objects.filter(draft__campaign__isnull=True).select_related("draft")
    return get_object_or_404(own, token=token, draft__token=draft, draft__owner=creator(request))


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
