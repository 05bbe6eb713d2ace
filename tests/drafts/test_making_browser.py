"""From an empty installation to the first judged batch, in the browser alone."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browsing import Person, signed_in, wait_until_open
from tests.installation import Installation, installation
from tests.making import PASSWORD, draft_campaign, make_first_account, own_films, upload


@pytest.fixture
def place(tmp_path: Path, browser: Browser) -> Iterator[Installation]:
    """An installation in which nobody and nothing is yet."""
    with installation(tmp_path / "home", "sqlite") as made:
        yield made


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page that complains of nothing."""
    page, faults = chromium.new_context().new_page(), list[str]()
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    yield page
    assert faults == []


def test_from_nothing_to_the_first_judged_batch(
    place: Installation, page: Page, chromium: Browser, tmp_path: Path
) -> None:
    moments, films = own_films(tmp_path / "own")
    make_first_account(place, page, "nora", lambda name: None)
    draft_campaign(page, "mine", moments, films, lambda name: None)
    expect(page.get_by_text("Everything fits")).to_be_visible()
    page.get_by_role("button", name="Create the campaign").click()
    page.wait_for_url("**/campaigns/mine/")
    expect(page.get_by_text("Before the first batch is judged")).to_be_visible()
    for name in ("ada", "bob"):
        join(chromium, invited(place, page), name)
    wait_until_open(place, "mine", 2)  # else each may get another batch
    for name in ("ada", "bob"):
        with signed_in(place, chromium, name, PASSWORD) as person:
            judge_one(person)
    page.goto(f"{place.address}/campaigns/mine/queries/")
    expect(page.locator(".rows .square.settled")).to_have_count(1)
    expect(page.get_by_text("Before the first batch is judged")).to_be_hidden()


def invited(place: Installation, page: Page) -> str:
    """A link by which an annotator joins."""
    page.goto(f"{place.address}/campaigns/mine/annotators/?drawer=invitations")
    page.get_by_role("button", name="Make a link").click()
    return page.locator(".once input").input_value()


def join(chromium: Browser, link: str, name: str) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(link)
    page.fill("[name=username]", name)
    page.fill("[name=password1]", PASSWORD)
    page.fill("[name=password2]", PASSWORD)
    page.click("main button.primary")
    expect(page.get_by_text("Welcome to mine")).to_be_visible()
    context.close()


def judge_one(person: Person) -> None:
    """A batch of both that has clips of the films: the claim waits until ranking and cutting are done."""
    person.judge("3")


def test_from_wrong_columns_to_a_sound_step(place: Installation, page: Page, tmp_path: Path) -> None:
    """Nothing is reloaded by hand: the page reads the file, asks for columns, and reads it again."""
    columns = {"video": "A", "start": "B", "end": "C", "description": "D", "duration": "E"}
    rows = [",".join(columns.values()), *(f"film-{n % 2},{n},{n + 2},A person waves.,60" for n in range(20))]
    moments = tmp_path / "Old films.csv"
    moments.write_text("\n".join([*rows, "film-1,30,1e9,Ends in thirty years.,60", "film-1,9,8,Backwards.,60"]))
    make_first_account(place, page, "nora", lambda name: None)
    page.goto(f"{place.address}/new-campaign/")
    page.get_by_role("button", name="New campaign").click()
    upload(page, "moments", moments)
    reading = page.locator("#reading")
    expect(reading).to_contain_text("no column video, for the field video; there are: A, B, C, D, E")
    expect(page.get_by_label("Name of the new corpus")).to_have_value("old-films")
    page.fill("[name=corpus_name]", "waves")
    for field, column in columns.items():
        with page.expect_response(lambda answer: "/reading/" in answer.url and answer.request.method == "POST"):
            page.get_by_label(field.capitalize(), exact=True).select_option(column)
        page.wait_for_function("() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')")
    expect(reading.locator(".figures")).to_have_text(re.compile(r"Videos\s*2\s*Moments\s*20\s*Problems\s*2"))
    expect(reading.locator("tbody tr")).to_have_count(10)
    expect(reading).to_contain_text("Line 22: field end: 1e+09; expected at most the video's 60 seconds")
    with page.expect_download() as download:
        page.get_by_role("link", name="All problems as CSV").click()
    problems = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [(each["step"], each["line"], each["text"]) for each in problems] == [
        ("corpus", "22", "film-1,30,1e9,Ends in thirty years.,60"),
        ("corpus", "23", "film-1,9,8,Backwards.,60"),
    ]
    moments.write_text("\n".join(rows))
    upload(page, "moments", moments)
    expect(reading.locator(".figures")).to_have_text(re.compile(r"Problems\s*0"))
    expect(page.locator("[name=corpus_name]")).to_have_value("waves")
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Queries")
    expect(page.locator(".making-steps li", has_text="Data")).to_contain_text("done")
    page.get_by_role("link", name="Rules and people").click()
    expect(page.get_by_label("Short name")).to_have_value("waves")


def test_a_leaderboard_is_judged_again(place: Installation, page: Page, tmp_path: Path) -> None:
    """From a benchmark and two runs to the page that waits for the new order; the costs stand there at once."""
    benchmark, runs = leaderboard(tmp_path)
    make_first_account(place, page, "nora", lambda name: None)
    page.goto(f"{place.address}/new-campaign/")
    page.get_by_role("button", name="Judge a leaderboard again").click()
    upload(page, "moments", own_moments(tmp_path))
    expect(page.locator("#reading .figures")).to_have_text(re.compile(r"Problems\s*0"))
    expect(page.get_by_label("Name of the new corpus")).to_have_value("waves")
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Leaderboard")
    page.get_by_role("button", name="Store the corpus now").click()
    expect(page.locator("[data-purpose=benchmark]")).to_be_visible()
    upload(page, "benchmark", benchmark)
    upload(page, "run", *runs)
    costs = page.get_by_role("table", name="What judging takes")
    # Depth, candidates: at rank 1 both runs find the benchmark's moment, and at rank 2 each another one.
    expect(costs.locator("tbody tr").nth(0)).to_contain_text(re.compile(r"1\s+4\s"))
    expect(costs.locator("tbody tr").nth(1)).to_contain_text(re.compile(r"2\s+12\s"))
    page.fill("[name=pool_depth]", "2")
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Rules and people")
    page.fill("[name=name]", "again")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator(".figures")).to_have_text(re.compile(r"Queries\s*4\s*Runs\s*2\s*Candidates\s*12"))
    page.get_by_role("button", name="Create the campaign").click()
    page.wait_for_url("**/campaigns/again/")
    page.goto(f"{place.address}/campaigns/again/leaderboard/")
    page.get_by_role("link", name="Judged again").click()
    expect(page.get_by_text("0 of 4 queries are judged and reviewed.")).to_be_visible()


def own_moments(folder: Path) -> Path:
    file = folder / "waves.csv"
    rows = [f"film-{n},{n},{n + 4},A person waves {n} times.,60" for n in range(4)]
    file.write_text("\n".join(["video,start,end,description,duration", *rows]))
    return file


def leaderboard(folder: Path) -> tuple[Path, list[Path]]:
    """A query for each of the four moments, and two runs of two predictions: the moment, and one of their own."""
    pairs, found = [], dict[str, dict[str, object]](early={}, late={})
    for n in range(4):
        pair = {"query_id": str(n), "query": f"A person waves {n} times.", "video_name": f"film-{n}", "relevance": 1}
        pairs.append(json.dumps(pair | {"pair_id": n, "timestamp": [n, n + 4]}))
        for place, name in enumerate(found):
            spans = [(n, n + 4), (20 + 20 * place, 30 + 20 * place)]
            rows = [{"video_name": f"film-{n}", "timestamp": span, "score": -k} for k, span in enumerate(spans)]
            found[name][str(n)] = rows
    files = [folder / f"{name}.json" for name in found]
    for file, run in zip(files, found.values(), strict=True):
        file.write_text(json.dumps(run))
    benchmark = folder / "benchmark.jsonl"
    benchmark.write_text("\n".join(pairs))
    return benchmark, files


def test_an_upload_survives_a_lost_network_and_a_closed_page(place: Installation, page: Page, tmp_path: Path) -> None:
    """Three pieces: the answer to one is lost, the network is away for the next, and then the page is closed."""
    film = tmp_path / "long.mp4"
    film.write_bytes(bytes(range(256)) * (11 * 1024))  # 2.75 MiB
    make_first_account(place, page, "nora", lambda name: None)
    seen: list[str] = []

    def trouble(route: Route) -> None:
        seen.append(route.request.method)
        if len(seen) == 1:
            route.fetch()  # it arrives, and its answer is lost
            route.abort()
        elif len(seen) < 4 or len(seen) > 5:
            route.abort()
        else:
            route.continue_()

    page.route("**/uploads/*", trouble)  # before the page that uploads is opened, which otherwise can miss it
    page.goto(f"{place.address}/new-campaign/")
    page.get_by_role("button", name="New campaign").click()
    expect(page.locator("[data-purpose=film] input")).to_be_enabled()
    page.locator("[data-purpose=film] input").set_input_files(film)
    line = page.locator("[data-purpose=film] li", has_text="long.mp4")
    expect(line).to_contain_text("72 %. No answer. Trying again")
    page.on("dialog", lambda dialog: dialog.accept())  # whether to leave the page
    page.unroute("**/uploads/*")
    page.goto(page.url)
    expect(line).to_contain_text("choose the file again to go on")
    upload(page, "film", film)
    stored = list((place.home / "uploads").rglob("*.mp4"))
    assert [each.read_bytes() for each in stored] == [film.read_bytes()]
