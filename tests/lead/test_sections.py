"""The second row of the lead's navigation: what exists, for whom it is, and where one is."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.urls import reverse

from campaigns.models import Membership
from judging.models import Batch
from lead.templatetags import sections
from lead.templatetags.sections import Page
from tests.cast import browser


def row(member: Membership, address: str, label: str = "Campaign") -> list[tuple[str, str]]:
    """The words and state of each link in a row of a page."""
    page = browser(member).get(address).content.decode()
    found = re.search(rf'<nav class="sections[^>]*aria-label="{label}">(.*?)</nav>', page, re.S)
    links = re.findall(r"<a [^>]*?(aria-current)?(?:=\"\w+\")?>([^<]*)</a>", found[1]) if found else []
    return [(words, "here" if here else "") for here, words in links]


def test_each_page_says_in_which_section_it_is(batch: Batch, leo: Membership) -> None:
    assert ("Queries", "here") in row(leo, reverse("campaign", args=["films"]))
    assert ("Queries", "here") in row(leo, reverse("batch", args=["films", batch.pk]))
    there = row(leo, reverse("exports", args=["films"]))
    assert ("Queries", "") in there
    assert ("Releases", "here") in there


def test_pages_without_a_campaign_have_no_row(batch: Batch, leo: Membership, ada: Membership) -> None:
    assert row(leo, reverse("campaigns")) == []
    assert row(ada, reverse("work")) == []


def test_what_has_no_address_is_not_shown(batch: Batch, leo: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sections, "SECTIONS", {"None": (Page("nowhere"),), "Half": (Page("nowhere", "No"), Page("exports"))}
    )
    assert row(leo, reverse("campaign", args=["films"])) == [("Half", "")]


def test_a_section_of_several_pages_has_a_row_of_its_own(
    batch: Batch, leo: Membership, member: Callable[..., Membership], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = (Page("campaign", "All"), Page("exports", "Files", lead_only=True))
    monkeypatch.setattr(sections, "SECTIONS", {"Both": pages})
    address = reverse("campaign", args=["films"])
    assert row(leo, address, "Section") == [("All", "here"), ("Files", "")]
    assert row(member("rio", "researcher"), address, "Section") == []
