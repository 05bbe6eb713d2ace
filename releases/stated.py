"""What the manifest states of a release, computed again from its files: counts, agreement, cost and protocol.

The definitions are those of the server (`releases/data_card.py`, `releases/publishing/methods.py`), in Python alone,
because this module is a part of `verify.py`. A release is a `Reader` of
`releases/checks.py`, which imports this module. A manifest of version 0.1 states counts only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

Faults = Iterator[str]
ROUNDING = 1e-6  # beyond half a unit of a number's last digit
# What no file of a release shows, so that only the manifest states it.
OF_PAY = ("hourly_rate", "past_rates", "currency")
OF_PROTOCOL = ("second_from", "padding", "sound", "play_once", "watch_first", "exam", "exam_rounds", "checks")


def other_counts(release: Any, with_grade: set[str]) -> Faults:
    """Compare the counts of the manifest, apart from those of outcomes."""
    stated, query_of, grades = release.manifest, dict[str, str](), Counter[str]()
    for row in release.rows("pairs.csv"):
        query_of[row["pair_id"]] = row["query_id"]
        grades[row["grade"]] += row["outcome"] in with_grade
    judgements = (judgement for judgement in release.records("judgements.jsonl") if judgement["counts"])
    counting = [(str(judgement["pair_id"]), judgement["worker"]) for judgement in judgements]
    found = {
        "queries": sum(1 for _ in release.rows("queries.csv")),
        "judged_queries": len({query_of.get(pair) for pair, _ in counting}),
        "judgements": len(counting),
        "annotators": len({worker for _, worker in counting}),
    }
    for name, number in found.items():
        if stated["counts"][name] != number:
            yield f"the manifest counts {stated['counts'][name]:,} {name}; the files have {number:,}"
    for grade, number in stated["counts"]["grades"].items():
        if grades[grade] != number:
            yield f"the manifest counts {number:,} final grades {grade}; pairs.csv has {grades[grade]:,}"


def same_agreement(release: Any) -> Faults:
    """Compare Krippendorff's ordinal alpha and the shares of equal and contested pairs."""
    if not (agreement := release.manifest.get("agreement")):
        return
    of_all, of_round_one = (defaultdict[str, list[int]](list) for _ in range(2))
    for judgement in release.records("judgements.jsonl"):
        if judgement["counts"]:
            of_all[str(judgement["pair_id"])].append(judgement["grade"])
            if judgement["round"] == 1:
                of_round_one[str(judgement["pair_id"])].append(judgement["grade"])
    first = [grades for grades in of_round_one.values() if len(grades) == 2]
    apart, tolerance = [abs(one - other) for one, other in first], release.manifest["consensus"]["tolerance"]
    found = [
        ("alpha", agreement["alpha"], ordinal_alpha(of_all.values()), 3),
        ("round_one.alpha", agreement["round_one"]["alpha"], ordinal_alpha(first), 3),
        ("pairs", agreement["pairs"], len(first), 0),
        ("same_percent", agreement["same_percent"], _percent(gap == 0 for gap in apart), 1),
        ("contested_percent", agreement["contested_percent"], _percent(gap > tolerance for gap in apart), 1),
    ]
    for name, number, right, digits in found:
        if not _is_near(number, right, 0.5 * 10**-digits):
            yield f"agreement.{name} is {_written(right, digits)} by the judgements; the manifest says {number}"


def ordinal_alpha(units: Iterable[list[int]]) -> float | None:
    """Return Krippendorff's ordinal alpha of the grades from 0 to 4 of each pair; None where it is undefined."""
    levels = range(5)
    together = [[0.0] * 5 for _ in levels]
    for grades in units:
        times = [grades.count(grade) for grade in levels]
        for one, other in product(levels, levels) if len(grades) > 1 else ():
            together[one][other] += times[one] * (times[other] - (one == other)) / (len(grades) - 1)
    held = [sum(row) for row in together]
    middle = [sum(held[:grade]) + held[grade] / 2 for grade in levels]
    cells = [(one, other, (middle[one] - middle[other]) ** 2) for one, other in product(levels, levels)]
    expected = sum(held[one] * held[other] * distance for one, other, distance in cells)
    observed = sum(together[one][other] * distance for one, other, distance in cells)
    return 1 - (sum(held) - 1) * observed / expected if expected > 0 else None


def _percent(found: Iterable[bool]) -> float | None:
    values = list(found)
    return 100 * sum(values) / len(values) if values else None


def same_cost(release: Any) -> Faults:
    """Compare the hours with the seconds of the judgements, each of which is rounded to a tenth."""
    if not (cost := release.manifest.get("cost")) or release.manifest["imported"]:
        return
    seconds = [judgement["seconds"] or 0 for judgement in release.records("judgements.jsonl")]
    total, number = sum(seconds), len(seconds)
    found = (("hours", total / 3600, 0.05 * number / 3600), ("seconds_each", total / max(number, 1), 0.05))
    for name, right, rounded in found:
        if not _is_near(cost[name] or 0, right, 0.05 + rounded):
            yield f"cost.{name} is {right:.1f} by the judgements; the manifest says {cost[name]}"


def same_protocol(release: Any) -> Faults:
    """Compare the depth and the size of batches with ranks and batches, and the guidelines with the judgements."""
    if not (protocol := release.manifest.get("protocol")):
        return
    size, depth, ranks = protocol["batch_size"], protocol["depth"], dict[str, int]()
    if depth != size * protocol["batches"]:
        yield f"protocol.depth is {depth}; {protocol['batches']} batches of {size} hold {size * protocol['batches']}"
    for row in release.rows("pairs.csv"):
        if row["pool"] == "first":
            rank = ranks[row["pair_id"]] = int(row["rank"])
            if rank > depth:
                yield f"pair {row['pair_id']} has rank {rank}; protocol.depth is {depth}"
    for row in release.rows("ratings.csv"):
        batch = row["batch"].rpartition("-")[2]
        if row["pair_id"] in ranks and batch != (right := str((ranks[row["pair_id"]] - 1) // size + 1)):
            yield f"pair {row['pair_id']} is in batch {batch}; by protocol.batch_size it is in batch {right}"
    there = set(release.names)
    for version in sorted({judgement["guideline"] for judgement in release.records("judgements.jsonl")}):
        if f"guidelines/{version}.md" not in there:
            yield f"judgements were made by version {version} of the guideline, which is not there"


def not_computed(stated: dict[str, Any]) -> Iterator[str]:
    """Yield what the manifest states and no check computes, with the reason."""
    for name in ("agreement", "cost", "protocol"):
        if not stated.get(name):
            yield f"{name}: the manifest does not state it"
    if stated.get("agreement"):
        ends = (stated["agreement"], stated["agreement"]["round_one"])
        if any(each["low"] is not None for each in ends):
            yield "the intervals of alpha: they are drawn at random, with NumPy"
    if cost := stated.get("cost"):
        if stated["imported"]:
            yield "the hours: imported ratings do not have them"
        if pay := [f"cost.{name}" for name in OF_PAY if cost[name]]:
            yield f"{', '.join(pay)}: no file of a release shows pay"
    if protocol := stated.get("protocol"):
        settings = ", ".join(f"protocol.{name}" for name in OF_PROTOCOL if name in protocol)
        yield f"{settings}: no file of a release shows these settings"


def _is_near(number: float | None, right: float | None, half: float) -> bool:
    """Return whether a rounded number is that of the right one; None is undefined."""
    if number is None or right is None:
        return number is right
    return abs(number - right) <= half + ROUNDING


def _written(number: float | None, digits: int) -> str:
    return "undefined" if number is None else f"{number:.{digits}f}"
