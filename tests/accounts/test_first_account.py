"""The first account is made in the browser, by a link that works once; its holder lets others create campaigns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from accounts.invitations import first_account_lines
from accounts.models import FirstLink
from base.errors import Gone
from campaigns.access import corpora_open_to, let_create, may_create_campaigns
from campaigns.models import Campaign, Membership
from corpus.models import Corpus
from tests.cast import browser
from tests.terminal import printed, refused
from tests.together import at_once

FORM = {"username": "nora", "password1": "a-long-word-7", "password2": "a-long-word-7"}
SITE = "http://127.0.0.1:8000"


def link() -> str:
    """The path of the link that a starting server prints."""
    path = first_account_lines(SITE)[-1].strip()
    assert path.startswith(SITE)
    return path.removeprefix(SITE)


@pytest.mark.django_db
def test_the_link_makes_an_account_that_may_create_campaigns() -> None:
    client = Client()
    page = client.get(link(), follow=True)
    assert page.redirect_chain == [(reverse("first-account"), 302)]
    answer = client.post(reverse("first-account"), FORM, follow=True)
    assert "Create your first campaign" in answer.content.decode()
    assert answer.redirect_chain[-1][0] == reverse("campaigns")
    nora = User.objects.get()
    assert nora.check_password(FORM["password1"])
    assert may_create_campaigns(nora)
    assert not FirstLink.objects.exists()


@pytest.mark.django_db
def test_it_works_once_and_only_while_there_is_no_account() -> None:
    first, second = Client(), Client()
    address = link()
    for client in (first, second):
        client.get(address)
    first.post(reverse("first-account"), FORM)
    assert second.post(reverse("first-account"), FORM | {"username": "olga"}).status_code == 404
    assert Client().get(address, follow=True).status_code == 404
    assert User.objects.count() == 1
    assert first_account_lines(SITE) == []


@pytest.mark.django_db
def test_a_link_ends_after_a_day_and_a_guess_opens_nothing() -> None:
    address = link()
    assert Client().get(reverse("first-link", args=["guess"]), follow=True).status_code == 404
    FirstLink.objects.update(at=Now() - timedelta(days=1, seconds=1))
    assert Client().get(address, follow=True).status_code == 404
    link()
    assert FirstLink.objects.count() == 1  # the old one is gone


@pytest.mark.django_db
def test_the_secret_is_stored_nowhere() -> None:
    secret = link().rpartition("/")[2]
    assert secret not in str(FirstLink.objects.values())
    client = Client()
    client.get(reverse("first-link", args=[secret]))
    assert secret not in str(dict(client.session))


@pytest.mark.django_db
def test_a_bad_form_makes_nothing_and_says_why() -> None:
    client = Client()
    client.get(link())
    answer = client.post(reverse("first-account"), FORM | {"password1": "short", "password2": "short"})
    assert answer.status_code == 400
    assert "12 characters" in answer.content.decode()
    assert not User.objects.exists()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_of_two_who_hurry_one_makes_the_account() -> None:
    links = [FirstLink.objects.create(hash=str(number)) for number in range(8)]
    made = at_once(*(partial(each.make_account, f"user-{each.hash}", "!") for each in links))
    assert User.objects.count() == 1
    assert sum(isinstance(each, Gone) for each in made) == len(links) - 1


def test_a_command_gives_the_permission_and_takes_it(outsider: User) -> None:
    assert not may_create_campaigns(outsider)
    assert "may create" in printed("let_create_campaigns", "oda")
    assert may_create_campaigns(User.objects.get(username="oda"))
    printed("let_create_campaigns", "oda", "--no-longer")
    assert not may_create_campaigns(User.objects.get(username="oda"))
    assert "nobody has this name" in refused("let_create_campaigns", "nobody")
    User.objects.filter(username="oda").update(is_superuser=True)
    assert "first account" in refused("let_create_campaigns", "oda", "--no-longer")


def test_who_may_create_lets_another_lead_create_but_no_annotator(
    leo: Membership, ada: Membership, member: Callable[..., Membership]
) -> None:
    rio = member("rio", "researcher")
    let_create(leo.user)
    client = browser(leo)
    address = partial(reverse, "annotator-creates")
    assert client.post(address(args=["films", ada.worker]), {"may": "yes"}).status_code == 404
    assert "Let this person create" in client.get(reverse("annotator", args=["films", rio.worker])).content.decode()
    for may in ("yes", "yes", "no", "no"):
        assert client.post(address(args=["films", rio.worker]), {"may": may}).status_code == 302
        assert may_create_campaigns(User.objects.get(username="rio")) is (may == "yes")
    assert client.post(address(args=["films", rio.worker]), {"may": "perhaps"}).status_code == 400
    assert not may_create_campaigns(User.objects.get(username="ada"))


def test_nobody_becomes_a_lead_over_a_corpus_that_they_judge(campaign: Campaign, ada: Membership) -> None:
    other = Corpus.objects.create(name="plays", format="tvr")
    let_create(ada.user)
    user = User.objects.get(pk=ada.user_id)
    assert list(corpora_open_to(user)) == [other]
    Membership.objects.filter(pk=ada.pk).update(state=Membership.State.LEFT)
    assert list(corpora_open_to(user)) == [other]  # a lead may take ada back


def test_who_may_create_needs_the_second_factor_that_leads_need(outsider: User, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    client = browser(outsider)
    assert client.get(reverse("campaigns")).status_code == 200
    let_create(outsider)
    assert reverse("mfa_index") in client.get(reverse("drafts"))["Location"]
    User.objects.filter(pk=outsider.pk).update(is_superuser=True)
    assert reverse("mfa_index") in client.get(reverse("drafts"))["Location"]
