"""The list of all tables and figures of a campaign, numbered as in TVR-Ranking's paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reports.figures import explanations, numbers
from reports.figures.numbers import Rows, Subject
from reports.summaries import AGREEMENT, FIGURES


@dataclass(frozen=True)
class Figure:
    """One table or figure."""

    key: str
    title: str
    summary: str  # the name of the summary with its counts
    rows: Callable[[Any, Subject], Rows]  # from these counts
    caption: str | Callable[[Any, Subject], str]
    tells: Callable[[Rows], str]  # the sentence that says what the rows show
    # Of the drawing, in pixels, so that its place is kept; None for a table.
    size: tuple[int, int] | None = None
    least: int = 1  # rows from which there is something to draw; one week is no course

    @property
    def drawn(self) -> bool:
        return self.size is not None

    def captioned(self, counts: Any, subject: Subject) -> str:
        return self.caption if isinstance(self.caption, str) else self.caption(counts, subject)


def _table(key: str, title: str, rows: Any, caption: str, tells: Callable[[Rows], str]) -> Figure:
    return Figure(key, title, FIGURES, rows, caption, tells)


WIDE = (833, 379)
TABLES = [
    _table(
        "table-1",
        "Table 1: size of the collection",
        numbers.sizes,
        "Moments and videos of candidates in batches, each once. Vocabulary: distinct words of the queries.",
        explanations.sizes,
    ),
    _table(
        "table-3",
        "Table 3: words that replaced others in captions",
        numbers.replaced,
        "Words of captions that their descriptions have not. M, F, N: male, female, neutral.",
        explanations.replaced,
    ),
    _table(
        "table-4",
        "Table 4: statistics",
        numbers.statistics,
        "Over queries with candidates in batches, their moments, and the videos of these.",
        explanations.statistics,
    ),
    _table(
        "consensus",
        "Consensus",
        numbers.consensus,
        "Candidates settled by two annotators, by four, discarded, left to the lead, or still being judged.",
        explanations.consensus,
    ),
]
DRAWN = [
    Figure(
        "figure-4a",
        "Figure 4a: grade against similarity",
        FIGURES,
        numbers.by_similarity,
        explanations.settled_of,
        explanations.by_similarity,
        WIDE,
    ),
    Figure(
        "figure-4b",
        "Figure 4b: grade against rank",
        FIGURES,
        numbers.by_rank,
        explanations.settled_of,
        explanations.by_rank,
        WIDE,
    ),
    Figure(
        "figure-5a",
        "Figure 5a: lowest and highest raw grade",
        FIGURES,
        numbers.spread,
        explanations.raw_of,
        explanations.spread,
        (404, 348),
    ),
    Figure(
        "figure-5b",
        "Figure 5b: final grades",
        FIGURES,
        numbers.final,
        explanations.final_of,
        explanations.final,
        (412, 342),
    ),
    Figure(
        "figure-6",
        "Figure 6: one query",
        FIGURES,
        numbers.example,
        explanations.query_of,
        explanations.example,
        (824, 357),
    ),
]
WEEKS = Figure(
    "weeks",
    "Agreement by week",
    AGREEMENT,
    numbers.weeks,
    explanations.pairs_of,
    explanations.weeks,
    (816, 362),
    least=2,
)
DRIFT = Figure(
    "drift", "Drift by week", AGREEMENT, numbers.drift, explanations.worker_of, explanations.drift, (790, 362), least=2
)
BY_KEY = {figure.key: figure for figure in (*TABLES, *DRAWN, WEEKS, DRIFT)}
