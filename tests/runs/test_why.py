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
from runs.explain.cases import case_of, time_lines
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
    a_run_says_where_it_stands(client)
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
            drawn = [span for line in time_lines(case) for span in line.lanes[1].spans]
            assert sorted(span.number for span in drawn) == [rank.number for rank in side.ranks]
            assert sum(span.look.startswith("g") for span in drawn) == sum(bool(rank.match) for rank in side.ranks)
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
        text = page(client, "explain", run=2, query="q1")
    assert len(statements) <= MOST_STATEMENTS, [each["sql"][:80] for each in statements]
    relevant = Candidate.objects.filter(query__query_id="q1", grade__gt=0).count()
    assert f"late-1 finds {relevant} of {relevant} relevant moments by rank" in text
    assert len(re.findall(r'<a href="#run-2-rank-\d+" class="hit g[1-4]"', text)) == relevant
    assert re.search(r"Rank 2: [\d.]+–[\d.]+ s of secret-video-\d, matches a moment of grade \d, IoU 1.00", text)
    assert "Rank 1: 90–90.5 s of secret-video-5, no match: nobody judged it" in text
    assert "<video" not in text  # no clip is stored
    gain = csv.DictReader(io.StringIO(page(client, "run-figure", 2, "gain", "csv", query="q1")))
    curves = {(row["run"], int(row["rank"])): float(row["gain"]) for row in gain}
    assert curves["late-1", 1] == 0 < curves["ideal", 1]
    assert 0 < curves["late-1", 4] <= curves["ideal", 4]
    released = page(client, "explain", run=2, query="q1", convention="released")
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
        listed = page(client, "compare", run=[1, 3])
    assert len(statements) <= MOST_STATEMENTS
    differences = [
        abs(float(each.replace("−", "-"))) for each in re.findall(r'<td class="n">(−?[\d.]+)</td>\s*</tr>', listed)
    ]
    assert len(differences) == 6
    assert differences == sorted(differences, reverse=True)
    assert differences[0] > 0
    assert f"perfect scores higher on 6 queries and {escape(ODD)} on 0; they tie on 0." in listed
    rows = list(csv.DictReader(io.StringIO(page(client, "run-figure", 1, "scatter", "csv", against=3))))
    assert {row["query"] for row in rows} == {f"q{n}" for n in range(6)}
    assert all(float(row["x"]) > float(row["y"]) for row in rows)
    drawn = json.loads(page(client, "run-figure", 1, "scatter", "json", against=3))
    [data] = (
        [each for each in drawn["datasets"].values() if len(each) == 6]
        if "datasets" in drawn
        else [layer["data"]["values"] for layer in drawn["layer"] if len(layer["data"]["values"]) == 6]
    )
    with CaptureQueriesContext(connection) as statements:
        both = client.get(data[0]["address"]).content.decode()
    assert len(statements) <= MOST_STATEMENTS, [each["sql"][:80] for each in statements]
    assert lanes(both) == ["Judged", "perfect", escape(ODD)]
    assert both.count("rank by rank</h2>") == 2
    worst = client.get(reverse("explain", args=["films"]), {"run": [3, 1]})
    assert worst.status_code == 302
    assert "query=q" in worst["Location"]


def three_runs_stand_side_by_side(client: Client, runs: list[Run], release: Release) -> None:
    """Differences are between the best and the worst; a moment that one run alone finds at its rank is marked."""
    listed = page(client, "compare", run=[2, 1, 3])
    late, perfect, later = (
        unpacked_values(Score.objects.get(scoring__run=run, convention="paper", measure="nDCG_IoU(iou=0.5)@20").values)
        for run in (runs[1], runs[0], runs[2])
    )
    spreads = sorted((float(max(each) - min(each)) for each in zip(late, perfect, later, strict=True)), reverse=True)
    differences = [float(each) for each in re.findall(r'<td class="n">([\d.]+)</td>\s*</tr>', listed)]
    assert differences == [pytest.approx(each, abs=5e-5) for each in spreads]
    assert (listed.count('class="n high"'), listed.count('class="n low"')) == (6, 6)
    assert "data-figure" not in listed
    text = page(client, "explain", run=[2, 1, 3], query="q1")
    assert lanes(text) == ["Judged", "late-1", "perfect", escape(ODD)]
    assert len(re.findall(r'<a href="#run-1-rank-1" class="hit g4"', text)) == 1
    assert len(re.findall(r'<a href="#run-[23]-rank-1" class="hit unjudged"', text)) == 2


def lanes(text: str) -> list[str]:
    """The names of the lanes of the first time line."""
    found = re.findall(r'<span class="who[^>]*>([^<]+)</span>', text)
    return found[: found.index("Judged", 1)] if "Judged" in found[1:] else found


def an_address_that_says_nothing_is_refused(client: Client) -> None:
    compared, explained = (reverse(name, args=["films"]) for name in ("compare", "explain"))
    figure = reverse("run-figure", args=["films", 1, "scatter", "csv"])
    for wrong in ({"convention": "didemo"}, {"measure": "P@10"}):
        assert client.get(explained, {"run": "1", "query": "q0"} | wrong).status_code == 400, wrong
    for runs in ([], ["1", "1"], ["x"], ["1", "2", "3", "4", "5"]):
        assert client.get(compared, {"run": runs}).status_code == 400, runs
    assert client.get(compared, {"run": "1", "release": "x"}).status_code == 400
    assert client.get(figure, {"against": ["2", "3"]}).status_code == 400
    assert client.get(figure).status_code == 400
    assert client.get(reverse("run-figure", args=["films", 1, "x", "csv"])).status_code == 404
    assert client.get(explained, {"run": "1", "query": "q99"}).status_code == 404
    assert client.get(compared, {"run": ["1", "99"]}).status_code == 404


def a_run_says_where_it_stands(client: Client) -> None:
    """Its place, whether the best is told apart, and its pictures, of which each has its files."""
    with CaptureQueriesContext(connection) as statements:
        text = page(client, "run", 3)
    assert len(statements) <= MOST_STATEMENTS, [each["sql"][:80] for each in statements]
    assert re.search(r'<strong class="big">3</strong> of 4', text)
    assert "It is significantly worse than the best," in text
    assert "It leads, significantly." in page(client, "run", 1)
    assert len({*re.findall(r'data-figure="([^"?]*)', text)}) == 3
    for key, more in (("queries", {"against": 1}), ("judged", {}), ("scatter", {"against": 1})):
        rows = page(client, "run-figure", 3, key, "csv", **more).splitlines()
        assert len(rows) == 1 + (100 if key == "judged" else 6)
        assert page(client, "run-figure", 3, key, "svg", **more).startswith("<svg")
    judged = [
        float(row["judged"]) for row in csv.DictReader(io.StringIO(page(client, "run-figure", 1, "judged", "csv")))
    ]
    assert judged[0] == 1


def a_query_that_a_run_lacks_has_no_ranks(client: Client, part: Run) -> None:
    text = page(client, "explain", run=part.number, query="q1")
    assert "The run has no prediction for this query." in text
    assert "no score by this measure under this convention" in page(
        client, "compare", run=part.number, convention="tvr"
    )


def a_private_run_is_nobody_elses(client: Client, run: Run, leo: Client) -> None:
    run.show_to("private")
    for runs in ([run.number], [1, run.number]):
        assert leo.get(reverse("compare", args=["films"]), {"run": runs}).status_code == 404
    assert escape(ODD) not in page(leo, "compare", run=1)
    assert escape(ODD) in page(client, "compare", run=1)


def page(client: Client, name: str, *arguments: Any, **address: Any) -> str:
    answer = client.get(reverse(name, args=["films", *arguments]), address)
    assert answer.status_code == 200, answer.content.decode()[:500]
    return answer.content.decode()
