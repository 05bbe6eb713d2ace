"""manage.py settle_ratings: settle a file of raw ratings, and count the defects of their process."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from base.commands import ReeljudgeCommand, written
from base.text import csv_lines
from judging.consensus import RULE
from judging.importing import Settled, ratings_in, settle


class Command(ReeljudgeCommand):
    help = "Settle raw ratings (pair_id,worker,relevance) by the consensus. Needs no database."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--out", required=True, type=Path, help="CSV of pair_id,n_ratings,final_score")

    def handle(self, **options: Any) -> None:
        began = time.monotonic()
        result = settle(ratings_in(options["file"]))
        rows = (
            (pair, number, "" if outcome.grade is None else outcome.grade)
            for pair, (number, outcome) in result.pairs.items()
        )
        with written("--out", options["out"]), options["out"].open("w", encoding="utf-8", newline="") as out:
            out.writelines(csv_lines(["pair_id", "n_ratings", "final_score"], rows))
        self.stdout.write(_summary(result, time.monotonic() - began))


def _summary(result: Settled, took: float) -> str:
    figures = {"pairs": len(result.pairs), "settled": result.settled, "discarded": len(result.pairs) - result.settled}
    lines = [f"{name} {number}" for name, number in figures.items()]
    lines += ["process defects:"] + [f"  {name} {len(pairs)}" for name, pairs in result.defects.items()]
    return "\n".join([*lines, f"consensus {RULE}, {took:.1f} s"])
