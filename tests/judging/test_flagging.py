"""A flag stands until it is taken back, replaced, or a grade is given; the last word holds."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from base.errors import KeyReused, Stale
from campaigns.models import Membership
from judging.models import Assignment, Batch, Flag, Judgement
from judging.work import grading, submitting
from tests.cast import browser, claim, judge_all


@pytest.fixture
def held(batch: Batch, ada: Membership) -> Assignment:
    """Every place is graded 2, and the first is flagged after that."""
    assignment = claim(ada)
    judge_all(assignment, lambda candidate: 2, submit=False)
    grading.flag(assignment, 1, "query", "what is a board?", fence=assignment.fence, key=uuid4())
    return assignment


def counted(held: Assignment) -> set[int]:
    return set(held.judgements.filter(seat__isnull=False).values_list("candidate", flat=True))


def test_a_grade_before_a_flag_does_not_count(held: Assignment) -> None:
    submitting.submit(held, held.fence)
    assert counted(held) == set(held.places) - {held.candidate_at(1)}


def test_a_grade_after_a_flag_takes_it_back(held: Assignment) -> None:
    grading.judge(held, 1, 3, fence=held.fence, key=uuid4())
    assert not held.flags.exists()
    submitting.submit(held, held.fence)
    assert counted(held) == set(held.places)
    assert Judgement.objects.get(candidate=held.candidate_at(1)).grade == 3


def test_a_flag_that_is_taken_back_lets_the_grade_count_again(held: Assignment) -> None:
    for _ in range(2):
        grading.unflag(held, 1, fence=held.fence, key=uuid4())
    submitting.submit(held, held.fence)
    assert counted(held) == set(held.places)


def test_another_reason_replaces_the_first(held: Assignment) -> None:
    grading.flag(held, 1, "clip", "", fence=held.fence, key=uuid4())
    assert Flag.objects.get().reason == "clip"


def test_a_flag_without_a_grade_leaves_the_place_open_when_it_is_taken_back(batch: Batch, bob: Membership) -> None:
    assignment = claim(bob)
    grading.flag(assignment, 4, "clip", "", fence=assignment.fence, key=uuid4())
    assert 4 not in assignment.unanswered()
    grading.unflag(assignment, 4, fence=assignment.fence, key=uuid4())
    assert 4 in assignment.unanswered()


def test_nobody_takes_a_flag_back_with_an_old_fence_or_after_submission(held: Assignment) -> None:
    with pytest.raises(Stale):
        grading.unflag(held, 1, fence=held.fence + 1, key=uuid4())
    submitting.submit(held, held.fence)
    with pytest.raises(Stale):
        grading.unflag(held, 1, fence=held.fence, key=uuid4())
    assert held.flags.exists()


def test_a_late_copy_changes_nothing(held: Assignment) -> None:
    """Two tabs send what one of them keeps, and one of them is slow."""
    flag, back, again = uuid4(), uuid4(), uuid4()
    for _ in range(2):
        grading.flag(held, 2, "clip", "", fence=held.fence, key=flag)
    grading.judge(held, 2, 3, fence=held.fence, key=uuid4())
    grading.flag(held, 2, "clip", "", fence=held.fence, key=flag)
    assert not held.flags.filter(candidate=held.candidate_at(2)).exists()
    grading.flag(held, 2, "query", "", fence=held.fence, key=uuid4())
    grading.unflag(held, 2, fence=held.fence, key=back)
    grading.flag(held, 2, "other", "", fence=held.fence, key=again)
    grading.unflag(held, 2, fence=held.fence, key=back)
    assert held.flags.get(candidate=held.candidate_at(2)).key == again
    with pytest.raises(KeyReused):
        grading.flag(held, 3, "other", "", fence=held.fence, key=again)


def test_the_key_of_taking_one_flag_back_takes_no_other_back(held: Assignment) -> None:
    key = uuid4()
    grading.flag(held, 2, "clip", "", fence=held.fence, key=uuid4())
    grading.unflag(held, 1, fence=held.fence, key=key)
    with pytest.raises(KeyReused, match="took another flag back before"):
        grading.unflag(held, 2, fence=held.fence, key=key)
    assert held.flags.get().candidate_id == held.candidate_at(2)


def test_taking_a_flag_back_is_answered_again_after_submission(held: Assignment) -> None:
    """The first answer was lost, and the batch was submitted meanwhile from another tab."""
    key = uuid4()
    address, body = reverse("flag", args=[held.token, 1]), {"fence": held.fence, "key": str(key)}
    grading.unflag(held, 1, fence=held.fence, key=key)
    submitting.submit(held, held.fence)
    answer = browser(held.annotator).delete(address, body, content_type="application/json")
    assert (answer.status_code, answer.json()) == (200, {"position": 1, "reason": None})


def test_only_its_annotator_takes_a_flag_back(held: Assignment, bob: Membership) -> None:
    address, body = reverse("flag", args=[held.token, 1]), {"fence": held.fence, "key": str(uuid4())}
    assert browser(bob).delete(address, body, content_type="application/json").status_code == 404
    assert held.flags.exists()
    answer = browser(held.annotator).delete(address, body, content_type="application/json")
    assert (answer.status_code, answer.json()) == (200, {"position": 1, "reason": None})
    assert not held.flags.exists()


def test_a_flag_comes_back_with_its_comment_to_its_own_annotator(held: Assignment) -> None:
    answer = browser(held.annotator).post(reverse("claim", args=["films"]), headers={"accept": "application/json"})
    places = answer.json()["assignment"]["places"]
    assert (places[0]["flag"], places[0]["comment"]) == ("query", "what is a board?")
