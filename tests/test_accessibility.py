"""axe-core on every page, light and wide, dark and narrow, of annotators and of leads."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import axe_playwright_python
import pytest
from django.urls import Resolver404, resolve
from playwright.sync_api import Browser, Page

from tests.browsing import Person, make_campaign, wait_until_open
from tests.installation import Installation
from tests.test_access import MATRIX

pytestmark = pytest.mark.timeout(900)
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RUN = """async (only) => (await axe.run(document, {resultTypes: ["violations"], ...only})).violations
    .filter(({impact}) => impact === "serious" || impact === "critical")
    .flatMap(({id, nodes}) => nodes.map(({target, failureSummary}) => `${id}: ${target} ${failureSummary}`))"""
OF_SIZE = ["scrollable-region-focusable", "aria-hidden-focus", "link-in-text-block"]
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
BEYOND = """() => [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth && !each.closest(".rows"))
    .map((each) => each.outerHTML.slice(0, 100))"""
LEADS_TO = "(all) => all.map((each) => new URL(each.getAttribute('href'), location).href)"  # also in drawings
DRAWN = "() => [...document.querySelectorAll('.drawing')].every((each) => each.querySelector('svg'))"
# All colours, and all widths; of the second look only what another one may have changed.
LOOKS = [("light", 1280, {}), ("dark", 360, {"runOnly": ["color-contrast", *OF_SIZE]})]
SUBMITTED = """() => {
    document.getElementById("summary").hidden = true;
    document.getElementById("moment").hidden = false;
    document.getElementById("workplace").classList.add("done");
}"""
# Addresses that give no page: files, and what is done without one.
NO_PAGES = {
    "home",
    "clip",
    "place",
    "export",
    "figure",
    "release-zip",
    "release-file",
    "hours-csv",
    "invitation",
    "campaign-jobs",
}
NO_PAGES |= {
    "agreement-counting",
    "join",
    "drafts",
    "release-changes",
    "release-file",
    "release-zip",
    "training-set",
    "captions-work",
    "replaced-csv",
    "unjudged-csv",
    "rejudged-csv",
    "links-csv",
    "own-questions",
}
# Addresses that lead on, need a provider, or have nothing to show to who has no second factor.
NO_PAGES |= {
    "account_login",
    "account_email",  # is the page of the account
    "mfa_authenticate",
    "mfa_login_webauthn",
    "openid_connect_callback",
    "account_set_password",
}
NO_PAGES |= {"mfa_reauthenticate", "mfa_reauthenticate_webauthn", "mfa_deactivate_totp", "mfa_remove_webauthn"}
NO_PAGES |= {"mfa_view_recovery_codes", "account_reset_password_from_key", "account_confirm_email"}
NO_PAGES |= {"first-link", "first-account", "draft-progress", "draft-reading", "draft-problems", "upload"}
NO_PAGES |= {name for name in MATRIX if name.startswith("api-")}
NO_PAGES |= {
    "public-run-file",
    "release-signature",
    "run-file",
    "run-progress",
    "run-piece",
    "run-figure",
    "run-description",
    "leaderboard-file",
    "leaderboard-figure",
    "measures-file",
}
NO_PAGES |= {"manifest", "service-worker", "system-curves", "predictor-progress", "predictor-grades", "predictor-piece"}
NO_PAGES |= {"tour"}  # it leads to a page
PAGES = {name for name, (method, *_) in MATRIX.items() if method == "GET"} - NO_PAGES
PARTS = ("step=", "view=", "drawer=", "tab=")
STRANGERS = {
    "sign-in": "/sign-in/",
    "offline": "/app/en/offline",
    "account_reset_password": "/sign-in/forgotten",
    "account_reset_password_done": "/sign-in/forgotten/sent",
}
OWN = ["/account/confirm", "/account/security/codes/new"]
LEADS = ["/campaigns/films/guideline/?example=find", "/campaigns/films/", "/campaigns/early/exam/"]
LEADS += ["/campaigns/early/annotators/1/?view=exam", "/campaigns/early/inbox/", "/campaigns/films/actions/1/"]
LEADS += ["/campaigns/films/queries/?view=search&q=Somebody+waves.", "/campaigns/films/systems/1/?q=Somebody+waves."]
LEADS += ["/campaigns/films/leaderboard/public/", "/campaigns/films/runs/1/", "/campaigns/films/systems/?drawer=train"]
LEADS += [
    f"/campaigns/films/leaderboard/?view={view}" for view in ("figures", "runs", "differences", "held-back", "again")
]
LEADS += ["/campaigns/films/compare/?run=1", "/campaigns/films/model-judges/?predictor=1"]


@pytest.fixture(scope="module")
def place(server: Installation) -> Installation:
    """A campaign that was judged to its end, with an exam and an example, and one that waits."""
    make_campaign(server, "films")
    make_campaign(server, "early", queries=2)
    wait_until_open(server, "early", 2)
    server.manage("set_exam", "early", "--queries", "1")
    wait_until_open(server, "early", 3)
    played = ("films", "--annotators", "4", "--reviews", "--address", server.address)
    while "True" in server.shell(UNFINISHED):  # the first review may open a second batch
        wait_until_open(server, "films", 1)
        server.manage("simulate", *played)
    server.shell(MESSAGES)
    return server


UNFINISHED = """
from judging.models import Batch
print(Batch.objects.filter(query__campaign__name="films", kind="pool").unfinished().exists())
"""
MESSAGES = """
from campaigns.models import Webhook
from campaigns.models import *
from corpus.models import Clip
from judging.models import *
from retrieval.models import *
films = Campaign.objects.get(name="films")
mina = films.memberships.filter(role="lead").first()
settled = Candidate.objects.filter(query__campaign=films, outcome=Candidate.Outcome.SETTLED)
one = settled.filter(clip__state=Clip.State.READY).first()
films.examples.create(query=one.query.text, moment=one.moment, clip=one.clip, grade=4, why="All of it.", by=mina)
Message.objects.send(films.memberships.filter(role="annotator"), "Well done.", by=mina)
corpus, moment = films.corpus, one.moment
order = Substitution.objects.create(corpus=corpus, by="cast")
said = {"corpus": corpus, "substitution": order, "made_by": "a cast list"}
Rewording.objects.create(before="Olga waves.", after="Olga waves.", state="queued", why="It names Olga.", **said)
words = [["Olga", "a woman"]]
Rewording.objects.create(before=moment.description, after="A woman.", state="verified", replaced=words, **said)
CastName.objects.create(corpus=corpus, name="Olga", phrase="woman", count=2, contexts=["Olga waves."])
hook = Webhook.objects.create(campaign=films, address="https://example.org/told", events=["run.scored"], by=mina)
from judging.review.actions import prepare
prepare(mina, "close", Query.objects.filter(campaign=films))
hook.deliveries.create(event="test", body="{}", tries=2, status=503, error="status 503; expected 200 to 299")
films.write_guideline(mina, "# Look twice\\n\\nThen say what you saw.\\n", 0)
"""


DRAFT = """
from django.contrib.auth.models import User
from campaigns.access import let_create
from drafts.models import Draft
from drafts.uploads import begin, store_text
mina = User.objects.get(username="mina")
let_create(mina)
draft = Draft.objects.create(owner=mina, corpus_name="own", format="csv")
store_text(draft, "queries", "pasted.txt", "A person sits down.")
begin(draft, "film", "a.mp4", 1000)
draft.change(findings={})
text = "Film,from,to,caption,length\\nhome,1,2,A person sits.,9\\nhome,3,2,Backwards.,9\\n"
store_text(draft, "moments", "moments.csv", text)
from drafts.reading import read_files
read_files(draft, lambda done, total, message="": None)
Draft.objects.update(findings={"problems": ["moments.csv: line 3: end"], "notes": [], "counts": {}, "more": 0})
"""
RUNS = """
from campaigns.models import Campaign
from runs.models import Benchmark, Enlargement, PredictedGrades, Predictor, Score, Scoring, SystemSearch, TrainedSystem
from runs.pools.enlarging import PoolPlan, ask_to_propose
from runs.estimates.predictors import add_predictor
from runs.estimates.worth import ask_to_weigh, worth_of
from runs.receiving import describe, submit
from runs.rejudging import OF_BENCHMARK
from runs.estimates.watches import begin
from tests.runs.conftest import best
from tests.runs.uploading import ranking, send
from tests.waiting import wait_until
films = Campaign.objects.get(name="films")
Campaign.objects.filter(pk=films.pk).update(public_board=True)
mina = films.memberships.get(user__username="mina")
about = {"visibility": "public", "description": "Features of SHA-256 " + 64 * "f"}  # no space to break a line at
run, late, broken = (describe(mina, about | {"name": name}) for name in ("bert", "late", "broken"))
send(run, "run", "run.json", ranking(best(films)).encode())
send(late, "run", "run.json", ranking({query: rows[2:] for query, rows in best(films).items()}).encode())
send(broken, "run", "run.json", b"[]")
submit(run), submit(late), submit(broken)
said = {"by": mina, "system": "mcn", "options": {"seed": 1}, "features": "i3d", "clip_seconds": 1.0, "depth": 20}
curves = {"losses": [[10, 2.5], [20, 1.5]], "validations": [[20, 0.25]], "measure": "nDCG_IoU(iou=0.5)@20"}
seen = TrainedSystem.objects.create(campaign=films, name="seen", number=1, **said, **curves)
TrainedSystem.objects.update(trained=seen.created)
moments = [["film", 1.0, 4.0, -0.5], ["film", 9.0, 14.0, -0.75]]
SystemSearch.objects.create(system=seen, text="Somebody waves.", moments=moments)
scored = Score.objects.filter(scoring__run__campaign=films).exclude(spread=None).values("scoring__run").distinct()
wait_until(lambda: scored.count() == 2, lambda: "both are scored")
Benchmark.objects.create(campaign=films, name="val.json", table="val.npz", depth=10)
Scoring.objects.update(on_benchmark={name: [0.5, 0.25, 0.75] for name in OF_BENCHMARK})
made = ask_to_propose(mina, PoolPlan([1, 2]))
begin(mina, 1, 2, "AxIoU@10")
guess = add_predictor(mina, "guess", "file", "a model")
Predictor.objects.filter(pk=guess.pk).update(ended=guess.at, prompt="Guess.")
for query in films.queries.pool():
    grades = {str(pk): 2.5 for pk in query.candidates.values_list("pk", flat=True)}
    PredictedGrades.objects.create(predictor=guess, query=query, grades=grades)
ask_to_weigh(films)
wait_until(lambda: Enlargement.objects.filter(found__isnull=False).exists(), lambda: "moments are proposed")
wait_until(lambda: worth_of(films).made, lambda: "the predictor is compared")
"""


LEARNING = """
from django.db.models.functions import Now
from campaigns.models import Membership
from judging.models import *
from judging.models.sitting import exam_batches
from judging.quality.exam import set_truth
from judging.work.claiming import claim
from judging.work.grading import ask_at
from tests.cast import judge_all
from uuid import uuid4
early, films = (Membership.objects.select_related("campaign").get(campaign__name=name, user__username="ada")
                for name in ("early", "films"))
for batch in exam_batches(early.campaign):
    set_truth(batch, {pair.rank: (4, "All of it.") for pair in batch.candidates.all()})
exam = claim(early)
ask_at(exam, 1, "clip", "Does this count?", uuid4())
judge_all(exam, lambda pair: 0)
films.sittings.create(result="passed", ended=Now(), pairs=1)
print(films.practices.create(example=films.campaign.examples.first(), grade=2, at=Now()).pk)
"""


def test_axe_finds_nothing_serious_on_any_page(place: Installation, chromium: Browser) -> None:
    faults: dict[str, list[str]] = {}
    stranger = chromium.new_page()
    for name, address in STRANGERS.items():
        stranger.goto(place.address + address)
        faults[name] = violations(stranger)
    ada = annotator(place, chromium)
    practised = place.shell(LEARNING).split()[-1]
    ada.page.goto(f"{place.address}/judge/films/exam")
    faults["passed"] = violations(ada.page)
    own = [*OWN, "/judge/", "/judge/films/mine", "/account/", "/nowhere", "/judge/early/exam"]
    seen = {*STRANGERS} | crawled(place, ada.page, [*own, f"/judge/films/practice/{practised}"], faults)
    workplace(ada.claim(), faults)
    mina = Person(place, chromium.new_context(), "mina", place.accounts("films", "lead", "mina")["mina"])
    place.accounts("early", "lead", "mina")
    place.shell(DRAFT)
    place.manage("freeze_release", "films", "--licence", "CC0-1.0")
    place.shell(RUNS)
    seen |= crawled(place, mina.page, LEADS, faults) | {"workplace"}
    assert {name: found for name, found in faults.items() if found} == {}
    assert set() == PAGES - seen


def annotator(place: Installation, chromium: Browser) -> Person:
    """Of both campaigns; what she did in the first one is told on her page."""
    password = place.accounts("films", "annotator", "ada")["ada"]
    place.accounts("early", "annotator", "ada")
    return Person(place, chromium.new_context(has_touch=True), "ada", password)


def workplace(page: Page, faults: dict[str, list[str]]) -> None:
    faults["workplace"] = violations(page)
    page.keyboard.press("w")
    for key in ("?", "f", "q", "b", "a"):
        page.keyboard.press(key)
        faults[f"workplace, {key}"] = violations(page)
        page.keyboard.press("Escape")
    page.evaluate(SUBMITTED)
    faults["workplace, submitted"] = violations(page)


def crawled(place: Installation, page: Page, starts: list[str], faults: dict[str, list[str]]) -> set[str]:
    """Follow links to one page of each kind; returns the kinds."""
    waiting, seen = deque(starts), set[str]()
    while waiting:
        address = waiting.popleft()
        name = kind(address)
        if name in seen or name.partition("?")[0] in NO_PAGES:
            continue
        seen.add(name)
        page.goto(place.address + address)
        page.wait_for_function(DRAWN)
        faults[f"{name} {address}"] = violations(page)
        found: list[str] = page.eval_on_selector_all("a[href]", LEADS_TO)
        waiting += [local(each) for each in found if each.startswith(place.address)]
    return {name.split("?")[0] for name in seen}


def local(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def kind(address: str) -> str:
    """The name of the address, with the step of the tutorial, or a page's tab or drawer."""
    parts = urlsplit(address)
    try:
        name = str(resolve(parts.path).url_name)
    except Resolver404:
        return "problem"
    part = next((each for each in parts.query.split("&") if each.startswith(PARTS)), "")
    return f"{name}?{part}" if part else name


def violations(page: Page) -> list[str]:
    """What is serious or critical in any look; and no page is wider than the window."""
    found = set[str]()
    size: Any = page.viewport_size
    page.evaluate(f"() => {{ {AXE} }}")
    for scheme, width, only in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(FRAMES)  # what scrolls now can be reached by keys after the next frame
        found |= {f"{each} ({scheme}, {width})" for each in page.evaluate(RUN, only)}
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        if wide > width:
            found.add(f"{wide} pixels in {width}: {page.evaluate(BEYOND)}")
    page.set_viewport_size(size)
    return sorted(found)


def test_axe_would_find_something(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content('<html lang="en"><title>x</title><main><h1>x</h1><input><img src="x.png"></main></html>')
    found = violations(page)
    assert any(each.startswith("label:") for each in found), json.dumps(found)
    assert any(each.startswith("image-alt:") for each in found)
