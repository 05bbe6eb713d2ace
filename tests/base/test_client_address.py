"""Whose address counts when a password is wrong: the client's, as far as our own proxies know it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from base.middleware import ClientAddressMiddleware, _warn_of_address

OURS = ["10.0.0.2", "192.168.7.0/24", "fd00::/8"]


def seen(remote: str, forwarded: str | None) -> str:
    """The address that the views of a request find."""
    found: list[str] = []

    def view(request: HttpRequest) -> HttpResponse:
        found.append(request.META["REMOTE_ADDR"])
        return HttpResponse()

    headers = {} if forwarded is None else {"x-forwarded-for": forwarded}
    ClientAddressMiddleware(view)(RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote))
    return found[0]


@pytest.mark.parametrize(
    ("remote", "forwarded", "client"),
    [
        ("10.0.0.2", "203.0.113.5", "203.0.113.5"),
        ("10.0.0.2", "1.1.1.1, 203.0.113.5", "203.0.113.5"),
        ("10.0.0.2", "1.1.1.1, 203.0.113.5, 192.168.7.9", "203.0.113.5"),
        ("fd00::1", " 2001:db8::5 ", "2001:db8::5"),
        ("::ffff:10.0.0.2", "203.0.113.5", "203.0.113.5"),
        ("10.0.0.2", "10.0.0.2", "10.0.0.2"),
        ("10.0.0.2", "203.0.113.5:5678", "203.0.113.5"),
        ("10.0.0.2", "[2001:db8::1]:99, 10.0.0.2:80", "2001:db8::1"),
        ("10.0.0.2", "[2001:db8::1]", "2001:db8::1"),
        ("10.0.0.2", None, "10.0.0.2"),
        ("10.0.0.2", "", "10.0.0.2"),
        ("10.0.0.2", "203.0.113.5, nonsense", "10.0.0.2"),
        ("203.0.113.5", "10.0.0.2", "203.0.113.5"),
        ("203.0.113.5", "1.1.1.1", "203.0.113.5"),
        ("", "1.1.1.1", ""),
    ],
)
def test_the_last_address_that_no_proxy_of_ours_has_is_the_clients(
    settings: Any, remote: str, forwarded: str | None, client: str
) -> None:
    settings.TRUSTED_PROXIES = OURS
    assert seen(remote, forwarded) == client


def test_an_address_of_a_proxy_that_cannot_be_read_is_logged_once(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.TRUSTED_PROXIES = OURS
    _warn_of_address.cache_clear()
    for forwarded in ("unknown", "nonsense, 203.0.113.5", "unknown"):
        seen("10.0.0.2", forwarded)
    assert caplog.text.count("holds a text that is not an IP address") == 1


def test_nobody_is_believed_unless_the_settings_say_so(settings: Any) -> None:
    assert settings.TRUSTED_PROXIES == []
    assert seen("127.0.0.1", "1.1.1.1") == "127.0.0.1"


@pytest.mark.parametrize(
    ("proxies", "remote", "is_secure"),
    [(OURS, "10.0.0.2", True), (OURS, "203.0.113.5", False), ([], "127.0.0.1", False), ([], "", False)],
)
def test_only_our_proxies_say_that_a_request_came_by_https(
    settings: Any, proxies: list[str], remote: str, is_secure: bool
) -> None:
    settings.TRUSTED_PROXIES = proxies
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    request = RequestFactory().get("/", headers={"x-forwarded-proto": "https"}, REMOTE_ADDR=remote)
    ClientAddressMiddleware(lambda request: HttpResponse())(request)
    assert request.is_secure() is is_secure


def sign_in(password: str, remote: str, forwarded: str) -> int:
    client = Client(REMOTE_ADDR=remote, headers={"x-forwarded-for": forwarded})
    return client.post(reverse("sign-in"), {"username": "leo", "password": password}).status_code


@pytest.fixture
def leo(db: None) -> User:
    return User.objects.create_user("leo", password="a-long-word-7")


def test_a_strangers_wrong_passwords_lock_out_the_stranger_only(leo: User, settings: Any) -> None:
    settings.TRUSTED_PROXIES = OURS
    wrong = [sign_in("wrong", "10.0.0.2", "203.0.113.66") for _ in range(11)]
    assert wrong[-1] == 429
    assert sign_in("a-long-word-7", "10.0.0.2", "203.0.113.66") == 429
    assert sign_in("a-long-word-7", "10.0.0.2", "203.0.113.5") == 302


def test_a_forged_header_starts_no_new_count(leo: User, settings: Any) -> None:
    settings.TRUSTED_PROXIES = OURS
    for remote, before in (("203.0.113.66", ""), ("10.0.0.2", ", 203.0.113.66")):
        wrong = [sign_in("wrong", remote, f"1.1.1.{number}{before}") for number in range(11)]
        assert wrong[-1] == 429
