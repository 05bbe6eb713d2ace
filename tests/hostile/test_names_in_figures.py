"""Names of runs that are markup, LaTeX or formulas, in every file and page that shows them."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.models import Membership
from jobs.running import work_off
from releases.models import Release
from runs.models import Run
from tests.cast import browser
from tests.runs.conftest import best, judged, release, rio
from tests.runs.uploading import uploaded

# The release is written by a thread with a connection of its own, which sees what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]
FIXTURES = (judged, release, rio)
NAMES = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    r"\input{/etc/passwd}$\write18{id}$",
    '=HYPERLINK("http://evil.example.org")',
    "datum.x+alert(1);{signal:'width'}",
    "a.b[0]\\.c'd",
]


def test_a_name_is_a_name_wherever_it_is_shown(release: Release, rio: Membership) -> None:
    runs = [uploaded(rio, best(release.campaign, skip=n), name=name) for n, name in enumerate(NAMES)]
    client = browser(rio)
    client.post(reverse("measures-ask", args=["films"]), {"convention": "paper"})
    assert work_off() == []
    pages_hold_no_markup(client, runs)
    drawings_have_names_as_values_and_titles_only(client, runs)
    files_hold_no_commands(client)


def pages_hold_no_markup(client: Client, runs: list[Run]) -> None:
    pages = [reverse(name, args=["films"]) for name in ("leaderboard", "measures", "unjudged")]
    pages += [f"{pages[0]}?view=runs", reverse("compare", args=["films"]) + "?run=1&run=2"]
    pages.append(reverse("explain", args=["films"]) + "?run=1&run=2&query=q1")
    pages += [reverse("run", args=["films", run.number]) for run in runs]
    drawings = [reverse("measures-file", args=["films", "svg"])]
    drawings += [
        reverse("run-figure", args=["films", 1, "scatter", "svg"]) + f"?against={run.number}" for run in runs[1:]
    ]
    for address in (*pages, *drawings):
        answer = client.get(address)
        content = answer.content.decode()
        assert answer.status_code == 200, address
        assert "<script>alert" not in content, address
        assert "<img src=x" not in content, address


def drawings_have_names_as_values_and_titles_only(client: Client, runs: list[Run]) -> None:
    found = set[str]()
    for run in runs[1:]:
        answer = client.get(reverse("run-figure", args=["films", 1, "scatter", "json"]), {"against": run.number})
        find_fields("", json.loads(answer.content), found)
    assert found == {"title"}


def find_fields(field: str, value: object, found: set[str]) -> None:
    """Add the fields of a specification that hold a run's name."""
    if isinstance(value, dict):
        for name, inner in value.items():
            find_fields(name, inner, found)
    elif isinstance(value, list):
        for inner in value:
            find_fields(field, inner, found)
    elif isinstance(value, str) and any(name in value for name in NAMES):
        found.add(field)


def files_hold_no_commands(client: Client) -> None:
    latex, table = (
        client.get(reverse("leaderboard-file", args=["films", kind])).content.decode() for kind in ("tex", "csv")
    )
    assert "\\input{" not in latex
    assert "\\write18" not in latex
    rows = list(csv.reader(StringIO(table)))
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)
