"""A leaderboard is judged again: a benchmark and runs become a campaign, a release, and another order of the runs."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import reverse
from scipy.stats import kendalltau

from campaigns.access import let_create
from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment
from drafts.changes import ask_to_check, ask_to_make
from drafts.leaderboard import Given
from drafts.models import Draft, Upload
from drafts.uploads import store_text
from jobs.running import work_off
from judging.audit import audit
from judging.models import Batch, Candidate, Review
from judging.pool.opening import open_first_batches, open_without_clips
from judging.review.reviewing import review
from metrics import calc, read_qrels, run_from_dict
from metrics.analysis.planning import SECONDS
from releases.freezing import freeze
from releases.models import Release
from runs.rejudging import HEADLINE as R1
from runs.rejudging import _names
from tests.cast import browser, judge_all
from tests.metrics.shared import SHARED, needs_shared, run_cli
from tests.releases.test_releases import opened
from tests.terminal import printed, refused

# A release is written by a thread with a connection of its own, which sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True)
ANET = SHARED / "data" / "activitynet_captions" / "val_1.json"
VIDEOS = 12
RUNS = ("near", "whole", "next")
STEPS = ("queries", "rules")
GROUND = {"duration": 9.0, "timestamps": [[0.0, 5.0]], "sentences": ["He sits."]}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The first videos of ActivityNet Captions, and three systems: the benchmark's moments a little off, the whole
    film, and another sentence's moment.
    """
    held = dict(list(json.loads(ANET.read_text()).items())[:VIDEOS])
    runs: dict[str, Any] = {"near": {}, "whole": {}, "next": {}}
    for video, about in held.items():
        spans = [sorted(span) for span in about["timestamps"]]
        for n, (start, end) in enumerate(spans, 1):
            other = spans[n % len(spans)]
            found = {"near": [start + 0.2 * (end - start), end], "whole": [0.0, about["duration"]], "next": other}
            for name, span in found.items():
                runs[name][f"{video}#{n}"] = [{"video_name": video, "timestamp": span, "score": 1.0}]
    made = {"benchmark": tmp_path / "val.json"} | {name: tmp_path / f"{name}.json" for name in runs}
    made["benchmark"].write_text(json.dumps(held))
    for name, found in runs.items():
        made[name].write_text(json.dumps(found))
    return made


def create(files: dict[str, Path], *more: object) -> str:
    call_command("import_corpus", "anet", files["benchmark"], "--format", "activitynet")
    runs = [files[name] for name in RUNS]
    words = ["anet-graded", "--corpus", "anet", "--benchmark", files["benchmark"], "--runs", *runs, *more]
    output = printed("create_campaign", *map(str, words))
    work_off(StringIO())
    return output


def only_three(files: dict[str, Path]) -> None:
    """Leave three videos in the benchmark, and in the runs what is of them."""
    held = dict(list(json.loads(files["benchmark"].read_text()).items())[:3])
    files["benchmark"].write_text(json.dumps(held))
    for name in RUNS:
        found = json.loads(files[name].read_text())
        kept = {query: rows for query, rows in found.items() if query.rpartition("#")[0] in held}
        files[name].write_text(json.dumps(kept))


@pytest.fixture
def nora(settings: Any, tmp_path: Path) -> User:
    """Somebody who may create campaigns."""
    settings.UPLOAD_ROOT = tmp_path / "uploads"
    user = User.objects.create(username="nora")
    let_create(user)
    return User.objects.get(pk=user.pk)


@pytest.fixture
def draft(nora: User, files: dict[str, Path]) -> Draft:
    """A draft of a leaderboard, begun in the browser, whose corpus is that of the benchmark and is stored."""
    only_three(files)
    answer = browser(nora).post(reverse("drafts"), {"rejudge": "yes"})
    draft = Draft.objects.get()
    assert answer["Location"] == reverse("draft-data", args=[draft.token])
    store_text(draft, Upload.Purpose.MOMENTS, "val.json", files["benchmark"].read_text())
    draft.change(corpus_name="anet", format="activitynet")
    page = browser(nora).get(reverse("draft-queries", args=[draft.token])).content.decode()
    assert "Leaderboard</h1>" in page
    assert "Store the corpus now" in page
    assert "How many queries?" not in page
    browser(nora).post(reverse("draft-store", args=[draft.token]))
    work_off(StringIO())
    draft.refresh_from_db()
    return draft


def upload(draft: Draft, files: dict[str, Path], *runs: str) -> None:
    store_text(draft, Upload.Purpose.BENCHMARK, "val.json", files["benchmark"].read_text())
    for name in runs:
        store_text(draft, Upload.Purpose.RUN, f"{name}.json", files[name].read_text())


@pytest.mark.any_database
@needs_shared
def test_a_lead_judges_a_leaderboard_again(draft: Draft, files: dict[str, Path], nora: User) -> None:
    client, steps = browser(nora), {name: reverse(f"draft-{name}", args=[draft.token]) for name in STEPS}
    upload(draft, files, *RUNS)
    draft.change(settings={"hourly_rate": "20.00"})
    client.get(steps["queries"])  # which asks for a reading of the files
    work_off(StringIO())
    page = client.get(steps["queries"]).content.decode()
    assert "What judging takes, by the ranks of each run" in page
    reading = client.get(f"/api/v1/drafts/{draft.token}/reading").json()
    assert reading["benchmark"]["wrong"] == 0
    assert reading["benchmark"]["counts"]["runs"] == 3
    (first,) = reading["depths"]  # each run lists one moment
    assert first["depth"] == 1
    assert first["judgements"] > first["candidates"]  # two annotators and more judge each
    assert first["cost"] == pytest.approx(first["judgements"] * SECONDS / 3600 * 20, abs=1)
    assert client.post(steps["queries"], {"pool_depth": ""}).status_code == 400
    assert client.post(steps["queries"], {"pool_depth": "21"}).status_code == 400
    assert client.post(steps["queries"], {"pool_depth": "1"})["Location"] == steps["rules"]
    draft.refresh_from_db()
    draft.change(name="again")
    client.post(reverse("draft-check-start", args=[draft.token]))
    work_off(StringIO())
    draft.refresh_from_db()
    assert draft.findings["problems"] == []
    assert draft.findings["counts"]["candidates"] == first["candidates"]
    client.post(reverse("draft-make", args=[draft.token]))
    work_off(StringIO())
    campaign = Campaign.objects.get(name="again")
    assert Candidate.objects.filter(query__campaign=campaign).count() == first["candidates"]
    assert [run.name for run in campaign.runs.order_by("number")] == list(RUNS)
    assert not draft.uploads.exists()


@pytest.mark.any_database
@needs_shared
def test_the_page_shows_how_the_order_changes(draft: Draft, files: dict[str, Path], nora: User) -> None:
    upload(draft, files, *RUNS)
    campaign, client = made(draft), browser(nora)
    page, api = f"{reverse('leaderboard', args=['again'])}?view=again", reverse("api-rejudged", args=["again"])
    number = campaign.queries.count()
    assert f"0 of {number} queries are judged and" in client.get(page).content.decode()
    assert client.get(api).status_code == 404
    release = judged_and_frozen(campaign, campaign.memberships.get(user=nora))
    found = client.get(api).json()
    assert (found["release"], found["queries"], found["measure"]) == (release.version, number, str(R1))
    places = {row["name"]: (row["before"]["place"], row["after"][0]["place"]) for row in found["rows"]}
    assert places["near"] == (1, 2)
    assert places["whole"][1] == 1
    expected = calc(R1, files["benchmark"], files["near"])
    near = next(row for row in found["rows"] if row["name"] == "near")
    assert near["before"]["value"] == pytest.approx(expected[R1])
    assert near["before"]["low"] <= near["before"]["value"] <= near["before"]["high"]
    orders = [[row[side][n]["value"] for row in found["rows"]] for side, n in (("after", 0),)]
    before = [row["before"]["value"] for row in found["rows"]]
    assert found["taus"][0] == pytest.approx(kendalltau(before, orders[0]).statistic)
    changed = client.get(page).content.decode()
    assert "On the benchmark <b>near</b> leads; in grades <b>whole</b> does." in changed
    other = client.get(f"{api}?own=mIoU").json()
    assert other["measure"] == "mIoU"
    assert client.get(f"{api}?own=HIT@1").status_code == 400
    assert client.get(f"{page}&own=HIT@1").status_code == 400
    lines = list(csv.DictReader(StringIO(client.get(reverse("rejudged-csv", args=["again"])).content.decode())))
    assert len(lines) == 4 * len(RUNS)
    assert {line["judged"] for line in lines} == {"benchmark", "grades"}
    annotator = browser(User.objects.get(username="ada"))
    for address in (page, api, reverse("rejudged-csv", args=["again"])):
        assert annotator.get(address).status_code == 404
    campaign.add_member(rio := User.objects.create(username="rio"), "researcher")
    assert browser(rio).get(page).status_code == 200


def made(draft: Draft) -> Campaign:
    """The campaign that is made of a draft, one rank of each run deep."""
    draft.change(name="again", pool_depth=1)
    for ask in (ask_to_check, ask_to_make):
        ask(draft)
        assert work_off(StringIO()) == []
        draft.refresh_from_db()
    assert draft.campaign is not None
    open_without_clips(draft.campaign.memberships.get(role="lead"))
    return draft.campaign


@pytest.mark.any_database
@needs_shared
def test_what_is_wrong_with_a_leaderboard_stands_in_the_check(draft: Draft, files: dict[str, Path]) -> None:
    assert problems(draft) == [
        "The leaderboard: no benchmark; expected its ground truth, and runs of two systems or more"
    ]
    upload(draft, files, "near")
    assert problems(draft) == ["The leaderboard: 1 run; expected runs of two systems or more"]
    found = json.loads(files["whole"].read_text())
    query = next(iter(found))
    found[query][0]["video_name"] = "elsewhere"
    store_text(draft, Upload.Purpose.RUN, "whole.json", json.dumps(found))
    (problem,) = problems(draft)
    assert problem.startswith("The leaderboard: whole.json")
    assert "elsewhere" in problem
    store_text(draft, Upload.Purpose.BENCHMARK, "val.json", json.dumps({"elsewhere": GROUND}))
    assert "The leaderboard: val.json: the corpus anet lacks the videos elsewhere" in problems(draft)


def problems(draft: Draft) -> list[str]:
    draft.change(name="again")
    ask_to_check(draft)
    assert work_off(StringIO()) == []
    draft.refresh_from_db()
    return list(draft.findings["problems"])


@pytest.mark.any_database
def test_runs_are_named_by_their_files(tmp_path: Path) -> None:
    files = ["a.json", "a.jsonl.gz", "Anonymous run.json", ".json"]
    runs = [Given(name, tmp_path, run_from_dict({"1": []})) for name in files]
    assert _names(runs) == ["a", "a-2", "run Anonymous run", ".json"]


@pytest.mark.any_database
@needs_shared
def test_the_candidates_are_what_the_benchmark_and_the_runs_hold(files: dict[str, Path]) -> None:
    assert "candidates beyond the depth" in create(files)
    campaign = Campaign.objects.get(name="anet-graded")
    qrels = read_qrels(files["benchmark"])
    assert campaign.queries.count() == len(set(qrels.texts.values()))
    query = campaign.queries.get(query_id=qrels.queries[0])
    assert query.text == qrels.texts[qrels.queries[0]].strip()
    kinds = list(query.candidates.order_by("rank").values_list("moment__predicted", flat=True))
    assert kinds[0] is False  # the benchmark's own moment
    assert not any(audit(campaign).values())
    assert Moment.objects.filter(video__corpus__name="anet").count() == len(qrels.grades)
    batches = Batch.objects.in_campaign(campaign)
    assert batches.count() == campaign.queries.count()
    opened = set(batches.values_list("pk", flat=True))
    open_first_batches.ask(campaign)
    assert work_off(StringIO()) == []
    assert set(batches.values_list("pk", flat=True)) == opened


@pytest.mark.any_database
@needs_shared
def test_what_is_wrong_is_one_line(files: dict[str, Path]) -> None:
    assert refused("create_campaign", "x", "--corpus", "anet", "--benchmark", str(files["benchmark"])) == (
        "--benchmark and --runs go together, without --queries and --select"
    )
    Corpus.objects.create(name="empty", format="activitynet")
    words = ["x", "--corpus", "empty", "--benchmark", files["benchmark"], "--runs", files["near"]]
    assert "expected one of the corpus's videos" in refused("create_campaign", *map(str, words))
    assert not Campaign.objects.filter(name="x").exists()


@pytest.mark.any_database
@needs_shared
def test_grades_make_another_order(files: dict[str, Path], tmp_path: Path) -> None:
    only_three(files)
    create(files)
    release = judged_and_frozen(Campaign.objects.get(name="anet-graded"))
    (tmp_path / "qrels.jsonl").write_bytes(opened(release).read("qrels.jsonl"))
    runs = [files[name] for name in RUNS]
    words = ["--benchmark", files["benchmark"], "--qrels", tmp_path / "qrels.jsonl", "--runs", *runs]
    done = run_cli("rejudged", *words, "--unjudged", "skip", "--format", "json", "--measures", "nDCG_IoU(iou=0.5)@10")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["queries"] == release.campaign.queries.count()
    places = {row["run"]: (row["place"], row["new_place"]) for row in found["runs"]}
    assert places["near"] == (1, 2)
    assert places["whole"][1] == 1
    table = run_cli("rejudged", *words).stdout
    assert "queries that both judge, convention paper" in table


def judged_and_frozen(campaign: Campaign, lead: Membership | None = None) -> Release:
    """Whoever looks for a sentence of these films, its two annotators say, wants to see the whole film."""
    ada, bob, leo = (User.objects.create(username=name) for name in ("ada", "bob", "leo"))
    two, lead = (
        [campaign.add_member(user, "annotator") for user in (ada, bob)],
        lead or campaign.add_member(leo, "lead"),
    )
    for batch in Batch.objects.in_campaign(campaign):
        batch.open()
        for person in two:
            batch.refresh_from_db()
            judge_all(batch.hand_to(person), lambda candidate: 4 if is_whole(candidate.moment) else 1)
        batch.refresh_from_db()
        review(batch, lead, Review.Verdict.CLOSE)
    assert not any(audit(campaign).values())
    release = freeze(campaign, lead, "CC-BY-4.0")
    assert work_off(StringIO()) == []
    release.refresh_from_db()
    return release


def is_whole(moment: Moment) -> bool:
    return moment.start == 0 and moment.end == moment.video.duration


@pytest.mark.any_database
def test_what_rejudged_refuses(tmp_path: Path) -> None:
    for name, query in (("a", 1), ("b", 2)):
        pair = {"query_id": query, "video_name": "v", "timestamp": [0, 5], "relevance": 1}
        (tmp_path / name).write_text(json.dumps(pair))
    (tmp_path / "run.json").write_text(json.dumps({"1": []}))
    words = ["--benchmark", tmp_path / "a", "--qrels", tmp_path / "b", "--runs", tmp_path / "run.json"]
    done = run_cli("rejudged", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "has no query of" in done.stderr
