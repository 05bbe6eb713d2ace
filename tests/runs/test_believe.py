"""Whether a measure can be believed: examined once by a job, and shown figure by figure to who may see the runs."""

from __future__ import annotations

import csv
import io
import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign
from jobs.models import Job
from jobs.running import work_off
from metrics import Qrels
from metrics.analysis.other_judging import final_grades, with_grades
from releases.archive import ReleaseArchive
from releases.freezing import freeze
from releases.models import Release
from runs.models import Inquiry, Score
from runs.references import judged_in, reference_of
from runs.reliability import inquiries
from runs.reliability.figures import FIGURES
from runs.reliability.inquiries import examine_measures
from runs.tables import read_table
from tests.cast import browser, text_between_tags
from tests.runs.systems import person, system
from tests.runs.uploading import uploaded

pytestmark = [pytest.mark.django_db(transaction=True)]
PAGE = "/campaigns/trial/measures/"
NOT_THERE = {"run": "99", "convention": "didemo", "measure": "AxIoU@3", "figure": "x", "release": "two"}


@pytest.fixture
def trial(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """Generated judgements, frozen; chance decides less often than in earnest."""
    settings.UPLOAD_ROOT = tmp_path / "uploads"
    for name in ("TRIALS", "DATASETS", "REDRAWN"):
        monkeypatch.setattr(inquiries, name, 4)
    call_command("generate_campaign", "trial", "--queries", "8", "--annotators", "5", stdout=StringIO())
    campaign = Campaign.objects.get(name="trial")
    freeze(campaign, person(campaign, "leo", "lead"), "CC0-1.0", with_unfinished=True)
    assert work_off(StringIO()) == []
    return campaign


@pytest.fixture
def runs(trial: Campaign) -> list[Any]:
    rio = person(trial, "rio", "researcher")
    return [uploaded(rio, system(trial, number), name=f"noise-{number}") for number in (1, 3, 9)]


@pytest.mark.any_database
def test_the_grades_of_a_release_lead_back_to_its_qrels(trial: Campaign) -> None:
    release = Release.objects.get()
    with release.file.open("rb") as file:
        judged = judged_in(ReleaseArchive(file))
    assert {1, 2} == {*judged.raw.round.tolist()}
    assert -1 in judged.final
    every = np.ones(judged.raw.grade.size, dtype=bool)
    assert np.array_equal(
        final_grades(judged.raw, every, np.full(judged.final.size, 9), judged.tolerance), judged.final
    )
    known, qrels = with_grades(judged.pairs, judged.final), read_table(Qrels, reference_of(release).table)
    assert sorted(zip(known.moments, known.grades.tolist(), strict=True)) == sorted(
        zip(qrels.moments, qrels.grades.tolist(), strict=True)
    )


@pytest.mark.any_database
def test_it_is_examined_once_and_each_figure_is_there_as_a_page_and_as_files(runs: list[Any], trial: Campaign) -> None:
    leo = browser(person(trial, "leo", "lead"))
    assert "Examine the measures" in leo.get(PAGE).content.decode()
    for _ in range(2):
        assert leo.post(reverse("measures-ask", args=["trial"]), {"convention": "paper"}).status_code == 302
    assert Job.objects.filter(kind=examine_measures.code).count() == 1
    assert "waits for a worker" in leo.get(PAGE).content.decode()
    assert work_off(StringIO()) == []
    assert leo.get(PAGE, headers={"hx-request": "true"})["HX-Refresh"] == "true"
    for figure in FIGURES:
        page = leo.get(PAGE, {"figure": figure.key}).content.decode()
        assert f"<h2>{figure.title}</h2>" in page
        assert "data-figure=" in page
    scores = {(row["system"], row["measure"]): float(row["mean"]) for row in numbers(leo, "scores")}
    stored = Score.objects.filter(convention="paper", measure="nDCG_IoU(iou=0.5)@20")
    for score in stored.select_related("scoring__run"):
        assert scores[score.scoring.run.name, score.measure] == pytest.approx(score.value, abs=1e-5)
    assert scores["noise-1", "nDCG_IoU(iou=0.5)@20"] > scores["noise-9", "nDCG_IoU(iou=0.5)@20"]
    card = text_between_tags(leo.get(PAGE).content.decode())
    assert re.search(r"Report \S+@\d+.* and \S+.*: the most reliable", card)
    assert "Half unjudged" in card
    assert {row["way"] for row in numbers(leo, "judging")} >= {"as it was judged", "half of the pairs"}
    assert file(leo, "json", figure="agreement")[:1] == b"{"
    assert file(leo, "svg", figure="judging").startswith(b"<svg")
    assert file(leo, "pdf", figure="select").startswith(b"%PDF")
    wrong = [leo.get(PAGE, {field: value}).status_code for field, value in NOT_THERE.items()]
    assert wrong == [400] * len(NOT_THERE)
    old = leo.get(PAGE, {"figure": "stability", "convention": "paper"})
    assert (old.status_code, old["Location"]) == (302, f"{PAGE}?figure=stability-two&convention=paper")


def numbers(client: Client, figure: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file(client, "csv", figure=figure).decode())))


def file(client: Client, format: str, **params: str) -> bytes:
    answer = client.get(reverse("measures-file", args=["trial", format]), params)
    assert answer.status_code == 200
    return bytes(answer.content)


@pytest.mark.any_database
def test_nobody_learns_of_runs_that_are_not_theirs_to_see(runs: list[Any], trial: Campaign) -> None:
    leo, rio = (browser(person(trial, name, role)) for name, role in (("leo", "lead"), ("rio", "researcher")))
    runs[0].show_to("private")
    assert rio.post(reverse("measures-ask", args=["trial"]), {"run": [1, 2]}).status_code == 302
    assert work_off(StringIO()) == []
    assert "noise-1" in rio.get(PAGE, {"run": [1, 2]}).content.decode()
    assert "noise-1" not in leo.get(PAGE).content.decode()
    assert leo.get(PAGE, {"run": [1, 2]}).status_code == 400
    assert leo.get(reverse("measures-file", args=["trial", "csv"]), {"run": [1, 2]}).status_code == 400
    runs[1].show_to("private")
    assert "at least two runs" in leo.get(PAGE).content.decode()
    assert leo.post(reverse("measures-ask", args=["trial"])).status_code == 400
    assert Inquiry.objects.count() == 1


@pytest.mark.any_database
def test_what_cannot_be_examined_says_why(trial: Campaign) -> None:
    rio = person(trial, "rio", "researcher")
    found = system(trial, 1)
    one, other = [query for query, *_ in reference_of(Release.objects.get()).queries][:2]
    uploaded(rio, {one: found[one]}, name="one")
    uploaded(rio, {other: found[other]}, name="other")
    client = browser(rio)
    client.post(reverse("measures-ask", args=["trial"]), {"convention": "released"})
    [failed] = work_off(StringIO())
    assert failed.error == "no query counts for every run and measure"
    assert failed.error in client.get(PAGE, {"convention": "released"}).content.decode()
