"""Releases, each a campaign's state in one file that cannot change, and pseudo training sets."""

from __future__ import annotations

from typing import NamedTuple

from django.db import models
from django.db.models.functions import Now

from campaigns.models import Membership


def title_of(campaign: str, version: int) -> str:
    """Return what a release is called, given the campaign's title."""
    return f"{campaign}, release {version}"


def creator_of(campaign: str) -> str:
    """Return who is cited as a release's author, given the campaign's title."""
    return f"The annotators and leads of {campaign}"


class Contribution(NamedTuple):
    """How many of an annotator's judgements are behind the final grades of a release."""

    release: int  # its version
    judgements: int


class ReleaseQuerySet(models.QuerySet["Release"]):
    def newest(self) -> Release | None:
        """Return the newest one that is ready, which runs are checked and scored against."""
        return self.filter(state=Release.State.READY).order_by("version").last()

    def contributions_of(self, annotator: Membership) -> list[Contribution]:
        """Return what the annotator has contributed to the releases of the campaign, the newest first.

        Releases without a judgement of the annotator are left out, and so are those that were frozen before
        contributions were counted.
        """
        rows = self.filter(campaign=annotator.campaign_id, state=Release.State.READY).order_by("-version")
        counted = rows.exclude(contributions=None).values_list("version", "contributions")
        own = (Contribution(version, (counts or {}).get(str(annotator.pk), 0)) for version, counts in counted)
        return [each for each in own if each.judgements]


class Release(models.Model):
    """A numbered release of a campaign. A job writes its file; after that nothing changes it."""

    class State(models.TextChoices):
        MAKING = "making"
        READY = "ready"

    campaign = models.ForeignKey("campaigns.Campaign", models.PROTECT, related_name="releases")
    version = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.MAKING)
    licence = models.CharField(max_length=40, help_text="SPDX identifier")
    notes = models.TextField(blank=True)
    date = models.DateField(null=True, help_text="the day on which it was asked for")
    contact = models.CharField(max_length=200, blank=True, help_text="whom readers ask: a name, an address or a page")
    language = models.CharField(max_length=20, blank=True, help_text="of queries and captions, such as en or zh-Hans")
    films = models.CharField(max_length=500, blank=True, help_text="where the films are from, and who may get them")
    baselines = models.JSONField(default=list, help_text="numbers of the runs whose scores its card shows")
    with_finished = models.BooleanField(
        default=False, help_text="whether it holds queries that are finished beyond the frontier"
    )
    with_unfinished = models.BooleanField(default=False, help_text="whether it holds queries that were not finished")
    unfinished = models.JSONField(default=list, help_text="ids of the queries that were not finished")
    file = models.FileField(blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.BigIntegerField(default=0, help_text="bytes")
    signature = models.TextField(blank=True, help_text="as minisign checks it; empty if it was frozen without a key")
    counts = models.JSONField(default=dict)
    estimates = models.JSONField(
        default=dict, help_text="what its sample is and stands for; empty if it was made before there was an order"
    )
    contributions = models.JSONField(
        null=True,
        help_text="how many judgements of each annotator, by primary key, are behind its final grades; null if it was"
        " frozen before they were counted",
    )
    by = models.ForeignKey("campaigns.Membership", models.PROTECT, related_name="releases")
    at = models.DateTimeField(
        db_default=Now(), help_text="when it was asked for; once written, the instant whose state it holds"
    )

    objects = ReleaseQuerySet.as_manager()

    class Meta:
        ordering = ["campaign", "-version"]
        constraints = [models.UniqueConstraint(fields=["campaign", "version"], name="one_release_per_version")]

    def __str__(self) -> str:
        return f"{self.campaign_id} release {self.version}"

    @property
    def is_ready(self) -> bool:
        return self.state == Release.State.READY

    @property
    def citation(self) -> str:
        """How to cite it, in a line. The authors are the campaign's people, whose names no release holds."""
        title = str(self.campaign)
        by, what = f"{creator_of(title)} ({self.at.year})", title_of(title, self.version)
        return f"{by}. {what}. Data set, {self.licence}. SHA-256 {self.sha256}."

    @property
    def is_early(self) -> bool:
        """Whether it holds queries beyond the frontier before all are finished: too many of them have one batch."""
        holds_more = self.with_finished or self.with_unfinished  # than those up to the frontier
        return holds_more and bool(self.unfinished) and self.campaign.batches > 1


class TrainingSet(models.Model):
    """The newest pseudo training set of a campaign with this N. A job writes its file, and each time a new one."""

    campaign = models.ForeignKey("campaigns.Campaign", models.CASCADE, related_name="training_sets")
    depth = models.PositiveSmallIntegerField(help_text="N, the number of moments for each query")
    encoder = models.CharField(max_length=200, blank=True, help_text="the model that made it")
    queries = models.PositiveIntegerField(default=0)
    file = models.FileField(blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.BigIntegerField(default=0, help_text="bytes")
    at = models.DateTimeField(null=True, help_text="when its file was written; null as long as there is none")

    class Meta:
        ordering = ["campaign", "depth"]
        constraints = [models.UniqueConstraint(fields=["campaign", "depth"], name="one_training_set_per_depth")]

    def __str__(self) -> str:
        return f"{self.campaign_id} training set with N = {self.depth}"
