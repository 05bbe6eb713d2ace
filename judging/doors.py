"""The one guarded door to each object of judging, beside those of campaigns: found for a person who may see it, or not
at all."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from base.fields import KEY, is_whole
from campaigns.doors import annotator, annotator_of, anybody, lead, membership, own, person, signed_in
from campaigns.models import Campaign, Membership
from corpus.models import Clip
from judging.models import Assignment, Batch, Candidate, Example, Flag, Kind, Query, Review
from judging.models.sitting import exam_batches
from judging.quality.examples import shown

__all__ = [
    "annotator",
    "annotator_of",
    "anybody",
    "assignment",
    "batch",
    "candidate",
    "clip",
    "exam_batch",
    "flag",
    "lead",
    "membership",
    "own",
    "person",
    "pool_query",
    "reviews",
    "signed_in",
]


def batch(member: Membership, pk: int) -> Batch:
    rows = Batch.objects.in_campaign(member.campaign).select_related("query__campaign")
    return get_object_or_404(rows, pk=pk)


def exam_batch(member: Membership, pk: int) -> Batch:
    return get_object_or_404(exam_batches(member.campaign).select_related("query__campaign"), pk=pk)


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
