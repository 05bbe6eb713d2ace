"""The audit is silent on a sound campaign, and names what is wrong in one that was tampered with."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F

from campaigns.models import Campaign, Membership
from jobs.models import Job
from judging.audit import INVARIANTS, audit
from judging.models import Assignment, Batch, Candidate, Judgement, Kind, Query, Revision
from judging.work import grading
from tests.cast import claim, judge_all, make_query, settle_round_one
from tests.conftest import Case
from tests.remembered import remembered
from tests.tampering import tampering

pytestmark = pytest.mark.both_databases  # it is about constraints


@pytest.fixture
@remembered
def sound(
    campaign: Campaign, batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership
) -> Campaign:
    """A batch settled in two rounds, one in the middle of round two, and one in somebody's hands."""
    settle_round_one(batch, ada, bob, apart=3)
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 4)
    middle = make_query(campaign, "2", "A person stands up.").batches.get()
    settle_round_one(middle, ada, bob, apart=2)
    judge_all(claim(cleo), lambda candidate: 3)
    make_query(campaign, "3", "A person runs.")
    claim(ada)
    return campaign


def broken(campaign: Campaign) -> set[str]:
    """Return the names of the checks that find something."""
    return {INVARIANTS[says].__name__ for says, findings in audit(campaign).items() if findings}


def test_a_sound_campaign_passes(sound: Campaign) -> None:
    assert broken(sound) == set()
    out = StringIO()
    call_command("audit", "films", stdout=out)
    assert out.getvalue().count("ok") == 16


def counted() -> Judgement:
    judgement = Judgement.objects.filter(seat=1, candidate__escalated=False).first()
    assert judgement is not None
    return judgement


def lose_a_judgement() -> None:
    judgement = counted()
    judgement.revisions.all().delete()
    judgement.delete()


def change_a_grade_behind_its_revisions() -> None:
    judgement = counted()
    Judgement.objects.filter(pk=judgement.pk).update(grade=(judgement.grade + 1) % 5)


def count_a_place_too_few() -> None:
    Batch.objects.filter(taken=2).update(taken=1)


def forget_the_places() -> None:
    Assignment.objects.submitted().update(places=[])


def swap_the_places_of_two_queries() -> None:
    there = Assignment.objects.live().get()
    other = Assignment.objects.exclude(batch__query=there.batch.query).values_list("places", flat=True)
    Assignment.objects.filter(pk=there.pk).update(places=other[0])


def note_another_kind() -> None:
    Batch.objects.filter(state=Batch.State.OPEN).update(kind=Kind.STUDY)


def move_to_another_seat() -> None:
    Judgement.objects.filter(pk=counted().pk).update(seat=4)


def give_a_judgement_to_another() -> None:
    judgement = counted()
    others = Membership.objects.exclude(judgements__candidate=judgement.candidate)
    Judgement.objects.filter(pk=judgement.pk).update(annotator=others.first())


def write_after_submission() -> None:
    Revision.objects.filter(judgement=counted()).update(at=F("at") + timedelta(days=1))


def count_what_was_not_submitted() -> None:
    assignment = Assignment.objects.live().first()
    assert assignment is not None
    grading.judge(assignment, 1, 2, fence=assignment.fence, key=uuid4())
    assignment.judgements.update(seat=assignment.seat)


def fill_a_batch_with_nobody() -> None:
    batch = Batch.objects.filter(state=Batch.State.SETTLED).first()
    assert batch is not None
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.OPEN)


def forget_a_batchs_clips() -> None:
    Batch.objects.filter(state=Batch.State.OPEN).update(state=Batch.State.PREPARING)
    Job.objects.all().delete()


def drop_a_revision() -> None:
    assignment = Assignment.objects.live().get()
    for grade in (1, 2, 3):
        grading.judge(assignment, 1, grade, fence=assignment.fence, key=uuid4())
    Revision.objects.filter(judgement__assignment=assignment, number=2).delete()


def store_another_outcome() -> None:
    Candidate.objects.filter(outcome=Candidate.Outcome.SETTLED, grade=4).update(grade=3)


def settle_by_another_rule() -> None:
    Candidate.objects.filter(outcome=Candidate.Outcome.SETTLED).update(rule="ours/0")


def count_another_number() -> None:
    Query.objects.filter(query_id="1").update(contested=9)


TAMPERINGS = {
    count_another_number: "kept_numbers",
    lose_a_judgement: "nothing_lost",
    change_a_grade_behind_its_revisions: "nothing_lost",
    forget_the_places: "nothing_lost",
    swap_the_places_of_two_queries: "nothing_lost",
    count_a_place_too_few: "two_a_round",
    move_to_another_seat: "two_a_round",
    give_a_judgement_to_another: "nobody_twice",
    write_after_submission: "nothing_stale",
    count_what_was_not_submitted: "nothing_stale",
    fill_a_batch_with_nobody: "no_starvation",
    forget_a_batchs_clips: "no_starvation",
    note_another_kind: "no_starvation",
    drop_a_revision: "append_only",
    store_another_outcome: "same_consensus",
    settle_by_another_rule: "same_consensus",
}  # and the check that finds each


def test_tampering_is_found(sound: Campaign, case: Case) -> None:
    for tamper, check in TAMPERINGS.items():
        with case(tamper.__name__):
            with tampering():
                tamper()
            assert check in broken(sound)
            with pytest.raises(CommandError, match="broken"):
                call_command("audit", "films", stdout=StringIO())


def test_the_database_itself_refuses_what_must_never_be(sound: Campaign) -> None:
    """The constraints, asked directly and past every model."""
    from django.db import IntegrityError, transaction

    wrongs = [
        "UPDATE judging_judgement SET grade = 5",
        "UPDATE judging_judgement SET seat = 1",
        "UPDATE judging_batch SET taken = 3",
        "UPDATE judging_batch SET number = 3",
        "UPDATE judging_batch SET round = 3",
        "UPDATE judging_assignment SET slot = 3",
        "UPDATE judging_assignment SET round = 1, slot = 1, state = 'live'",
        "UPDATE judging_candidate SET outcome = 'settled', grade = NULL",
        "UPDATE judging_candidate SET rank = 1",
        "UPDATE judging_revision SET grade = 7",
        "UPDATE judging_revision SET number = 1, judgement_id = (SELECT MIN(id) FROM judging_judgement)",
        "UPDATE corpus_moment SET start = 99",
        "UPDATE corpus_video SET duration = 0",
    ]
    for wrong in wrongs:
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(wrong)


@pytest.mark.django_db(transaction=True)
def test_it_sees_one_state_while_people_judge(batch: Batch, ada: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    held = claim(ada)
    seen: list[int] = []

    def press() -> None:
        grading.judge(held, 1, 2, fence=held.fence, key=uuid4())
        connection.close()

    def look(campaign: Campaign) -> Iterator[str]:
        seen.append(Judgement.objects.count())
        with ThreadPoolExecutor(1) as other:
            other.submit(press).result()
        seen.append(Judgement.objects.count())
        yield from ()

    monkeypatch.setattr("judging.audit.INVARIANTS", {"Nothing moves": look})
    audit(batch.query.campaign)
    assert (seen, Judgement.objects.count()) == ([0, 0], 1)
