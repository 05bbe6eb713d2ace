"""What the pages of trained systems show: their jobs, their state, and their curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.http import Http404, HttpResponse
from django.urls import reverse

from base.text import in_words
from campaigns.models import Campaign
from jobs.models import Job
from judging.pool.selection import training_queries
from metrics import parse_measure
from reports.figures.files import figure_file, files_at
from runs.systems.models import TrainedSystem, Waiting
from runs.systems.training import train_system
from systems.interface import SYSTEMS, entry
from systems.options import Streams

PAPER = "paper"  # the preset of options as in TVR-Ranking


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


def where_of(row: TrainedSystem, job: Job | None, waiting: Waiting) -> str:
    """Return in a few words how far a system is, what its job does now, or what is before it."""
    state = state_of(row, job)
    if state == State.WAITING and (before := waiting.before(job)) and before.trainings:
        return f"{state.label}: {before}"
    return (job.message if job and state == State.RUNNING else "") or str(state.label)


def waiting() -> Waiting:
    """Return the trainings of the whole site that are not done."""
    return Waiting(train_system.jobs())


def estimate_of(system: str, options: Mapping[str, Any]) -> str:
    """Say how long a system is trained with these options: so many steps, each as long as when it was last trained.

    The text is empty if it takes no steps, or none was measured yet.
    """
    kind = entry(system).options
    steps = kind().steps if kind.faults(options) else kind(**options).steps
    each = TrainedSystem.objects.seconds_a_step([system]).get(system)
    if not steps or not each:
        return ""
    of_one = f"{each:,.1f} s" if each >= 1 else f"{1000 * each:.1f} ms"
    return f"about {in_words(steps * each)}: {steps:,} steps of {of_one}, as long as the last one took"


def presets_of(campaign: Campaign) -> dict[str, dict[str, int]]:
    """Return for TVR-Ranking's systems the options that train them as long as there, for the campaign's queries."""
    queries = len(training_queries(campaign))
    kinds = {name: each.options for name, each in SYSTEMS.items()}
    return {name: kind.as_published(queries) for name, kind in kinds.items() if issubclass(kind, Streams)}


def plot_of(row: TrainedSystem) -> dict[str, Any]:
    """Return the curves of a system with what they tell, as the template of figures wants them."""
    points = row.rows_of_curves()
    return {
        "figure": {"key": "curves", "title": "Loss and validation"},
        "is_drawn": bool(points),
        "tells": _tells(row),
        "caption": "Mean loss since the point before; the weights of the best validation are kept.",
        "columns": ["curve", "step", "value"],
        "rows": [list(point.values()) for point in points],
        "files": files_at(reverse("system-curves", args=[row.campaign.name, row.number, "KIND"])),
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
    return figure_file(kind, points, f"{row.campaign.name}-system-{row.number}", "runs.drawing.curves", points)
