"""``evaluate``: the scores of one run."""

import argparse
import csv
import json
import sys
from typing import TYPE_CHECKING, Any

from . import inputs

if TYPE_CHECKING:
    from .. import Scores


def add(commands: Any) -> None:
    parser = commands.add_parser("evaluate", help="score a run against qrels")
    inputs.add_qrels(parser)
    parser.add_argument("--run", required=True, dest="run_file", metavar="FILE", help="the run")
    inputs.add_run_options(parser)
    inputs.add_measures(parser)
    parser.add_argument(
        "--per-query", action="store_true", help="also every query's values (JSON holds them always)"
    )
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from .. import calc

    measures, convention = inputs.measures_of(args)
    qrels = inputs.load_qrels(args)
    scores = calc(measures, qrels, inputs.load_run(args, args.run_file), convention)
    if scores.left_out():
        print(f"note: {left_out(scores)}", file=sys.stderr)
    PRINT[args.format](scores, args.per_query)


def left_out(scores: "Scores") -> str:
    """A sentence on the queries that do not count."""
    return (
        f"{scores.left_out()} of {len(scores.queries)} judged queries are left out of the mean "
        f"(nothing relevant to find, or not in the run: convention {scores.convention.name})"
    )


def print_json(scores: "Scores", per_query: bool) -> None:
    """The whole result; `queries` is the number of queries that count."""
    values = scores.per_query()
    result = {
        "convention": scores.convention.name,
        "queries": len(values),
        "measures": {str(measure): value for measure, value in scores.aggregate().items()},
        "per_query": {q: {str(m): value for m, value in row.items()} for q, row in values.items()},
    }
    print(json.dumps(result, indent=2, allow_nan=False, ensure_ascii=False))


def print_csv(scores: "Scores", per_query: bool) -> None:
    """One value a line; the query of an aggregate is `all`."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["convention", "query", "measure", "value"])
    for measure, value in scores.aggregate().items():
        out.writerow([scores.convention.name, "all", measure, "" if value is None else repr(value)])
    for query, row in scores.per_query().items() if per_query else ():
        out.writerows([scores.convention.name, query, measure, repr(value)] for measure, value in row.items())


def print_table(scores: "Scores", per_query: bool) -> None:
    """For people: four decimals."""
    values = scores.per_query()
    width = max(len(str(measure)) for measure in scores.measures)
    print(f"run {scores.run}, convention {scores.convention.name}, {len(values)} queries")
    for measure, value in scores.aggregate().items():
        print(f"{measure!s:{width}}  {'-' if value is None else format(value, '.4f')}")
    for query, row in values.items() if per_query else ():
        print(f"query {query}")
        for measure, number in row.items():
            print(f"  {measure!s:{width}}  {number:.4f}")


PRINT = {"table": print_table, "json": print_json, "csv": print_csv}
