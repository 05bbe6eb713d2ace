"""The statements of a save, a claim and a submission: those of session, person, transaction and rows together."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch
from judging.work.places import assignment_data
from tests.cast import browser, claim, judge_all

pytestmark = pytest.mark.both_databases
SAVE = {"sqlite": 7, "postgresql": 3}
CLAIM = 12
SUBMISSION, SETTLEMENT = 26, 35  # with the claim that follows; the second of a round settles it


def save(client: Client, held: Assignment, **fields: Any) -> int:
    """Save a grade, and return the number of statements."""
    body = {"grade": 3, "fence": held.fence, "key": str(uuid4()), "press": 1, "seconds": 4.0, "input": "key"}
    address = reverse("judge", args=[held.token, 1])
    with CaptureQueriesContext(connection) as queries:
        answer = client.put(address, json.dumps(body | fields), content_type="application/json")
    assert answer.status_code == 200, answer.content
    return count(queries)


def handed(client: Client, **headers: str) -> int:
    """Ask for a batch, and return the number of statements."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.post(reverse("claim", args=["films"]), headers=headers)
    assert answer.status_code in (200, 302)
    return count(queries)


def count(queries: CaptureQueriesContext) -> int:
    """The number of statements; where a test fails, they are printed."""
    print(*(each["sql"] for each in queries.captured_queries), "", sep="\n")
    return len(queries)


def test_a_save(batch: Batch, ada: Membership) -> None:
    held, client = claim(ada), browser(ada)
    assert save(client, held) <= SAVE[connection.vendor]
    assert save(client, held, grade=4, press=2) <= SAVE[connection.vendor]  # a change of mind


def test_what_was_lent_is_told_without_asking_again(batch: Batch, ada: Membership) -> None:
    lent = batch.lend_to(ada)
    with CaptureQueriesContext(connection) as queries:
        assignment_data(lent)
    assert count(queries) == 0


@pytest.mark.parametrize("checks", [0, 2])
def test_a_claim(campaign: Campaign, batch: Batch, ada: Membership, checks: float) -> None:
    Campaign.objects.update(hidden_places=checks)
    client = browser(ada)
    first = handed(client, accept="application/json")
    assert first <= CLAIM + (6 if checks else 0)  # to look for copies and to make them, and once for a query to make it
    assert handed(client, accept="application/json") <= CLAIM  # the same batch again
    assert handed(client) <= CLAIM


@pytest.mark.parametrize("seconds", [None, 3.0])
def test_a_submission(batch: Batch, ada: Membership, bob: Membership, seconds: float | None) -> None:
    for person, most in ((ada, SUBMISSION), (bob, SETTLEMENT)):
        held, client = claim(person), browser(person)
        judge_all(held, lambda candidate: candidate.rank % 5, submit=False)
        body = json.dumps({"fence": held.fence, "list_seconds": seconds})
        with CaptureQueriesContext(connection) as queries:
            answer = client.post(reverse("submit", args=[held.token]), body, content_type="application/json")
        assert answer.json()["submitted"]
        assert count(queries) <= most
