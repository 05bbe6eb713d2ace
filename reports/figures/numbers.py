"""The rows of each table and figure, which are also the lines of its CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils.timezone import localdate

from base.dates import start_of_day
from base.text import csv_lines, harmless
from campaigns.models import Campaign, Membership
from judging.consensus import GRADES
from judging.models import Candidate, Kind, Query
from judging.review.frontier import Frontier, frontier
from reports.steering import holding

Rows = list[dict[str, Any]]
GENDERS = {
    "M": "man men he him his himself boy boys guy guys male gentleman father brother son husband",
    "F": "woman women she her hers herself girl girls lady ladies female mother sister daughter wife",
}
GENDER = {word: gender for gender, words in GENDERS.items() for word in words.split()}
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DRIFTS = ("difference", "difference_low", "difference_high", "kappa", "contested", "seconds")


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
        {"worker": workers[one], "other": workers[other], "pairs": pairs}
        | {"kappa": kappa, "kappa_low": low, "kappa_high": high}
        for one, other, pairs, kappa, low, high in counts["matrix"]
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


def burn_up_rows(counts: Any, subject: FigureSubject) -> Rows:
    """Return the queries by day until now, the ends of the forecast, and what happened to all of them at once."""
    days = [dict(zip(("day", "begun", "finished", "ready"), row, strict=True)) for row in counts.get("burn_up", [])]
    if not days:
        return []
    campaign, found, today = subject.campaign, frontier(subject.campaign), localdate()
    now = {"day": today.isoformat(), "finished": found.sample + found.beyond, "ready": found.sample}
    now["begun"] = max(days[-1]["begun"], now["finished"])
    span = max(timedelta(days=5), today - date.fromisoformat(days[0]["day"]))
    rows = [row for row in days if row["day"] < now["day"]]
    rows += [now | {"all": found.queries}, {"day": (today + span / 3).isoformat(), "room": True}]
    return [*rows, *_fan(counts, now, found, today + span), *_marks(campaign), *_label(campaign, found)]


def _fan(counts: Any, now: dict[str, Any], found: Frontier, until: date) -> Rows:
    """Return the corners of the forecast: of each interval the day, and the finished queries at its two edges.

    It is cut at a day, so that a forecast of years leaves room for what is known.
    """
    done, whole = now["finished"], found.queries
    ends = {"95 %": [counts.get("earliest"), counts.get("latest")], "50 %": counts.get("half") or [None, None]}
    rows: Rows = []
    for share, given in ends.items():
        if None in given or done >= whole:
            continue
        first, last = (max(localdate() + timedelta(days=1), date.fromisoformat(day)) for day in given)
        for day in sorted({localdate(), min(first, until), min(last, until)}):
            parts = [min(1.0, (day - localdate()) / (end - localdate())) for end in (last, first)]
            low, high = (round(done + (whole - done) * part, 1) for part in parts)
            rows.append({"day": day.isoformat(), "share": share, "low": low, "high": high})
    return rows


def _marks(campaign: Campaign) -> Rows:
    releases = [(day, f"release {version}") for version, day in campaign.releases.values_list("version", "date") if day]
    versions = campaign.guidelines.values_list("version", "at")
    again = campaign.reopenings.values_list("what", "at")
    found = [*releases, *((localdate(at), f"guideline {version}") for version, at in versions)]
    found += [(localdate(at), f"reopened: {what}") for what, at in again]
    return [{"day": day.isoformat(), "mark": words} for day, words in sorted(found)]


def _label(campaign: Campaign, found: Frontier) -> Rows:
    first = holding(campaign, found).first() if found.beyond else None
    if first is None:
        return []
    words = f"{found.beyond:,} finished wait for query {first.query_id}"
    return [{"day": localdate().isoformat(), "words": words, "at": found.sample + found.beyond / 2}]


def grade_rows(counts: Any, subject: FigureSubject) -> Rows:
    return [{"grade": grade, "pairs": number} for grade, number in enumerate(counts["grades"])]


def today_rows(counts: Any, subject: FigureSubject) -> Rows:
    """Return today's judgements of each active annotator, the most first."""
    today = Q(judgements__revisions__number=1, judgements__revisions__at__gte=start_of_day())
    active = subject.campaign.memberships.annotators().filter(same_as=None, state="active")
    counted = today & ~Q(judgements__assignment__batch__kind=Kind.EXAM)
    rows = active.annotate(n=Count("judgements__revisions", filter=counted)).values_list("worker", "n")
    return [{"worker": worker, "judgements": n} for worker, n in sorted(rows, key=lambda row: (-row[1], row[0]))]


def hours_of_week(counts: Any, subject: FigureSubject) -> Rows:
    """Return the judgements of each hour of a week; none if nothing is judged."""
    slots = enumerate(counts["hours"] if any(counts["hours"]) else ())
    return [{"weekday": WEEKDAYS[slot // 24], "hour": slot % 24, "judgements": number} for slot, number in slots]


def learning(counts: Any, subject: FigureSubject) -> Rows:
    """Return the difference from the consensus by nth batch; of an annotator their own too."""
    names = ("batch", "annotators", "difference", "difference_low", "difference_high")
    rows = [dict(zip(names, row, strict=True)) for row in counts["learning"]]
    if subject.member is None:
        return rows
    own = {n: difference for member, n, _, difference in counts["batches"] if member == subject.member.pk}
    return [row | {"own": own.get(row["batch"])} for row in rows] if own else []


def sitting(counts: Any, subject: FigureSubject) -> Rows:
    return list(counts["sitting"])


def flow(counts: Any, subject: FigureSubject) -> Rows:
    """Return how many pairs came from each result of round one to each end; of what there is none is left out."""
    total = sum(number for *_, number in counts["flow"])
    return [
        {"order": place, "round_one": first, "end": end, "pairs": number, "share": number / total}
        for place, (first, end, number) in enumerate(counts["flow"])
        if number
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
