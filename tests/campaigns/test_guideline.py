"""The guideline: versions that never change, two leads at once, what is refused, and what annotators see."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.urls import reverse

from base.errors import Outdated
from base.text import DiffLine, changes
from campaigns.forms import LONGEST_GUIDELINE
from campaigns.guideline_text import GUIDELINE
from campaigns.models import Campaign, Guideline, Membership
from judging.models import Batch
from tests.cast import browser, claim
from tests.together import at_once


def write(lead: Membership, text: str, started_from: int = 0, do: str = "save") -> Any:
    body = {"text": text, "started_from": started_from, "do": do}
    return browser(lead).post(reverse("guideline-edit", args=["films"]), body)


def page(member: Membership, name: str = "guideline", query: str = "") -> Any:
    return browser(member).get(reverse(name, args=["films"]) + query)


def test_a_campaign_begins_with_version_0(campaign: Campaign, leo: Membership) -> None:
    assert campaign.guideline.version == 0
    html = page(leo).content.decode()
    assert "Version 0, in force" in html
    assert "<h3>Five grades</h3>" in html


def test_saving_makes_the_next_version(campaign: Campaign, leo: Membership) -> None:
    answer = write(leo, "# Ours\r\n\r\nLook *closely*.\r\n")
    assert (answer.status_code, answer["Location"]) == (302, reverse("guideline", args=["films"]))
    assert campaign.guideline.text == "# Ours\n\nLook *closely*.\n"
    assert campaign.guideline.by == leo
    write(leo, "Look.", started_from=1)
    assert [(each.version, each.text) for each in campaign.guidelines.all()] == [
        (1, "# Ours\n\nLook *closely*.\n"),
        (2, "Look.\n"),
    ]
    assert "<em>closely</em>" in page(leo, query="?version=1").content.decode()
    assert "Version 2, in force" in page(leo).content.decode()
    assert page(leo, query="?version=3").status_code == 404


def test_the_same_text_again_adds_nothing(campaign: Campaign, leo: Membership) -> None:
    write(leo, GUIDELINE)
    assert not Guideline.objects.exists()
    write(leo, "Look.")
    write(leo, "Look.\r\n")
    assert campaign.guideline.version == 1


def test_the_second_of_two_leads_gets_a_conflict_and_keeps_her_text(
    campaign: Campaign, leo: Membership, member: Callable[..., Membership]
) -> None:
    lea = member("lea", "lead")
    write(leo, "His words.")
    answer = write(lea, "Her <b>words</b>.")
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "Version 1 was put in force by leo" in html
    assert "Her &lt;b&gt;words&lt;/b&gt;." in html
    assert 'name="started_from" value="1"' in html
    assert campaign.guideline.text == "His words.\n"
    assert write(lea, "Both.", started_from=1).status_code == 302


def test_a_preview_shows_and_stores_nothing(campaign: Campaign, leo: Membership) -> None:
    answer = write(leo, "**bold** <script>alert(1)</script>", do="preview")
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "<strong>bold</strong>" in html
    assert "<script>alert" not in html
    assert not Guideline.objects.exists()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": ""}, "The guideline is empty"),
        ({"text": " \r\n "}, "The guideline is empty"),
        ({"text": "a\0b"}, "Null characters are not allowed"),
        ({"text": "x" * (LONGEST_GUIDELINE + 1)}, "at most 50000 characters"),
        ({"text": "x", "started_from": ""}, "Started from: This field is required"),
        ({"text": "x", "started_from": "one"}, "Started from: Enter a whole number"),
        ({"text": "x", "started_from": "-1"}, "Started from"),
        ({"text": "x", "started_from": "9" * 30}, "Started from"),
    ],
)
def test_what_is_wrong_is_named(campaign: Campaign, leo: Membership, body: dict[str, str], message: str) -> None:
    answer = browser(leo).post(reverse("guideline-edit", args=["films"]), {"started_from": "0"} | body)
    assert answer.status_code == 400
    assert message in answer.content.decode()
    assert not Guideline.objects.exists()


def test_as_long_as_may_be_is_stored_whole(campaign: Campaign, leo: Membership) -> None:
    text = ("x" * 99 + "\r\n") * 500
    assert write(leo, text).status_code == 302
    assert len(campaign.guideline.text) == LONGEST_GUIDELINE


def test_a_researcher_reads_and_does_not_write(campaign: Campaign, member: Callable[..., Membership]) -> None:
    rio = member("rio", "researcher")
    assert "?edit=" not in page(rio).content.decode()
    assert page(rio, query="?changes=").status_code == 200
    assert "<textarea" not in page(rio, query="?edit=").content.decode()
    assert write(rio, "Mine.").status_code == 404


def test_changes_between_versions(campaign: Campaign, leo: Membership) -> None:
    write(leo, "one\ntwo\n<i>three</i>")
    write(leo, "one\n2\n<i>three</i>", started_from=1)
    html = page(leo, query="?changes=").content.decode()
    assert "from version 1 to version 2" in html
    assert '<tr class="went">' in html
    assert "&lt;i&gt;three" in html
    assert "from version 0 to version 2" in page(leo, query="?changes=&from=0&version=2").content.decode()
    assert "are the same" in page(leo, query="?changes=&from=2&version=2").content.decode()
    for query in ("from=9", "version=x", "version=%00", "from=-1"):
        assert page(leo, query=f"?changes=&{query}").status_code == 404


def test_far_changes_have_a_gap_between_them() -> None:
    before = "\n".join(map(str, range(30)))
    lines = list(changes(before, before.replace("2\n", "two\n", 1).replace("28", "x")))
    assert [line.what for line in lines].count("gap") == 1
    assert DiffLine("went", 29, None, "28") in lines
    assert DiffLine("came", None, 29, "x") in lines
    assert list(changes(before, before)) == []


def test_the_workplace_shows_the_version_in_force(batch: Batch, leo: Membership, ada: Membership) -> None:
    write(leo, "# Ours\n\n[x](javascript:alert(1))")
    handed = claim(ada)
    html = browser(ada).get(reverse("workplace", args=[handed.token])).content.decode()
    assert handed.guideline == 1
    assert "<h2>Ours</h2>" in html
    assert 'href="javascript' not in html


@pytest.mark.django_db(transaction=True)
def test_of_ten_leads_at_once_one_is_first(campaign: Campaign, member: Callable[..., Membership]) -> None:
    leads = [member(f"lead{number}", "lead") for number in range(10)]
    verbs = [partial(lead.campaign.write_guideline, lead, f"By {lead.pk}.", 0) for lead in leads]
    results = at_once(*verbs)
    assert sum(isinstance(each, Outdated) for each in results) == 9
    assert campaign.guidelines.count() == 1
