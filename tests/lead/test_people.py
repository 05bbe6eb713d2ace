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

from campaigns.models import Campaign, Membership, Message
from judging.models import Assignment, Batch, Revision, Sitting
from reports.campaign_summaries import PEOPLE, current_summary
from reports.tables.annotators import AnnotatorLine
from reports.tables.people import is_idle, people_rows
from tests.campaigns.test_membership import again, happened
from tests.cast import browser, claim, content_of, judge_all, make_query
from tests.tampering import tampering

CHANGE = "/campaigns/films/annotators/{}/change"


def test_the_table_shows_what_everybody_did(batch: Batch, ada: Membership, leo: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    with tampering():
        Revision.objects.update(seconds=180.0)
    page = browser(leo).get("/campaigns/films/annotators/")
    rows = {row.name: row for row in page.context["listed"].lines}
    assert (rows["ada"].done, rows["ada"].week, rows["ada"].hours, rows["ada"].seen) == (20, 20, 1.0, 0)
    assert (rows["leo"].done, rows["leo"].seen) == (0, None)
    assert f'href="/campaigns/films/annotators/{ada.worker}/"' in page.content.decode()


def test_the_table_asks_as_much_for_many_as_for_few(leo: Membership, member: Callable[..., Membership]) -> None:
    client = browser(leo)

    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/campaigns/films/annotators/").status_code == 200
        return len(queries)

    judge_all(claim(member("a0")), lambda candidate: 2)
    few = statements()
    for number in range(1, 13):
        make_query(leo.campaign, f"more {number}", f"Query {number}.")
        judge_all(claim(member(f"a{number}")), lambda candidate: 2, submit=number % 2 == 0)
        leo.campaign.invite("annotator", leo, timedelta(days=1))
    assert statements() == few <= 15


@pytest.mark.both_databases
def test_people_are_chosen_and_sorted_in_the_api(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    Membership.objects.filter(pk=bob.pk).update(group="night")
    leo.campaign.invite_person(
        "annotator", leo, timedelta(days=1), address="nora@example.org", name="Nora", group="night"
    )
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
        answer = browser(leo).get(f"/api/v1/campaigns/films/people?{address}")
        assert answer.status_code == (200 if expected else 400)
        assert [each["name"] for each in answer.json().get("people", [])] == expected


@pytest.mark.both_databases
def test_annotators_are_chosen_sorted_and_written_as_files(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership
) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    Membership.objects.filter(pk=bob.pk).update(group="night", state="left")
    client = browser(leo)
    cases = {
        "role=lead": ["leo"],
        "group=night": ["bob"],
        "state=left&view=quality": ["bob"],
        "sort=-days&view=limits": ["ada", "bob", "leo"],
        "sort=-name&role=annotator": ["bob", "ada"],
        "role=king": [],
    }
    for address, expected in cases.items():
        page = client.get(f"/campaigns/films/annotators/?{address}")
        assert [row.name for row in page.context["listed"].lines] == expected, address
        assert page.status_code == (200 if expected else 400)
    file = content_of(client.get("/campaigns/films/annotators/?role=annotator&format=csv")).decode()
    header, *lines = file.splitlines()
    assert header.startswith("worker,name,role,state,group,days,today")
    assert [line.split(",")[1] for line in lines] == ["ada", "bob"]


def test_the_funnel_counts_who_came_how_far(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> None:
    Campaign.objects.update(exam=True)
    Membership.objects.filter(pk=ada.pk).update(qualified=timezone.now())
    judge_all(claim(ada), lambda candidate: 2)
    opened, _ = (
        leo.campaign.invite_person("annotator", leo, timedelta(days=1), name=name, by_hand=True)
        for name in ("Nora", "Emil")
    )
    opened.note_opened()
    leo.campaign.invite("annotator", leo, timedelta(days=1), places=3)[0].accept(User.objects.create(username="amy"))
    page = browser(leo).get("/campaigns/films/annotators/")
    assert [number for _, number in page.context["steps"]] == [4, 3, 2, 1, 1]
    assert "1 asks to join" in page.content.decode()


def test_the_tick_opens_a_drawer_that_shows_what_it_leads_to(batch: Batch, ada: Membership, leo: Membership) -> None:
    client, address = browser(leo), "/campaigns/films/annotators/"
    ticked = {"which": "ticked", "row": [ada.worker], "verb": "limits", "view": "view=limits"}
    opened = client.post(f"{address}tick", ticked)
    assert opened["Location"] == f"{address}?view=limits&drawer=limits&who={ada.worker}"
    assert "ada" in client.get(opened["Location"]).content.decode()
    preview = client.get(f"{opened['Location']}&most_a_day=100").content.decode()
    assert "100 a day" in preview
    assert again(ada).most_a_day is None
    client.post(f"{address}steer/limits?view=limits", {"who": str(ada.worker), "most_a_day": "100"})
    assert again(ada).most_a_day == 100
    everybody = client.post(f"{address}tick", {"which": "all", "verb": "pause", "view": "role=annotator"})
    assert everybody["Location"].endswith(f"drawer=pause&who={ada.worker}")


def test_several_are_written_to_and_paused_at_once(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    client, who = browser(leo), f"{ada.worker},{bob.worker}"
    client.post("/campaigns/films/annotators/steer/message", {"who": who, "text": "Well done."})
    assert {message.to for message in Message.objects.all()} == {ada, bob}
    refused = client.post("/campaigns/films/annotators/steer/pause", {"who": who})
    assert refused.status_code == 400
    client.post("/campaigns/films/annotators/steer/pause", {"who": who, "reason": "A break."})
    assert [again(person).state for person in (ada, bob, cleo)] == ["paused", "paused", "active"]
    reopening = client.get("/campaigns/films/annotators/", {"drawer": "reopen", "who": who}).content.decode()
    assert f'name="worker" value="{bob.worker}"' in reopening


@pytest.mark.parametrize(
    ("numbers", "slips"),
    [
        ({"severity": 0.3, "severity_low": 0.1, "severity_high": 0.5}, ["mild"]),
        ({"severity": -0.3, "severity_low": -0.5, "severity_high": -0.1}, ["severe"]),
        ({"severity": 0.3, "severity_low": -0.1, "severity_high": 0.7}, []),
        ({"severity": 0.2, "severity_low": 0.1, "severity_high": 0.3}, []),
    ],
)
def test_who_is_surely_severe_or_mild_needs_a_word(numbers: dict[str, float], slips: list[str]) -> None:
    assert AnnotatorLine(Membership(campaign=Campaign()), model=numbers).slips == slips


def test_who_surely_agrees_less_than_all_needs_a_word() -> None:
    member = Membership(campaign=Campaign())
    assert AnnotatorLine(member, agreement={"alpha": 0.3, "alpha_high": 0.38}, lowest=0.39).slips == ["low α"]
    assert AnnotatorLine(member, agreement={"alpha": 0.3, "alpha_high": 0.4}, lowest=0.39).slips == []


def test_the_api_says_how_far_each_has_come(
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
    assert [(row.name, str(row.stage)) for row in people_rows(campaign, current_summary(campaign, PEOPLE))] == [
        ("amy", "asks"),
        *(("ada", "idle"), ("bob", "paused"), ("cleo", "joined"), ("dan", "joined"), ("leo", "joined")),
        *(("", "made"), ("lia", "expired"), ("emil", "sending"), ("nora", "opened")),
    ]
    Batch.objects.update(state=Batch.State.REVIEWED)
    rows = people_rows(campaign, current_summary(campaign, PEOPLE))
    assert "idle" not in [str(row.stage) for row in rows]  # nobody is, where nothing is to do


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
    assert {member.user.username for member in Membership.objects.filter(is_idle())} == {"cleo", "dan"}


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
    assert client.get(f"/campaigns/films/annotators/{ada.worker}/").status_code == 200


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
    assert client.get("/campaigns/films/annotators/").status_code == 404


@pytest.mark.both_databases
def test_the_person_page_tells_hours_by_day_and_history(ada: Membership, leo: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    ada.pause(leo, "a <b>break</b>")
    page: Any = browser(leo).get(f"/campaigns/films/annotators/{ada.worker}/")
    assert [worked.judgements for _, worked in page.context["days"]] == [20]
    assert "a &lt;b&gt;break" in page.content.decode()


def test_one_page_has_all_about_a_person_and_researchers_see_no_work_of_it(
    ada: Membership, leo: Membership, member: Callable[..., Membership]
) -> None:
    address = reverse("annotator", args=["films", ada.worker])
    for view in ("work", "agreement", "checks", "exam"):
        answer = browser(leo).get(address, {"view": view})
        assert answer.status_code == 200
        assert f'href="?view={view}" aria-current="page"' in answer.content.decode()
    rio = browser(member("rio", "researcher"))
    assert [rio.get(address, {"view": view}).status_code for view in ("work", "checks")] == [404, 404]
    assert [rio.get(address, {"view": view}).status_code for view in ("", "agreement", "exam")] == [200, 200, 200]


@pytest.mark.parametrize("page", ["annotator", "inbox?view=messages", "activity?view=reopened"])
def test_headings_and_choices_name_a_person_in_one_way(page: str, ada: Membership, leo: Membership) -> None:
    about, (name, _, query) = [ada.worker] if page == "annotator" else [], page.partition("?")
    found = browser(leo).get(f"{reverse(name, args=['films', *about])}?{query}").content.decode()
    element = re.search(rf"<(h1|option[^>]*)>([^<]*\b{ada.worker}\b.*?)</", found, re.S)
    assert element
    words = re.sub(r"<[^>]*>", "", element[2]).split()
    assert words == ["Worker", f"{ada.worker}:", "ada"]
