"""A job keeps its lease while it stores a large corpus, finds films for it, or deletes what is not to stay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from campaigns.access import let_create_no_longer
from campaigns.uploads import append
from corpus import films
from corpus.importers import checking, load
from corpus.importers.load import UNFINISHED
from corpus.models import Corpus, Moment, Video
from drafts import sources
from drafts.models import Draft
from drafts.sources import source_of
from drafts.uploads import begin
from jobs.models import Job
from jobs.running import work_off

LEASE, TOOK = 100, 40  # seconds; of a statement, which is said to take so long
WRITES = re.compile(r'(INSERT INTO|UPDATE|DELETE FROM) "corpus_(moment|video)"')
FILM = b"no film"


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.JOB_LEASE = LEASE
    monkeypatch.setattr("drafts.builder.rank_candidates", SimpleNamespace(ask=lambda campaign: None))
    for module, name, size in (
        (load, "AT_A_TIME", 5),
        (load, "CHUNK", 5),
        (checking, "SIGN_EVERY", 5),
        (films, "AT_A_TIME", 1),
    ):
        monkeypatch.setattr(module, name, size)


@contextmanager
def slow_disk() -> Iterator[list[str]]:
    """Give the statements before which another worker could have taken the job, if each takes so long."""
    late: list[str] = []

    def age(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if WRITES.match(sql):
            Job.objects.update(lease=F("lease") - timedelta(seconds=TOOK))
            late.extend(sql[:40] for _ in Job.objects.filter(lease__lt=Now()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(age):
        yield late


@pytest.fixture
def ready(client: Client, draft: Draft) -> Draft:
    """A draft with films that is checked, and whose campaign a killed job had begun to make."""
    for number in range(3):
        append(begin(draft, "film", f"film-{number}.mp4", len(FILM)), 0, FILM)
    client.post(reverse("draft-check-start", args=[draft.token]))
    assert not work_off()
    draft.refresh_from_db()
    left = Corpus(name=f"{UNFINISHED}{draft.token}", format="csv", is_whole=False)
    load.fill(left, source_of(draft))
    client.post(reverse("draft-make", args=[draft.token]))
    return draft


@pytest.mark.both_databases
def test_a_campaign_is_made_by_one_worker_alone(ready: Draft) -> None:
    with slow_disk() as late:
        assert not work_off()
    assert late == []
    corpus = Corpus.everything.get()
    assert (corpus.name, Moment.objects.filter(video__corpus=corpus).count()) == ("own", 30)
    assert corpus.videos.exclude(media="").count() == 3


def test_so_is_one_that_comes_to_nothing(ready: Draft, nora: User) -> None:
    let_create_no_longer(nora)
    with slow_disk() as late:
        [failed] = work_off()
    assert "may no longer create campaigns" in failed.error
    assert late == []
    assert not Corpus.everything.exists()
    assert not Video.objects.exists()


@pytest.mark.parametrize("what", ["INSERT", "UPDATE", "DELETE"])
def test_a_job_that_says_nothing_would_lose_it(ready: Draft, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    whole = load.staged
    monkeypatch.setattr(sources, "staged", lambda key, source, sign: whole(key, source, lambda rows: None))
    with slow_disk() as late:
        work_off()
    assert any(sql.startswith(what) for sql in late)
