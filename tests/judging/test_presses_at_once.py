"""Presses that arrive in the same moment are stored one after the other, because each locks the assignment first.

The case without the lock is the negative control: it shows that these tests can fail at all.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Sum

from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.models import Corpus, Moment, Video
from judging.models import Assignment, Flag, Judgement, Revision
from judging.work import grading, saving, saving_in_one
from tests.cast import began, claim, make_query
from tests.together import at_once
from tests.waiting import wait_until

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
    monkeypatch.setattr(saving_in_one, "save", lambda *press: False)
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


@pytest.mark.parametrize("noticed", [True, False], ids=["ctid", "without"])
def test_one_statement_stores_nothing_if_another_press_came_between(
    held: Assignment, monkeypatch: pytest.MonkeyPatch, noticed: bool
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("about PostgreSQL; SQLite takes the three statements")
    if not noticed:  # the negative control
        monkeypatch.setattr(
            saving_in_one, "NOTHING_IN_BETWEEN", re.sub("AND ctid.*", "", saving_in_one.NOTHING_IN_BETWEEN)
        )
    saving_in_one._statement.cache_clear()
    try:
        with ThreadPoolExecutor() as pool:
            with transaction.atomic():
                press(held, 1, 1, uuid4())
                later = pool.submit(in_one_statement, held, 2)
                wait_until(a_lock_is_waited_for, lambda: "the second press waits")
            assert later.result() is not noticed
    finally:
        saving_in_one._statement.cache_clear()


def in_one_statement(held: Assignment, number: int) -> bool:
    try:
        writer = saving.Writer(held.token, held.user_id)
        return saving_in_one.save(writer, held.fence, 2, number, Revision(grade=2, key=uuid4(), reported=WALL))
    finally:
        connection.close()


def a_lock_is_waited_for() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # which a transaction keeps
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])


REPORTED = [None, 0, 9.5, 90, 900]  # seconds


@pytest.mark.parametrize("seed", range(5))
def test_one_statement_stores_what_three_do(held: Assignment, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("about PostgreSQL; SQLite takes the three statements")
    save, at_once = saving_in_one.save, list[bool]()

    def counted_save(*press: Any) -> bool:
        at_once.append(save(*press))
        return at_once[-1]

    monkeypatch.setattr(saving_in_one, "save", counted_save)
    one = stored_by_chance(held, seed)
    assert sum(at_once) > 10
    monkeypatch.setattr(saving_in_one, "save", lambda *press: False)
    assert one == stored_by_chance(held, seed)


def stored_by_chance(held: Assignment, seed: int) -> list[Any]:
    """Press 100 times: known keys, late numbers, wrong places, old fences, flags. Return all that came of it."""
    chance, keys, found = Random(seed), [UUID(int=number) for number in range(70)], list[Any]()
    writer = saving.Writer(held.token, held.user_id)
    with transaction.atomic():
        for _ in range(100):
            place, number, key = chance.randint(0, 4), chance.randint(1, 100), chance.choice(keys)
            fence = held.fence + (chance.random() < 0.05)
            sent: dict[str, Any] = {"fence": fence, "key": key, "press": number, "seconds": chance.choice(REPORTED)}
            try:
                if chance.random() < 0.05:
                    grading.flag(held, place, "unclear", "", **sent)
                    continue
                doubt, how = chance.random() < 0.5, chance.choice(["key", "click"])
                stored = grading.judge(writer, place, chance.randint(0, 4), input=how, doubt=doubt, **sent)
                found.append((stored.number, stored.press, stored.grade, stored.overtaken))
            except ReeljudgeError as refusal:
                found.append(type(refusal).__name__)
        columns = ("judgement__candidate", "judgement__grade", "judgement__is_doubtful", "number", "press", "grade")
        rows = Revision.objects.order_by("pk").values_list(
            *columns, "is_doubtful", "key", "reported", "input", "seconds"
        )
        found += [(*row[:-1], row[-1] if row[-1] is None else pytest.approx(row[-1], abs=5)) for row in rows]
        found += Flag.recorded.order_by("pk").values_list("candidate", "press")
        found.append(Flag.recorded.filter(taken_back=None).count())
        transaction.set_rollback(True)
    assert len(found) > 120
    return found
