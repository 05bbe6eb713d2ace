"""The sessions of a person, hostile passkeys, and what signing in and every later request cost."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from base.templatetags.figures import device
from campaigns.models import CacheEntry, Membership
from jobs.tasks import upkeep
from tests.cast import browser, days_left

PASSWORD = "a-long-word-7"


@pytest.fixture
def user(ada: Membership) -> User:
    ada.user.set_password(PASSWORD)
    ada.user.save()
    return ada.user


def signed_in(name: str = "ada") -> Client:
    client = Client()
    assert client.post("/sign-in/", {"username": name, "password": PASSWORD}).status_code == 302
    return client


def is_in(client: Client) -> bool:
    return bool(client.get("/judge/").status_code == 200)


def test_one_ends_any_of_ones_sessions_and_nobody_elses(user: User, bob: Membership) -> None:
    here, there = signed_in(), signed_in()
    mine, other = UserSession.objects.order_by("pk")
    assert browser(bob).post(reverse("session-end", args=[other.pk])).status_code == 404
    assert is_in(there)
    assert here.post(reverse("session-end", args=[other.pk])).status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)
    assert here.post(reverse("session-end", args=[other.pk])).status_code == 404  # a second time
    assert here.post(reverse("session-end", args=[mine.pk]), follow=True).redirect_chain[-1][0].startswith("/sign-in/")
    assert not is_in(here)


def test_all_others_end_at_once(user: User) -> None:
    here, *others = signed_in(), signed_in(), signed_in()
    assert "All your other sessions" in here.post(reverse("usersessions_list"), follow=True).content.decode()
    assert [is_in(each) for each in (here, *others)] == [True, False, False]


def test_a_session_that_is_gone_is_not_listed(user: User) -> None:
    here, there = signed_in(), signed_in()
    there.post(reverse("sign-out"))
    page = here.get(reverse("mfa_index")).content.decode()
    assert page.count("signed in ") == 1


def test_what_is_known_of_an_ended_session_is_forgotten_within_an_hour(user: User) -> None:
    here, gone, expired = signed_in(), signed_in(), signed_in()
    gone.post(reverse("sign-out"))
    Session.objects.filter(session_key=expired.session.session_key).update(expire_date=timezone.now())
    assert UserSession.objects.count() == 3
    upkeep()
    assert [each.session_key for each in UserSession.objects.all()] == [here.session.session_key]


def test_signing_out_has_the_browser_delete_the_clips_that_it_keeps(user: User) -> None:
    """Chromium does so over HTTPS only."""
    client = signed_in()
    assert "Clear-Site-Data" not in client.get("/judge/")
    assert client.post(reverse("sign-out"))["Clear-Site-Data"] == '"cache"'


def ends(client: Client) -> datetime:
    return Session.objects.get(session_key=client.session.session_key).expire_date


@pytest.mark.parametrize("posted", [False, True])
def test_the_session_of_a_stranger_lasts_ten_minutes(posted: bool, db: None) -> None:
    """Anybody can make as many as they like."""
    stranger = Client()
    stranger.get(reverse("mfa_login_webauthn"), headers={"accept": "application/json"})
    if posted:
        stranger.post(reverse("mfa_login_webauthn"), {"credential": "x"})
    assert 0 < days_left(stranger) * 24 * 60 <= 10
    assert stranger.cookies["sessionid"]["max-age"] <= 600


def test_a_session_ends_after_14_days_whatever_is_written_in_between(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, began = signed_in(), timezone.now()
    assert 13.99 < days_left(client) <= 14
    monkeypatch.setattr(timezone, "now", lambda: began + timedelta(days=13))
    new = {"oldpassword": PASSWORD, "password1": "table umbrella fox", "password2": "table umbrella fox"}
    # Writes it, under a new key.
    assert client.post(reverse("account_change_password"), new).status_code == 302
    assert 0.99 < days_left(client) < 1.01
    assert client.cookies["sessionid"]["max-age"] < 1.01 * 86400
    assert is_in(client)
    monkeypatch.setattr(timezone, "now", lambda: began + timedelta(days=14, minutes=1))
    assert not is_in(client)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36", "Chrome, Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/126 Safari/537 Edg/126", "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17 Safari/604", "Safari, iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:127.0) Firefox/127.0", "Firefox, macOS"),
        ("", "another browser"),
    ],
)
def test_a_browser_is_named_in_words_that_people_know(named: str, words: str) -> None:
    assert device(named) == words


HOSTILE = ["", "x", "null", "[]", "1", '"a"', "{}", '{"id": 1}', '{"response": []}', '{"response": {"userHandle": 5}}']
HOSTILE += [
    json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": {"userHandle": handle}})
    for handle in ("", "!", "AA", "x" * 999)
]
FULL = {"clientDataJSON": "e30", "authenticatorData": "AAAA", "signature": "AA", "userHandle": "MQ"}
FULL = {"clientDataJSON": "e30", "authenticatorData": "AAAA", "signature": "AA", "userHandle": "MQ"}
RESPONSES: list[object] = [{"userHandle": handle} for handle in ("", "!", "AA", "x" * 999)]
HOSTILE += [
    json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": response})
    for response in (*RESPONSES, FULL)
]


def test_a_forged_passkey_is_refused_in_words(user: User) -> None:
    for credential in HOSTILE:
        refuse_passkey(user, credential)
        Authenticator.objects.all().delete()
        CacheEntry.objects.all().delete()


def refuse_passkey(user: User, credential: str) -> None:
    stranger = Client()
    stranger.get(reverse("mfa_login_webauthn"), headers={"accept": "application/json"})
    answer = stranger.post(reverse("mfa_login_webauthn"), {"credential": credential})
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/")
    assert not is_in(stranger)
    client = signed_in()
    client.get(reverse("mfa_add_webauthn"))
    assert client.post(reverse("mfa_add_webauthn"), {"name": "n", "credential": credential}).status_code == 200
    Authenticator.objects.create(user=user, type="totp", data={"secret": ""})
    waits = Client()
    waits.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    assert waits.post("/sign-in/code", {"credential": credential}).status_code == 200
    assert not is_in(waits)


def test_a_name_and_its_mail_address_are_locked_out_together(user: User) -> None:
    EmailAddress.objects.create(user=user, email="ada@example.org", verified=True)
    for typed in ["ada", "Ada@example.org"] * 5:
        assert Client().post("/sign-in/", {"username": typed, "password": "wrong"}).status_code == 200
    for typed in ("ada", "ada@example.org"):
        assert Client().post("/sign-in/", {"username": typed, "password": "wrong"}).status_code == 429


def test_a_right_password_writes_no_count(user: User) -> None:
    before = CacheEntry.objects.count()  # such as the version that the database suits
    signed_in()
    assert CacheEntry.objects.count() == before
    Client().post("/sign-in/", {"username": "ada", "password": "wrong"})
    assert CacheEntry.objects.count() > before


def test_a_later_request_asks_for_the_session_and_the_person_only(user: User) -> None:
    """The second factor, the list of sessions and single sign-on cost nothing once somebody is signed in."""
    client = signed_in()
    client.get(reverse("sign-in"))
    with CaptureQueriesContext(connection) as queries:
        assert client.get(reverse("sign-in")).status_code == 302
    statements: Any = [query["sql"] for query in queries]
    assert [
        table
        for sql in statements
        for table in ("django_session", "auth_user")
        if f"FROM {table} " in sql.replace('"', "")
    ] == ["django_session", "auth_user"]
    assert len(statements) == 2
