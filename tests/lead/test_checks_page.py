"""The lead's page of checks: every threshold and number in sight, the pairs behind each, gold and resuming."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from judging.models import Candidate, Kind, Revision
from judging.quality.check_results import check_totals, recent_checks
from tests.cast import browser, by_rank, claim, judge_all, small_batches
from tests.remembered import remembered
from tests.tampering import tampering


@pytest.fixture
@remembered
def checked(campaign: Campaign, ada: Membership, bob: Membership, cleo: Membership) -> Campaign:
    """Ada judged a batch of round two, in which all gold is off, of a query on whose other pairs two agreed."""
    small_batches(campaign, 1, hidden=3)
    judge_all(claim(bob), by_rank)
    judge_all(claim(cleo), lambda candidate: 4 if candidate.rank == 1 else by_rank(candidate))
    judge_all(claim(ada), off)
    return campaign


def off(candidate: Candidate) -> int:
    return 4 if by_rank(candidate) < 2 else 0


def page(leo: Membership, name: str = "annotators", *rest: object, **params: str) -> str:
    answer = browser(leo).get(reverse(name, args=["films", *rest]), params)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def pairs(leo: Membership, person: Membership, show: str) -> list[str]:
    return rows_of(page(leo, "annotator", person.worker, view="checks", pairs=show))


def rows_of(text: str) -> list[str]:
    return re.findall(r"<tr[ >].*?</tr>", text.split("History</h2>")[0])[1:]


def post(leo: Membership, name: str, *rest: object, **form: Any) -> Any:
    return browser(leo).post(reverse(name, args=["films", *rest]), form, follow=True)


def test_thresholds_are_in_sight(checked: Campaign, ada: Membership, leo: Membership) -> None:
    text = page(leo, "annotator", ada.worker, view="checks")
    for words in ("25 %", "40 %", "more than 1 grade", "fewer than 8 pairs"):
        assert words in text, words


@pytest.mark.any_database
@pytest.mark.both_databases
def test_each_number_leads_to_its_pairs(checked: Campaign, ada: Membership, leo: Membership) -> None:
    hers, standing = check_totals(checked)[ada.pk], recent_checks(checked)[ada.pk]
    assert (hers.pairs, hers.missed) == (4, 3)
    address = reverse("annotator", args=["films", ada.worker])
    assert f'href="{address}?view=checks&amp;pairs=newest"' in page(leo)
    assert f"{standing.recent_missed}/{standing.recent}</a>" in page(leo)
    for show, number in (("all", 4), ("missed", 3), ("newest", 4)):
        rows = pairs(leo, ada, show)
        assert (len(rows), sum("missed" in row for row in rows)) == (number, 3)
    assert sorted("gold" in row for row in pairs(leo, ada, "all")) == [False] + [True] * 3


def test_the_drill_shows_what_was_expected(checked: Campaign, ada: Membership, leo: Membership) -> None:
    grades = [re.findall(r'class="dot g(\d)"', row) for row in pairs(leo, ada, "all")]
    gold = Candidate.objects.filter(query__kind=Kind.CHECK, judgements__annotator=ada, truth__isnull=False)
    wanted = [[str(off(pair)), str(pair.truth)] for pair in gold]
    assert all(expected in grades for expected in wanted)
    assert len(wanted) == 3


@pytest.mark.both_databases
def test_speed_is_shown_and_sorted(checked: Campaign, ada: Membership, leo: Membership) -> None:
    hers = Revision.objects.filter(judgement__annotator=ada).order_by("pk")
    for number, revision in enumerate(hers):
        with tampering():
            Revision.objects.filter(pk=revision.pk).update(seconds=number + 1.5)
    rows = pairs(leo, ada, "speed")
    seconds = [float(re.findall(r'<td class="n">([\d.]+)</td>', row)[-1]) for row in rows]
    assert seconds == sorted(seconds)
    assert (len(seconds), seconds[0]) == (hers.count(), 1.5)


@pytest.mark.any_database
@pytest.mark.both_databases
def test_a_window_begins_anew_after_a_pause(checked: Campaign, ada: Membership, leo: Membership) -> None:
    ada.pause(None, "10 of the last 10 were off.")
    assert ">Resume<" in page(leo, "annotator", ada.worker)
    for _ in range(2):
        answer = post(leo, "annotator-change", ada.worker, verb="resume", reason="We spoke.")
        assert "is active again" in answer.content.decode()
    ada.refresh_from_db()
    assert ada.state == Membership.State.ACTIVE
    assert ada.events.filter(kind="resumed").get().by == leo
    assert ">Resume<" not in page(leo, "annotator", ada.worker)
    assert pairs(leo, ada, "newest") == []
    history = page(leo, "annotator", ada.worker).split("History")[1]
    assert "We spoke." in history
    assert "10 of the last 10 were off." in history


@pytest.mark.any_database
def test_who_waits_for_the_lead_and_who_missed_most_come_first(
    checked: Campaign, ada: Membership, cleo: Membership, leo: Membership
) -> None:
    def names() -> list[str]:
        return re.findall(r'/">\d+ (\w+)</a>', page(leo))

    assert names() == ["ada", "bob", "cleo", "leo"]
    cleo.pause(leo, "A word first.")
    assert names() == ["cleo", "ada", "bob", "leo"]


def test_unknown_people_and_views_are_not_found(checked: Campaign, ada: Membership, leo: Membership) -> None:
    client = browser(leo)
    for worker, show in ((999, "all"), (leo.worker, "all"), (ada.worker, "nothing")):
        address = reverse("annotator", args=["films", worker])
        assert client.get(address, {"view": "checks", "pairs": show}).status_code == 404


def test_the_number_of_statements_does_not_grow(
    checked: Campaign, ada: Membership, leo: Membership, django_assert_max_num_queries: Any
) -> None:
    client = browser(leo)
    with django_assert_max_num_queries(15):
        client.get(reverse("annotator", args=["films", ada.worker]), {"view": "checks"})
