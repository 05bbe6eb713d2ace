"""A mail waits for no clip, a clip for no ranking, and nothing for a training; what somebody waits for is first."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import celery
import pytest
from django.db.models.functions import Now
from django.urls import reverse

from campaigns.mails import mail_new_password
from campaigns.models import Campaign, Membership
from jobs.models import Job, WorkerHeartbeat
from jobs.queue import Lane, messages, send
from jobs.registry import KINDS
from jobs.tasks import resend
from judging.models import Batch
from judging.pool.clips import cut_clips
from judging.work.claiming import claim
from tests.cast import browser
from tests.redis_servers import RedisServer
from tests.terminal import ROOT, environment
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
RANKINGS, TRAININGS, BATCHES = 3, 3, 48
SECONDS_OF_A_MAIL = 2
# A worker whose trainings compute until somebody says that they may end, as do its clips.
WORKER = """
import numpy, sys, django
django.setup()
from django.core.management import call_command
from jobs.management.commands import worker
from jobs.registry import kind

def compute(report):
    matrix = numpy.random.default_rng(1).random((300, 300))
    while True:
        report(1, 2)
        matrix = numpy.tanh(matrix @ matrix)

kind("rank", "Rank")(compute)
kind("train", "Train", lane="training")(compute)
kind("cut", "Cut", lane="judging")(compute)
kind("mail", "Send", lane="quick")(lambda report: report(1, 1))
if sys.argv[1:2] == ["celery"]:
    from config.celery import app
    app.worker_main(["worker", "-c", "1", "-l", "error", "-Q", sys.argv[2], "-n", f"{sys.argv[2]}@%h"])
    sys.exit()
if sys.argv[1:] == ["one slot"]:
    worker.SLOTS = [[]]
    from jobs.queue import JobQuerySet
    take = JobQuerySet.take
    JobQuerySet.take = lambda self, worker, lanes=(), pk=None: take(self, worker, ["judging", "long", "training"], pk)
call_command("worker")
"""


def due(kind: str, lane: Lane, key: str = "") -> Job:
    return Job.objects.create(kind=kind, lane=lane, key=key, due=Now())


@contextmanager
def busy(*options: str) -> Iterator[None]:
    """A worker with more to do than it can, which has begun."""
    for number in range(RANKINGS):
        due("rank", Lane.LONG, f"{number}")
    for number in range(TRAININGS):
        due("train", Lane.TRAINING, f"{number}")
    for number in range(BATCHES):
        due("cut", Lane.JUDGING, f"{number}")
    settings = environment() | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    worker = subprocess.Popen([sys.executable, "-c", WORKER, *options], cwd=ROOT, env=settings)
    try:
        wait_until(lambda: Job.objects.running().exists(), lambda: "the worker is busy")
        if not options:
            wait_until(lambda: Job.objects.running().count() == 3, lambda: "all other slots are busy")
        yield
    finally:
        worker.terminate()
        worker.wait(30)
    assert not Job.objects.filter(attempts__gt=0).exclude(kind="mail").exists()


def seconds_of_a_mail() -> float:
    job = due("mail", Lane.QUICK)
    send(job)
    wait_until(lambda: Job.objects.get(pk=job.pk).state == Job.State.DONE, lambda: "the mail is sent")
    job.refresh_from_db()
    assert job.ended is not None
    return (job.ended - job.created).total_seconds()


@pytest.mark.django_db(transaction=True)
def test_a_mail_leaves_beside_trainings_and_batches() -> None:
    with busy():
        assert seconds_of_a_mail() < SECONDS_OF_A_MAIL


@pytest.mark.django_db(transaction=True)
def test_a_mail_leaves_beside_them_with_celery(app: celery.Celery, redis: RedisServer) -> None:
    """The four workers of the guide, one for each lane."""
    settings = environment() | {"DJANGO_SETTINGS_MODULE": "config.settings", "REDIS_URL": redis.url}
    command = [sys.executable, "-c", WORKER, "celery"]
    workers = [subprocess.Popen([*command, lane], cwd=ROOT, env=settings) for lane in Lane.values]
    lanes = [Lane.LONG] * RANKINGS + [Lane.TRAINING] * TRAININGS + [Lane.JUDGING] * BATCHES
    kinds = {Lane.LONG: "rank", Lane.TRAINING: "train", Lane.JUDGING: "cut"}
    try:
        for number, lane in enumerate(lanes):
            send(due(kinds[lane], lane, f"{number}"))
        wait_until(lambda: Job.objects.running().count() == 3, lambda: "three workers are busy")
        wait_until(lambda: WorkerHeartbeat.objects.filter(lane=Lane.QUICK).exists(), lambda: "the fourth is there")
        assert seconds_of_a_mail() < SECONDS_OF_A_MAIL
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(30)


@pytest.mark.django_db(transaction=True)
def test_trainings_have_one_slot_which_is_theirs_alone() -> None:
    """However much else there is to do, one is trained; and none where clips are cut and captions are ranked."""
    with busy():
        running = sorted(Job.objects.running().values_list("lane", flat=True))
        assert running == [Lane.JUDGING, Lane.JUDGING, Lane.TRAINING]  # the shared slot takes what is most urgent


@pytest.mark.django_db(transaction=True)
def test_without_a_slot_of_its_own_it_waits() -> None:
    """The control."""
    with busy("one slot"):
        job = due("mail", Lane.QUICK)
        end = time.monotonic() + 2 * SECONDS_OF_A_MAIL
        wait_until(lambda: time.monotonic() > end, lambda: "time has passed")
        assert Job.objects.get(pk=job.pk).state == Job.State.WAITING


def test_the_most_urgent_lane_comes_first_and_a_worker_takes_only_its_own() -> None:
    jobs = {lane: due("count", lane, lane) for lane in reversed(Lane)}
    assert Job.objects.take("wanda", [Lane.JUDGING]) == jobs[Lane.JUDGING]
    assert Job.objects.take("wanda", [Lane.JUDGING]) is None
    rest = [Job.objects.take("wanda") for _ in range(3)]
    assert rest == [jobs[Lane.QUICK], jobs[Lane.LONG], jobs[Lane.TRAINING]]


def test_each_kind_has_a_lane_which_its_jobs_keep(leo: Membership) -> None:
    assert {kind.lane for kind in KINDS.values()} == {*Lane}
    job = mail_new_password.ask(leo.user, site="https://judge.example.org", language="en")
    assert (job.lane, job.try_again().lane) == (Lane.QUICK, Lane.QUICK)


def test_the_batch_that_an_annotator_waits_for_is_cut_first(batch: Batch, campaign: Campaign, ada: Membership) -> None:
    other = Campaign.objects.create(name="others", corpus=campaign.corpus)
    Job.objects.all().delete()
    Batch.objects.update(state=Batch.State.PREPARING)
    first = due("cut-clips", Lane.JUDGING, f"{other.pk}")
    second = cut_clips.ask(batch)
    assert claim(ada) is None
    assert claim(ada) is None
    assert [Job.objects.take("wanda"), Job.objects.take("wanda")] == [second, first]


def test_the_longest_wait_of_each_lane(leo: Membership) -> None:
    assert Job.objects.waits() == {"quick": 0, "judging": 0, "long": 0, "training": 0}
    due("count", Lane.LONG, "waits")
    due("count", Lane.JUDGING, "was abandoned")
    due("count", Lane.QUICK, "comes later")
    Job.objects.filter(lane=Lane.LONG).update(due=Now() - timedelta(minutes=3))
    assert Job.objects.take("wanda", [Lane.JUDGING])
    Job.objects.filter(lane=Lane.JUDGING).update(due=Now() - timedelta(hours=1), lease=Now() - timedelta(seconds=9))
    Job.objects.filter(lane=Lane.QUICK).update(due=Now() + timedelta(hours=1))
    waits = Job.objects.waits()
    assert (round(waits["long"], -1), round(waits["judging"]), waits["quick"]) == (180, 9, 0)
    page = browser(leo).get(reverse("activity", args=["films"]), {"view": "jobs"}).content.decode()
    assert " ".join(page.split()).count("Longest wait for a worker: judging 9 s, long 3 min.") == 1


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
def test_messages_that_are_sent_again_do_not_pile_up(app: celery.Celery) -> None:
    for number in range(3):
        due("count", Lane.LONG, f"{number}")
    assert (resend(), messages(Lane.LONG)) == (3, 3)
    assert (resend(), messages(Lane.LONG)) == (0, 3)
    Job.objects.ask("count", "one more")
    assert (resend(), messages(Lane.LONG), messages(Lane.QUICK)) == (0, 4, 0)
