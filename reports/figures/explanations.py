"""The captions of figures, and sentences that say what their rows show."""

from __future__ import annotations

from typing import Any

from base.text import with_minus
from judging.models import Candidate
from reports.figures.numbers import Rows, Subject
from reports.statistics.collection import ALL

NOTHING = "No round is complete yet."


def settled_of(counts: Any, subject: Subject) -> str:
    number = sum(sum(each["grades"]) for each in counts["by_rank"])
    source = "the study’s" if counts["source"] == "study" else "the pool’s"
    queries = f"{counts['source_queries']:,} queries"
    return f"{number:,} settled candidates of {source} {queries}; above each bar its number of candidates."


def raw_of(counts: Any, subject: Subject) -> str:
    return f"{sum(map(sum, counts['spread'])):,} candidates with two or four raw grades."


def final_of(counts: Any, subject: Subject) -> str:
    return f"{sum(counts['final']):,} settled candidates."


def query_of(counts: Any, subject: Subject) -> str:
    if not subject.query:
        return ""
    return f"“{subject.query}”: its candidates in batches, by similarity. Dashed: graded by the lead alone."


def pairs_of(counts: Any, subject: Subject) -> str:
    return f"{counts['pairs']:,} pairs of round one, each in the week in which its second grade came."


def worker_of(counts: Any, subject: Subject) -> str:
    return f"Worker {subject.member.worker} against co-judges, by week." if subject.member else ""


def sizes(rows: Rows) -> str:
    whole, corpus = _whole(rows, "part"), rows[-1]
    queries, videos = f"{whole['queries']:,} queries", f"{whole['videos']:,} of {corpus['videos']:,} videos"
    return f"{queries} have candidates, from {videos}."


def replaced(rows: Rows) -> str:
    if not rows:
        return "The captions are the descriptions of the corpus: no word was replaced."
    return f"“{rows[0]['word']}” replaces most: {rows[0]['frequency']:,} times."


def statistics(rows: Rows) -> str:
    return "Splits are comparable where their columns are alike."


def consensus(rows: Rows) -> str:
    whole = _whole(rows, "split")
    settled = whole["two"] + whole["four"]
    if not settled:
        return NOTHING
    share = settled / (settled + whole["discarded"])
    return f"{share:.2%} of the candidates that were judged to the end reached consensus."


def by_similarity(rows: Rows) -> str:
    return _high(rows, "a similarity of")


def by_rank(rows: Rows) -> str:
    return _high(rows, "ranks")


def spread(rows: Rows) -> str:
    share = sum(row["share"] for row in rows if row["highest"] - row["lowest"] <= 1)
    return f"On {share:.0%} of the candidates all raw grades lie within 1 of each other." if share else NOTHING


def final(rows: Rows) -> str:
    most = max(rows, key=lambda row: int(row["candidates"]))
    share = f"{most['share']:.0%} of the settled candidates"
    return f"The most frequent final grade is {most['grade']}, with {share}." if most["share"] else NOTHING


def example(rows: Rows) -> str:
    settled = [row for row in rows if row["outcome"] == Candidate.Outcome.SETTLED]
    if not settled:
        return "No candidate of this query is settled yet."
    most = max(row["grade"] for row in settled)
    best = [row["rank"] for row in settled if row["grade"] == most]
    last = f" and last to rank {best[-1]}" if len(best) > 1 else ""
    return f"The highest grade, {most}, goes first to rank {best[0]}{last}."


def weeks(rows: Rows) -> str:
    known = [row for row in rows if row["alpha"] is not None]
    if len(known) < 2:
        return "A second week of judgements will show whether agreement drifts."
    first, last = known[0], known[-1]
    return f"Alpha was {_two(first['alpha'])} in {first['week']} and is {_two(last['alpha'])} in {last['week']}."


def drift(rows: Rows) -> str:
    known = [row for row in rows if row["severity"] is not None]
    if len(known) < 2:
        return "A second week of judgements will show whether this annotator drifts."
    first, last = known[0], known[-1]
    then, now = (
        f"{_two(first['severity'], '+')} grades in {first['week']}",
        f"{_two(last['severity'], '+')} in {last['week']}",
    )
    return f"Against co-judges: {then}, {now}."


def _whole(rows: Rows, key: str) -> dict[str, Any]:
    return next(row for row in rows if row[key] == ALL)


def _high(rows: Rows, words: str) -> str:
    if not rows:
        return NOTHING
    first, last = rows[0]["bin"], rows[-1]["bin"]
    low, high = (sum(row["share"] for row in rows if row["bin"] == bin and row["grade"] > 2) for bin in (first, last))
    return f"At {words} {first}, {low:.0%} of the candidates are graded 3 or 4; at {last}, {high:.0%}."


def _two(value: float, sign: str = "") -> str:
    return with_minus(f"{value:{sign}.2f}")
