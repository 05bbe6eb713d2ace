"""What one person may ask of the machines that all share: examinations, measures, jobs and room for files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from campaigns.models import LogEntry, Membership
from jobs.models import Job
from jobs.running import work_off
from releases.models import Release
from runs.models import Arrival, Run
from runs.receiving import describe, submit
from tests.api.asking import Program, problem_in
from tests.cast import browser
from tests.runs.uploading import GOOD, ranking, send

# The release is written by a thread with a connection of its own, which sees what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]
MEASURES = "campaigns/films/leaderboard/measures"
FURTHER = ("AxIoU@20", "AxIoU@50")


def test_examinations_have_a_budget_and_the_same_runs_are_examined_once(
    runs: list[Run], rio: Membership, settings: Any
) -> None:
    settings.EXAMINATION_RATE = "1/h"
    asking = Program(rio)
    for _ in range(2):
        assert asking.post("campaigns/films/believe", {"runs": [1, 2]}).status_code == 202
    assert int(asking.post("campaigns/films/believe", {"runs": [1, 3]})["Retry-After"]) > 3500
    refused = browser(rio).post(reverse("measures-ask", args=["films"]), {"run": [2, 3]})
    assert (refused.status_code, "many examinations" in refused.content.decode()) == (429, True)


def test_further_measures_have_a_budget_and_a_known_one_costs_nothing(
    runs: list[Run], rio: Membership, settings: Any
) -> None:
    settings.MEASURE_RATE = "1/h"
    asking, (first, second) = Program(rio), FURTHER
    for _ in range(2):
        assert asking.post(MEASURES, {"measure": first}).status_code == 202
    problem_in(asking.post(MEASURES, {"measure": second}), 429)
    form = {"convention": "paper", "measure": second}
    assert browser(rio).post(reverse("leaderboard-measure", args=["films"]), form).status_code == 429


def test_a_lead_removes_a_further_measure_and_its_scores_are_listed_no_longer(
    runs: list[Run], rio: Membership, leo: Membership
) -> None:
    program, (first, second) = Program(rio), FURTHER
    for measure in FURTHER:
        program.post(MEASURES, {"measure": measure})
    assert work_off() == []
    assert {first, second} <= listed(program)
    page = reverse("leaderboard", args=["films"])
    assert "Further measures that were asked for: 2" in browser(leo).get(page).content.decode()
    assert "Further measures that were asked for" not in browser(rio).get(page).content.decode()
    form = {"convention": "paper", "measure": first, "release": 1, "remove": "yes"}
    assert browser(rio).post(reverse("leaderboard-measure", args=["films"]), form).status_code == 404
    assert browser(leo).post(reverse("leaderboard-measure", args=["films"]), form).status_code == 302
    assert Program(rio).ask("DELETE", f"{MEASURES}/{second}").status_code == 404
    for _ in range(2):
        assert Program(leo).ask("DELETE", f"{MEASURES}/{second}").status_code == 204
    assert not {first, second} & listed(program)
    assert browser(leo).get(page, {"m": first}).status_code == 400
    assert LogEntry.objects.filter(what="Further measure of release 1").count() == 2
    program.post(MEASURES, {"measure": first})
    assert first in listed(program)  # its scores were kept


def listed(program: Program) -> set[str]:
    found = program.get("campaigns/films/runs/1/scores").json()
    return {score["measure"] for score in found["scores"]}


def test_jobs_of_one_person_that_wait_are_limited_lane_by_lane(runs: list[Run], rio: Membership, settings: Any) -> None:
    settings.JOBS_WAITING = 1
    asking = Program(rio)
    assert asking.post("campaigns/films/believe", {"runs": [1, 2]}).status_code == 202
    answer = asking.post("campaigns/films/believe", {"runs": [1, 3]})
    assert (
        problem_in(answer, 429)["detail"]
        == "As many of your jobs wait or run as one person may have: 1. Try again in 60 s."
    )
    assert answer["Retry-After"] == "60"
    quick = describe(rio, {"name": "quick"})
    send(quick, "run", "run.json", ranking(GOOD).encode())
    submit(quick)  # in another lane
    refused = browser(rio).post(reverse("measures-ask", args=["films"]), {"run": [1, 3]})
    assert refused.status_code == 429
    Job.objects.filter(kind="examine-measures").update(state=Job.State.DONE)
    assert asking.post("campaigns/films/believe", {"runs": [1, 3]}).status_code == 202


def test_a_job_that_is_tried_again_counts_to_who_asked(
    runs: list[Run], rio: Membership, leo: Membership, settings: Any
) -> None:
    settings.JOBS_WAITING = 1
    asking = Program(rio)
    asking.post("campaigns/films/believe", {"runs": [1, 2]})
    job = Job.objects.get(kind="examine-measures")
    job.end()
    assert browser(leo).post(reverse("job-again", args=[job.pk])).status_code == 302
    assert asking.post("campaigns/films/believe", {"runs": [1, 3]}).status_code == 429


def test_a_job_of_all_counts_to_nobody(runs: list[Run], leo: Membership, settings: Any) -> None:
    settings.JOBS_WAITING = 1
    lead = Program(leo)
    for address in ("agreement", "training-sets"):
        body = {"depth": 5} if address == "training-sets" else None
        assert lead.post(f"campaigns/films/{address}", body).status_code == 202


def test_announced_bytes_of_a_person_are_added_up(
    rio: Membership, release: Release, member: Callable[..., Membership], settings: Any
) -> None:
    settings.UPLOAD_MIB_UNFINISHED = 100
    mib = 1 << 20
    addresses = [f"campaigns/films/submissions/{describe(rio, {'name': name}).token}/files" for name in ("a", "b")]
    body = {"purpose": "run", "name": "run.json", "size": 60 * mib}
    asking = Program(rio)
    assert asking.post(addresses[0], body).status_code == 201
    problem_in(asking.post(addresses[1], body), 429)
    page = reverse("run-files", args=["films", describe(rio, {"name": "c"}).token])
    refused = browser(rio).post(page, body, content_type="application/json")
    assert int(refused["Retry-After"]) == 60
    assert asking.post(addresses[1], body | {"size": 40 * mib}).status_code == 201
    roy = member("roy", "researcher")
    theirs = f"campaigns/films/submissions/{describe(roy, {'name': 'd'}).token}/files"
    assert Program(roy).post(theirs, body).status_code == 201


def test_what_others_have_announced_is_reserved(rio: Membership, release: Release, monkeypatch: Any) -> None:
    mib = 1 << 20
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1124 * mib}))
    first, second = (describe(rio, {"name": name}) for name in ("a", "b"))
    body = {"purpose": "run", "name": "run.json", "size": 60 * mib}
    asking = Program(rio)
    assert asking.post(f"campaigns/films/submissions/{first.token}/files", body).status_code == 201
    refused = asking.post(f"campaigns/films/submissions/{second.token}/files", body)
    assert (refused.status_code, Arrival.objects.count()) == (507, 1)


def test_files_of_leaderboards_and_examinations_have_a_budget(runs: list[Run], rio: Membership, settings: Any) -> None:
    settings.FILE_RATE = "1/h"
    client = browser(rio)
    board, scatter = ("leaderboard-file", ["films", "csv"]), ("run-figure", ["films", 1, "scatter", "svg"])
    figure = ("measures-file", ["films", "pdf"])
    answers = [
        client.get(reverse(name, args=arguments), {"against": 2}) for name, arguments in (board, scatter, figure)
    ]
    assert [each.status_code for each in answers] == [200, 429, 429]
    problem_in(Program(rio).get("campaigns/films/runs/1/scatter/svg", against=2), 429)


def test_the_drawings_of_a_page_have_no_budget(runs: list[Run], rio: Membership, settings: Any) -> None:
    settings.FILE_RATE = "1/h"
    client, address = browser(rio), reverse("run-figure", args=["films", 1, "scatter", "json"])
    assert {client.get(address, {"against": 2}).status_code for _ in range(3)} == {200}
