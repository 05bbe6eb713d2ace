"""Quiet checks: as many as the campaign says, never told, never twice in a row; gold and repeats in turn."""

from __future__ import annotations

import random
from collections.abc import Callable
from io import StringIO
from itertools import pairwise

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import WrongState
from campaigns.models import Campaign, Membership
from judging.audit import audit
from judging.models import Assignment, Candidate, Kind, Query
from judging.quality import checks
from judging.quality.checks import REMEMBERED, REPEAT_AFTER, draw_gold, gold, is_wanted, make_gold, sources
from judging.work import claiming
from releases.exports import FILES
from tests.cast import by_rank, claim, expire, judge_all, settled_and_more, small_batches, work_until_check
from tests.remembered import remembered


@pytest.fixture
@remembered
def closed(campaign: Campaign, bob: Membership, cleo: Membership) -> Campaign:
    settled_and_more(campaign, bob, cleo)
    return campaign


def history(person: Membership) -> list[Assignment]:
    rows = person.assignments.submitted().select_related("batch__query")
    return list(rows.order_by("submitted", "pk"))


def work(person: Membership, batches: int, grade: Callable[[Candidate], int] = by_rank) -> None:
    for _ in range(batches):
        if assignment := claiming.claim(person):
            judge_all(assignment, grade)


@settings(deadline=None, max_examples=60)
@given(rate=st.floats(0.05, 0.15), seed=st.integers(), largest=st.integers(1, 20))
def test_the_share_of_checks_tends_to_the_rate(rate: float, seed: int, largest: int) -> None:
    chance, most = random.Random(seed), min(10, largest)
    judged = checked = 0  # in the newest batches
    kinds, sizes = list[bool](), list[int]()
    for _ in range(3000):
        check = kinds[-1:] != [True] and is_wanted(rate, judged, checked, chance.random())
        kinds.append(check)
        sizes.append(chance.randint((most + 1) // 2, most) if check else chance.randint(1, largest))
        judged, checked = judged + sizes[-1], checked + sizes[-1] * check
        if len(kinds) > REMEMBERED:
            judged -= sizes[-1 - REMEMBERED]
            checked -= sizes[-1 - REMEMBERED] * kinds[-1 - REMEMBERED]
        assert -20 <= rate * judged - checked <= 30
    share = sum(size for size, kind in zip(sizes, kinds, strict=True) if kind) / sum(sizes)
    assert abs(share - rate) < 0.01
    assert not any(one and next_ for one, next_ in pairwise(kinds))


def test_nobody_can_count_to_the_next_check() -> None:
    """At the same distance from the rate it depends on the draw."""
    assert {is_wanted(0.1, 150, 10, draw) for draw in (0.1, 0.9)} == {True, False}
    assert not is_wanted(0.1, 100, 10, 0.0)


@pytest.mark.both_databases
def test_the_rate_holds_in_the_loop_itself(closed: Campaign, ada: Membership) -> None:
    draw_gold(closed, 8, seed=1)
    work(ada, 36)
    done = history(ada)
    checks = [each.batch.kind == Kind.CHECK for each in done]
    judged = ada.judgements.count()
    checked = ada.judgements.filter(assignment__batch__kind=Kind.CHECK).count()
    assert 0.15 * judged - 10 - 4 <= checked <= 0.15 * judged + 4
    assert sum(checks) > 3
    assert not any(one and next_ for one, next_ in pairwise(checks))
    assert {each.batch.query.owner for each in done if each.batch.kind == Kind.CHECK} == {None, ada}
    assert not any(audit(closed).values())


def test_without_a_rate_there_are_none(closed: Campaign, ada: Membership) -> None:
    draw_gold(closed, 8, seed=1)
    Campaign.objects.update(check_rate=0)
    work(ada, 12)
    assert not ada.assignments.filter(batch__kind=Kind.CHECK).exists()


def test_claiming_again_gives_the_same_check_also_after_it_lapsed(
    closed: Campaign, ada: Membership, bob: Membership
) -> None:
    draw_gold(closed, 3, seed=1)
    check = work_until_check(ada, by_rank)
    assert claim(ada).pk == check.pk
    expire(check)
    claim(bob)
    check.refresh_from_db()
    assert check.state == Assignment.State.LAPSED
    assert (claim(ada).pk, claim(ada).fence) == (check.pk, check.fence + 1)


def test_a_repeat_holds_pairs_of_her_own_from_batches_ago(campaign: Campaign, ada: Membership) -> None:
    small_batches(campaign, 36)
    work(ada, 32)
    done = history(ada)
    repeats = [(place, each) for place, each in enumerate(done) if each.batch.kind == Kind.CHECK]
    assert len(repeats) > 1
    for place, repeat in repeats:
        pairs = list(repeat.batch.candidates.select_related("repeats__query", "moment"))
        source = ada.assignments.get(judgements__candidate=pairs[0].repeats)
        assert done.index(source) <= place - REPEAT_AFTER - 1
        assert {pair.repeats.query_id for pair in pairs if pair.repeats} == {source.batch.query_id}
        assert repeat.batch.query.text == source.batch.query.text
        assert all(pair.repeats and pair.moment == pair.repeats.moment for pair in pairs)
        assert 2 <= len(pairs) <= 4
    assert len({repeat.batch.query.query_id for _, repeat in repeats}) == len(repeats)


def test_before_so_many_batches_nothing_is_repeated(campaign: Campaign, ada: Membership) -> None:
    small_batches(campaign, REPEAT_AFTER)
    work(ada, REPEAT_AFTER + 3)
    assert len(history(ada)) == REPEAT_AFTER
    assert not Query.objects.filter(kind=Kind.CHECK).exists()


@pytest.mark.both_databases
def test_what_was_long_ago_is_forgotten_and_nothing_of_it_repeated(
    campaign: Campaign, ada: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "REMEMBERED", remembered := REPEAT_AFTER + 4)
    small_batches(campaign, 36)
    work(ada, 32)
    done = history(ada)
    repeats = [(place, each) for place, each in enumerate(done) if each.batch.kind == Kind.CHECK]
    assert len(repeats) > 1
    for place, repeat in repeats:
        pair = repeat.batch.candidates.select_related("repeats")[0]
        source = ada.assignments.get(judgements__candidate=pair.repeats)
        assert done.index(source) >= place - remembered


@pytest.mark.both_databases
def test_gold_and_repeats_come_in_turn(closed: Campaign, ada: Membership) -> None:
    draw_gold(closed, 8, seed=1)
    work(ada, 36)
    owners = [each.batch.query.owner for each in history(ada) if each.batch.kind == Kind.CHECK]
    first = owners.index(ada)  # before that, too little was done long enough ago to be repeated
    assert owners[:first] == [None] * first
    assert owners[first + 1] is None


def test_gold_never_goes_to_who_judged_its_source(closed: Campaign, ada: Membership, bob: Membership) -> None:
    draw_gold(closed, 8, seed=1)
    work(ada, 12)
    work(bob, 18)
    assert ada.assignments.filter(batch__query__query_id__startswith="gold").exists()
    assert bob.assignments.filter(batch__kind=Kind.CHECK).exists()
    assert not bob.assignments.filter(batch__query__query_id__startswith="gold").exists()


def test_gold_whose_source_fell_is_given_to_nobody(closed: Campaign, ada: Membership) -> None:
    draw_gold(closed, 8, seed=1)
    Candidate.objects.in_pool(closed).settled().update(outcome=Candidate.Outcome.DISCARDED, grade=None)
    work(ada, 5)
    assert not ada.assignments.filter(batch__kind=Kind.CHECK).exists()


def test_gold_is_made_of_pairs_beyond_doubt(closed: Campaign) -> None:
    source = closed.queries.filter(closed=True).earliest("pk")
    doubtful, escalated = source.candidates.order_by("rank")[:2]
    doubtful.judgements.filter(seat=1).update(grade=2)
    Candidate.objects.filter(pk=escalated.pk).update(escalated=True)
    made = make_gold(source)
    assert make_gold(source) == made
    pairs = made.candidates.all()
    assert {pair.repeats for pair in pairs} <= set(source.candidates.order_by("rank")[2:])
    assert all(pair.repeats and pair.truth == pair.repeats.grade for pair in pairs)
    assert made.batches.get().kind == Kind.CHECK
    assert source not in dict(sources(closed))
    listed = gold(closed).get()
    assert (listed, listed.pairs, listed.had) == (made, made.candidates.count(), 0)


def test_gold_needs_a_closed_query_with_clear_pairs(closed: Campaign) -> None:
    with pytest.raises(WrongState, match="has 0 pairs"):
        make_gold(closed.queries.latest("pk"))


def test_what_the_exam_asks_is_no_gold(closed: Campaign) -> None:
    text = closed.queries.earliest("pk").text
    Query.objects.create(campaign=closed, kind=Kind.EXAM, query_id="exam:1", text=text)
    assert len(sources(closed)) == 7
    assert text not in {query.text for query, _ in sources(closed)}


@pytest.mark.both_databases
def test_the_command_draws_the_same_gold_from_the_same_seed(closed: Campaign) -> None:
    out = StringIO()
    call_command("set_gold", "films", "--queries", "4", "--seed", "3", stdout=out)
    first = {query.query_id for query in gold(closed)}
    assert len(first) == 4
    assert "4 checks" in out.getvalue()
    Candidate.objects.filter(query__kind=Kind.CHECK).delete()
    Query.objects.filter(kind=Kind.CHECK).delete()
    assert {f"gold:{query.source}" for query in draw_gold(closed, 4, seed=3) if hasattr(query, "source")} <= first
    assert {query.query_id for query in gold(closed)} == first
    call_command("set_gold", "films", "--queries", "100", stdout=out)
    assert gold(closed).count() == 8
    with pytest.raises(CommandError, match="--queries 0"):
        call_command("set_gold", "films", "--queries", "0", stdout=out)


def test_checks_change_nothing_that_leaves_the_campaign(closed: Campaign, ada: Membership) -> None:
    def exported() -> dict[str, str]:
        return {export.file: "".join(export.lines(closed)) for export in FILES}

    before = exported()
    draw_gold(closed, 8, seed=1)
    judge_all(work_until_check(ada, by_rank), lambda candidate: 0)
    after = exported()
    for file in ("qrels.txt", "qrels.jsonl", "ratings.csv", "moments.csv", "queries.csv"):
        assert before[file] == after[file]
    assert "gold" not in str(after)
    assert not any(audit(closed).values())


@pytest.mark.both_databases
def test_any_number_of_people_take_the_same_gold(closed: Campaign, member: Callable[..., Membership]) -> None:
    draw_gold(closed, 1, seed=1)
    for name in ("eve", "fay", "gus"):
        judge_all(work_until_check(member(name), by_rank), by_rank)
    assert Assignment.objects.submitted().filter(batch__kind=Kind.CHECK).count() == 3
    assert not any(audit(closed).values())
