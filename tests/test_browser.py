"""A campaign in a real browser, from signing in to a scored run, on both kinds of installation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests import browsing
from tests.browsing import Person, cut_off, key, moving, press, stocked
from tests.installation import Installation

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module", params=[pytest.param("sqlite", marks=pytest.mark.long), "postgres"])
def place(request: pytest.FixtureRequest, servers: Callable[[str], Installation], browser: Browser) -> Installation:
    """The running installation of each kind. Most other tests in a browser are on SQLite, so that one is long."""
    return servers(request.param)


@pytest.fixture
def campaign(place: Installation, request: pytest.FixtureRequest) -> str:
    """A campaign of its own for each test, with one query that is ready to judge."""
    name = request.node.originalname.replace("test_", "").replace("_", "-")[:40]
    browsing.make_campaign(place, name, "bare" if "missing" in name else "films")
    browsing.wait_until_open(place, name, 1)
    return str(name)


@pytest.fixture
def person(place: Installation, campaign: str, chromium: Browser) -> Iterator[Callable[[str, str], Person]]:
    contexts: list[BrowserContext] = []
    people: list[Person] = []

    def make(name: str, role: str = "annotator") -> Person:
        name = f"{name}-{campaign}"
        passwords = place.accounts(campaign, role, name)
        contexts.append(context := chromium.new_context(accept_downloads=True))
        people.append(Person(place, context, name, passwords[name]))
        return people[-1]

    yield make
    for context in contexts:
        context.close()
    assert [fault for someone in people for fault in someone.faults] == []


@pytest.mark.long
def test_from_sign_in_to_a_scored_run(
    place: Installation, campaign: str, person: Callable[..., Person], tmp_path: Path
) -> None:
    ada, bob, cleo, dan = person("ada"), person("bob"), person("cleo"), person("dan")
    lead = person("leo", "lead").page
    ada.judge("4")
    bob.judge("0004")  # three candidates are contested, the other seventeen settled
    cleo.judge("4")
    dan.judge("3")

    open_settled(lead, f"{place.address}/campaigns/{campaign}/")
    expect(lead.locator("tbody tr.last")).to_have_count(5)
    expect(lead.locator("tbody tr td:nth-child(5)")).to_have_text(["4"] * 20)
    expect(lead.locator(".verdict")).to_contain_text("open the second batch")
    key(lead, "b")
    expect(lead.locator(".message")).to_contain_text("Second batch opened: ")

    ada.judge("1")
    bob.judge("10")
    open_settled(lead, f"{place.address}/campaigns/{campaign}/")
    key(lead, "c")
    expect(lead.locator(".message")).to_contain_text("Closed: ")
    lead.goto(f"{place.address}/campaigns/{campaign}/queries/?show=closed")
    expect(lead.locator("tbody tr")).to_have_count(1)

    lead.goto(f"{place.address}/campaigns/{campaign}/releases/?tab=files")
    with lead.expect_download() as download:
        lead.click("text=qrels.jsonl")
    download.value.save_as(tmp_path / "qrels.jsonl")
    assert scores(place, tmp_path)["nDCG_IoU(iou=0.7)@20"] == 1.0
    assert "BROKEN" not in place.manage("audit", campaign)


def open_settled(lead: Page, campaign: str) -> None:
    """From the list of what is to review to its only batch."""
    lead.goto(f"{campaign}queries/?show=review")
    lead.click("a.square.settled")
    lead.wait_for_url("**/batches/**")


def scores(place: Installation, folder: Path) -> dict[str, float]:
    """Score the run that lists the graded moments from best to worst."""
    pairs = [json.loads(line) for line in (folder / "qrels.jsonl").read_text().splitlines()]
    assert len(pairs) == 40
    best = sorted(pairs, key=lambda pair: -pair["relevance"])
    run = {"7": [{key: pair[key] for key in ("video_name", "timestamp")} | {"model_scores": 1} for pair in best]}
    (folder / "run.json").write_text(json.dumps(run))
    files = ["--qrels", str(folder / "qrels.jsonl"), "--run", str(folder / "run.json")]
    printed = json.loads(place.run("-m", "metrics", "evaluate", *files, "--format", "json"))
    assert printed["convention"] == "paper"
    return dict(printed["measures"])


def test_no_network_loses_no_grade(place: Installation, campaign: str, person: Callable[..., Person]) -> None:
    ada = person("ada")
    page = ada.claim()
    moving(page)
    page.keyboard.press("3")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    stocked(page, 4)
    ada.context.set_offline(True)
    press(page, *"210")
    expect(page.locator("#saved")).to_contain_text("kept here, sending… (3)")
    ada.context.set_offline(False)
    expect(page.locator("#saved")).to_have_text("saved ✓", timeout=30_000)
    page.reload()
    expect(page.locator("#position")).to_have_text("5 / 20")
    page.keyboard.press("a")
    expect(page.locator("#strip strong")).to_have_text(["–"] * 16 + ["3", "2", "1", "0"])
    ada.faults = [fault for fault in ada.faults if "ERR_INTERNET_DISCONNECTED" not in fault]


def test_grades_said_without_network_survive_a_closed_tab(
    place: Installation, campaign: str, person: Callable[..., Person]
) -> None:
    ada = person("ada")
    page = ada.claim()
    moving(page)
    cut_off(page)
    press(page, *"43")
    expect(page.locator("#saved")).to_contain_text("(2)")
    page.close()
    again = ada.page = ada.context.new_page()
    ada.claim()
    expect(again.locator("#saved")).to_have_text("saved ✓")
    expect(again.locator("#position")).to_have_text("3 / 20")
    ada.faults.clear()  # the aborted requests


def test_back_changes_a_grade_and_keys_do_what_they_say(
    place: Installation, campaign: str, person: Callable[..., Person]
) -> None:
    page = person("ada").claim()
    moving(page)
    page.keyboard.press("4")
    expect(page.locator("#position")).to_have_text("2 / 20")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-grade='4']")).to_have_attribute("aria-pressed", "true")
    press(page, "2")
    expect(page.locator("#position")).to_have_text("2 / 20")
    page.keyboard.press("?")
    expect(page.locator("#guideline")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#guideline")).to_be_hidden()
    page.keyboard.press("f")
    page.click("[data-reason='query']")
    expect(page.locator("#position")).to_have_text("3 / 20")
    page.keyboard.press("a")
    expect(page.locator("#strip [data-number='1'] strong")).to_have_text("2")
    expect(page.locator("#strip [data-number='2'] strong")).to_have_text("⚑")
    expect(page.locator("#submit")).to_be_disabled()


def test_two_tabs_end_with_each_grade_once(place: Installation, campaign: str, person: Callable[..., Person]) -> None:
    ada = person("ada")
    first = ada.claim()
    second = ada.page = ada.context.new_page()
    ada.claim()
    moving(first)
    first.keyboard.press("1")
    expect(first.locator("#hint")).to_contain_text("1 for clip 1")  # nobody is sooner at another tab
    press(second, "2")
    expect(first.locator("#saved")).to_have_text("saved ✓")
    expect(second.locator("#saved")).to_have_text("saved ✓")
    first.reload()
    first.keyboard.press("a")
    expect(first.locator("#strip [data-number='1'] strong")).to_have_text("2")
    assert "BROKEN" not in place.manage("audit", campaign)


def test_missing_clips_say_so_and_are_flagged(
    place: Installation, campaign: str, person: Callable[..., Person]
) -> None:
    page = person("ada").claim()
    for number in range(20):
        expect(page.locator("#position")).to_have_text(f"{number + 1} / 20")
        expect(page.locator("#absent")).to_have_text("This clip is missing. Flag it and go on.")
        page.keyboard.press("3")
        expect(page.locator("#position")).to_have_text(f"{number + 1} / 20")
        page.keyboard.press("f")
        page.click("[data-reason='clip']")
    expect(page.locator("#strip strong")).to_have_text(["⚑"] * 20)
    page.click("#submit")
    expect(page.locator("#moment-words")).to_have_text("Submitted. Thank you.")
    expect(page.locator("#tally li")).to_have_text(
        ["0grade 0: 0", "1grade 1: 0", "2grade 2: 0", "3grade 3: 0", "4grade 4: 0", "⚑flagged: 20"]
    )


def test_a_lapsed_lease_is_taken_up_again_behind_the_picture(
    place: Installation, campaign: str, person: Callable[..., Person]
) -> None:
    ada = person("ada")
    page = ada.claim()
    moving(page)
    shell = "from judging.models import Assignment as A; A.objects.live().update(lease='2020-01-01T00:00Z')"
    place.shell(shell)
    page.keyboard.press("3")
    expect(page.locator("#saved")).to_have_text("saved ✓")
    expect(page.locator("#position")).to_have_text("2 / 20")
    ada.faults.clear()  # the conflict that was answered first


def test_signing_in_again_in_another_tab_sends_what_was_kept(
    place: Installation, campaign: str, person: Callable[..., Person]
) -> None:
    ada = person("ada")
    page = ada.claim()
    moving(page)
    ada.context.clear_cookies()
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_contain_text("sign in again in another tab")
    other = ada.context.new_page()
    other.goto(f"{place.address}/sign-in/")
    other.fill("[name=username]", ada.name)
    other.fill("[name=password]", ada.password)
    other.click("main button")
    expect(page.locator("#saved")).to_have_text("saved ✓", timeout=30_000)
    ada.faults.clear()  # the answer 401


def test_a_clip_that_did_not_load_is_tried_again(
    place: Installation, campaign: str, person: Callable[..., Person]
) -> None:
    ada = person("ada")
    ada.page.route("**/clips/*", lambda route: route.abort())
    page = ada.claim()
    expect(page.locator("#absent")).to_contain_text("This clip does not load")
    page.keyboard.press("3")
    expect(page.locator("#hint")).to_contain_text("This clip does not load")
    expect(page.locator("#position")).to_have_text("1 / 20")
    page.unroute("**/clips/*")
    page.click("#replay")
    moving(page)
    expect(page.locator("#absent")).to_be_hidden()
    ada.faults.clear()  # the aborted requests


def test_what_came_instead_of_a_clip_is_not_kept(
    place: Installation, campaign: str, person: Callable[..., Person]
) -> None:
    """As the page to sign in that an address leads to, or half a file."""
    ada = person("ada")
    for kind in ("text/html", "video/mp4"):
        ada.page.route("**/clips/*", instead_of_a_clip(kind))
        page = ada.claim()
        expect(page.locator("#absent")).to_contain_text("This clip does not load")
        stocked(page, 20)
        page.unroute("**/clips/*")
        page.keyboard.press("r")
        moving(page)
        page.keyboard.press("3")
        moving(page)


def instead_of_a_clip(kind: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(content_type=kind, body="<h1>Sign in</h1>")


def test_a_tab_that_is_behind_shows_that_the_batch_is_submitted(
    place: Installation, campaign: str, person: Callable[..., Person]
) -> None:
    ada = person("ada")
    behind = ada.claim()
    moving(behind)
    ada.page = ada.context.new_page()
    ada.judge("2")
    behind.keyboard.press("a")
    expect(behind.locator("#strip strong")).to_have_text(["2"] * 20)
    behind.keyboard.press("a")
    behind.keyboard.press("4")
    expect(behind.locator("#summary-words")).to_contain_text("This batch is closed to you: it was submitted")
    expect(behind.locator("#submit")).to_be_hidden()
    ada.faults.clear()  # the conflict that was answered
