"""Active time is what the browser measured, and never more than a press may count and than the database's clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from random import Random
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import Now
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Flag, Judgement, Revision
from judging.work import claiming, grading, submitting
from reports.hours import total, worked_by_day, worked_in_assignment
from tests.cast import began, claim, expire, judge_all, make_query

EVER = datetime(2000, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
DAY = 86_400
SLACK = 120.0  # seconds that a slow machine may take for the test itself
claimed_by_the_database = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
durations = st.one_of(st.none(), st.floats(0, 3600, allow_nan=False))
# What is said in turn: of which place, grade or flag, after how many seconds, and whether it is sent again.
sayings = st.lists(
    st.tuples(st.integers(1, 5), st.sampled_from(["grade", "flag", "unflag"]), durations, st.booleans()), max_size=12
)


def say(assignment: Assignment, position: int, what: str, seconds: float | None, key: UUID) -> None:
    fence = assignment.fence
    if what == "grade":
        grading.judge(assignment, position, position % 5, fence=fence, key=key, seconds=seconds)
    elif what == "flag":
        grading.flag(assignment, position, "other", str(key), fence=fence, key=key, seconds=seconds)
    else:
        grading.unflag(assignment, position, fence=fence, key=key)


def recorded(annotator: Membership) -> float:
    revisions = Revision.objects.filter(judgement__annotator=annotator)
    flags = Flag.recorded.filter(assignment__annotator=annotator)
    return sum(float(rows.aggregate(total=Sum("seconds"))["total"] or 0) for rows in (revisions, flags))


@pytest.fixture
def held(batch: Batch, ada: Membership, monkeypatch: pytest.MonkeyPatch) -> Assignment:
    """An assignment whose presses are bounded by the clock alone."""
    monkeypatch.setattr(Campaign, "most_seconds", lambda *_: DAY)
    return claim(ada)


@contextmanager
def undone() -> Iterator[None]:
    """Each of Hypothesis's examples begins with the same rows."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.both_databases
@claimed_by_the_database
@given(presses=sayings, wall=st.floats(0, 7200))
def test_the_sum_is_never_more_than_the_clock_and_no_part_negative(
    held: Assignment, presses: list[tuple[int, str, float | None, bool]], wall: float
) -> None:
    with undone():
        began(held, wall)
        for position, what, seconds, again in presses:
            key = uuid4()
            for _ in range(1 + again):
                say(held, position, what, seconds, key)
        assert recorded(held.annotator) <= wall + SLACK
        assert not Revision.objects.filter(seconds__lt=0).exists()
        assert not Flag.recorded.filter(seconds__lt=0).exists()


@claimed_by_the_database
@given(honest=st.lists(st.floats(0.1, 100), min_size=1, max_size=12), order=st.randoms())
def test_honest_time_is_kept_whole_in_whatever_order_it_arrives(
    held: Assignment, honest: list[float], order: Random
) -> None:
    with undone():
        # She was active from the claim to this moment, and all of it was kept offline.
        began(held, sum(honest))
        places = list(enumerate(honest, 1))
        order.shuffle(places)
        for position, seconds in places:
            say(held, position, "grade", seconds, uuid4())
        kept = Revision.objects.values_list("judgement__candidate", "seconds")
        assert dict(kept) == {held.candidate_at(position): pytest.approx(seconds) for position, seconds in places}


@pytest.mark.both_databases
def test_what_the_clock_does_not_allow_is_cut_not_refused(held: Assignment) -> None:
    began(held, 10_000)
    for position, seconds in ((1, 7000.0), (2, 7000.0), (3, 7000.0)):
        say(held, position, "grade", seconds, uuid4())
    first, second, third = Revision.objects.order_by("pk").values_list("seconds", flat=True)
    assert first == 7000.0
    assert second == pytest.approx(3000, abs=SLACK)
    assert third == pytest.approx(0, abs=SLACK)


# What is tried to be paid for little work. In a batch of short clips, a press counts at most some 70 seconds.
def minutes_of(annotator: Membership) -> float:
    return float(total(worked_by_day(annotator, *EVER).values()).seconds) / 60


@pytest.mark.both_databases
def test_presses_between_two_clips_earn_four_presses(batch: Batch, ada: Membership) -> None:
    """480 minutes before."""
    held = began(claim(ada), 8 * 3600)
    for press in range(480):
        grading.judge(held, 1 + press % 2, press % 5, fence=held.fence, key=uuid4(), seconds=60)
    assert minutes_of(ada) == pytest.approx(2 * (held.limits[0] + held.limits[1]) / 60, abs=0.01)
    assert minutes_of(ada) < 6


@pytest.mark.both_databases
def test_flags_and_grades_of_one_clip_earn_two_presses(batch: Batch, ada: Membership) -> None:
    """60 minutes before."""
    held = began(claim(ada), 3600)
    for press in range(60):
        say(held, 1, "flag" if press % 3 else "grade", 60, uuid4())
    assert minutes_of(ada) == pytest.approx(2 * held.limits[0] / 60, abs=0.01)


@pytest.mark.both_databases
def test_a_place_that_is_returned_counts_anew(batch: Batch, ada: Membership) -> None:
    held = began(claim(ada), 3600)
    for grade in (1, 2, 3):
        grading.judge(held, 1, grade, fence=held.fence, key=uuid4(), seconds=60)
    once = minutes_of(ada)
    Judgement.objects.update(returned=Now())
    for what in ("grade", "flag", "grade"):
        say(held, 1, what, 60, uuid4())
    assert once == pytest.approx(2 * held.limits[0] / 60, abs=0.01)
    assert minutes_of(ada) == pytest.approx(2 * once, abs=0.01)


@pytest.mark.both_databases
@pytest.mark.parametrize(("reported", "elapsed", "counts"), [(9, 600, 9), (300, 600, 60), (12, 7, 5), (None, 600, 0)])
def test_time_in_the_list_counts_three_seconds_a_clip(
    batch: Batch, ada: Membership, reported: float | None, elapsed: float, counts: float
) -> None:
    held = began(claim(ada), elapsed)
    for position in range(1, 21):
        grading.judge(held, position, 1, fence=held.fence, key=uuid4(), seconds=0.1)
    for _ in range(2):
        submitting.submit(held, held.fence, reported)
    assert 60 * minutes_of(ada) == pytest.approx(2 + counts, abs=1)
    assert [part.reported for part in worked_in_assignment(held).values()] == [2 + (reported or 0)]


@pytest.mark.both_databases
def test_what_was_not_measured_stays_unknown(held: Assignment) -> None:
    began(held, 100)
    say(held, 1, "grade", None, uuid4())
    assert Revision.objects.get().seconds is None


def test_a_retry_does_not_count_twice(held: Assignment) -> None:
    began(held, 100)
    for _ in range(3):
        say(held, 1, "grade", 10.0, UUID(int=1))
        say(held, 2, "flag", 10.0, UUID(int=2))
    assert recorded(held.annotator) == 20.0


def test_going_back_adds_the_new_visits_seconds(held: Assignment) -> None:
    began(held, 100)
    for seconds in (10.0, 3.0):
        say(held, 1, "grade", seconds, uuid4())
    assert list(Revision.objects.values_list("number", "seconds")) == [(1, 10.0), (2, 3.0)]


def test_the_seconds_of_a_flag_stay_with_it(held: Assignment, ada: Membership) -> None:
    """What was done on an approved day must not come back on a later one."""
    began(held, 100)
    say(held, 1, "flag", 10.0, uuid4())
    say(held, 1, "flag", 5.0, uuid4())
    assert Flag.objects.get().seconds == 5.0
    say(held, 1, "grade", 2.0, uuid4())
    assert not Flag.objects.exists()
    assert Revision.objects.get().seconds == 2.0
    assert recorded(ada) == 17.0
    assert total(worked_by_day(ada, *EVER).values()).seconds == 17


def test_the_same_flag_again_adds_the_new_visits_seconds(held: Assignment) -> None:
    began(held, 100)
    for seconds in (10.0, 3.0):
        grading.flag(held, 1, "clip", "", fence=held.fence, key=uuid4(), seconds=seconds)
    assert list(Flag.recorded.order_by("pk").values_list("seconds", flat=True)) == [10.0, 3.0]


def test_two_assignments_do_not_share_the_same_hour(campaign: Campaign, held: Assignment, ada: Membership) -> None:
    """Ada lapses, works an hour on another batch, and comes back: that hour is not there twice."""
    make_query(campaign, "2", "A person runs.")
    began(held, 3600)
    expire(held)
    held.lapse()
    held.batch.taken = 2  # so that the other batch comes first
    held.batch.save()
    other = began(claim(ada), 3600)
    numbers = count(1)
    judge_all(other, lambda candidate: 2, submit=False)
    for _ in range(4):
        say(other, next(numbers), "grade", 895.0, uuid4())
    submitting.submit(other, other.fence)
    held.batch.taken = 0
    held.batch.save()
    back = claiming.resume(held)
    say(back, 1, "grade", 3600.0, uuid4())
    assert recorded(ada) == pytest.approx(3600, abs=SLACK)


def lapsed_and_claimed_again(away: Assignment) -> Assignment:
    away.lapse()
    return claim(away.annotator)


@pytest.mark.parametrize(
    "come_back",
    [
        lambda away: away.lapse() or claiming.resume(away),
        lapsed_and_claimed_again,
        claiming.resume,  # nobody has noticed yet that the lease has run out
        lambda away: claim(away.annotator),
    ],
)
def test_the_time_after_a_lease_has_run_out_never_counts(
    held: Assignment, ada: Membership, come_back: Callable[[Assignment], Assignment]
) -> None:
    """Claimed a day ago, judged for ten minutes, away since: one press cannot say that she worked all day."""
    began(held, 600)
    say(held, 1, "grade", 300.0, uuid4())
    say(held, 2, "flag", 100.0, uuid4())
    began(held, DAY)
    expire(held)
    back = come_back(held)
    assert back.fence == 2
    say(back, 3, "grade", DAY - 400.0, uuid4())
    say(back, 4, "flag", DAY - 400.0, uuid4())
    assert recorded(ada) == pytest.approx(400, abs=SLACK)
    say(back, 2, "grade", DAY - 400.0, uuid4())  # in place of its flag, whose seconds stay
    assert total(worked_by_day(ada, *EVER).values()).seconds == pytest.approx(400, abs=SLACK)


def test_claiming_what_one_holds_loses_no_time(held: Assignment, ada: Membership) -> None:
    """She opens her page again and again, and goes on without a network; all of it is sent in one burst."""
    began(held, 600)
    for _ in range(3):
        held = claim(ada)
    for position in range(1, 6):
        say(held, position, "grade", 120.0, uuid4())
    assert recorded(ada) == pytest.approx(600)


def test_a_press_counts_no_more_than_the_campaign_allows_for_its_clip(
    batch: Batch, campaign: Campaign, ada: Membership
) -> None:
    Campaign.objects.update(padding=0.5, paid_plays=2, paid_beyond=30)
    ada.refresh_from_db()
    held = began(claim(ada), 10_000)
    limit = 2 * (3.25 + 2 * 0.5) + 30
    say(held, 1, "grade", limit - 1, uuid4())
    say(held, 2, "grade", 5000.0, uuid4())
    say(held, 3, "flag", 5000.0, uuid4())
    rows = [*Revision.objects.order_by("pk"), *Flag.objects.all()]
    assert [row.reported for row in rows] == [limit - 1, 5000.0, 5000.0]
    assert [row.seconds for row in rows] == pytest.approx([limit - 1, limit, limit])


def test_claims_do_not_keep_a_lease_alive(batch: Batch, ada: Membership) -> None:
    """Sixteen claims and one press once counted a day: only what is said about a clip extends a lease."""
    held = claim(ada)
    end = held.lease
    for _ in range(16):
        assert claim(ada).lease == end
        assert claiming.resume(held).lease == end
    began(held, 10_000)
    say(held, 1, "grade", 10_000.0, uuid4())
    held.refresh_from_db()
    assert held.lease > end
    assert recorded(ada) == pytest.approx(3 * 3.25 + 60)


def test_two_campaigns_do_not_share_the_same_hour(campaign: Campaign, held: Assignment, ada: Membership) -> None:
    """A day has no more seconds for somebody who judges in two campaigns at once."""
    other = Campaign.objects.create(name="other", corpus=campaign.corpus, order_seed=8)
    make_query(other, "1", "A person sits down.")
    there = began(claim(other.add_member(ada.user, Membership.Role.ANNOTATOR)), 3600)
    began(held, 3600)
    for position in range(1, 5):
        for assignment in (held, there):
            say(assignment, position, "grade" if position < 4 else "flag", 800.0, uuid4())
    assert recorded(held.annotator) + recorded(there.annotator) == pytest.approx(3600, abs=SLACK)
