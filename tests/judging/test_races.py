"""A hundred annotators claim at once: the lock alone keeps two a round, and the constraint stands behind it.

The case without lock and constraint is the negative control: it shows that these tests can fail at all.
Examinees who finish together are the other race.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, models
from django.db.models import Count

from base import transactions
from base.errors import ReeljudgeError
from campaigns.models import Campaign, Event, Membership
from corpus.models import Corpus, Moment, Video
from judging.audit import audit
from judging.models import Assignment, Batch, Candidate, Kind, Sitting
from judging.models.sitting import exam_batches
from judging.quality.exam import set_exam
from judging.work import claiming, submitting
from tests.cast import judge_all, make_query
from tests.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
ANNOTATORS = 100
QUERIES = 10


@pytest.fixture
def crowd() -> list[Membership]:
    """A hundred annotators before ten open batches: twenty places."""
    corpus = Corpus.objects.create(name="films", format="tvr")
    video = Video.objects.create(corpus=corpus, name="film", duration=100)
    Moment.objects.bulk_create(
        Moment(video=video, start=n, end=n + 1, description=str(n), caption=str(n)) for n in range(20)
    )
    campaign = Campaign.objects.create(name="crowd", corpus=corpus)
    for number in range(QUERIES):
        make_query(campaign, str(number), f"query {number}")
    users = User.objects.bulk_create(User(username=f"a{n}") for n in range(ANNOTATORS))
    return Membership.objects.bulk_create(
        Membership(campaign=campaign, user=user, role="annotator", worker=n) for n, user in enumerate(users)
    )


def all_claim(crowd: list[Membership]) -> list[Assignment | ReeljudgeError | None]:
    """Everybody claims in the same moment."""
    return at_once(*[partial(claiming.claim, annotator) for annotator in crowd])


def most_in_a_round() -> int:
    counts = Assignment.objects.not_lapsed().values("batch", "round").annotate(n=Count("pk"))
    return max(counts.values_list("n", flat=True))


@contextlib.contextmanager
def no_constraint() -> Iterator[None]:
    """The table without what would refuse a third assignment."""
    named = {each.name: each for each in Assignment._meta.constraints}
    unique = named["one_assignment_per_slot"]
    with connection.schema_editor() as editor:
        editor.remove_constraint(Assignment, unique)
    try:
        yield
    finally:
        Assignment.objects.all().delete()
        with connection.schema_editor() as editor:
            editor.add_constraint(Assignment, unique)


@pytest.fixture
def no_lock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Row locks off; on SQLite, where the transaction is the lock, transactions off."""

    def unlocked(rows: models.QuerySet[Any], **options: Any) -> models.QuerySet[Any]:
        return rows

    monkeypatch.setattr(models.QuerySet, "select_for_update", unlocked)
    if connection.vendor == "sqlite":
        none = SimpleNamespace(atomic=contextlib.nullcontext, get_connection=lambda: connection)
        monkeypatch.setattr(transactions, "transaction", none)
    claiming._first_free.cache_clear()
    yield
    claiming._first_free.cache_clear()


def test_a_hundred_claim_and_no_place_is_given_twice(crowd: list[Membership]) -> None:
    claimed = [each for each in all_claim(crowd) if isinstance(each, Assignment)]
    assert len(claimed) == 2 * QUERIES
    assert most_in_a_round() == 2
    assert not any(audit(crowd[0].campaign).values())


def test_the_lock_alone_suffices(crowd: list[Membership]) -> None:
    with no_constraint():
        all_claim(crowd)
        assert most_in_a_round() == 2


def test_without_the_lock_and_the_constraint_places_are_given_twice(crowd: list[Membership], no_lock: None) -> None:
    with no_constraint():
        all_claim(crowd)
        assert most_in_a_round() > 2


def test_a_hundred_claim_and_the_quota_of_the_week_holds(crowd: list[Membership]) -> None:
    Campaign.objects.update(week_quota=100)
    claimed = [each for each in all_claim(crowd) if isinstance(each, Assignment)]
    assert len(claimed) == 5  # of twenty clips each


def test_without_the_lock_it_does_not(crowd: list[Membership], no_lock: None) -> None:
    Campaign.objects.update(week_quota=100)
    with no_constraint():
        all_claim(crowd)
        assert Assignment.objects.live().count() > 5


def test_the_same_person_in_ten_tabs_gets_one_batch(crowd: list[Membership]) -> None:
    claimed = at_once(*[partial(claiming.claim, crowd[0])] * 10)
    assert len({each.pk for each in claimed if isinstance(each, Assignment)}) == 1
    assert Batch.objects.filter(taken=1).count() == 1


@pytest.mark.parametrize("waits", [False, True])
def test_examinees_who_finish_together_are_each_marked_once(waits: bool) -> None:
    """With the lead's truth each is marked at once; without, whoever is last makes the quorum for all."""
    campaign = examined(people=6)
    if not waits:
        Candidate.objects.filter(query__kind=Kind.EXAM).update(truth=2)
    held = [all_but_submitted(member) for member in campaign.memberships.order_by("worker")]
    results = at_once(*[partial(submitting.submit, each, each.fence) for each in held * 2])  # each from two tabs
    assert not any(isinstance(each, ReeljudgeError) for each in results)
    assert list(Sitting.objects.values_list("result", "pairs", "missed")) == [("passed", 10, 0)] * 6
    assert Event.objects.filter(kind=Event.Kind.QUALIFIED).count() == 6
    assert not any(audit(campaign).values())


def examined(people: int) -> Campaign:
    """A campaign with an exam of two queries, five pairs each, and so many examinees."""
    corpus = Corpus.objects.create(name="films", format="tvr")
    video = Video.objects.create(corpus=corpus, name="film", duration=100)
    Moment.objects.bulk_create(
        Moment(video=video, start=n, end=n + 1, description=str(n), caption=str(n)) for n in range(20)
    )
    campaign = Campaign.objects.create(name="examined", corpus=corpus)
    make_query(campaign, "1", "query one")
    make_query(campaign, "2", "query two")
    set_exam(campaign, seed=1, queries=2, depth=5)
    for number in range(people):
        campaign.add_member(User.objects.create(username=f"e{number}"), "annotator")
    return campaign


def all_but_submitted(member: Membership) -> Assignment:
    """The last batch of an exam, judged but not submitted. Every other examinee ends with the other batch, so that
    the batch's lock does not keep them apart."""
    Sitting.objects.create(member=member)
    first, last = exam_batches(member.campaign).order_by("pk" if member.worker % 2 else "-pk")
    judge_all(first.lend_to(member), lambda candidate: 2)
    judge_all(assignment := last.lend_to(member), lambda candidate: 2, submit=False)
    return assignment
