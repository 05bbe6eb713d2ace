"""The log of security: one line for each sign-in, failure and sign-out, whatever LOG_LEVEL is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

PASSWORD = "kitten sofa lamp"
Lines = Callable[[], list[str]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    return lambda: [each.getMessage() for each in caplog.records if each.name == "reeljudge.security"]


@pytest.fixture
def nora(db: None) -> User:
    return User.objects.create_user("nora", password=PASSWORD)


def sign_in(client: Client, name: str, password: str) -> None:
    client.post(reverse("sign-in"), {"username": name, "password": password})


def test_a_sign_in_and_a_sign_out_are_a_line_each(nora: User, client: Client, lines: Lines) -> None:
    assert logging.getLogger().getEffectiveLevel() == logging.WARNING
    sign_in(client, "nora", PASSWORD)
    client.post(reverse("sign-out"))
    signed_in, signed_out = lines()
    assert signed_in.startswith("signed in: user='nora' with=")
    assert signed_in.endswith("address=127.0.0.1")
    assert signed_out.startswith("signed out: user='nora'")


def test_a_failure_names_an_account_and_no_password(nora: User, client: Client, lines: Lines) -> None:
    sign_in(client, "nora", "not the password")
    sign_in(client, PASSWORD, "nora")  # typed in the wrong fields
    known, unknown = lines()
    assert known == "sign-in failed: user='nora' with=- address=127.0.0.1"
    assert unknown == "sign-in failed: user=nobody here with=- address=127.0.0.1"


def test_no_line_is_forged_by_a_name(db: None, client: Client, lines: Lines) -> None:
    sign_in(client, "x\r\nsigned in: user='leo'", "p")
    User.objects.create_user("odd\nsigned in: user='leo'", password=PASSWORD)
    sign_in(client, "odd\nsigned in: user='leo'", "p")
    assert all("\n" not in line for line in lines())


def test_a_new_password_is_a_line(nora: User, client: Client, lines: Lines) -> None:
    sign_in(client, "nora", PASSWORD)
    new = {"oldpassword": PASSWORD, "password1": "table umbrella fox", "password2": "table umbrella fox"}
    client.post(reverse("account_change_password"), new)
    assert lines()[-1] == "password changed: user='nora' with=password address=127.0.0.1"
    assert not any(secret in line for line in lines() for secret in (PASSWORD, "umbrella"))


def test_who_is_locked_out_is_a_line(nora: User, client: Client, lines: Lines, settings: Any) -> None:
    for _ in range(settings.SIGN_IN_ATTEMPTS + 1):
        sign_in(client, "nora", "wrong")
    *failed, last = lines()
    assert len(failed) == settings.SIGN_IN_ATTEMPTS
    assert {each.partition(":")[0] for each in failed} == {"sign-in failed"}
    assert last == "locked out: user='nora' with=- address=127.0.0.1"
