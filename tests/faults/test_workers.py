"""Workers are killed, Redis goes and comes, messages are lost or come twenty times: every job ends, and once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from celery import Celery

from jobs.queue import Lane
from tests import browsing
from tests.faults.account import Account, check
from tests.faults.conftest import Note
from tests.faults.crowd import Crowd, at_work, make_campaign
from tests.faults.servers import postgres, running
from tests.installation import ROOT, Installation, sql
from tests.redis_servers import RedisServer, own_redis
from tests.waiting import a_while, wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
QUERIES, LEASE, MESSAGES = 4, 10, 20
CELERY = ("-m", "celery", "-A", "config", "worker", "-c", "1", "-l", "warning")
SWEEPER = "-B"
# Asks for the ranking anew, and dies after the commit, when the message would be sent.
DIE_BEFORE_SENDING = """
import os, signal, django
django.setup()
import jobs.queue
from campaigns.models import Campaign
from judging.pool.ranking import rank_candidates
jobs.queue.send = lambda job: os.kill(os.getpid(), signal.SIGKILL)
rank_candidates.ask(Campaign.objects.get(name="{0}"))
"""
# Asks for it anew without a message.
ASK_SILENTLY = DIE_BEFORE_SENDING.replace("os.kill(os.getpid(), signal.SIGKILL)", "None")
RUNNING = "SELECT worker FROM jobs_job WHERE state = 'running' AND kind = 'cut-clips'"
UNFINISHED = "SELECT count(*) FROM jobs_job WHERE state IN ('waiting', 'running')"


@pytest.fixture(scope="module")
def queue() -> Iterator[RedisServer]:
    with own_redis() as made:
        yield made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, queue: RedisServer) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp("workers") / "home"
    with postgres() as server, running(home, server.url, queue.url, JOB_LEASE=str(LEASE)) as made:
        browsing.import_films(made)
        yield made


@pytest.fixture
def crowd(place: Installation, request: pytest.FixtureRequest) -> Iterator[Crowd]:
    """Four annotators who judge meanwhile, and who are never refused."""
    annotators = make_campaign(place, f"crowd-{request.node.name.replace('_', '-')[:40]}", people=4, batches=20)
    with at_work(annotators) as made:
        made.reach(1)
        yield made
    assert (made.unreached, made.refused.total()) == (0, 0), made.refused


def test_a_celery_child_is_killed_while_it_cuts(place: Installation, crowd: Crowd, note: Note) -> None:
    browsing.make_campaign(place, "child", queries=QUERIES)
    os.kill(cutting(place), signal.SIGKILL)
    note("kill -9 of a Celery child", "postgres", rested(place, crowd), opened(place, "child"))


def test_the_celery_parent_is_killed_while_it_cuts(place: Installation, crowd: Crowd, note: Note) -> None:
    browsing.make_campaign(place, "parent", queries=QUERIES)
    cutting(place)
    parent = place.processes.pop()
    parent.kill()
    parent.wait()
    start_celery(place, SWEEPER)  # as systemd does
    seconds = opened(place, "parent")
    with suppress(ProcessLookupError):
        os.killpg(parent.pid, signal.SIGKILL)  # children that outlived it
    note("kill -9 of Celery's parent", "postgres", rested(place, crowd), seconds)


def test_redis_is_away_and_comes_back(place: Installation, queue: RedisServer, crowd: Crowd, note: Note) -> None:
    queue.stop()
    crowd.more(40)
    browsing.make_campaign(place, "away", queries=QUERIES)
    queue.start()
    seconds = opened(place, "away")
    note("Redis absent, and back", "postgres", rested(place, crowd), seconds)


def test_redis_is_restarted_while_clips_are_cut(
    place: Installation, queue: RedisServer, crowd: Crowd, note: Note
) -> None:
    browsing.make_campaign(place, "restarted", queries=QUERIES)
    cutting(place)
    queue.stop()
    queue.start()
    seconds = opened(place, "restarted")
    note("Redis restarted", "postgres", rested(place, crowd), seconds)


def test_redis_is_flushed_and_only_the_sweeper_helps(
    place: Installation, queue: RedisServer, crowd: Crowd, note: Note, control: Callable[..., None]
) -> None:
    end_celery(place)
    browsing.make_campaign(place, "flushed", queries=QUERIES)
    queue.client().flushall()
    start_celery(place)
    served(queue)
    left = unfinished(place)
    assert left
    control("a flushed queue without the sweeper", "postgres", f"{left} job left behind")
    end_celery(place)
    start_celery(place, SWEEPER)
    seconds = opened(place, "flushed")
    note("Redis flushed", "postgres", rested(place, crowd), seconds)


def test_a_crash_between_commit_and_message_delays_a_job_only(place: Installation, crowd: Crowd, note: Note) -> None:
    died = subprocess.run(
        [sys.executable, "-c", DIE_BEFORE_SENDING.format("flushed")], cwd=ROOT, env=place.env, check=False
    )
    assert died.returncode == -signal.SIGKILL
    assert unfinished(place) == 1
    began = time.monotonic()
    wait_until(lambda: not unfinished(place), lambda: "the job is done")
    done = rested(place, crowd)
    note("crash between commit and publish", "postgres", done, time.monotonic() - began)


def test_a_message_that_comes_twenty_times_runs_the_job_once(
    place: Installation, queue: RedisServer, crowd: Crowd, note: Note
) -> None:
    end_celery(place)
    place.run("-c", ASK_SILENTLY.format("flushed"))
    ((job,),) = sql(place, "SELECT id FROM jobs_job WHERE state = 'waiting'")
    sender = Celery(broker=queue.url)
    for _ in range(MESSAGES):
        sender.send_task("judging.rank_candidates", [job], queue=Lane.LONG)
    sender.close()
    assert queue.client().llen(Lane.LONG) == MESSAGES
    start_celery(place)
    start_celery(place, SWEEPER)
    served(queue)
    wait_until(lambda: not unfinished(place), lambda: "the job is done")
    assert sql(place, f"SELECT attempts, state FROM jobs_job WHERE id = {job}") == [(1, "done")]
    note(f"one message {MESSAGES} times, two workers", "postgres", rested(place, crowd))


def rested(place: Installation, crowd: Crowd) -> Account:
    """Let the annotators stop; return what became of their grades."""
    crowd.rest()
    return check(place, crowd.annotators)


def cutting(place: Installation) -> int:
    """Wait until a worker cuts clips; return its process."""
    wait_until(lambda: sql(place, RUNNING), lambda: "clips are cut")
    ((worker,),) = sql(place, RUNNING)
    return int(worker.rpartition(":")[2])


def opened(place: Installation, campaign: str) -> float:
    """Return the seconds until all batches are open, each clip of which is whole."""
    began = time.monotonic()
    browsing.wait_until_open(place, campaign, QUERIES)
    seconds = time.monotonic() - began
    clips = sql(
        place,
        "SELECT DISTINCT c.state, c.file FROM corpus_clip c JOIN judging_candidate p ON p.clip_id = c.id "
        "JOIN judging_query q ON q.id = p.query_id JOIN campaigns_campaign m ON m.id = q.campaign_id "
        f"WHERE m.name = '{campaign}'",
    )
    assert {state for state, _ in clips} == {"ready"}
    assert all((place.home / "media" / file).stat().st_size > 1000 for _, file in clips)
    return seconds


def end_celery(place: Installation) -> None:
    """Kill all Celery workers with their children."""
    for process in place.processes[1:]:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    del place.processes[1:]


def start_celery(place: Installation, *options: str) -> None:
    place.spawn(*CELERY, *options)


def served(queue: RedisServer) -> None:
    """Wait until the workers have taken what is in the queue, and have had time to act on it."""
    lanes = [f"{lane}*" for lane in Lane]
    wait_until(lambda: not any([*queue.client().scan_iter(each)] for each in lanes), lambda: "the queue is empty")
    a_while(8)


def unfinished(place: Installation) -> int:
    return int(sql(place, UNFINISHED)[0][0])
