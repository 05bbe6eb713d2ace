"""manage.py jobs: a readable table of what waits, runs and failed; a job is tried again or ended by its number."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs.errors import JobError, JobPostponed
from jobs.models import Job
from jobs.registry import KINDS
from jobs.running import run
from jobs.tasks import resend
from tests.jobs.conftest import Register
from tests.jobs.test_jobs import ask, count, take
from tests.jobs.test_postponed import raise_
from tests.terminal import printed, refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def jobs(work: Register) -> dict[str, Job]:
    """One in each state, and one that is delayed."""
    made: dict[str, Job] = {}
    ends: list[tuple[str, Any]] = [
        ("done", count),
        ("failed", raise_(JobError("film \x1b[31m.mp4"))),
        ("delayed", raise_(JobPostponed("the store does not answer"))),
    ]
    for key, end in ends:
        work(end)
        made[key] = ask(key)
        run(take("wanda:7"))
    made["running"] = ask("running")
    take("willy:8").report(1, 2)
    made["waiting"] = ask("waiting")
    for job in made.values():
        job.refresh_from_db()
    return made


def test_the_jobs_that_are_not_done_are_listed_with_their_errors(jobs: dict[str, Job]) -> None:
    failed, delayed, running = (jobs[key] for key in ("failed", "delayed", "running"))
    lines = printed("jobs").splitlines()
    assert [line.split() for line in lines] == [
        ["number", "state", "kind", "label", "subject", "progress"],
        [str(failed.pk), "failed", "count", "failed", "0/0", *f"since {failed.ended:%F %T}".split()],
        ["film", "\\x1b[31m.mp4"],
        [str(delayed.pk), "waiting", "count", "delayed", "0/0", *f"next attempt at {delayed.due:%F %T}".split()],
        ["the", "store", "does", "not", "answer"],
        [str(running.pk), "running", "count", "running", "1/2", *f"by willy:8 since {running.started:%F %T}".split()],
        [str(jobs["waiting"].pk), "waiting", "count", "waiting", "0/0"],
    ]
    assert {line.index("count") for line in lines if "count" in line} == {lines[0].index("kind")}


def test_jobs_are_chosen_by_state_kind_and_number(jobs: dict[str, Job]) -> None:
    Job.objects.ask("knit", "socks")

    def keys(*options: object) -> list[str]:
        return [line.split()[3] for line in printed("jobs", *options).splitlines() if line[:1].isdigit()]

    assert keys("--state", "done") == ["done"]
    assert keys("--kind", "knit") == ["socks"]
    assert keys("--kind", "count", "--state", "waiting") == ["delayed", "waiting"]
    assert keys(jobs["done"].pk, jobs["running"].pk) == ["done", "running"]
    assert printed("jobs", "--kind", "knit", "--state", "done") == "no such jobs\n"


def test_a_long_list_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch, jobs: dict[str, Job]) -> None:
    monkeypatch.setattr("jobs.management.commands.jobs.MOST_LISTED", 2)
    assert printed("jobs").endswith("… and 2 more; --state and --kind choose among them\n")


def test_jobs_are_tried_again(jobs: dict[str, Job]) -> None:
    before = resend()
    lines = printed("jobs", *(job.pk for job in jobs.values()), "--retry").splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        "asked for again",
        "asked for again",
        "asked for again",
        "it is running",
        "asked for again",
    ]
    assert resend() == before + 3
    assert not Job.objects.filter(state__in=[Job.State.DONE, Job.State.FAILED]).exists()


def test_jobs_are_ended_and_ending_them_twice_is_harmless(jobs: dict[str, Job]) -> None:
    lines = printed("jobs", "--kind", "count", "--end").splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["it is failed already", "ended", "ended", "ended"]
    assert not Job.objects.unfinished().exists()
    assert jobs["done"].state == Job.objects.get(key="done").state
    assert printed("jobs", jobs["running"].pk, "--end").endswith("it is failed already\n")


def test_wrong_input_is_told_in_a_line(jobs: dict[str, Job]) -> None:
    assert refused("jobs", 99_999) == "there is no job 99999"
    known = ", ".join(sorted({"count", *KINDS}))
    assert refused("jobs", "--kind", "knit") == f"--kind 'knit': expected {known}"
    for act in ("--retry", "--end"):
        assert refused("jobs", act) == "which jobs? Name them by number, --state or --kind"
    for wrong in (["--state", "lost"], ["seven"], ["1", "--retry", "--end"]):
        with pytest.raises(CommandError):
            call_command("jobs", *wrong)
