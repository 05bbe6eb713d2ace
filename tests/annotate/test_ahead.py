"""An evening without a network: the batches were loaded ahead on a good line, and are submitted on the next one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browsing import Person, make_campaign, moving, wait_until_open
from tests.installation import Installation
from tests.waiting import wait_until


@pytest.fixture
def evening(server: Installation, chromium: Browser) -> Iterator[tuple[BrowserContext, Page]]:
    """An annotator who holds her first batch, with two more to come."""
    make_campaign(server, "evening", queries=3)
    wait_until_open(server, "evening", 3)
    password = server.accounts("evening", "annotator", "ada-evening")["ada-evening"]
    context = chromium.new_context(service_workers="allow")
    person = Person(server, context, "ada-evening", password)
    page = person.claim()
    page.goto(f"{server.address}/judge/")
    page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    page.reload()  # so that the service worker looks after the page
    yield context, page
    context.close()


def grade_all(page: Page, key: str) -> None:
    for n in range(1, 21):
        expect(page.locator("#position")).to_have_text(f"{n} / 20")
        moving(page)
        page.keyboard.press(key)
    expect(page.locator("#summary-words")).to_contain_text("All 20 judged")


def test_two_batches_are_judged_without_a_network(server: Installation, evening: tuple[BrowserContext, Page]) -> None:
    context, page = evening
    page.click("form.ahead button")
    expect(page.locator("form.ahead [role=status]")).to_contain_text("Loaded: 3 batches with 60 clips")
    page.click("form[action$='/claim'] button")
    moving(page)
    page.keyboard.press("3")  # while there is a network
    expect(page.locator("#saved")).to_have_class("saved settled")

    context.set_offline(True)
    page.reload()
    expect(page.locator("#position")).to_have_text("2 / 20")  # what the server knows is known here, too
    moving(page)
    for n in range(2, 21):
        expect(page.locator("#position")).to_have_text(f"{n} / 20")
        moving(page)
        page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(page.locator("#moment-words")).to_contain_text("Kept in this browser")
    page.reload()
    expect(page.locator("#summary-words")).to_contain_text("All 20 judged")  # and any grade may be changed
    page.keyboard.press("Enter")
    expect(page.locator("#moment-words")).to_contain_text("Kept in this browser")
    page.keyboard.press("Enter")
    grade_all(page, "2")
    page.keyboard.press("Enter")
    expect(page.locator("#moment-words")).to_contain_text("Kept in this browser")
    page.goto(f"{server.address}/judge/")
    expect(page.locator("h1")).to_have_text("No network")
    expect(page.locator("#batches a")).to_have_count(1)
    assert "/judge/assignments/" in (page.locator("#batches a").get_attribute("href") or "")
    context.set_offline(False)  # the page goes on by itself, to the home page, which sends what waits
    wait_until(lambda: "evening 2 1 [20, 20, 0]" in state(server), lambda: state(server))
    page.wait_for_function("() => !Object.keys(localStorage).some((name) => /\\d{10}-/.test(name))")  # all is answered
    page.goto(f"{server.address}/judge/")
    expect(page.locator("form.ahead [role=status]")).to_have_text("Batches in this browser: 1")
    expect(page.locator("#leftovers .message")).to_have_count(0)
    page.click("form.who button")
    expect(page.locator("#id_username")).to_be_visible()
    assert "ahead" not in page.evaluate("() => caches.keys()")  # nothing is left to the next person


def state(server: Installation) -> str:
    """How many assignments are submitted and live, and how many judgements each has."""
    return server.shell(
        "from judging.models import Assignment\n"
        "own = Assignment.objects.filter(annotator__campaign__name='evening').order_by('pk')\n"
        "print('evening', own.submitted().count(), own.live().count(), [each.judgements.count() for each in own])"
    )
