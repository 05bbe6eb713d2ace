"""What follows from checks: a word without numbers, then a pause until a lead looks; and nothing from speed alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count, pairwise

import pytest

from base.errors import WrongState
from campaigns.models import Campaign, Event, Membership, Message
from judging.audit import audit
from judging.models import Candidate, Revision
from judging.quality.check_results import ENOUGH, Checked, Speed, check_pairs, check_totals, recent_checks, speeds
from judging.work import claiming, submitting
from tests.cast import by_rank, claim, judge_all, small_batches
from tests.remembered import remembered
from tests.tampering import tampering


@pytest.fixture
@remembered
def checked(campaign: Campaign) -> Campaign:
    """Five places of nine are checks; warnings from 20 % on, a pause from 50 %."""
    small_batches(campaign, 40, hidden=5)
    Campaign.objects.update(check_warn=0.2, check_pause=0.5)
    campaign.refresh_from_db()
    return campaign


def wrong(candidate: Candidate) -> int:
    """Further than the tolerance from what everybody says."""
    return 4 if by_rank(candidate) < 2 else 0


def every_third_wrong() -> Callable[[Candidate], int]:
    numbers = count()
    return lambda candidate: wrong(candidate) if next(numbers) % 3 == 0 else by_rank(candidate)


def do_checks(member: Membership, pairs: int, grade: Callable[[Candidate], int]) -> int:
    """Judge batches with at least so many hidden places, and the rest of them rightly; how many places it were."""
    done = 0
    while done < pairs:
        held = claim(member)
        done += held.hidden
        judge_all(held, lambda candidate: grade(candidate) if candidate.repeats_id else by_rank(candidate))
    return done


def kinds(member: Membership) -> list[str]:
    return list(member.events.order_by("pk").values_list("kind", flat=True))


def test_who_grades_as_expected_hears_nothing(checked: Campaign, ada: Membership) -> None:
    do_checks(ada, 30, by_rank)
    assert check_totals(checked)[ada.pk].missed == 0
    assert not Event.objects.exists()
    assert not Message.objects.exists()


def test_within_the_tolerance_nothing_is_missed(checked: Campaign, ada: Membership) -> None:
    pairs = do_checks(ada, 12, lambda candidate: min(4, by_rank(candidate) + 1))
    assert check_totals(checked)[ada.pk] == Checked(pairs, 0)


@pytest.mark.any_database
@pytest.mark.both_databases
def test_a_repeat_is_held_against_her_own_grade(checked: Campaign, ada: Membership) -> None:
    """Ada differs from all others, and stays by it: that is for consensus to settle, not for a check."""
    for _ in range(3):
        judge_all(claim(ada), wrong)
    before = check_totals(checked)[ada.pk]
    assert (before.pairs, before.missed) == (12, 0)
    held = claim(ada)
    judge_all(held, lambda candidate: by_rank(candidate) if candidate.repeats_id else wrong(candidate))
    after = check_totals(checked)[ada.pk]
    assert after.missed == after.pairs - before.pairs == held.hidden


@pytest.mark.any_database
@pytest.mark.both_databases
def test_a_warning_then_a_pause_then_a_new_beginning(checked: Campaign, ada: Membership, leo: Membership) -> None:
    do_checks(ada, 10, every_third_wrong())
    assert (kinds(ada), ada.messages.count(), ada.state) == (["warned"], 1, "active")
    while ada.state == Membership.State.ACTIVE:
        do_checks(ada, 1, wrong)
        ada.refresh_from_db()
    assert (kinds(ada)[-1], ada.events.latest("pk").by) == ("paused", None)
    with pytest.raises(WrongState):
        claiming.claim(ada)
    ada.resume(leo, "We spoke.")
    assert (recent_checks(checked)[ada.pk].recent, recent_checks(checked)[ada.pk].share) == (0, 0.0)
    do_checks(ada, 10, by_rank)
    ada.refresh_from_db()
    assert (kinds(ada)[-1], ada.state) == ("resumed", "active")
    assert not any(audit(checked).values())


def test_few_pairs_say_nothing(checked: Campaign, ada: Membership) -> None:
    assert do_checks(ada, 1, wrong) < ENOUGH
    hers = check_totals(checked)[ada.pk]
    assert 0 < hers.missed == hers.pairs < ENOUGH
    assert recent_checks(checked)[ada.pk].recent == hers.pairs
    assert not Event.objects.exists()


def test_a_warning_is_not_repeated_before_as_many_more_pairs(checked: Campaign, ada: Membership) -> None:
    grade, pairs = every_third_wrong(), 0
    warned_at: list[int] = []
    for _ in range(6):
        pairs += do_checks(ada, 1, grade)
        if kinds(ada).count("warned") > len(warned_at):
            warned_at.append(pairs)
    assert len(warned_at) > 1
    assert all(later - earlier >= ENOUGH for earlier, later in pairwise(warned_at))
    assert ada.messages.count() == len(warned_at)


def test_submitting_a_check_twice_weighs_it_once(checked: Campaign, ada: Membership) -> None:
    do_checks(ada, 10, every_third_wrong())
    newest = ada.assignments.submitted().latest("submitted")
    submitting.submit(newest, newest.fence)
    assert kinds(ada) == ["warned"]


def test_the_words_to_an_annotator_have_no_numbers_and_those_to_the_lead_have(
    checked: Campaign, ada: Membership
) -> None:
    while ada.state == Membership.State.ACTIVE:
        do_checks(ada, 1, wrong)
        ada.refresh_from_db()
    for message in ada.messages.all():
        assert not re.search(r"\d|%|check|gold|threshold|repeat", message.text)
    words = ada.events.get().reason
    assert re.fullmatch(r"\d+ of the last \d+ check pairs were missed \(100 %\); the threshold is 50 %\.", words)


def test_nobody_is_stopped_or_warned_for_speed_alone(checked: Campaign, ada: Membership) -> None:
    do_checks(ada, 20, by_rank)
    with tampering():
        Revision.objects.filter(judgement__annotator=ada).update(seconds=0.1)
    do_checks(ada, 10, by_rank)
    ada.refresh_from_db()
    assert speeds(checked)[ada.pk].fast > 50
    assert (ada.state, Event.objects.count(), Message.objects.count()) == ("active", 0, 0)


@pytest.mark.any_database
@pytest.mark.both_databases
def test_speed_is_of_first_grades(checked: Campaign, ada: Membership) -> None:
    with tampering():
        Revision.objects.all().delete()
    judge_all(claim(ada), by_rank)
    revisions = Revision.objects.filter(judgement__annotator=ada).order_by("pk")
    for revision, seconds in zip(revisions, (0.5, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, None), strict=True):
        with tampering():
            Revision.objects.filter(pk=revision.pk).update(seconds=seconds)
    assert speeds(checked)[ada.pk] == Speed(judgements=7, fast=2, median=3.0)


@pytest.mark.any_database
@pytest.mark.both_databases
def test_the_lead_reads_what_the_rule_reads(checked: Campaign, ada: Membership) -> None:
    pairs = do_checks(ada, 25, every_third_wrong())
    rows = list(check_pairs(checked))
    assert len(rows) == pairs
    for row in rows:
        assert row.expected == by_rank(row.candidate)
        assert row.missed == (abs(row.grade - row.expected) > 1)
    standing = recent_checks(checked)[ada.pk]
    assert check_totals(checked)[ada.pk] == Checked(pairs, sum(row.missed for row in rows))
    assert (standing.recent, standing.recent_missed) == (20, sum(row.missed for row in rows[:20]))
