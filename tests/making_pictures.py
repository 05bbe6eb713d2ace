"""`python -m tests.making_pictures FOLDER`: making a campaign and its captions, light and dark, wide and narrow."""

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

WAIT = 180_000  # milliseconds: the first rewording loads a model
DOES = ("lifts a box", "opens the door", "sits down", "waits in the garden", "sings", "looks at Zora")
DESCRIPTIONS = "\n".join(
    f"{('kitchen', 'garden')[number % 2]}_{number % 3},{number},{number + 1},"
    f"{('Olga', 'Karel')[number % 2]} {DOES[number % 6]}{' again' * (number // 6)}.,60"
    for number in range(24)
)


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
    page = chromium.new_context(**look).new_page()
    page.set_default_timeout(WAIT)
    return page


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
    _from_captions(place, page, number, look)
    page.goto(f"{place.address}/campaigns/")
    draft_campaign(page, f"mine-{number}", moments, films, look)
    page.get_by_role("button", name="Create the campaign").click()
    page.wait_for_url(f"**/campaigns/mine-{number}/")
    look("desk-of-a-new-campaign")


def _with_mistakes(place: Installation, page: Page, look: Look) -> None:
    """A draft in which much is wrong, and what the check says."""
    page.goto(f"{place.address}/new-campaign/")
    page.get_by_role("button", name="New campaign").click()
    page.fill("[name=corpus_name]", "wrong")
    rows = "\n".join(f"film,{number},{number - 1},Ends too early.,60" for number in range(1, 6))
    page.fill("[name=pasted]", f"video,start,end,description,duration\n{rows}")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("link", name="Create").click()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_role("button", name="Check again").wait_for()
    look("checked-with-mistakes")


def _from_captions(place: Installation, page: Page, number: int, look: Look) -> None:
    """A corpus with names is stored, its cast drafted and confirmed, its descriptions reworded, and queries drawn."""
    page.goto(f"{place.address}/new-campaign/")
    page.get_by_role("button", name="New campaign").click()
    page.fill("[name=corpus_name]", f"named-{number}")
    page.fill("[name=pasted]", f"video,start,end,description,duration\n{DESCRIPTIONS}")
    page.get_by_role("button", name="Save and continue").click()
    page.locator("#reading .figures").wait_for()
    look("corpus-that-was-read")
    page.get_by_role("button", name="Save and continue").click()
    look("queries-of-a-new-corpus")
    queries = page.url
    page.get_by_role("button", name="Store the corpus now").click()
    page.get_by_text("Nobody has reworded it").wait_for()
    look("queries-before-rewording")
    page.get_by_role("link", name="reword them first").click()
    look("captions-before-any")
    captions = page.url
    page.get_by_role("link", name="To the cast list").click()
    look("cast-before-any")
    page.get_by_role("button", name="Draft from the descriptions").click()
    page.get_by_text("3 to be confirmed").wait_for()
    page.goto(f"{captions}?view=cast")
    for name, phrase in {"Olga": "old woman", "Karel": "man"}.items():
        page.get_by_label(f"What stands for {name}").fill(phrase)
        page.get_by_label(f"{name} is confirmed").check()
    look("cast")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(captions)
    page.get_by_role("button", name="Reword by the cast list").click()
    look("captions-under-way")
    page.get_by_text("failed a check").wait_for()
    page.get_by_text("of 24 distinct").wait_for()
    page.locator("progress").wait_for(state="detached")
    look("captions")
    page.goto(f"{captions}?view=queue")
    look("caption-queue")
    page.goto(f"{captions}?view=replaced")
    look("replaced")
    page.goto(queries)
    page.fill("[name=validation]", "4")
    page.fill("[name=test]", "8")
    page.check("[name=strata][value=show]")
    page.get_by_role("button", name="Save and preview").click()
    page.get_by_text("Drawn from").wait_for()
    look("queries-drawn")
    page.fill("[name=test]", "800")
    page.get_by_role("button", name="Save and continue").click()
    look("queries-with-mistakes")
    page.goto(f"{place.address}/campaigns/")
    page.get_by_role("link", name=f"named-{number}").click()
    look("corpus-page")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
