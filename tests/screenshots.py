"""`make screenshots`: every page of the demo, light and dark, wide and narrow, and the README's picture."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browsing import FLAGS
from tests.installation import ROOT, Installation, installation

SIZES = {"wide": {"width": 1280, "height": 800}, "narrow": {"width": 360, "height": 740}}
PASSWORD = "reeljudge-demo"
CLAIM = "form[action$='/claim'] button"
LEADS_PAGES = {
    "campaigns": "",
    "campaign": "demo/",
    "annotators": "demo/annotators/",
    "pay": "demo/annotators/?view=pay",
    "exports": "demo/releases/?tab=files",
    "guideline-page": "demo/guideline/",
    "guideline-editor": "demo/guideline/?edit=",
    "settings": "demo/settings",
    "exam": "demo/exam/",
    "messages": "demo/inbox/?view=messages",
    "agreement": "demo/agreement/",
    "figures": "demo/releases/",
    "batches": "demo/queries/?view=batches",
    "inbox": "demo/inbox/",
    "queries": "demo/queries/",
    "reopenings": "demo/activity/?view=reopened",
    "history": "demo/activity/",
    "releases": "demo/releases/",
    "search": "demo/queries/?view=search&q=Somebody+sits+down",
}
ANNOTATORS_PAGES = {
    "mine": "judge/demo/mine",
    "preferences": "judge/preferences",
    "practice": "judge/demo/practice",
    "account": "account/",
    "security": "account/security",
    "app": "account/security/app",
    "passkey": "account/security/passkey",
    "tokens": "account/tokens",
}


def main(pictures: Path) -> None:
    all_of_them = ROOT / "var" / "screenshots"
    all_of_them.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, installation(Path(home), "sqlite") as place:
        place.manage("demo", "--only-make")
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=FLAGS)
            looks = [(scheme, size) for scheme in ("light", "dark") for size in SIZES]
            for look in looks:
                strangers_pages(place, chromium, *look, all_of_them)
                annotators_pages(place, chromium, *look, all_of_them)
            for locale in ("zh-CN", "hi"):
                annotators_pages(place, chromium, "light", "narrow", all_of_them, locale=locale)
            readme_picture(place, chromium, pictures)
            place.manage("simulate", "demo", "--annotators", "3", "--reviews", "--address", place.address)
            something_to_show(place, chromium)
            for look in looks:
                leads_pages(place, chromium, *look, all_of_them)
            chromium.close()
    print(f"{len(list(all_of_them.glob('*.png')))} pictures in {all_of_them.relative_to(ROOT)}")


def strangers_pages(place: Installation, chromium: Browser, scheme: str, size: str, folder: Path) -> None:
    """Signing in, and joining by an invitation."""
    page = chromium.new_context(color_scheme=scheme, viewport=SIZES[size]).new_page()  # type: ignore[arg-type]
    page.goto(f"{place.address}/sign-in/")
    page.screenshot(path=folder / f"sign-in-{scheme}-{size}.png")
    printed = place.manage("invite", "demo", "--role", "annotator", "--address", place.address)
    page.goto(re.findall(r"http\S+", printed)[-1])
    page.screenshot(path=folder / f"invitation-{scheme}-{size}.png")
    page.context.close()


def annotators_pages(
    place: Installation, chromium: Browser, scheme: str, size: str, folder: Path, locale: str = "en"
) -> None:
    annotator = signed_in(place, chromium, "asha", scheme, size, locale)

    def picture(name: str) -> None:
        if annotator.locator("video").count():
            annotator.wait_for_function("() => document.querySelector('video').readyState > 1")
        annotator.wait_for_timeout(300)
        language = "" if locale == "en" else f"-{locale}"
        annotator.screenshot(path=folder / f"{name}-{scheme}-{size}{language}.png")

    picture("work")
    for name, address in ANNOTATORS_PAGES.items():
        annotator.goto(f"{place.address}/{address}")
        picture(name)
    for step in range(1, 7):
        annotator.goto(f"{place.address}/judge/demo/tutorial?step={step}")
        picture(f"tutorial-{step}")
    annotator.goto(f"{place.address}/judge/")
    annotator.click(CLAIM)
    annotator.wait_for_function("() => document.querySelector('video.seen')?.currentTime > 0.5")
    picture("workplace")
    annotator.keyboard.press("?")
    picture("guideline")
    annotator.keyboard.press("Escape")
    annotator.keyboard.press("f")
    picture("flag")
    annotator.keyboard.press("b")
    picture("break")
    annotator.keyboard.press("b")
    annotator.keyboard.press("w")
    annotator.keyboard.press("a")
    picture("summary")
    annotator.context.close()


def something_to_show(place: Installation, chromium: Browser) -> None:
    """A batch that waits for its review, and a release."""
    lead = signed_in(place, chromium, "lead", "light", "wide")
    lead.goto(f"{place.address}/campaigns/demo/")
    lead.click(".square.reviewed")
    with lead.expect_navigation():
        lead.click("button:has-text('Undo')")
    lead.goto(f"{place.address}/campaigns/demo/releases/")
    with lead.expect_navigation():
        lead.click("button:has-text('Freeze')")
    lead.locator("#releases a[download]").wait_for(timeout=120_000)
    lead.context.close()


def leads_pages(place: Installation, chromium: Browser, scheme: str, size: str, folder: Path) -> None:
    lead = signed_in(place, chromium, "lead", scheme, size)

    def picture(name: str) -> None:
        lead.wait_for_timeout(300)
        lead.screenshot(path=folder / f"{name}-{scheme}-{size}.png")

    for name, address in LEADS_PAGES.items():
        lead.goto(f"{place.address}/campaigns/{address}")
        if lead.locator(".drawing").count():
            lead.locator(".drawing svg").first.wait_for()
        picture(name)
    for name, kind in {"batch": "reviewed", "review": "settled"}.items():
        lead.goto(f"{place.address}/campaigns/demo/")
        lead.locator(f".square.{kind}").first.click()
        picture(name)
    lead.goto(f"{place.address}/nowhere")
    picture("problem")
    lead.context.close()


def readme_picture(place: Installation, chromium: Browser, folder: Path) -> None:
    page = signed_in(place, chromium, "asha", "light", "wide")
    page.click(CLAIM)
    page.wait_for_function("() => document.querySelector('video.seen')?.currentTime > 1")
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / "workplace.png")
    page.context.close()


def signed_in(place: Installation, chromium: Browser, name: str, scheme: str, size: str, locale: str = "en") -> Page:
    look: Any = {"color_scheme": scheme, "viewport": SIZES[size], "locale": locale}
    page = chromium.new_context(**look).new_page()
    page.goto(f"{place.address}/sign-in/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", PASSWORD)
    page.click("main button")
    page.wait_for_url(lambda address: "sign-in" not in address)
    return page


if __name__ == "__main__":
    main(ROOT / sys.argv[1])
