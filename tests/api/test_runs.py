"""A run over the API: sent in pieces, checked, scored, compared."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest

from campaigns.models import Membership
from jobs.running import work_off
from judging.models import Batch
from releases.freezing import freeze
from runs.models import Run, Submission
from tests.api.asking import Program, problem_in
from tests.cast import content_of
from tests.runs.uploading import GOOD, packed, ranking

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]
RUNS = "campaigns/films/runs"


def piece(program: Program, address: str, offset: int, content: bytes) -> Any:
    headers = program.headers | {"Upload-Offset": str(offset)}
    return program.client.patch(f"/api/v1/{address}", content, content_type="application/octet-stream", headers=headers)


def sent(program: Program, content: bytes, filename: str = "run.json.gz", **fields: Any) -> str:
    """The address of a submission whose file has arrived, in two pieces."""
    made = program.post(RUNS, {"name": "bert"} | fields)
    assert made.status_code == 201, made.content
    address = f"campaigns/films/submissions/{made.json()['token']}"
    file = program.post(f"{address}/files", {"purpose": "run", "name": filename, "size": len(content)}).json()
    where, half = f"{address}/files/{file['token']}", len(content) // 2
    assert piece(program, where, 0, content[:half]).json()["received"] == half
    assert piece(program, where, 0, content[:half]).json()["received"] == half  # it came twice
    assert f"expected {half}" in problem_in(piece(program, where, 1, content[:half]), 422)["detail"]
    assert program.get(where).json()["received"] == half
    assert piece(program, where, half, content[half:]).json()["whole"]
    return address


def test_a_run_from_its_description_to_its_scores(settled: Batch, leo: Membership, member: Any) -> None:
    freeze(leo.campaign, leo, "CC0-1.0", with_unfinished=True)
    rio = member("rio", "researcher")
    program, other = Program(rio, "read", "runs"), Program(member("roy", "researcher"))
    address = sent(program, content := packed(ranking(GOOD)), visibility="private")
    checked = program.post(f"{address}/check")
    assert checked.status_code == 202
    work_off(StringIO())
    assert program.get(checked["Location"]).json()["state"] == "done"
    assert program.get(address).json() | {"files": []} == {
        "token": address.rpartition("/")[2],
        "name": "bert",
        "files": [],
        "findings": None,
        "run": 1,
    }
    run = program.get(f"{RUNS}/1").json()
    assert (run["queries"], run["predictions"], run["by"]) == (1, 3, rio.worker)
    assert content_of(program.get(f"{RUNS}/1/file")) == content
    found = program.get(f"{RUNS}/1/scores").json()
    assert found["release"] == 1
    assert {"paper", "released"} <= {score["convention"] for score in found["scores"]}
    assert found["scores"] == program.get(f"{RUNS}/1/scores", release=1).json()["scores"]
    problem_in(other.get(f"{RUNS}/1"), 404)
    problem_in(other.ask("PUT", f"{RUNS}/1/visibility", {"visibility": "public"}), 404)
    assert program.ask("PUT", f"{RUNS}/1/visibility", {"visibility": "shared"}).json()["visibility"] == "shared"
    board = other.get("campaigns/films/leaderboard", m=["AxIoU@20", "R@1(iou=0.5)"], convention="paper")
    if board.status_code == 422:  # by another name here
        board = other.get("campaigns/films/leaderboard")
    assert [row["name"] for row in board.json()["rows"]] == ["bert"]
    problem_in(other.get("campaigns/films/leaderboard", sort="nonsense"), 422)
    fault = problem_in(other.get("campaigns/films/leaderboard", m=["AxIoU@10", "P"]), 422)
    words = "measure 'P' needs a cutoff, as in P@10; expected a measure such as nDCG_IoU(iou=0.5)@20"
    assert (fault["fields"], fault["detail"]) == ({"m": [words]}, f"m: {words}")
    problem_in(program.post(RUNS, {"name": "bert"}), 422)


def test_a_broken_run_is_told_line_by_line_and_not_stored(settled: Batch, leo: Membership, member: Any) -> None:
    program = Program(member("rio", "researcher"))
    address = sent(program, b'{"1": [{"video_name": "nowhere", "timestamp": [1, 2], "model_scores": 1}]}', "run.json")
    program.post(f"{address}/check")
    work_off(StringIO())
    found = program.get(address).json()
    assert (found["run"], found["findings"]["count"]) == (None, 1)
    assert "nowhere" in found["findings"]["told"][0]
    assert not Run.objects.exists()
    assert Submission.objects.count() == 1
