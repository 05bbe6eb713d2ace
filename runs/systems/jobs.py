"""The kinds of job about systems: training one for a campaign, and a search with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from base.errors import ReeljudgeError
from campaigns.uploads import NoRoom
from corpus.errors import CorpusError, Unavailable
from jobs.errors import JobError, JobPostponed
from jobs.registry import Report, kind
from runs.systems.models import SystemSearch, TrainedSystem
from runs.systems.orders import SEARCH, TRAIN
from runs.systems.searches import find
from runs.systems.training import train
from systems.errors import FULL, SystemsError
from systems.errors import Unavailable as OutOfRoom


@kind(TRAIN)
def train_a_system(arguments: dict[str, Any], report: Report) -> None:
    rows = TrainedSystem.objects.select_related("campaign__corpus", "by__campaign")
    row = rows.filter(pk=arguments["system"]).first()
    if row is None:
        return  # Its campaign is gone.
    with _told():
        train(row, report)
    report(1, 1, "the run is submitted")


@kind(SEARCH)
def search_with_a_system(arguments: dict[str, Any], report: Report) -> None:
    searches = SystemSearch.objects.select_related("system__campaign__corpus")
    search = searches.filter(pk=arguments["search"]).first()
    if search is None:
        return  # It was forgotten.
    with _told():
        find(search)


@contextmanager
def _told() -> Iterator[None]:
    """Tell the job which errors pass by themselves: those of stores, and of disks that are full."""
    try:
        yield
    except Unavailable:
        raise
    except (NoRoom, OutOfRoom) as fault:
        raise JobPostponed(str(fault)) from fault
    except SystemsError as fault:
        if getattr(fault.__cause__, "errno", None) in FULL:
            raise JobPostponed(str(fault)) from fault
        raise JobError(str(fault)) from fault
    except (CorpusError, ReeljudgeError) as fault:
        raise JobError(str(fault)) from fault
