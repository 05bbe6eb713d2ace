"""In a real browser: a lead comes in by a link, turns on a second factor, and invites; 23 people get links at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.accounts.test_second_factor import code_of
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
    page.click("summary >> text=petra")
    page.click("text=Your account")
    page.click(".own-pages >> text=Security")
    page.click("text=Set up an app")
    expect(page.locator("img.qr")).to_be_visible()
    secret = page.locator(".secret").inner_text()
    page.fill("[name=code]", code_of(secret))
    page.click(".drawer button")
    expect(page.locator(".message.success")).to_contain_text("The app is set up")
    expect(page.locator(".codes li")).to_have_count(10)
    code = page.locator(".codes li").first.inner_text()
    page.click("text=I have kept them")
    return secret, code


def sign_in(page: Page, address: str, code: str) -> None:
    if page.locator("nav.row").count():
        page.click("summary >> text=petra")
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
    expect(page).to_have_title(re.compile("^Films"))  # the overview of the only campaign
    key, backup = turn_on(page)

    people = f"{place.address}/campaigns/people/annotators/"
    sign_in(page, people, backup)
    sign_in(page, people, code_of(key, 1))  # the app's next code, as if half a minute had passed
    page.click("main a.button >> text=Invite")
    page.fill("[name=people] >> nth=1", "1")
    page.click("text=Make a link")
    invitation = page.locator(".once input").input_value()

    guest = chromium.new_context().new_page()
    sign_up(guest, invitation, "nell")
    expect(guest).to_have_url(re.compile("/judge/$"))
    guest.context.close()

    page.goto(people)
    page.click("tbody >> text=nell")
    expect(page.locator("main")).to_contain_text("Annotator, joined")
    page.fill("[name=reason] >> nth=0", "just trying")
    page.click("text=Has left")
    expect(page.locator("tbody tr", has_text="Left")).to_contain_text("just trying")
    log = (place.home / "log").read_text()
    assert not any(secret.rsplit("/", 1)[1] in log for secret in (link, invitation))


NAMES = [f"Person {chr(65 + number)}" for number in range(23)]


def invited(page: Page, place: Installation) -> dict[str, str]:
    """The links of 23 people whom the lead pastes, by name."""
    page.goto(f"{place.address}/campaigns/people/annotators/?drawer=invitations")
    page.fill("[name=people] >> nth=0", "\n".join(f"{name}, , east" for name in NAMES))
    page.click("text=Invite them")
    expect(page.locator(".message")).to_contain_text("Links made: 23")
    links = page.locator(".invited input").evaluate_all("(all) => all.map((each) => each.value)")
    names = page.locator(".invited .who").all_inner_texts()
    assert sorted(names) == NAMES
    with page.expect_download() as download:
        page.click("text=All links as CSV")
    text = download.value.path().read_text()
    assert all(link in text for link in links)
    return dict(zip(names, links, strict=True))


def test_of_23_named_people_three_join_and_ask_and_one_answer_is_told_to_all(
    place: Installation, page: Page, chromium: Browser
) -> None:
    sign_up(page, place.manage("invite", "people", "--role", "lead", "--address", place.address).strip(), "quin")
    links = invited(page, place)
    guests = [chromium.new_context().new_page() for _ in range(3)]
    for number, guest in enumerate(guests):
        sign_up(guest, links[NAMES[number]], f"guest{number}")
    asking, other, _ = guests
    asking.goto(f"{place.address}/judge/people/mine")
    asking.click("text=Ask your lead something")
    asking.fill("form[action$='/questions'] [name=text]", "I am guest0. Is a stool a chair?")
    asking.click("form[action$='/questions'] button")

    page.goto(f"{place.address}/campaigns/people/annotators/?drawer=invitations")
    expect(page.locator(".invited li", has_text="Link made")).to_have_count(20)
    expect(page.locator(".funnel")).to_contain_text(re.compile("[34] joined"))
    page.goto(f"{place.address}/campaigns/people/inbox/")
    expect(page.locator("h1")).to_have_text("Inbox")
    page.keyboard.press("a")
    page.keyboard.type("It is, if one can lean back.")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    page.fill("[name=wording]", "Is a stool a chair?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".toast")).to_contain_text("Question answered")
    expect(page.locator("main")).to_contain_text("Nothing waits.")

    other.goto(f"{place.address}/judge/people/tutorial?step=3")
    other.click("text=Questions and answers")
    expect(other.locator("main")).to_contain_text("It is, if one can lean back.")
    expect(other.locator("main")).to_contain_text("Is a stool a chair?")
    expect(other.locator("main")).not_to_contain_text("guest0")
    other.goto(f"{place.address}/judge/")
    expect(other.locator("main")).to_contain_text("It is, if one can lean back.")
    asking.goto(f"{place.address}/judge/")
    expect(asking.locator("main")).to_contain_text("It is, if one can lean back.")

    other.goto(f"{place.address}/judge/people/mine")
    other.click("text=Ask your lead something")
    other.fill("form[action$='/questions'] [name=text]", "When do you pay?")
    other.click("form[action$='/questions'] button")
    page.goto(f"{place.address}/campaigns/people/inbox/")
    page.keyboard.press("a")
    page.keyboard.type("On Monday.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("main")).to_contain_text("Nothing waits.")
    page.goto(f"{place.address}/campaigns/people/inbox/?view=messages")
    expect(page.locator("tbody tr", has_text="When do you pay?")).to_contain_text("On Monday.")

    page.goto(f"{place.address}/campaigns/people/settings")
    warn, bar = page.locator("[name=check_warn]"), page.locator(".save")
    warn.fill("3")
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("Enter")
    expect(warn).to_be_focused()
    assert warn.evaluate("(field) => field.getBoundingClientRect().bottom") <= bar.bounding_box()["y"]  # type: ignore[index]
    for guest in guests:
        guest.context.close()
