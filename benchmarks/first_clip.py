"""From "Give me a batch", and from a submission, to the first moving clip on a slow network."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks.databases import fresh
from benchmarks.measuring import need
from tests import browsing
from tests.browsing import Person, moving
from tests.installation import Installation

LATENCY, BITS = 300, 1_500_000  # milliseconds; bits a second
LINES, COLUMNS, RATE, SECONDS, SIZE = 480, 854, 25, 8, 900_000  # of the clips; the last in bytes
ROUNDS = 5
PASSWORD = "reeljudge-demo"
CLAIM = "form[action$='/claim'] button"
# Milliseconds from the press, or from the beginning of a page that nobody pressed for, until a clip's time goes on.
WATCH = """
addEventListener("submit", () => sessionStorage.setItem("began", Date.now()));
let before;
const look = () => {
  const video = document.querySelector("video.seen, video.alone");
  const time = video && !video.paused && video.readyState >= 2 ? video.currentTime : undefined;
  if (before !== undefined && time > before) return void (window.took = Date.now() - sessionStorage.getItem("began"));
  before = time;
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
# Submits, waits so many milliseconds once the moment is there, and goes on. Milliseconds from the submission, and from
# going on, until the next batch's first clip moves.
NEXT = """(reading) => new Promise((done) => {
  const began = performance.now();
  let went, before;
  const goOn = () => ((went = performance.now()), document.getElementById("begin-next").click());
  const look = () => {
    const video = went && document.querySelector("#workplace:not(.over) video.seen");
    const time = video && !video.paused && video.readyState >= 2 ? video.currentTime : undefined;
    if (before !== undefined && time > before) return done([performance.now() - began, performance.now() - went]);
    before = time;
    requestAnimationFrame(look);
  };
  const isOver = new MutationObserver(() => (isOver.disconnect(), setTimeout(goOn, reading)));
  isOver.observe(document.getElementById("moment"), { attributeFilter: ["hidden"] });
  document.getElementById("submit").click();
  requestAnimationFrame(look);
})"""
READING = 3000  # milliseconds of somebody who reads what was done
ALONE = '<!doctype html><title>Alone</title><video class="alone" src="{}" autoplay muted loop></video>'
READY = """
from corpus.models import Clip
print(*(clip.file.path for clip in Clip.objects.filter(state="ready")), sep="\\n")
"""


def figures() -> Iterator[str]:
    need("CHROMIUM" in os.environ, "Chromium")
    with fresh() as place:
        place.manage("demo", "--only-make", "--untrained")
        size = _make_heavy(place)
        with browsing.chromium() as chromium:
            rounds = [_round(place, chromium) for _ in range(ROUNDS)]
            at_once, _ = _next(place, chromium, 0)
            _, after = _next(place, chromium, READING)
    ours, alone = (statistics.median(times) for times in zip(*rounds, strict=True))
    ratio = statistics.median(ours / alone for ours, alone in rounds)
    yield f"a clip of {size / 1e6:.2f} MB, {LATENCY} ms and {BITS / 1e6:g} Mbit/s, median of {ROUNDS} rounds"
    yield f"from the press to the first clip moving: {ours / 1000:.1f} s"
    yield f"that clip alone in a page: {alone / 1000:.1f} s"
    yield f"ours beside the clip alone, median of the pairs: {ratio:.2f} (promised: at most 1.5)"
    yield f"from a submission to the next batch's first clip moving, without reading: {at_once / 1000:.1f} s"
    yield f"from Enter after {READING / 1000:g} s of reading what was done: {after:.0f} ms"


def _make_heavy(place: Installation) -> int:
    """Put one large clip in the place of each clip, and return its size in bytes."""
    heavy = place.home / "heavy.mp4"
    _draw(heavy)
    for name in place.shell(READY).split("\n"):
        if name.strip():
            Path(name).write_bytes(heavy.read_bytes())
    return heavy.stat().st_size


def _draw(file: Path) -> None:
    """Film a ground that does not compress well, at the rate that gives the size."""
    ground = np.random.default_rng(1).integers(0, 255, (LINES, COLUMNS + RATE * SECONDS, 3), np.uint8)
    with av.open(str(file), "w", options={"movflags": "+faststart"}) as film:
        stream: Any = film.add_stream("libx264", rate=RATE, options={"preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = COLUMNS, LINES, "yuv420p"
        stream.bit_rate = 8 * SIZE // SECONDS
        for number in range(RATE * SECONDS):
            picture = ground[:, number : number + COLUMNS].copy()
            film.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        film.mux(stream.encode(None))


def _round(place: Installation, chromium: Browser) -> tuple[float, float]:
    """The milliseconds of a claim, and of the same clip alone; the browser has seen neither."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(WATCH)
    person = Person(place, context, "asha", PASSWORD)
    person.page.wait_for_load_state("networkidle")
    _slow(context, person.page)
    person.page.click(CLAIM)
    ours = _took(person.page)
    clip = person.page.locator("video.seen").get_attribute("src")
    context.close()
    return ours, _alone(place, chromium, str(clip))


def _next(place: Installation, chromium: Browser, reading: int) -> tuple[float, float]:
    """Judge a batch on a fast network, and submit it on a slow one."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = Person(place, context, "asha", PASSWORD).claim()
    while page.locator("#summary").is_hidden():
        moving(page)
        page.keyboard.press("3")
    page.wait_for_function("() => document.getElementById('saved').textContent === 'saved ✓'")
    _slow(context, page)
    submitted, went = page.evaluate(NEXT, reading)
    context.close()
    return submitted, went


def _alone(place: Installation, chromium: Browser, clip: str) -> float:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = Person(place, context, "asha", PASSWORD).page
    context.add_init_script(WATCH + 'sessionStorage.setItem("began", Date.now());')
    page.route("**/alone", lambda route: route.fulfill(content_type="text/html", body=ALONE.format(clip)))
    _slow(context, page)
    page.goto(f"{place.address}/alone")
    alone = _took(page)
    context.close()
    return alone


def _slow(context: BrowserContext, page: Page) -> None:
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    network = {"offline": False, "latency": LATENCY, "downloadThroughput": BITS / 8, "uploadThroughput": BITS / 8}
    session.send("Network.emulateNetworkConditions", network)


def _took(page: Page) -> float:
    page.wait_for_function("() => window.took !== undefined", timeout=120_000)
    return float(page.evaluate("() => window.took"))
