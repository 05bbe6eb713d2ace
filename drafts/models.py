"""Drafts of campaigns that are made in the browser, and the files that were uploaded for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from campaigns.models.draft import ArrivingFile, token
from corpus.models import Corpus

# The endings of `systems.features.films.DEMUXERS`, whose libraries no web process needs; a test compares them.
FILMS = {
    *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".3gp", ".3g2", ".flv", ".ts", ".mts", ".m2ts"),
    *(".mpg", ".mpeg", ".vob", ".ogv", ".wmv", "."),
}
TEXTS = {".json", ".jsonl", ".csv", ".tsv", ".txt"}


class FoundProblem(NamedTuple):
    """What a check found wrong, the step where it is mended, and the text of the line that is wrong, if it is one."""

    words: str
    step: str
    text: str


class DraftQuerySet(models.QuerySet["Draft"]):
    def unfinished(self) -> DraftQuerySet:
        return self.filter(campaign__isnull=True)


class Draft(models.Model):
    """A campaign that is being prepared, step by step. No row but this one and its uploads exists until it is made."""

    class Media(models.TextChoices):
        NONE = "none", "No films for now: everything works, but clips are missing"
        UPLOAD = "upload", "Films that I upload here"
        FOLDER = "folder", "A folder on the server, or in its S3 store"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="drafts")
    token = models.CharField(max_length=32, unique=True, default=token)
    # The corpus: one that is there, or a new one from a file
    corpus = models.ForeignKey(Corpus, models.SET_NULL, null=True, related_name="+")
    corpus_name = models.CharField(max_length=100, blank=True)
    format = models.CharField(max_length=20, blank=True)
    kind = models.CharField(max_length=20, blank=True, help_text="of the descriptions to import")
    columns = models.JSONField(default=dict, help_text="which column of a CSV holds a field")
    leaves_out_unusable = models.BooleanField(default=False, db_default=False, help_text="moments of the file")
    media = models.CharField(max_length=10, choices=Media.choices, default=Media.NONE)
    media_folder = models.CharField(max_length=500, blank=True)
    frame_rate = models.FloatField(null=True, help_text="frames a second, in folders of frames")
    # The campaign
    split = models.CharField(max_length=20, blank=True)
    selection = models.JSONField(default=dict, help_text="how many queries are drawn, and how; empty if none are")
    drawn = models.JSONField(default=dict, help_text="what was drawn to be looked at")
    reuses = models.ForeignKey(
        "campaigns.Campaign", models.SET_NULL, null=True, related_name="+", help_text="whose grades are reused"
    )
    pool_depth = models.PositiveSmallIntegerField(
        null=True, help_text="ranks of each run that become candidates; null unless a leaderboard is judged again"
    )
    name = models.CharField(max_length=100, blank=True)
    settings = models.JSONField(default=dict, help_text="columns of the campaign")
    people = models.JSONField(default=list, help_text="names and roles of further members")
    findings = models.JSONField(default=dict, help_text="of the last check; empty if something changed since")
    campaign = models.OneToOneField(
        "campaigns.Campaign", models.PROTECT, null=True, related_name="draft", help_text="what was made of it"
    )
    created = models.DateTimeField(db_default=Now())
    touched = models.DateTimeField(db_default=Now())

    objects = DraftQuerySet.as_manager()

    class Meta:
        db_table = "campaigns_draft"

    def __str__(self) -> str:
        return self.name or self.corpus_name or "A new campaign"

    @property
    def folder(self) -> Path:
        """The folder of its uploads, on every machine that has `UPLOAD_ROOT`."""
        return Path(settings.UPLOAD_ROOT) / self.token

    @property
    def is_new_corpus(self) -> bool:
        return self.corpus_id is None

    @property
    def is_rejudging(self) -> bool:
        """Whether the queries are a benchmark's, and the candidates what it and runs on it hold."""
        return self.pool_depth is not None

    @property
    def is_ready(self) -> bool:
        """Whether the last check found nothing wrong, and nothing has changed since."""
        return bool(self.findings) and not self.findings["problems"]

    @property
    def problems(self) -> list[FoundProblem]:
        """What the last check found wrong, as far as it is listed."""
        words = self.findings.get("problems", [])
        places = self.findings.get("places", [["", ""]] * len(words))
        return [FoundProblem(each, *place) for each, place in zip(words, places, strict=True)]

    @property
    def files(self) -> models.QuerySet[Upload]:
        """Its uploads, in the order in which they began."""
        return self.uploads.order_by("pk")

    def upload_for(self, purpose: str) -> Upload | None:
        """Return the newest upload for a purpose that has one file at most."""
        return self.uploads.filter(purpose=purpose).order_by("-pk").first()

    def change(self, **fields: object) -> None:
        """Store what a step says. What the last check found holds no more."""
        for name, value in fields.items():
            setattr(self, name, value)
        self.findings = {}
        self.save(update_fields=[*fields, "findings"])
        self.touch()

    def touch(self) -> None:
        """Note that somebody works on the draft, so that it is not deleted as forgotten."""
        Draft.objects.filter(pk=self.pk).update(touched=Now())


class UploadQuerySet(models.QuerySet["Upload"]):
    def whole(self) -> UploadQuerySet:
        return self.filter(received=F("size"))

    def partial(self) -> UploadQuerySet:
        return self.exclude(received=F("size"))


class Upload(ArrivingFile):
    """A file of a draft."""

    class Purpose(models.TextChoices):
        MOMENTS = "moments"
        DURATIONS = "durations"
        QUERIES = "queries"
        FILM = "film"
        BENCHMARK = "benchmark"
        RUN = "run"

    draft = models.ForeignKey(Draft, models.CASCADE, related_name="uploads")
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    sha256 = models.CharField(max_length=64, blank=True, help_text="of the whole file, once it was read")

    objects = UploadQuerySet.as_manager()

    class Meta:
        db_table = "campaigns_upload"
        constraints = [
            models.CheckConstraint(
                condition=Q(received__gte=0, received__lte=F("size")), name="no_more_arrives_than_was_announced"
            )
        ]

    SEVERAL = {Purpose.FILM.value, Purpose.RUN.value}  # purposes for which a draft may have more than one file

    @property
    def suffix(self) -> str:
        """The ending of the name, if it is one that a reader or a demuxer is chosen by."""
        found = os.path.splitext(self.name)[1].lower()
        return found if found in TEXTS or found in FILMS else ""

    @property
    def path(self) -> Path:
        return self.draft.folder / f"{self.token}{self.suffix}"

    @classmethod
    def unfinished(cls) -> models.QuerySet[Any, Any]:
        return cls.objects.partial().filter(draft__campaign=None).annotate(person=F("draft__owner"))
