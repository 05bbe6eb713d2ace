"""Worked examples for the demo's tutorial (``queries.toml``): a query beside a moment, with a grade and why."""

from __future__ import annotations

import tomllib
from typing import NamedTuple

from .grades import QUERIES_FILE


class Example(NamedTuple):
    query: str
    description: str  # names the moment
    grade: int
    why: str


EXAMPLES = tuple(Example(**each) for each in tomllib.loads(QUERIES_FILE.read_text(encoding="utf-8"))["examples"])
