"""The navigation of a campaign: which pages it has, for whom, where one is; and the page that finds."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from judging.models import Batch, Query
from lead.templatetags import navigation
from lead.templatetags.navigation import Page
from tests.cast import browser

LEADS = ["Overview", "Queries", "Inbox", "Annotators", "Agreement", "Guideline", "Releases", "Leaderboard", "Systems"]


def links(member: Membership, address: str) -> list[tuple[str, bool]]:
    """The words of each link of the row, *More* left out, and whether it is the present page."""
    page = browser(member).get(address).content.decode()
    row = re.search(r'<nav class="row"[^>]*>(.*?)<details', page, re.S)
    found = re.findall(r'<a [^>]*title="g ."( aria-current="true")?(?: class="wide")?>([^<]*)', row[1]) if row else []
    return [(words.strip(), bool(here)) for here, words in found]


def test_a_lead_has_nine_pages_and_sees_which_is_open(batch: Batch, leo: Membership) -> None:
    found = links(leo, reverse("campaign", args=["films"]))
    assert [words for words, _ in found] == LEADS
    assert [words for words, is_here in found if is_here] == ["Overview"]
    assert ("Queries", True) in links(leo, reverse("batch", args=["films", batch.pk]))


def test_a_researcher_has_the_leaderboard_first(batch: Batch, member: Callable[..., Membership]) -> None:
    found = links(member("rio", "researcher"), reverse("leaderboard", args=["films"]))
    assert found[0] == ("Leaderboard", True)
    assert [words for words, _ in found] == ["Leaderboard", "Systems", "Releases", "Agreement", "Guideline"]


def test_a_researcher_starts_at_the_leaderboard(campaign: Campaign, member: Callable[..., Membership]) -> None:
    assert browser(member("rio", "researcher")).get("/")["Location"] == reverse("leaderboard", args=["films"])


def test_a_lead_of_one_campaign_starts_at_its_overview(leo: Membership) -> None:
    assert browser(leo).get("/")["Location"] == reverse("campaign", args=["films"])


def test_pages_without_a_campaign_have_no_row(batch: Batch, leo: Membership, ada: Membership) -> None:
    assert links(leo, reverse("campaigns")) == []
    assert links(ada, reverse("work")) == []


def test_a_held_back_split_hides_the_pages_of_grades(batch: Batch, member: Callable[..., Membership]) -> None:
    Campaign.objects.update(held_back="test")
    found = links(member("rio", "researcher"), reverse("leaderboard", args=["films"]))
    assert [words for words, _ in found] == ["Leaderboard", "Systems"]


def test_a_page_without_an_address_is_not_shown(batch: Batch, leo: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    navigation._links.cache_clear()
    monkeypatch.setattr(navigation, "PAGES", (Page("nowhere", "No", "n"), Page("releases", "Yes", "y")))
    assert links(leo, reverse("campaign", args=["films"])) == [("Yes", False)]
    navigation._links.cache_clear()


def test_find_lists_queries_people_and_runs(batch: Batch, leo: Membership, ada: Membership) -> None:
    Query.objects.filter(pk=batch.query_id).update(text="A man opens a red door.")
    client, address = browser(leo), reverse("find", args=["films"])
    assert reverse("batch", args=["films", batch.pk]) in client.get(address, {"q": "red door"}).content.decode()
    assert reverse("annotator", args=["films", ada.worker]) in client.get(address, {"q": "ada"}).content.decode()
    assert "matches “zebra”" in client.get(address, {"q": "zebra"}).content.decode()


def test_find_shows_researchers_no_annotators(batch: Batch, ada: Membership, member: Callable[..., Membership]) -> None:
    found = browser(member("rio", "researcher")).get(reverse("find", args=["films"]), {"q": "ada"}).content.decode()
    assert "matches “ada”" in found
