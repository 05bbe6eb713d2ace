"""In a real browser: a passkey, a provider elsewhere, and a real nginx after too many wrong passwords."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.installation import Installation, sql
from tests.openid_provider import CLIENT, SECRET, free_port, provider
from tests.openid_provider import PASSWORD as AT_THE_PROVIDER

pytestmark = pytest.mark.timeout(300)
CAMPAIGN = """
from corpus.models import Corpus
from campaigns.models import Campaign
corpus, _ = Corpus.objects.get_or_create(name="few", format="tvr")
Campaign.objects.create(name="doors", title="Films", corpus=corpus)
"""
KEY = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A site behind nginx, whose people can also sign in at a provider."""
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    folder = tmp_path_factory.mktemp("doors")
    made, front = Installation(folder / "home"), free_port()
    back = f"http://localhost:{front}/sign-in/sso/back"
    with provider(folder, free_port(), back) as issuer, nginx(folder, front, made.port):
        made.env |= {"TRUSTED_PROXIES": "127.0.0.1", "OIDC_ISSUER": issuer, "OIDC_NAME": "the lab"}
        made.env |= {"OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        try:
            made.start()
            made.shell(CAMPAIGN)
            made.port = front
            yield made
        finally:
            made.stop()


@contextmanager
def nginx(folder: Path, port: int, behind: int) -> Iterator[None]:
    """nginx, which tells the server behind it who asks."""
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}}\nuser root;\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
        f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
        f"server {{ listen 127.0.0.1:{port};\nlocation / {{ proxy_pass http://127.0.0.1:{behind};\n"
        "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme;\n"
        "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; } } }\n"
    )
    process = subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf", "-e", f"{folder}/errors"])
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context, faults = chromium.new_context(), list[str]()
    page = context.new_page()
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert faults == []


def local(place: Installation, path: str = "/") -> str:
    """An address by the name `localhost`: browsers make passkeys for no bare number."""
    return f"http://localhost:{place.port}{path}"


def passwords(place: Installation, role: str, *names: str) -> dict[str, str]:
    return place.accounts("doors", role, *names)


def by_password(page: Page, place: Installation, name: str, password: str) -> None:
    page.goto(local(place, "/sign-in/"))
    page.fill("[name=username]", name)
    page.fill("[name=password]", password)
    page.click("button.primary")


def authenticator(page: Page) -> tuple[CDPSession, str]:
    """A virtual device that keeps passkeys; returns the session that commands it, and its name."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    made = devtools.send("WebAuthn.addVirtualAuthenticator", {"options": KEY})
    return devtools, str(made["authenticatorId"])


def sign_out(page: Page) -> None:
    page.locator("form.who").wait_for(state="attached")
    menu = page.locator("details.menu:has(form.who) > summary")
    if menu.count():
        menu.click()
    page.click("text=Sign out")
    expect(page.locator("h1")).to_have_text("Sign in")


def test_a_passkey_signs_in_without_a_password_and_is_a_second_factor(place: Installation, page: Page) -> None:
    password = passwords(place, "lead", "petra")["petra"]
    devtools, device = authenticator(page)
    by_password(page, place, "petra", password)
    page.goto(local(place, "/account/security"))
    page.click("text=Set up a passkey")
    page.fill("[name=name]", "my laptop")
    page.click("#passkey")
    expect(page.locator(".codes li")).to_have_count(10)
    [kept] = devtools.send("WebAuthn.getCredentials", {"authenticatorId": device})["credentials"]
    assert (kept["isResidentCredential"], kept["rpId"]) == (True, "localhost")
    page.click("text=I have kept them")

    sign_out(page)
    page.goto(local(place, "/campaigns/doors/annotators/"))
    page.click("#passkey")  # alone
    page.wait_for_url("**/campaigns/doors/annotators/")

    sign_out(page)
    by_password(page, place, "petra", password)
    expect(page.locator("h1")).to_have_text("One more step")
    page.goto(local(place, "/campaigns/"))
    expect(page.locator("h1")).to_have_text("One more step")  # not in yet
    page.click("#passkey")
    page.wait_for_url("**/campaigns/**")

    page.goto(local(place, "/account/security"))
    expect(page.locator(".factor").first).to_contain_text("my laptop")
    page.click(".factor a:has-text('Remove')")
    page.click("button:has-text('Remove it')")
    expect(page.locator(".message")).to_contain_text("The passkey is removed")
    sign_out(page)
    page.click("#passkey")  # the device still has it, but nobody knows it here
    expect(page.locator(".message.error").first).to_contain_text("wrong")


def test_a_passkey_that_is_not_there_is_said_in_words(place: Installation, page: Page) -> None:
    devtools, device = authenticator(page)
    devtools.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    page.goto(local(place, "/sign-in/"))
    page.click("#passkey")
    expect(page.locator("#passkey-fault")).to_be_visible()


def test_signing_in_at_the_provider_obeys_the_pages_policy(place: Installation, page: Page) -> None:
    """A form may only lead where the policy lets it, also by redirects."""
    link = place.manage("invite", "doors", "--address", local(place)).strip()
    page.goto(link)
    page.click("text=Sign in with the lab")
    page.fill("[name=login]", "emil")
    page.fill("[name=password]", AT_THE_PROVIDER)
    page.click("[type=submit]")
    expect(page.locator(".message")).to_contain_text("Welcome to Films")
    sign_out(page)
    page.click("text=Sign in with the lab")  # known there by now, so nothing is asked
    page.wait_for_url("**/judge/")
    expect(page.locator(".who a")).to_have_text("emil")


def test_ending_a_session_elsewhere(place: Installation, page: Page, chromium: Browser) -> None:
    password = passwords(place, "annotator", "sara")["sara"]
    by_password(page, place, "sara", password)
    expect(page).to_have_url(re.compile("/judge/$"))
    other = chromium.new_context().new_page()
    by_password(other, place, "sara", password)
    expect(other).to_have_url(re.compile("/judge/$"))
    page.goto(local(place, "/account/security"))
    expect(page.locator(".factor")).to_have_count(2)
    expect(page.locator(".factor", has_text="this one")).to_contain_text("Chrome, Linux")
    page.locator(".factor", has_not_text="this one").locator("button").click()
    expect(page.locator(".factor")).to_have_count(1)
    other.goto(local(place, "/judge/"))
    expect(other.locator("h1")).to_have_text("Sign in")
    other.context.close()


def test_locked_out_and_let_in_again_behind_nginx(place: Installation) -> None:
    words = passwords(place, "lead", "lena", "mona")
    stranger, office = "127.0.0.2", "127.0.0.3"
    wrong = [signed_in(place, stranger, "lena", f"guess {number}") for number in range(11)]
    assert wrong == [200] * 10 + [429]
    assert signed_in(place, stranger, "lena", words["lena"]) == 429  # also the right one
    assert signed_in(place, stranger, "mona", words["mona"]) == 302  # another person from there
    assert signed_in(place, office, "lena", words["lena"]) == 302  # the lead from elsewhere
    assert signed_in(place, stranger, "lena", words["lena"], "127.0.0.9") == 429  # a header proves nothing
    sql(place, "DELETE FROM shared_cache")  # as a quarter of an hour does
    assert signed_in(place, stranger, "lena", words["lena"]) == 302


def signed_in(place: Installation, address: str, name: str, password: str, claimed: str = "") -> int:
    """The status of signing in from that address of this machine."""
    headers = {"x-forwarded-for": claimed} if claimed else {}
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(base_url=place.address, transport=transport, headers=headers) as http:
        http.get("/sign-in/")
        form = {"username": name, "password": password, "csrfmiddlewaretoken": http.cookies["csrftoken"]}
        return http.post("/sign-in/", data=form).status_code
