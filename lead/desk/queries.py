"""The long work that the desk shows, in a fixed number of queries however much there is."""

from __future__ import annotations

from typing import Any

from campaigns import access
from campaigns.models import Membership
from judging.pool.clips import cut_clips

JOBS_LOOKED_AT = 1000
JOBS_SHOWN = 4  # of each kind of state


def jobs_of(member: Membership) -> dict[str, Any]:
    """The campaign's long work: how much is under way, what of it runs, what is delayed, and what failed."""
    found = list(access.jobs(member).not_done().order_by("pk")[:JOBS_LOOKED_AT])
    failed = [job for job in found if job.has_failed]
    delayed = [job for job in found if job.is_delayed]
    return {
        "unfinished": len(found) - len(failed),
        "waiting": sum(not (job.has_failed or job.is_running or job.is_delayed) for job in found),
        "running": [job for job in found if job.is_running][:JOBS_SHOWN],
        "delayed": delayed[:JOBS_SHOWN],
        "more_delayed": len(delayed[JOBS_SHOWN:]),
        "failed": failed[:JOBS_SHOWN],
        "n_failed": len(failed),
        "n_without_clips": sum(job.kind == cut_clips.code for job in failed),
    }
