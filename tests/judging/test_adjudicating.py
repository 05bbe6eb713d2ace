"""Grades of the lead's own: only where there is no consensus, marked as such, and never mixed with it."""

from __future__ import annotations

import csv
import json
from uuid import uuid4

import pytest
from django.urls import reverse

from base.errors import WrongState
from campaigns.models import Campaign, Membership
from judging.audit import audit
from judging.models import Adjudication, Batch, Candidate
from judging.review.actions import reopen
from judging.review.decisions import adjudicate, withdraw_adjudication
from judging.review.reopening import scope_of_candidate
from judging.review.reviewing import recommendation
from judging.work import grading, submitting
from releases.exports import FILES
from reports.figures.catalogue import tell_example
from reports.figures.numbers import FigureSubject, example
from reports.statistics.agreement import agreement, by_query
from reports.statistics.arrays import read
from reports.statistics.collection import collection
from reports.statistics.progress import progress
from tests.cast import browser, claim, judge_all, regrade, settle_round_one
from tests.remembered import remembered
from tests.tampering import forget


@pytest.fixture
@remembered
def judged(batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership) -> Batch:
    """Ranks 1 and 2 are discarded, the others settled."""
    settle_round_one(batch, ada, bob, apart=2)
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 1)
    batch.refresh_from_db()
    assert batch.candidates.filter(outcome=Candidate.Outcome.DISCARDED).count() == 2
    return batch


def at_rank(rank: int) -> Candidate:
    return Candidate.objects.get(rank=rank)


def exported(campaign: Campaign) -> dict[str, str]:
    return {export.file: "".join(export.lines(campaign)) for export in FILES}


def test_a_discarded_candidate_gets_the_leads_grade(judged: Batch, leo: Membership) -> None:
    adjudication = adjudicate(at_rank(1), leo, 3, "all but the chair")
    assert (at_rank(1).outcome, at_rank(1).grade, at_rank(1).rule) == ("adjudicated", 3, "adjudicated")
    assert adjudicate(at_rank(1), leo, 3, "all but the chair") == adjudication
    adjudicate(at_rank(1), leo, 2, "half of it")
    assert list(Adjudication.objects.order_by("pk").values_list("grade", "undone_by")) == [(3, leo.pk), (2, None)]
    assert at_rank(1).grade == 2
    assert not any(audit(judged.query.campaign).values())


def test_taking_it_back_leaves_what_consensus_says(judged: Batch, leo: Membership) -> None:
    adjudicate(at_rank(1), leo, 3, "a word")
    for _ in range(2):
        withdraw_adjudication(at_rank(1), leo)
    assert (at_rank(1).outcome, at_rank(1).grade, at_rank(1).rule) == ("discarded", None, "tvr-ranking/1")
    assert Adjudication.objects.get().undone_by == leo
    assert not any(audit(judged.query.campaign).values())


def test_a_flagged_candidate_is_graded_and_its_flag_dealt_with(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    work = claim(ada)
    judge_all(work, lambda candidate: 2, submit=False)
    flagged = work.candidates_in_order()[0]
    forget(work.judgements.get(candidate=flagged))
    grading.flag(work, 1, "other", "too dark", fence=work.fence, key=uuid4())
    submitting.submit(work, work.fence)
    judge_all(claim(bob), lambda candidate: 2)
    adjudicate(flagged, leo, 1, "only the door")
    assert flagged.flags.get().handled_by == leo
    withdraw_adjudication(flagged, leo)
    flagged.refresh_from_db()
    assert (flagged.outcome, flagged.grade) == ("flagged", None)
    assert not any(audit(batch.query.campaign).values())


@pytest.mark.parametrize("rank", [3, 20, 21])
def test_where_there_is_consensus_or_nothing_yet_the_lead_gives_no_grade(
    judged: Batch, leo: Membership, rank: int
) -> None:
    if rank < 21:
        with pytest.raises(WrongState, match="only discarded and flagged"):
            adjudicate(at_rank(rank), leo, 0, "mine")
    address = reverse("adjudicate", args=["films", at_rank(rank).pk])
    answer = browser(leo).post(address, {"grade": "0", "reason": "mine"}, follow=True)
    assert answer.status_code == (404 if rank == 21 else 200)
    assert ("only discarded and flagged" in answer.content.decode()) == (rank < 21)
    assert not Adjudication.objects.exists()


def test_no_file_of_the_consensus_holds_an_adjudicated_pair(judged: Batch, leo: Membership) -> None:
    adjudicate(at_rank(1), leo, 3, "all but the chair")
    files = exported(judged.query.campaign)
    pair, moment = "1-1", str(at_rank(1).moment)
    assert moment not in files["qrels.txt"]
    assert pair not in [json.loads(line)["pair_id"] for line in files["qrels.jsonl"].splitlines()]
    for line in files["qrels.jsonl"].splitlines():
        assert json.loads(line)["consensus"] == "tvr-ranking/1"


def test_the_leads_grades_have_files_of_their_own(judged: Batch, leo: Membership) -> None:
    adjudicate(at_rank(1), leo, 2, "a first word")
    adjudicate(at_rank(1), leo, 3, "all but the chair")
    files = exported(judged.query.campaign)
    assert files["adjudicated.txt"] == f"1 0 {at_rank(1).moment} 3\n"
    record = json.loads(files["adjudicated.jsonl"])
    assert (record["pair_id"], record["relevance"]) == ("1-1", 3)
    assert (record["consensus"], record["reason"]) == ("adjudicated", "all but the chair")
    assert str(at_rank(1).moment) in files["moments.csv"]
    manifest = json.loads(files["manifest.json"])
    assert manifest["candidates"]["adjudicated"] == 1
    assert manifest["candidates"]["discarded"] == 1
    assert {"adjudicated.txt", "adjudicated.jsonl", "ratings.csv"} <= set(manifest["sha256"])


def test_pairs_without_consensus_are_exported_with_their_grades(
    judged: Batch, leo: Membership, ada: Membership, bob: Membership, cleo: Membership, dan: Membership
) -> None:
    adjudicate(at_rank(2), leo, 0, "nothing of it")
    rated = csv.DictReader(exported(judged.query.campaign)["ratings.csv"].splitlines())
    rows = [row for row in rated if row["outcome"] != "settled"]
    people = [ada, bob, cleo, dan]
    assert [(row["outcome"], row["worker"], row["relevance"]) for row in rows] == [
        (outcome, str(person.worker), grade)
        for outcome in ("discarded", "adjudicated")
        for person, grade in zip(people, "4141", strict=True)
    ]
    assert (rows[0]["query_id"], rows[0]["video"], rows[0]["start"]) == ("1", "secret-video-0", "1.25")


def test_the_leads_grade_is_not_in_the_mean_of_the_last_five(judged: Batch, leo: Membership) -> None:
    regrade(Candidate.objects.filter(rank=20), outcome=Candidate.Outcome.DISCARDED, grade=None)
    before = recommendation(judged).mean
    adjudicate(at_rank(20), leo, 4, "perfect")
    assert recommendation(judged).mean == before == 1.0


def test_no_number_of_the_consensus_knows_the_leads_grades(judged: Batch, leo: Membership) -> None:
    """Tables, figures, agreement and the desk's settled pairs: as before, but for who is still to be graded."""
    campaign = judged.query.campaign

    def numbers() -> list[object]:
        pool = read(campaign)
        far = progress(campaign, pool)
        return [collection(campaign, pool), agreement(pool, 1), by_query(pool, 1), far["grades"], far["left"]]

    before = numbers()
    for rank in (1, 2):
        adjudicate(at_rank(rank), leo, 4, "a word")
    assert numbers() == before
    outcomes = progress(campaign, read(campaign))["outcomes"]
    assert (outcomes["settled"], outcomes["discarded"], outcomes["adjudicated"]) == (18, 0, 2)


def test_figure_6_tells_the_leads_grades_apart(judged: Batch, leo: Membership) -> None:
    adjudicate(at_rank(1), leo, 4, "a word")
    rows = example(None, FigureSubject(judged.query.campaign, judged.query))
    assert (rows[0]["grade"], rows[0]["outcome"]) == (4, "adjudicated")
    best = max(row["grade"] for row in rows if row["outcome"] == "settled")
    assert f"The highest grade, {best}, goes first to rank 2" not in tell_example(rows)
    assert f"The highest grade, {best}," in tell_example(rows)


def test_reopening_ends_an_adjudication(judged: Batch, leo: Membership) -> None:
    adjudicate(at_rank(1), leo, 3, "a word")
    reopen(leo, scope_of_candidate(at_rank(1)), "let others say")
    assert (at_rank(1).outcome, Adjudication.objects.get().undone_by) == ("open", leo)
    assert not any(audit(judged.query.campaign).values())


def test_the_page_takes_a_grade_with_its_reason(judged: Batch, leo: Membership) -> None:
    client, address = browser(leo), reverse("adjudicate", args=["films", at_rank(1).pk])
    page = client.get(reverse("batch", args=["films", judged.pk])).content.decode()
    assert page.count("Grade it yourself") == 2
    for form in ({}, {"grade": "5", "reason": "x"}, {"grade": "3"}, {"grade": "3", "reason": "x" * 501}):
        assert client.post(address, form).status_code == 400
    page = client.post(address, {"grade": "3", "reason": "but the chair"}, follow=True).content.decode()
    assert "Rank 1 has grade 3 from you" in page
    assert "It is not part of the consensus" in page
    assert 'class="bar adjudicated"' in page
    client.post(address, {"grade": "none"})
    assert at_rank(1).outcome == Candidate.Outcome.DISCARDED
