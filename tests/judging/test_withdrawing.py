"""A query taken out of its campaign is in nobody's hands and in no export, and can be brought back."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from base.errors import Stale, WrongState
from campaigns.models import Membership
from jobs.running import work_off
from judging.audit import audit
from judging.models import Assignment, Batch, Query
from judging.review.actions import reopen
from judging.review.decisions import bring_back, withdraw
from judging.review.reopening import scope_of_annotator, scope_of_batch
from judging.review.reviewing import review
from judging.work import claiming, grading
from releases.exports import FILES
from tests.cast import begun, browser, claim, judge_all, prepared, settle


def test_whoever_has_it_is_told_and_can_write_no_more(batch: Batch, ada: Membership, bob: Membership) -> None:
    hers, his = claim(ada), claim(bob)
    grading.judge(hers, 1, 3, fence=hers.fence, key=uuid4())
    withdraw(batch.query, "says the same as another")
    batch.refresh_from_db()
    assert (batch.taken, Assignment.objects.live().count()) == (0, 0)
    with pytest.raises(Stale):
        grading.judge(his, 1, 3, fence=his.fence, key=uuid4())
    with pytest.raises(Stale, match="no longer judged"):
        claiming.resume(his)
    assert claiming.claim(ada) is None
    page = browser(ada).get(reverse("workplace", args=[hers.token]), follow=True).content.decode()
    assert "The query of that batch has been withdrawn" in page
    assert not any(audit(batch.query.campaign).values())


def test_it_is_in_no_export_and_on_no_list(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    settle(batch, ada, bob)
    withdraw(batch.query, "unclear")
    files = {export.file: "".join(export.lines(batch.query.campaign)) for export in FILES}
    assert files["qrels.txt"] == files["qrels.jsonl"] == ""
    assert files["ratings.csv"].count("\n") == 1
    assert not Batch.objects.to_review().exists()
    for refused in (lambda: review(batch, leo, "close"), lambda: reopen(leo, scope_of_annotator(ada), "again")):
        with pytest.raises(WrongState):
            refused()
    assert not any(audit(batch.query.campaign).values())


def test_brought_back_it_goes_on_where_it_was(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    hers = claim(ada)
    grading.judge(hers, 1, 3, fence=hers.fence, key=uuid4())
    withdraw(batch.query, "unclear")
    bring_back(batch.query)
    back = claim(ada)
    assert (back.pk, back.judgements.count()) == (hers.pk, 1)
    judge_all(back, lambda candidate: 3)
    judge_all(claim(bob), lambda candidate: 3)
    reopen(leo, scope_of_batch(batch), "again")
    assert not any(audit(batch.query.campaign).values())


def test_twice_is_once(batch: Batch) -> None:
    withdraw(batch.query, "first")
    since = Query.objects.get().withdrawn
    withdraw(batch.query, "second")
    assert (Query.objects.get().withdrawn, Query.objects.get().withdrawn_why) == (since, "first")
    for _ in range(2):
        bring_back(batch.query)
    assert (Query.objects.get().withdrawn, Query.objects.get().withdrawn_why) == (None, "")


def test_the_page_says_first_what_is_lost(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    settle(batch, ada, bob)
    client = browser(leo)
    preview = prepared(client, verb="withdraw", row=batch.query_id)
    assert "Judgements stay on record and are in no export." in client.get(preview).content.decode()
    assert client.post(f"{preview}change", {"change": "begin", "reason": ""}).status_code == 400
    begun(client, preview, "not a sentence")
    work_off()
    listed = client.get(reverse("queries", args=["films"]), {"show": "withdrawn"}).content.decode()
    assert "withdrawn: not a sentence" in listed
    html = client.get(reverse("batch", args=["films", batch.pk])).content.decode()
    assert "Withdrawn on" in html
    assert "Bring back" in html
    begun(client, prepared(client, verb="bring_back", row=batch.query_id))
    work_off()
    assert Query.objects.get().withdrawn is None
