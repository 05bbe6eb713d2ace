"""Putting right: a candidate, a batch or somebody's work is judged again by others; what was said stays on record."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from base.errors import Stale, WrongState
from campaigns import access
from campaigns.models import Campaign, Membership
from jobs.models import Job
from jobs.running import work_off
from judging.audit import audit
from judging.models import Assignment, Batch, Candidate, Flag, Judgement, Query, Reopening, Review, Revision
from judging.review.actions import act, reopen
from judging.review.reopening import scope_of_annotator, scope_of_batch, scope_of_candidate
from judging.review.reviewing import recommendation, review, review_in_force, undo
from judging.work import claiming, grading, submitting
from releases.exports import FILES
from reports.tables.batch import Editions, candidate_rows
from reports.tables.costs import cost_of
from reports.tables.queries import queries_of
from tests.cast import (
    begun,
    browser,
    claim,
    expire,
    judge_all,
    make_query,
    prepared,
    reopen_all,
    settle,
    settle_round_one,
)
from tests.tampering import tampering


def sound(campaign: Campaign) -> bool:
    return not any(audit(campaign).values())


def at_rank(rank: int) -> Candidate:
    return Candidate.objects.get(rank=rank)


def test_a_candidate_is_judged_again_by_others(
    settled: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    record = reopen(leo, scope_of_candidate(at_rank(3)), "a new film of it")
    again = settled.newest_edition
    assert (again.edition, again.number, again.state) == (2, 1, "open")
    assert (at_rank(3).batch, at_rank(3).outcome, at_rank(3).grade) == (again, "open", None)
    old = list(Judgement.objects.filter(candidate=at_rank(3)))
    assert [(each.seat, each.reopening, each.revisions.count()) for each in old] == [(None, record, 1)] * 2
    assert claiming.claim(ada) is None
    assert claiming.claim(bob) is None
    judge_all(claim(cleo), lambda candidate: 2)
    judge_all(claim(dan), lambda candidate: 2)
    assert (at_rank(3).outcome, at_rank(3).grade) == ("settled", 2)
    assert Judgement.objects.filter(candidate=at_rank(3)).count() == 4
    assert sound(settled.query.campaign)


def test_a_batch_is_judged_again_as_a_whole(settled: Batch, cleo: Membership, dan: Membership, leo: Membership) -> None:
    reopen(leo, scope_of_batch(settled), "the guideline changed")
    settled.refresh_from_db()
    assert (settled.state, settled.candidates.count(), settled.newest_edition.candidates.count()) == ("replaced", 0, 20)
    assert Judgement.objects.filter(seat__isnull=False).count() == 0
    settle(settled.newest_edition, cleo, dan, last=3)
    assert recommendation(settled.newest_edition).mean == 3.0
    assert sound(settled.query.campaign)


def test_a_reopened_batch_goes_through_both_rounds(
    settled: Batch, cleo: Membership, dan: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    reopen(leo, scope_of_batch(settled), "again")
    settle_round_one(settled.newest_edition, cleo, dan, apart=2)
    assert (settled.newest_edition.round, settled.newest_edition.state) == (2, "open")
    for name in ("eve", "fay"):
        judge_all(claim(member(name)), lambda candidate: 4)
    assert settled.newest_edition.state == Batch.State.SETTLED
    assert at_rank(1).counted_grades(2) == [4, 1, 4, 4]
    assert sound(settled.query.campaign)


def test_reopening_undoes_the_verdict_and_brings_the_batch_back_to_review(
    settled: Batch, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    decision = review(settled, leo, "close")
    reopen(leo, scope_of_candidate(at_rank(20)), "missed")
    decision.refresh_from_db()
    assert (decision.undone is None, decision.undone_by, Query.objects.get().closed) == (False, leo, False)
    assert not Batch.objects.to_review().exists()
    with pytest.raises(WrongState, match="being judged again"):
        review(settled, leo, "close")
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 4)
    (back,) = Batch.objects.to_review()
    assert (back.edition, recommendation(back).mean) == (2, 1.6)
    review(back, leo, "close")
    settled.refresh_from_db()
    assert (settled.state, Query.objects.get().closed) == ("reviewed", True)
    assert sound(settled.query.campaign)


def test_where_the_second_batch_is_there_the_first_can_only_say_so_again(
    settled: Batch, ada: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    review(settled, leo, "second")
    claim(ada)
    reopen(leo, scope_of_candidate(at_rank(1)), "again")
    for annotator in (cleo, dan):
        while (work := claim(annotator)).batch.number == 2:
            work.give_back()
            Batch.objects.filter(number=2).update(state=Batch.State.PREPARING)
        judge_all(work, lambda candidate: 4)
    Batch.objects.filter(number=2).update(state=Batch.State.OPEN)
    (back,) = Batch.objects.to_review()
    assert recommendation(back).possible == ("second",)
    assert "Keep the second batch" in recommendation(back).reason
    with pytest.raises(WrongState, match="close the query from that one"):
        review(back, leo, "close")
    review(back, leo, "second")
    assert Query.objects.get().batches.filter(number=2).count() == 1
    assert sound(settled.query.campaign)


def test_a_query_is_open_while_its_first_batch_is_judged_again(
    settled: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    """Also if its second batch was closed, which says nothing about the first."""
    review(settled, leo, "second")
    second = Query.objects.get().batches.get(number=2)
    second.open()
    for annotator in (ada, bob):
        judge_all(claim(annotator), lambda candidate: 1)
    second.refresh_from_db()
    review(second, leo, "close")
    closed = queries_of(settled.query.campaign, "closed")
    assert closed.exists()
    reopen(leo, scope_of_batch(settled), "a slip of the mouse")
    assert (Query.objects.get().closed, closed.exists()) == (False, False)
    assert not Query.objects.finished().exists()
    Batch.objects.get(edition=2).open()
    for annotator in (cleo, dan):
        judge_all(claim(annotator), lambda candidate: 3)
    assert not Query.objects.finished().exists()  # the lead has not decided yet
    (back,) = Batch.objects.to_review()
    review(back, leo, "second")
    assert Query.objects.get().closed
    undo(Review.objects.get(batch=second), leo)
    assert not Query.objects.get().closed
    assert sound(settled.query.campaign)


def test_reopening_twice_says_that_nothing_is_left(settled: Batch, leo: Membership) -> None:
    reopen(leo, scope_of_batch(settled), "again")
    with pytest.raises(WrongState, match="reopened before, or is being judged now"):
        reopen(leo, scope_of_batch(settled), "again")
    assert Reopening.objects.count() == 1


def test_what_is_still_being_judged_is_not_reopened(batch: Batch, ada: Membership, leo: Membership) -> None:
    claim(ada)
    with pytest.raises(WrongState):
        reopen(leo, scope_of_candidate(at_rank(1)), "too early")


def test_it_can_be_reopened_again_once_settled(
    settled: Batch, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    reopen(leo, scope_of_candidate(at_rank(1)), "once")
    for annotator in (cleo, dan):
        judge_all(claim(annotator), lambda candidate: 0)
    reopen(leo, scope_of_candidate(at_rank(1)), "twice")
    editions = list(settled.editions.order_by("edition").values_list("edition", "state"))
    assert editions == [(1, "settled"), (2, "replaced"), (3, "open")]
    assert at_rank(1).judgements.filter(reopening__isnull=False).count() == 4
    assert sound(settled.query.campaign)


@pytest.mark.both_databases
def test_two_editions_in_work_come_back_to_review_together(
    settled: Batch, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    Campaign.objects.update(auto_close_below=1.5)
    reopen(leo, scope_of_candidate(at_rank(1)), "one")
    reopen(leo, scope_of_candidate(at_rank(2)), "two")
    for annotator in (cleo, dan):
        work = claim(annotator)
        judge_all(work, lambda candidate: 4)
    assert not Review.objects.exists()
    for annotator in (cleo, dan):
        judge_all(claim(annotator), lambda candidate: 4)
    assert Review.objects.get().batch.edition == 3
    assert set(settled.editions.values_list("state", flat=True)) == {"reviewed"}
    assert sound(settled.query.campaign)


def test_a_policys_verdict_that_a_reopening_undid_stays_by_hand(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    Campaign.objects.update(auto_close_below=1.5)
    settle(batch, ada, bob)
    assert Review.objects.get().lead is None
    reopen(leo, scope_of_candidate(at_rank(1)), "again")
    for annotator in (cleo, dan):
        judge_all(claim(annotator), lambda candidate: 4)
    assert review_in_force(batch.newest_edition) is None
    assert Batch.objects.to_review().count() == 1


def test_who_lapsed_on_a_candidate_is_not_asked_again(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    away = claim(ada)
    grading.judge(away, 1, 2, fence=away.fence, key=uuid4())
    candidate = away.candidates_in_order()[0]
    expire(away)
    settle(batch, bob, cleo)
    reopen(leo, scope_of_candidate(candidate), "again")
    assert claiming.claim(ada) is None
    assert claim(dan).batch.edition == 2


def test_who_flagged_a_candidate_is_not_asked_again_and_the_flag_is_dealt_with(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    work = claim(ada)
    grading.flag(work, 1, "clip", "", fence=work.fence, key=uuid4())
    flagged = work.candidates_in_order()[0]
    for position in range(2, 21):
        grading.judge(work, position, 2, fence=work.fence, key=uuid4())
    submitting.submit(work, work.fence)
    judge_all(claim(bob), lambda candidate: 2)
    reopen(leo, scope_of_candidate(flagged), "the clip is mended")
    assert flagged.flags.get().handled_by == leo
    assert claiming.claim(ada) is None
    assert sound(batch.query.campaign)


# All of one annotator's work ------------------------------------------------------------------------------


def test_all_work_of_one_is_judged_again(
    settled: Batch,
    campaign: Campaign,
    ada: Membership,
    bob: Membership,
    cleo: Membership,
    dan: Membership,
    leo: Membership,
) -> None:
    other = make_query(campaign, "2", "A person runs.").batches.get()
    settle(other, bob, cleo)
    reopen_all(leo, ada)
    settled.refresh_from_db()
    other.refresh_from_db()
    assert (settled.state, other.state) == ("replaced", "settled")
    assert not Judgement.objects.filter(annotator=ada, seat__isnull=False).exists()
    settle(settled.newest_edition, cleo, dan)
    with pytest.raises(WrongState):
        reopen_all(leo, ada)
    assert sound(campaign)


def test_a_batch_in_her_hands_goes_to_others(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    live = claim(ada)
    grading.judge(live, 1, 2, fence=live.fence, key=uuid4())
    reopen_all(leo, ada)
    batch.refresh_from_db()
    live.refresh_from_db()
    assert (batch.taken, live.state) == (0, "lapsed")
    with pytest.raises(Stale):
        grading.judge(live, 2, 2, fence=live.fence, key=uuid4())
    with pytest.raises(Stale):
        claiming.resume(live)
    assert claiming.claim(ada) is None
    settle(batch, bob, cleo)
    assert sound(batch.query.campaign)


def test_what_she_submitted_in_a_round_under_way_is_taken_back(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    judge_all(claim(ada), lambda candidate: 0)
    judge_all(his := claim(bob), lambda candidate: 4, submit=False)
    reopen_all(leo, ada)
    batch.refresh_from_db()
    assert (batch.taken, batch.state) == (1, "open")
    submitting.submit(his, his.fence)
    assert claiming.claim(ada) is None
    with pytest.raises(Stale):
        claiming.resume(ada.assignments.get())
    judge_all(claim(cleo), lambda candidate: 4)
    assert Candidate.objects.filter(grade=4).count() == 20
    assert sound(batch.query.campaign)


def test_a_round_two_that_rests_on_her_grades_begins_anew(
    batch: Batch,
    ada: Membership,
    bob: Membership,
    cleo: Membership,
    dan: Membership,
    leo: Membership,
    member: Callable[..., Membership],
) -> None:
    settle_round_one(batch, ada, bob, apart=3)
    judge_all(hers := claim(cleo), lambda candidate: 4, submit=False)
    reopen_all(leo, ada)
    with pytest.raises(Stale):
        submitting.submit(hers, hers.fence)
    batch.refresh_from_db()
    assert (batch.state, batch.newest_edition.candidates.count(), batch.newest_edition.round) == ("replaced", 20, 1)
    settle(batch.newest_edition, dan, member("eve"))
    assert sound(batch.query.campaign)


def test_in_round_two_only_her_place_is_taken_back(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    settle_round_one(batch, ada, bob, apart=3)
    judge_all(claim(cleo), lambda candidate: 0)
    reopen_all(leo, cleo)
    batch.refresh_from_db()
    assert (batch.round, batch.taken, batch.newest_edition) == (2, 0, batch)
    assert Judgement.objects.filter(annotator=ada, seat=1).count() == 20
    judge_all(claim(dan), lambda candidate: 4)
    assert sound(batch.query.campaign)


def test_nothing_of_hers_is_said_so(batch: Batch, ada: Membership, leo: Membership) -> None:
    with pytest.raises(WrongState, match=f"all work of worker {ada.worker}"):
        reopen_all(leo, ada)


def test_it_goes_on_where_it_was_cut_off(
    settled: Batch,
    campaign: Campaign,
    ada: Membership,
    bob: Membership,
    leo: Membership,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in (2, 3):
        settle(make_query(campaign, str(number), f"query {number}").batches.get(), ada, bob)
    record, begun = reopen(leo, scope_of_annotator(ada), "again"), list[int]()

    def report(done: int, total: int, message: str = "") -> None:
        begun.append(total)
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        act(record.action, report)
    assert Batch.objects.filter(state=Batch.State.REPLACED).count() == 1
    act(record.action, lambda *_: None)
    assert (begun, Batch.objects.filter(state=Batch.State.REPLACED).count()) == ([3, 3], 3)
    assert Reopening.objects.get() == record
    assert sound(campaign)


@pytest.mark.both_databases
def test_it_is_asked_for_once(settled: Batch, ada: Membership, leo: Membership) -> None:
    record = reopen(leo, scope_of_annotator(ada), "again")
    with pytest.raises(WrongState, match="All work of worker 1 is being reopened already"):
        reopen(leo, scope_of_annotator(ada), "again")
    job = Job.objects.get(kind=act.code)
    assert list(access.jobs(leo).not_done()) == [job]
    assert "0 % done" in browser(leo).get(reverse("activity", args=["films"]), {"view": "reopened"}).content.decode()
    taken = Job.objects.take("a worker")
    assert taken == job
    taken.fail("the disk is full")
    page = browser(leo).get(reverse("activity", args=["films"]), {"view": "reopened"}).content.decode()
    assert "stopped at 0 %" in page
    work_off(StringIO())
    browser(leo).post(reverse("job-again", args=[job.pk]))
    work_off(StringIO())
    settled.refresh_from_db()
    assert (settled.state, record.judgements.count()) == ("replaced", 40)
    assert "% done" not in browser(leo).get(reverse("activity", args=["films"]), {"view": "reopened"}).content.decode()


# Pages ----------------------------------------------------------------------------------------------------


def test_the_page_says_first_what_it_comes_to(
    settled: Batch, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    with tampering():
        Revision.objects.update(seconds=9.0)
    cost = cost_of(settled.query.campaign, scope_of_batch(settled))
    assert (cost.candidates, cost.batches, cost.judgements, cost.places) == (20, 1, 40, 0)
    assert cost.hours == pytest.approx(0.1)
    assert (cost.stuck, cost.tight) == (1, 0)
    client = browser(leo)
    page = " ".join(client.get(prepared(client, verb="reopen", batch=settled.pk)).content.decode().split())
    assert "20 candidates of 1 batch begin again" in page
    assert "40 judgements stay on record" in page
    assert "would have fewer than two annotators left" in page


def test_enough_annotators_give_no_warning(settled: Batch, member: Callable[..., Membership]) -> None:
    for name in ("cleo", "dan"):
        member(name)
    campaign, scope = settled.query.campaign, scope_of_batch(settled)
    assert (cost_of(campaign, scope).stuck, cost_of(campaign, scope).tight) == (0, 1)
    for name in ("eve", "fay"):
        member(name)
    assert cost_of(campaign, scope).tight == 0
    Campaign.objects.update(exam=True)
    campaign.refresh_from_db()
    assert cost_of(campaign, scope).stuck == 1


def test_who_only_flagged_is_not_asked_again(settled: Batch, cleo: Membership, dan: Membership) -> None:
    campaign, lease = settled.query.campaign, timezone.now()
    assert cost_of(campaign, scope_of_batch(settled)).stuck == 0
    held = settled.assignments.create(annotator=cleo, round=2, slot=1, state=Assignment.State.LAPSED, lease=lease)
    held.flags.create(candidate=at_rank(2), reason=Flag.Reason.CLIP)
    for scope, stuck in (
        (scope_of_batch(settled), 1),
        (scope_of_candidate(at_rank(2)), 1),
        (scope_of_candidate(at_rank(3)), 0),
    ):
        assert cost_of(campaign, scope).stuck == stuck


def test_places_in_work_count_in_the_cost(batch: Batch, ada: Membership, bob: Membership) -> None:
    settle_round_one(batch, ada, bob, apart=3)
    cost = cost_of(batch.query.campaign, scope_of_annotator(ada))
    assert (cost.candidates, cost.judgements, cost.places) == (20, 40, 0)


@pytest.mark.both_databases
def test_the_cost_of_all_work_is_that_of_its_pairs(
    settled: Batch,
    campaign: Campaign,
    ada: Membership,
    bob: Membership,
    cleo: Membership,
    dan: Membership,
    leo: Membership,
) -> None:
    """The kept numbers tell it of usual batches; this reads every pair, also where somebody flagged or gave up."""
    others = [make_query(campaign, str(number), f"A person runs {number} times.").batches.get() for number in (2, 3)]
    for batch in others:
        settle_round_one(batch, ada, cleo, apart=2)
    judged_twice_more = claim(bob).batch
    for annotator in (bob, dan):
        judge_all(claim(annotator), lambda candidate: 4)

    def by_pairs(annotator: Membership) -> tuple[int, ...]:
        pairs = scope_of_annotator(annotator).candidates.select_related("batch")
        judgements = Judgement.objects.filter(candidate__in=pairs)
        people = {each: set[int]() for each in pairs.values_list("query", "batch__number")}
        for rows in (judgements, Flag.objects.filter(candidate__in=pairs)):
            who = "assignment__annotator"
            for query, number, key in rows.order_by().values_list("candidate__query", "candidate__batch__number", who):
                people[query, number].add(key)
        left = [4 - len(each) for each in people.values()]
        counted = judgements.filter(seat__isnull=False).count()
        return len(pairs), len(people), counted, sum(n < 2 for n in left), sum(2 <= n < 4 for n in left)

    def are_equal() -> bool:
        costs = [(each, cost_of(campaign, scope_of_annotator(each))) for each in (ada, bob, cleo, dan)]
        found = [(cost.candidates, cost.batches, cost.judgements, cost.stuck, cost.tight) for _, cost in costs]
        return found == [by_pairs(each) for each, _ in costs]

    assert judged_twice_more.assignments.submitted().count() == 4
    assert cost_of(campaign, scope_of_annotator(bob)).candidates > 20
    assert are_equal()
    gave_up = settled.assignments.create(annotator=cleo, round=2, slot=1, state="lapsed", lease=timezone.now())
    assert are_equal()
    gave_up.judgements.create(candidate=settled.candidates.earliest("rank"), annotator=cleo, grade=1)
    assert are_equal()
    gave_up.flags.create(candidate=settled.candidates.latest("rank"), reason=Flag.Reason.CLIP)
    assert are_equal()
    reopen(leo, scope_of_candidate(judged_twice_more.candidates.earliest("rank")), "a new film of it")
    assert are_equal()


def test_a_candidate_is_reopened_once_with_a_reason(settled: Batch, leo: Membership) -> None:
    client, form = browser(leo), {"verb": "reopen", "candidate": at_rank(2).pk}
    preview = prepared(client, **form)
    assert client.post(f"{preview}change", {"change": "begin", "reason": "  "}).status_code == 400
    page = begun(client, preview, "black at first")  # at once, without a job
    assert "Reopen: rank 2 of “A person sits down.”" in page
    assert "black at first" in page
    again = client.post(reverse("action-prepare", args=["films"]), form, follow=True)
    assert 'class="message error"' in again.content.decode()
    assert "it was reopened before" in again.content.decode()
    assert Reopening.objects.count() == 1


def test_a_job_reopens_all_work_of_one(settled: Batch, ada: Membership, leo: Membership) -> None:
    client = browser(leo)
    first, second = (prepared(client, verb="reopen", worker=ada.worker) for _ in range(2))
    assert "It is being done, query by query." in begun(client, first, "graded without watching")
    assert "is being reopened already" in begun(client, second)
    work_off(StringIO())
    settled.refresh_from_db()
    assert settled.state == Batch.State.REPLACED


@pytest.mark.parametrize("form", [{"candidate": "x"}, {"batch": "1", "worker": "1"}, {"batch": "1", "verb": "close"}])
def test_a_form_that_names_not_one_thing_is_refused(settled: Batch, leo: Membership, form: dict[str, str]) -> None:
    known = {"verb": "reopen"} | form
    assert browser(leo).post(reverse("action-prepare", args=["films"]), known).status_code == 400


def test_only_a_lead_of_this_campaign_reopens(settled: Batch, ada: Membership, leo: Membership) -> None:
    form = {"verb": "reopen", "batch": settled.pk}
    assert browser(ada).post(reverse("action-prepare", args=["films"]), form).status_code == 404
    other = Campaign.objects.create(name="other", corpus=settled.query.campaign.corpus)
    lead = other.add_member(leo.user, "lead")
    assert browser(lead).post(reverse("action-prepare", args=["other"]), form).status_code == 404
    assert not Reopening.objects.exists()


def test_a_prepared_preview_of_a_persons_work_is_for_leads(
    settled: Batch, ada: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    preview = prepared(browser(leo), verb="reopen", worker=ada.worker)
    assert browser(leo).get(preview).status_code == 200
    assert browser(member("rita", "researcher")).get(preview).status_code == 404


def test_the_batchs_page_shows_all_editions_and_what_was_said_before(
    settled: Batch, cleo: Membership, leo: Membership
) -> None:
    reopen(leo, scope_of_candidate(at_rank(3)), "a new film of it")
    rows = candidate_rows(Editions.of(settled), leo)
    assert [row.candidate.rank for row in rows] == list(range(1, 21))
    assert [each.struck for each in rows[2].grades] == [True, True]
    for batch in (settled, settled.newest_edition):
        page = browser(leo).get(reverse("batch", args=["films", batch.pk])).content.decode()
        assert "Reopened " in page
        assert "a new film of it" in page


def test_no_export_holds_what_was_said_before(
    settled: Batch, ada: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    reopen(leo, scope_of_candidate(at_rank(3)), "again")
    for annotator in (cleo, dan):
        judge_all(claim(annotator), lambda candidate: 0)
    files = {export.file: "".join(export.lines(settled.query.campaign)) for export in FILES}
    rows = [row.split(",") for row in files["ratings.csv"].splitlines()[1:]]
    assert [row[1:3] for row in rows if row[0] == "1-3"] == [[str(cleo.worker), "0"], [str(dan.worker), "0"]]
    assert len(rows) == 40
