"""``estimate`` and ``plan``: scores from part of the judgements, and how many judgements a difference takes."""

import argparse
import math
from typing import TYPE_CHECKING, Any

from ..formats.errors import MeasureError
from . import inputs, tables

if TYPE_CHECKING:
    from .. import Estimate, Measure, Spread

LIKE = ("spread", "close", "rerank")


def add(commands: Any) -> None:
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
    parser.set_defaults(run=run)
    add_plan(commands)


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


def run(args: argparse.Namespace) -> None:
    estimator = inputs.estimator_of(args, args.confidence, args.future, args.anytime)
    runs = inputs.load_runs(args, args.runs)
    if args.difference and len(runs) < 2:
        raise MeasureError("--difference needs two runs or more")
    if args.difference:
        found = {f"{runs[0].name} − {other.name}": estimator.differences(runs[0], other) for other in runs[1:]}
    else:
        found = estimator.estimates(runs)
    rows = [row(name, measure, each) for name, of in found.items() for measure, each in of.items()]
    if args.format == "json":
        tables.print_json({"convention": estimator.convention.name, "estimates": rows})
    elif args.format == "csv":
        tables.print_csv(list(rows[0]), rows)
    else:
        columns = ("run", "measure", "value", "se", "low", "high", "plain", "plain_se", "slope")
        print("\n".join(tables.aligned(tables.plain([{name: each[name] for name in columns} for each in rows]))))
        print(f"\n{caption(next(iter(next(iter(found.values())).values())))}")


def row(name: str, measure: "Measure", found: "Estimate") -> dict[str, Any]:
    return {"run": name, "measure": str(measure), **vars(found), "share": found.share}


def caption(found: "Estimate") -> str:
    """What the numbers are, in a sentence."""
    if found.share == 1 and not found.future:
        return f"All {found.ranked:,} ranked queries are judged."
    of = "all queries of their kind" if found.future else f"the {found.ranked:,} ranked queries"
    when = ", at all times while judging goes on" if found.anytime else ""
    return (
        f"Estimated from {found.judged:,} of {found.ranked:,} queries ({found.share:.0%}); "
        f"{found.confidence:.0%} intervals for the mean over {of}{when}. plain: the mean of the judged queries alone."
    )


def plan(args: argparse.Namespace) -> None:
    from ..analysis.planning import Work, plans

    given = {name: getattr(args, name) for name in ("judgements", "seconds", "pay", "hours")}
    work = Work(**{name: value for name, value in given.items() if value is not None})
    ranked = args.ranked or math.inf
    found = plans(args.difference, spread_asked_for(args), work, power=args.power, level=args.level, ranked=ranked)
    left_out = {"cost": args.pay is None, "weeks": args.hours is None}
    rows = [{name: value for name, value in vars(each).items() if not left_out.get(name)} for each in found]
    if args.format == "json":
        tables.print_json(rows)
    elif args.format == "csv":
        tables.print_csv(list(rows[0]), rows)
    else:
        print("\n".join(tables.aligned(tables.plain(rows))))


def spread_asked_for(args: argparse.Namespace) -> "Spread":
    from ..analysis.planning import TVR_RANKING, Spread

    if args.sd is None:
        return TVR_RANKING[args.like]
    return Spread(args.sd, args.sd if args.sd_left is None else args.sd_left)
