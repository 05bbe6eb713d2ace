"""Whoever finds nothing to judge can be told once when there is something: by a mail, or by the open page."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db.models.functions import Now
from django.urls import reverse
from playwright.sync_api import Browser, expect

from campaigns.models import Campaign, Membership
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch
from judging.quality.exam import set_exam
from judging.work import claiming
from tests.api.asking import Program
from tests.browsing import Person, make_campaign, wait_until_open
from tests.cast import browser, claim, expire, judge_all, make_query, settle
from tests.installation import Installation

TELL, STOP = "Tell me when there is work", "Do not tell me"


@pytest.fixture
def nothing_to_do(batch: Batch, ada: Membership, bob: Membership) -> Membership:
    """Ada, when all is judged."""
    settle(batch, ada, bob)
    ada.refresh_from_db()
    return ada


@pytest.fixture
def post(settings: Any, ada: Membership) -> Any:
    """Mails are sent, and Ada has an address."""
    settings.MAILS = True
    EmailAddress.objects.create(user=ada.user, email="ada@example.org", verified=True)
    return mail.outbox


def home(who: Membership) -> str:
    return browser(who).get(reverse("work")).content.decode()


def wait(who: Membership, **form: str) -> None:
    answer = browser(who).post(reverse("wait", args=["films"]), form, HTTP_ACCEPT_LANGUAGE="hi")
    assert (answer.status_code, answer["Location"]) == (302, reverse("work"))


def news(who: Membership) -> Any:
    return browser(who).post(reverse("news", args=["films"]), HTTP_ACCEPT="application/json").json()


def look_again() -> None:
    """Let the job that waits run once more."""
    Job.objects.filter(kind="tell-of-work").update(due=Now())
    work_off(StringIO())


def test_it_is_offered_to_whoever_finds_nothing(batch: Batch, ada: Membership, bob: Membership) -> None:
    assert TELL not in home(ada)
    settle(batch, ada, bob)
    assert TELL in home(ada)
    assert STOP not in home(ada)
    wait(ada)
    assert STOP in home(ada)
    wait(ada, stop="")
    assert TELL in home(ada)


def test_one_request_is_one_mail_in_her_language(
    campaign: Campaign, nothing_to_do: Membership, post: list[mail.EmailMessage]
) -> None:
    wait(nothing_to_do)
    wait(nothing_to_do)
    look_again()
    look_again()
    assert post == []
    job = Job.objects.get(kind="tell-of-work")
    assert (job.state, job.attempts, job.person) == (Job.State.WAITING, 0, nothing_to_do.user)
    make_query(campaign, "2", "A person stands up.")
    look_again()
    [sent] = post
    assert (sent.to, sent.subject) == (["ada@example.org"], "आपके लिए काम है")
    assert re.findall(r"http\S+", str(sent.body)) == ["http://testserver/judge/"]
    assert "stands up" not in str(sent.body)
    nothing_to_do.refresh_from_db()
    assert nothing_to_do.waits is None
    make_query(campaign, "3", "A person sits down again.")
    look_again()
    assert len(post) == 1
    assert Job.objects.get(kind="tell-of-work").state == Job.State.DONE


def test_who_stops_waiting_or_gets_a_batch_or_leaves_hears_nothing(
    campaign: Campaign, nothing_to_do: Membership, leo: Membership, post: list[mail.EmailMessage]
) -> None:
    wait(nothing_to_do)
    wait(nothing_to_do, stop="")
    make_query(campaign, "2", "A person stands up.")
    look_again()
    wait(nothing_to_do)
    held = claim(nothing_to_do)
    nothing_to_do.refresh_from_db()
    assert nothing_to_do.waits is None
    judge_all(held, lambda candidate: 2)
    wait(nothing_to_do)
    nothing_to_do.leave(leo, "has moved")
    make_query(campaign, "3", "A person sits down again.")
    look_again()
    assert post == []


def test_without_a_mail_the_open_page_learns_it_once(campaign: Campaign, nothing_to_do: Membership) -> None:
    assert news(nothing_to_do) == {"work": False, "waits": False}
    wait(nothing_to_do)
    assert not Job.objects.filter(kind="tell-of-work").exists()
    assert f'data-news="{reverse("news", args=["films"])}"' in home(nothing_to_do)
    assert news(nothing_to_do) == {"work": False, "waits": True}
    make_query(campaign, "2", "A person stands up.")
    assert news(nothing_to_do) == {"work": True, "waits": False}
    assert news(nothing_to_do) == {"work": False, "waits": False}


def test_a_batch_that_somebody_let_lapse_is_work(
    campaign: Campaign, batch: Batch, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    claim(bob)
    held = claim(cleo)
    wait(ada)
    assert news(ada) == {"work": False, "waits": True}
    expire(held)
    assert news(ada)["work"]


def test_an_exam_counts_too_and_a_pause_does_not(
    campaign: Campaign, batch: Batch, ada: Membership, leo: Membership
) -> None:
    Campaign.objects.update(exam=True)
    ada.campaign.refresh_from_db()
    assert not claiming.has_work(ada)
    Campaign.objects.update(exam=False)
    set_exam(campaign, seed=1, queries=1, depth=3)
    Batch.objects.update(state=Batch.State.OPEN)
    ada.campaign.refresh_from_db()
    assert claiming.has_work(ada)
    judge_all(claim(ada), lambda candidate: 2)
    assert not claiming.has_work(ada)
    ada.qualify(leo, "known")
    make_query(campaign, "2", "A person stands up.")
    ada.refresh_from_db()
    assert claiming.has_work(ada)
    ada.pause(leo, "a pause")
    ada.refresh_from_db()
    assert not claiming.has_work(ada)


def test_a_program_does_the_same(campaign: Campaign, nothing_to_do: Membership) -> None:
    program, address = Program(nothing_to_do), "campaigns/films/waiting"
    assert program.ask("PUT", address).status_code == 204
    assert program.post(address).json() == {"work": False, "waits": True}
    make_query(campaign, "2", "A person stands up.")
    assert program.post(address).json() == {"work": True, "waits": False}
    assert program.ask("PUT", address).status_code == program.ask("DELETE", address).status_code == 204
    assert program.post(address).json() == {"work": False, "waits": False}


STATE = "from judging.models import Batch; Batch.objects.filter(campaign__name='news').update(state='{}')"
NOTED = "window.shown = []; window.Notification = class { static permission = 'granted';"
NOTED += " constructor(words) { window.shown.push(words); } addEventListener() {} };"


def test_the_open_page_says_so_and_shows_a_notification(server: Installation, chromium: Browser) -> None:
    make_campaign(server, "news")
    wait_until_open(server, "news", 1)
    server.shell(STATE.format("preparing"))
    password = server.accounts("news", "annotator", "ada-news")["ada-news"]
    page = Person(server, chromium.new_context(), "ada-news", password).page
    page.add_init_script(NOTED)
    page.clock.install()
    page.click(f"text={TELL}")
    expect(page.locator("form.waiting p").first).to_contain_text("Leave it open")
    with page.expect_response("**/news"):
        page.clock.run_for(61_000)
    server.shell(STATE.format("open"))
    page.clock.run_for(60_000)
    expect(page.locator("form.waiting .message")).to_have_text("There is work for you")
    page.wait_for_function("() => window.shown.length")
    assert page.evaluate("() => window.shown") == ["There is work for you"]
    expect(page).to_have_title("There is work for you")
