"""The workplace in Chromium: the time from a key to the next moving clip on a slow network, and a shift with faults."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator

from playwright.sync_api import Browser, CDPSession, Page

from benchmarks.databases import fresh, is_sound, on_each
from benchmarks.measuring import need
from tests import browsing
from tests.browsing import Person, moving
from tests.faults.browser_shift import Shift
from tests.installation import Installation

# Milliseconds of network; presses; milliseconds after a clip may be judged.
LATENCY, PRESSES, BETWEEN = 300, 240, 700
SHIFT, SPARE = 500, 4  # presses on each database, and batches more than they need
JUDGEMENTS, PAIRS = 400, 20  # in one tab without loading a page, in batches of so many
PASSWORD = "reeljudge-demo"
# When a press brings another clip: until that clip's first frame is presented while it plays, and until the next one.
# The listener hangs on the window, so the page's own has done its work before it.
WATCH = """
window.presses = [];
window.addEventListener("keydown", ({ key, timeStamp }) => {
  const video = document.querySelector("video.seen");
  if (!/^[0-4]$/.test(key) || !video) return;
  const press = {};
  let before;
  const presented = (_, { mediaTime }) => {
    const took = performance.now() - timeStamp;
    if (press.first === undefined) window.presses.push(Object.assign(press, { first: took }));
    else if (mediaTime !== before) return void (press.second = took);
    before = mediaTime;
    video.requestVideoFrameCallback(presented);
  };
  video.requestVideoFrameCallback(presented);
});
"""


def figures() -> Iterator[str]:
    need("CHROMIUM" in os.environ, "Chromium")
    with browsing.chromium() as chromium:
        with fresh() as place:
            yield from _latency(place, chromium)
        with fresh() as place:
            yield _heap(place, chromium)
        yield from on_each(lambda place: _shift(place, chromium))


def _latency(place: Installation, chromium: Browser) -> Iterator[str]:
    """Let one annotator judge the demo's clips, batch after batch."""
    place.manage("demo", "--only-make", "--untrained")
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(WATCH)
    person = Person(place, context, "asha", PASSWORD)
    network = {"offline": False, "latency": LATENCY, "downloadThroughput": -1, "uploadThroughput": -1}
    session = context.new_cdp_session(person.page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", network)
    took: list[dict[str, float]] = []
    while len(took) < PRESSES:
        took += _batch(person)
    yield f"first page: {_sizes(person.claim())}"
    for name, words in {"first": "the next clip moving", "second": "the picture after that"}.items():
        times = [each[name] for each in took if name in each]
        p50, p95 = statistics.median(times), statistics.quantiles(times, n=100)[94]
        yield f"key to {words}: p50 {p50:.0f} ms, p95 {p95:.0f} ms ({len(times)} presses, {LATENCY} ms of network)"
    context.close()


def _batch(person: Person) -> list[dict[str, float]]:
    page = person.claim()
    moving(page)
    while page.locator("#summary").is_hidden():
        moving(page)  # before the wait: asking keeps the page busy
        page.wait_for_timeout(BETWEEN)
        page.keyboard.press("3")
    page.wait_for_timeout(BETWEEN)
    took: list[dict[str, float]] = page.evaluate("() => window.presses")
    person.submit()
    return took


def _heap(place: Installation, chromium: Browser) -> str:
    """Judge batch after batch in one tab, and compare the memory of its scripts with that of the first batch."""
    batches = JUDGEMENTS // PAIRS
    browsing.import_films(place)
    browsing.make_campaign(place, "heap", queries=batches + 1)
    browsing.wait_until_open(place, "heap", batches + 1)
    context = chromium.new_context()
    person = Person(place, context, "ada", place.accounts("heap", "annotator", "ada")["ada"])
    session, page, judged = context.new_cdp_session(person.page), person.claim(), 0
    used = [_used(session)]
    for _ in range(batches):
        while page.locator("#summary").is_hidden():
            moving(page)
            page.keyboard.press("3")
            judged += 1
        person.submit()
        page.click("#begin-next")
        moving(page)
        used.append(_used(session))
    context.close()
    return f"heap: {used[0]:.1f} MB in the first batch, {used[-1]:.1f} MB after {judged} judgements in one tab"


def _used(session: CDPSession) -> float:
    """The megabytes that the page's scripts hold, without what nothing refers to any more."""
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    return used


def _sizes(page: Page) -> str:
    sizes = browsing.weight(page)
    parts = ", ".join(f"{kind} {size / 1000:.1f}" for kind, size in sizes.items())
    return f"{sum(sizes.values()) / 1000:.1f} kB gzipped ({parts})"


def _shift(place: Installation, chromium: Browser) -> Iterator[str]:
    browsing.import_films(place)
    batches = SHIFT // 20 + SPARE
    browsing.make_campaign(place, "shift", queries=batches)
    browsing.wait_until_open(place, "shift", batches)
    password = place.accounts("shift", "annotator", "ada")["ada"]
    account = Shift(Person(place, chromium.new_context(), "ada", password)).work(SHIFT)
    yield f"{account}; {is_sound(place, 'shift')}"
