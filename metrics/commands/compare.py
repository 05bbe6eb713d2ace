"""``compare``, ``estimate`` and ``plan``: runs side by side, and scores from part of the judgements."""

import argparse
import csv
import math
import sys
from typing import TYPE_CHECKING, Any

from ..formats import ANY_GRADE
from ..formats.errors import MeasureError
from . import inputs, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import Estimate, Spread
    from ..analysis.comparison import Comparison
    from ..measures.measure import Names

FORMATS = ("table", "csv", "json", "latex", "markdown")
CSV_COLUMNS = (
    *("convention", "measure", "run", "mean", "low", "high", "other"),
    *("difference", "difference_low", "difference_high", "effect", "test", "p", "p_holm"),
)
REJUDGED = ["nDCG_IoU(iou=0.5)@10", "Success_IoU(iou=0.5)@1", "Success_IoU(iou=0.5)@5"]
LIKE = ("spread", "close", "rerank")


def add_compare(commands: Any) -> None:
    parser = commands.add_parser("compare", help="compare runs: tests, correction, intervals")
    inputs.add_qrels(parser)
    parser.add_argument("--runs", nargs="+", required=True, metavar="FILE", help="the runs, two or more")
    inputs.add_run_options(parser)
    inputs.add_measures(parser)
    parser.add_argument("--baseline", metavar="NAME", help="run that the others are held against (default: all pairs)")
    inputs.add_pool(parser, needed=False)
    parser.add_argument("--test", choices=("t", "wilcoxon", "randomisation"), default="t")
    parser.add_argument("--level", type=float, default=0.05, help="of significance (default 0.05)")
    inputs.add_names(parser)
    inputs.add_seed(parser)
    parser.add_argument("--resamples", type=inputs.whole(1), default=10_000)
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.set_defaults(run=compare)


def compare(args: argparse.Namespace) -> None:
    from ..analysis.compare import compare_scores

    if not 0 < args.level < 1:
        raise MeasureError(f"--level is {args.level}; it must lie between 0 and 1")
    if args.pool:
        estimator = inputs.estimator_of(args, 1 - args.level, future=True)
        found = estimator.compare(inputs.load_runs(args, args.runs), args.baseline)
    else:
        of_runs = inputs.scores_of_runs(args)
        found = compare_scores(of_runs, args.baseline, args.test, args.level, args.seed, args.resamples)
    PRINT[args.format](found, args.names or "grammar")


def print_table(found: "Comparison", names: "Names") -> None:
    tables.print_aligned(found.cells(names=names))
    print()
    tables.print_aligned(found.difference_cells(names), found.caption())


def print_csv(found: "Comparison", names: "Names") -> None:
    """A row for each difference, with the mean and the interval of the run."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(CSV_COLUMNS)
    for d in found.differences:
        mean, between = found.intervals[d.run, d.measure], [d.difference, d.low, d.high, d.effect]
        first = [found.convention, d.measure.named(found.convention, names), d.run]
        out.writerow([*first, mean.mean, mean.low, mean.high, d.other, *between, found.test, d.p, d.corrected])


def print_json(found: "Comparison", names: "Names") -> None:
    means = {
        name: {
            m.named(found.convention, names): inputs.plain_numbers(vars(found.intervals[name, m]))
            | {"better_than": found.superscript(name, m)}
            for m in found.measures
        }
        for name in found.runs
    }
    differences = [
        inputs.plain_numbers(vars(d) | {"measure": d.measure.named(found.convention, names)}) for d in found.differences
    ]
    about = {name: getattr(found, name) for name in ("convention", "test", "level", "baseline")}
    tables.print_json(about | {"runs": means, "differences": differences})


PRINT: "dict[str, Callable[[Comparison, Names], None]]" = {
    "table": print_table,
    "csv": print_csv,
    "json": print_json,
    "latex": lambda found, names: print(found.to_latex(names)),
    "markdown": lambda found, names: print(found.to_markdown(names)),
}


def add_estimate(commands: Any) -> None:
    parser = commands.add_parser(
        "estimate",
        help="scores over all ranked queries, estimated from those that are judged",
        epilog=inputs.MEASURES_HELP,
        formatter_class=inputs.Help,
    )
    inputs.add_qrels(parser)
    inputs.add_pool(parser, needed=True)
    parser.add_argument("--run", nargs="+", required=True, dest="runs", metavar="FILE", help="the run, or several")
    inputs.add_run_options(parser)
    inputs.add_measures(parser)
    parser.add_argument("--difference", action="store_true", help="estimate the first run less each of the others")
    parser.add_argument(
        "--future", action="store_true", help="intervals for all queries of the kind, not the ranked ones"
    )
    parser.add_argument(
        "--anytime", action="store_true", help="intervals that hold however often one looks while judging goes on"
    )
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default 0.95)")
    inputs.add_format(parser)
    parser.set_defaults(run=estimate)


def add_plan(commands: Any) -> None:
    parser = commands.add_parser("plan", help="how many queries must be judged to tell two systems apart")
    parser.add_argument("--difference", type=float, required=True, help="of the two systems' scores, such as 0.02")
    parser.add_argument("--power", type=float, default=0.8, help="probability of finding it (default 0.8)")
    parser.add_argument("--level", type=float, default=0.05, help="of significance (default 0.05)")
    parser.add_argument(
        "--ranked", type=inputs.whole(3), help="ranked queries that correct the judged ones (default: many)"
    )
    parser.add_argument("--like", choices=LIKE, default="spread", help="systems on TVR-Ranking that yours are like")
    parser.add_argument("--sd", type=float, help="instead: standard deviation of the difference between queries")
    parser.add_argument("--sd-left", type=float, help="and of what the caption ranks do not explain (default: --sd)")
    parser.add_argument("--judgements", type=float, help="of a query (default: TVR-Ranking's 69.4)")
    parser.add_argument("--seconds", type=float, help="of a judgement (default: TVR-Ranking's 19)")
    parser.add_argument("--pay", type=float, help="for an hour")
    parser.add_argument("--hours", type=float, help="that all annotators together work in a week")
    inputs.add_format(parser)
    parser.set_defaults(run=plan)


def estimate(args: argparse.Namespace) -> None:
    estimator = inputs.estimator_of(args, args.confidence, args.future, args.anytime)
    runs = inputs.load_runs(args, args.runs)
    if args.difference and len(runs) < 2:
        raise MeasureError("--difference needs two runs or more")
    if args.difference:
        found = {f"{runs[0].name} − {other.name}": estimator.differences(runs[0], other) for other in runs[1:]}
    else:
        found = estimator.estimates(runs)
    rows: list[dict[str, Any]] = [
        {"run": name, "measure": str(measure), **vars(each), "share": each.share}
        for name, of in found.items()
        for measure, each in of.items()
    ]
    document = {"convention": estimator.convention.name, "estimates": rows}
    if args.format == "table":
        columns = ("run", "measure", "value", "se", "low", "high", "method", "plain", "plain_se", "slope")
        rows = [{name: each[name] for name in columns} for each in rows]
    tables.print_rows(args.format, rows, document, caption(next(iter(next(iter(found.values())).values()))))


def caption(found: "Estimate") -> str:
    """What the numbers are, in a sentence."""
    if found.share == 1 and not found.future:
        return f"All {found.ranked:,} ranked queries are judged."
    of = "all queries of their kind" if found.future else f"the {found.ranked:,} ranked queries"
    when = ", at all times while judging goes on" if found.anytime else ""
    return (
        f"Estimated from {found.judged:,} of {found.ranked:,} queries ({found.share:.0%}); "
        f"{found.confidence:.0%} intervals for the mean over {of}{when}. plain: the mean of the judged queries alone. "
        "bounded: few judged queries deviate from their prediction, so the interval is one for bounded means."
    )


def plan(args: argparse.Namespace) -> None:
    from ..analysis.planning import Work, plans

    given = {name: getattr(args, name) for name in ("judgements", "seconds", "pay", "hours")}
    work = Work(**{name: value for name, value in given.items() if value is not None})
    ranked = args.ranked or math.inf
    found = plans(args.difference, spread_asked_for(args), work, power=args.power, level=args.level, ranked=ranked)
    left_out = {"cost": args.pay is None, "weeks": args.hours is None}
    rows = [{name: value for name, value in vars(each).items() if not left_out.get(name)} for each in found]
    tables.print_rows(args.format, rows)


def spread_asked_for(args: argparse.Namespace) -> "Spread":
    from ..analysis.planning import TVR_RANKING, Spread

    if args.sd is None:
        return TVR_RANKING[args.like]
    return Spread(args.sd, args.sd if args.sd_left is None else args.sd_left)


def place_of(values: "list[float | None]", n: int) -> int | None:
    """The place of a value from 1, the highest first; equal values share the better place."""
    own = values[n]
    return None if own is None else 1 + sum(each is not None and each > own for each in values)


def add_rejudged(commands: Any) -> None:
    what = "how the order of runs on a benchmark changes when its queries are judged in grades"
    parser = commands.add_parser("rejudged", help=what)
    parser.add_argument("--benchmark", required=True, metavar="FILE", help="the benchmark's ground truth")
    inputs.add_qrels(parser)
    parser.add_argument("--runs", nargs="+", required=True, metavar="FILE", help="the runs, two or more")
    inputs.add_run_options(parser)
    inputs.add_measures(parser, "nDCG_IoU(iou=0.5)@10, R@1,0.5 and R@5,0.5")
    inputs.add_format(parser)
    parser.set_defaults(run=rejudged)


def rejudged(args: argparse.Namespace) -> None:
    """Score the runs on the queries that both have, and print scores and places before and after."""
    from .. import as_qrels, parse_measures, qrels_from_dict, scores_of

    measures, convention = inputs.measures_of(args, lambda: parse_measures(REJUDGED))
    after, before = inputs.load_qrels(args), as_qrels(args.benchmark, lenient=True)
    runs = inputs.load_runs(args, args.runs)
    common = set(before.queries) & set(after.queries)
    if not common:
        raise MeasureError(f"{args.benchmark}: has no query of {args.qrels}; do both use the same query ids?")
    both = [
        qrels_from_dict({query: held for query, held in each.rows(each.grades) if query in common}, True, ANY_GRADE)
        for each in (before, after)
    ]
    old, new = (scores_of(measures, qrels, runs, convention) for qrels in both)
    rows = list[dict[str, Any]]()
    for measure in measures:
        values = [[scores[run.name][measure] for run in runs] for scores in (old, new)]
        for n, run in enumerate(runs):
            scored = {"benchmark": values[0][n], "place": place_of(values[0], n)}
            scored |= {"graded": values[1][n], "new_place": place_of(values[1], n)}
            rows.append({"measure": str(measure), "run": run.name} | scored)
    document = {"convention": convention.name, "queries": len(common), "runs": rows}
    about = f"{len(common):,} queries that both judge, convention {convention.name}"
    tables.print_rows(args.format, rows, document, about)


def add(commands: Any) -> None:
    for add_command in (add_compare, add_estimate, add_plan, add_rejudged):
        add_command(commands)
