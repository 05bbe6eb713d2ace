"""Requests that come twice, all at once, too late, wrong, or from somebody who may no longer send them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.faults.account import account, check
from tests.faults.conftest import Note
from tests.faults.crowd import NOT_REACHED, Annotator, at_work, judgement, make_background, make_campaign
from tests.faults.servers import installed
from tests.installation import Installation, sql

AT_ONCE, ANNOTATORS = 50, 100
# What does not depend on the database is tried on the second one by `make faults` only.
BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.long)]
BAD_GRADES = ["NaN", '"\\u0000"', '"\0"', "5", "-1", '"3"', "2.5", "1e400"]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, servers: Callable[[str], Installation]) -> Installation:
    return servers(request.param)


@pytest.fixture
def where(place: Installation) -> str:
    return place.database


def test_an_answer_that_is_lost_after_the_commit_is_given_again(place: Installation, where: str, note: Note) -> None:
    annotators = make_campaign(place, f"lost-{where}", people=8, batches=8)
    for each in annotators:
        each.lost_answers = 0.3
    with at_work(annotators) as crowd:
        crowd.reach(80)
    note("answer lost after commit", where, check(place, annotators))


@pytest.mark.parametrize("place", BOTH, indirect=True)
def test_with_a_new_key_a_retry_is_stored_twice(place: Installation, where: str, control: Callable[..., None]) -> None:
    annotators = make_campaign(place, f"new-keys-{where}", people=4, batches=4)
    for each in annotators:
        each.lost_answers, each.new_key_at_each_try = 0.5, True
    with at_work(annotators) as crowd:
        crowd.reach(30)
    doubled = account(place, annotators).doubled
    assert doubled
    control("a new key for each retry", where, f"{doubled} doubled")


def test_fifty_identical_presses_and_submissions_count_once(place: Installation, where: str, note: Note) -> None:
    ada, bob = annotators = make_campaign(place, f"fifty-{where}", people=2)
    for each, number in ((bob, 2), (ada, AT_ONCE)):  # her submission settles the round
        each.choices = (2,)
        handed = each.claim()
        assert handed
        windows = [each.again() for _ in range(number)]
        body = {"grade": 2, "fence": handed["fence"], "key": str(uuid4()), "press": 1}
        put = [partial(window.patiently, "PUT", judgement(handed, 1), body) for window in windows]
        answers = all_at_once(*put)
        assert {(answer.status, str(answer.body)) for answer in answers} == {(200, str(answers[0].body))}
        assert each.judge(handed | {"places": [{"grade": 2}, *handed["places"][1:]], "presses": 1})
        answers = all_at_once(*[partial(window.submit, handed) for window in windows])
        assert {answer.status for answer in answers} == {200}
    rows = sql(place, f"SELECT taken, state FROM judging_batch {of_campaign(ada.campaign)}")
    assert rows == [(2, "settled")]
    done = check(place, annotators)
    assert revisions(place, ada.campaign) == 40
    note("50 identical presses, 50 identical submits", where, done)


def test_a_hundred_annotators_claim_one_batch_and_two_get_it(place: Installation, where: str, note: Note) -> None:
    annotators = make_campaign(place, f"hundred-{where}", people=ANNOTATORS)
    handed = all_at_once(*[each.claim for each in annotators])
    assert sum(each is not None for each in handed) == 2
    note("100 annotators on one batch", where, check(place, annotators))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_without_locks_places_are_given_twice(tmp_path: Path, kind: str, control: Callable[..., None]) -> None:
    weakened = {"DJANGO_SETTINGS_MODULE": "tests.faults.weakened", "WEAKENED": "NoLocks"}
    with installed(tmp_path / "home", kind, **weakened) as place:
        sql(place, "DROP INDEX one_assignment_per_slot")
        annotators = make_campaign(place, "unlocked", people=ANNOTATORS, batches=10)
        all_at_once(*[each.claim for each in annotators])
        oversold = account(place, annotators).oversold
    assert oversold
    control("no locks, and no constraint behind them", kind, f"{oversold} oversold")


def test_who_sleeps_past_the_lease_writes_nothing(place: Installation, where: str, note: Note) -> None:
    ada, bob, cleo = annotators = make_campaign(place, f"asleep-{where}", people=3)
    with at_work(background := make_background(place, f"asleep-load-{where}")) as crowd:
        crowd.reach(1)
        handed = ada.claim()
        assert handed
        assert ada.press(handed, 1, 2, press=1)  # the control: an hour earlier it is stored
        sql(place, f"UPDATE judging_assignment SET lease = '2020-01-01 00:00:00' {held_by(ada)}")
        others = [bob.claim(), cleo.claim()]
        assert None not in others
        assert not ada.press(handed, 2, 2, press=2)
        assert ada.refused == {409: 1}
        assert ada.ask("POST", f"/judge/assignments/{handed['token']}/resume").status == 409
        crowd.more(10)
    assert revisions(place, ada.campaign) == 1
    check(place, background)
    note("client asleep past its lease", where, check(place, annotators))


@pytest.mark.parametrize("place", BOTH, indirect=True)
def test_a_grade_that_is_none_is_refused_by_name(place: Installation, where: str, note: Note) -> None:
    (ada,) = make_campaign(place, f"bad-{where}", people=1)
    with at_work(background := make_background(place, f"bad-load-{where}")) as crowd:
        crowd.reach(1)
        handed = ada.claim()
        assert handed
        for grade in BAD_GRADES:
            body = f'{{"grade": {grade}, "fence": {handed["fence"]}, "key": "{uuid4()}", "press": 1}}'
            answer = ada.ask("PUT", judgement(handed, 1), content=body)
            assert (answer.status, answer.body["field"]) == (400, "body" if "\0" in grade else "grade"), grade
        assert revisions(place, ada.campaign) == 0
        assert ada.press(handed, 1, 3, press=1)  # the control
        crowd.more(10)
    check(place, background)
    note('NaN, NUL, 5, -1, "3", 2.5, 1e400 as grades', where, check(place, [ada]))


GONE = """
from django.contrib.auth.models import User
User.objects.filter(username={0!r}).update(is_active=False)
"""
CHANGED = """
from campaigns.models import Membership
from judging.review.decisions import change_role
change_role(Membership.objects.get(user__username={0!r}), "lead", None, "a test")
"""
LEFT = """
from django.contrib.auth.models import User
from campaigns.models import Campaign, Membership
from judging.review.decisions import deactivate
campaign = Campaign.objects.get(name={1!r})
campaign.add_member(User.objects.create(username={0!r} + "-other"), "lead")
member = Membership.objects.get(user__username={0!r})
deactivate(member, None, "a test")
"""


@pytest.mark.parametrize("place", BOTH, indirect=True)
@pytest.mark.parametrize(("fault", "code", "status"), [("disabled", GONE, 401), ("promoted", CHANGED, 404)])
def test_who_may_no_longer_judge_stores_nothing_more(
    place: Installation, where: str, note: Note, fault: str, code: str, status: int
) -> None:
    ada, bob, cleo = annotators = make_campaign(place, f"{fault}-{where}", people=3)
    handed = ada.claim()
    assert handed
    assert ada.press(handed, 1, 2, press=1)  # the control: before it is stored
    place.shell(code.format(ada.name))
    assert not ada.press(handed, 2, 2, press=2)
    assert ada.refused == {status: 1}
    assert revisions(place, ada.campaign) == 1
    sql(place, f"UPDATE judging_assignment SET lease = '2020-01-01 00:00:00' {held_by(ada)}")
    assert None not in (bob.claim(), cleo.claim())
    note(
        {"disabled": "user disabled mid-lease", "promoted": "role changed mid-lease"}[fault],
        where,
        check(place, annotators),
    )


@pytest.mark.parametrize("place", BOTH, indirect=True)
def test_a_lead_who_is_one_no_longer_sees_nothing_more(place: Installation, where: str, note: Note) -> None:
    lea, other = make_campaign(place, f"led-{where}", people=2)
    place.shell(CHANGED.format(lea.name))
    page = f"/campaigns/{lea.campaign}/"
    assert lea.ask("GET", page).status == 200
    place.shell(LEFT.format(lea.name, lea.campaign))
    assert lea.ask("GET", page).status == 404
    note("role taken away mid-session", where, check(place, [lea, other]))


def of_campaign(name: str) -> str:
    of_it = f"SELECT id FROM campaigns_campaign WHERE name = '{name}'"
    return f"WHERE query_id IN (SELECT id FROM judging_query WHERE campaign_id IN ({of_it}))"


def held_by(annotator: Annotator) -> str:
    user = f"SELECT id FROM auth_user WHERE username = '{annotator.name}'"
    return f"WHERE annotator_id IN (SELECT id FROM campaigns_membership WHERE user_id IN ({user}))"


def revisions(place: Installation, campaign: str) -> int:
    judged = f"SELECT id FROM judging_candidate {of_campaign(campaign)}"
    of_them = f"SELECT id FROM judging_judgement WHERE candidate_id IN ({judged})"
    rows: list[tuple[Any, ...]] = sql(place, f"SELECT count(*) FROM judging_revision WHERE judgement_id IN ({of_them})")
    return int(rows[0][0])


def all_at_once(*verbs: Callable[[], Any]) -> list[Any]:
    """Do all of them in the same moment, and return what each gave, or None if there was no answer."""
    start, results = threading.Barrier(len(verbs)), [None] * len(verbs)

    def one(number: int, verb: Callable[[], Any]) -> None:
        start.wait(60)
        with suppress(*NOT_REACHED):
            results[number] = verb()

    threads = [threading.Thread(target=one, args=each) for each in enumerate(verbs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
