"""A reopening is undone before anybody judges again, as if it had not been; what somebody has begun stays."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.http import Http404
from django.urls import reverse
from django.utils import timezone

from base.errors import BadValue, WrongState
from campaigns.models import Campaign, Membership
from jobs.running import work_off
from judging import access as judging_access
from judging.audit import audit
from judging.models import ActionRow, Adjudication, Assignment, Batch, Candidate, Flag, Judgement, Query, Review
from judging.review import actions
from judging.review.actions import reopen, undo_reopening
from judging.review.decisions import adjudicate
from judging.review.reopening import (
    BEGUN,
    UNDER_WAY,
    WorkFilter,
    scope_of_annotator,
    scope_of_batch,
    scope_of_candidate,
)
from judging.review.reviewing import review
from judging.work import grading, submitting
from reports.tables.costs import action_cost, cost_of
from reports.tables.history import reopening_rows
from tests.cast import begun, browser, claim, judge_all, make_query, prepared, settle, settle_round_one


def sound(campaign: Campaign) -> bool:
    return not any(audit(campaign).values())


def as_it_is(campaign: Campaign) -> dict[str, list[dict[str, Any]]]:
    """All that a reopening changes."""
    rows: tuple[Any, ...] = (
        Candidate.objects.in_campaign(campaign),
        Judgement.objects.filter(candidate__query__campaign=campaign),
        Flag.objects.filter(candidate__query__campaign=campaign),
        Adjudication.objects.filter(candidate__query__campaign=campaign),
        Review.objects.filter(batch__campaign=campaign),
        Batch.objects.in_campaign(campaign),
        Query.objects.filter(campaign=campaign),
        Assignment.objects.filter(batch__campaign=campaign),
    )
    return {each.model.__name__: list(each.order_by("pk").values()) for each in rows}


@pytest.fixture
def varied(batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership) -> Batch:
    """A reviewed batch with pairs that settled in both rounds, one that is flagged and one that the lead graded."""
    work = claim(ada)
    flagged = {work.candidates_in_order()[position] for position in (0, 1)}
    for position in (1, 2):
        grading.flag(work, position, "clip", "", fence=work.fence, key=uuid4())
    for position, candidate in enumerate(work.candidates_in_order()[2:], 3):
        grading.judge(work, position, 4 if candidate.rank <= 10 else 1, fence=work.fence, key=uuid4())
    submitting.submit(work, work.fence)
    judge_all(claim(bob), lambda candidate: 1 if candidate.rank <= 8 else 4 if candidate.rank <= 10 else 1)
    for annotator in (cleo, dan):
        judge_all(claim(annotator), lambda candidate: 4)
    batch.refresh_from_db()
    adjudicate(min(flagged, key=lambda each: each.rank), leo, 3, "seen at home")
    review(batch, leo, "close")
    batch.refresh_from_db()
    return batch


def test_all_is_as_it_was(varied: Batch, campaign: Campaign, leo: Membership) -> None:
    before = as_it_is(campaign)
    record = reopen(leo, scope_of_batch(varied), "again")
    assert as_it_is(campaign) != before
    assert not Query.objects.get().closed
    undone = undo_reopening(record, leo)
    assert undo_reopening(record, leo) == undone
    assert as_it_is(campaign) == before
    assert record.action.rows.get().state == ActionRow.State.UNDONE
    assert sound(campaign)


def test_one_after_the_other_in_any_order(varied: Batch, campaign: Campaign, leo: Membership) -> None:
    before = as_it_is(campaign)
    for turn in (1, -1):
        records = [reopen(leo, scope_of_candidate(Candidate.objects.get(rank=rank)), "again") for rank in (3, 12)]
        for record in records[::turn]:
            undo_reopening(record, leo)
            assert sound(campaign)
        assert as_it_is(campaign) == before


def test_what_somebody_has_begun_stays(
    settled: Batch, campaign: Campaign, leo: Membership, cleo: Membership, dan: Membership
) -> None:
    records = [reopen(leo, scope_of_candidate(Candidate.objects.get(rank=rank)), "again") for rank in (1, 2)]
    work = claim(cleo)
    for record in records:
        undo_reopening(record, leo)
    states = [record.action.rows.get() for record in records]
    assert sorted(each.state for each in states) == ["kept", "undone"]
    assert {each.why for each in states} == {"", BEGUN}
    for each in (work, claim(dan)):
        judge_all(each, lambda candidate: 3)
    assert sound(campaign)


def test_no_verdict_comes_back_on_a_batch_that_was_judged_again_in_part(
    settled: Batch, campaign: Campaign, leo: Membership, cleo: Membership, dan: Membership
) -> None:
    review(settled, leo, "close")
    first, second = (reopen(leo, scope_of_candidate(Candidate.objects.get(rank=rank)), "again") for rank in (1, 2))
    Batch.objects.filter(edition=2).update(state=Batch.State.PREPARING)
    for annotator in (cleo, dan):
        judge_all(claim(annotator), lambda candidate: 0)
    Batch.objects.filter(edition=2).update(state=Batch.State.OPEN)
    undo_reopening(first, leo)
    assert not Review.objects.in_force().exists()
    assert Batch.objects.to_review().count() == 1
    undo_reopening(second, leo)
    assert second.action.rows.get().why == BEGUN
    assert sound(campaign)


def test_rounds_that_were_under_way_stay_ended(
    settled: Batch, campaign: Campaign, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    begun = make_query(campaign, "2", "A person runs.").batches.get()
    settle_round_one(begun, ada, bob, apart=3)
    half = make_query(campaign, "3", "A person sits.").batches.get()
    judge_all(claim(ada), lambda candidate: 4)
    record = reopen(leo, scope_of_annotator(ada), "again")
    with pytest.raises(WrongState, match="still being done"):
        undo_reopening(record, leo)
    work_off(StringIO())
    undo_reopening(record, leo)
    work_off(StringIO())
    queries = dict(Query.objects.values_list("pk", "query_id"))
    why = {queries[row.row]: row.why for row in record.action.rows.all()}
    assert why == {settled.query.query_id: "", "2": UNDER_WAY, "3": UNDER_WAY}
    # What was never reopened is not among what stays reopened.
    record.action.rows.filter(why="").update(state=ActionRow.State.LEFT, why="reopened before")
    [row] = reopening_rows([record])
    assert [why for _, why in row.kept] == [UNDER_WAY, UNDER_WAY]
    settled.refresh_from_db()
    half.refresh_from_db()
    assert (settled.state, half.taken) == ("settled", 0)
    assert sound(campaign)


@pytest.mark.both_databases
def test_a_part_of_somebodys_work(
    settled: Batch,
    campaign: Campaign,
    ada: Membership,
    bob: Membership,
    cleo: Membership,
    dan: Membership,
    leo: Membership,
) -> None:
    other = make_query(campaign, "2", "A person runs.").batches.get()
    settle_round_one(other, ada, cleo, apart=2)
    for annotator in (bob, dan):
        judge_all(claim(annotator), lambda candidate: 4)

    def ranks(only: WorkFilter, of: Membership = ada) -> list[tuple[str, int]]:
        found = scope_of_annotator(of, only=only).candidates.values_list("query__query_id", "rank")
        return sorted(found)

    here = timezone.localdate().strftime("%G-W%V")
    assert len(ranks(WorkFilter(week=here))) == 40
    assert ranks(WorkFilter(week="2001-W01")) == []
    assert ranks(WorkFilter(beside=cleo)) == [("2", rank) for rank in range(1, 21)]
    assert ranks(WorkFilter(beside=dan)) == []  # who judged beside Bob, in round two
    assert ranks(WorkFilter(off=True)) == []
    assert ranks(WorkFilter(week=here, beside=ada, off=True), cleo) == [("2", 1), ("2", 2)]
    scope = judging_access.scope(leo, "worker", cleo.worker, here, ada.worker, True)
    assert cost_of(campaign, scope).candidates == 2
    record = reopen(leo, scope, "a misunderstanding")
    assert str(record) == f"work of worker {cleo.worker} in {here} beside worker {ada.worker}, only what is off"
    work_off(StringIO())
    again = Candidate.objects.in_pool(campaign).filter(outcome=Candidate.Outcome.OPEN)
    assert sorted(again.values_list("query__query_id", "rank")) == [("2", 1), ("2", 2)]
    undo_reopening(record, leo)
    work_off(StringIO())
    assert not again.exists()
    assert sound(campaign)
    with pytest.raises(BadValue, match="week"):
        judging_access.scope(leo, "worker", ada.worker, "2026-W99")
    with pytest.raises(BadValue, match="worker, of whose work"):
        judging_access.scope(leo, "batch", settled.pk, here)
    with pytest.raises(Http404):
        judging_access.scope(leo, "worker", ada.worker, "", 999)


@pytest.mark.both_databases
def test_many_queries_are_reopened_and_undone_as_one(
    settled: Batch, campaign: Campaign, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    settle(make_query(campaign, "2", "A person runs.").batches.get(), ada, bob)
    make_query(campaign, "3", "A person waits.")
    action = actions.prepare(leo, "reopen", Query.objects.filter(campaign=campaign))
    cost = action_cost(action)
    assert (cost.queries, cost.left, cost.judgements) == (2, 1, 80)
    actions.begin(action, leo, "the films were wrong")
    work_off(StringIO())
    assert {state: n for state, n in actions.numbers(action).items() if n} == {"done": 2, "left": 1}
    Batch.objects.filter(query__query_id="3").update(state=Batch.State.PREPARING)
    claim(cleo)
    Batch.objects.filter(query__query_id="3").update(state=Batch.State.OPEN)
    action.refresh_from_db()
    actions.undo_action(action, leo)
    work_off(StringIO())
    assert {state: n for state, n in actions.numbers(action).items() if n} == {"kept": 1, "undone": 1, "left": 1}
    assert (BEGUN,) in [(why,) for _, why in actions.named_rows(action, 5)]
    assert sound(campaign)


def test_from_a_cell_of_the_matrix_to_the_undo_on_the_pages(
    settled: Batch, ada: Membership, bob: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    client, address = browser(leo), f"{reverse('activity', args=['films'])}?view=reopened"
    pair: dict[str, Any] = {"drawer": "pair", "one": ada.worker, "other": bob.worker}
    page = client.get(reverse("agreement", args=["films"]), pair).content.decode()
    assert f'name="with" value="{bob.worker}"' in page
    page = client.get(f"{address}&worker={ada.worker}&with={bob.worker}").content.decode()
    assert f'name="with" inputmode="numeric" maxlength="9" value="{bob.worker}"' in page
    chosen: dict[str, Any] = {"verb": "reopen", "worker": ada.worker, "with": bob.worker}
    preview = prepared(client, **chosen)
    page = " ".join(client.get(preview).content.decode().split())
    assert f"Reopen: work of worker {ada.worker} beside worker {bob.worker}" in page
    assert "20 candidates of 1 batch begin again" in page
    begun(client, preview, "they sat together")
    record = leo.campaign.reopenings.get()
    undo = reverse("reopening-undo", args=["films", record.pk])
    assert undo not in client.get(address).content.decode()  # it is under way
    work_off(StringIO())
    assert undo in client.get(address).content.decode()
    assert undo not in browser(member("rita", "researcher")).get(address).content.decode()
    client.post(undo)
    work_off(StringIO())
    page = client.get(address).content.decode()
    assert "Undone by leo" in page
    assert "but not all of it" not in page
    settled.refresh_from_db()
    assert settled.state == "settled"
    for name, value in {"week": "soon", "off": "maybe", "with": "x"}.items():
        assert client.post(reverse("action-prepare", args=["films"]), chosen | {name: value}).status_code == 400
