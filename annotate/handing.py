"""What an annotator is told: the query, opaque clip addresses, and her own grades. Nothing else."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.urls import reverse

from corpus.clips import stretch
from corpus.models import Clip
from judging.models import Assignment, Candidate, Membership


def handed_out(assignment: Assignment) -> dict[str, Any]:
    """The whole assignment as the workplace gets it."""
    handed = assignment.handed()
    clips = _clips(handed)
    grades = dict(assignment.judgements.values_list("candidate", "grade"))
    flags = dict(assignment.flags.values_list("candidate", "reason"))
    return {
        "token": assignment.token,
        "fence": assignment.fence,
        "places": [
            {
                "clip": clips.get(stretch(candidate.moment)),
                "grade": grades.get(candidate.pk),
                "flag": flags.get(candidate.pk),
            }
            for candidate in handed
        ],
    }


def _clips(handed: list[Candidate]) -> dict[tuple[int, float, float], str]:
    """The addresses of the clips that are ready, by the stretch of film they show."""
    wanted = Q()
    for candidate in handed:
        moment = candidate.moment
        wanted |= Q(video=moment.video_id, start=moment.start, end=moment.end)
    ready = Clip.objects.filter(wanted, state=Clip.State.READY)
    return {stretch(clip): reverse("clip", args=[clip.token]) for clip in ready}


def progress(member: Membership) -> dict[str, Any]:
    """What the annotator did in a campaign, and whether a batch is in her hands."""
    live = member.assignments.live().first()
    return {
        "member": member,
        "campaign": member.campaign,
        "live": live,
        "left": len(live.unanswered()) if live else 0,
        "batches": member.assignments.submitted().count(),
        "judgements": member.judgements.count(),
    }
