"""Systems that are better or worse, made of the candidates of a judged campaign, and who uploads their runs."""

from __future__ import annotations

import numpy as np
from django.contrib.auth.models import User

from campaigns.models import Campaign, Membership
from judging.models import Candidate
from runs.models import Run
from runs.receiving import describe, submit
from tests.runs.uploading import Predictions, ranking, send
from tests.waiting import wait_until


def person(campaign: Campaign, name: str, role: str) -> Membership:
    return campaign.add_member(User.objects.get_or_create(username=name)[0], role)


def system(campaign: Campaign, number: int) -> Predictions:
    """What a system predicts: every candidate of each query, by its grade with as much noise as the number says."""
    rng = np.random.default_rng(number)
    found: dict[str, list[tuple[float, str, float, float]]] = {}
    for each in Candidate.objects.in_pool(campaign).select_related("query", "moment__video"):
        score = (each.grade or 0) + rng.normal(0, number)
        place = (each.moment.video.name, each.moment.start, each.moment.end)
        found.setdefault(each.query.query_id, []).append((score, *place))
    return {
        query: [(video, start, end, score) for score, video, start, end in sorted(rows, reverse=True)]
        for query, rows in found.items()
    }


def upload_all(campaign: str, by: str, numbers: list[int]) -> None:
    """Upload the runs of these systems, and wait until a worker has received them."""
    found = Campaign.objects.get(name=campaign)
    member = found.memberships.get(user__username=by)
    for number in numbers:
        submission = describe(member, {"name": f"noise-{number}"})
        send(submission, "run", "run.json", ranking(system(found, number)).encode())
        submit(submission)
    wait_until(
        lambda: Run.objects.filter(campaign=found, scorings__isnull=False).count() == len(numbers),
        lambda: f"{len(numbers)} runs of {campaign} are scored",
    )
