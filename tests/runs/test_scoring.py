"""Runs are scored as the library scores them, anew on each release, and the leaderboard shows what was stored."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html import unescape
from io import StringIO
from itertools import product
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from base.errors import BadValue
from campaigns.models import Campaign, Membership
from jobs.models import Job
from jobs.registry import Kind
from jobs.running import work_off
from judging.consensus import Status, consensus
from metrics import CONVENTIONS, calc, parse_measures, qrels_from_dict, run_from_dict
from metrics.analysis.compare import holm, p_value
from metrics.analysis.other_judging import NO_GRADE
from releases.archive import ReleaseArchive
from releases.freezing import freeze
from releases.models import Release
from runs.board.table import falls
from runs.measures import NAMES
from runs.models import Run, Score, Scoring
from runs.references import judged_in
from runs.scoring import GradesByPair, by_pair, redrawn, resample_annotators, score_runs
from runs.tables import unpacked_values
from tests.cast import browser, text_between_tags
from tests.runs.conftest import ODD, best
from tests.runs.uploading import uploaded

# The release is written by a thread with a connection of its own, which sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True)
COLUMN = "nDCG_IoU(iou=0.5)@20"


@pytest.fixture
def page(rio: Membership) -> Callable[..., Any]:
    """Get the leaderboard, as a page or in a format."""
    client = browser(rio)

    def get(format: str = "", **address: str | int) -> Any:
        name, arguments = ("leaderboard-file", ["films", format]) if format else ("leaderboard", ["films"])
        where = reverse(name, args=arguments)
        answer = client.get(where, address)
        assert answer.status_code == 200, answer.content.decode()
        return json.loads(answer.content) if format == "json" else answer.content.decode()

    return get


@pytest.mark.any_database
@pytest.mark.parametrize("kind", [score_runs, resample_annotators])
def test_a_job_that_failed_is_told_and_tried_again_where_it_was_asked_for(
    kind: Kind[...], release: Release, rio: Membership, leo: Membership, runs: list[Run]
) -> None:
    """On the leaderboard, and by the API."""
    work_off()
    job = kind.jobs(release).get()
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED, error="disk full")
    client, again = browser(rio), reverse("job-again", args=[job.pk])
    words = unescape(client.get(reverse("leaderboard", args=["films"])).content.decode())
    assert f"{kind.label} failed: disk full." in " ".join(words.split())
    assert "Try again" in words
    listed = client.get(reverse("api-jobs", args=["films"])).json()["results"]
    assert [(each["kind"], each["error"]) for each in listed] == [(kind.code, "disk full")]
    address = reverse("api-any-job-again", args=[job.pk])
    assert browser(leo).post(address, content_type="application/json").status_code == 202
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.WAITING, "")
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED, error="disk full")
    assert client.post(again).status_code == 302
    assert client.post(again).status_code == 302
    work_off()
    assert Job.objects.get(pk=job.pk).state == Job.State.DONE


@pytest.mark.any_database
def test_the_card_of_a_release_shows_the_baselines_that_the_lead_chose(runs: list[Run], leo: Membership) -> None:
    runs[1].show_to("shared")
    runs[2].show_to("shared")
    form = {"licence": "CC0-1.0", "with_unfinished": "on", "baselines": [runs[1].number, runs[2].number]}
    assert browser(leo).post(reverse("release-make", args=["films"]), form).status_code == 302
    assert work_off() == []
    with Release.objects.get(version=2).file.open("rb") as file:
        archive = ReleaseArchive(file)
        card, qrels = "".join(archive.lines("README.md")), archive.read("qrels.jsonl")
    found = qrels_from_dict(_by_query(qrels), lenient=True)
    score = calc(COLUMN, found, run_from_dict(best(leo.campaign, skip=1)))[COLUMN]
    assert "| run | system | nDCG_IoU(iou=0.5)@10 | nDCG_IoU(iou=0.5)@20 | AxIoU@10 |" in card
    (row,) = (line for line in card.splitlines() if line.startswith("| late-1 "))
    assert f"| {score:.4f} |" in row
    assert f"| {ODD} |" in card


def _by_query(qrels: bytes) -> dict[str, list[tuple[str, float, float, int]]]:
    found: dict[str, list[tuple[str, float, float, int]]] = {}
    for record in map(json.loads, qrels.splitlines()):
        moment = (record["video_name"], *record["timestamp"], record["relevance"])
        found.setdefault(record["query_id"], []).append(moment)
    return found


@pytest.mark.any_database
def test_a_private_run_is_no_baseline(runs: list[Run], leo: Membership) -> None:
    runs[0].show_to("private")
    with pytest.raises(BadValue, match="baselines: run 1; expected runs of this campaign that are not private"):
        freeze(leo.campaign, leo, "MIT", baselines=[1])
    Campaign.objects.update(held_back="val")
    with pytest.raises(BadValue, match="held back"):
        freeze(Campaign.objects.get(), leo, "MIT", baselines=[2])


@pytest.mark.any_database
def test_scores_are_the_librarys_and_stay_with_their_release(
    runs: list[Run], release: Release, tmp_path: Any, rio: Membership
) -> None:
    with release.file.open("rb") as file:
        (tmp_path / "qrels.jsonl").write_bytes(ReleaseArchive(file).read("qrels.jsonl"))
    predictions = run_from_dict(best(release.campaign, skip=1))
    stored = Score.objects.filter(scoring__run=runs[1], scoring__release=release)
    for convention, names in NAMES.items():
        scores = calc(names, str(tmp_path / "qrels.jsonl"), predictions, convention)
        by_name = {score.measure: score for score in stored.filter(convention=convention)}
        assert {name: score.value for name, score in by_name.items()} == {
            str(measure): value for measure, value in scores.aggregate().items()
        }
        for measure, values in zip(scores.measures, scores.values, strict=True):
            report = CONVENTIONS[convention].options(measure.definition.family).report
            is_percent = report.startswith("percent") and measure.definition.share
            expected = values.mean(axis=1) * (100 if is_percent else 1)
            assert np.allclose(unpacked_values(by_name[str(measure)].values), expected, equal_nan=True, rtol=1e-6)
    before = dict(stored.values_list("pk", "value"))
    second = freeze(release.campaign, release.by, "CC0-1.0", "again", with_unfinished=True)
    assert work_off(StringIO()) == []
    both = product([run.pk for run in runs], [release.pk, second.pk])
    assert set(Scoring.objects.values_list("run", "release")) == set(both)
    assert dict(stored.values_list("pk", "value")) == before
    text = browser(rio).get(reverse("run", args=["films", 2])).content.decode()
    assert 'aria-current="page">Release 2</a>' in text
    assert "?release=1" in text


@pytest.mark.any_database
def test_what_a_convention_refuses_is_said_and_the_others_score(release: Release, rio: Membership, page: Any) -> None:
    run = uploaded(rio, best(release.campaign, only=("q0", "q1", "q2")))
    scoring = Scoring.objects.get(run=run)
    assert set(scoring.refusals) == {"tvr", "didemo", "qvhighlights", "qvm2"}
    assert scoring.missing == 3
    assert set(scoring.scores.values_list("convention", flat=True)) == {
        "paper",
        "released",
        "spr",
        "stal",
        "gmr",
        "ego4d",
    }
    assert "query &#x27;q3&#x27; of the qrels is missing" in page(convention="tvr")


@pytest.mark.any_database
def test_the_leaderboard(runs: list[Run], page: Any, rio: Membership, member: Callable[..., Membership]) -> None:
    """One test, because its release and its runs take longest to make."""
    sorts_filters_and_compares(page)
    shows_seeds_as_one_row_with_their_deviation(page)
    refuses_an_address_that_says_nothing(rio)
    writes_files_that_say_what_the_page_says(runs, page)
    makes_another_measure_a_column(page, rio)
    keeps_private_runs_for_their_owners_and_tells_no_query_of_public_ones(runs, member, rio)


def sorts_filters_and_compares(page: Any) -> None:
    with CaptureQueriesContext(connection) as statements:
        text = page()
    assert len(statements) <= 15, [each["sql"][:80] for each in statements]
    assert "Scored as <strong>paper</strong>" in text
    assert names_on(text) == ["perfect", "late"]  # the seeds of a system are one row unless somebody asks
    assert names_on(page(seeds="apart")) == ["perfect", "late-1", ODD]
    assert names_on(page(seeds="apart", sort="run")) == [ODD, "late-1", "perfect"]
    first, second = re.findall(r'<tr class="([^"]*)">', text)
    assert (first.split(), second.split()) == (["level", "apart", "mine"], ["mine"])
    whole, part = page("json", m=COLUMN, baseline=1), page("json", m=COLUMN, baseline=1, split="val")
    assert (whole["queries"], part["queries"]) == (6, 2)
    found = Score.objects.filter(measure=COLUMN, convention="paper").select_related("scoring__run")
    stored = {score.scoring.run.name: score for score in found}
    values = {name: unpacked_values(score.values).astype(float) for name, score in stored.items()}
    p = holm(np.array([p_value(values[name] - values["perfect"], "t", 0, 0) for name in ("late-1", ODD)]))
    for row in whole["rows"]:
        cell, score = row["scores"][COLUMN], stored[row["name"]]
        assert (cell["value"], cell["low"], cell["high"]) == (score.value, score.low, score.high)
        assert cell["low"] <= cell["value"] <= cell["high"]
    assert [row["scores"][COLUMN].get("p") for row in whole["rows"]] == [None, *p.tolist()]
    for row in part["rows"]:
        assert row["scores"][COLUMN]["value"] == pytest.approx(values[row["name"]][:2].mean())
    assert "significantly worse" in page(m=COLUMN, baseline=1, seeds="apart")
    assert {len(page("json", length=each)["rows"]) for each in ("short", "middle", "long")} == {3}


def names_on(text: str) -> list[str]:
    return [unescape(name) for name in re.findall(r'<td class="name">\s*<a href="[^"]*">([^<]+)</a>', text)]


def shows_seeds_as_one_row_with_their_deviation(page: Any) -> None:
    rows = page("json", m=COLUMN, seeds="together")["rows"]
    found = Score.objects.filter(measure=COLUMN, convention="paper", scoring__run__group="late")
    values = np.array(found.values_list("value", flat=True), dtype=float)
    assert [row["name"] for row in rows] == ["perfect", "late"]
    assert rows[1]["scores"][COLUMN] == {"value": np.mean(values), "deviation": np.std(values, ddof=1)}
    assert "2 seeds" in page()


def writes_files_that_say_what_the_page_says(runs: list[Run], page: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(page("csv", m=COLUMN, baseline=1))))
    assert [row["run"] for row in rows] == ["perfect", "late-1", "'=late_2 & 100 %"]
    assert rows[0]["convention"] == "paper"
    scores = Score.objects.filter(convention="paper", scoring__run=runs[1])
    value = scores.get(measure=COLUMN).value
    assert float(rows[1]["value"]) == value
    assert float(rows[1]["judged"]) == scores.get(measure="Judged@20").value
    latex, markdown = page("tex", m=COLUMN, baseline=1), page("md", m=COLUMN, baseline=1)
    assert r"=late\_2 \& 100 \%" in latex
    assert latex.count(r"\textbf{") == 1
    assert f"| late-1 | {value:.4f}▼ [" in markdown
    assert "convention paper" in markdown


def makes_another_measure_a_column(page: Any, rio: Membership) -> None:
    client, address = browser(rio), reverse("leaderboard-measure", args=["films"])
    for wrong in ("nDCG_IoU@20", "HIT@1", "Success_IoU(iou=0.5,type=v)@5", "xinfAP"):
        assert client.post(address, {"convention": "paper", "measure": wrong}).status_code == 400
    answer = client.post(address, {"convention": "paper", "measure": "AxIoU @ 20"}, follow=True)
    assert "AxIoU@20</a>" in answer.content.decode()
    assert work_off(StringIO()) == []
    found = Score.objects.filter(measure="AxIoU@20")
    assert set(found.values_list("convention", flat=True)) == set(NAMES) - {"spr", "gmr"}
    assert len(page("json", m="AxIoU@20")["rows"]) == 3


def refuses_an_address_that_says_nothing(rio: Membership) -> None:
    for query in ("convention=best", "m=Best@3", "m=AxIoU@20", "sort=x", "baseline=9", "length=tiny", "release=x"):
        answer = browser(rio).get(reverse("leaderboard", args=["films"]) + f"?{query}")
        assert answer.status_code == 400, query
        assert "expected" in text_between_tags(answer.content.decode()), query


def keeps_private_runs_for_their_owners_and_tells_no_query_of_public_ones(
    runs: list[Run], member: Callable[..., Membership], rio: Membership
) -> None:
    client = Client()
    leo, run = member("leo", "lead"), reverse("run", args=["films", 1])
    show = reverse("run-visibility", args=["films", 1])
    assert browser(rio).post(show, {"visibility": "private"}).status_code == 302
    assert browser(leo).get(run).status_code == 404
    assert "perfect" not in browser(leo).get(reverse("leaderboard", args=["films"])).content.decode()
    assert "perfect" in browser(rio).get(reverse("leaderboard", args=["films"])).content.decode()
    link = reverse("public-run", args=["films", runs[0].token])
    assert client.get(link).status_code == 404
    assert browser(rio).post(show, {"visibility": "public"}).status_code == 302
    assert link in browser(rio).get(run).content.decode()
    text = client.get(link).content.decode()
    assert "nDCG_IoU(iou=0.5)@20" in text
    assert not re.search("secret|thing 1|q1", text)


@pytest.mark.any_database
def test_intervals_over_annotators_come_from_the_raw_grades(runs: list[Run], release: Release) -> None:
    with release.file.open("rb") as file:
        judged = judged_in(ReleaseArchive(file))
    raw = by_pair(judged)
    assert (raw.annotator >= 0).sum(axis=1).tolist().count(4) > 0
    drawn = redrawn(raw, 1, resamples=300)
    assert drawn.shape == (300, len(judged.final))
    left_out = (drawn == raw.final).all(axis=1)
    assert 0 < left_out.sum() < 300
    spreads = list(Score.objects.filter(measure=COLUMN).values_list("scoring__run__name", "convention", "spread"))
    assert len(spreads) == 9
    assert all(spread is not None and 0 <= spread < 0.5 for _, _, spread in spreads)
    assert any(spread for _, _, spread in spreads)
    assert not Score.objects.exclude(measure__startswith="nDCG_IoU").exclude(spread=None).exists()


@pytest.mark.any_database
def test_a_resample_of_everybody_once_is_the_consensus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two and of four grades; and a pair of which nobody is drawn keeps what it had."""
    cases = [*product(range(5), repeat=2), *product(range(5), repeat=4)]
    grade = np.array([(*sorted(case), *[0] * (4 - len(case))) for case in cases], np.int8)
    annotator = np.array([(*range(len(case)), *[-1] * (4 - len(case))) for case in cases])

    def with_draws(*counts: int, final: int = 9) -> list[int]:
        raw = GradesByPair(grade, annotator, np.full(len(cases), final, np.int8))
        monkeypatch.setattr("runs.scoring._drawn", lambda *_: np.array([counts]))
        return list(map(int, redrawn(raw, 1, resamples=1)[0]))

    for case, one in zip(cases, with_draws(1, 1, 1, 1), strict=True):
        outcome = consensus(list(case))
        assert one == (outcome.grade if outcome.status == Status.SETTLED else NO_GRADE), case
    assert set(with_draws(0, 0, 0, 0, final=3)) == {3}
    assert with_draws(2, 1, 0, 0)[cases.index((0, 4))] == 0  # grades 0, 0 and 4
    assert with_draws(0, 3, 0, 0)[cases.index((0, 4))] == 4


@pytest.mark.any_database
def test_without_a_release_runs_wait(campaign: Campaign, rio: Membership) -> None:
    uploaded(rio, {"1": [("secret-video-0", 1.25, 4.5, 1.0)]})
    client = browser(rio)
    assert "there is none yet" in client.get(reverse("leaderboard", args=["films"])).content.decode()
    assert "none yet" in client.get(reverse("leaderboard", args=["films"]), {"view": "runs"}).content.decode()
    assert client.get(reverse("leaderboard", args=["films"]), {"view": "x"}).status_code == 404
    assert "It has no scores yet" in client.get(reverse("run", args=["films", 1])).content.decode()


def test_of_ranks_alone_the_lowest_is_the_best() -> None:
    measures = parse_measures(["AxIoU@10", "Rejection_F1(above=0.4)", "MedianRank(iou=0.5)", "StdRank(iou=0.5)"])
    assert [falls(measure) for measure in measures] == [True, True, False, False]
