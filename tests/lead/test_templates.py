"""Templates: short lines, each part of a page written in one way, and stylesheets without rules that nobody uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template.loader import get_template

ROOT = Path(__file__).parent.parent.parent
TEMPLATES = ROOT / "templates"
LONGEST = 160  # characters of a line
PARTS = TEMPLATES / "parts"
BY_HAND = {
    "a table of rows": (
        r'<table class="rows',
        {"parts/table.html", "parts/list.html", "lead/_plot_table.html"}
        # Their headings have an axis, a link or a source.
        | {"runs/_board.html", "runs/_score_card.html", "runs/_all_measures.html", "lead/meeting.html"},
    ),
    "a row of a form": (r'class="field', {"parts/form_row.html", "lead/settings.html"}),
    "an empty state": (r'class="empty', {"parts/empty.html"}),
    "paging": (r'class="pages', {"parts/paging.html"}),
    "a state as a bare string": (r'\.(state|role|outcome|result|verdict) [!=]= "', set()),
}
STYLES = ["base.css", "accounts/accounts.css", "annotate/annotate.css", "lead/lead.css", "runs/runs.css"]
MADE_ELSEWHERE = {"visible", "key", "vg-tooltip-element", "signed-out"}  # by Vega, and from a state of the outbox


def templates() -> dict[str, str]:
    return {
        file.relative_to(TEMPLATES).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(TEMPLATES.rglob("*.html"))
    }


def test_every_template_compiles() -> None:
    for name in templates():
        get_template(name)


def test_lines_are_short() -> None:
    long = [
        f"{name}:{number}"
        for name, text in templates().items()
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > LONGEST
    ]
    assert long == []


@pytest.mark.parametrize("part", BY_HAND)
def test_each_part_is_written_in_one_place(part: str) -> None:
    pattern, allowed = BY_HAND[part]
    assert {name for name, text in templates().items() if re.search(pattern, text)} <= allowed


@pytest.mark.parametrize("style", STYLES)
def test_every_rule_of_a_stylesheet_is_used(style: str) -> None:
    css = re.sub(r"/\*.*?\*/", "", (ROOT / "static" / style).read_text(encoding="utf-8"), flags=re.S)
    selectors = re.findall(r"([^{}]+)\{", css)
    wanted = {name for each in selectors for name in re.findall(r"[.#]([a-z][\w-]*)", each)}
    sources = [*templates().values(), *(file.read_text("utf-8") for file in ROOT.glob("static/**/*.js"))]
    python = [
        file.read_text("utf-8") for app in ("lead", "base", "judging", "runs") for file in (ROOT / app).rglob("*.py")
    ]
    words = set(re.findall(r"[a-z][\w-]*", "\n".join(sources + python)))
    shades = {f"{kind}{number}" for kind in "gq" for number in range(5)}
    assert wanted - words - shades - MADE_ELSEWHERE == set()
