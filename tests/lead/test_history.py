"""What leads did: each verb writes its entry, nobody changes one, and the page, its CSV and the API list them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from campaigns import webhooks
from campaigns.models import Campaign, LogEntry, Membership, Message
from corpus.models import Clip
from jobs.running import work_off
from judging.models import Batch, Candidate, Flag, Kind, Query, Question
from judging.pool.opening import open_without_clips
from judging.quality.exam import set_exam, set_truth
from judging.quality.examples import add_example
from judging.review import actions
from judging.review.actions import reopen, undo_reopening
from judging.review.decisions import (
    adjudicate,
    bring_back,
    dismiss,
    put_aside,
    tell_all,
    withdraw,
    withdraw_adjudication,
)
from judging.review.reopening import scope_of_candidate
from judging.review.reviewing import review, undo
from judging.settings import set_up
from judging.work import grading, submitting
from releases.downloads import export_file
from releases.freezing import freeze
from reports.pay import Period, approve
from tests.api.asking import Program
from tests.cast import browser, claim, content_of, judge_all, make_query

K = LogEntry.Kind


def entries(campaign: Campaign, *kinds: str) -> list[tuple[str, str, str, str]]:
    rows = campaign.log.order_by("pk")
    rows = rows.filter(kind__in=kinds) if kinds else rows
    return list(rows.values_list("kind", "what", "before", "after"))


@pytest.fixture
def flagged(batch: Batch, ada: Membership, bob: Membership) -> Candidate:
    """A pair of a settled batch that an annotator could not judge."""
    work = claim(ada)
    grading.flag(work, 1, "clip", "", fence=work.fence, key=uuid4())
    pair = work.candidates_in_order()[0]
    for position in range(2, 21):
        grading.judge(work, position, 2, fence=work.fence, key=uuid4())
    submitting.submit(work, work.fence)
    judge_all(claim(bob), lambda candidate: 2)
    return pair


def verbs(
    batch: Batch, pair: Candidate, leo: Membership, ada: Membership, bob: Membership
) -> Iterator[tuple[str, Any]]:
    """Each kind with a verb that writes it. They run in this order."""
    campaign, query = leo.campaign, batch.query
    bare = make_query(campaign, "9", "A person waits.")
    settings = {"title": "Films", "check_warn": 0.2}
    yield K.SETTINGS, lambda: set_up(leo, settings, partial=True)
    yield K.STEERING, lambda: campaign.memberships.annotators().steer(leo, "group night", group="night")
    yield K.FLAG, lambda: dismiss(Flag.objects.get(), leo)
    yield K.ADJUDICATION, lambda: adjudicate(pair, leo, 3, "seen")
    yield K.ADJUDICATION_UNDONE, lambda: withdraw_adjudication(pair, leo)
    questions = [Question.objects.create(annotator=ada, text=f"What is a cup {n}?", key=uuid4()) for n in (1, 2)]
    yield K.QUESTION, lambda: put_aside(questions[0], leo)
    yield K.KEPT_ANSWER, lambda: tell_all(questions[1], leo, "A mug.", "What is a cup?")
    batch.refresh_from_db()
    yield K.REVIEW, lambda: review(batch, leo, "close")
    yield K.REVIEW_UNDONE, lambda: undo(batch.reviews.get(), leo)
    yield K.REOPENING, lambda: reopen(leo, scope_of_candidate(Candidate.objects.get(query=query, rank=3)), "again")
    yield K.REOPENING_UNDONE, lambda: undo_reopening(campaign.reopenings.get(), leo)
    yield K.WITHDRAWAL, lambda: withdraw(bare, "no sentence", None, leo)
    yield K.BROUGHT_BACK, lambda: bring_back(bare, leo)
    action = actions.prepare(leo, "withdraw", Query.objects.filter(pk=bare.pk))
    yield K.ACTION, lambda: actions.begin(action, leo, "the wrong film")
    work_off()
    action.refresh_from_db()
    yield K.ACTION_UNDONE, lambda: actions.undo_action(action, leo)
    work_off()
    Batch.objects.filter(query=bare).update(state=Batch.State.PREPARING)
    clips = Candidate.objects.filter(batch__query=bare).values("clip")
    Clip.objects.filter(pk__in=clips).update(state=Clip.State.FAILED, error="no video stream")
    yield K.OPENED, lambda: open_without_clips(leo, bare.batches.get())
    make_query(campaign, "8", "A person leaves.")
    yield K.EXAM, lambda: set_exam(campaign, 1, 1, 5, by=leo)
    exam = Batch.objects.get(kind=Kind.EXAM)
    yield K.TRUTH, lambda: set_truth(exam, {1: (4, "all of it")}, leo)
    yield K.WAIVER, lambda: ada.qualify(leo, "an old hand")
    yield K.MEMBER, lambda: bob.pause(leo, "on holiday")
    yield K.INVITATION, lambda: campaign.invite("annotator", leo, timedelta(days=1), places=3)
    link = campaign.invitations.get()
    link.accept(User.objects.create_user("amy"))
    yield K.APPLICANT, lambda: link.applicants.get().approve(leo)
    yield K.INVITATION_WITHDRAWN, lambda: link.withdraw(leo)
    yield K.GUIDELINE, lambda: campaign.write_guideline(leo, "# Look", 0)
    settled = Candidate.objects.filter(query=query, outcome=Candidate.Outcome.SETTLED)[0]
    yield K.EXAMPLE, lambda: add_example(leo, settled, 2, "half of it")
    yield K.MESSAGE, lambda: Message.objects.send([ada], "Well done.", leo)
    last_week = timezone.localdate() - timedelta(days=9)
    yield K.PAY, lambda: approve(leo, Period(last_week, last_week))
    yield K.EXPORT, lambda: content_of(export_file(leo, "qrels.txt"))
    yield K.RELEASE, lambda: freeze(campaign, leo, "CC0-1.0")
    yield K.WEBHOOK, lambda: webhooks.make(campaign, "https://example.org/", ["query.closed"], leo)


@pytest.mark.django_db
def test_each_kind_is_written_by_its_verb(
    flagged: Candidate, batch: Batch, leo: Membership, ada: Membership, bob: Membership, settings: Any
) -> None:
    settings.WEBHOOK_HOSTS = ["example.org"]
    done = []
    for kind, verb in verbs(batch, flagged, leo, ada, bob):
        before = LogEntry.objects.count()
        verb()
        written = entries(leo.campaign)[before:]
        assert kind in {entry[0] for entry in written}, kind
        assert set(LogEntry.objects.values_list("by", flat=True)) == {leo.pk}
        done.append(kind)
    assert sorted(done) == sorted(K.values)
    changed = entries(leo.campaign, K.SETTINGS)
    assert changed == [
        (K.SETTINGS, "Warn from a share of missed checks of", "0.25", "0.2"),
        (K.SETTINGS, "Title", "", "Films"),
    ]


@pytest.mark.django_db
def test_what_changes_nothing_or_fails_is_no_entry(settled: Batch, leo: Membership, ada: Membership) -> None:
    for _ in range(2):
        review(settled, leo, "close", "enough")
        ada.pause(leo, "on holiday")
    assert entries(leo.campaign) == [
        (K.REVIEW, str(settled), "", "Close the query: enough"),
        (K.MEMBER, str(ada), "active", "paused: on holiday"),
    ]
    with transaction.atomic():
        ada.resume(leo)
        transaction.set_rollback(True)
    ada.resume(None)  # a rule
    assert LogEntry.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.both_databases
def test_nobody_changes_an_entry(batch: Batch, leo: Membership, ada: Membership) -> None:
    ada.pause(leo, "on holiday")
    for change in (lambda: LogEntry.objects.update(what="nothing"), lambda: LogEntry.objects.all().delete()):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()
    assert LogEntry.objects.get().what == str(ada)


@pytest.mark.django_db
def test_the_page_its_file_and_the_api(
    settled: Batch, leo: Membership, ada: Membership, member: Callable[..., Membership]
) -> None:
    lea = member("lea", "lead")
    review(settled, leo, "close", "=1+1")
    ada.pause(lea, "on holiday")
    client, address = browser(leo), reverse("activity", args=["films"])

    def seen(**filters: Any) -> set[str]:
        page = client.get(address, filters).content.decode()
        return {words for words in ("Batch reviewed", "paused: on holiday") if f">{words}<" in page}

    assert seen() == {"Batch reviewed", "paused: on holiday"}
    assert seen(who=lea.worker) == {"paused: on holiday"}
    assert seen(kind="review") == {"Batch reviewed"}
    assert seen(q="HOLIDAY") == {"paused: on holiday"}
    today = timezone.localdate()
    assert seen(**{"from": today, "to": today}) == {"Batch reviewed", "paused: on holiday"}
    assert seen(to=today - timedelta(days=1)) == set()
    assert client.get(address, {"from": "soon"}).status_code == 400
    lines = content_of(client.get(address, {"format": "csv", "kind": "review"})).decode().splitlines()
    assert lines[0] == "at,who,kind,what,before,after"
    assert [line.split(",")[1:3] for line in lines[1:]] == [["leo", "Batch reviewed"]]
    view = {"listing": "history", "name": "Reviews", "choices": "kind=review"}
    assert client.post(reverse("saved-views", args=["films"]), view)["Location"] == f"{address}?kind=review"
    program = Program(leo)
    found = program.get("campaigns/films/history").json()["results"]
    assert [(each["kind"], each["by"], each["after"]) for each in found] == [
        ("member", lea.worker, "paused: on holiday"),
        ("review", leo.worker, "Close the query: =1+1"),
    ]
    filters = {"who": leo.worker, "q": "batch", "from": str(today)}
    assert len(program.get("campaigns/films/history", **filters).json()["results"]) == 1
    assert program.get("campaigns/films/history", kind="nothing").status_code == 400
