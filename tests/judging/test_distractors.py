"""Distractors fill hidden places, so that batches of every kind look alike and have checks from the first on."""

from __future__ import annotations

from collections import Counter
from functools import partial
from io import StringIO
from statistics import median
from uuid import uuid4

import numpy as np
import pytest
from django.db import transaction

from campaigns.models import Campaign, Membership
from corpus.models import Moment
from jobs.running import work_off
from judging.audit import audit
from judging.models import Assignment, Batch, Candidate, Judgement, Kind, Query, Question
from judging.pool import opening
from judging.pool.clips import open_when_cut, prepare
from judging.pool.distractors import FIRST_RANK, draw, draw_distractors
from judging.quality.check_results import ENOUGH, catch_of, check_pairs
from judging.review.decisions import answer
from judging.settings import set_up
from judging.work import claiming
from judging.work.grading import ask_at
from reports.own_work import questions_in
from tests.cast import by_rank, claim, expire, judge_all, make_query, small_batches
from tests.remembered import remembered

SIZE, HIDDEN = 12, 2


@pytest.fixture
@remembered
def checked(campaign: Campaign) -> Campaign:
    """Eight queries with a batch of twelve pairs, two hidden places and distractors; only who misses all is paused."""
    small_batches(campaign, 8, size=SIZE, hidden=HIDDEN)
    Campaign.objects.update(check_warn=1, check_pause=1, opens_without_films=True)
    campaign.refresh_from_db()
    with_distractors(campaign)
    return campaign


def with_distractors(campaign: Campaign) -> None:
    draw(campaign, list(campaign.queries.pool().order_by("pk")))
    for batch in Batch.objects.in_campaign(campaign):
        prepare(batch)


def right(candidate: Candidate) -> int:
    """What everybody careful says: 0 to a distractor."""
    return 0 if candidate.rank >= FIRST_RANK else by_rank(candidate)


def first_only(grade: int, candidate: Candidate) -> int:
    """That grade for the first rank, and 0 for the others and for what is hidden."""
    return grade if candidate.rank == 1 and not candidate.is_hidden else 0


def by_moment(grades: dict[int, int], candidate: Candidate) -> int:
    return grades[candidate.moment_id]


def sources(held: Assignment) -> Counter[str]:
    """What stands in the hidden places of an assignment."""
    hidden = [each for each in held.candidates_in_order() if each.is_hidden]
    own = set(held.places)
    return Counter(
        "distractor" if not each.repeats_id else "twin" if each.repeats_id in own else "other" for each in hidden
    )


# Drawing ---------------------------------------------------------------------------------------------------------
def test_each_query_has_as_many_as_its_batches_have_hidden_places(checked: Campaign) -> None:
    for query in checked.queries.pool():
        distractors = list(query.distractors.select_related("moment"))
        assert [(each.truth, each.batch, each.repeats) for each in distractors] == [(0, None, None)] * HIDDEN
        pairs = {(pair.moment.video_id, pair.moment.start, pair.moment.end) for pair in query.candidates.all()}
        for each in distractors:
            moment = each.moment
            assert all(
                moment.video_id != video or moment.end <= start or end <= moment.start for video, start, end in pairs
            )
    before = list(Candidate.objects.values_list("pk", "moment"))
    draw(checked, list(checked.queries.pool()))
    assert list(Candidate.objects.values_list("pk", "moment")) == before


def test_more_hidden_places_draw_them_and_none_draw_nothing(campaign: Campaign, leo: Membership) -> None:
    make_query(campaign, "2", "A person waves.")
    draw(campaign, list(campaign.queries.all()))
    assert not Query.objects.filter(kind=Kind.CHECK).exists()
    assert set_up(leo, {"hidden_places": HIDDEN}, partial=True).is_valid()
    assert draw_distractors.jobs(Campaign.objects.filter(pk=campaign.pk)).unfinished().count() == 1
    assert work_off(StringIO()) == []
    campaign.refresh_from_db()
    assert {query.distractors.count() for query in campaign.queries.pool()} == {2 * campaign.batches}
    assert not Candidate.objects.filter(rank__gte=FIRST_RANK, clip=None).exists()


def test_a_clip_of_a_distractor_that_cannot_be_cut_keeps_no_batch_closed(checked: Campaign, ada: Membership) -> None:
    batch = Batch.objects.in_campaign(checked)[0]
    for distractor in batch.query.distractors:
        assert distractor.clip
        distractor.clip.state, distractor.clip.error = "failed", "broken film"
        distractor.clip.save()
    Campaign.objects.update(opens_without_films=False)
    assert not any(clip.state == "failed" for clip in open_when_cut(batch))
    assert sources(claim(ada)) == {"twin": HIDDEN}


# What people can tell ---------------------------------------------------------------------------------------------
@pytest.mark.any_database
@pytest.mark.both_databases
@pytest.mark.parametrize("contested", [1, 2, 5])
def test_every_batch_has_one_size_whatever_it_is_for(
    checked: Campaign, ada: Membership, bob: Membership, cleo: Membership, contested: int
) -> None:
    far = {rank: 4 if right(Candidate(rank=rank)) < 2 else 0 for rank in range(1, contested + 1)}
    held = [claim(ada), claim(bob)]
    judge_all(held[0], right)
    judge_all(held[1], lambda pair: right(pair) if pair.is_hidden else far.get(pair.rank, right(pair)))
    second = claim(cleo)
    assert (second.round, second.candidates.count(), len(second.places)) == (2, contested, SIZE + HIDDEN)
    assert [len(each.places) for each in held] == [SIZE + HIDDEN] * 2
    for each in (*held, second):
        assert sources(each)["twin"] == 0
    judge_all(second, right)
    assert not any(audit(checked).values())
    assert {row.source for row in check_pairs(checked).filter(assignment=held[0])} == {"distractor"}


def test_second_batches_have_no_twins_either(checked: Campaign, ada: Membership, bob: Membership) -> None:
    Campaign.objects.update(batches=2)
    checked.refresh_from_db()
    small_batches(checked, 0, size=SIZE, hidden=HIDDEN)
    Campaign.objects.update(batches=2)
    checked.refresh_from_db()
    query = make_query(checked, "q", "A person does things.")
    with_distractors(checked)
    first = claim(ada)
    judge_all(first, right)
    opening.open_batch(query, 2)
    second = [claim(ada), claim(bob)]
    assert {sources(each)["twin"] for each in (first, *second)} == {0}
    assert [len(each.places) for each in second] == [SIZE + HIDDEN] * 2


def test_copies_and_their_pairs_stand_anywhere_alike(campaign: Campaign, ada: Membership) -> None:
    """Where a batch must repeat a pair of its own, every place is as likely for the pair as for the copy."""
    size, draws = 22, 3000
    pairs = [Candidate(pk=pk, moment_id=pk, batch_id=1) for pk in range(1, size - 1)]
    at: dict[str, list[int]] = {"pair": [], "copy": []}
    for number in range(draws):
        batch = Batch(pk=number + 1)
        copies = [Candidate(pk=100 + pk, repeats_id=pk) for pk in (1 + number % 20, 1 + (number + 7) % 20)]
        order = batch.in_order(ada, pairs, copies)
        assert sorted(each.pk for each in order) == sorted(each.pk for each in (*pairs, *copies))
        places = {each.pk: place for place, each in enumerate(order)}
        for copy in copies:
            pair, own = places[copy.repeats_id or 0], places[copy.pk]
            at["pair"].append(pair)
            at["copy"].append(own)
            apart = (pair - own) % size
            assert min(apart, size - apart) >= size / 3
    for places_of in at.values():
        seen = np.bincount(places_of, minlength=size)
        expected = 2 * draws / size
        assert float(np.sum((seen - expected) ** 2 / expected)) < 46.8  # chi-square of 21 degrees, p = .001


def test_who_opened_a_batch_does_not_return_in_round_two_while_others_are_left(
    checked: Campaign, ada: Membership, bob: Membership, cleo: Membership, dan: Membership
) -> None:
    opened = claim(ada)
    expire(opened)
    for person in (bob, cleo):
        held = claim(person)
        assert held.batch == opened.batch
        first = 4 if person == bob else 0
        judge_all(held, partial(first_only, first))
    assert Batch.objects.get(pk=opened.batch_id).round == 2
    for other in Batch.objects.in_campaign(checked).exclude(pk=opened.batch_id):
        other.delete()
    assert claiming.claim(ada) is None
    assert not claiming.has_work(ada)
    dan.pause(None, "")
    assert claim(ada).batch == opened.batch  # nobody else is left, and she said nothing about it


def test_a_question_is_answered_where_it_was_asked(campaign: Campaign, ada: Membership, leo: Membership) -> None:
    """The batch has twins here: the answer to a question about the one says nothing about the other."""
    small_batches(campaign, 1, size=SIZE, hidden=HIDDEN)
    held = claim(ada)
    assert sources(held) == {"twin": HIDDEN}
    for position in range(1, len(held.places) + 1):
        question = ask_at(held, position, "clip", f"About {position}?", uuid4())
        answer(question, leo, "Yes.")
    assert [(each["position"], each["text"]) for each in questions_in(held)] == [
        (position, f"About {position}?") for position in range(1, len(held.places) + 1)
    ]
    assert Question.objects.values("candidate").distinct().count() == SIZE  # one thread for a pair and its copy
    assert all(question.candidate and question.candidate.batch_id for question in Question.objects.all())


# What checks catch --------------------------------------------------------------------------------------------------
def test_bots_that_grade_at_random_are_paused_soon(campaign: Campaign, ada: Membership) -> None:
    """Also one that gives a pair and its copy the same grade. What really happens agrees with what Settings says."""
    Campaign.objects.update(hidden_places=HIDDEN, opens_without_films=True, batches=1)
    campaign.refresh_from_db()
    expected = catch_of(campaign)
    assert expected.places == 4 * 22 <= 90
    assert expected.wrongly < 0.01
    for number in range(2, 13):
        make_query(campaign, str(number), f"A person does thing {number}.")
    with_distractors(campaign)
    needed = []
    for bot in range(9):
        before = transaction.savepoint()
        person, draws, done = Membership.objects.get(pk=ada.pk), np.random.default_rng(bot), 0
        while person.may_judge and done < 12 * 22:
            held = claim(person)
            grades = {pair.moment_id: int(draws.integers(5)) for pair in held.candidates_in_order()}
            judge_all(held, partial(by_moment, grades))
            done += len(held.places)
            person.refresh_from_db()
        needed.append(done)
        transaction.savepoint_rollback(before)
    assert median(needed) <= 90
    assert ENOUGH == 8


def test_careful_people_pass(checked: Campaign, ada: Membership) -> None:
    for _ in range(8):
        judge_all(claim(ada), right)
    rows = list(check_pairs(checked))
    assert len(rows) == 8 * HIDDEN
    assert not any(row.missed for row in rows)
    assert not Judgement.objects.filter(candidate__rank__gte=FIRST_RANK, seat__isnull=False).exists()
    assert Moment.objects.filter(candidates__rank__gte=FIRST_RANK).exists()
