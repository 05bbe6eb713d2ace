"""Signing in at a real provider of OpenID Connect, which runs in a process of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign, Invitation, Membership
from config import environment
from tests.accounts.test_second_factor import code_of, turned_on
from tests.cast import browser, days_left
from tests.openid_provider import CLIENT, PASSWORD, SECRET, free_port, provider

BACK = "http://testserver/sign-in/sso/back"
START = "/sign-in/sso"


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with provider(tmp_path_factory.mktemp("provider"), free_port(), BACK) as address:
        yield address


@pytest.fixture(autouse=True)
def _offered(issuer: str, settings: Any) -> None:
    settings.OIDC_ISSUER, settings.OIDC_NAME = issuer, "the lab"
    settings.SOCIALACCOUNT_PROVIDERS = environment.providers("the lab", issuer, CLIENT, SECRET)


def at_the_provider(name: str, address: str) -> str:
    """Sign in there, as the person's browser does; returns the address that leads back."""
    with httpx.Client(follow_redirects=False) as http:
        answer = http.get(address)
        site = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        answer = http.get(site + answer.headers["Location"])
        [token] = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', answer.text)
        form = {"login": name, "password": PASSWORD, "csrfmiddlewaretoken": token}
        answer = http.post(answer.url, data=form)
        answer = http.get(site + answer.headers["Location"])
        return str(answer.headers["Location"])


def sign_in(name: str, client: Client | None = None, **form: str) -> Any:
    client = client or Client()
    there = client.post(START, form)["Location"]
    return client.get(at_the_provider(name, there).removeprefix("http://testserver"), follow=True)


def words(answer: Any) -> str:
    return str(answer.content.decode())


@pytest.fixture
def nora(campaign: Campaign) -> User:
    """Somebody with an account here, whose address both sides have confirmed."""
    user = User.objects.create_user("nora-here", password=PASSWORD)
    EmailAddress.objects.create(user=user, email="nora@example.org", verified=True, primary=True)
    campaign.add_member(user, "annotator")
    return user


def test_who_has_the_same_confirmed_address_is_let_in_and_connected(nora: User) -> None:
    client = Client()
    answer = sign_in("nora", client, next="/judge/films/mine")
    assert answer.redirect_chain[-1][0] == "/judge/films/mine"
    assert "nora-here" in words(answer)
    assert SocialAccount.objects.get().user == nora
    nora.refresh_from_db()
    assert nora.check_password(PASSWORD)
    EmailAddress.objects.all().delete()  # from now on by the connection alone
    assert sign_in("nora").status_code == 200
    assert User.objects.count() == 1


def test_a_stranger_is_told_what_to_do_and_gets_no_account(nora: User) -> None:
    answer = sign_in("emil")
    assert answer.status_code == 403
    assert "There is no account here" in words(answer)
    assert "at the lab" in words(answer)
    assert (User.objects.count(), SocialAccount.objects.count()) == (1, 0)


@pytest.mark.parametrize("confirmed_here", [True, False])
def test_an_address_that_the_provider_has_not_confirmed_proves_nothing(
    campaign: Campaign, confirmed_here: bool
) -> None:
    user = User.objects.create_user("mallory-here", password=PASSWORD)
    EmailAddress.objects.create(user=user, email="mallory@example.org", verified=confirmed_here)
    assert sign_in("mallory").status_code == 403


def test_an_address_that_is_not_confirmed_here_proves_nothing(campaign: Campaign) -> None:
    """Else somebody could claim the address of another, wait, and share the account; and the password stays."""
    user = User.objects.create_user("claims", password=PASSWORD, email="emil@example.org")
    EmailAddress.objects.create(user=user, email="emil@example.org", verified=False)
    assert sign_in("emil").status_code == 403
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_who_opens_an_invitation_gets_an_account(campaign: Campaign, leo: Membership) -> None:
    _, secret = campaign.invite("annotator", leo, timedelta(days=1))
    client = Client()
    page = client.get(reverse("invitation", args=[secret]), follow=True)
    assert "Sign in with the lab" in words(page)
    answer = sign_in("emil", client, next="/invitation/")
    assert "Welcome to films" in words(answer)
    emil = User.objects.get(username="emil")
    assert Membership.objects.get(user=emil).role == "annotator"
    assert not emil.has_usable_password()
    assert EmailAddress.objects.get(user=emil).verified
    assert Invitation.objects.get().used_by == emil
    assert 13.99 < days_left(client) <= 14
    assert sign_in("emil").status_code == 200
    assert User.objects.filter(username__startswith="emil").count() == 1


def test_who_was_invited_by_mail_needs_no_link(campaign: Campaign, leo: Membership) -> None:
    campaign.invite_person("researcher", leo, timedelta(days=1), address="emil@example.org", name="Emil", language="en")
    assert "Welcome to films" in words(sign_in("emil"))
    assert Membership.objects.get(user__username="emil").role == "researcher"


def test_an_invitation_to_an_unconfirmed_address_lets_nobody_in(campaign: Campaign, leo: Membership) -> None:
    campaign.invite_person("annotator", leo, timedelta(days=1), address="mallory@example.org", name="", language="en")
    assert sign_in("mallory").status_code == 403


def test_a_name_that_is_taken_gets_another(campaign: Campaign, leo: Membership) -> None:
    User.objects.create(username="emil")
    _, secret = campaign.invite("annotator", leo, timedelta(days=1))
    client = Client()
    client.get(reverse("invitation", args=[secret]))
    assert "Welcome" in words(sign_in("emil", client))
    assert User.objects.filter(username__startswith="emil").count() == 2


def test_the_second_factor_is_asked_for_here_too(nora: User) -> None:
    key = turned_on(nora)
    client = Client()
    answer = sign_in("nora", client)
    assert answer.redirect_chain[-1][0] == "/sign-in/code"
    assert client.get("/judge/").status_code == 302
    client.post("/sign-in/code", {"code": code_of(key)})
    assert client.get("/judge/").status_code == 200


def test_a_lead_needs_one_here_whatever_the_provider_asked_for(nora: User, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    Membership.objects.filter(user=nora).update(role="lead")
    assert sign_in("nora").redirect_chain[-1][0].startswith("/account/security")


def test_a_closed_account_stays_closed(nora: User) -> None:
    User.objects.update(is_active=False)
    answer = sign_in("nora")
    assert (answer.status_code, "is closed" in words(answer)) == (403, True)


def test_connecting_and_disconnecting_under_ones_name(outsider: User) -> None:
    outsider.set_password(PASSWORD)
    outsider.save()
    client = Client()
    client.post("/sign-in/", {"username": "oda", "password": PASSWORD})
    answer = sign_in("emil", client, process="connect", next="/account/")
    assert "You can sign in that way" in words(answer)
    connected = SocialAccount.objects.get(user=outsider)
    assert "oda" in words(sign_in("emil"))
    other = Client()
    User.objects.create_user("otto", password=PASSWORD)
    other.post("/sign-in/", {"username": "otto", "password": PASSWORD})
    assert "belongs to somebody else" in words(sign_in("emil", other, process="connect", next="/account/"))
    assert other.post(reverse("sso-disconnect", args=[connected.pk])).status_code == 302
    assert SocialAccount.objects.count() == 1
    client.post(reverse("sso-disconnect", args=[connected.pk]))
    assert SocialAccount.objects.count() == 0


def test_the_only_way_in_is_not_taken_away(campaign: Campaign, leo: Membership) -> None:
    campaign.invite_person("annotator", leo, timedelta(days=1), address="emil@example.org", name="", language="en")
    client = Client()
    sign_in("emil", client)
    address = reverse("sso-disconnect", args=[SocialAccount.objects.get().pk])
    assert "Set a password first" in words(client.post(address, follow=True))
    assert SocialAccount.objects.count() == 1
    form = {"password1": "another-word-8", "password2": "another-word-8"}
    assert "is set" in words(client.post(reverse("account_set_password"), form, follow=True))


def test_what_comes_back_must_belong_to_what_was_asked(nora: User) -> None:
    there = Client().post(START)["Location"]
    back = at_the_provider("nora", there).removeprefix("http://testserver")
    answer = Client().get(back, follow=True)  # another browser's
    assert "did not work" in words(answer)
    client = Client()
    back = at_the_provider("nora", client.post(START)["Location"]).removeprefix("http://testserver")
    assert client.get(back).status_code == 302
    client.post(reverse("sign-out"))
    assert "did not work" in words(client.get(back, follow=True))  # a second time
    assert "You stopped" in words(_cancelled(client))


def _cancelled(client: Client) -> Any:
    state = parse_qs(urlsplit(client.post(START)["Location"]).query)["state"][0]
    return client.get(f"{BACK}?error=access_denied&state={state}", follow=True)


def test_the_way_there_is_guarded_by_a_key_of_its_own(nora: User) -> None:
    params = parse_qs(urlsplit(Client().post(START)["Location"]).query)
    assert params["code_challenge_method"] == ["S256"]
    assert params["redirect_uri"] == [BACK]
    assert Client().get(START).status_code == 405
    assert Client(enforce_csrf_checks=True).post(START).status_code == 403
    sign_in("nora")
    assert SocialToken.objects.count() == 0  # nobody needs it any more


@pytest.mark.parametrize("where", ["https://evil.example.org/", "//evil.example.org"])
def test_the_way_on_stays_on_this_host(nora: User, where: str) -> None:
    assert sign_in("nora", next=where).redirect_chain[-1][0].startswith("/")
    assert not sign_in("nora", next=where).redirect_chain[-1][0].startswith("//")


def test_a_provider_that_is_away_is_no_traceback(nora: User, settings: Any) -> None:
    away = f"http://localhost:{free_port()}"
    settings.SOCIALACCOUNT_PROVIDERS = environment.providers("the lab", away, CLIENT, SECRET)
    answer = Client().post(START, follow=True)
    assert (answer.status_code, "did not work" in words(answer)) == (200, True)


def test_half_a_configuration_is_refused_at_the_start() -> None:
    for client, secret, issuer in (("", "s", "https://x"), ("c", "", "https://x"), ("c", "s", "")):
        with pytest.raises(ImproperlyConfigured, match="OIDC_ISSUER"):
            environment.providers("n", issuer, client, secret)
    assert environment.origins("https://login.example.org/realms/lab") == ["https://login.example.org"]


def test_nothing_offers_it_where_there_is_none(settings: Any, ada: Membership) -> None:
    settings.OIDC_ISSUER = ""
    settings.SOCIALACCOUNT_PROVIDERS = environment.providers("", "", "", "")
    for client, page in ((Client(), "/sign-in/"), (browser(ada), "/account/")):
        assert "/sign-in/sso" not in words(client.get(page))
    assert Client().post(START).status_code == 404
