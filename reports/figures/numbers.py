"""The rows of each table and figure, which are also the lines of its CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from base.text import csv_lines, harmless
from campaigns.models import Campaign, Membership
from judging.consensus import GRADES
from judging.models import Candidate, Query

Rows = list[dict[str, Any]]
GENDERS = {
    "M": "man men he him his himself boy boys guy guys male gentleman father brother son husband",
    "F": "woman women she her hers herself girl girls lady ladies female mother sister daughter wife",
}
GENDER = {word: gender for gender, words in GENDERS.items() for word in words.split()}
DRIFTS = {"kappa": "kappa", "severity": "severity", "contested": "share contested", "seconds": "median seconds"}


@dataclass(frozen=True)
class FigureSubject:
    """What a figure is about: a campaign, one of its queries, or one of its annotators."""

    campaign: Campaign
    query: Query | None = None
    member: Membership | None = None


def sizes(counts: Any, subject: FigureSubject) -> Rows:
    names = ("queries", "moments", "videos", "vocabulary", "verbs", "moment_hours", "video_hours")
    parts = counts["splits"] | {"corpus": counts["corpus"]}
    return [{"part": part} | {name: size.get(name) for name in names} for part, size in parts.items()]


def replaced(counts: Any, subject: FigureSubject) -> Rows:
    return [{"word": word, "frequency": number, "gender": GENDER.get(word, "N")} for word, number in counts["replaced"]]


def statistics(counts: Any, subject: FigureSubject) -> Rows:
    """Return Table 4, with a row for each statistic and a column for each split."""
    lines = []
    for name, words in {
        "query_length": "query length (words)",
        "moment_length": "moment duration (s)",
        "video_length": "video duration (s)",
    }.items():
        lines += [(f"{kind} {words}", name, place) for place, kind in enumerate(("min.", "avg.", "max."))]
    splits = counts["splits"].items()
    rows: Rows = [
        {"statistic": words} | {split: (numbers[name] or [None] * 3)[place] for split, numbers in splits}
        for words, name, place in lines
    ]
    rows.append({"statistic": "avg. moment–video ratio"} | {split: each["ratio"] for split, each in splits})
    relevant = {split: each["relevant"] for split, each in splits}
    return [*rows, {"statistic": "avg. relevant moments a query (1-4)"} | relevant]


def consensus(counts: Any, subject: FigureSubject) -> Rows:
    return [{"split": split} | numbers["consensus"] for split, numbers in counts["splits"].items()]


def by_similarity(counts: Any, subject: FigureSubject) -> Rows:
    return [
        row
        for each in counts["by_similarity"]
        for row in _shares(f"{each['from']:.2f}–{each['to']:.2f}", each["grades"])
    ]


def points(counts: Any, subject: FigureSubject) -> Rows:
    """Return the settled candidates of a few queries, one by one. An older summary has none."""
    found = counts.get("points", [])
    texts = dict(Query.objects.filter(pk__in={row[0] for row in found}).values_list("pk", "text"))
    number = {key: place for place, key in enumerate(dict.fromkeys(row[0] for row in found))}
    return [
        {"number": number[key], "query": texts[key], "rank": rank, "similarity": similarity, "grade": grade}
        for key, rank, similarity, grade in found
        if key in texts
    ]


def by_rank(counts: Any, subject: FigureSubject) -> Rows:
    return [row for each in counts["by_rank"] for row in _shares(f"{each['from']}–{each['to'] or '…'}", each["grades"])]


def _shares(bin: str, grades: list[int]) -> Rows:
    total = sum(grades)
    return [
        {"bin": bin, "grade": grade, "candidates": number, "share": number / total, "of": total}
        for grade, number in enumerate(grades)
    ]


def spread(counts: Any, subject: FigureSubject) -> Rows:
    total = sum(map(sum, counts["spread"])) or 1
    return [
        {"lowest": low, "highest": high, "candidates": (number := counts["spread"][low][high])}
        | {"share": number / total}
        for low in GRADES
        for high in GRADES[low:]
    ]


def final(counts: Any, subject: FigureSubject) -> Rows:
    total = sum(counts["final"]) or 1
    return [
        {"grade": grade, "candidates": number, "share": number / total} for grade, number in enumerate(counts["final"])
    ]


def example(counts: Any, subject: FigureSubject) -> Rows:
    """Return the candidates of one query that are in batches, with their outcomes."""
    candidates = Candidate.objects.in_pool(subject.campaign).ranked().filter(query=subject.query).order_by("rank")
    return [
        {
            "rank": candidate.rank,
            "similarity": round(candidate.similarity or 0.0, 4),
            "grade": candidate.grade,
            "outcome": candidate.outcome,
            "moment": str(candidate.moment),
            "caption": candidate.moment.caption,
        }
        for candidate in candidates.select_related("moment__video")
    ]


def weeks(counts: Any, subject: FigureSubject) -> Rows:
    names = ("judged", "pairs", "alpha", "alpha_low", "alpha_high", "contested")
    return [
        {"week": week_name(each["week"])} | {name: each[name] for name in names}
        for each in counts["weeks"]
        if each["week"]
    ]


def drift(counts: Any, subject: FigureSubject) -> Rows:
    mine = annotator_of(counts, subject.member)
    return [
        {"week": week_name(each["week"]), "pairs": each["pairs"]} | {name: each[name] for name in DRIFTS}
        for each in (mine["weeks"] if mine else [])
        if each["week"]
    ]


def annotators(counts: Any, subject: FigureSubject) -> Rows:
    """Return the numbers of each annotator against the others."""
    return [
        {"worker": worker}
        | {name: value for name, value in row.items() if name != "member" and not isinstance(value, list | dict)}
        for worker, row in _by_worker(counts["annotators"], subject.campaign)
    ]


def matrix(counts: Any, subject: FigureSubject) -> Rows:
    """Return a row for every two annotators with common pairs."""
    workers = _workers(subject.campaign)
    return [
        {"worker": workers[one], "other": workers[other], "pairs": pairs, "kappa": kappa}
        for one, other, pairs, kappa in counts["matrix"]
        if one in workers and other in workers
    ]


def severities(counts: Any, subject: FigureSubject) -> Rows:
    return [
        {"worker": worker} | {name: value for name, value in row.items() if name != "member"}
        for worker, row in _by_worker(counts["annotators"], subject.campaign)
    ]


def opposed(counts: Any, subject: FigureSubject) -> Rows:
    """Return the pairs whose consensus careful annotators oppose."""
    found = Candidate.objects.select_related("query").in_bulk([row["candidate"] for row in counts["opposed"]])
    workers = _workers(subject.campaign)
    return [
        {"query_id": of.query.query_id, "text": of.query.text, "query": of.query_id, "candidate": of.pk}
        | {"batch": of.batch_id, "rank": of.rank}
        | {name: row[name] for name in ("consensus", "latent", "error", "difficulty")}
        | {"by": " ".join(str(workers[member]) for member in row["by"] if member in workers)}
        for row in counts["opposed"]
        if (of := found.get(row["candidate"]))
    ]


def disputed(counts: Any, subject: FigureSubject) -> Rows:
    """Return the queries whose disagreement is everybody's."""
    found = Query.objects.in_bulk([row["query"] for row in counts["queries"]])
    return [
        {"query_id": of.query_id, "text": of.text, **row}
        for row in counts["queries"]
        if (of := found.get(row["query"]))
    ]


def _workers(campaign: Campaign) -> dict[int, int]:
    return dict(campaign.memberships.values_list("pk", "worker"))


def _by_worker(rows: Rows, campaign: Campaign) -> list[tuple[int, dict[str, Any]]]:
    workers = _workers(campaign)
    known = ((workers[row["member"]], row) for row in rows if row["member"] in workers)
    return sorted(known, key=lambda pair: pair[0])


def annotator_of(counts: Any, member: Membership | None) -> Any:
    """Return an annotator's numbers, or None if none of their judgements counts yet."""
    return next((each for each in counts["annotators"] if member and each["member"] == member.pk), None)


def week_name(week: int) -> str:
    """Return a week as ISO 8601 writes it.

    >>> week_name(202605)
    '2026-W05'
    """
    return f"{week // 100}-W{week % 100:02}"


def rows_as_csv(rows: Rows) -> Iterator[str]:
    """The lines of the file: a header with the name of every column, then one line a row.

    Columns stand in the order in which the rows first name them; a cell is empty where a row lacks the
    column or does not know its value. No cell is run as a formula by a spreadsheet.

    >>> "".join(rows_as_csv([{"week": "2026-W05", "alpha": None}, {"week": "2026-W06", "pairs": 3}]))
    'week,alpha,pairs\\n2026-W05,,\\n2026-W06,,3\\n'
    """
    header = list(dict.fromkeys(name for row in rows for name in row))
    return csv_lines(header, ([harmless(row.get(name)) for name in header] for row in rows))
