"""The one guarded door to each object: it is found for a person who may see it, or not at all."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from corpus.models import Clip
from judging.models import Assignment, Batch, Campaign, Membership


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


def batch(member: Membership, pk: int) -> Batch:
    rows = Batch.objects.in_campaign(member.campaign).select_related("query__campaign")
    return get_object_or_404(rows, pk=pk)


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
    """A clip that is ready, for whoever holds it in a batch or sees the whole campaign."""
    found = get_object_or_404(Clip, token=token, state=Clip.State.READY)
    moments = {"moment__video": found.video_id, "moment__start": found.start, "moment__end": found.end}
    candidates = {f"batch__candidates__{name}": value for name, value in moments.items()}
    if Assignment.objects.live().filter(**_active_annotator(request), **candidates).exists():
        return found
    if (
        Campaign.objects.led_by(request.user)
        .filter(**{f"queries__candidates__{name}": value for name, value in moments.items()})
        .exists()
    ):
        return found
    raise Http404
