"""The list of all tables and figures of a campaign, numbered as in TVR-Ranking's paper, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from base.text import percent, with_minus
from judging.models import Candidate
from reports.campaign_summaries import AGREEMENT, FIGURES, SEVERITY
from reports.figures import numbers
from reports.figures.numbers import FigureSubject, Rows
from reports.statistics.collection import ALL

NOTHING = "No round is complete yet."


@dataclass(frozen=True)
class CampaignFigure:
    """One table or figure."""

    key: str
    title: str
    rows: Callable[[Any, FigureSubject], Rows]  # from the counts of its summary
    caption: str | Callable[[Any, FigureSubject], str]
    tells: Callable[[Rows], str]  # the sentence that says what the rows show
    # Of the drawing, in pixels, so that its place is kept; None for a table.
    size: tuple[int, int] | None = None
    is_wide: bool = False  # whether it takes both columns of the page
    least: int = 1  # rows from which there is something to draw; one week is no course
    summary: str = FIGURES

    @property
    def drawn(self) -> bool:
        return self.size is not None

    def captioned(self, counts: Any, subject: FigureSubject) -> str:
        return self.caption if isinstance(self.caption, str) else self.caption(counts, subject)


def settled_of(counts: Any, subject: FigureSubject) -> str:
    number = sum(sum(each["grades"]) for each in counts["by_rank"])
    source = "the study’s" if counts["source"] == "study" else "the pool’s"
    queries = f"{counts['source_queries']:,} queries"
    return f"{number:,} settled candidates of {source} {queries}; above each bar its number of candidates."


def sizes_of(counts: Any, subject: FigureSubject) -> str:
    known = any(part.get("verbs") is not None for part in counts["splits"].values())
    verbs = "Verbs: their distinct forms." if known else "Verbs are counted where the package HanTa is installed."
    words = "Vocabulary: distinct words of the queries."
    return f"Moments and videos of candidates in batches, each once. {words} {verbs}"


def points_of(counts: Any, subject: FigureSubject) -> str:
    source = "the study" if counts["source"] == "study" else "the pool"
    return f"Each point is a settled candidate of {source}; colour and shape tell up to ten queries apart."


def raw_of(counts: Any, subject: FigureSubject) -> str:
    return f"{sum(map(sum, counts['spread'])):,} candidates with two or four raw grades."


def final_of(counts: Any, subject: FigureSubject) -> str:
    return f"{sum(counts['final']):,} settled candidates."


def query_of(counts: Any, subject: FigureSubject) -> str:
    if not subject.query:
        return ""
    return f"“{subject.query}”: its candidates in batches, by similarity. Dashed: graded by the lead alone."


def pairs_of(counts: Any, subject: FigureSubject) -> str:
    pairs = f"{counts['pairs']:,} pairs of round one, each in the week in which its second grade came."
    return f"{pairs} The band is the 95 % interval, drawn by batches; a week with fewer than ten has none."


def worker_of(counts: Any, subject: FigureSubject) -> str:
    return f"Worker {subject.member.worker} against co-judges, by week." if subject.member else ""


def tell_sizes(rows: Rows) -> str:
    whole, corpus = _whole(rows, "part"), rows[-1]
    queries, videos = f"{whole['queries']:,} queries", f"{whole['videos']:,} of {corpus['videos']:,} videos"
    return f"{queries} have candidates, from {videos}."


def tell_replaced(rows: Rows) -> str:
    if not rows:
        return "The captions are the descriptions of the corpus: no word was replaced."
    return f"“{rows[0]['word']}” replaces most: {rows[0]['frequency']:,} times."


def tell_consensus(rows: Rows) -> str:
    whole = _whole(rows, "split")
    settled = whole["two"] + whole["four"]
    if not settled:
        return NOTHING
    share = settled / (settled + whole["discarded"])
    return f"{percent(share, 2)} of the candidates that were judged to the end reached consensus."


def tell_points(rows: Rows) -> str:
    if not rows:
        return NOTHING
    most = max(row["grade"] for row in rows)
    lowest = min(row["similarity"] for row in rows if row["grade"] == most)
    return f"Among these points, a grade of {most} goes down to a similarity of {lowest:.2f}."


def tell_spread(rows: Rows) -> str:
    share = sum(row["share"] for row in rows if row["highest"] - row["lowest"] <= 1)
    return f"On {percent(share)} of the candidates all raw grades lie within 1 of each other." if share else NOTHING


def tell_final(rows: Rows) -> str:
    most = max(rows, key=lambda row: int(row["candidates"]))
    share = f"{percent(most['share'])} of the settled candidates"
    return f"The most frequent final grade is {most['grade']}, with {share}." if most["share"] else NOTHING


def tell_example(rows: Rows) -> str:
    settled = [row for row in rows if row["outcome"] == Candidate.Outcome.SETTLED]
    if not settled:
        return "No candidate of this query is settled yet."
    most = max(row["grade"] for row in settled)
    best = [row["rank"] for row in settled if row["grade"] == most]
    last = f" and last to rank {best[-1]}" if len(best) > 1 else ""
    return f"The highest grade, {most}, goes first to rank {best[0]}{last}."


def tell_weeks(rows: Rows) -> str:
    known = [row for row in rows if row["alpha"] is not None]
    if len(known) < 2:
        return "A second week of judgements will show whether agreement drifts."
    first, last = known[0], known[-1]
    return f"Alpha was {_two(first['alpha'])} in {first['week']} and is {_two(last['alpha'])} in {last['week']}."


def tell_drift(rows: Rows) -> str:
    known = [row for row in rows if row["severity"] is not None]
    if len(known) < 2:
        return "A second week of judgements will show whether this annotator drifts."
    first, last = known[0], known[-1]
    then = f"{_two(first['severity'], '+')} grades in {first['week']}"
    return f"Against co-judges: {then}, {_two(last['severity'], '+')} in {last['week']}."


def _whole(rows: Rows, key: str) -> dict[str, Any]:
    return next(row for row in rows if row[key] == ALL)


def _tell_high(words: str, rows: Rows) -> str:
    if not rows:
        return NOTHING
    first, last = rows[0]["bin"], rows[-1]["bin"]
    low, high = (sum(row["share"] for row in rows if row["bin"] == bin and row["grade"] > 2) for bin in (first, last))
    return f"At {words} {first}, {percent(low)} of the candidates are graded 3 or 4; at {last}, {percent(high)}."


def _two(value: float, sign: str = "") -> str:
    return with_minus(f"{value:{sign}.2f}")


PANEL = (518, 320)  # of the figures that stand side by side
TABLES = [
    CampaignFigure("table-1", "Table 1: size of the collection", numbers.sizes, sizes_of, tell_sizes, is_wide=True),
    CampaignFigure(
        "table-3",
        "Table 3: words that replaced others in captions",
        numbers.replaced,
        "Words of captions that their descriptions have not. M, F, N: male, female, neutral.",
        tell_replaced,
    ),
    CampaignFigure(
        "table-4",
        "Table 4: statistics",
        numbers.statistics,
        "Over queries with candidates in batches, their moments, and the videos of these.",
        lambda rows: "Splits are comparable where their columns are alike.",
    ),
    CampaignFigure(
        "consensus",
        "Consensus",
        numbers.consensus,
        "Candidates settled by two annotators, by four, discarded, reused, left to the lead, or still being judged.",
        tell_consensus,
        is_wide=True,
    ),
]
DRAWN = [
    CampaignFigure(
        "figure-4a",
        "Figure 4a: grade against similarity",
        numbers.by_similarity,
        settled_of,
        partial(_tell_high, "a similarity of"),
        PANEL,
    ),
    CampaignFigure("figure-4-points", "Figure 4a, point by point", numbers.points, points_of, tell_points, PANEL),
    CampaignFigure(
        "figure-4b", "Figure 4b: grade against rank", numbers.by_rank, settled_of, partial(_tell_high, "ranks"), PANEL
    ),
    CampaignFigure("figure-5a", "Figure 5a: lowest and highest raw grade", numbers.spread, raw_of, tell_spread, PANEL),
    CampaignFigure("figure-5b", "Figure 5b: final grades", numbers.final, final_of, tell_final, PANEL),
    CampaignFigure("figure-6", "Figure 6: one query", numbers.example, query_of, tell_example, PANEL),
]
WEEKS = CampaignFigure(
    "weeks", "Agreement by week", numbers.weeks, pairs_of, tell_weeks, PANEL, least=2, summary=AGREEMENT
)
DRIFT = CampaignFigure(
    "drift", "Drift by week", numbers.drift, worker_of, tell_drift, (790, 362), least=2, summary=AGREEMENT
)
# Tables that pages show in a way of their own, and others as a file.
OF_ANNOTATORS = [
    CampaignFigure(key, title, rows, "", lambda rows: "", summary=summary)
    for key, title, rows, summary in (
        ("annotators", "Annotators against the others", numbers.annotators, AGREEMENT),
        ("matrix", "Each two annotators", numbers.matrix, AGREEMENT),
        ("severity", "Severity and spread", numbers.severities, SEVERITY),
        ("opposed", "Pairs on which careful annotators oppose the consensus", numbers.opposed, SEVERITY),
        ("disputed", "Queries whose disagreement is everybody’s", numbers.disputed, SEVERITY),
    )
]
BY_KEY = {figure.key: figure for figure in (*TABLES, *DRAWN, WEEKS, DRIFT, *OF_ANNOTATORS)}
