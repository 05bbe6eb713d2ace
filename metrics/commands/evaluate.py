"""``evaluate``: the scores of one run, or of several in one table."""

import argparse
import csv
import sys
from typing import TYPE_CHECKING, Any

from . import inputs, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import Measure, Scores
    from ..analysis.comparison import Group, Spread

    Name = Callable[[Measure], str]


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "evaluate", help="score runs against qrels", epilog=inputs.MEASURES_HELP, formatter_class=inputs.Help
    )
    inputs.add_qrels(parser)
    parser.add_argument("--run", nargs="+", required=True, dest="runs", metavar="FILE", help="the run, or several")
    inputs.add_run_options(parser)
    inputs.add_measures(parser)
    inputs.add_names(parser)
    parser.add_argument(
        "--group",
        nargs="?",
        const="",
        metavar="PATTERN",
        help="mean ± standard deviation over runs whose names differ only in what this regular expression "
        "matches (default: seed with a number, or a number at the end)",
    )
    parser.add_argument(
        "--per-query", action="store_true", help="also the values of each query (JSON always holds them)"
    )
    inputs.add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from ..analysis.comparison import SEED, grouped

    scores = inputs.scores_of_runs(args)
    note_left_out(scores)
    groups = [] if args.group is None else grouped(scores, args.group or SEED)
    PRINT[args.format](scores, groups, args.per_query, inputs.namer(args, scores[0].convention.name))


def note_left_out(scores: "list[Scores]") -> None:
    """Say on standard error how many judged queries do not count."""
    for score in scores:
        if score.left_out():
            of = f"run {score.run}: " if len(scores) > 1 else ""
            print(
                f"note: {of}{score.left_out()} of {len(score.queries)} judged queries are left out of the "
                f"mean (nothing relevant to find, or not in the run: convention {score.convention.name})",
                file=sys.stderr,
            )


def print_json(scores: "list[Scores]", groups: "list[Group]", per_query: bool, name: "Name") -> None:
    """The whole result; `queries` is the number of queries that count."""
    result: dict[str, Any] = {"convention": scores[0].convention.name}
    if len(scores) == 1 and not groups:
        result |= described(scores[0], name)
    else:
        result["runs"] = {score.run: described(score, name) for score in scores}
    if groups:
        result["groups"] = {
            group.name: {
                "runs": list(group.runs),
                "measures": {name(m): spread._asdict() for m, spread in group.spreads.items()},
            }
            for group in groups
        }
    tables.print_json(result)


def described(scores: "Scores", name: "Name") -> dict[str, Any]:
    """One run's numbers; `unjudged` is there if a query of the run was left out because nobody judged it,
    and `warnings` if something makes one doubt that the run is right.
    """
    values = scores.per_query()
    found: dict[str, Any] = {"queries": len(values)}
    if scores.unjudged:
        found["unjudged"] = len(scores.unjudged)
    if scores.warnings:
        found["warnings"] = list(scores.warnings)
    found["measures"] = {name(measure): value for measure, value in scores.aggregate().items()}
    found["per_query"] = {q: {name(m): value for m, value in row.items()} for q, row in values.items()}
    return found


def print_csv(scores: "list[Scores]", groups: "list[Group]", per_query: bool, name: "Name") -> None:
    """One value a line; the query of an aggregate is `all`. With several runs the first column names the
    run, and with groups their means and deviations follow.
    """
    out = csv.writer(sys.stdout, lineterminator="\n")
    several = len(scores) > 1 or bool(groups)
    out.writerow([*(["run"] if several else []), "convention", "query", "measure", "value"])
    for score in scores:
        first = [score.run] if several else []
        first.append(score.convention.name)
        for measure, value in score.aggregate().items():
            out.writerow([*first, "all", name(measure), "" if value is None else repr(value)])
        for query, row in score.per_query().items() if per_query else ():
            out.writerows([*first, query, name(measure), repr(value)] for measure, value in row.items())
    for group in groups:
        for measure, spread in group.spreads.items():
            for kind, number in spread._asdict().items():
                cell = "" if number is None else repr(number)
                out.writerow([group.name, scores[0].convention.name, kind, name(measure), cell])


def print_table(scores: "list[Scores]", groups: "list[Group]", per_query: bool, name: "Name") -> None:
    """For people: four decimals, the measures down the side, the runs or groups across the top."""
    convention = scores[0].convention.name
    if len(scores) == 1 and not groups:
        print_one(scores[0], per_query, name)
        return
    side = ["measure", *map(name, scores[0].measures)]
    if groups:
        print(f"{len(scores)} runs in {len(groups)} groups, convention {convention}")
        columns = [[f"{g.name} ({len(g.runs)})", *map(plus_minus, g.spreads.values())] for g in groups]
    else:
        print(f"{len(scores)} runs, convention {convention}")
        columns = [[s.run, *map(tables.text, s.aggregate().values()), str(len(s.per_query()))] for s in scores]
        side.append("queries")
    tables.print_aligned([list(row) for row in zip(side, *columns, strict=True)])
    for score in scores if per_query else ():
        print()
        print_one(score, per_query, name)


def print_one(scores: "Scores", per_query: bool, name: "Name") -> None:
    """One run's aggregates, a line each, and the values of each query if asked for."""
    values = scores.per_query()
    width = max(len(name(measure)) for measure in scores.measures)
    print(f"run {scores.run}, convention {scores.convention.name}, {len(values)} queries")
    for measure, value in scores.aggregate().items():
        print(f"{name(measure):{width}}  {tables.text(value)}")
    for query, row in values.items() if per_query else ():
        print(f"query {query}")
        for measure, number in row.items():
            print(f"  {name(measure):{width}}  {number:.4f}")


def plus_minus(spread: "Spread") -> str:
    """Mean and deviation, such as ``0.1234 ± 0.0056``."""
    mean = tables.text(spread.mean)
    return mean if spread.deviation is None else f"{mean} ± {spread.deviation:.4f}"


PRINT = {"table": print_table, "json": print_json, "csv": print_csv}
