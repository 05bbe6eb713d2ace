"""Somebody at a real browser: what the tests of pages, the screenshots and the benchmarks share."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    Response,
    TimeoutError,
    expect,
    sync_playwright,
)

from tests.films import write_film
from tests.installation import Installation
from tests.waiting import wait_until

expect.set_options(timeout=30_000)  # for a busy machine; nothing takes longer because of it
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
QUERY = "A person sits down."
drivers: list[Playwright] = []


def chromium() -> AbstractContextManager[Browser]:
    return chromium_at({})


@contextmanager
def chromium_at(names: dict[str, str]) -> Iterator[Browser]:
    """The browser, for which these names of hosts have these addresses."""
    rules = ", ".join(f"MAP {name} {address}" for name, address in names.items())
    flags = [*FLAGS, f"--host-resolver-rules={rules}"] if names else FLAGS
    with _driver() as driver:
        browser = driver.chromium.launch(executable_path=os.environ["CHROMIUM"], args=flags)
        for name in ("new_context", "new_page"):  # what a service worker asks for would pass by the tests' routes
            setattr(browser, name, partial(getattr(browser, name), service_workers="block"))
        yield browser
        browser.close()


@contextmanager
def _driver() -> Iterator[Playwright]:
    """The driver of browsers: the one that runs, if there is one, since a thread cannot have two."""
    if drivers:
        yield drivers[0]
        return
    with sync_playwright() as driver:
        drivers.append(driver)
        yield driver
        drivers.clear()


def import_films(place: Installation) -> None:
    """A corpus with a film, and the same without media."""
    moments = write_film(place.home / "films")
    media = str(place.home / "films" / "media")
    place.manage("import_corpus", "films", str(moments), "--format", "tvr", "--type", "v", "--media", media)
    place.manage("import_corpus", "bare", str(moments), "--format", "tvr", "--type", "v")


def make_campaign(place: Installation, name: str, corpus: str = "films", queries: int = 1) -> None:
    file = place.home / f"{name}.json"
    texts = [QUERY, *(f"A person sits down on chair number {number}." for number in range(1, queries))]
    rows = [{"query_id": number, "query": text} for number, text in enumerate(texts, 7)]
    file.write_text(json.dumps(rows))
    place.manage("create_campaign", name, "--corpus", corpus, "--queries", str(file), "--without-films")


def wait_until_open(place: Installation, campaign: str, batches: int) -> None:
    """Until so many batches of the campaign have their clips."""
    place.shell(
        "from judging.models import Batch\n"
        "from tests.waiting import wait_until\n"
        f"ready = Batch.objects.filter(query__campaign__name={campaign!r}, state='open')\n"
        f"wait_until(lambda: ready.count() >= {batches}, lambda: f'{batches} batches of {campaign} are open')"
    )


class Person:
    """Somebody at a browser."""

    def __init__(self, place: Installation, context: BrowserContext, name: str, password: str) -> None:
        self.place, self.context, self.page = place, context, context.new_page()
        self.name, self.password = name, password
        self.faults: list[str] = []
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.goto(f"{place.address}/sign-in/")
        self.page.fill("[name=username]", name)
        self.page.fill("[name=password]", password)
        self.page.click("main button")
        self.page.wait_for_url(lambda address: "sign-in" not in address)

    def claim(self) -> Page:
        """Press the one button until there is work: ranking and clips may still be under way."""
        page = self.page
        page.goto(f"{self.place.address}/judge/")

        def work_came() -> bool:
            with suppress(TimeoutError):  # what is still on its way is saved first: the page may go by itself
                page.click("form[action$='/claim'] button", timeout=1000)  # not the tutorial's
            page.wait_for_load_state()
            return page.locator("#workplace").count() > 0

        wait_until(work_came, lambda: f"work came: {page.content()}")
        return page

    def judge(self, keys: str) -> None:
        """Press one key for each clip, each while its picture moves; then submit."""
        self.grade(keys)
        self.submit()

    def grade(self, keys: str) -> None:
        """The same, up to the list of all clips."""
        page = self.claim()
        total = int(re.findall("[0-9]+", page.locator("#position").inner_text())[-1])
        for number in range(total):  # as "2 / 20" and, in an exam, "Exam · 2 of 20"
            expect(page.locator("#position")).to_have_text(re.compile(rf"(^| ){number + 1} (/|of) {total}$"))
            moving(page)
            page.keyboard.press(keys[min(number, len(keys) - 1)])
        expect(page.locator("#summary-words")).to_contain_text(f"All {total} judged")

    def submit(self) -> None:
        """Submit, and wait for what follows: the moment of a batch, or after an exam another page."""
        self.page.click("#submit")
        self.page.wait_for_function(SUBMITTED)


@contextmanager
def signed_in(place: Installation, browser: Browser, name: str, password: str) -> Iterator[Person]:
    """Somebody whose pages may complain of nothing."""
    context = browser.new_context()
    person = Person(place, context, name, password)
    yield person
    context.close()
    assert person.faults == [], person.faults


SUBMITTED = "() => !document.getElementById('moment') || !document.getElementById('moment').hidden"
MOVING = """() => {
    const video = document.querySelector("video.seen");
    return video && video.currentTime > 0 && video.moved >= 1000 * document.querySelector("main").dataset.watchFirst;
}"""


def moving(page: Page, timeout: float = 30_000) -> None:
    """Wait until the clip that is shown has been moving for long enough to be judged."""
    page.wait_for_function(MOVING, timeout=timeout)


def press(page: Page, *keys: str) -> None:
    """One key after the other, each once the clip that is shown has been moving for long enough."""
    for key in keys:
        moving(page)
        page.keyboard.press(key)


def key(page: Page, name: str) -> None:
    """Press a key once the page's scripts listen."""
    page.wait_for_load_state("domcontentloaded")
    page.keyboard.press(name)


SAVING = "**/judgements/*"


def cut_off(page: Page) -> None:
    """No grade gets through any more. The browser heeds that a moment after it is told, so one is tried first."""
    page.route(SAVING, lambda route: route.abort())
    page.wait_for_function("() => fetch('/judgements/0').then(() => false, () => true)")


def stocked(page: Page, clips: int) -> None:
    """Wait until so many clips are kept whole in the browser."""
    whole = "({ initiatorType, name, responseEnd }) => initiatorType === 'fetch' && /clips/.test(name) && responseEnd"
    page.wait_for_function(
        f"(clips) => performance.getEntriesByType('resource').filter({whole}).length >= clips", arg=clips
    )


def weight(page: Page) -> dict[str, int]:
    """Load the page anew; returns the bytes of its HTML, CSS and JavaScript, gzipped."""
    answers: list[Response] = []

    def note(answer: Response) -> None:
        answers.append(answer)

    page.on("response", note)
    page.goto(page.url)
    page.wait_for_load_state("networkidle")
    page.remove_listener("response", note)
    kinds = {"document": "HTML", "stylesheet": "CSS", "script": "JavaScript"}
    sizes = dict.fromkeys(kinds.values(), 0)
    for answer in answers:
        if kind := kinds.get(answer.request.resource_type):
            sizes[kind] += len(gzip.compress(answer.body()))
    return sizes
