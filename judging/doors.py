"""The one guarded door to each object: it is found for a person who may see it, or not at all."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from corpus.models import Clip
from judging.models import (
    Assignment,
    Batch,
    Campaign,
    Candidate,
    Example,
    Flag,
    Kind,
    Membership,
    Query,
    Review,
)
from judging.models.sitting import exam_batches
from judging.problems import KEY, is_whole
from judging.teaching import shown


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


def batch(member: Membership, pk: int) -> Batch:
    rows = Batch.objects.in_campaign(member.campaign).select_related("query__campaign")
    return get_object_or_404(rows, pk=pk)


def exam_batch(member: Membership, pk: int) -> Batch:
    return get_object_or_404(exam_batches(member.campaign).select_related("query__campaign"), pk=pk)


def annotator_of(member: Membership, worker: int) -> Membership:
    """The annotator of that number in the campaign that the member sees."""
    rows = member.campaign.memberships.select_related("campaign", "user")
    return get_object_or_404(rows, worker=worker, role=Membership.Role.ANNOTATOR)


def candidate(member: Membership, pk: int) -> Candidate:
    """A candidate that has come into a batch."""
    rows = Candidate.objects.in_campaign(member.campaign).filter(batch__isnull=False)
    return get_object_or_404(rows.select_related("query__campaign", "batch"), pk=pk)


def pool_query(member: Membership, pk: int) -> Query:
    """One of the campaign's queries, withdrawn or not."""
    return get_object_or_404(member.campaign.queries.filter(kind=Kind.POOL), pk=pk)


def flag(member: Membership, pk: int) -> Flag:
    rows = Flag.objects.filter(candidate__query__campaign=member.campaign)
    return get_object_or_404(rows.select_related("candidate__batch"), pk=pk)


def reviews(member: Membership, keys: list[str]) -> list[Review]:
    """Those of the campaign's reviews with these keys that still hold; what is no key is nothing."""
    found = Review.objects.holding().filter(pk__in=[key for key in keys if is_whole(key, KEY)])
    of_campaign = found.filter(batch__query__campaign=member.campaign)
    return list(of_campaign.select_related("batch__query__campaign").order_by("pk"))


def assignment(request: HttpRequest, token: str) -> Assignment:
    """The annotator's own assignment, in whatever state."""
    rows = Assignment.objects.select_related("annotator__campaign", "batch__query")
    return get_object_or_404(rows, token=token, **_active_annotator(request))


def _active_annotator(request: HttpRequest) -> dict[str, object]:
    """Whose assignment it must be: who leads meanwhile sees too much to judge."""
    return {
        "annotator__user": request.user,
        "annotator__state": Membership.State.ACTIVE,
        "annotator__role": Membership.Role.ANNOTATOR,
    }


def clip(request: HttpRequest, token: str) -> Clip:
    """A clip that is ready: for whoever holds it in a batch, is taught by it, or sees the whole campaign."""
    found = get_object_or_404(Clip, token=token, state=Clip.State.READY)
    held = Assignment.objects.live().filter(**_active_annotator(request), batch__candidates__clip=found)
    seen = Campaign.objects.led_by(request.user).filter(queries__candidates__clip=found)
    taught = shown(Example.objects.filter(clip=found, campaign__in=Campaign.objects.of(request.user)))
    if held.exists() or seen.exists() or taught.exists():
        return found
    raise Http404
