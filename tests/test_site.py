"""The site of the documents: it builds without a warning, asks nobody else for anything, and is searched offline."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import metrics
from tests.installation import ROOT

pytestmark = pytest.mark.long
# What makes a browser ask for something: a link that is only followed is none of these.
ASKS = (
    r"<(?:script|img|iframe|source|audio|video|embed)\b[^>]*?\bsrc=[\"']?([^\"'\s>]+)",
    r"<link\b[^>]*?\bhref=[\"']?([^\"'\s>]+)",
    r"url\(\s*[\"']?([^\"')]+)",
    r"@import\s+[\"']([^\"']+)",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it; a broken link, anchor or docstring is a warning, which ends it."""
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs/site", ".", str(made)]
    assert " ".join(command[1:-1]) in (ROOT / "Makefile").read_text()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def test_it_asks_nobody_else_for_anything(site: Path) -> None:
    files = [file for file in site.rglob("*") if file.suffix in (".html", ".css")]
    links = {
        (file.name, target)
        for file in files
        for kind in ASKS
        for target in re.findall(kind, file.read_text(), re.IGNORECASE)
    }
    assert len(files) > 20
    assert len(links) > 100
    assert {each for each in links if re.match(r"(\w+:)?//", each[1])} == set()


def test_every_public_name_of_the_library_is_on_its_page(site: Path) -> None:
    page = (site / "docs" / "library.html").read_text()
    assert {name for name in metrics.__all__ if f'id="reeljudge.{name}"' not in page} == set()


def test_it_is_searched_from_files_without_a_network(site: Path, browser: Browser) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((site / "index.html").as_uri())
    expect(page.get_by_role("heading", name="Reeljudge", level=1)).to_be_visible()
    page.get_by_role("textbox", name="Search").fill("abandonment")
    page.keyboard.press("Enter")
    page.locator("#search-results").get_by_role("link", name="The measures").first.click()
    expect(page.get_by_role("heading", name="The measures", level=1)).to_be_visible()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    context.close()
