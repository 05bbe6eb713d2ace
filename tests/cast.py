"""What the cast does in tests: sign in, claim, judge a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.test import Client

from corpus.models import Moment
from judging.models import Assignment, Batch, Campaign, Candidate, Membership, Query


def make_query(campaign: Campaign, query_id: str, text: str) -> Query:
    query = Query.objects.create(campaign=campaign, query_id=query_id, text=text)
    moments = Moment.objects.filter(video__corpus=campaign.corpus).order_by("pk")[: campaign.depth]
    Candidate.objects.bulk_create(
        Candidate(query=query, moment=moment, rank=rank, similarity=1 - rank / 100)
        for rank, moment in enumerate(moments, 1)
    )
    query.open_batch(1)
    return query


def browser(who: Membership | User) -> Client:
    """A signed-in client."""
    client = Client()
    client.force_login(who.user if isinstance(who, Membership) else who)
    return client


def content_of(answer: Any) -> bytes:
    """An answer's body, also of one that streams; reading it to its end closes the file behind it."""
    return b"".join(answer.streaming_content) if answer.streaming else bytes(answer.content)


def judge_all(assignment: Assignment, grade: Callable[[Candidate], int], submit: bool = True) -> None:
    """Give every candidate of an assignment the grade that the function says, and submit."""
    for position, candidate in enumerate(assignment.handed(), 1):
        assignment.judge(position, grade(candidate), fence=assignment.fence, key=uuid4(), seconds=1.0)
    if submit:
        assignment.submit(assignment.fence)


def claim(annotator: Membership) -> Assignment:
    assignment = Assignment.objects.claim(annotator)
    assert assignment is not None
    return assignment


def settle_round_one(batch: Batch, first: Membership, second: Membership, apart: int = 0) -> None:
    """Both judge the whole batch: 4 down to rank 10, 1 below; on the first `apart` ranks they differ by 3."""

    def usual(candidate: Candidate) -> int:
        return 4 if candidate.rank <= 10 else 1

    judge_all(claim(first), usual)
    judge_all(claim(second), lambda candidate: 1 if candidate.rank <= apart else usual(candidate))
    batch.refresh_from_db()


def expire(assignment: Assignment) -> None:
    """Let the lease run out."""
    Assignment.objects.filter(pk=assignment.pk).update(lease=assignment.claimed)
