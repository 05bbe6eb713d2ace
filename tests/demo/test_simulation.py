"""Played annotators with quiet checks on: they know the truth of a copy from its original, and stop when paused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from campaigns.models import Campaign, Membership
from demo.management.commands import simulate
from demo.simulated_annotators import Person, own_server, play, truth_from
from jobs.models import Job
from judging.audit import audit
from judging.models import Assignment, Batch, Candidate, Kind
from judging.models.sitting import exam_batches
from judging.pool.clips import cut_clips
from judging.quality.exam import set_exam, set_truth
from tests.cast import by_rank, small_batches
from tests.installation import ROOT, Installation
from tests.jobs.conftest import Register, work
from tests.waiting import wait_until

__all__ = ["work"]  # a fixture

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def truths(campaign: Campaign, tmp_path: Path) -> Path:
    """Eight queries are to be judged, with two hidden places in each batch, and a file says what everybody should."""
    small_batches(campaign, 8, hidden=2)
    lines = ["query_id,video,start,end,grade"]
    for pair in Candidate.objects.filter(query__kind=Kind.POOL).select_related("query", "moment__video"):
        moment = pair.moment
        lines.append(f"{pair.query.query_id},{moment.video},{moment.start},{moment.end},{by_rank(pair)}")
    (tmp_path / "truth.csv").write_text("\n".join(lines))
    return tmp_path / "truth.csv"


@pytest.mark.any_database
def test_a_campaign_is_played_to_its_end(campaign: Campaign, truths: Path) -> None:
    with own_server() as address:
        tallies = list(play(address, campaign, 2, 1, truth_from(truths), reviews=False))
    played = campaign.memberships.filter(user__username__startswith="played")
    assert tallies[-1].batches == 2 * 8
    assert {(len(each.places), each.hidden) for each in Assignment.objects.filter(annotator__in=played)} == {(6, 2)}
    assert not any(audit(campaign).values())


@pytest.mark.any_database
def test_the_exam_is_taken_first(campaign: Campaign, truths: Path) -> None:
    """Its queries are copies with ids of their own, and what was missed comes back in another round."""
    set_exam(campaign, seed=1, queries=2, depth=3)
    for batch in exam_batches(campaign):
        of_exam = batch.candidates.order_by("rank")
        set_truth(batch, {pair.rank: (0 if pair.rank == 1 else by_rank(pair), "") for pair in of_exam})
    with own_server() as address:
        list(play(address, campaign, 2, 1, truth_from(truths), reviews=False))
    sittings = Assignment.objects.filter(batch__kind=Kind.EXAM).values_list("annotator", "batch").distinct()
    assert len(sittings) == 4
    assert not any(audit(campaign).values())


@pytest.mark.any_database
def test_who_is_paused_does_no_more(campaign: Campaign, truths: Path) -> None:
    with own_server() as address:
        person = Person(address, campaign, "played-01", Membership.Role.ANNOTATOR)
        person.member.pause(None, "by a rule")
        assert person.judge_a_batch(truth_from(truths), 1) == 0
        person.member.resume(None)
        assert person.judge_a_batch(truth_from(truths), 1) == 6
        person.http.close()


@pytest.mark.any_database
def test_only_the_jobs_that_bring_work_are_run_and_what_is_waited_for_is_told(
    campaign: Campaign, truths: Path, work: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training that is due, as in the demo's first minutes, is left to a worker: it would hold all up."""
    trained: list[object] = []
    work(lambda arguments, report: trained.append(arguments))
    Job.objects.ask("count", "sheep")
    batch = Batch.objects.in_campaign(campaign).filter(state=Batch.State.OPEN, query__kind=Kind.POOL).first()
    assert batch is not None
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.PREPARING)
    cut_clips.ask(batch)
    monkeypatch.setattr(simulate, "SECONDS_BETWEEN_LINES", 0)
    out, err = StringIO(), StringIO()
    call_command("simulate", "films", "--annotators", "2", "--truth", str(truths), stdout=out, stderr=err)
    assert not trained
    assert Job.objects.get(kind="count").state == Job.State.WAITING
    assert batch.assignments.filter(state=Assignment.State.SUBMITTED).count() == 2
    assert "; 1 job(s) to wait for, the first: Cut clips" in err.getvalue()
    assert int(out.getvalue().split()[0]) >= 12  # two judge six pairs at least; then it depends on who disagrees


@pytest.mark.any_database
def test_nothing_to_judge_is_told(campaign: Campaign) -> None:
    campaign.queries.all().delete()
    out, err = StringIO(), StringIO()
    call_command("simulate", "films", "--annotators", "1", stdout=out, stderr=err)
    assert out.getvalue() == "0 batches, 0 judgements, 0 reviews\n"
    assert err.getvalue() == "Nobody found work: campaign films has no open batch for these annotators.\n"


@pytest.mark.long
def test_ending_the_demo_ends_its_processes_too(tmp_path: Path) -> None:
    place = Installation(tmp_path / "home")
    place.create()
    command = [sys.executable, "manage.py", "demo", "--only-make"]
    to = subprocess.PIPE
    demo = subprocess.Popen(command, cwd=ROOT, env=place.env, start_new_session=True, stdout=to, stderr=to, text=True)
    try:
        assert demo.stdout
        assert any("cutting clips" in line for line in demo.stdout)
        wait_until(lambda: len(session(demo.pid)) > 1, lambda: "a process cuts clips")
        demo.terminate()
        assert "The same command goes on with it." in demo.communicate(timeout=120)[1]
        assert demo.returncode == 1
        wait_until(lambda: not session(demo.pid), lambda: "no process is left")
    finally:
        for pid in session(demo.pid):
            os.kill(pid, signal.SIGKILL)


def session(leader: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, *numbers = file.read_text().rpartition(")")[2].split()
            if int(numbers[2]) == leader and state != "Z":
                found.append(int(file.parent.name))
    return found
