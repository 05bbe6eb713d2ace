"""The paper's tables and figures: drawn, as files, and as numbers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from campaigns.models import Membership
from corpus import counting
from corpus.models import Moment
from judging.models import Batch, Candidate, Query
from metrics import figures as theme
from metrics.figures import inline
from reports.figures.catalogue import BY_KEY, OF_ANNOTATORS, OF_WORK, OVERVIEW, TABLES, WHOLE_POSTER
from reports.figures.catalogue import DRAWN as DRAWN_IN_PAPER
from reports.figures.drawing import FIGURES, ON_MIDDLE, SHADES, finished, specification
from tests.cast import browser, settle_round_one, text_between_tags

ROOT = Path(__file__).parents[2]
DRAWN = [key for key, figure in BY_KEY.items() if figure.drawn]
TABLES_ELSEWHERE = [figure.key for figure in (*OF_ANNOTATORS, *OVERVIEW)]


@pytest.fixture
def lead(batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> Client:
    """Of a batch in which ranks 1-10 got 4, ranks 11-20 got 1, but ranks 1-2 are contested."""
    settle_round_one(batch, ada, bob, apart=2)
    return browser(leo)


def get(client: Client, file: str, **params: str | int) -> bytes:
    answer = client.get(reverse("figure", args=["films", file]), params)
    assert answer.status_code == 200
    return bytes(answer.content)


def numbers(client: Client, key: str, **params: str | int) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(get(client, f"{key}.csv", **params).decode())))


@pytest.mark.parametrize("key", DRAWN)
def test_each_figure_is_drawn_for_page_and_print(lead: Client, key: str) -> None:
    params = {"worker": 1} if key == "drift" else {}
    specification = json.loads(get(lead, f"{key}.json", **params))
    assert specification["config"]["background"] == "#ffffff"  # the project's theme
    assert get(lead, f"{key}.svg", **params).startswith(b"<svg")
    assert get(lead, f"{key}.pdf", **params).startswith(b"%PDF")


@pytest.mark.parametrize("key", [key for key in BY_KEY if key not in ("table-3", "drift", "poster", *TABLES_ELSEWHERE)])
def test_each_figure_says_what_it_tells_and_gives_its_numbers(lead: Client, key: str) -> None:
    page = lead.get(
        reverse("agreement" if key in ("weeks", "severity") else "releases", args=["films"])
    ).content.decode()
    assert f'id="{key}"' in page
    assert f"{key}.csv" in page
    assert not re.search(r"\d%", text_between_tags(page))  # a share is written as everywhere
    assert numbers(lead, key)


@pytest.mark.parametrize("key", DRAWN)
def test_the_rows_of_a_figure_are_at_one_place(key: str) -> None:
    rows = [{"bin": "1–5", "grade": 1, "share": 0.5}]
    assert specification(key, rows) == finished(FIGURES[key](inline(rows)))


def test_final_grades_by_hand(lead: Client) -> None:
    assert [row["candidates"] for row in numbers(lead, "figure-5b")] == ["0", "10", "0", "0", "8"]
    spread = {(row["lowest"], row["highest"]): row["candidates"] for row in numbers(lead, "figure-5a")}
    assert {cell: n for cell, n in spread.items() if n != "0"} == {("1", "1"): "10", ("1", "4"): "2", ("4", "4"): "8"}


def test_shares_by_rank_by_hand(lead: Client) -> None:
    rows = {(row["bin"], row["grade"]): row for row in numbers(lead, "figure-4b")}
    assert (rows["1–5", "4"]["candidates"], rows["1–5", "4"]["share"]) == ("3", "1.0")  # two are contested
    assert rows["16–20", "1"]["share"] == "1.0"


def test_one_query_with_all_its_candidates(lead: Client) -> None:
    rows = numbers(lead, "figure-6", query="1")
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(1, 21)]
    assert [row["outcome"] for row in rows[:3]] == ["contested", "contested", "settled"]
    assert lead.get(reverse("releases", args=["films"]), {"query": "nowhere"}).status_code == 400
    assert lead.get(reverse("releases", args=["films"]), {"query": "\0"}).status_code == 400


def test_what_looks_like_a_formula_is_text(lead: Client, batch: Batch) -> None:
    Moment.objects.filter(candidates__in=Candidate.objects.filter(rank=1)).update(caption="=1+1")
    assert numbers(lead, "figure-6")[0]["caption"] == "'=1+1"


@pytest.mark.parametrize("file", ["table-1.svg", "figure-9.svg", "figure-4a.exe", "figure-4a", ".csv"])
def test_what_is_not_there_is_not_found(lead: Client, file: str) -> None:
    assert lead.get(reverse("figure", args=["films", file])).status_code == 404


def test_words_in_place_of_others(lead: Client) -> None:
    assert numbers(lead, "table-3") == [{"word": "caption", "frequency": "60", "gender": "N"}]


def test_each_settled_candidate_of_a_few_queries_is_a_point(lead: Client) -> None:
    rows = numbers(lead, "figure-4-points")
    assert {row["grade"] for row in rows} == {"1", "4"}
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(3, 21)]
    assert {row["query"] for row in rows} == {Query.objects.get().text}


def test_verbs_are_counted_where_there_is_a_tagger(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tagger gets whole sentences, and says of each word what it is."""

    class Tagger:
        def tag_sent(self, tokens: list[str]) -> list[tuple[str, str, str]]:
            return [(token, token, "VVZ" if token.endswith("s") else "NN1") for token in tokens]

    monkeypatch.setattr(counting, "tagger", lambda: None)
    assert [row["verbs"] for row in numbers(lead, "table-1")] == ["", ""]
    monkeypatch.setattr(counting, "tagger", Tagger)
    texts = ["A person stands up and walks towards the board.", "A man stands."]
    assert counting.count_verbs(texts) == len({"stands", "walks", "towards"})


def test_the_theme_is_made_of_the_pages_light_colours() -> None:
    """In pages, the script puts the present value of each token in its place."""
    light = re.findall(r":root {([^}]*)}", (ROOT / "static/base.css").read_text())[0]
    light += re.findall(r":root {([^}]*)}", (ROOT / "static/lead/lead.css").read_text())[0]
    tokens = re.findall(r'"(#\w{6})": "(--[\w-]+)"', (ROOT / "static/lead/figures.js").read_text())
    assert {colour for colour, _ in tokens} == {theme.INK, theme.PAPER, theme.FAINT, *theme.COLOURS, *SHADES, ON_MIDDLE}
    assert [token for colour, token in tokens if f"{token}: {colour};" not in light] == []


def test_figures_before_anything_is_judged(batch: Batch, leo: Membership, member: Callable[..., Membership]) -> None:
    lead = browser(leo)
    page = lead.get(reverse("releases", args=["films"])).content.decode()
    assert "No round is complete yet." in page
    assert page.count('class="drawing"') == 2  # the poster, and Figure 6, which has similarities already
    for key in ("figure-4a", "figure-5a", "figure-5b", "figure-6"):
        assert get(lead, f"{key}.svg").startswith(b"<svg")
    assert "Start the study" in page
    researcher = browser(member("rio", "researcher"))
    assert "Start the study" not in researcher.get(reverse("releases", args=["films"])).content.decode()


def test_a_figure_opens_large_with_its_files_and_numbers(lead: Client) -> None:
    page = lead.get(reverse("releases", args=["films"]), {"figure": "figure-5b"}).content.decode()
    drawer = page.partition('<aside class="drawer large"')[2]
    assert [part in drawer for part in ('id="large-figure-5b"', "figure-5b.pdf", "The numbers as a table")] == [
        True
    ] * 3
    assert "drawer large" not in lead.get(reverse("releases", args=["films"]), {"figure": "nothing"}).content.decode()


def test_the_poster_has_the_rows_of_its_figures(lead: Client) -> None:
    rows = numbers(lead, "poster")
    final = [row["candidates"] for row in rows if row["figure"] == "figure-5b"]
    assert final == ["0", "10", "0", "0", "8"]
    assert {row["figure"] for row in rows} == {"burn-up", "figure-5b", "figure-4a", "weeks", "flow"}


def test_a_release_has_the_papers_figures_only(lead: Client) -> None:
    """What is added for pages changes no byte of a release."""
    assert not {figure.key for figure in (*OF_WORK, WHOLE_POSTER)} & {
        figure.key for figure in (*DRAWN_IN_PAPER, *TABLES)
    }
    assert [figure.key for figure in DRAWN_IN_PAPER] == [
        f"figure-{name}" for name in ("4a", "4-points", "4b", "5a", "5b", "6")
    ]


def test_an_annotators_learning_curve_is_on_their_page(lead: Client, ada: Membership) -> None:
    page = lead.get(reverse("annotator", args=["films", ada.worker]), {"view": "agreement"}).content.decode()
    assert f"learning.csv?worker={ada.worker}" in page
    assert numbers(lead, "learning", worker=ada.worker)[0]["own"] == "0.0"


def test_the_script_needs_no_code_made_of_text() -> None:
    """Vega's interpreter is in the bundle: the page's policy forbids to evaluate text."""
    file = finders.find("vega.js")
    assert file
    with open(str(file), encoding="utf-8") as script:
        assert "expressionInterpreter" in script.read()
