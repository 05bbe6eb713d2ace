"""Somebody who makes a campaign in the browser: what its test and its screenshots share."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.films import SECONDS, write_film
from tests.installation import Installation

PASSWORD = "correct-horse-7-staple"
NAMES = ("kitchen", "stairs", "garden")
MOMENTS = 30
QUERIES = "A person sits down on a chair.\n\nSomebody sits on a chair in the garden.\n"
Look = Callable[[str], None]


def own_films(folder: Path) -> tuple[Path, list[Path]]:
    """Write a CSV of thirty moments, and the three films that they are of."""
    write_film(folder / "drawn")
    films = [folder / f"{name}.mp4" for name in NAMES]
    for film in films:
        shutil.copy(folder / "drawn" / "media" / "film.mp4", film)
    rows = ["video,start,end,description,duration"]
    for number in range(MOMENTS):
        video, start = NAMES[number % len(NAMES)], number + 0.5
        rows.append(f"{video},{start},{start + 2},A person sits down on chair number {number}.,{SECONDS}")
    moments = folder / "moments.csv"
    moments.write_text("\n".join(rows))
    return moments, films


def first_link(place: Installation) -> str:
    """The link that the server printed when it started."""
    found = re.findall(r"http://\S+/first-account/\S+", (place.home / "log").read_text())
    return str(found[-1])


def make_first_account(place: Installation, page: Page, name: str, look: Look) -> None:
    page.goto(first_link(place))
    look("first-account")
    page.fill("[name=username]", name)
    page.fill("[name=password1]", PASSWORD)
    page.fill("[name=password2]", PASSWORD)
    page.click("main button")
    expect(page.get_by_text("Create your first campaign")).to_be_visible()
    look("campaigns-before-any")


def upload(page: Page, purpose: str, *files: Path) -> None:
    """Choose files, and wait until the server has them all."""
    chosen = page.locator(f"[data-purpose={purpose}] input")
    expect(chosen).to_be_enabled()  # once the page's script listens
    chosen.set_input_files(list(files))
    for file in files:
        line = page.locator(f"[data-purpose={purpose}] li", has_text=file.name)
        expect(line.locator(".n")).to_contain_text("✓")
    expect(page.get_by_role("button", name="Save and continue")).to_be_enabled()


def draft_campaign(page: Page, name: str, moments: Path, films: list[Path], look: Look) -> None:
    """All steps up to the button that creates the campaign."""
    page.get_by_role("button", name="New campaign").click()
    page.fill("[name=corpus_name]", f"corpus-of-{name}")
    upload(page, "moments", moments)
    expect(page.get_by_label("Format of the file")).to_contain_text("As recognised: CSV")
    upload(page, "film", *films)
    look("data")
    _go_on(page, "Queries")
    page.fill("[name=pasted]", QUERIES)
    look("queries")
    _go_on(page, "Rules and people")
    page.fill("[name=name]", name)
    look("rules")
    _go_on(page, "Create")
    look("create")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("button", name="Create the campaign")).to_be_visible()
    look("checked")


def _go_on(page: Page, title: str) -> None:
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
