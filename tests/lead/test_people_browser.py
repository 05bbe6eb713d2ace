"""In a real browser: a lead comes in by a link, turns on a second factor, and invites an annotator."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.campaigns.test_second_factor import code_of
from tests.installation import Installation

pytestmark = pytest.mark.timeout(300)
PASSWORD = "a-long-word-7"
CAMPAIGN = """
from corpus.models import Corpus
from campaigns.models import Campaign
Campaign.objects.create(name="people", title="Films", corpus=Corpus.objects.get(name="bare"))
"""


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    server.shell(CAMPAIGN)
    return server


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context, faults = chromium.new_context(), list[str]()
    page = context.new_page()
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert faults == []


def sign_up(page: Page, link: str, name: str) -> None:
    page.goto(link)
    expect(page.locator("h1")).to_have_text("Films")
    assert link.rsplit("/", 1)[1] not in page.url
    page.fill("[name=username]", name)
    page.fill("[name=password1]", PASSWORD)
    page.fill("[name=password2]", PASSWORD)
    page.click("main button")
    expect(page.locator(".message")).to_contain_text("Welcome to Films")


def turn_on(page: Page) -> tuple[str, str]:
    """The app's secret, and one recovery code."""
    page.click("text=petra")
    page.click("text=Apps, passkeys and recovery codes")
    page.click("text=Set up an app")
    expect(page.locator("img.qr")).to_be_visible()
    secret = page.locator(".secret").inner_text()
    page.fill("[name=code]", code_of(secret))
    page.click("main button")
    expect(page.locator(".message")).to_contain_text("The app is set up")
    expect(page.locator(".codes li")).to_have_count(10)
    return secret, page.locator(".codes li").first.inner_text()


def sign_in(page: Page, address: str, code: str) -> None:
    page.click("text=Sign out")
    expect(page.locator("h1")).to_have_text("Sign in")
    page.goto(address)
    page.fill("[name=username]", "petra")
    page.fill("[name=password]", PASSWORD)
    page.click("main button")
    expect(page.locator("h1")).to_have_text("One more step")
    page.fill("[name=code]", code)
    page.click("main button")
    page.wait_for_url(address)


def test_from_an_invitation_to_a_second_factor_to_an_invitation(
    place: Installation, page: Page, chromium: Browser
) -> None:
    link = place.manage("invite", "people", "--role", "lead", "--address", place.address).strip()
    sign_up(page, link, "petra")
    expect(page.locator("h1")).to_contain_text("Campaigns")
    key, backup = turn_on(page)

    people = f"{place.address}/campaigns/people/people/"
    sign_in(page, people, backup)
    sign_in(page, people, code_of(key, 1))  # the app's next code, as if half a minute had passed
    page.select_option("[name=role] >> nth=0", "annotator")
    page.click("text=Make a link")
    invitation = page.locator(".once input").input_value()

    guest = chromium.new_context().new_page()
    sign_up(guest, invitation, "nell")
    expect(guest).to_have_url(re.compile("/judge/$"))
    guest.context.close()

    page.goto(people)
    expect(page.locator("tbody tr", has_text="nell")).to_contain_text("Annotator")
    expect(page.locator("text=None. Make a link above")).to_be_visible()
    page.click("text=nell")
    page.fill("[name=reason] >> nth=0", "just trying")
    page.click("text=Has left")
    expect(page.locator("tbody tr", has_text="Left")).to_contain_text("just trying")
    log = (place.home / "log").read_text()
    assert not any(secret.rsplit("/", 1)[1] in log for secret in (link, invitation))
