"""Coming in by a link: once, in time, and without a trace of the link's secret."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from accounts.invitations import sign_up
from base.errors import Gone, WrongState
from campaigns.models import Applicant, Campaign, Invitation, Membership
from judging.review import decisions
from tests.cast import browser, days_left
from tests.terminal import printed, refused
from tests.together import at_once

Answer = Any
FORM = {"username": "nora", "password1": "a-long-word-7", "password2": "a-long-word-7"}
WEEK = timedelta(days=7)


@pytest.fixture
def made(campaign: Campaign, leo: Membership) -> tuple[Invitation, str]:
    return campaign.invite("annotator", leo, WEEK)


def opened(client: Client, secret: str) -> Answer:
    return client.get(reverse("invitation", args=[secret]), follow=True)


def join(client: Client, form: dict[str, str] | None = None) -> Answer:
    return client.post(reverse("join"), FORM if form is None else form, follow=True)


def test_a_link_makes_an_account_and_a_member_and_signs_in(made: tuple[Invitation, str]) -> None:
    invitation, secret = made
    client = Client()
    page = opened(client, secret)
    assert "You are invited to join as annotator" in page.content.decode()
    assert 0.99 < days_left(client) <= 1
    answer = join(client)
    assert answer.status_code == 200
    assert "Welcome to films" in answer.content.decode()
    nora = Membership.objects.get(user__username="nora")
    assert (nora.role, nora.state, nora.worker) == ("annotator", "active", 2)
    assert nora.user.check_password(FORM["password1"])
    assert nora.events.get().by == invitation.by
    invitation.refresh_from_db()
    assert (invitation.used_by, bool(invitation.used)) == (nora.user, True)
    assert 13.99 < days_left(client) <= 14


def test_a_signed_in_person_joins_by_one_button(made: tuple[Invitation, str], outsider: User) -> None:
    client = browser(outsider)
    assert "Join as oda" in opened(client, made[1]).content.decode()
    assert not Membership.objects.filter(user=outsider).exists()
    assert "Welcome" in join(client, {}).content.decode()
    assert Membership.objects.get(user=outsider).role == "annotator"


def test_who_has_an_account_signs_in_on_the_way(made: tuple[Invitation, str], outsider: User) -> None:
    outsider.set_password("a-long-word-7")
    outsider.save()
    client = Client()
    assert "/sign-in/?next=/invitation/" in opened(client, made[1]).content.decode()
    form = {"username": "oda", "password": "a-long-word-7", "next": "/invitation/"}
    assert "Join as oda" in client.post("/sign-in/", form, follow=True).content.decode()


def test_a_member_already_learns_so_and_uses_nothing_up(made: tuple[Invitation, str], ada: Membership) -> None:
    answer = opened(browser(ada), made[1])
    assert "already a member" in answer.content.decode()
    assert made[0].accept(ada.user) == ada
    assert Invitation.objects.open().count() == 1


@pytest.mark.parametrize("role", ["annotator", "researcher", "lead"])
def test_who_would_see_what_they_judge_is_refused_and_uses_nothing_up(
    role: str, campaign: Campaign, ada: Membership, leo: Membership
) -> None:
    other = Campaign.objects.create(name="other", corpus=campaign.corpus)
    invitation, secret = other.invite(role, None, WEEK)
    client = browser(leo if role == "annotator" else ada)
    assert opened(client, secret).status_code == 200
    answer = join(client, {})
    assert answer.status_code == 409
    assert "over the same corpus" in answer.content.decode()
    assert not other.memberships.exists()
    assert invitation.is_open


def test_who_left_does_not_come_back_by_a_link(made: tuple[Invitation, str], ada: Membership) -> None:
    decisions.deactivate(ada, None, "")
    opened(browser(ada), made[1])
    assert Membership.objects.get(pk=ada.pk).state == Membership.State.LEFT


def expired(invitation: Invitation) -> None:
    Invitation.objects.filter(pk=invitation.pk).update(expires="2020-01-01T00:00Z")


def used(invitation: Invitation) -> None:
    invitation.accept(User.objects.create(username="first"))


@pytest.mark.parametrize(
    ("end", "words"), [(expired, "has expired"), (Invitation.withdraw, "was withdrawn"), (used, "was used already")]
)
def test_a_link_that_has_ended_says_so(
    end: Callable[[Invitation], None], words: str, made: tuple[Invitation, str]
) -> None:
    client = Client()
    opened(client, made[1])
    end(made[0])
    for answer in (opened(client, made[1]), join(client)):
        assert answer.status_code == 410
        assert words in answer.content.decode()
        assert "Ask your lead for a new link" in answer.content.decode()
    assert not User.objects.filter(username="nora").exists()


@pytest.mark.parametrize("secret", ["x", "x" * 43, "%00", "é" * 9, "x" * 900])
def test_a_guessed_link_opens_nothing(secret: str, made: tuple[Invitation, str]) -> None:
    client = Client()
    answer = client.get(f"/invitations/{secret}", follow=True)
    assert answer.status_code == 404
    assert "no such invitation" in answer.content.decode()
    assert join(client).status_code == 404
    assert join(Client()).status_code == 404
    assert not Session.objects.exists()


def test_a_guess_takes_the_place_of_the_link_before(made: tuple[Invitation, str]) -> None:
    client = Client()
    assert opened(client, made[1]).status_code == 200
    assert opened(client, "x" * 43).status_code == 404


@pytest.mark.parametrize(
    "bad",
    [
        {"password2": "another-word-7"},
        {"password1": "short", "password2": "short"},
        {"password1": "password123", "password2": "password123"},
        {"username": "ada"},
        {"username": ""},
        {"username": "a\0b"},
        {"username": "x" * 151},
    ],
)
def test_a_bad_form_makes_nothing_and_keeps_the_link(
    bad: dict[str, str], made: tuple[Invitation, str], ada: Membership
) -> None:
    client = Client()
    opened(client, made[1])
    answer = join(client, FORM | bad)
    assert answer.status_code == 200
    assert 'role="alert"' in answer.content.decode()
    assert not User.objects.filter(username="nora").exists()
    assert Invitation.objects.open().count() == 1


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_other_methods_join_nobody(method: str, made: tuple[Invitation, str], outsider: User) -> None:
    client = browser(outsider)
    opened(client, made[1])
    assert getattr(client, method)(reverse("join")).status_code == 405
    assert client.get(reverse("join")).status_code == 200
    assert not Membership.objects.filter(user=outsider).exists()


def test_joining_twice_is_harmless(made: tuple[Invitation, str]) -> None:
    client = Client()
    opened(client, made[1])
    join(client)
    assert opened(client, made[1]).status_code == 200
    assert Membership.objects.filter(user__username="nora").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_fifty_who_open_it_at_once_one_comes_in(made: tuple[Invitation, str]) -> None:
    came = at_once(*[partial(sign_up, made[0], f"person{n}", hashed="!") for n in range(50)])
    assert sum(not isinstance(each, Gone) for each in came) == 1
    assert User.objects.filter(username__startswith="person").count() == 1
    assert Membership.objects.filter(user__username__startswith="person").count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_invitations_of_one_person_at_once_make_one_member(
    campaign: Campaign, leo: Membership, outsider: User
) -> None:
    both = [campaign.invite(role, leo, WEEK)[0] for role in ("annotator", "researcher")]
    at_once(*(partial(each.accept, outsider) for each in both * 4))
    assert campaign.memberships.filter(user=outsider).count() == 1
    assert Invitation.objects.exclude(used=None).count() == 1


@pytest.mark.parametrize("role", ["lead", "researcher", "annotator"])
def test_who_leads_no_longer_lets_nobody_see_all(
    role: str, campaign: Campaign, leo: Membership, member: Callable[..., Membership], outsider: User
) -> None:
    """What a lead prepared before losing the role opens nothing. Annotators who were invited come all the same."""
    lea = member("lea", "lead")
    invitation, secret = campaign.invite(role, lea, WEEK)
    lea.change_role("researcher", leo, "has finished")
    answer = browser(outsider).get(reverse("invitation", args=[secret]), follow=True)
    if role == "annotator":
        assert invitation.accept(outsider)
        return
    assert (answer.status_code, "leads the campaign no longer" in answer.content.decode()) == (410, True)
    with pytest.raises(Gone):
        invitation.accept(outsider)


def test_the_secret_is_in_no_log_no_table_and_no_later_address(
    made: tuple[Invitation, str], caplog: pytest.LogCaptureFixture, leo: Membership
) -> None:
    secret, client = made[1], Client(enforce_csrf_checks=True)
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "django.db.backends")
    for method in ("delete", "post", "put", "get"):
        answer = getattr(client, method)(reverse("invitation", args=[secret]))
        assert (answer.status_code, answer["Location"]) == (302, "/invitation/")
        assert answer["Referrer-Policy"] == "same-origin"
        assert "no-store" in answer["Cache-Control"]
    client.handler.enforce_csrf_checks = False
    page = join(client)
    assert secret not in page.content.decode()
    client.get(reverse("join"))
    assert secret not in caplog.text
    kept = [str(session.get_decoded()) for session in Session.objects.all()]
    assert secret not in str(kept) + str(list(Invitation.objects.values()))


def test_the_lead_sees_a_link_once_and_can_withdraw_it(leo: Membership) -> None:
    client = browser(leo)
    page = client.post(reverse("invite", args=["films"]), {"role": "researcher", "hours": "1"})
    link = page.context["link"]
    assert page.content.decode().count(link) == 1
    assert "no-store" in page["Cache-Control"]
    assert link not in client.get(reverse("annotators", args=["films"])).content.decode()
    invitation = Invitation.objects.get()
    address = reverse("invitation-withdraw", args=["films", invitation.pk])
    for _ in range(2):
        assert client.post(address, follow=True).status_code == 200
    assert not Invitation.objects.open().exists()
    assert Client().get(link.replace("http://testserver", ""), follow=True).status_code == 410


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"role": "king", "hours": "24"}, "role"),
        ({"hours": "24"}, "role"),
        ({"role": "lead", "hours": "0"}, "hours"),
        ({"role": "lead", "hours": "721"}, "hours"),
        ({"role": "lead", "hours": "-1"}, "hours"),
        ({"role": "lead", "hours": "²"}, "hours"),
        ({"role": "lead"}, "hours"),
        ({"role": "lead", "hours": "24", "people": "501"}, "people"),
    ],
)
def test_an_impossible_invitation_is_refused_by_field(form: dict[str, str], field: str, leo: Membership) -> None:
    answer = browser(leo).post(reverse("invite", args=["films"]), form)
    assert (answer.status_code, [*answer.context["link_form"].errors]) == (400, [field])
    assert not Invitation.objects.exists()


def test_a_lead_withdraws_only_what_is_hers(made: tuple[Invitation, str], outsider: User) -> None:
    other = Campaign.objects.create(name="other", corpus=made[0].campaign.corpus)
    client = browser(other.add_member(outsider, "lead"))
    assert client.post(reverse("invitation-withdraw", args=["other", made[0].pk])).status_code == 404
    assert Invitation.objects.open().count() == 1


def test_the_first_lead_comes_in_from_the_terminal(campaign: Campaign) -> None:
    line = printed("invite", "films", "--role", "lead", "--address", "https://judge.example.org/")
    assert line.startswith("https://judge.example.org/invitations/")
    client = Client()
    opened(client, line.strip().rsplit("/", 1)[1])
    assert join(client).redirect_chain[-1][0] == "/campaigns/films/"
    assert "not found; expected one of: films" in refused("invite", "nowhere")
    assert "1 to 30" in refused("invite", "films", "--days", "31")


# A link for several people, who wait for a lead ---------------------------------------------------------------
@pytest.fixture
def open_door(campaign: Campaign, leo: Membership) -> tuple[Invitation, str]:
    return campaign.invite("annotator", leo, WEEK, places=2)


def test_who_follows_a_link_for_several_waits_for_a_lead(open_door: tuple[Invitation, str], leo: Membership) -> None:
    client = Client()
    assert "A lead lets you in" in opened(client, open_door[1]).content.decode()
    page = join(client).content.decode()
    assert "A lead of it decides" in page
    assert not Membership.objects.filter(user__username="nora").exists()
    assert "have asked to join films before" in opened(client, open_door[1]).content.decode()
    assert client.get(reverse("campaign", args=["films"])).status_code == 404
    [applicant] = Applicant.objects.all()
    lead, address = browser(leo), reverse("applicant", args=["films", applicant.pk])
    for _ in range(2):
        assert "nora has joined" in lead.post(address, {"action": "approve"}, follow=True).content.decode()
    nora = Membership.objects.get(user__username="nora")
    assert (nora.role, nora.events.get().by) == ("annotator", leo)
    assert "joined already" in lead.post(address, {"action": "refuse"}, follow=True).content.decode()
    assert "decides" not in client.get(reverse("work")).content.decode()


def test_who_is_refused_learns_it_frees_the_place_and_stays_refused(
    open_door: tuple[Invitation, str], leo: Membership, outsider: User
) -> None:
    invitation = open_door[0]
    for name in ("first", "second"):
        sign_up(invitation, name, hashed="!")
    with pytest.raises(Gone, match="As many people"):
        invitation.accept(outsider)
    first = Applicant.objects.get(user__username="first")
    for _ in range(2):
        first.refuse(leo)
    with pytest.raises(WrongState, match="refused before"):
        first.approve(leo)
    assert "has decided that you do not join it" in browser(first.user).get(reverse("work")).content.decode()
    assert invitation.accept(outsider) is None
    assert invitation.accept(first.user) is None
    assert Applicant.objects.waiting().count() == 2


def test_the_checks_of_an_invitation_hold_when_one_asks_and_when_one_is_let_in(
    open_door: tuple[Invitation, str], campaign: Campaign, leo: Membership, outsider: User
) -> None:
    other = Campaign.objects.create(name="other", corpus=campaign.corpus)
    with pytest.raises(WrongState, match="same corpus"):
        other.invite("annotator", None, WEEK, places=2)[0].accept(leo.user)
    open_door[0].accept(outsider)
    other.add_member(outsider, "researcher")  # meanwhile
    with pytest.raises(WrongState, match="same corpus"):
        Applicant.objects.get().approve(leo)
    assert Applicant.objects.waiting().exists()
    assert not campaign.memberships.filter(user=outsider).exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_who_ask_at_once_no_more_than_the_places_wait(open_door: tuple[Invitation, str]) -> None:
    came = at_once(*[partial(sign_up, open_door[0], f"person{n}", hashed="!") for n in range(12)])
    assert sum(not isinstance(each, Gone) for each in came) == 2
    assert Applicant.objects.count() == User.objects.filter(username__startswith="person").count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_leads_who_decide_at_once_make_one_member(
    open_door: tuple[Invitation, str], leo: Membership, outsider: User
) -> None:
    open_door[0].accept(outsider)
    applicant = Applicant.objects.get()
    at_once(*[partial(applicant.approve, leo) for _ in range(6)])
    assert open_door[0].campaign.memberships.get(user=outsider).events.count() == 1


# Links of named people ------------------------------------------------------------------------------------------
NAMES = "name;role;address;group\nNora Nilsson;;nora@example.org;east\nEmil;researcher\n"


def named(leo: Membership, **fields: Any) -> Answer:
    form = {"people": NAMES, "way": "links", "role": "annotator", "group": "west", "hours": "24"} | fields
    return browser(leo).post(reverse("invite-people", args=["films"]), form, follow=True)


def test_named_people_get_links_that_stay_until_they_are_used(leo: Membership) -> None:
    page = named(leo)
    assert "Links made: 2" in page.content.decode()
    links = {row.name: address for row, address in page.context["invited"]}
    rows = {each.name: (each.address, each.group, each.role) for each in Invitation.objects.all()}
    assert rows == {"Nora Nilsson": ("nora@example.org", "east", "annotator"), "Emil": ("", "west", "researcher")}
    secrets = [link.rsplit("/", 1)[1] for link in links.values()]
    assert not any(secret in repr([*Invitation.objects.values()]) for secret in secrets)
    file = browser(leo).get(reverse("links-csv", args=["films"])).content.decode()
    assert f"Nora Nilsson,nora@example.org,east,annotator,{links['Nora Nilsson']}," in file
    client = Client()
    opened(client, links["Nora Nilsson"].rsplit("/", 1)[1])
    join(client)
    # A lead knew the link, so it proves no address.
    assert not EmailAddress.objects.exists()
    page = browser(leo).get(reverse("annotators", args=["films"]) + "?drawer=invitations")
    invited = {row.name: (row.stage, row.group, address) for row, address in page.context["invited"]}
    assert invited == {"Emil": ("made", "west", links["Emil"])}
    groups = {row.name: row.member.group for row in page.context["listed"].lines}
    assert groups == {"leo": "", "nora": "east"}


def test_the_same_list_twice_makes_no_second_links(leo: Membership) -> None:
    named(leo)
    again = named(leo)
    assert (again.status_code, Invitation.objects.count()) == (400, 2)
    assert "has an open invitation" in again.content.decode()


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"people": "Nora, nora@"}, "Line 1: &quot;nora@&quot;; expected a mail address"),
        ({"people": "Nora, , east, king"}, "is to be &quot;king&quot;; expected one of annotator, lead, researcher"),
        ({"people": "Nora, , east, lead, more"}, "Line 1: 5 columns; expected name, address, group, role"),
        ({"people": "Nora\nnora"}, "is in line 1 already"),
        ({"people": "Nora,," + "x" * 41}, "a group of at most 40"),
        ({"way": "mail", "people": "Nora, nora@example.org"}, "EMAIL_URL"),
    ],
)
def test_a_list_that_is_wrong_makes_no_link(fields: dict[str, Any], fault: str, leo: Membership) -> None:
    answer = named(leo, **fields)
    assert answer.status_code in (400, 409)
    assert fault in answer.content.decode()
    assert not Invitation.objects.exists()


def test_the_page_of_a_list_that_is_wrong_comes_with_the_focus_on_its_field(leo: Membership) -> None:
    assert " autofocus" not in browser(leo).get(reverse("annotators", args=["films"])).content.decode()
    page = named(leo, people="Nora, nora@").content.decode()
    assert re.findall(r'<(?:textarea|select|input) [^>]*name="(\w+)"[^>]* autofocus', page) == ["people"]
    assert page.count(" autofocus") == 1


def test_the_lines_of_a_table_may_name_their_columns(leo: Membership) -> None:
    named(leo, people='\ufeffName,Group\n"Nilsson, Nora",east\n')
    assert [*Invitation.objects.values_list("name", "group")] == [("Nilsson, Nora", "east")]
