"""What is kept for good: the database refuses to change or to delete it, whoever asks and in whatever way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Model

from campaigns.models import Campaign, Event, Guideline, Membership
from judging.models import Adjudication, Batch, Candidate, Flag, Judgement, Reopening, Review, Revision
from judging.review.actions import reopen
from judging.review.decisions import adjudicate
from judging.review.reopening import scope_of_batch
from judging.review.reviewing import review
from judging.work import grading
from runs.models import Run
from tests.cast import claim, make_query, settle
from tests.conftest import Case
from tests.tampering import forget

pytestmark = pytest.mark.both_databases  # it is about triggers

NEVER_DELETED: list[type[Model]] = [*(Revision, Judgement, Flag, Review, Adjudication, Reopening), *(Event, Guideline)]
NEVER_CHANGED: list[type[Model]] = [Revision, Reopening, Event, Guideline]


@pytest.fixture
def kept(settled: Batch, ada: Membership, bob: Membership, leo: Membership) -> Batch:
    """A campaign with a row of everything that is kept."""
    settled.query.campaign.write_guideline(leo, "Look twice.", 0)
    ada.pause(leo, "a talk")
    ada.resume(leo)
    review(settled, leo, Review.Verdict.CLOSE)
    reopen(leo, scope_of_batch(settled), "again")
    other = make_query(settled.query.campaign, "2", "A person runs.").batches.get()
    held = claim(ada)
    grading.flag(held, 1, "clip", "", fence=held.fence, key=uuid4())
    grading.judge(held, 2, 3, fence=held.fence, key=uuid4())
    other.candidates.update(outcome=Candidate.Outcome.DISCARDED)
    candidate = other.candidates.first()
    assert candidate
    adjudicate(candidate, leo, 2, "clear enough")
    return settled


def refused(verb: Callable[[], Any]) -> None:
    with pytest.raises(IntegrityError, match="kept for good"), transaction.atomic():
        verb()


def raw(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_nobody_deletes_what_is_kept(kept: Batch, case: Case) -> None:
    for model in NEVER_DELETED:
        with case(model.__name__):
            nobody_deletes(model)


def nobody_deletes(model: Any) -> None:
    rows = model._base_manager.all()
    before = list(rows.order_by("pk").values())
    assert before
    refused(lambda: rows._raw_delete(using="default"))
    refused(lambda: raw(f"DELETE FROM {model._meta.db_table}"))
    for verb in (rows.delete, rows.first().delete):  # Django refuses some before the database is asked
        with pytest.raises(IntegrityError), transaction.atomic():
            verb()
    assert list(rows.order_by("pk").values()) == before


def test_nobody_changes_what_is_kept(kept: Batch, case: Case) -> None:
    for model in NEVER_CHANGED:
        with case(model.__name__):
            nobody_changes(model)


def nobody_changes(model: Any) -> None:
    rows, at = model._base_manager.all(), "at"
    before = list(rows.order_by("pk").values())
    assert before
    refused(lambda: rows.update(at=F(at)))
    refused(lambda: rows.first().save())
    refused(lambda: model._base_manager.bulk_update(rows, [at]))
    refused(lambda: raw(f"UPDATE {model._meta.db_table} SET at = at"))
    assert list(rows.order_by("pk").values()) == before


def test_of_a_run_nothing_changes_but_who_may_see_it_and_its_entry(campaign: Campaign, leo: Membership) -> None:
    run = Run.objects.create(campaign=campaign, by=leo, number=1, name="bert", size=1, queries=1, predictions=1)
    run.show_to("public")
    before = Run.objects.values().get()
    assert before["visibility"] == "public"
    for column in before.keys() - {"id", "visibility", "entered"}:
        refused(lambda column=column: Run.objects.update(**{column: F(column)}))  # type: ignore[misc]
    refused(run.save)
    refused(run.delete)
    refused(lambda: raw("DELETE FROM runs_run"))
    assert Run.objects.values().get() == before


def test_where_there_is_no_row_nothing_is_refused(kept: Batch) -> None:
    assert Revision.objects.filter(grade=77).update(grade=1) == 0
    assert Revision.objects.filter(grade=77).delete()[0] == 0


def test_a_person_a_campaign_and_a_corpus_stay(kept: Batch, ada: Membership, leo: Membership) -> None:
    campaign = kept.query.campaign
    for row in (ada.user, leo.user, ada, campaign, campaign.corpus, kept.query, kept):
        with pytest.raises(IntegrityError), transaction.atomic():
            row.delete()
    assert Campaign.objects.get() == campaign


def test_a_test_can_still_tamper_and_the_triggers_come_back(kept: Batch) -> None:
    judgement = Judgement.objects.earliest("pk")
    forget(judgement)
    assert not Judgement.objects.filter(pk=judgement.pk).exists()
    refused(Revision.objects.all().delete)


@pytest.mark.django_db(transaction=True)
def test_the_database_is_emptied_between_tests(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    """The next test finds it empty, and its triggers in place."""
    settle(batch, ada, bob)
    refused(Revision.objects.all().delete)


@pytest.mark.django_db(transaction=True)
def test_the_next_test_finds_it_empty_and_guarded(batch: Batch, ada: Membership, bob: Membership) -> None:
    assert not Revision.objects.exists()
    settle(batch, ada, bob)
    refused(lambda: Revision.objects.update(grade=0))
