"""The models of corpora: videos, their moments, and the clips that show moments."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from django.db import models
from django.db.models import F, Q

from base.errors import ReeljudgeError
from metrics.formats.moment_ids import moment_id

Span = tuple[str, float, float]  # video, start and end in seconds
DIGITS = 3  # of seconds, as in the ids of moments


class WholeCorpora(models.Manager["Corpus"]):
    """The corpora that are stored as a whole. Nobody sees the others."""

    def get_queryset(self) -> models.QuerySet[Corpus]:
        return super().get_queryset().filter(is_whole=True)

    def named(self, name: str) -> Corpus:
        """Return the corpus of that name. Raises ReeljudgeError if there is none; it says which there are."""
        if corpus := self.filter(name=name).first():
            return corpus
        names = ", ".join(self.order_by("name").values_list("name", flat=True)[:20]) or "none yet"
        raise ReeljudgeError(f"corpus {name}: not found; expected one of: {names}")


class Corpus(models.Model):
    """A collection of videos whose moments are described."""

    name = models.CharField(max_length=100, unique=True)
    format = models.CharField(max_length=20)
    media_folder = models.CharField(
        max_length=500, blank=True, help_text="of its films, or a prefix of a store as in s3://bucket/prefix"
    )
    frame_rate = models.FloatField(null=True, help_text="frames a second, in folders of frames")
    figures = models.JSONField(null=True, help_text="its size, as last counted; null after it has changed")
    changes = models.PositiveIntegerField(default=0, help_text="how many imports have changed its moments")
    is_whole = models.BooleanField(default=True, help_text="false while it is stored part by part")

    objects = WholeCorpora()
    everything = models.Manager["Corpus"]()

    class Meta:
        verbose_name_plural = "corpora"
        constraints = [
            models.CheckConstraint(
                condition=Q(frame_rate__isnull=True) | Q(frame_rate__gt=0), name="frame_rate_is_positive"
            )
        ]

    def __str__(self) -> str:
        return self.name

    def count_change(self) -> None:
        """Note that moments were added or replaced, so that what was made of them knows that it is out of date."""
        Corpus.objects.filter(pk=self.pk).update(changes=F("changes") + 1)


class Video(models.Model):
    """A video of a corpus. Its media may be missing."""

    corpus = models.ForeignKey(Corpus, models.CASCADE, related_name="videos")
    name = models.CharField(max_length=300)
    duration = models.FloatField(help_text="seconds")
    media = models.CharField(max_length=500, blank=True, help_text="file or folder of frames, below the media folder")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="one_video_per_name_in_corpus"),
            models.CheckConstraint(condition=Q(duration__gt=0), name="video_has_a_length"),
        ]

    def __str__(self) -> str:
        return self.name


class ClipState(models.TextChoices):
    WAITING = "waiting"
    READY = "ready"
    MISSING = "missing"  # the corpus has no media for this video
    FAILED = "failed"


TO_COME = (ClipState.WAITING, ClipState.FAILED)  # the clip is not there, although its video has media


class Clip(models.Model):
    """A file that shows a video from one time to another. Its token, which addresses contain, says nothing about it."""

    State = ClipState

    video = models.ForeignKey(Video, models.CASCADE, related_name="clips")
    audience = models.CharField(
        max_length=100, help_text="whom it is for; another audience gets a clip with another address and file"
    )
    start = models.FloatField(help_text="seconds")
    end = models.FloatField(help_text="seconds")
    sound = models.BooleanField(default=False)
    token = models.CharField(max_length=64, unique=True, default=secrets.token_urlsafe)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    file = models.FileField(blank=True)
    size = models.BigIntegerField(null=True, help_text="bytes of the file")
    sha256 = models.CharField(max_length=64, blank=True, help_text="checksum of the file")
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["video", "start", "end", "sound", "audience"], name="one_clip_per_stretch_and_audience"
            )
        ]
        # Few clips are in these states at a time, and they are counted whenever somebody watches.
        indexes = [models.Index(fields=["state"], condition=Q(state__in=TO_COME), name="clips_to_come")]

    def __str__(self) -> str:
        return self.token

    @property
    def is_ready(self) -> bool:
        return self.state == Clip.State.READY

    @property
    def is_waiting(self) -> bool:
        return self.state == Clip.State.WAITING

    @property
    def is_to_come(self) -> bool:
        return self.state in TO_COME


class DescribedMoments(models.Manager["Moment"]):
    """The moments that the corpus describes."""

    def get_queryset(self) -> models.QuerySet[Moment]:
        return super().get_queryset().filter(predicted=False)


class Moment(models.Model):
    """A part of a video, from one time to another, with a description unless a run predicted it."""

    video = models.ForeignKey(Video, models.CASCADE, related_name="moments")
    start = models.FloatField(help_text="seconds")
    end = models.FloatField(help_text="seconds")
    description = models.TextField(help_text="as the corpus gives it")
    caption = models.TextField(help_text="the text that is compared with queries; annotators never see it")
    predicted = models.BooleanField(
        default=False, help_text="whether it is no part of the corpus, but was predicted by a run and is judged"
    )

    objects = DescribedMoments()
    everything = models.Manager["Moment"]()

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

    @property
    def length(self) -> float:
        return self.end - self.start


def moments_at(corpus: Corpus, spans: Sequence[Span]) -> list[Moment]:
    """Return the moment at each span: that of the corpus with the same id if there is one, else a predicted one.

    Times are rounded to milliseconds, and an end behind the video's end becomes that end. Raises Video.DoesNotExist if
    the corpus has no such video.
    """
    videos = {video.name: video for video in Video.objects.filter(corpus=corpus, name__in={s[0] for s in spans})}
    known: dict[str, Moment] = {}
    listed = Moment.everything.filter(video__in=[each.pk for each in videos.values()]).select_related("video")
    for moment in listed.order_by("predicted", "pk"):
        known.setdefault(str(moment), moment)
    found = []
    for name, start, end in spans:
        if name not in videos:
            raise Video.DoesNotExist(f"{corpus}: no video {name}")
        video, start = videos[name], round(start, DIGITS)
        end = min(round(end, DIGITS), video.duration)
        key = moment_id(name, start, end)
        if key not in known:
            known[key] = Moment.everything.create(
                video=video, start=start, end=end, description="", caption="", predicted=True
            )
        found.append(known[key])
    return found
