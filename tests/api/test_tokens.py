"""Tokens: made and revoked on a page, and no way around what holds for a session."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Token
from campaigns.models import Campaign, Membership
from tests.accounts.test_second_factor import code_of
from tests.api.asking import Program, problem_in
from tests.cast import browser

PASSWORD = "a-long-word-7"


@pytest.fixture
def signed_in(ada: Membership) -> Client:
    """Ada, who has just given her password."""
    ada.user.set_password(PASSWORD)
    ada.user.save()
    client = Client()
    client.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    return client


def made_on_the_page(client: Client, **fields: Any) -> str:
    form = {"name": "my notebook", "scopes": ["read"], "days": "7"} | fields
    page = client.post(reverse("tokens"), form).content.decode()
    found = re.search(r"rj_[\w-]{43}", page)
    assert found, page
    return found[0]


def using(secret: str) -> Program:
    program = Program(None)
    program.headers["Authorization"] = f"Bearer {secret}"
    return program


def test_a_token_is_told_once_and_only_its_hash_is_kept(signed_in: Client) -> None:
    secret = made_on_the_page(signed_in, scopes=["read", "judge"])
    who = using(secret).get("").json()
    assert (who["user"], who["scopes"]) == ("ada", ["judge", "read"])
    page = signed_in.get(reverse("tokens")).content.decode()
    assert "my notebook" in page
    assert secret not in page
    row = Token.objects.values().get()
    assert secret not in str(row)
    assert row["used"] is not None


def test_a_revoked_token_and_an_expired_one_open_nothing(signed_in: Client, bob: Membership) -> None:
    secret = made_on_the_page(signed_in)
    token = Token.objects.get()
    assert browser(bob).post(reverse("token-revoke", args=[token.pk])).status_code == 404
    assert using(secret).get("").status_code == 200
    Token.objects.update(expires=timezone.now() - timedelta(seconds=1))
    problem_in(using(secret).get(""), 401)
    Token.objects.update(expires=timezone.now() + timedelta(days=1))
    assert signed_in.post(reverse("token-revoke", args=[token.pk])).status_code == 302
    answer = using(secret).get("")
    assert "revoked" in problem_in(answer, 401)["detail"]
    assert answer["WWW-Authenticate"] == "Bearer"


def test_making_one_needs_the_password_of_minutes_ago(ada: Membership) -> None:
    """An open browser is no way to a token that outlasts it."""
    form = {"name": "n", "scopes": ["read"], "days": "7"}
    answer = browser(ada).post(reverse("tokens"), form)
    assert answer["Location"].startswith(reverse("account_reauthenticate"))
    assert not Token.objects.exists()


@pytest.mark.parametrize("wrong", [{"name": ""}, {"scopes": ["all"]}, {"scopes": []}, {"days": "3650"}, {"name": "\0"}])
def test_a_wrong_form_makes_none(signed_in: Client, wrong: dict[str, Any]) -> None:
    form = {"name": "n", "scopes": ["read"], "days": "7"} | wrong
    assert signed_in.post(reverse("tokens"), form).status_code == 400
    assert not Token.objects.exists()


def test_a_new_password_and_a_closed_account_end_it(ada: Membership) -> None:
    program = Program(ada)
    assert program.get("").status_code == 200
    ada.user.set_password("another-long-word-8")
    ada.user.save()
    problem_in(program.get(""), 401)
    other = Program(ada)
    User.objects.filter(pk=ada.user_id).update(is_active=False)
    problem_in(other.get(""), 401)


def test_a_lead_needs_the_second_factor_here_too(leo: Membership, ada: Membership, settings: Any) -> None:
    program, session = Program(leo), browser(leo)
    settings.REQUIRE_SECOND_FACTOR = True
    assert problem_in(program.get("campaigns/films"), 401)["code"] == "codeneeded"
    assert problem_in(session.get("/api/v1/campaigns/films"), 401)["code"] == "codeneeded"
    assert Program(ada).get("campaigns").status_code == 200
    Authenticator.objects.create(user=leo.user, type=Authenticator.Type.TOTP, data={})
    assert program.get("campaigns/films").status_code == 200


def test_a_scope_bounds_a_token_and_no_session(leo: Membership, campaign: Campaign) -> None:
    query = campaign.queries.get()
    address = f"campaigns/films/queries/{query.pk}/withdrawal"
    reader = Program(leo, "read")
    assert "scope lead" in problem_in(reader.ask("PUT", address, {"reason": "odd"}), 403)["detail"]
    assert "scope read" in problem_in(Program(leo, "judge", "lead").get("campaigns/films"), 403)["detail"]
    assert browser(leo).put(f"/api/v1/{address}", {"reason": "odd"}, content_type="application/json").status_code == 204


def test_a_session_changes_nothing_without_the_token_of_forms(leo: Membership, campaign: Campaign) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(leo.user)
    address = f"/api/v1/campaigns/films/queries/{campaign.queries.get().pk}/withdrawal"
    problem_in(client.put(address, {"reason": "odd"}, content_type="application/json"), 403)
    assert campaign.queries.get().withdrawn is None


def test_no_token_is_taken_that_came_readable(ada: Membership, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT, settings.SECURE_REDIRECT_EXEMPT = True, [r"^api/"]
    program = Program(ada)
    assert "without HTTPS" in problem_in(program.get(""), 403)["detail"]
    assert Token.objects.get().used is None
    assert program.client.get("/api/v1/", headers=program.headers, secure=True).status_code == 200


def test_a_new_second_factor_ends_all_tokens(ada: Membership, signed_in: Client) -> None:
    program = Program(ada)
    page = signed_in.get(reverse("mfa_activate_totp")).content.decode()
    [secret] = re.findall(r'class="secret">([A-Z2-7]+)<', page)
    assert signed_in.post(reverse("mfa_activate_totp"), {"code": code_of(secret)}).status_code == 302
    problem_in(program.get(""), 401)
    assert not Token.objects.exists()
