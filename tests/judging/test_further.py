"""Further batches: moments that runs found are judged after the ranks of a closed query, as everything else is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction

from base.errors import WrongState
from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video, moments_at
from judging.audit import audit
from judging.models import Batch, Candidate, Query, Review
from judging.pool.opening import open_batch, open_further
from judging.review.actions import reopen
from judging.review.reopening import scope_of_batch
from judging.review.reviewing import CLOSE, recommendation, review, review_in_force, undo
from retrieval.captions import ranges, rows_in
from tests.cast import claim, judge_all, settle

SPANS = [("secret-video-0", 50.0, 53.0), ("secret-video-5", 60.0, 63.5), ("secret-video-1", 5.0, 9.0)]


@pytest.fixture
def closed(settled: Batch, leo: Membership) -> Query:
    """A closed query of which the first twenty ranks are judged, and twenty more are ranked."""
    review(settled, leo, Review.Verdict.CLOSE)
    return Query.objects.get()


def further(query: Query, spans: list[tuple[str, float, float]] = SPANS) -> Batch:
    open_further(query, moments_at(query.campaign.corpus, spans))
    return query.batches.latest("number")


def rank(number: int) -> Candidate:
    return Candidate.objects.get(rank=number)


def span(candidate: Candidate) -> tuple[str, float, float]:
    moment = candidate.moment
    return moment.video.name, moment.start, moment.end


def test_they_come_behind_all_ranks_and_open_the_query_again(closed: Query, ada: Membership, bob: Membership) -> None:
    batch = further(closed)
    assert (batch.number, batch.further, batch.state) == (3, True, Batch.State.OPEN)  # there is nothing to cut
    found = list(batch.candidates.order_by("rank"))
    assert [(each.rank, each.similarity) for each in found] == [(41, None), (42, None), (43, None)]
    assert [span(each) for each in found] == SPANS
    closed.refresh_from_db()
    assert not closed.closed
    settle(batch, ada, bob, last=3)
    assert {each.grade for each in Candidate.objects.filter(batch=batch)} == {3}
    advice = recommendation(batch)
    assert (advice.verdict, advice.possible) == (CLOSE, (CLOSE,))
    review(batch, None, CLOSE)
    closed.refresh_from_db()
    assert closed.closed
    assert not any(audit(closed.campaign).values())


def test_the_next_ones_have_the_next_number(closed: Query, ada: Membership, bob: Membership) -> None:
    for number in (3, 4):
        batch = further(closed, SPANS[number - 3 : number - 2])
        assert batch.number == number
        settle(batch, ada, bob)
        review(batch, None, CLOSE)
        closed.refresh_from_db()


def test_larger_numbers_are_cut_into_batches(closed: Query) -> None:
    Campaign.objects.update(batch_size=2)
    further(closed)
    sizes = [each.candidates.count() for each in closed.batches.filter(further=True).order_by("number")]
    assert sizes == [2, 1]


@pytest.mark.both_databases
def test_a_moment_of_the_ranking_keeps_its_rank_and_one_that_is_judged_stays(closed: Query) -> None:
    judged, ranked = rank(3), rank(25)
    batch = further(closed, [span(judged), span(ranked), SPANS[0]])
    assert list(batch.candidates.order_by("rank").values_list("rank", flat=True)) == [25, 41]
    judged.refresh_from_db()
    assert judged.batch
    assert judged.batch.number == 1
    assert not Moment.everything.filter(predicted=True, start=ranked.moment.start).exists()


def test_only_closed_queries_get_them(batch: Batch) -> None:
    with pytest.raises(WrongState, match="is not closed"):
        further(batch.query)
    assert Batch.objects.count() == 1
    assert not Candidate.objects.filter(similarity=None).exists()


def test_the_second_batch_leaves_them_where_they_are(
    closed: Query, ada: Membership, bob: Membership, leo: Membership
) -> None:
    """A lead thinks better of closing the query after ranks 1 to 20."""
    batch = further(closed, [span(rank(25)), SPANS[0]])
    settle(batch, ada, bob)
    first = closed.batches.get(number=1)
    held = review_in_force(first)
    assert held
    undo(held, leo)
    review(first, leo, Review.Verdict.SECOND)
    second = closed.batches.get(number=2)
    ranks = list(second.candidates.order_by("rank").values_list("rank", flat=True))
    assert ranks == [number for number in range(21, 41) if number != 25]
    assert open_batch(closed, 2) == second
    assert not any(audit(closed.campaign).values())


def test_the_first_batch_can_be_closed_again_beside_them(closed: Query, leo: Membership) -> None:
    further(closed)
    first = closed.batches.get(number=1)
    held = review_in_force(first)
    assert held
    undo(held, leo)
    assert recommendation(first).possible == (Review.Verdict.SECOND, Review.Verdict.CLOSE)
    assert review(first, leo, Review.Verdict.CLOSE).verdict == CLOSE
    closed.refresh_from_db()
    assert not closed.closed


def test_a_policy_closes_them(closed: Query, ada: Membership, bob: Membership) -> None:
    """Whatever the grades are: there is nothing more to open."""
    Campaign.objects.update(auto_second_from=2.0)
    batch = further(closed)
    for annotator in (ada, bob):
        judge_all(claim(annotator), lambda candidate: 4)
    batch.refresh_from_db()
    assert batch.state == Batch.State.REVIEWED


def test_they_can_be_reopened(
    closed: Query, ada: Membership, bob: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    batch = further(closed)
    settle(batch, ada, bob)
    review(batch, leo, CLOSE)
    reopen(leo, scope_of_batch(batch), "cut off")
    again = closed.batches.get(number=3, edition=2)
    assert again.further
    settle(again, member("cleo"), member("dan"))
    assert not any(audit(closed.campaign).values())


@pytest.mark.both_databases
def test_the_database_knows_no_third_batch_of_ranks(closed: Query) -> None:
    for number, is_further in ((3, False), (2, True), (1, True)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Batch.of(closed, number, edition=9, further=is_further).save()


def test_predicted_moments_are_no_part_of_the_corpus(corpus: Corpus, campaign: Campaign) -> None:
    [made] = moments_at(corpus, [("secret-video-5", 97.0004, 101.7)])
    assert (made.start, made.end, made.caption) == (97.0, 100.0, "")
    assert moments_at(corpus, [("secret-video-5", 97.0, 100.0)]) == [made]
    described = Moment.objects.filter(video__name="secret-video-5").earliest("start")
    assert moments_at(corpus, [span_of(described)]) == [described]
    assert made not in Moment.objects.all()
    assert made.pk not in {row.pk for span in ranges(corpus, 9) for row in rows_in(corpus, *span)}
    with pytest.raises(Video.DoesNotExist):
        moments_at(corpus, [("another", 1.0, 2.0)])


def span_of(moment: Moment) -> tuple[str, float, float]:
    return moment.video.name, moment.start, moment.end
