"""Long work tells how far it is and how long it takes on, on pages and in the output of a server."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.utils import timezone

from jobs import running
from jobs.models import Job
from jobs.registry import Report
from jobs.running import run_with_progress
from tests.jobs.conftest import Register
from tests.jobs.test_jobs import ask, take

pytestmark = pytest.mark.django_db


def began(job: Job, seconds: float) -> Job:
    """As if the present stage had begun so many seconds ago."""
    job.stage_began = timezone.now() - timedelta(seconds=seconds)
    return job


def age(job: Job) -> float:
    """The seconds since its present stage began."""
    assert job.stage_began
    return (timezone.now() - job.stage_began).total_seconds()


@pytest.fixture
def job() -> Job:
    ask("one")
    return take("wanda:7")


def test_the_pace_of_a_stage_tells_how_long_it_takes_on(job: Job) -> None:
    job.report(25, 100, "encoding captions: 25 of 100")
    assert job.time_left == ""  # it has just begun
    assert began(job, 10).time_left == "about 30 s"
    assert began(job, 100).time_left == "about 5 min"
    job.report(30, 100, "encoding captions: 30 of 100")
    assert age(job) > 90  # the same stage
    job.report(50, 400, "comparing: 50 of 400")
    assert job.time_left == ""  # another one
    job.refresh_from_db()
    assert age(job) < 30


def test_nothing_is_told_of_what_nobody_knows(job: Job) -> None:
    for done, total in ((0, 0), (0, 100), (100, 100)):
        job.report(done, total, "loading")
        assert began(job, 60).time_left == ""


def test_a_worker_tells_of_long_jobs_only(work: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(arguments: dict[str, Any], report: Report) -> None:
        for number in range(3):
            report(number, 3, f"encoding captions: {number} of 3")

    work(steps)
    monkeypatch.setattr(running, "SECONDS_BETWEEN_REPORTS", 0)
    out = StringIO()
    ask("short")
    run_with_progress(take("wanda:7"), out, if_long=True)
    assert out.getvalue() == ""
    monkeypatch.setattr(running, "SECONDS_BETWEEN_LINES", 0)
    ask("long")
    run_with_progress(take("wanda:7"), out, if_long=True)
    lines = out.getvalue().splitlines()
    assert len(lines) == 4
    assert "33 %: encoding captions: 1 of 3" in lines[1]
    assert lines[-1].endswith("long: done")
