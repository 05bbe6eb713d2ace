"""A grade that is between two: kept with the press, shown to leads, exported, and part of no number."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.urls import reverse

from base.errors import KeyReused
from campaigns.models import Campaign, Membership
from judging.audit import audit
from judging.models import Assignment, Batch, Candidate, Judgement, Revision
from judging.work import grading, submitting
from judging.work.places import assignment_data
from releases.contents import judgements
from releases.exports import BY_NAME, ExportScope
from tests.cast import browser, claim, judge_all
from tests.tampering import tampering


@pytest.fixture
def held(batch: Batch, ada: Membership) -> Assignment:
    return claim(ada)


def grade(held: Assignment, grade: int, doubt: bool, press: int | None = None, key: UUID | None = None) -> Revision:
    return grading.judge(held, 1, grade, fence=held.fence, key=key or uuid4(), press=press, doubt=doubt)


def now(held: Assignment) -> Any:
    return held.judgements.values_list("grade", "is_doubtful").get()


@pytest.mark.both_databases
def test_the_doubt_is_that_of_the_last_press(held: Assignment) -> None:
    grade(held, 3, True, press=2)
    grade(held, 4, False, press=1)  # arrives late
    assert now(held) == (3, True)
    assert assignment_data(Assignment.objects.get())["places"][0]["doubt"] is True
    grade(held, 3, False, press=4)
    grade(held, 3, True, press=3)  # late, too
    assert now(held) == (3, False)
    assert list(Revision.objects.values_list("press", "is_doubtful")) == [(2, True), (1, False), (4, False), (3, True)]
    assert not any(audit(held.annotator.campaign).values())


def test_a_press_that_comes_twice_has_the_same_doubt(held: Assignment) -> None:
    key = uuid4()
    first = grade(held, 3, True, key=key)
    assert grade(held, 3, True, key=key) == first
    with pytest.raises(KeyReused, match="another grade, doubt or place"):
        grade(held, 3, False, key=key)
    assert now(held) == (3, True)


def test_a_flag_that_is_taken_back_gives_the_doubt_back(held: Assignment) -> None:
    grade(held, 3, True)
    grading.flag(held, 1, "clip", "", fence=held.fence, key=uuid4())
    grading.unflag(held, 1, fence=held.fence, key=uuid4())
    assert now(held) == (3, True)


def test_the_audit_finds_another_doubt(held: Assignment) -> None:
    grade(held, 3, True)
    with tampering():
        Judgement.objects.update(is_doubtful=False)
    [(finding, *_)] = [found for found in audit(held.annotator.campaign).values() if found]
    assert "another doubt than its last revision" in finding


@pytest.fixture
def judged(batch: Batch, ada: Membership, bob: Membership) -> Batch:
    """Ada doubts her grade of rank 1, and only that."""
    for annotator in (ada, bob):
        held = claim(annotator)
        judge_all(held, lambda candidate: candidate.rank % 5, submit=False)
        if annotator == ada:
            place = [candidate.rank for candidate in held.candidates_in_order()].index(1) + 1
            grading.judge(held, place, 1, fence=held.fence, key=uuid4(), doubt=True)
        submitting.submit(held, held.fence)
    batch.refresh_from_db()
    return batch


def test_a_doubtful_grade_settles_like_any_other(judged: Batch) -> None:
    assert judged.state == Batch.State.SETTLED
    assert Candidate.objects.get(rank=1, batch=judged).grade == 1


def test_exports_have_the_doubt(judged: Batch) -> None:
    campaign = judged.query.campaign
    rows = list(csv.DictReader(io.StringIO("".join(BY_NAME["ratings.csv"].lines(campaign)))))
    assert list(rows[0])[-1] == "doubt"
    assert [row["pair_id"] for row in rows if row["doubt"] == "1"] == [rows[0]["pair_id"]]
    records = [json.loads(line) for line in judgements(ExportScope(campaign))]
    assert [record["doubt"] for record in records] == [True] + [False] * 39
    Campaign.objects.update(imported=judged.query.campaign.created)
    campaign.refresh_from_db()
    assert {json.loads(line)["doubt"] for line in judgements(ExportScope(campaign))} == {None}


def test_leads_see_the_doubt(judged: Batch, leo: Membership) -> None:
    lead = browser(leo)
    page = lead.get(reverse("batch", args=["films", judged.pk])).content.decode()
    assert page.count("between two grades") > 0
    assert "±" in page
    page = lead.get(reverse("judgements", args=["films"]), {"only": "doubtful"}).content.decode()
    assert page.count('title="Between two grades"') == 1
