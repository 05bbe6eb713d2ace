"""Trained systems, what somebody searches with them, and how long trainings take that wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from base.text import in_words
from campaigns.models import Campaign, Membership
from campaigns.models.draft import token
from jobs.models import Job
from jobs.queue import JobQuerySet
from systems.features.reader import CUT, FIT_MEANING, FITS, PAD, STRICT, UNIT_MEANING
from systems.interface import Entry, Progress, System, entry, system

LONGEST_QUERY = 500  # characters
MOST_POINTS = 1000  # of each curve
MISFITS = {STRICT: "", CUT: ", what does not fit left out", PAD: ", zeros for what is missing"}


class TrainedSystems(models.QuerySet["TrainedSystem"]):
    def seconds_a_step(self, systems: Iterable[str]) -> dict[str, float]:
        """Return for systems of these names how long a step took when one was last trained, wherever that is known."""
        measured = self.filter(system__in=set(systems)).exclude(step_seconds=None).order_by("created", "pk")
        rows = measured.values_list("system", "step_seconds")
        return {system: seconds for system, seconds in rows if seconds is not None}


class TrainedSystem(models.Model):
    """A system that is trained for a campaign, and whose run is then submitted by the member who asked for it.

    What it learned and its index are in a folder of MODELS_ROOT; the row keeps its curves.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="systems")
    by = models.ForeignKey(Membership, models.CASCADE, related_name="systems")
    number = models.PositiveIntegerField(help_text="counts up from 1 in each campaign")
    name = models.CharField(max_length=100, help_text="of its run")
    system = models.CharField(max_length=40, help_text="its name in the registry")
    options = models.JSONField(help_text="the options that are not the defaults")
    group = models.CharField(max_length=100, blank=True, help_text="of systems that differ by their seed")
    features = models.CharField(max_length=100, help_text="the name of a set of features of the corpus")
    clip_seconds = models.FloatField()
    fit = models.CharField(max_length=10, default=STRICT, help_text=FIT_MEANING)
    unit_rows = models.BooleanField(default=False, help_text=UNIT_MEANING)
    depth = models.PositiveSmallIntegerField(help_text="N, the moments of each query that it learns from")
    encoder = models.CharField(
        max_length=200, blank=True, help_text="whose token vectors it has for words; empty: it learns vectors"
    )
    token = models.CharField(max_length=32, unique=True, default=token, help_text="names its folder")
    notice = models.TextField(blank=True, help_text="what its features lack, in words")
    measure = models.CharField(max_length=80, blank=True, help_text="that the validation computes")
    losses = models.JSONField(default=list, help_text="pairs of a step and the mean loss before it")
    validations = models.JSONField(default=list, help_text="pairs of a step and the measure's value")
    step_seconds = models.FloatField(null=True, help_text="mean time of a step when it was last trained")
    trained = models.DateTimeField(null=True, help_text="when it was trained and its index was stored")
    submission = models.OneToOneField("runs.Submission", models.SET_NULL, null=True, related_name="trained_system")
    run = models.OneToOneField("runs.Run", models.SET_NULL, null=True, related_name="trained_system")
    created = models.DateTimeField(db_default=Now())

    objects = TrainedSystems.as_manager()

    class Meta:
        ordering = ["campaign", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="one_trained_system_per_number"),
            models.UniqueConstraint(fields=["campaign", "name"], name="one_trained_system_per_name"),
            models.CheckConstraint(condition=Q(clip_seconds__gt=0), name="clips_have_a_length"),
            models.CheckConstraint(condition=Q(fit__in=FITS), name="features_fit_in_a_known_way"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def entry(self) -> Entry:
        """What is known of the system without loading it."""
        return entry(self.system)

    @property
    def reading(self) -> str:
        """In words, how long its clips are and how its features are read."""
        unit = ", each row of length 1" if self.unit_rows else ""
        return f"clips of {self.clip_seconds:g} s{MISFITS[self.fit]}{unit}"

    @property
    def is_submitted(self) -> bool:
        return bool(self.submission_id or self.run_id)

    @property
    def folder(self) -> Path:
        """The folder of what it learned, on every machine that has `MODELS_ROOT`."""
        return Path(settings.MODELS_ROOT) / "systems" / self.token

    @property
    def steps_left(self) -> int:
        """The steps that its training still takes if it does not end early."""
        if self.trained:
            return 0
        kind = self.entry.options
        named = {field.name: self.options[field.name] for field in fields(kind) if field.name in self.options}
        return max(0, kind(**named).steps - (self.losses[-1][0] if self.losses else 0))

    @property
    def stored(self) -> Path:
        """The folder of the system itself, in which what it learned and its index are stored."""
        return self.folder / "stored"

    def made(self) -> System:
        """Return the system itself. Only workers and commands call this, because it may load torch."""
        return system(self.system, self.stored, **self.options)

    def note(self, progress: Progress) -> bool:
        """Add the progress of a training to the curves, without storing it. Return whether they have changed.

        A training that goes on from a checkpoint repeats steps; what is known of them is replaced.
        """
        points = ((self.losses, progress.loss), (self.validations, progress.validation))
        for curve, value in points:
            if value is None:
                continue
            curve[:] = [point for point in curve if point[0] < progress.done]
            curve.append([progress.done, value])
            if len(curve) > MOST_POINTS:
                del curve[:-1:2]
        return any(value is not None for _, value in points)

    @property
    def best_validation(self) -> list[Any] | None:
        """The step and the value of the best validation, whose weights are kept; None before the first."""
        return max(self.validations, key=lambda point: point[1], default=None)

    def rows_of_curves(self) -> list[dict[str, Any]]:
        """Return the points of both curves, as figures and tables show them."""
        curves = [("loss", self.losses), (self.measure or "validation", self.validations)]
        return [{"curve": name, "step": step, "value": value} for name, points in curves for step, value in points]


@dataclass(frozen=True)
class Before:
    """What is done before a training: how many trainings, and the seconds of their steps; None if that is not known."""

    trainings: int
    seconds: float | None

    def __str__(self) -> str:
        if not self.trainings:
            return ""
        words = "1 training is" if self.trainings == 1 else f"{self.trainings:,} trainings are"
        return f"{words} before it" + (f", about {in_words(self.seconds)}" if self.seconds else "")


class Waiting:
    """The trainings of the whole site that are not done, in the order in which workers take them; asked for if needed.

    trainings: the jobs of all trainings.
    """

    def __init__(self, trainings: JobQuerySet) -> None:
        self.trainings = trainings

    @cached_property
    def jobs(self) -> list[Job]:
        # What is to begin later, such as a delayed one, is before nothing.
        jobs = [job for job in self.trainings.unfinished().order_by("due", "pk") if not job.is_to_begin_later]
        return sorted(jobs, key=lambda job: not job.is_running)

    @cached_property
    def seconds(self) -> list[float | None]:
        """Return how long each of the jobs takes; None where that is not known."""
        rows = TrainedSystem.objects.in_bulk([job.row for job in self.jobs])
        known = TrainedSystem.objects.seconds_a_step(row.system for row in rows.values())
        return [_seconds_of(rows.get(job.row), known) for job in self.jobs]

    def before(self, job: Job | None = None) -> Before | None:
        """Return what is before a job, or before one that is asked for now; None if the job does not wait."""
        if job and job.state != Job.State.WAITING:
            return None
        known = [each.pk for each in self.jobs]
        place = known.index(job.pk) if job and job.pk in known else len(known)
        ahead = self.seconds[:place]
        return Before(place, None if None in ahead else sum(each or 0.0 for each in ahead))


def _seconds_of(row: TrainedSystem | None, known: dict[str, float]) -> float | None:
    if row is None or not row.steps_left:
        return 0.0
    each = row.step_seconds or known.get(row.system)
    return None if each is None else each * row.steps_left


class SystemSearch(models.Model):
    """What somebody searched with a trained system, and the moments that it found. It is forgotten after a week."""

    system = models.ForeignKey(TrainedSystem, models.CASCADE, related_name="searches")
    text = models.CharField(max_length=LONGEST_QUERY)
    moments = models.JSONField(
        null=True, help_text="[video, start, end, score] of each, best first; null until they are found"
    )
    made = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "system searches"
        constraints = [models.UniqueConstraint(fields=["system", "text"], name="one_search_per_system_and_text")]

    def __str__(self) -> str:
        return self.text
