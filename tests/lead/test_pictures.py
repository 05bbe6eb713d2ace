"""Small pictures on the lead's pages: the line of what is ready, how far reviews are, and how old needs are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, Membership
from judging.models import Batch, Query
from reports.digest import Need, needs
from reports.tables.queries import queries_of, ready_line
from tests.cast import browser, make_query, settle_round_one, small_batches


@pytest.mark.parametrize(
    ("minutes", "words"), [(0, ""), (5, "5 min"), (61, "1 h"), (60 * 23, "23 h"), (60 * 49, "2 d"), (None, "")]
)
def test_the_age_of_the_oldest_need(minutes: int | None, words: str) -> None:
    since = None if minutes is None else timezone.now() - timedelta(minutes=minutes, seconds=1)
    assert Need(1, "flag", "flags", "", since=since).age == words


def test_the_overview_has_the_age_of_the_oldest_batch_to_review(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    settle_round_one(batch, ada, bob)
    Query.objects.update(changed=timezone.now() - timedelta(days=2, minutes=1))
    [need] = [each for each in needs(batch.query.campaign, 0) if "review" in each.what]
    assert need.age == "2 d"
    page = browser(leo).get(reverse("campaign", args=["films"])).content.decode()
    assert "oldest 2 d" in page


def test_a_review_shows_how_many_are_done_and_left(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    settle_round_one(batch, ada, bob)
    address = reverse("batch", args=["films", batch.pk])
    assert "0 done today, 1 left" in " ".join(browser(leo).get(address).content.decode().split())


@pytest.fixture
def three(campaign: Campaign) -> list[Query]:
    """Three queries in the order of judging, of which the first is closed, and so is the last."""
    small_batches(campaign, 0)
    for number in range(3):
        make_query(campaign, f"q{number}", f"A person does thing {number}.")
    found = list(campaign.queries.order_by("place"))
    Query.objects.filter(pk__in=[found[0].pk, found[2].pk]).update(closed=True)
    return found


def test_the_line_of_what_is_ready_is_above_the_first_open_query(three: list[Query], campaign: Campaign) -> None:
    assert ready_line(campaign, queries_of(campaign)) == (three[1].pk, "Ready to release: 1")
    Query.objects.update(closed=True)
    assert ready_line(campaign, queries_of(campaign)) is None


def test_the_list_has_the_line_in_the_order_of_judging_only(three: list[Query], leo: Membership) -> None:
    lead: Client = browser(leo)
    page = lead.get(reverse("queries", args=["films"]), {"sort": "place"}).content.decode()
    before, _, after = page.partition("Ready to release: 1")
    assert three[0].text in before
    assert three[1].text in after
    assert three[1].text not in before
    assert "Ready to release: 1" not in lead.get(reverse("queries", args=["films"])).content.decode()
