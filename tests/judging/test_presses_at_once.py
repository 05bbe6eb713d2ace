"""Presses that arrive in the same moment are stored one after the other, because each locks the assignment first.

The case without the lock is the negative control: it shows that these tests can fail at all.
"""

from __future__ import annotations

from functools import partial
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Sum

from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.models import Corpus, Moment, Video
from judging.models import Assignment, Judgement, Revision
from judging.work import grading, saving
from tests.cast import began, claim, make_query
from tests.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
# Seconds since the claim, and those that a slow machine may take for the test itself.
WALL, SLACK = 1000.0, 120.0


@pytest.fixture
def held() -> Assignment:
    """Twenty places, claimed 1,000 seconds ago. One press may count 800 seconds and more."""
    corpus = Corpus.objects.create(name="films", format="tvr")
    video = Video.objects.create(corpus=corpus, name="film", duration=100)
    Moment.objects.bulk_create(
        Moment(video=video, start=n, end=n + 40, description=str(n), caption=str(n)) for n in range(20)
    )
    campaign = Campaign.objects.create(name="films", corpus=corpus, paid_plays=20)
    make_query(campaign, "1", "A person sits down.")
    ada = campaign.add_member(User.objects.create(username="ada"), "annotator")
    return began(claim(ada), WALL)


def press(held: Assignment, place: int, number: int, key: UUID) -> Revision:
    writer = saving.Writer(held.token, held.user_id)
    return grading.judge(writer, place, number % 5, fence=held.fence, key=key, press=number, seconds=WALL)


def everywhere(held: Assignment) -> float:
    """Press at every place in the same moment, each for all the time since the claim; return the recorded seconds."""
    results = at_once(*[partial(press, held, place, place, uuid4()) for place in range(1, 21)])
    assert not any(isinstance(each, ReeljudgeError) for each in results)
    return float(Revision.objects.aggregate(total=Sum("seconds"))["total"])


def test_the_last_press_for_a_place_holds_and_each_is_stored(held: Assignment) -> None:
    at_once(*[partial(press, held, 1, number, uuid4()) for number in range(1, 25)])
    assert Judgement.objects.get().grade == 24 % 5
    assert sorted(Revision.objects.values_list("number", flat=True)) == list(range(1, 25))
    assert sorted(Revision.objects.values_list("press", flat=True)) == list(range(1, 25))


def test_one_key_at_once_is_one_revision(held: Assignment) -> None:
    key = uuid4()
    results = at_once(*[partial(press, held, 1, 1, key)] * 50)
    assert {each.pk for each in results if isinstance(each, Revision)} == {Revision.objects.get().pk}


def test_presses_at_once_share_the_time_that_has_passed(held: Assignment) -> None:
    assert everywhere(held) <= WALL + SLACK


def test_without_the_lock_more_time_is_recorded_than_has_passed(
    held: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("about PostgreSQL; on SQLite one transaction writes at a time")
    _, _, columns = saving.HOLD.partition("RETURNING ")
    monkeypatch.setattr(saving, "HOLD", f"SELECT {columns} FROM judging_assignment WHERE token = %(token)s")
    both_have_read, grade = Barrier(2), saving.grade

    def grade_with_another(*arguments: Any, **options: Any) -> saving.Graded | None:
        """Go on once another press has read, too, what is recorded."""
        graded = grade(*arguments, **options)
        both_have_read.wait(timeout=30)
        return graded

    monkeypatch.setattr(saving, "grade", grade_with_another)
    assert everywhere(held) > WALL + SLACK
