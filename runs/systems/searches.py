"""Searching a campaign's corpus for a typed query with a trained system, and cutting the clips of what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from django.db.models.functions import Now

from base.transactions import all_or_nothing
from campaigns.models import Campaign
from corpus.errors import CorpusError
from corpus.models import Clip, Moment, Video
from jobs.registry import Report, each_hour, kind
from judging.pool.clips import clips_found, cut_for_search
from metrics import moment_id
from runs.systems.data import queries_as_read
from runs.systems.models import SystemSearch, TrainedSystem
from runs.systems.training import full_disks_pass
from systems.data import Query
from systems.errors import SystemsError
from systems.interface import System

HITS = 10
FORGOTTEN_AFTER = timedelta(days=7)


@dataclass(frozen=True)
class Hit:
    """A moment that a system found, with the clip that shows it, if there is one."""

    video: str
    start: float
    end: float
    score: float
    clip: Clip | None

    @property
    def moment(self) -> str:
        """Its id in TREC files."""
        return moment_id(self.video, self.start, self.end)


@kind(
    "search-with-system",
    "Search with a system",
    of=SystemSearch,
    owner="system.campaign",
    subject="{0.system}",
    page=("system-search", "system.campaign.name", "system.number"),
    by_members=True,
    refusals=(CorpusError, SystemsError),
)
def search_with_system(search: SystemSearch, report: Report) -> None:
    with full_disks_pass():
        find(search)


def find(search: SystemSearch) -> None:
    """Find the moments of a search, store them, and ask for their clips.

    Raises
    ------
    SystemsError
        If the system's files are not there any more, or the settings name another encoder than it was trained with.
    """
    if search.moments is not None:
        return
    row = search.system
    trained = str(row.trained)  # after a new index, the system is loaded anew
    queries = queries_as_read(row, [Query("typed", search.text)])
    run = _loaded(row.pk, trained).search(queries, HITS)
    search.moments = [
        [run.names[int(video)], round(float(start), 3), round(float(end), 3), float(score)]
        for video, start, end, score in zip(run.video, run.start, run.end, run.scores, strict=True)
    ]
    _store(search)


@lru_cache(maxsize=2)
def _loaded(pk: int, trained: str) -> System:
    """Return a system that keeps what it has read, for one search after the other."""
    return TrainedSystem.objects.get(pk=pk).made()


@all_or_nothing
def _store(search: SystemSearch) -> None:
    search.save(update_fields=["moments"])
    campaign = search.system.campaign
    clips = clips_found(moments := _moments(search), campaign)
    for moment in moments:
        clip = clips.get(moment.pk)
        if moment.video.media and not (clip and clip.is_ready):
            cut_for_search(moment, campaign)


def hits_of(search: SystemSearch, campaign: Campaign) -> list[Hit]:
    """Return the moments of a search that has ended, best first."""
    moments = _moments(search)
    clips = clips_found(moments, campaign)
    scores = [score for *_, score in search.moments or []]
    return [
        Hit(each.video.name, each.start, each.end, score, clips.get(each.pk))
        for each, score in zip(moments, scores, strict=True)
    ]


def _moments(search: SystemSearch) -> list[Moment]:
    """Return what was found as moments that are not stored, with their places as keys; the corpus describes others."""
    found = search.moments or []
    rows = Video.objects.filter(corpus=search.system.campaign.corpus_id, name__in=[video for video, *_ in found])
    videos = {row.name: row for row in rows}
    return [
        Moment(pk=place, video=videos[video], start=start, end=end)
        for place, (video, start, end, _) in enumerate(found)
    ]


@each_hour
def forget_searches() -> None:
    SystemSearch.objects.filter(made__lt=Now() - FORGOTTEN_AFTER).delete()
