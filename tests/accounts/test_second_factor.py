"""The second factor: real codes of an app, from turning it on to signing in with the last recovery code."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from base64 import b32decode, b32encode
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import get_resolver, reverse

from accounts.forms import SECOND_FACTOR
from base.database import decrypt, encrypt
from campaigns.models import CacheEntry, Membership
from tests.cast import browser, days_left
from tests.conftest import Case
from tests.terminal import printed, refused
from tests.test_access import MATRIX
from tests.together import at_once

Answer = Any
PASSWORD = "a-long-word-7"
JSON = {"accept": "application/json"}
WRONG = "000000"
INDEX, APP, CODE = "/account/security", "/account/security/app", "/sign-in/code"


def code_of(secret: str, steps: int = 0) -> str:
    """What the app shows so many half-minutes from now."""
    counter = (int(time.time()) // 30 + steps).to_bytes(8, "big")
    digest = hmac.digest(b32decode(secret), counter, "sha1")  # RFC 4226, section 5.3
    start = digest[-1] & 15
    return f"{(int.from_bytes(digest[start : start + 4], 'big') & 0x7FFFFFFF) % 10**6:06}"


def later() -> None:
    """Let the waits after wrong codes pass, and the time in which a used code is remembered."""
    CacheEntry.objects.all().delete()


@pytest.fixture
def lead(leo: Membership) -> User:
    leo.user.set_password(PASSWORD)
    leo.user.save()
    return leo.user


@pytest.fixture
def key(lead: User) -> str:
    """The lead's second factor, turned on a while ago."""
    return turned_on(lead)


def turned_on(user: User) -> str:
    secret = b32encode(secrets.token_bytes(20)).decode()
    Authenticator.objects.create(user=user, type="totp", data={"secret": encrypt(secret)})
    make_recovery_codes(user)
    return secret


def make_recovery_codes(user: User) -> None:
    data = {"seed": encrypt(secrets.token_hex(40)), "used_mask": 0}
    Authenticator.objects.create(user=user, type="recovery_codes", data=data)


def recovery_codes(user: User) -> list[str]:
    codes = Authenticator.objects.get(user=user, type="recovery_codes").wrap()
    return list(codes.get_unused_codes())


def by_password(where: str = "/", name: str = "leo", client: Client | None = None) -> tuple[Client, Answer]:
    client = client or Client()
    form = {"username": name, "password": PASSWORD, "next": where}
    return client, client.post("/sign-in/", form, follow=True)


def give(client: Client, code: str) -> Answer:
    return client.post(CODE, {"code": code})


def signed_in(code: str = "") -> Client:
    client, _ = by_password()
    if code:
        assert give(client, code).status_code == 302
    return client


def test_turning_it_on_by_hand(lead: User) -> None:
    client = signed_in()
    page = client.get(APP).content.decode()
    assert 'src="data:image/svg+xml;base64,' in page
    assert "style=" not in page
    [secret] = re.findall(r'class="secret">([A-Z2-7]+)<', page)
    again = client.post(APP, {"code": WRONG}).content.decode()
    assert "is wrong" in again
    assert secret in again
    answer = client.post(APP, {"code": code_of(secret)}, follow=True)
    codes = re.findall(r"<li><code>(\d{8})</code>", answer.content.decode())
    assert len(set(codes)) == 10
    assert "no-store" in answer["Cache-Control"]
    assert codes[0] not in client.get(reverse("mfa_view_recovery_codes")).content.decode()
    assert "10 recovery codes left" in client.get(INDEX).content.decode()
    assert client.get("/campaigns/").status_code == 200
    assert client.get(APP)["Location"] == reverse("mfa_deactivate_totp")


def test_signing_in_asks_for_the_code_before_any_page(key: str) -> None:
    client, page = by_password("/campaigns/films/?show=review")
    assert page.redirect_chain[-1][0] == CODE
    assert "One more step" in page.content.decode()
    answer = give(client, code_of(key))
    assert (answer.status_code, answer["Location"]) == (302, "/campaigns/films/?show=review")
    assert 13.99 < days_left(client) <= 14
    assert client.get("/campaigns/films/").status_code == 200
    assert client.get(CODE)["Location"] == "/"


def some_address(name: str) -> str:
    """The address of that name, with a 1 wherever it takes something."""
    [(_, takes)], *_ = get_resolver().reverse_dict.getlist(name)[0]
    return reverse(name, kwargs=dict.fromkeys(takes, 1))


OPEN = {name for name, (method, stranger, *_) in MATRIX.items() if stranger in (200, 404)} | {
    *(
        "openid_connect_login",
        "openid_connect_callback",
        "first-link",
        "invitation",
        "language",
        "sign-out",
        "mfa_login_webauthn",
    ),
    "mfa_authenticate",
}


def test_with_the_password_alone_no_page_opens(key: str, case: Case) -> None:
    client, _ = by_password()
    for name in sorted(set(MATRIX) - OPEN):
        with case(name):
            address = some_address(name)
            if not name.startswith("api-"):
                assert client.get(address)["Location"].startswith("/sign-in/?")
            answer = client.get(address, headers=JSON)
            assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json")


def test_somebody_else_can_sign_in_instead(key: str, ada: Membership) -> None:
    client, _ = by_password()
    assert client.get("/sign-in/")["Location"] == CODE
    client.post(reverse("sign-out"))
    assert client.get("/sign-in/").status_code == 200
    assert client.get(CODE)["Location"] == "/sign-in/"


def test_turning_it_on_ends_the_other_sessions(lead: User) -> None:
    here, elsewhere = signed_in(), signed_in()
    assert elsewhere.get("/campaigns/").status_code == 200
    [secret] = re.findall(r'class="secret">([A-Z2-7]+)<', here.get(APP).content.decode())
    here.post(APP, {"code": code_of(secret)})
    assert here.get("/campaigns/").status_code == 200
    assert elsewhere.get("/campaigns/")["Location"].startswith("/sign-in/")


@pytest.mark.parametrize("code", [WRONG, "", "12345", "1" * 5000, "a\0b", "abcdefgh", "١٢٣٤٥٦", "1e5000"])
def test_a_wrong_code_opens_nothing(code: str, key: str) -> None:
    client, _ = by_password()
    answer = give(client, code)
    assert answer.status_code == 200
    assert 'role="alert"' in answer.content.decode()
    assert client.get("/campaigns/").status_code == 302


def test_a_code_works_once_for_as_long_as_it_is_right(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """allauth alone remembers it for half a minute, but a code one step ahead is right for a minute and a half."""
    began = time.time() // 30 * 30
    monkeypatch.setattr("time.time", lambda: began)
    code = code_of(key, 1)
    signed_in(code)
    for passed in (1, 35, 59):
        monkeypatch.setattr("time.time", lambda passed=passed: began + passed)
        CacheEntry.objects.filter(cache_key__contains="allauth.mfa.totp.used").delete()
        client, _ = by_password()
        assert "used before" in give(client, code).content.decode()
    assert give(client, code_of(key, 1)).status_code == 302


def test_a_used_code_counts_as_a_wrong_one(key: str) -> None:
    signed_in(code := code_of(key))
    client, _ = by_password()
    assert [give(client, code).status_code for _ in range(11)] == [200] * 10 + [429]


def test_the_code_that_turned_it_on_signs_nobody_in(lead: User) -> None:
    client = signed_in()
    client.get(APP)
    code = code_of(decrypt(client.session[SECOND_FACTOR]))
    assert client.post(APP, {"code": code}).status_code == 302
    other, _ = by_password()
    assert give(other, code).status_code == 200


def test_codes_of_another_time_or_person_do_not_work(key: str, ada: Membership) -> None:
    client, _ = by_password()
    assert give(client, code_of(key, -20)).status_code == 200
    assert give(client, code_of(turned_on(ada.user))).status_code == 200


def test_ten_wrong_codes_lock_the_person_out_until_later(key: str) -> None:
    client, _ = by_password()
    answers = [give(client, WRONG).status_code for _ in range(11)]
    assert answers == [200] * 10 + [429]
    assert give(client, code_of(key)).status_code == 429
    elsewhere, _ = by_password(client=Client(REMOTE_ADDR="203.0.113.5"))
    assert give(elsewhere, code_of(key)).status_code == 429  # who tries codes knows the password
    later()
    assert give(client, code_of(key)).status_code == 302


def test_a_recovery_code_works_once_and_in_any_spelling(lead: User, key: str) -> None:
    code, *_ = recovery_codes(lead)
    client = signed_in(f" {code[:4]}-{code[4:]} ")
    assert client.get("/campaigns/").status_code == 200
    second, _ = by_password()
    assert give(second, code).status_code == 200
    assert "9 recovery codes left" in client.get(INDEX).content.decode()


@pytest.mark.django_db(transaction=True)
def test_of_many_who_give_the_same_code_at_once_one_comes_in(lead: User) -> None:
    key = turned_on(lead)
    for code in (code_of(key), recovery_codes(lead)[0]):
        clients = [by_password()[0] for _ in range(8)]
        answers: list[Any] = at_once(*[partial(give, client, code) for client in clients])
        assert [answer.status_code for answer in answers].count(302) == 1
        later()


def test_who_lost_everything_is_helped_from_the_terminal(lead: User, key: str) -> None:
    elsewhere = signed_in(code_of(key))
    assert "leo" in printed("remove_second_factor", "leo")
    assert elsewhere.get("/campaigns/").status_code == 302
    _, page = by_password("/campaigns/")
    assert page.redirect_chain[-1][0] == "/campaigns/"
    assert "has no second factor" in printed("remove_second_factor", "leo")
    assert "nobody" in refused("remove_second_factor", "nobody")


def test_new_recovery_codes_end_the_old_ones(lead: User, key: str) -> None:
    old, spare, *_ = recovery_codes(lead)
    client = signed_in(old)
    html = client.post(reverse("mfa_generate_recovery_codes"), follow=True).content.decode()
    fresh = re.findall(r"<code>(\d{8})</code>", html)
    assert len(fresh) == 10
    assert spare not in fresh
    assert give(by_password()[0], spare).status_code == 200
    signed_in(fresh[0])


def test_turning_it_off(lead: User, key: str) -> None:
    client = signed_in(code_of(key))
    off = reverse("mfa_deactivate_totp")
    assert "Remove the app?" in client.get(off).content.decode()
    assert "The app is removed" in client.post(off, follow=True).content.decode()
    assert not Authenticator.objects.exists()
    assert client.post(off).status_code == 404
    assert by_password("/campaigns/")[1].redirect_chain[-1][0] == "/campaigns/"


SENSITIVE = [
    *("mfa_activate_totp", "mfa_add_webauthn", "mfa_generate_recovery_codes"),
    *("mfa_deactivate_totp", "mfa_view_recovery_codes"),
]


@pytest.mark.parametrize("name", SENSITIVE)
def test_a_while_after_signing_in_sensitive_pages_ask_again(name: str, lead: User) -> None:
    if name != "mfa_activate_totp":
        turned_on(lead)
    client = browser(lead)  # who signed in at no time that is known
    page = client.get(reverse(name), follow=True)
    assert "Is it you?" in page.content.decode()
    confirm = reverse("account_reauthenticate")
    assert "not your present password" in client.post(confirm, {"password": "wrong"}).content.decode()
    answer = client.post(confirm, {"password": PASSWORD, "next": reverse(name)}, follow=True)
    assert answer.redirect_chain[-1][0] == reverse(name)
    assert answer.status_code == 200


def test_a_code_confirms_as_well_as_the_password(lead: User, key: str) -> None:
    client = browser(lead)
    confirm = reverse("mfa_reauthenticate")
    assert client.post(confirm, {"code": WRONG}).status_code == 200
    form = {"code": (code := code_of(key)), "next": APP}
    assert client.post(confirm, form)["Location"] == APP
    assert client.post(confirm, form).status_code == 200  # used once, also here
    assert code


@pytest.mark.parametrize("onward", ["https://evil.example.org/", "//evil.example.org", "javascript:alert(1)"])
def test_the_way_on_stays_on_this_host(onward: str, key: str) -> None:
    client, _ = by_password(onward)
    assert give(client, code_of(key))["Location"] == "/"


def test_an_account_without_it_is_asked_nothing(ada: Membership) -> None:
    assert browser(ada).get("/judge/").status_code == 200


class TestRequiredOfLeads:
    @pytest.fixture(autouse=True)
    def _required(self, settings: Any) -> None:
        settings.REQUIRE_SECOND_FACTOR = True

    def test_a_lead_without_one_sets_it_up_first(self, lead: User) -> None:
        client = signed_in()
        for address in ("/campaigns/", "/campaigns/films/releases/", "/judge/"):
            assert client.get(address)["Location"].startswith(INDEX)
        answer = client.get("/campaigns/films/", headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (401, "codeneeded")
        assert client.get(reverse("account")).status_code == 200
        assert "Leads need a second factor here" in client.get(INDEX).content.decode()
        [secret] = re.findall(r'class="secret">([A-Z2-7]+)<', client.get(APP).content.decode())
        client.post(APP, {"code": code_of(secret)})
        assert client.get("/campaigns/").status_code == 200

    def test_recovery_codes_alone_are_none(self, lead: User) -> None:
        make_recovery_codes(lead)
        assert browser(lead).get("/campaigns/").status_code == 302

    def test_a_passkey_counts(self, lead: User) -> None:
        Authenticator.objects.create(user=lead, type="webauthn", data={"name": "key"})
        assert browser(lead).get("/campaigns/").status_code == 200

    def test_annotators_and_researchers_need_none(self, ada: Membership, member: Callable[..., Membership]) -> None:
        assert browser(ada).get("/judge/").status_code == 200
        assert browser(member("rio", "researcher")).get("/campaigns/").status_code == 200

    def test_a_paused_lead_needs_none(self, lead: User, member: Callable[..., Membership]) -> None:
        member("mina", "lead")
        lead.memberships.get().pause(None, "")
        assert browser(lead).get("/judge/").status_code == 200

    def test_it_costs_no_further_query(self, ada: Membership, django_assert_num_queries: Any) -> None:
        client = browser(ada)
        with django_assert_num_queries(2):  # the session and the person
            client.get(reverse("mfa_authenticate"))


def test_changing_the_password_keeps_the_session_and_the_second_factor(lead: User, key: str) -> None:
    client = signed_in(code_of(key))
    fresh = "another-word-8"
    form = {"oldpassword": PASSWORD, "password1": fresh, "password2": fresh}
    address = reverse("account_change_password")
    assert 'role="alert"' in client.post(address, form | {"oldpassword": "wrong"}).content.decode()
    assert "is changed" in client.post(address, form, follow=True).content.decode()
    assert client.get("/campaigns/").status_code == 200
    assert "or the password is wrong" in by_password()[1].content.decode()


def test_the_address_of_the_app_names_the_house_and_the_person(lead: User) -> None:
    url = urlsplit(get_adapter().build_totp_url(lead, "SECRET"))
    assert (url.scheme, url.path) == ("otpauth", "/Reeljudge%3Aleo")
    assert parse_qs(url.query)["issuer"] == ["Reeljudge"]


class TestEncryption:
    def stored(self) -> str:
        rows = [*Authenticator.objects.values_list("data", flat=True)]
        return repr(rows) + repr([each.get_decoded() for each in Session.objects.all()])

    def test_no_table_holds_the_secret_of_an_app_or_a_recovery_code(self, lead: User) -> None:
        client = signed_in()
        page = client.get(APP).content.decode()
        [secret] = re.findall(r'class="secret">([A-Z2-7]+)<', page)
        assert secret not in self.stored()  # of the session, before it is turned on
        html = client.post(APP, {"code": code_of(secret)}, follow=True).content.decode()
        codes = re.findall(r"<code>(\d{8})</code>", html)
        assert not [each for each in (secret, *codes) if each in self.stored()]
        [data] = Authenticator.objects.filter(type="totp").values_list("data", flat=True)
        assert decrypt(data["secret"]) == secret  # but it is there

    def test_another_key_reads_nothing_and_a_former_one_does(self, lead: User, key: str, settings: Any) -> None:
        former, settings.SECRET_KEY = settings.SECRET_KEY, "another key of this site, as long as it should be"
        client, _ = by_password()
        answer = give(client, code_of(key))
        assert (answer.status_code, "has a new key" in answer.content.decode()) == (409, True)
        settings.SECRET_KEY_FALLBACKS = [former]
        signed_in(code_of(key))

    def test_secrets_are_renewed_after_which_the_former_key_can_go(self, lead: User, key: str, settings: Any) -> None:
        codes = recovery_codes(lead)
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
        settings.SECRET_KEY = "another key of this site, as long as it should be"
        assert "2" in printed("renew_secrets")
        settings.SECRET_KEY_FALLBACKS = []
        signed_in(code_of(key))
        assert recovery_codes(lead) == codes

    def test_what_cannot_be_renewed_is_named(self, lead: User, key: str, settings: Any) -> None:
        settings.SECRET_KEY = "another key of this site, as long as it should be"
        assert "leo" in refused("renew_secrets")
