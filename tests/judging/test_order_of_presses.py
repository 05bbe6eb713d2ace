"""What was said last holds, in whatever order it arrives: the browser's number of a press tells."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from campaigns.models import Membership
from judging.audit import audit
from judging.models import Assignment, Batch, Flag, Revision
from judging.work import grading
from tests.cast import browser, claim


@pytest.fixture
def held(batch: Batch, ada: Membership) -> Assignment:
    return claim(ada)


def grade(held: Assignment, grade: int, press: int | None) -> Revision:
    return grading.judge(held, 1, grade, fence=held.fence, key=uuid4(), press=press, seconds=1.0)


def flag(held: Assignment, press: int | None) -> Flag:
    return grading.flag(held, 1, "clip", "", fence=held.fence, key=uuid4(), press=press, seconds=1.0)


def now(held: Assignment) -> tuple[int | None, int]:
    """The grade that holds, and the flags that stand."""
    return held.judgements.values_list("grade", flat=True).first(), held.flags.count()


def test_an_older_grade_is_stored_and_does_not_replace_a_later_one(held: Assignment) -> None:
    grade(held, 4, press=2)
    late = grade(held, 0, press=1)
    assert late.overtaken
    assert now(held) == (4, 0)
    assert list(Revision.objects.values_list("number", "press", "grade")) == [(1, 2, 4), (2, 1, 0)]
    grade(held, 3, press=3)
    assert now(held) == (3, 0)
    assert not any(audit(held.annotator.campaign).values())


def test_an_older_flag_is_stored_as_taken_back(held: Assignment) -> None:
    grade(held, 4, press=2)
    assert flag(held, press=1).overtaken
    assert now(held) == (4, 0)
    assert Flag.recorded.get().taken_back is not None
    assert not flag(held, press=3).overtaken
    assert now(held) == (4, 1)
    assert flag(held, press=2).overtaken
    assert Flag.objects.get().press == 3


def test_an_older_grade_takes_back_no_later_flag(held: Assignment) -> None:
    flag(held, press=2)
    assert grade(held, 4, press=1).overtaken
    assert now(held) == (4, 1)
    grading.unflag(held, 1, fence=held.fence, key=uuid4(), press=1)  # it was meant for one before
    assert held.flags.count() == 1
    grading.unflag(held, 1, fence=held.fence, key=uuid4(), press=3)
    assert now(held) == (4, 0)


def test_without_a_number_what_comes_last_was_said_last(held: Assignment) -> None:
    grade(held, 4, press=7)
    assert not grade(held, 1, press=None).overtaken
    assert not flag(held, press=None).overtaken
    assert now(held) == (1, 1)
    assert not grade(held, 2, press=None).overtaken
    assert now(held) == (2, 0)
    assert held.presses == 7


def test_a_browser_that_was_behind_learns_the_last_number(held: Assignment) -> None:
    def put(name: str, **fields: object) -> dict[str, object]:
        body = {"fence": held.fence, "key": str(uuid4()), **fields}
        address = reverse(name, args=[held.token, 1])
        answer = browser(held.annotator).put(address, body, content_type="application/json")
        return dict(answer.json())

    assert put("judge", grade=4, press=9) == {"position": 1, "grade": 4, "doubt": False, "revision": 1}
    assert put("judge", grade=0, press=3) == {"position": 1, "grade": 0, "doubt": False, "revision": 2, "overtaken": 9}
    late = {"reason": "clip", "comment": "", "press": 4}
    assert put("flag", **late) == {"position": 1, "reason": "clip", "overtaken": 9}
    page = browser(held.annotator).get(reverse("workplace", args=[held.token]))
    assert b'"presses": 9' in page.content
