"""What the pages of trained systems show of a row: its job, where it is, and its curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.http import Http404, HttpResponse
from django.urls import reverse

from jobs.models import Job
from metrics import parse_measure
from reports.figures.files import KINDS, figure_file
from runs.systems.models import TrainedSystem
from runs.systems.training import train_system


@dataclass(frozen=True)
class Figure:
    """The figure of a training's curves, as `lead/_plot.html` shows figures."""

    key: str = "curves"
    title: str = "Loss and validation"


def jobs_of(rows: list[TrainedSystem]) -> dict[int, Job]:
    """Return the job of each system that has one, by the system's key."""
    return {job.row: job for job in train_system.jobs(rows)}


class State(models.TextChoices):
    """How far a system is, with its words."""

    WAITING = "waiting", "waits for a worker"
    RUNNING = "running", "a worker begins"
    DELAYED = "delayed", "delayed"
    FAILED = "failed", "failed"
    CHECKED = "checked", "its run is being checked"
    REFUSED = "refused", "its run was refused"
    STORED = "stored", "its run is stored"


def state_of(row: TrainedSystem, job: Job | None) -> State:
    """Return how far a system is. What has no job any more, has failed."""
    if row.run:
        return State.STORED
    if row.submission:
        return State.REFUSED if row.submission.findings else State.CHECKED
    if job is None or job.has_failed:
        return State.FAILED
    if job.is_delayed:
        return State.DELAYED
    return State.RUNNING if job.is_running else State.WAITING


def where_of(row: TrainedSystem, job: Job | None) -> str:
    """Return in a few words how far a system is, or what its job does now."""
    state = state_of(row, job)
    return (job.message if job and state == State.RUNNING else "") or str(state.label)


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
        "files": {kind: reverse("system-curves", args=[*address, kind]) for kind in KINDS},
    }


def _tells(row: TrainedSystem) -> str:
    if not row.losses:
        return "Nothing was trained step by step."
    step, loss = row.losses[-1]
    text = f"After {step:,} steps the loss is {loss:.3f}."
    if best := row.best_validation:
        text += f" The best {parse_measure(row.measure).spelling}, {best[1]:.3f}, was after {best[0]:,} steps."
    return text


def curves_file(row: TrainedSystem, kind: str) -> HttpResponse:
    """Answer with the curves of a system as a file; not found before it has any."""
    points = row.rows_of_curves()
    if not points:
        raise Http404

    def specify() -> dict[str, Any]:
        from runs.systems.curves import specification

        return specification(points)

    return figure_file(kind, points, specify, f"{row.campaign.name}-system-{row.number}")
