"""`make screenshots`: every page of the demo, light and dark, wide and narrow, and the README's picture."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.installation import ROOT, Installation, installation
from tests.test_browser import FLAGS

SIZES = {"wide": {"width": 1280, "height": 800}, "narrow": {"width": 360, "height": 740}}
PASSWORD = "reeljudge-demo"


def main(pictures: Path) -> None:
    all_of_them = ROOT / "var" / "screenshots"
    all_of_them.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, installation(Path(home), "sqlite") as place:
        place.manage("demo")
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=FLAGS)
            looks = [(scheme, size) for scheme in ("light", "dark") for size in SIZES]
            for look in looks:
                annotators_pages(place, chromium, *look, all_of_them)
            readme_picture(place, chromium, pictures)
            place.manage("simulate", "demo", "--annotators", "3", "--reviews", "--address", place.address)
            for look in looks:
                leads_pages(place, chromium, *look, all_of_them)
            chromium.close()
    print(f"{len(list(all_of_them.glob('*.png')))} pictures in {all_of_them.relative_to(ROOT)}")


def annotators_pages(place: Installation, chromium: Browser, scheme: str, size: str, folder: Path) -> None:
    annotator = signed_in(place, chromium, "asha", scheme, size)

    def picture(name: str) -> None:
        annotator.wait_for_timeout(300)
        annotator.screenshot(path=folder / f"{name}-{scheme}-{size}.png")

    picture("work")
    annotator.click("button.primary")
    annotator.wait_for_function("() => document.querySelector('video:not([hidden])')?.currentTime > 0.5")
    picture("workplace")
    annotator.keyboard.press("?")
    picture("guideline")
    annotator.keyboard.press("Escape")
    annotator.keyboard.press("f")
    picture("flag")
    annotator.keyboard.press("a")
    picture("summary")
    annotator.context.close()


def leads_pages(place: Installation, chromium: Browser, scheme: str, size: str, folder: Path) -> None:
    lead = signed_in(place, chromium, "lead", scheme, size)

    def picture(name: str) -> None:
        lead.wait_for_timeout(300)
        lead.screenshot(path=folder / f"{name}-{scheme}-{size}.png")

    for name, address in {"campaigns": "", "campaign": "demo/", "exports": "demo/exports/"}.items():
        lead.goto(f"{place.address}/campaigns/{address}")
        picture(name)
    lead.goto(f"{place.address}/campaigns/demo/")
    lead.click(".square.reviewed")
    picture("batch")
    lead.goto(f"{place.address}/nowhere")
    picture("problem")
    lead.context.close()


def readme_picture(place: Installation, chromium: Browser, folder: Path) -> None:
    page = signed_in(place, chromium, "asha", "light", "wide")
    page.click("button.primary")
    page.wait_for_function("() => document.querySelector('video:not([hidden])')?.currentTime > 1")
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / "workplace.png")
    page.context.close()


def signed_in(place: Installation, chromium: Browser, name: str, scheme: str, size: str) -> Page:
    page = chromium.new_context(color_scheme=scheme, viewport=SIZES[size]).new_page()  # type: ignore[arg-type]
    page.goto(f"{place.address}/sign-in/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", PASSWORD)
    page.click("main button")
    page.wait_for_url(lambda address: "sign-in" not in address)
    return page


if __name__ == "__main__":
    main(ROOT / sys.argv[1])
