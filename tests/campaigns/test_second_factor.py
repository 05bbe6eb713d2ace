"""The second factor: real codes of an app, from turning it on to signing in with the last backup code."""

from __future__ import annotations

import re
import time
from base64 import b32decode
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver, reverse
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from campaigns.accounts import second_factor
from campaigns.models import Membership
from tests.cast import browser
from tests.terminal import printed
from tests.test_doors import MATRIX

Answer = Any
PASSWORD = "a-long-word-7"
JSON = {"accept": "application/json"}
WRONG = "000000"


def code_of(key: bytes, steps: int = 0) -> str:
    """What the app shows so many half-minutes from now."""
    app = TOTP(key)
    app.time = time.time() + 30 * steps
    return f"{app.token():06}"


def calm(user: User) -> None:
    """Let the wait after wrong codes pass."""
    for kind in (TOTPDevice, StaticDevice):
        kind.objects.filter(user=user).update(throttling_failure_timestamp="2020-01-01T00:00Z")


@pytest.fixture
def lead(leo: Membership) -> User:
    leo.user.set_password(PASSWORD)
    leo.user.save()
    return leo.user


@pytest.fixture
def key(lead: User) -> bytes:
    """The lead's second factor, turned on a while ago."""
    return turned_on(lead)


def turned_on(user: User) -> bytes:
    key: bytes = second_factor.begin(user).bin_key
    assert second_factor.turn_on(user, code_of(key))
    later(user)
    return key


def later(user: User) -> None:
    """As if the app showed another code by now."""
    TOTPDevice.objects.filter(user=user).update(last_t=0)


def signed_in_by_password(where: str = "/", name: str = "leo") -> tuple[Client, Answer]:
    client = Client()
    form = {"username": name, "password": PASSWORD, "next": where}
    return client, client.post("/sign-in/", form, follow=True)


def give(client: Client, code: str, onward: str = "/campaigns/") -> Answer:
    return client.post(reverse("code"), {"code": code, "next": onward})


def test_turning_it_on_by_hand(lead: User) -> None:
    client = browser(lead)
    page = client.get(reverse("second-factor")).content.decode()
    assert re.search(r"<svg[^>]*viewBox", page)
    assert "style=" not in page
    secret = re.search(r'class="secret">([A-Z2-7 ]+)<', page)
    assert secret
    key = b32decode(secret[1].replace(" ", ""))
    again = client.post(reverse("second-factor"), {"code": WRONG}).content.decode()
    assert "is wrong" in again
    assert secret[0] in again
    calm(lead)
    shown = client.post(reverse("second-factor"), {"code": code_of(key)})
    codes = re.findall(r"<li><code>([a-z2-7]{8})</code>", shown.content.decode())
    assert len(set(codes)) == 10
    assert "no-store" in shown["Cache-Control"]
    assert client.get("/campaigns/").status_code == 200
    assert "10 backup codes left" in client.get(reverse("account")).content.decode()
    assert codes[0] not in client.get(reverse("account")).content.decode()
    assert client.get(reverse("second-factor")).status_code == 409


def test_signing_in_asks_for_the_code_before_any_page(key: bytes) -> None:
    client, page = signed_in_by_password("/campaigns/films/?show=review")
    assert page.redirect_chain[-1][0] == "/sign-in/code?next=%2Fcampaigns%2Ffilms%2F%3Fshow%3Dreview"
    assert "One more step" in page.content.decode()
    answer = give(client, code_of(key), page.context["next"])
    assert (answer.status_code, answer["Location"]) == (302, "/campaigns/films/?show=review")
    assert client.get("/campaigns/films/").status_code == 200
    assert client.get(reverse("code"))["Location"] == "/"


def some_address(name: str) -> str:
    """The address of that name, with a 1 wherever it takes something."""
    [(_, takes)], *_ = get_resolver().reverse_dict.getlist(name)[0]
    return reverse(name, kwargs=dict.fromkeys(takes, 1))


@pytest.mark.parametrize("name", sorted(set(MATRIX) - {"code", "sign-out", "invitation", "language"}))
def test_with_the_password_alone_every_page_leads_to_the_code(name: str, key: bytes) -> None:
    client, _ = signed_in_by_password()
    address = some_address(name)
    assert client.get(address)["Location"].startswith("/sign-in/code")
    assert client.post(address)["Location"] == "/sign-in/code"
    answer = client.get(address, headers=JSON)
    assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json")
    assert answer.json()["code"] == "codeneeded"


def test_signing_out_needs_no_code(key: bytes) -> None:
    client, _ = signed_in_by_password()
    client.post(reverse("sign-out"))
    assert client.get("/campaigns/")["Location"].startswith("/sign-in/?")


def test_a_session_from_before_is_asked_too(lead: User) -> None:
    elsewhere = browser(lead)
    assert elsewhere.get("/campaigns/").status_code == 200
    turned_on(lead)
    assert elsewhere.get("/campaigns/")["Location"].startswith("/sign-in/code")


@pytest.mark.parametrize("code", [WRONG, "", "12345", "1" * 5000, "a\0b", "abcdefgh", "١٢٣٤٥٦", "1e5000"])
def test_a_wrong_code_opens_nothing(code: str, key: bytes, lead: User) -> None:
    client, _ = signed_in_by_password()
    answer = give(client, code)
    assert answer.status_code == 200
    assert "is wrong" in answer.content.decode()
    assert client.get("/campaigns/")["Location"].startswith("/sign-in/code")


def test_a_code_works_once(key: bytes) -> None:
    first, _ = signed_in_by_password()
    code = code_of(key)
    assert give(first, code).status_code == 302
    second, _ = signed_in_by_password()
    assert give(second, code).status_code == 200
    assert second.get("/campaigns/").status_code == 302


def test_codes_of_another_time_or_person_do_not_work(key: bytes, ada: Membership) -> None:
    client, _ = signed_in_by_password()
    assert give(client, code_of(key, -20)).status_code == 200
    calm(User.objects.get(username="leo"))
    assert give(client, code_of(turned_on(ada.user))).status_code == 200


def test_after_a_wrong_code_even_the_right_one_waits(key: bytes, lead: User) -> None:
    client, _ = signed_in_by_password()
    TOTPDevice.objects.update(throttling_failure_count=8)
    give(client, WRONG)
    assert give(client, code_of(key)).status_code == 200
    calm(lead)
    assert give(client, code_of(key)).status_code == 302


def test_ten_wrong_codes_lock_the_name_out(key: bytes, lead: User) -> None:
    client, _ = signed_in_by_password()
    answers = [give(client, WRONG).status_code for _ in range(10)]
    assert answers == [200] * 9 + [429]
    calm(lead)
    assert give(client, code_of(key)).status_code == 429
    _, page = signed_in_by_password()
    assert page.status_code == 429


def test_a_backup_code_works_once_and_in_any_spelling(lead: User, key: bytes) -> None:
    code, *_ = second_factor.new_backup_codes(lead)
    first, _ = signed_in_by_password()
    assert give(first, f" {code[:4]}-{code[4:].upper()} ").status_code == 302
    assert first.get("/campaigns/").status_code == 200
    second, _ = signed_in_by_password()
    assert give(second, code).status_code == 200
    assert "9 backup codes left" in first.get(reverse("account")).content.decode()


def test_who_lost_everything_gets_codes_from_the_terminal(key: bytes) -> None:
    one, two = (printed("addstatictoken", "leo").strip() for _ in range(2))
    client, _ = signed_in_by_password()
    assert give(client, one).status_code == 302
    client.post(reverse("second-factor-off"), {"code": two})
    assert not TOTPDevice.objects.exists()


def test_new_backup_codes_end_the_old_ones_and_need_a_code(lead: User, key: bytes) -> None:
    old, *_ = second_factor.new_backup_codes(lead)
    client, _ = signed_in_by_password()
    give(client, old)
    address = reverse("backup-codes")
    assert "is wrong" in client.post(address, {"code": old}, follow=True).content.decode()
    shown = client.post(address, {"code": code_of(key)}).content.decode()
    fresh = re.findall(r"<code>([a-z2-7]{8})</code>", shown)
    assert len(fresh) == 10
    assert old not in fresh
    assert client.get("/campaigns/").status_code == 200


def test_turning_it_off_needs_a_code(lead: User, key: bytes) -> None:
    client, _ = signed_in_by_password()
    give(client, code_of(key))
    off = reverse("second-factor-off")
    client.post(off, {"code": WRONG})
    assert TOTPDevice.objects.exists()
    calm(lead)
    later(lead)
    assert "is off" in client.post(off, {"code": code_of(key)}, follow=True).content.decode()
    assert not TOTPDevice.objects.exists()
    assert not StaticDevice.objects.exists()
    assert client.post(off, {"code": code_of(key)}).status_code == 302
    assert signed_in_by_password("/campaigns/")[1].redirect_chain[-1][0] == "/campaigns/"


@pytest.mark.parametrize("onward", ["https://evil.example.org/", "//evil.example.org", "javascript:alert(1)"])
def test_the_way_on_stays_on_this_host(onward: str, key: bytes) -> None:
    client, _ = signed_in_by_password()
    assert give(client, code_of(key), onward)["Location"] == "/"


def test_a_form_sent_too_early_does_not_come_back_as_a_page(key: bytes) -> None:
    client, _ = signed_in_by_password()
    assert client.post(reverse("claim", args=["films"]))["Location"] == "/sign-in/code"


def test_an_account_without_it_is_asked_nothing(ada: Membership) -> None:
    client = browser(ada)
    assert client.get("/judge/").status_code == 200
    assert client.get(reverse("code"))["Location"] == "/"
    assert "It is off." in client.get(reverse("account")).content.decode()


class TestRequiredOfLeads:
    @pytest.fixture(autouse=True)
    def _required(self, settings: Any) -> None:
        settings.REQUIRE_SECOND_FACTOR = True

    def test_a_lead_without_one_sets_it_up_first(self, lead: User) -> None:
        client = browser(lead)
        for address in ("/campaigns/", "/campaigns/films/exports/", "/judge/"):
            assert client.get(address)["Location"].startswith("/account/second-factor")
        assert client.get("/campaigns/films/", headers=JSON).status_code == 401
        assert client.get(reverse("account")).status_code == 200
        key = TOTPDevice.objects.create(user=lead, confirmed=False).bin_key
        client.post(reverse("second-factor"), {"code": code_of(key)})
        assert client.get("/campaigns/").status_code == 200

    def test_annotators_and_researchers_need_none(
        self, ada: Membership, member: Callable[..., Membership]
    ) -> None:
        assert browser(ada).get("/judge/").status_code == 200
        assert browser(member("rio", "researcher")).get("/campaigns/").status_code == 200

    def test_a_paused_lead_needs_none(self, lead: User, member: Callable[..., Membership]) -> None:
        member("mina", "lead")
        lead.memberships.get().pause(None, "")
        assert browser(lead).get("/judge/").status_code == 200


def test_changing_the_password_keeps_the_session_and_the_second_factor(lead: User, key: bytes) -> None:
    client, _ = signed_in_by_password()
    give(client, code_of(key))
    fresh = "another-word-8"
    form = {"old_password": PASSWORD, "new_password1": fresh, "new_password2": fresh}
    refused = client.post(reverse("password"), form | {"old_password": "wrong"})
    assert 'role="alert"' in refused.content.decode()
    assert "is changed" in client.post(reverse("password"), form, follow=True).content.decode()
    assert client.get("/campaigns/").status_code == 200
    assert "or the password is wrong" in signed_in_by_password()[1].content.decode()


def test_the_address_of_the_app_names_the_house_and_the_person(lead: User) -> None:
    url = urlsplit(second_factor.begin(lead).config_url)
    assert (url.scheme, url.path) == ("otpauth", "/Reeljudge%3Aleo")
    assert parse_qs(url.query)["issuer"] == ["Reeljudge"]
