"""Runs, what is on its way to become one, and their scores."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import URLValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from campaigns.models import Membership
from campaigns.models.draft import ArrivingFile, token
from judging.models import Candidate
from metrics.formats.predicted import Predicted
from retrieval.models import Spent
from runs.pools.models import Enlargement as Enlargement
from runs.pools.models import Near as Near
from runs.pools.models import PoolScore as PoolScore
from runs.pools.models import Source as Source
from runs.systems.models import SystemSearch as SystemSearch
from runs.systems.models import TrainedSystem as TrainedSystem


class Visibility(models.TextChoices):
    PRIVATE = "private", "Only I"
    SHARED = "shared", "The campaign's leads and researchers"
    PUBLIC = "public", "Whoever has its link"
    LISTED = "listed", "Everybody, with its file, on the public leaderboard"


LINKED = (Visibility.PUBLIC, Visibility.LISTED)
ANONYMOUS = "Anonymous run"


class Described(models.Model):
    """What its owner says of a run."""

    name = models.CharField(max_length=100)
    system = models.CharField(max_length=100, blank=True)
    group = models.CharField(max_length=100, blank=True, help_text="of runs of one system that differ by their seed")
    description = models.TextField(blank=True)
    paper = models.CharField(max_length=500, blank=True, validators=[URLValidator(["http", "https"])])
    code = models.CharField(max_length=500, blank=True, validators=[URLValidator(["http", "https"])])
    citation = models.TextField(max_length=2000, blank=True, help_text="how to cite the run, as text or BibTeX")
    anonymous_until = models.DateField(
        null=True, blank=True, help_text="the day on which others see who and what made it; empty for at once"
    )
    visibility = models.CharField(max_length=10, choices=Visibility.choices, default=Visibility.SHARED)

    VEILED = ("name", "system", "group", "description", "paper", "code", "citation")  # while a run is anonymous
    DETAILS = (*VEILED, "anonymous_until", "visibility")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    @property
    def recipe(self) -> str:
        """The JSON that ends the description of a run that was made here, from which it is made again; else empty."""
        last = self.description.rpartition("\n")[2]
        return last if last.startswith('{"system":') else ""

    @property
    def words(self) -> str:
        """The description without the recipe."""
        return self.description.removesuffix(self.recipe).rstrip() if self.recipe else self.description


class Submission(Described):
    """A run on its way: its files arrive, and are checked. It becomes a run only if nothing is wrong with it."""

    by = models.ForeignKey(Membership, models.CASCADE, related_name="submissions")
    token = models.CharField(max_length=32, unique=True, default=token)
    format = models.CharField(max_length=20, blank=True, help_text="empty: told from the file")
    task = models.CharField(max_length=10, blank=True, help_text="which list of TVRetrieval's submission")
    findings = models.JSONField(default=dict, help_text="what is wrong with it; empty before it was checked")
    run = models.OneToOneField("Run", models.CASCADE, null=True, related_name="+", help_text="what it became")
    touched = models.DateTimeField(db_default=Now())

    @property
    def folder(self) -> Path:
        """The folder of its files, on every machine that has `UPLOAD_ROOT`."""
        return Path(settings.UPLOAD_ROOT) / "runs" / self.token

    def file_for(self, purpose: str) -> Arrival | None:
        return self.files.filter(purpose=purpose).first()


class Arrival(ArrivingFile):
    """A file of a submission."""

    class Purpose(models.TextChoices):
        RUN = "run"
        VIDEOS = "videos"  # the index, for runs that name videos by number

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="files")
    purpose = models.CharField(max_length=10, choices=Purpose.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["submission", "purpose"], name="one_arrival_per_purpose"),
            models.CheckConstraint(
                condition=Q(received__gte=0, received__lte=F("size")), name="no_more_of_a_run_arrives_than_announced"
            ),
        ]

    @property
    def path(self) -> Path:
        return self.submission.folder / self.token

    @classmethod
    def unfinished(cls) -> models.QuerySet[Any, Any]:
        return cls.objects.filter(submission__run=None).annotate(person=F("submission__by__user"))


class RunQuerySet(models.QuerySet["Run"]):
    def seen_by(self, member: Membership) -> RunQuerySet:
        """Return the runs of the member's campaign that the member may see: their own, and those of others shared."""
        own = Q(by=member) | ~Q(visibility=Visibility.PRIVATE)
        return self.filter(own, campaign=member.campaign_id)

    def listed(self) -> RunQuerySet:
        """Return the runs that everybody may see on the public leaderboards."""
        return self.filter(visibility=Visibility.LISTED)


class Run(Described):
    """The predictions of a system for a campaign's queries. Nothing of it changes but who may see it.

    The row of an anonymous run has no name but a number, so that no page or file can show another one; `veiled` keeps
    what its owner says of it until the day comes.
    """

    Visibility = Visibility

    campaign = models.ForeignKey("campaigns.Campaign", models.PROTECT, related_name="runs")
    number = models.PositiveIntegerField(help_text="counts up from 1 in each campaign")
    token = models.CharField(max_length=64, unique=True, default=secrets.token_urlsafe, help_text="of its link")
    by = models.ForeignKey(Membership, models.PROTECT, related_name="runs")
    at = models.DateTimeField(db_default=Now())
    filename = models.CharField(max_length=255)
    file = models.FileField(help_text="the file as it was uploaded")
    sha256 = models.CharField(max_length=64, help_text="of the uploaded file")
    size = models.BigIntegerField(help_text="bytes of the uploaded file")
    table = models.FileField(help_text="its predictions as arrays, which scoring reads")
    queries = models.PositiveIntegerField()
    predictions = models.PositiveIntegerField()
    notes = models.JSONField(default=list, help_text="what is unusual about it")
    veiled = models.JSONField(default=dict, help_text="its details and the name of its file, while it is anonymous")
    entered = models.CharField(
        max_length=20, blank=True, default="", help_text="the held-back split on which its owner wants it scored"
    )

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["campaign", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="one_run_per_number"),
            models.UniqueConstraint(fields=["campaign", "name"], name="one_run_per_name"),
        ]

    @property
    def is_private(self) -> bool:
        return self.visibility == Visibility.PRIVATE

    @property
    def is_public(self) -> bool:
        """Whether it has a page for whoever has its link."""
        return self.visibility in LINKED

    @property
    def worker(self) -> int | None:
        """The number of who uploaded it; None while it is anonymous."""
        return None if self.veiled else self.by.worker

    def veil(self) -> None:
        """Keep for later what would tell who made the run. Its row is not stored by that."""
        self.veiled = {name: getattr(self, name) for name in (*self.VEILED, "filename")}
        for name in self.VEILED:
            setattr(self, name, "")
        filename = "run" + "".join(Path(self.filename).suffixes)
        self.notes = [note.replace(self.filename, filename) for note in self.notes]
        self.name, self.filename = f"{ANONYMOUS} {self.number}", filename

    def unveil(self) -> None:
        """Show who made the run. Doing it twice is harmless."""
        details = self.veiled | {"veiled": {}, "anonymous_until": None}
        for name, value in details.items():
            setattr(self, name, value)
        self.save(update_fields=list(details))

    def show_to(self, visibility: str) -> None:
        """Let others see the run, or no longer. Doing it twice is harmless."""
        self.visibility = Visibility(visibility)
        self.save(update_fields=["visibility"])


class Benchmark(models.Model):
    """The ground truth of a leaderboard that a campaign judges again."""

    campaign = models.OneToOneField("campaigns.Campaign", models.CASCADE, related_name="benchmark")
    name = models.CharField(max_length=255, help_text="of its file")
    table = models.FileField(help_text="its moments as arrays")
    depth = models.PositiveSmallIntegerField(help_text="ranks of each run that are candidates")

    def __str__(self) -> str:
        return self.name


class ScoringReference(models.Model):
    """What scoring knows of a release, read from its file once."""

    release = models.OneToOneField("releases.Release", models.CASCADE, related_name="scoring_reference")
    table = models.FileField(help_text="the judged moments as arrays")
    queries = models.JSONField(help_text="[id, split, words, relevant moments] of each, in the order of scores")
    measures = models.JSONField(default=list, help_text="names of measures that somebody asked for beside the usual")
    ranked = models.JSONField(
        default=list, help_text="[place among the judged ones or null, in the sample, stratum] of each ranked query"
    )
    flaw = models.TextField(blank=True, default="", help_text="why the sample is not random")
    # A split of which nothing else of this row and no score of a `Scoring` knows
    held_back = models.CharField(max_length=20, blank=True, default="", help_text="its name; empty if there is none")
    held_queries = models.JSONField(default=list, help_text="ids of its queries, as they were in the release")
    held = models.FileField(blank=True, default="", help_text="its judged moments as arrays")
    opened = models.DateTimeField(null=True, help_text="since when members see the scores on it")
    closed = models.DateTimeField(null=True, help_text="when they were first opened: no run is entered after that")

    class Meta:
        db_table = "runs_yardstick"

    def __str__(self) -> str:
        return f"reference of {self.release}"

    def open(self, is_open: bool) -> None:
        """Show the scores on the held-back split, or hide them again. Doing it twice is harmless."""
        self.opened = (self.opened or timezone.now()) if is_open else None
        self.closed = self.closed or self.opened
        self.save(update_fields=["opened", "closed"])


class Scoring(models.Model):
    """A run, scored on a release."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="scorings")
    release = models.ForeignKey("releases.Release", models.PROTECT, related_name="scorings")
    at = models.DateTimeField(db_default=Now())
    measures = models.JSONField(default=list, help_text="names of the measures beside the usual that it was scored by")
    refusals = models.JSONField(default=dict, help_text="conventions under which it has no score, each with the reason")
    on_benchmark = models.JSONField(
        default=dict, help_text="score and interval by each measure of the benchmark that is judged again; empty: none"
    )
    missing = models.PositiveIntegerField(default=0, help_text="judged queries that the run does not answer")
    unjudged = models.PositiveIntegerField(default=0, help_text="queries of the run that the release does not judge")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "release"], name="one_scoring_per_run_and_release")]

    def __str__(self) -> str:
        return f"{self.run} on {self.release}"


class Score(models.Model):
    """One measure of a scoring under one convention."""

    scoring = models.ForeignKey(Scoring, models.CASCADE, related_name="scores", db_index=False)
    convention = models.CharField(max_length=20)
    measure = models.CharField(max_length=80)
    value = models.FloatField(null=True, help_text="null if no query counts")
    low = models.FloatField(null=True, help_text="lower end of the 95 % bootstrap interval over queries")
    high = models.FloatField(null=True, help_text="its upper end")
    spread = models.FloatField(null=True, help_text="half of the width of the interval over annotators, once resampled")
    values = models.BinaryField(help_text="of each query of the reference: float32, packed; NaN if it does not count")
    predicted = models.BinaryField(null=True, help_text="of each ranked query by predicted grades: float32, packed")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scoring", "convention", "measure"], name="one_score_per_measure")
        ]

    def __str__(self) -> str:
        return f"{self.measure} ({self.convention}) of {self.scoring}"


class HeldScore(models.Model):
    """A measure of a run on the held-back split of a release, rounded. Neither query values nor intervals are kept."""

    reference = models.ForeignKey(
        ScoringReference, models.CASCADE, related_name="held_scores", db_index=False, db_column="yardstick_id"
    )
    run = models.ForeignKey(Run, models.CASCADE, related_name="held_scores")
    measure = models.CharField(max_length=80)
    value = models.FloatField(
        null=True, help_text="to two decimals; null if the run answers too few queries of the split"
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reference", "run", "measure"], name="one_held_score")]

    def __str__(self) -> str:
        return f"{self.measure} of {self.run} on {self.reference.held_back}"


class Predictor(Spent):
    """Something that predicts the grades of a campaign's candidates. What it predicts is never a grade.

    Judging, releases and everything that annotators see know nothing of predictors.
    """

    class Source(models.TextChoices):
        FILE = "file", "A file of predicted grades"
        CHAT = "chat", "The chat endpoint, which looks at pictures of each clip"

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="predictors")
    name = models.CharField(max_length=100)
    by = models.ForeignKey(Membership, models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())
    source = models.CharField(max_length=10, choices=Source.choices)
    model = models.CharField(max_length=200, blank=True, help_text="what predicts")
    prompt = models.TextField(blank=True, help_text="what the chat endpoint is told before each clip")
    frames = models.PositiveSmallIntegerField(default=0, help_text="pictures of each clip that the endpoint sees")
    filename = models.CharField(max_length=255, blank=True)
    sha256 = models.CharField(max_length=64, blank=True, help_text="of the uploaded file")
    fault = models.TextField(blank=True, help_text="what is wrong with the uploaded file")
    ended = models.DateTimeField(null=True, help_text="when all grades were there")

    class Meta:
        ordering = ["campaign", "pk"]
        constraints = [models.UniqueConstraint(fields=["campaign", "name"], name="one_predictor_per_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_of_chat(self) -> bool:
        return self.source == Predictor.Source.CHAT

    def rows(self) -> Iterator[Predicted]:
        """Yield query, video, start and end (seconds), and predicted grade of each candidate that has one."""
        grades = {key: grade for held in self.predicted.values_list("grades", flat=True) for key, grade in held.items()}
        queries = self.predicted.order_by().values("query")
        moments = ("query__query_id", "moment__video__name", "moment__start", "moment__end")
        found = Candidate.objects.filter(query__in=queries).order_by("query__query_id", "rank")
        for key, *moment in found.values_list("pk", *moments).iterator():
            if (grade := grades.get(str(key))) is not None:
                yield (*moment, grade)

    @property
    def prompt_sha256(self) -> str:
        return hashlib.sha256(self.prompt.encode()).hexdigest() if self.prompt else ""


class PredictedGrades(models.Model):
    """What a predictor says of the candidates of one query."""

    predictor = models.ForeignKey(Predictor, models.CASCADE, related_name="predicted", db_index=False)
    query = models.ForeignKey("judging.Query", models.CASCADE, related_name="predicted")
    grades = models.JSONField(default=dict, help_text="from 0 to 4, by the candidate's key")
    faults = models.JSONField(default=dict, help_text="why there is no grade, by the candidate's key")

    class Meta:
        verbose_name_plural = "predicted grades"
        constraints = [models.UniqueConstraint(fields=["predictor", "query"], name="predicted_once")]

    def __str__(self) -> str:
        return f"{self.predictor} on query {self.query_id}"


class PredictionsFile(ArrivingFile):
    """The file of a predictor, until its grades are stored."""

    purpose = "grades"  # the only one, which addresses of uploads name

    predictor = models.OneToOneField(Predictor, models.CASCADE, related_name="file")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(received__gte=0, received__lte=F("size")), name="no_more_of_predictions_arrives"
            )
        ]

    @property
    def path(self) -> Path:
        return Path(settings.UPLOAD_ROOT) / "predictions" / self.token

    @classmethod
    def unfinished(cls) -> models.QuerySet[Any, Any]:
        return cls.objects.filter(predictor__ended=None).annotate(person=F("predictor__by__user"))


class WatchQuerySet(models.QuerySet["Watch"]):
    def of_open_runs(self) -> WatchQuerySet:
        """Without those of a run that is its owner's alone now."""
        return self.exclude(run__visibility=Visibility.PRIVATE).exclude(other__visibility=Visibility.PRIVATE)


class Watch(models.Model):
    """A difference of two runs that leads look at while judging goes on, as often as they like."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    other = models.ForeignKey(Run, models.CASCADE, related_name="+")
    measure = models.CharField(max_length=80)
    predictor = models.ForeignKey(
        Predictor, models.PROTECT, null=True, related_name="watches", help_text="null: the mean grade of a caption rank"
    )
    looks = models.JSONField(default=list, help_text="what each look found, the newest last")
    looked = models.DateTimeField(null=True)

    objects = WatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "watches"
        constraints = [
            models.UniqueConstraint(
                fields=["run", "other", "measure"], condition=Q(predictor=None), name="one_watch_of_a_difference"
            ),
            models.UniqueConstraint(fields=["run", "other", "measure", "predictor"], name="one_watch_by_a_predictor"),
        ]

    def __str__(self) -> str:
        by = f", by {self.predictor.name}" if self.predictor else ""
        return f"{self.run.name} − {self.other.name}, {self.measure}{by}"


class Inquiry(models.Model):
    """What examining the measures on some runs of a release found. Nothing that it rests on ever changes."""

    release = models.ForeignKey("releases.Release", models.CASCADE, related_name="inquiries")
    convention = models.CharField(max_length=20)
    runs = models.CharField(max_length=400, help_text="their numbers, ascending, between commas")
    findings = models.JSONField(null=True, help_text="null until the job has found them")

    class Meta:
        verbose_name_plural = "inquiries"
        constraints = [
            models.UniqueConstraint(fields=["release", "convention", "runs"], name="one_inquiry_about_the_same_runs")
        ]

    def __str__(self) -> str:
        return f"runs {self.runs} on {self.release} ({self.convention})"

    @property
    def compared(self) -> RunQuerySet:
        """The runs that it is about."""
        numbers = [int(number) for number in self.runs.split(",")]
        return Run.objects.filter(campaign=self.release.campaign_id, number__in=numbers)

    @property
    def keeper(self) -> User | None:
        """Who alone may know of it, because a run that it is about is private; None if no run is."""
        private = self.compared.filter(visibility=Visibility.PRIVATE).select_related("by__user").first()
        return private.by.user if private else None
