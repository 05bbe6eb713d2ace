"""Why a run has its score: what the pages say of each rank adds up to the scores that are stored."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from campaigns.models import Membership
from judging.models import Candidate
from releases.models import Release
from runs.explain.cases import case_of, drawing_of
from runs.explain.queries import EXPLAINED, ExplanationOptions, explained_measures
from runs.models import Run, Score
from runs.tables import unpacked_values
from tests.cast import browser
from tests.runs.conftest import ODD, best
from tests.runs.uploading import uploaded

pytestmark = pytest.mark.django_db(transaction=True)
MOST_STATEMENTS = 15


@pytest.mark.any_database
def test_why(runs: list[Run], release: Release, rio: Membership, member: Callable[..., Membership]) -> None:
    """One test, because its release and its runs take longest to make."""
    client = browser(rio)
    every_case_adds_up(runs, release)
    a_query_is_drawn_with_its_matches(client, release)
    two_runs_stand_side_by_side(client, runs)
    three_runs_stand_side_by_side(client, runs, release)
    an_address_that_says_nothing_is_refused(client)
    a_query_that_a_run_lacks_has_no_ranks(client, uploaded(rio, best(release.campaign, only=("q0",)), name="part"))
    a_private_run_is_nobody_elses(client, runs[2], browser(member("leo", "lead")))


def every_case_adds_up(runs: list[Run], release: Release) -> None:
    """Under each convention and by each measure, on one query or another: what is shown is what was stored."""
    reference = release.scoring_reference
    stored = {
        (score.convention, score.measure): unpacked_values(score.values)
        for score in Score.objects.filter(scoring__run=runs[1], scoring__release=release)
    }
    checked = 0
    for name in EXPLAINED:
        for measure in explained_measures(name, reference):
            question = asked_of(runs[1], release, name, str(measure))
            place = len(measure.spelling) % len(reference.queries)
            case = case_of(question, reference.queries[place][0])
            assert case
            [side] = case.sides
            value = stored[name, str(measure)][place]
            assert side.values[name] == value
            if measure.name == "nDCG_IoU":
                assert side.ideal
                assert side.dcg / side.ideal == pytest.approx(value, rel=1e-6)
                checked += 1
            assert len(drawing_of(case).joins) == sum(rank.match is not None for rank in side.ranks)
    assert checked == 3 * 9


def asked_of(
    run: Run, release: Release, convention: str, measure: str, others: Sequence[Run] = ()
) -> ExplanationOptions:
    from metrics import CONVENTIONS, parse_measure

    return ExplanationOptions(
        run, tuple(others), release.scoring_reference, CONVENTIONS[convention], parse_measure(measure)
    )


def a_query_is_drawn_with_its_matches(client: Client, release: Release) -> None:
    with CaptureQueriesContext(connection) as statements:
        text = page(client, "run-query", 2, query="q1")
    assert len(statements) <= MOST_STATEMENTS, [each["sql"][:80] for each in statements]
    relevant = Candidate.objects.filter(query__query_id="q1", grade__gt=0)
    assert text.count('<path class="join') == relevant.count()
    assert '<text class="title" x="0" y="18">Judged moments</text>' in text
    assert re.search(r"Rank 2: [\d.]+–[\d.]+ s of secret-video-\d, matches a moment of grade \d, IoU 1.00", text)
    assert "Rank 1: 90–90.5 s of secret-video-5, no match" in text
    assert text.count("no clip is stored") >= 1
    released = page(client, "run-query", 2, query="q1", convention="released")
    gains = [re.findall(r'<td class="n">([\d.]+)</td>', each)[2] for each in (ranks(text)[1], ranks(released)[1])]
    assert float(gains[1]) == 2 ** float(gains[0]) - 1
    judgements = re.search(r'href="(/[^"]*\?candidate=\d+)"', text)
    assert judgements
    html = client.get(judgements[1]).content.decode()
    assert html.count('class="dot g') >= 2
    assert len({*re.findall(r'class="plain" href="\?query=(\d+)"', html)}) == 1


def ranks(text: str) -> list[str]:
    return re.findall(r'<tr id="run-2-rank-\d+">(.*?)</tr>', text, re.DOTALL)


def two_runs_stand_side_by_side(client: Client, runs: list[Run]) -> None:
    with CaptureQueriesContext(connection) as statements:
        listed = page(client, "run-queries", 1, against=3)
    assert len(statements) <= MOST_STATEMENTS
    differences = [
        abs(float(each.replace("−", "-"))) for each in re.findall(r'<td class="n">(−?[\d.]+)</td>\s*</tr>', listed)
    ]
    assert len(differences) == 6
    assert differences == sorted(differences, reverse=True)
    assert differences[0] > 0
    assert f"perfect scores higher on 6 queries and {escape(ODD)} on 0; they tie on 0." in listed
    rows = list(csv.DictReader(io.StringIO(page(client, "run-scatter", 1, "csv", against=3))))
    assert {row["query"] for row in rows} == {f"q{n}" for n in range(6)}
    assert all(float(row["x"]) > float(row["y"]) for row in rows)
    drawn = json.loads(page(client, "run-scatter", 1, "json", against=3))
    [data] = (
        [each for each in drawn["datasets"].values() if len(each) == 6]
        if "datasets" in drawn
        else [layer["data"]["values"] for layer in drawn["layer"] if len(layer["data"]["values"]) == 6]
    )
    with CaptureQueriesContext(connection) as statements:
        both = client.get(data[0]["address"]).content.decode()
    assert len(statements) <= MOST_STATEMENTS, [each["sql"][:80] for each in statements]
    titles = re.findall(r'<text class="title"[^>]*>([^<]+)</text>', both)
    assert titles == ["perfect", "Judged moments", escape(ODD)]
    assert both.count("rank by rank</h2>") == 2


def three_runs_stand_side_by_side(client: Client, runs: list[Run], release: Release) -> None:
    """Differences are between the best and the worst; a moment that one run alone finds at its rank is marked."""
    listed = page(client, "run-queries", 2, against=[1, 3])
    late, perfect, later = (
        unpacked_values(Score.objects.get(scoring__run=run, convention="paper", measure="nDCG_IoU(iou=0.5)@20").values)
        for run in (runs[1], runs[0], runs[2])
    )
    spreads = sorted((float(max(each) - min(each)) for each in zip(late, perfect, later, strict=True)), reverse=True)
    differences = [float(each) for each in re.findall(r'<td class="n">([\d.]+)</td>\s*</tr>', listed)]
    assert differences == [pytest.approx(each, abs=5e-5) for each in spreads]
    assert (listed.count('class="n high"'), listed.count('class="n low"')) == (6, 6)
    assert "data-figure" not in listed
    text = page(client, "run-query", 2, against=[1, 3], query="q1")
    titles = re.findall(r'<text class="title"[^>]*>([^<]+)</text>', text)
    assert titles == ["Judged moments", "late-1", "perfect", escape(ODD)]
    assert 'class="join' not in text
    # At rank 1, only the perfect run has a moment, which the others have later: at ranks 1 and 2 the late ones miss.
    first = text[text.index("Clips beside each other") :].split("<tr>")[2]
    assert first.count('class="missed"') == 2
    assert 'class="alone"' not in first
    case = case_of(asked_of(runs[0], release, "paper", "nDCG_IoU(iou=0.5)@20", runs[1:2]), "q1")
    assert case
    assert [number for number, _ in case.beside] == [1, 2, 3, 4, 5]
    case.sides[1].ranks[1].match = None  # the late run's only match of the first moment
    assert [mark for _, cells in case.beside for _, mark in cells][:4] == ["alone", "missed", "", "missed"]


def an_address_that_says_nothing_is_refused(client: Client) -> None:
    for wrong in ({}, {"query": "q0", "convention": "didemo"}, {"query": "q0", "measure": "P@10"}):
        assert client.get(reverse("run-query", args=["films", 1]), wrong).status_code == 400, wrong
    for field, value in {"against": "1", "release": "x"}.items():
        assert client.get(reverse("run-queries", args=["films", 1]), {field: value}).status_code == 400, field
    for many in (["2", "2"], ["2", "1"], ["2", "3", "4", "5"]):
        assert client.get(reverse("run-queries", args=["films", 1]), {"against": many}).status_code == 400, many
    assert client.get(reverse("run-scatter", args=["films", 1, "csv"]), {"against": ["2", "3"]}).status_code == 400
    assert client.get(reverse("run-query", args=["films", 1]), {"query": "q99"}).status_code == 404
    assert client.get(reverse("run-queries", args=["films", 1]), {"against": "99"}).status_code == 404
    assert client.get(reverse("run-scatter", args=["films", 1, "csv"])).status_code == 400


def a_query_that_a_run_lacks_has_no_ranks(client: Client, part: Run) -> None:
    text = page(client, "run-query", part.number, query="q1")
    assert "The run has no prediction for this query." in text
    assert "no score by this measure under this convention" in page(
        client, "run-queries", part.number, convention="tvr"
    )


def a_private_run_is_nobody_elses(client: Client, run: Run, leo: Client) -> None:
    run.show_to("private")
    assert leo.get(reverse("run-queries", args=["films", run.number])).status_code == 404
    assert leo.get(reverse("run-queries", args=["films", 1]), {"against": run.number}).status_code == 404
    assert escape(ODD) not in page(leo, "run-queries", 1)
    assert escape(ODD) in page(client, "run-queries", 1)


def page(client: Client, name: str, *arguments: Any, **address: Any) -> str:
    answer = client.get(reverse(name, args=["films", *arguments]), address)
    assert answer.status_code == 200, answer.content.decode()[:500]
    return answer.content.decode()
