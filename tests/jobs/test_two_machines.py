"""Two machines with one worker each: one lacks the films, or is killed, and the other does what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.films import write_film
from tests.installation import ROOT, Installation, sql
from tests.waiting import wait_until

pytestmark = pytest.mark.long
# In name spaces of its own, a process has another host name, and an empty folder in place of the films.
OTHER_MACHINE = 'hostname elsewhere && mount -t tmpfs none "$0" && exec "$@"'
CAMPAIGN = """
from campaigns.models import Campaign; from corpus.models import Corpus; from tests.cast import make_query
campaign = Campaign.objects.create(name="films", corpus=Corpus.objects.get(), batch_size=3)
make_query(campaign, "1", "A person sits down.")
"""
PARTS, OF_A_PART = 6, 1024
CAPTIONS = f"""
from django.db.models import F; from corpus.models import Corpus, Moment, Video
from retrieval.search.index import index_captions
film = Video.objects.create(corpus=Corpus.objects.create(name="films", format="tvr"), name="film", duration=1e6)
moments = [Moment(video=film, start=n, end=n + 1, description=f"Number {{n}}.") for n in range({PARTS * OF_A_PART})]
Moment.objects.bulk_create(moments)
Moment.objects.update(caption=F("description"))
index_captions.ask(film.corpus)
"""
RUNNING = "SELECT worker FROM jobs_job WHERE state = 'running' AND kind = "
DONE_PARTS = "SELECT id, attempts FROM jobs_job WHERE kind = 'encode-some-captions' AND state = 'done' ORDER BY id"
STATE = "SELECT state, left_by, error, worker FROM jobs_job"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    """An installation with a batch to cut, and nothing that runs."""
    made = Installation(tmp_path / "home")
    made.create()
    moments = write_film(tmp_path / "films")
    films = tmp_path / "films" / "media"
    try:
        made.manage("import_corpus", "films", str(moments), "--format", "tvr", "--media", str(films))
        made.shell(CAMPAIGN)
        yield made
    finally:
        made.stop()


def start(place: Installation, *before: str) -> subprocess.Popen[bytes]:
    """Start a worker, behind a command that changes where it lives."""
    with (place.home / f"log of {len(before)}").open("wb") as log:
        command = [*before, sys.executable, "manage.py", "worker"]
        return subprocess.Popen(command, cwd=ROOT, env=place.env, stderr=log, start_new_session=True)


def end(worker: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGTERM)
    worker.wait(20)


def test_the_machine_without_the_films_leaves_the_job_to_the_other(place: Installation, tmp_path: Path) -> None:
    films = str(tmp_path / "films" / "media")
    elsewhere = ["unshare", "--uts", "--mount", "sh", "-c", OTHER_MACHINE, films]
    if subprocess.run([*elsewhere, "true"], check=False, capture_output=True).returncode:
        pytest.skip("only root can make another machine")
    without = start(place, *elsewhere)
    try:
        wait_until(lambda: sql(place, STATE)[0][1] == "|elsewhere|", lambda: str(sql(place, STATE)))
        assert sql(place, STATE)[0][0] == "waiting"
        assert "its media are not in" in sql(place, STATE)[0][2]
        assert sql(place, "SELECT state FROM judging_batch") == [("preparing",)]
        with_films = start(place)
        try:
            wait_until(lambda: sql(place, STATE)[0][0] == "done", lambda: str(sql(place, STATE)))
        finally:
            end(with_films)
    finally:
        end(without)
    assert not sql(place, STATE)[0][3].startswith("elsewhere:")
    assert sql(place, "SELECT state FROM judging_batch") == [("open",)]
    log = (place.home / f"log of {len(elsewhere)}").read_text()
    assert log.count("films are missing in") == 1


def test_a_worker_that_is_killed_while_two_encode_leaves_the_rest_to_the_other(tmp_path: Path) -> None:
    place = Installation(tmp_path / "home")
    place.create()
    place.shell(CAPTIONS)
    workers = [start(place), start(place)]
    try:
        wait_until(lambda: both_encode(place), lambda: str(sql(place, STATE)))
        ((whole,),) = sql(place, RUNNING + "'index-captions'")
        before = sql(place, DONE_PARTS)
        os.kill(int(whole.rpartition(":")[2]), signal.SIGKILL)
        sql(place, f"UPDATE jobs_job SET lease = started WHERE state = 'running' AND worker = '{whole}'")  # time passes
        wait_until(lambda: sql(place, STATE)[0][0] == "done", lambda: str(sql(place, STATE)))
    finally:
        for worker in workers:
            end(worker)
        place.stop()
    assert sql(place, STATE)[0][3] not in ("", whole)
    after = sql(place, DONE_PARTS)
    assert len(after) == PARTS
    assert set(before) <= set(after)  # what was done is not done again
    assert {attempts for _, attempts in after} == {1, 2}
    assert sql(place, "SELECT moments FROM retrieval_searchindex") == [(PARTS * OF_A_PART,)]
    assert sql(place, "SELECT count(*) FROM retrieval_vector") == [(PARTS * OF_A_PART,)]


def both_encode(place: Installation) -> bool:
    """Return whether a part is done, and each worker has another."""
    return bool(sql(place, DONE_PARTS)) and len(set(sql(place, RUNNING + "'encode-some-captions'"))) == 2
