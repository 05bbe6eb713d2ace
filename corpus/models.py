"""What exists: corpora, their videos, the moments in them, and the clips that show moments."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from urllib.parse import quote

from django.db import models
from django.db.models import F, Q

NOT_IN_IDS = r"[\s%]"


def moment_id(video: str, start: float, end: float) -> str:
    """The name of a moment in TREC files: `video@startms-endms`, times in whole milliseconds, no white space.

    White space is percent-encoded as in addresses, and so is the per cent sign: no two videos share a name.

    >>> moment_id("film 1", 1.5, 4.25)
    'film%201@1500-4250'
    >>> moment_id("film%201", 1.5, 4.25)
    'film%25201@1500-4250'
    """
    return f"{re.sub(NOT_IN_IDS, _percent, video)}@{round(start * 1000)}-{round(end * 1000)}"


def _percent(found: re.Match[str]) -> str:
    return quote(found[0])


class Corpus(models.Model):
    name = models.CharField(max_length=100, unique=True)
    format = models.CharField(max_length=20)
    media_folder = models.CharField(max_length=500, blank=True)
    frame_rate = models.FloatField(null=True, help_text="of folders of frames, in frames a second")

    class Meta:
        verbose_name_plural = "corpora"
        constraints = [
            models.CheckConstraint(
                condition=Q(frame_rate__isnull=True) | Q(frame_rate__gt=0), name="frame_rate_is_positive"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Video(models.Model):
    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="videos")
    name = models.CharField(max_length=300)
    duration = models.FloatField(help_text="seconds")
    media = models.CharField(
        max_length=500, blank=True, help_text="file or folder of frames, below the media folder"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="one_video_per_name_in_corpus"),
            models.CheckConstraint(condition=Q(duration__gt=0), name="video_has_a_length"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def media_path(self) -> Path | None:
        return Path(self.corpus.media_folder) / self.media if self.media else None


class Clip(models.Model):
    """The picture of one stretch of a video, whose address tells nothing about it."""

    class State(models.TextChoices):
        WAITING = "waiting"
        READY = "ready"
        MISSING = "missing"  # the corpus has no media for this video
        FAILED = "failed"

    video = models.ForeignKey(Video, models.CASCADE, related_name="clips")
    start = models.FloatField(help_text="seconds")
    end = models.FloatField(help_text="seconds")
    sound = models.BooleanField(default=False)
    token = models.CharField(max_length=64, unique=True, default=secrets.token_urlsafe)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    file = models.FileField(blank=True)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["video", "start", "end", "sound"], name="one_clip_per_stretch")
        ]

    def __str__(self) -> str:
        return self.token

    @property
    def is_ready(self) -> bool:
        return self.state == Clip.State.READY

    @property
    def is_waiting(self) -> bool:
        return self.state == Clip.State.WAITING


class Moment(models.Model):
    video = models.ForeignKey(Video, models.CASCADE, related_name="moments")
    start = models.FloatField(help_text="seconds")
    end = models.FloatField(help_text="seconds")
    description = models.TextField(help_text="as the corpus gives it")
    caption = models.TextField(help_text="what is compared with queries; shown to nobody who judges")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["video", "start", "end", "description"], name="one_moment_per_stretch_and_description"
            ),
            models.CheckConstraint(
                condition=Q(start__gte=0) & Q(start__lt=F("end")), name="moment_starts_before_it_ends"
            ),
        ]

    def __str__(self) -> str:
        return moment_id(self.video.name, self.start, self.end)
