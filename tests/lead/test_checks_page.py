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


def page(leo: Membership, name: str = "checks", *rest: object) -> str:
    answer = browser(leo).get(reverse(name, args=["films", *rest]))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def rows_of(text: str) -> list[str]:
    return re.findall(r"<tr[ >].*?</tr>", text.split("History</h2>")[0])[1:]


def post(leo: Membership, name: str, *rest: object, **form: Any) -> Any:
    return browser(leo).post(reverse(name, args=["films", *rest]), form, follow=True)


def test_every_threshold_is_in_sight(checked: Campaign, leo: Membership) -> None:
    text = page(leo)
    for words in ("<dd>3</dd>", "25 %", "40 %", "&gt; 1", "10 pairs", "Under 2 s"):
        assert words in text, words


@pytest.mark.any_database
@pytest.mark.both_databases
def test_each_number_leads_to_its_pairs(checked: Campaign, ada: Membership, leo: Membership) -> None:
    hers, standing, text = check_totals(checked)[ada.pk], recent_checks(checked)[ada.pk], page(leo)
    assert (hers.pairs, hers.missed) == (4, 3)
    for show, number in (("all", 4), ("missed", 3), ("newest", 4)):
        assert reverse("check-pairs", args=["films", ada.worker, show]) in text
        rows = rows_of(page(leo, "check-pairs", ada.worker, show))
        assert (len(rows), sum("missed" in row for row in rows)) == (number, 3)
    rows = rows_of(page(leo, "check-pairs", ada.worker, "all"))
    assert sorted("gold" in row for row in rows) == [False] + [True] * 3
    assert f">0 of {standing.recent}<" not in text


def test_the_drill_shows_what_was_expected(checked: Campaign, ada: Membership, leo: Membership) -> None:
    grades = [re.findall(r'class="dot g(\d)"', row) for row in rows_of(page(leo, "check-pairs", ada.worker, "all"))]
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
    text = page(leo)
    assert re.search(rf"/checks/{ada.worker}/speed\">\d+ %<", text)
    rows = rows_of(page(leo, "check-pairs", ada.worker, "speed"))
    seconds = [float(re.findall(r'<td class="n">([\d.]+)</td>', row)[-1]) for row in rows]
    assert seconds == sorted(seconds)
    assert (len(seconds), seconds[0]) == (hers.count(), 1.5)


@pytest.mark.any_database
@pytest.mark.both_databases
def test_a_window_begins_anew_after_a_pause(checked: Campaign, ada: Membership, leo: Membership) -> None:
    ada.pause(None, "10 of the last 10 were off.")
    assert "Resume" in page(leo)
    for _ in range(2):
        answer = post(leo, "person-change", ada.worker, verb="resume", reason="We spoke.", back="checks")
        assert answer.redirect_chain == [("/campaigns/films/checks/", 302)]
        assert "is active again" in answer.content.decode()
    ada.refresh_from_db()
    assert ada.state == Membership.State.ACTIVE
    assert ada.events.filter(kind="resumed").get().by == leo
    assert "Resume" not in page(leo)
    assert rows_of(page(leo, "check-pairs", ada.worker, "newest")) == []
    history = page(leo, "check-pairs", ada.worker, "all").split("History")[1]
    assert "We spoke." in history
    assert "10 of the last 10 were off." in history


@pytest.mark.any_database
def test_who_waits_for_the_lead_and_who_missed_most_stand_first(
    checked: Campaign, ada: Membership, cleo: Membership, leo: Membership
) -> None:
    def names() -> list[str]:
        return [re.findall(r">\d+ (\w+)\s*</a>", row)[0] for row in rows_of(page(leo))]

    assert names() == ["ada", "bob", "cleo"]
    cleo.pause(leo, "A word first.")
    assert names() == ["cleo", "ada", "bob"]


def test_unknown_people_and_views_are_not_found(checked: Campaign, ada: Membership, leo: Membership) -> None:
    client = browser(leo)
    for worker, show in ((999, "all"), (leo.worker, "all"), (ada.worker, "nothing")):
        assert client.get(reverse("check-pairs", args=["films", worker, show])).status_code == 404


def test_before_anybody_judges_it_says_what_to_do(campaign: Campaign, leo: Membership) -> None:
    text = page(leo)
    assert "Invite annotators first" in text
    assert "no checks are given" in text


def test_the_number_of_questions_does_not_grow(
    checked: Campaign, ada: Membership, leo: Membership, django_assert_max_num_queries: Any
) -> None:
    client = browser(leo)
    with django_assert_max_num_queries(14):
        client.get(reverse("checks", args=["films"]))
