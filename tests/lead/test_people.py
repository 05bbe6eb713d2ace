"""The lead's pages of people: what everybody did, and the buttons that change a membership."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Revision, Sitting
from reports.tables.people import idle_annotators
from tests.campaigns.test_membership import again, happened
from tests.cast import browser, claim, content_of, judge_all, make_query
from tests.tampering import tampering

CHANGE = "/campaigns/films/people/{}/change"


def test_the_table_shows_what_everybody_did(batch: Batch, ada: Membership, leo: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    with tampering():
        Revision.objects.update(seconds=180.0)
    page = browser(leo).get("/campaigns/films/people/")
    rows = {row.member.user.username: row for row in page.context["listed"].lines}
    assert (rows["ada"].batches, rows["ada"].judgements, rows["ada"].holds_since) == (1, 20, None)
    assert rows["ada"].hours == 1.0
    assert rows["ada"].last_seen
    assert (rows["leo"].batches, rows["leo"].last_seen) == (0, None)
    assert f'href="/campaigns/films/people/{ada.worker}/"' in page.content.decode()


def test_the_table_asks_as_much_for_many_as_for_few(leo: Membership, member: Callable[..., Membership]) -> None:
    client = browser(leo)

    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/campaigns/films/people/").status_code == 200
        return len(queries)

    judge_all(claim(member("a0")), lambda candidate: 2)
    few = statements()
    for number in range(1, 13):
        make_query(leo.campaign, f"more {number}", f"Query {number}.")
        judge_all(claim(member(f"a{number}")), lambda candidate: 2, submit=number % 2 == 0)
        leo.campaign.invite("annotator", leo, timedelta(days=1))
    assert statements() == few <= 15


@pytest.mark.both_databases
def test_people_are_chosen_sorted_and_written_as_files_on_the_page_and_in_the_api(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    Membership.objects.filter(pk=bob.pk).update(group="night")
    leo.campaign.invite_person(
        "annotator", leo, timedelta(days=1), address="nora@example.org", name="Nora", group="night"
    )
    client = browser(leo)
    cases = {
        "role=lead": ["leo"],
        "stage=begun": ["ada"],
        "group=night": ["bob", "Nora"],
        "q=EXAMPLE.org": ["Nora"],
        "sort=-judgements": ["ada", "bob", "leo", "Nora"],
        "sort=-name&role=annotator": ["bob", "ada", "Nora"],
        "role=king": [],
    }
    for address, expected in cases.items():
        page = client.get(f"/campaigns/films/people/?{address}")
        assert [row.name for row in page.context["listed"].lines] == expected, address
        assert page.status_code == (200 if expected else 400)
        answer = client.get(f"/api/v1/campaigns/films/people?{address}")
        assert answer.status_code == page.status_code
        assert [each["name"] for each in answer.json().get("people", [])] == expected
    file = content_of(client.get("/campaigns/films/people/?role=annotator&format=csv")).decode()
    header, *lines = file.splitlines()
    assert header.startswith("worker,name,address,role,group,stage")
    assert [line.split(",")[1] for line in lines] == ["ada", "bob", "Nora"]


def test_the_table_says_how_far_each_has_come(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    campaign = leo.campaign
    for each in (ada, bob):
        judge_all(claim(each), lambda candidate: 2)
    make_query(campaign, "2", "A person waves.")  # so that there is work
    long_ago = timezone.now() - timedelta(days=4)
    Membership.objects.exclude(pk=cleo.pk).update(joined=long_ago)
    Assignment.objects.filter(annotator=ada).update(claimed=long_ago, submitted=long_ago)
    Membership.objects.filter(pk=dan.pk).update(waits=timezone.now())
    bob.pause(leo, "")
    mailed, _ = (
        campaign.invite_person("annotator", leo, timedelta(days=1), address=f"{name}@example.org", name=name)
        for name in ("nora", "emil")
    )
    mailed.note_opened()
    campaign.invite_person("annotator", leo, timedelta(days=-1), name="lia", by_hand=True)
    campaign.invite("annotator", leo, timedelta(days=1), places=3)[0].accept(User.objects.create(username="amy"))
    page = browser(leo).get("/campaigns/films/people/")
    assert [(row.name, str(row.stage)) for row in page.context["listed"].lines] == [
        ("amy", "asks"),
        *(("ada", "idle"), ("bob", "paused"), ("cleo", "joined"), ("dan", "joined"), ("leo", "joined")),
        *(("", "made"), ("lia", "expired"), ("emil", "sending"), ("nora", "opened")),
    ]
    Batch.objects.update(state=Batch.State.REVIEWED)
    page = browser(leo).get("/campaigns/films/people/")
    assert "idle" not in [str(row.stage) for row in page.context["listed"].lines]  # nobody is, where nothing is to do


def test_who_has_ended_the_exam_and_may_not_judge_is_not_idle(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> None:
    Campaign.objects.update(exam=True)
    Membership.objects.update(joined=timezone.now() - timedelta(days=9))
    ended = timezone.now() - timedelta(days=8)
    ada.sittings.create(ended=ended)  # and waits for the marks
    bob.sittings.create(ended=ended, result=Sitting.Result.FAILED)
    cleo.sittings.create(ended=ended, result=Sitting.Result.FAILED)
    cleo.sittings.create(round=2)  # which the lead has let her take
    assert {member.user.username for member in idle_annotators()} == {"cleo", "dan"}


@pytest.mark.parametrize(
    ("form", "state", "live"),
    [
        ({"verb": "pause"}, "paused", True),
        ({"verb": "pause", "hand_over": "on"}, "paused", False),
        ({"verb": "hand_over"}, "active", False),
        ({"verb": "deactivate"}, "left", False),
        ({"verb": "role", "role": "lead", "reason": "grown"}, "active", False),
    ],
)
def test_the_buttons(form: dict[str, str], state: str, live: bool, ada: Membership, leo: Membership) -> None:
    claim(ada)
    client = browser(leo)
    answer = client.post(CHANGE.format(ada.worker), form, follow=True)
    assert answer.status_code == 200
    assert f"Worker {ada.worker}:" in answer.content.decode()
    assert again(ada).state == state
    assert Assignment.objects.live().exists() is live
    assert {event.by for event in ada.events.all()} == {leo}
    assert client.get(f"/campaigns/films/people/{ada.worker}/").status_code == 200


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({}, "verb"),
        ({"verb": "delete"}, "verb"),
        ({"verb": "save"}, "verb"),
        ({"verb": "role", "role": "king"}, "role"),
        ({"verb": "role", "role": "lead"}, "reason"),
        ({"verb": "pause", "reason": "x" * 401}, "reason"),
        ({"verb": "pause", "reason": "a\0b"}, "reason"),
    ],
)
def test_a_bad_form_is_refused_by_field(form: dict[str, str], field: str, ada: Membership, leo: Membership) -> None:
    answer = browser(leo).post(CHANGE.format(ada.worker), form, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert happened(ada) == []


def test_a_lead_of_another_campaign_finds_nobody(ada: Membership, leo: Membership, outsider: User) -> None:
    assert browser(leo).post(CHANGE.format(99), {"verb": "pause"}).status_code == 404
    assert browser(outsider).post(CHANGE.format(ada.worker), {"verb": "pause"}).status_code == 404


def test_a_lead_may_leave_by_herself_once_there_is_another(leo: Membership, member: Callable[..., Membership]) -> None:
    client, form = browser(leo), {"verb": "deactivate"}
    answer = client.post(CHANGE.format(leo.worker), form, follow=True)
    assert "only active lead" in answer.content.decode()
    member("mina", "lead")
    answer = client.post(CHANGE.format(leo.worker), form, follow=True)
    assert answer.status_code == 200
    assert client.get("/campaigns/films/people/").status_code == 404


@pytest.mark.both_databases
def test_the_person_page_tells_hours_by_day_and_history(ada: Membership, leo: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    ada.pause(leo, "a <b>break</b>")
    page: Any = browser(leo).get(f"/campaigns/films/people/{ada.worker}/")
    assert [worked.judgements for _, worked in page.context["days"]] == [20]
    assert "a &lt;b&gt;break" in page.content.decode()


def test_pages_about_one_person_lead_to_each_other(ada: Membership, leo: Membership) -> None:
    one = reverse("person", args=["films", ada.worker])
    page = browser(leo).get(one).content.decode()
    for other in (
        reverse("agreement-annotator", args=["films", ada.worker]),
        reverse("check-pairs", args=["films", ada.worker, "all"]),
        f"{reverse('reopen', args=['films'])}?worker={ada.worker}",
    ):
        assert f'href="{other}"' in page
        assert browser(leo).get(other).status_code == 200
    assert f'href="{one}"' in browser(leo).get(reverse("checks", args=["films"])).content.decode()


@pytest.mark.parametrize("page", ["person", "agreement-annotator", "check-pairs", "messages", "reopenings", "steering"])
def test_headings_and_choices_name_a_person_in_one_way(page: str, ada: Membership, leo: Membership) -> None:
    about: dict[str, list[int | str]] = {
        "check-pairs": [ada.worker, "all"],
        "person": [ada.worker],
        "agreement-annotator": [ada.worker],
    }
    found = browser(leo).get(reverse(page, args=["films", *about.get(page, [])])).content.decode()
    element = re.search(rf"<(h1|option[^>]*)>([^<]*\b{ada.worker}\b.*?)</", found, re.S)
    assert element
    words = re.sub(r"<[^>]*>", "", element[2]).split()
    assert words == ["Worker", f"{ada.worker}:", "ada"]
