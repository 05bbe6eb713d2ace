"""Reeljudge as an app: it can be installed, and says without a network what it keeps; it keeps nothing of anybody."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from annotate.app import FILES
from campaigns.models import Membership
from judging.models import Batch
from tests.browsing import Person, cut_off, make_campaign, moving, wait_until_open
from tests.cast import browser
from tests.installation import Installation

CODES = [code for code, _ in settings.LANGUAGES]


@pytest.mark.parametrize("code", CODES)
def test_a_browser_finds_all_that_it_needs_to_install_it(code: str, db: None) -> None:
    page = Client().get(reverse("sign-in"), HTTP_ACCEPT_LANGUAGE=code)
    address = re.findall(r'<link rel="manifest" href="([^"]+)"', page.content.decode())
    assert address == [reverse("manifest", args=[code])]
    manifest = Client().get(address[0])
    assert manifest["Content-Type"].startswith("application/manifest+json")
    data = manifest.json()
    assert (data["lang"], data["start_url"], data["display"]) == (code, reverse("work"), "standalone")
    assert {each["purpose"] for each in data["icons"]} == {"any", "maskable"}
    for icon in data["icons"]:
        with Image.open(str(finders.find(icon["src"].removeprefix("/static/")))) as picture:
            assert f"{picture.width}x{picture.height}" == icon["sizes"]
    assert {"manifest-src 'self'", "worker-src 'self'"} <= set(page["Content-Security-Policy"].split("; "))


def test_each_language_has_a_name_of_its_own(db: None) -> None:
    names = {Client().get(reverse("manifest", args=[code])).json()["name"] for code in CODES}
    assert len(names) == len(CODES)
    for name in ("manifest", "offline"):
        assert Client().get(reverse(name, args=["xx"])).status_code == 404


def test_the_page_without_a_network_is_nobodys(batch: Batch, ada: Membership) -> None:
    for code in CODES:
        address = reverse("offline", args=[code])
        assert browser(ada).get(address).content == Client().get(address).content
    assert b"ada" not in Client().get(reverse("offline", args=["en"])).content


def test_the_script_is_another_one_for_another_language_or_version(
    batch: Batch, ada: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("service-worker")
    assert f'data-worker="{address}"' in browser(ada).get(reverse("work")).content.decode()
    scripts = {Client().get(address, HTTP_ACCEPT_LANGUAGE=code).content for code in CODES}
    monkeypatch.setattr("config.operations.monitoring.page_version", lambda: "newer")
    scripts |= {Client().get(address, HTTP_ACCEPT_LANGUAGE=code).content for code in CODES}
    assert len(scripts) == 2 * len(CODES)


def test_without_a_network_it_says_what_is_kept_and_goes_on_by_itself(server: Installation, chromium: Browser) -> None:
    make_campaign(server, "app")
    wait_until_open(server, "app", 1)
    password = server.accounts("app", "annotator", "ada-app")["ada-app"]
    context = chromium.new_context(service_workers="allow")
    person = Person(server, context, "ada-app", password)
    page = person.page
    page.goto(f"{server.address}/judge/")
    page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    page.reload()  # so that the service worker looks after the page

    context.set_offline(True)
    page.click("form[action$='/claim'] button")
    expect(page.locator("h1")).to_have_text("No network")
    expect(page.locator("#kept")).to_be_hidden()
    context.set_offline(False)
    expect(page.locator("form[action$='/claim'] button")).to_be_visible()  # it goes on by itself
    person.claim()
    moving(page)
    cut_off(page)
    page.keyboard.press("3")
    expect(page.locator("#saved")).to_contain_text("(1)")
    context.set_offline(True)
    page.reload()
    expect(page.locator("#kept")).to_have_text("Kept here: 1")
    page.unroute_all()
    context.set_offline(False)
    expect(page.locator("#position")).to_have_text("2 / 20")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    only_files_are_kept(page)
    grades_are_under_the_thumb(page)


def grades_are_under_the_thumb(page: Page) -> None:
    """A phone upright has them at its lower end, and one that lies on its side right of the clip."""
    page.set_viewport_size({"width": 390, "height": 844})
    boxes = [each.bounding_box() for each in page.locator(".grades button").all()]
    assert all(box and box["height"] >= 56 and box["width"] > 340 for box in boxes)
    assert 844 - place_of(page, ".grades button >> nth=4")["y"] < 80
    assert place_of(page, ".stage")["height"] == pytest.approx(390 * 9 / 16, rel=0.1)  # no black above and below
    page.set_viewport_size({"width": 844, "height": 390})
    stage, first = place_of(page, ".stage"), place_of(page, ".grades button >> nth=0")
    assert stage["x"] + stage["width"] <= first["x"]
    assert stage["width"] > 844 / 2
    assert page.evaluate("document.documentElement.scrollHeight") <= 390


def place_of(page: Page, selector: str) -> dict[str, float]:
    box = page.locator(selector).bounding_box()
    assert box
    return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}


def only_files_are_kept(page: Page) -> None:
    kept = page.evaluate(
        "async () => (await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys())))"
        ".flat().map(({ url }) => new URL(url).pathname)"
    )
    assert len(kept) == len(FILES) + 1
    assert all(path.startswith("/static/") or path == "/app/en/offline" for path in kept)
