"""What the pages of trained systems show of a row: its job, where it is, and its curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from jobs.models import Job
from metrics import parse_measure
from runs.systems.asking import TRAIN
from runs.systems.models import TrainedSystem

FORMATS = ("json", "svg", "pdf", "csv")


@dataclass(frozen=True)
class Figure:
    """The figure of a training's curves, as `lead/_plot.html` shows figures."""

    key: str = "curves"
    title: str = "Loss and validation"


def jobs_of(rows: list[TrainedSystem]) -> dict[int, Job]:
    """Return the job of each system that has one, by the system's key."""
    keys = {row.job_key: row.pk for row in rows}
    return {keys[job.key]: job for job in Job.objects.filter(kind=TRAIN, key__in=keys)}


def where_of(row: TrainedSystem, job: Job | None) -> str:
    """Return in a few words how far a system is."""
    if row.run:
        return "its run is stored"
    if row.submission and row.submission.findings:
        return "its run was refused"
    if row.submission:
        return "its run is being checked"
    if job is None or job.has_failed:
        return "failed"
    if job.is_delayed:
        return "delayed"
    return job.message or "waits for a worker" if job.is_running else "waits for a worker"


def plot_of(row: TrainedSystem) -> dict[str, Any]:
    """Return the curves of a system with what they tell, as the template of figures wants them."""
    points = row.rows_of_curves()
    address = [row.campaign.name, row.number]
    return {
        "figure": Figure(),
        "is_drawn": bool(points),
        "tells": _tells(row),
        "caption": "Mean loss since the point before; the weights of the best validation are kept.",
        "columns": ["curve", "step", "value"],
        "rows": [list(point.values()) for point in points],
        "files": {kind: reverse("system-curves", args=[*address, kind]) for kind in FORMATS},
    }


def _tells(row: TrainedSystem) -> str:
    if not row.losses:
        return "Nothing was trained step by step."
    step, loss = row.losses[-1]
    told = f"After {step:,} steps the loss is {loss:.3f}."
    if best := row.best_validation:
        told += (
            f" The best {parse_measure(row.measure).spelling}, {best[1]:.3f}, was after {best[0]:,} steps."
        )
    return told
