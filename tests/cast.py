"""What the cast does in tests: sign in, claim, judge a whole batch."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, Membership
from corpus.models import Moment
from jobs.running import work_off
from judging.models import Assignment, Batch, Candidate, Judgement, Query, Revision
from judging.models.pool import CandidateQuerySet
from judging.pool import opening
from judging.review.actions import reopen
from judging.review.reopening import scope_of_annotator
from judging.summaries import summarize
from judging.work import claiming, grading, submitting
from judging.work.places import assignment_data


def make_query(campaign: Campaign, query_id: str, text: str) -> Query:
    query = Query.objects.create(campaign=campaign, query_id=query_id, text=text)
    moments = Moment.objects.filter(video__corpus=campaign.corpus).order_by("pk")[: campaign.depth]
    Candidate.objects.bulk_create(
        Candidate(query=query, moment=moment, rank=rank, similarity=1 - rank / 100)
        for rank, moment in enumerate(moments, 1)
    )
    opening.open_batch(query, 1)
    return query


def browser(who: Membership | User) -> Client:
    """A signed-in client."""
    client = Client()
    client.force_login(who.user if isinstance(who, Membership) else who)
    return client


def days_left(client: Client) -> float:
    """Of the client's session, as the database knows it."""
    session = Session.objects.get(session_key=client.session.session_key)
    return (session.expire_date - timezone.now()) / timedelta(days=1)


def content_of(answer: Any) -> bytes:
    """An answer's body, also of one that streams; reading it to its end closes the file behind it."""
    return b"".join(answer.streaming_content) if answer.streaming else bytes(answer.content)


def text_between_tags(page: str) -> str:
    """What is read on a page, without the random tokens in its tags, which may hold any short word or number."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def prepared(client: Client, **fields: object) -> str:
    """The address of the preview of an action, which a lead of `films` prepares."""
    answer = client.post(reverse("action-prepare", args=["films"]), fields)
    assert answer.status_code == 302
    return str(answer["Location"])


def begun(client: Client, preview: str, reason: str = "again", **fields: str) -> str:
    """The page of an action after it is begun."""
    known = {"change": "begin", "reason": reason} | fields
    return " ".join(client.post(f"{preview}change", known, follow=True).content.decode().split())


def judge_all(assignment: Assignment, grade: Callable[[Candidate], int], submit: bool = True) -> None:
    """Give every candidate of an assignment the grade that the function says, all in one go, and submit.

    One by one, as when keys are pressed, go only those that the annotator has graded before.
    """
    graded = set(Judgement.objects.filter(annotator=assignment.annotator).values_list("candidate", flat=True))
    handed = list(enumerate(assignment.candidates_in_order(), 1))
    holders = dict(assignment.joined.values_list("batch", "pk"))
    judgements = Judgement.objects.bulk_create(
        Judgement(
            assignment_id=holders.get(candidate.batch_id or 0, assignment.pk),
            candidate=candidate,
            annotator=assignment.annotator,
            grade=grade(candidate),
        )
        for _, candidate in handed
        if candidate.pk not in graded
    )
    Revision.objects.bulk_create(
        Revision(judgement=judgement, number=1, grade=judgement.grade, key=uuid4(), seconds=1.0)
        for judgement in judgements
    )
    for position, candidate in handed:
        if candidate.pk in graded:
            grading.judge(assignment, position, grade(candidate), fence=assignment.fence, key=uuid4(), seconds=1.0)
    if submit:
        submitting.submit(assignment, assignment.fence)


def claim(annotator: Membership) -> Assignment:
    assignment = claiming.claim(annotator)
    assert assignment is not None
    return assignment


def settle_round_one(batch: Batch, first: Membership, second: Membership, apart: int = 0) -> None:
    """Both judge the whole batch: 4 down to rank 10, 1 below; on the first `apart` ranks they differ by 3."""

    def usual(candidate: Candidate) -> int:
        return 4 if candidate.rank <= 10 else 1

    judge_all(claim(first), usual)
    judge_all(claim(second), lambda candidate: 1 if candidate.rank <= apart else usual(candidate))
    batch.refresh_from_db()


def settle(batch: Batch, first: Membership, second: Membership, last: int = 1) -> None:
    """Both judge the whole batch alike: 4 down to rank 10, and `last` below."""
    for annotator in (first, second):
        judge_all(claim(annotator), lambda candidate: 4 if candidate.rank <= 10 else last)
    batch.refresh_from_db()


def regrade(candidates: CandidateQuerySet, **fields: Any) -> None:
    """Change candidates as if their judgements had led to that."""
    queries: list[Any] = list(candidates.values_list("query", flat=True))
    candidates.update(**fields)
    summarize(queries)


def began(assignment: Assignment, seconds: float) -> Assignment:
    """As if it had been claimed so many seconds ago, and the lease never run out since."""
    ago = timezone.now() - timedelta(seconds=seconds, milliseconds=1)  # SQLite's clock tells no less
    Assignment.objects.filter(pk=assignment.pk).update(claimed=ago, began=ago)
    assignment.refresh_from_db()
    return assignment


def expire(assignment: Assignment) -> None:
    """Let the lease run out."""
    Assignment.objects.filter(pk=assignment.pk).update(lease=assignment.claimed)


def clip_addresses(assignment: Assignment) -> list[str]:
    """The addresses of the clips of an assignment, in order, as its annotator gets them."""
    return [place["clip"] for place in assignment_data(Assignment.objects.get(pk=assignment.pk))["places"]]


def small_batches(campaign: Campaign, queries: int, *, size: int = 4, hidden: int = 0) -> None:
    """The campaign anew, with many queries of one small batch each."""
    Campaign.objects.filter(pk=campaign.pk).update(batch_size=size, batches=1, hidden_places=hidden)
    campaign.refresh_from_db()
    Batch.objects.in_campaign(campaign).delete()
    campaign.queries.all().delete()
    for number in range(queries):
        make_query(campaign, f"q{number}", f"A person does thing {number}.")


def by_rank(candidate: Candidate) -> int:
    """The grade on which everybody agrees, also in checks."""
    return (candidate.repeats or candidate).rank % 5


def reopen_all(lead: Membership, annotator: Membership) -> None:
    """All work of the annotator, reopened to its end."""
    reopen(lead, scope_of_annotator(annotator), "again")
    work_off(StringIO())
