"""`python -m tests.making_pictures FOLDER`: every step of making a campaign, light and dark, wide and narrow."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browsing import FLAGS
from tests.installation import Installation, installation
from tests.making import PASSWORD, Look, draft_campaign, make_first_account, own_films
from tests.screenshots import SIZES


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    looks = [(scheme, size) for scheme in ("light", "dark") for size in SIZES]
    with tempfile.TemporaryDirectory() as home, installation(Path(home) / "home", "sqlite") as place:
        moments, films = own_films(Path(home) / "own")
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=FLAGS)
            for number, (scheme, size) in enumerate(looks):
                page = _page(chromium, scheme, size)
                _walk(place, page, number, moments, films, _pictures(page, folder, f"{scheme}-{size}"))
            chromium.close()
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


def _pictures(page: Page, folder: Path, look: str) -> Look:
    return lambda name: _picture(page, folder / f"{name}-{look}.png")


def _picture(page: Page, file: Path) -> None:
    page.screenshot(path=file, full_page=True)


def _page(chromium: Browser, scheme: str, size: str) -> Page:
    look: Any = {"color_scheme": scheme, "viewport": SIZES[size]}
    return chromium.new_context(**look).new_page()


def _walk(place: Installation, page: Page, number: int, moments: Path, films: list[Path], look: Look) -> None:
    if not number:
        make_first_account(place, page, "nora", look)
    else:
        page.goto(f"{place.address}/sign-in/")
        page.fill("[name=username]", "nora")
        page.fill("[name=password]", PASSWORD)
        page.click("main button.primary")
        page.wait_for_url("**/campaigns/")
    _with_mistakes(place, page, look)
    page.goto(f"{place.address}/campaigns/")
    draft_campaign(page, f"mine-{number}", moments, films, look)
    page.get_by_role("button", name="Create the campaign").click()
    page.wait_for_url(f"**/campaigns/mine-{number}/")
    look("desk-of-a-new-campaign")


def _with_mistakes(place: Installation, page: Page, look: Look) -> None:
    """A draft in which much is wrong, and what the check says."""
    page.goto(f"{place.address}/new-campaign/")
    page.get_by_role("button", name="Begin a new campaign").click()
    page.fill("[name=corpus_name]", "wrong")
    page.select_option("[name=format]", "csv")
    rows = "\n".join(f"film,{number},{number - 1},Ends too early.,60" for number in range(1, 6))
    page.fill("[name=pasted]", f"video,start,end,description,duration\n{rows}")
    page.get_by_role("button", name="Save and go on").click()
    page.get_by_role("link", name="Check and create").click()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_role("button", name="Check again").wait_for()
    look("checked-with-mistakes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
