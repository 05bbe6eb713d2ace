"""How many queries are enough: planned before a campaign, and decided while it is judged, in a real browser."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from campaigns.access import let_create
from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from runs.models import Run, Submission
from runs.receiving import describe, submit
from tests.browsing import signed_in
from tests.installation import Installation
from tests.judging.test_unbiased import Truth, draw, fill, work
from tests.runs.test_runs_browser import pictures
from tests.runs.uploading import Predictions, ranking, send
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(300)
NAME, QUERIES, MOMENTS, SEED = "enough", 60, 6, 3
SYSTEMS = {"careful": 0.3, "careless": 6.0}  # standard deviations of what they add to the true grades
EARLY, LATE = 12, 46  # queries that are finished


def true_grades() -> Truth:
    chance = random.Random(SEED)
    return {str(number): [chance.choice((0, 1, 2, 3, 4)) for _ in range(MOMENTS)] for number in range(QUERIES)}


def make() -> None:
    """A campaign of which the first queries of its order are judged."""
    corpus = Corpus.objects.create(name=NAME, format="generated")
    video = Video.objects.create(corpus=corpus, name="film", duration=60)
    Moment.objects.bulk_create(
        Moment(video=video, start=5 * n, end=5 * n + 4, description=f"moment {n}", caption=f"moment {n}")
        for n in range(MOMENTS)
    )
    campaign = Campaign.objects.create(name=NAME, corpus=corpus, hourly_rate=14, currency="SGD")
    fill(campaign, true_grades())
    draw(campaign, SEED)
    judge_until(EARLY)


def upload() -> None:
    """The runs of two systems; and the lead may make another campaign."""
    lead = Membership.objects.get(campaign__name=NAME, user__username="lea")
    let_create(lead.user)
    findings = Submission.objects.filter(by=lead).values("findings")
    for name, noise in SYSTEMS.items():
        submission = describe(lead, {"name": name})
        send(submission, "run", "run.json", ranking(predictions(noise)).encode())
        submit(submission)
    wait_until(lambda: Run.objects.filter(by=lead).count() == len(SYSTEMS), lambda: f"the runs are stored: {findings}")


def predictions(noise: float) -> Predictions:
    chance = random.Random(f"{SEED}:{noise}")
    return {
        query: sorted(
            [("film", 5.0 * n, 5.0 * n + 4, grade + chance.gauss(0, noise)) for n, grade in enumerate(grades)],
            key=lambda row: -row[-1],
        )
        for query, grades in true_grades().items()
    }


def judge_until(finished: int) -> None:
    """Claims, judgements and reviews as anybody makes them."""
    work(Campaign.objects.get(name=NAME), SEED, true_grades(), finished)


def freeze(place: Installation) -> None:
    """A release, on which both runs are scored."""
    place.manage("freeze_release", NAME, "--licence", "CC0-1.0")
    place.shell(SCORED)


SCORED = f"""
from releases.models import Release
from runs.models import Scoring
from tests.waiting import wait_until
newest = Release.objects.filter(campaign__name={NAME!r}).latest("version")
wait_until(lambda: Scoring.objects.filter(release=newest).count() == 2, lambda: "both runs are scored")
"""


def test_from_the_plan_to_the_decision(server: Installation, chromium: Browser, tmp_path: Path) -> None:
    server.shell("from tests.runs.test_planning_browser import make; make()")
    password = server.accounts(NAME, "lead", "lea")["lea"]
    server.shell("from tests.runs.test_planning_browser import upload; upload()")
    freeze(server)
    with signed_in(server, chromium, "lea", password) as lea:
        page, campaign = lea.page, f"{server.address}/campaigns/{NAME}"
        plans_the_next_campaign(page, server)
        page.goto(f"{campaign}/")
        expect(page.locator(".tile").first).to_contain_text(
            re.compile(rf"\d+ ready to release.*of {QUERIES} queries", re.S)
        )
        pictures(page, "desk")
        page.goto(f"{campaign}/leaderboard/")
        expect(page.locator("main")).to_contain_text(re.compile(r"Estimated from [12]\d\.\d % of the queries"))
        pictures(page, "leaderboard-before")
        page.goto(f"{campaign}/leaderboard/?view=differences")
        presses(page, "Watch", "No winner yet. The runs differ in too few queries")
        pictures(page, "watch-before")
        server.shell(f"from tests.runs.test_planning_browser import judge_until; judge_until({LATE})")
        presses(page, "Look now", "Decided after")
        pictures(page, "watch-after")
        freeze(server)
        page.goto(f"{campaign}/leaderboard/")
        expect(page.locator("main")).to_contain_text(re.compile(r"Estimated from [67]\d\.\d % of the queries"))
        pictures(page, "leaderboard-after")
        page.goto(f"{campaign}/model-judges/")
        adds_a_predictor(page, tmp_path)


def plans_the_next_campaign(page: Page, place: Installation) -> None:
    """As on TVR-Ranking; then the campaign is the pilot of the next one; then from a number of the lead's own."""
    page.goto(f"{place.address}/new-campaign/")
    page.get_by_role("button", name="New campaign").click()
    page.get_by_role("link", name="Queries").click()
    page.get_by_text("Change the assumptions").click()
    numbers = page.locator("#plan td strong")
    expect(numbers).to_have_text(["410", "100"])
    pictures(page, "plan")
    page.get_by_label("Annotators").fill("4")
    page.get_by_label("Hours of each in a week").fill("10")
    page.get_by_label("How differences vary").select_option(f"{NAME}/1")
    page.get_by_role("button", name="Calculate").click()
    expect(page.get_by_label("less")).to_have_value("2")
    expect(page.get_by_role("cell", name="Weeks")).to_be_visible()
    assert [each != "410" for each in numbers.all_inner_texts()] == [True, True]
    pictures(page, "plan-by-a-pilot")
    page.get_by_label("How differences vary").select_option("own")
    page.get_by_role("button", name="Calculate").click()
    expect(page.get_by_label("Standard deviation")).to_have_value("0.1441")
    page.get_by_label("What caption ranks leave of it").fill("")
    page.get_by_role("button", name="Calculate").click()
    expect(numbers).to_have_text(["410", "410"])
    pictures(page, "plan-by-a-number")


def adds_a_predictor(page: Page, folder: Path) -> None:
    """Predicted grades from a file, which are close to the true ones; the page says what they save."""
    file = folder / "grades.csv"
    file.write_text("query,video,start,end,grade\n" + "".join(predicted_lines()))
    page.locator("section", has_text="From a file").get_by_label("Name").fill("close")
    page.get_by_role("button", name="Choose the file").click()
    chosen = page.locator("[data-purpose=grades] input")
    expect(chosen).to_be_enabled()
    chosen.set_input_files(file)
    expect(page.locator("[data-purpose=grades] li .n")).to_contain_text("✓")
    presses(page, "Check and store", "Quadratic kappa")
    pictures(page, "predictor")
    words = re.compile(r"With close the 4\d judged queries\s+tell as much as\s+\d+ judged alone")
    expect(page.locator("main")).to_contain_text(words)
    pictures(page, "predictors")


def predicted_lines() -> Iterator[str]:
    chance = random.Random(SEED)
    for query, grades in true_grades().items():
        for n, grade in enumerate(grades):
            yield f"{query},film,{5 * n},{5 * n + 4},{min(4, max(0, grade + chance.gauss(0, 0.3))):.2f}\n"


def presses(page: Page, button: str, words: str) -> None:
    """Press a button, and wait until the job that it asks for has led to these words; the page is loaded anew."""
    with page.expect_navigation():
        page.get_by_role("button", name=button, exact=True).click()

    def is_there() -> bool:
        page.reload()
        return words in page.locator("main").inner_text()

    wait_until(is_there, lambda: f"{words}: {page.locator('main').inner_text()}")
