"""Hidden places: every batch has one size, and nobody who holds one can tell which of its places are checks."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from campaigns.models import Campaign, Membership
from judging.audit import audit
from judging.models import Assignment, Candidate, Judgement, Kind, Query
from judging.pool import opening
from judging.quality.check_results import check_pairs
from judging.work import claiming, grading
from releases.exports import FILES
from tests.cast import by_rank, claim, expire, judge_all, make_query, small_batches
from tests.remembered import remembered

HIDDEN = 2


@pytest.fixture
@remembered
def checked(campaign: Campaign) -> Campaign:
    """Twelve queries with a batch of twelve pairs, and two hidden places. Only who misses all checks is paused."""
    small_batches(campaign, 12, size=12, hidden=HIDDEN)
    Campaign.objects.update(check_warn=1, check_pause=1)
    return campaign


def copies(assignment: Assignment) -> list[Candidate]:
    return [each for each in assignment.candidates_in_order() if each.repeats_id]


def history(person: Membership) -> list[Assignment]:
    return list(person.assignments.submitted().order_by("submitted", "pk"))


def work(person: Membership, batches: int, grade: Callable[[Candidate], int] = by_rank) -> None:
    for _ in range(batches):
        if assignment := claiming.claim(person):
            judge_all(assignment, grade)


@pytest.mark.any_database
@pytest.mark.both_databases
def test_every_batch_has_the_campaigns_size(
    checked: Campaign, ada: Membership, bob: Membership, cleo: Membership, dan: Membership
) -> None:
    work(ada, 3)
    work(bob, 3, lambda candidate: 4 - by_rank(candidate) if candidate.rank <= 3 else by_rank(candidate))
    for person in (cleo, dan):
        held = claim(person)
        assert (held.round, len(held.places), held.hidden) == (2, 14, 14 - held.candidates.count())
        assert held.candidates.count() <= 3
        judge_all(held, by_rank)
    sizes = {len(each.places) for person in (ada, bob, cleo, dan) for each in history(person)}
    assert sizes == {14}
    assert not any(audit(checked).values())


def test_without_hidden_places_a_batch_is_what_the_round_asks_for(
    campaign: Campaign, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    small_batches(campaign, 1, size=12)
    work(ada, 1)
    work(bob, 1, lambda candidate: 4 - by_rank(candidate) if candidate.rank <= 3 else by_rank(candidate))
    held = claim(cleo)
    assert (held.round, held.hidden, len(held.places)) == (2, 0, held.candidates.count())
    assert not Query.objects.filter(kind=Kind.CHECK).exists()


@pytest.mark.any_database
@pytest.mark.both_databases
def test_a_repeat_in_a_batch_stands_far_from_its_pair(checked: Campaign, ada: Membership) -> None:
    for _ in range(12):
        held = claim(ada)
        assert len(copies(held)) == held.hidden == HIDDEN
        for copy in copies(held):
            assert copy.repeats
            assert (copy.moment, copy.query.text) == (copy.repeats.moment, held.batch.query.text)
            assert abs(held.places.index(copy.pk) - held.places.index(copy.repeats_id)) >= len(held.places) // 3
        judge_all(held, by_rank)
    assert {row.source for row in check_pairs(checked)} == {"repeat"}


@pytest.mark.both_databases
def test_round_two_hides_gold_on_which_both_agreed_at_once(
    checked: Campaign, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    work(ada, 1)
    work(bob, 1, lambda candidate: {1: 4, 2: 3}.get(candidate.rank, by_rank(candidate)))  # of 1 and 2
    held = claim(cleo)
    assert [pair.rank for pair in held.candidates] == [1]
    judge_all(held, by_rank)
    rows = {row.candidate.rank: row for row in check_pairs(checked) if row.annotator_id == cleo.pk}
    clear = {rank for rank, row in rows.items() if row.source == "gold"}
    assert clear == set(range(3, 13))
    assert all(row.expected == by_rank(row.candidate) for rank, row in rows.items() if rank in clear)
    fill = {copy.repeats.rank for copy in copies(held) if copy.repeats} - rows.keys()
    assert fill == {2}  # they differed by one grade: it settled, but nobody knows better
    assert not any(audit(checked).values())


@pytest.mark.any_database
@pytest.mark.both_databases
def test_a_second_batch_hides_pairs_of_the_first(
    checked: Campaign, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    """Who judged them gets repeats, and who did not gets gold."""
    small_batches(checked, 0, size=12, hidden=HIDDEN)
    Campaign.objects.update(batches=2)
    checked.refresh_from_db()
    query = make_query(checked, "q", "A person does things.")
    work(ada, 1)
    work(bob, 1)
    opening.open_batch(query, 2)
    for person, source in ((ada, "repeat"), (cleo, "gold")):
        held = claim(person)
        assert (held.batch.number, {copy.rank <= 12 for copy in copies(held)}) == (2, {True})
        judge_all(held, by_rank)
        newest = check_pairs(checked).filter(assignment=held)
        assert [(row.source, row.missed) for row in newest] == [(source, False)] * HIDDEN


@pytest.mark.any_database
@pytest.mark.both_databases
def test_what_is_hidden_counts_for_nothing(checked: Campaign, ada: Membership, bob: Membership) -> None:
    """Whatever is said of copies, the pairs have the grades that were given to them."""
    for person in (ada, bob):
        work(person, 12, lambda pair: 4 if pair.repeats_id and pair.rank % 2 else by_rank(pair))
    pairs = Candidate.objects.in_pool(checked)
    assert all((pair.outcome, pair.grade) == ("settled", by_rank(pair)) for pair in pairs)
    files = {export.file: "".join(export.lines(checked)) for export in FILES}
    assert len(files["ratings.csv"].splitlines()) - 1 == 2 * pairs.count() == 2 * 12 * 12
    assert "check:" not in str(files)
    assert not any(audit(checked).values())


def test_nobody_judges_two_copies_of_a_pair(checked: Campaign, ada: Membership) -> None:
    work(ada, 12)
    repeated = [copy.repeats_id for each in history(ada) for copy in copies(each)]
    assert len(repeated) == len(set(repeated)) == 12 * HIDDEN
    assert not Judgement.objects.filter(candidate__repeats__isnull=False, seat__isnull=False).exists()


@pytest.mark.any_database
@pytest.mark.both_databases
def test_a_lapsed_batch_comes_back_with_the_same_places(checked: Campaign, ada: Membership, bob: Membership) -> None:
    held = claim(ada)
    grading.judge(held, 5, 1, fence=held.fence, key=uuid4())
    expire(held)
    claim(bob)
    again = claim(ada)
    assert (again.pk, again.token, again.places, again.limits) == (held.pk, held.token, held.places, held.limits)
    assert [each.pk for each in again.candidates_in_order()] == held.places


def test_when_hiding_begins_an_old_page_cannot_write(campaign: Campaign, ada: Membership, bob: Membership) -> None:
    small_batches(campaign, 1, size=12)
    held = claim(ada)
    expire(held)
    claim(bob)
    Campaign.objects.update(hidden_places=HIDDEN)
    again = claim(ada)
    assert (again.pk, len(again.places)) == (held.pk, 14)
    assert again.token != held.token
