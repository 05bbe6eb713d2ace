"""Parts of a job are done by every worker that is free, each once; killed at any point, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now

from campaigns.models import Campaign
from jobs import running
from jobs.errors import JobError, JobPostponed, Stopped
from jobs.models import Job
from jobs.parts import forget_parts_that_were_done, share
from jobs.registry import KINDS, Kind, Report
from jobs.running import run, work_off
from tests.cast import browser
from tests.terminal import printed
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
Part = Callable[[Report, int], None]
PARTS = [{"first": number} for number in range(6)]


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> Callable[[Part], Job]:
    """A job whose parts are done by a function that gets the number of each."""

    def make(function: Part) -> Job:
        outcomes: set[int] = set()

        def count_some(report: Report, first: int) -> None:
            function(report, first)
            outcomes.add(first)

        part: Kind[...] = Kind("count-some", "Count some", count_some, is_part=True)

        def count(report: Report) -> None:
            missing = [each for each in PARTS if each["first"] not in outcomes]
            share(part, None, missing, report, "counting")

        monkeypatch.setitem(KINDS, "count-some", part)
        monkeypatch.setitem(KINDS, "count", Kind("count", "Count", count))
        return Job.objects.ask("count", "sheep")

    return make


def work(worker: str = "wanda") -> Job:
    job = Job.objects.take(worker)
    assert job
    run(job)
    job.refresh_from_db()
    return job


def test_one_worker_does_all_parts(whole: Callable[[Part], Job]) -> None:
    seen: list[int] = []
    whole(lambda report, first: seen.append(first))
    job = work()
    assert (job.state, job.done, job.total, job.attempts) == (Job.State.DONE, 6, 6, 1)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert Job.objects.filter(is_part=True, state=Job.State.DONE, attempts=1).count() == 6
    assert Job.objects.take("willy") is None


@pytest.mark.django_db(transaction=True)
def test_another_worker_takes_parts_and_none_is_done_twice(whole: Callable[[Part], Job]) -> None:
    seen: list[tuple[str, int]] = []

    def both_at_once(report: Report, first: int) -> None:
        seen.append((Job.objects.get(key=str(first)).worker, first))
        if first < 2:  # the first that each has taken
            wait_until(lambda: len(seen) >= 2, lambda: "both workers have a part")

    whole(both_at_once)

    def help_out() -> None:
        wait_until(lambda: Job.objects.filter(is_part=True).exists(), lambda: "there are parts")
        while job := Job.objects.filter(is_part=True).take("willy"):
            run(job)
        connection.close()

    other = Thread(target=help_out)
    other.start()
    job = work()
    other.join()
    assert job.state == Job.State.DONE
    assert sorted(first for _, first in seen) == [0, 1, 2, 3, 4, 5]
    assert {worker for worker, _ in seen} == {"willy", running.worker_name()}


def test_a_part_whose_worker_was_killed_is_done_by_whoever_waits(whole: Callable[[Part], Job]) -> None:
    seen: list[int] = []

    def dies(report: Report, first: int) -> None:
        seen.append(first)
        if seen == [0, 1]:
            taken = Job.objects.filter(is_part=True).take("dead:1")
            assert taken
            Job.objects.filter(pk=taken.pk).update(lease=Now() - timedelta(seconds=1))

    whole(dies)
    assert work().state == Job.State.DONE
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]


def test_a_worker_that_is_told_to_stop_gives_both_back(whole: Callable[[Part], Job]) -> None:
    seen: list[int] = []

    def stopped(report: Report, first: int) -> None:
        seen.append(first)
        if seen == [0, 1]:
            running.stop()
        report(0, 1)

    whole(stopped)
    with pytest.raises(Stopped):
        work()
    running.STOPPING[0] = 0
    assert not Job.objects.running().exists()
    assert not Job.objects.exclude(state=Job.State.DONE).filter(attempts__gt=0).exists()
    assert work_off(StringIO()) == []
    assert sorted(seen) == [0, 1, 1, 2, 3, 4, 5]  # a part that was done is not done again


@pytest.mark.parametrize(
    ("fault", "state"), [(JobError("no sheep"), Job.State.FAILED), (JobPostponed("no sheep"), Job.State.WAITING)]
)
def test_the_whole_says_what_is_wrong_with_a_part(whole: Callable[[Part], Job], fault: Exception, state: str) -> None:
    seen: list[int] = []

    def refuse(report: Report, first: int) -> None:
        seen.append(first)
        raise fault

    whole(refuse)
    job = work()
    assert (job.state, job.error) == (state, "no sheep")
    assert seen == [0]
    assert Job.objects.get(is_part=True).key == "0"  # the others were taken back


def test_what_was_cancelled_leaves_no_parts_to_be_done(
    whole: Callable[[Part], Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.running.SECONDS_BETWEEN_REPORTS", 0)
    ended: list[bool] = []
    job = whole(lambda report, first: ended.append(job.end()))
    assert work().error == "cancelled"
    assert ended == [True]
    assert not Job.objects.unfinished().exists()


def test_parts_are_in_no_list_and_are_forgotten(whole: Callable[[Part], Job], campaign: Campaign) -> None:
    whole(lambda report, first: None)
    work()
    Job.objects.filter(is_part=True).update(state=Job.State.FAILED)
    root = User.objects.create(username="root", is_superuser=True)
    assert "Count some" not in browser(root).get("/work/", {"state": "failed"}).content.decode()
    assert browser(root).get("/api/v1/jobs").json()["results"] == []
    assert printed("jobs", "--state", "failed") == "no such jobs\n"
    forget_parts_that_were_done()
    assert Job.objects.filter(is_part=True).count() == 6
    Job.objects.update(ended=Now() - timedelta(days=2))
    forget_parts_that_were_done()
    assert list(Job.objects.values_list("is_part")) == [(False,)]
