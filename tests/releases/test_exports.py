"""What leaves a campaign: settled grades in published formats, the same bytes each time, and nobody's name."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction

from campaigns.models import Campaign, Membership
from corpus.models import Moment, Video
from judging.models import Assignment, Batch, Candidate
from judging.work import grading, submitting
from releases.exports import FILES, RATED
from tests.cast import claim, judge_all, make_query, regrade, settle_round_one
from tests.remembered import remembered
from tests.terminal import ROOT, printed, refused

Files = dict[str, str]
ODD = 'film, "5" is\t100% é'


@pytest.fixture
@remembered
def named(member: Callable[..., Membership]) -> list[Membership]:
    """Four annotators whose names must not get out."""
    people = [member(f"secret-name-{number}") for number in range(4)]
    for person in people:
        person.user.first_name, person.user.email = "Secretia", "secret@example.org"
        person.user.save()
    return people


@pytest.fixture
@remembered
def judged(batch: Batch, named: list[Membership]) -> Batch:
    """Three contested after round one; of these rank 1 settled, 2 and 3 discarded. Rank 20 was flagged."""
    Video.objects.filter(name="secret-video-0").update(name=ODD)
    first, second, third, fourth = named
    settle_round_one(batch, first, second, apart=3)
    regrade(Candidate.objects.filter(batch=batch, rank=20), outcome=Candidate.Outcome.FLAGGED, grade=None)
    judge_all(claim(third), lambda candidate: 4)
    judge_all(claim(fourth), lambda candidate: 4 if candidate.rank == 1 else 1)
    batch.refresh_from_db()
    assert batch.state == Batch.State.SETTLED
    return batch


def exported(campaign: Campaign) -> Files:
    return {export.file: "".join(export.lines(campaign)) for export in FILES}


def settled(batch: Batch) -> dict[str, int | None]:
    rows = batch.candidates.settled().order_by("rank").select_related("moment__video")
    return {str(candidate.moment): candidate.grade for candidate in rows}


def test_trec_qrels_hold_what_is_settled(judged: Batch) -> None:
    lines = exported(judged.query.campaign)["qrels.txt"].splitlines(keepends=True)
    assert all(re.fullmatch(r"\S+ 0 \S+@\d+-\d+ [0-4]\n", line) for line in lines)
    fields = [line.split() for line in lines]
    assert {moment: int(grade) for _, _, moment, grade in fields} == settled(judged)
    assert {query for query, *_ in fields} == {"1"}
    assert len(fields) == 17  # of twenty, two were discarded and one was flagged
    assert fields[0][2:] == ['film,%20"5"%20is%09100%25%20é@1250-4500', "4"]


def test_moments_say_what_the_ids_stand_for(judged: Batch) -> None:
    rows = list(csv.DictReader(exported(judged.query.campaign)["moments.csv"].splitlines()))
    assert [row["moment_id"] for row in rows] == sorted(settled(judged))
    for row in rows:
        moment = Moment.objects.get(video__name=row["video"], start=float(row["start"]), end=float(row["end"]))
        assert str(moment) == row["moment_id"]


def test_jsonl_has_the_fields_of_tvr_ranking(judged: Batch) -> None:
    records = [json.loads(line) for line in exported(judged.query.campaign)["qrels.jsonl"].splitlines()]
    assert records[0] == {
        "pair_id": "1-1",
        "query_id": "1",
        "query": "A person sits down.",
        "video_name": ODD,
        "timestamp": [1.25, 4.5],
        "duration": 100.0,
        "caption": "secret caption 0 0",
        "similarity": 0.99,
        "relevance": 4,
        "consensus": "tvr-ranking/1",
    }
    assert [record["relevance"] for record in records] == list(settled(judged).values())


@pytest.mark.both_databases
def test_query_ids_that_look_alike_stay_apart(campaign: Campaign) -> None:
    for query_id in ("7", "007", "٧", "+7", "a7"):
        make_query(campaign, query_id, f"Query {query_id}.")
    regrade(Candidate.objects.filter(rank=1), outcome=Candidate.Outcome.SETTLED, grade=3)
    files = exported(campaign)
    ids = [json.loads(line)["query_id"] for line in files["qrels.jsonl"].splitlines()]
    assert ids == ["1", "7", "٧", "+7", "a7", "007"]
    assert [line.split()[0] for line in files["qrels.txt"].splitlines()] == ids


def test_ratings_hold_every_counted_grade_by_worker_number(judged: Batch, named: list[Membership]) -> None:
    rows = list(csv.DictReader(exported(judged.query.campaign)["ratings.csv"].splitlines()))
    first = [row for row in rows if row["pair_id"] == "1-1"]
    workers = [str(person.worker) for person in named]
    assert [(row["worker"], row["relevance"]) for row in first] == list(zip(workers, "4144", strict=True))
    assert Counter(row["outcome"] for row in rows) == {"settled": 4 + 2 * 16, "discarded": 2 * 4, "flagged": 2}
    assert {tuple(row[name] for name in ("query_id", "batch")) for row in rows} == {("1", "1-1")}
    assert (first[0]["video"], first[0]["start"], first[0]["end"]) == (ODD, "1.25", "4.5")


def test_ratings_settle_to_the_grades_that_were_exported(judged: Batch, tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(exported(judged.query.campaign)["ratings.csv"])
    printed("settle_ratings", tmp_path / "ratings.csv", "--out", tmp_path / "final.csv")
    with (tmp_path / "final.csv").open() as rows:
        final = {row["pair_id"]: int(row["final_score"]) for row in csv.DictReader(rows) if row["final_score"]}
    right = {f"1-{each.rank}": each.grade for each in judged.candidates.settled()}
    assert {pair: final[pair] for pair in right} == right


def test_no_export_tells_anybodys_name(judged: Batch) -> None:
    for file, content in exported(judged.query.campaign).items():
        for secret in ("secret-name", "Secretia", "secret@example.org"):
            assert secret not in content, file


def test_queries_come_with_the_ids_merged_into_them(judged: Batch) -> None:
    judged.query.aliases = ["4", "9"]
    judged.query.save()
    assert exported(judged.query.campaign)["queries.csv"] == (
        "query_id,query,split,aliases,sample,place,stratum\n1,A person sits down.,,4 9,no,1,\n"
    )


def test_no_query_is_run_as_a_formula_by_a_spreadsheet(judged: Batch) -> None:
    judged.query.text, judged.query.split, judged.query.aliases = "=1+1", "@val", ["-1", "+2"]
    judged.query.save()
    assert exported(judged.query.campaign)["queries.csv"].splitlines()[1] == "1,'=1+1,'@val,'-1 +2,no,1,"


def test_the_manifest_says_how_the_files_were_made(judged: Batch) -> None:
    campaign = judged.query.campaign
    Campaign.objects.filter(pk=campaign.pk).update(encoder="some model")
    campaign.refresh_from_db()
    files = exported(campaign)
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest.pop("sha256") == {
        name: hashlib.sha256(content.encode()).hexdigest() for name, content in files.items()
    }
    assert manifest == {
        "campaign": "films",
        "corpus": "films",
        "consensus": {"rule": "tvr-ranking/1", "tolerance": 1},
        "encoder": "some model",
        "queries": 1,
        "candidates": dict.fromkeys(Candidate.Outcome.values, 0) | {"settled": 17, "discarded": 2, "flagged": 1},
    }


@pytest.mark.both_databases
def test_the_command_writes_the_same_bytes_each_time(judged: Batch, tmp_path: Path) -> None:
    for folder in ("a", "b/c"):
        printed("export_qrels", "films", "--out", tmp_path / folder)
    for name, content in exported(judged.query.campaign).items():
        assert (tmp_path / "a" / name).read_bytes() == content.encode()
        assert (tmp_path / "b" / "c" / name).read_bytes() == content.encode()


def test_the_order_in_which_people_judged_changes_nothing(batch: Batch, named: list[Membership]) -> None:
    first, second = named[:2]
    exports = []
    for people, positions in (((first, second), range(1, 21)), ((second, first), range(20, 0, -1))):
        with transaction.atomic():
            for person in people:
                grades = {rank: (rank + (person == first)) % 4 for rank in range(1, 21)}
                judge_in_order(claim(person), list(positions), grades)
            exports.append(exported(batch.query.campaign))
            transaction.set_rollback(True)
    assert exports[0] == exports[1]
    assert exports[0]["ratings.csv"].count("\n") > 20


def judge_in_order(assignment: Assignment, positions: list[int], grades: dict[int, int]) -> None:
    for position in positions:
        grade = grades[assignment.candidates_in_order()[position - 1].rank]
        grading.judge(assignment, position, grade, fence=assignment.fence, key=uuid4())
    submitting.submit(assignment, assignment.fence)


def test_before_anything_is_settled_the_files_are_there_and_bare(campaign: Campaign) -> None:
    files = exported(campaign)
    assert files["qrels.txt"] == files["qrels.jsonl"] == ""
    assert files["ratings.csv"] == ",".join(RATED) + "\n"
    assert json.loads(files["manifest.json"])["candidates"]["open"] == 20


def test_a_folder_that_cannot_be_made_and_a_campaign_that_is_none_are_named(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused("export_qrels", "films", "--out", tmp_path / "file").startswith(f"--out {tmp_path}/file: cannot")
    assert refused("export_qrels", "none", "--out", tmp_path) == "campaign none: not found; expected one of: films"


def perfect_trec(qrels: str) -> str:
    """The judged moments by grade, as a run."""
    fields = sorted((line.split() for line in qrels.splitlines()), key=lambda line: -int(line[3]))
    return "".join(f"{line[0]} Q0 {line[2]} {rank} {1000 - rank} perfect\n" for rank, line in enumerate(fields, 1))


def perfect_ranking(qrels: str) -> str:
    run: dict[str, list[dict[str, Any]]] = {}
    records = sorted(map(json.loads, qrels.splitlines()), key=lambda record: -record["relevance"])
    for place, record in enumerate(records):
        kept = {name: record[name] for name in ("video_name", "timestamp")}
        run.setdefault(str(record["query_id"]), []).append({**kept, "model_scores": -place})
    return json.dumps(run)


@pytest.mark.parametrize(
    ("qrels", "perfect", "options"),
    [("qrels.txt", perfect_trec, ["--moments", "moments.csv"]), ("qrels.jsonl", perfect_ranking, [])],
)
@pytest.mark.parametrize("convention", ["paper", "released", "spr"])
def test_a_perfect_run_scores_one(
    judged: Batch, tmp_path: Path, qrels: str, perfect: Callable[[str], str], options: list[str], convention: str
) -> None:
    printed("export_qrels", "films", "--out", tmp_path)
    (tmp_path / "run").write_text(perfect((tmp_path / qrels).read_text()))
    command = ["evaluate", "--qrels", qrels, "--run", "run", "--convention", convention, "--format", "json", *options]
    done = subprocess.run(
        [sys.executable, "-m", "metrics", *command],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    scores = json.loads(done.stdout)
    assert scores["queries"] == 1
    assert len(scores["measures"]) == 9
    assert set(scores["measures"].values()) == {1.0}
