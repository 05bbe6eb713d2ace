"""``compare``: several runs side by side, with tests, corrections and intervals."""

import argparse
import csv
import sys
from typing import TYPE_CHECKING, Any

from . import inputs, tables

if TYPE_CHECKING:
    from ..analysis.comparison import Comparison

FORMATS = ("table", "csv", "json", "latex", "markdown")
CSV_COLUMNS = (
    *("convention", "measure", "run", "mean", "low", "high", "other"),
    *("difference", "difference_low", "difference_high", "effect", "test", "p", "p_holm"),
)


def add(commands: Any) -> None:
    parser = commands.add_parser("compare", help="compare runs: tests, correction, intervals")
    inputs.add_qrels(parser)
    parser.add_argument("--runs", nargs="+", required=True, metavar="FILE", help="the runs, two or more")
    inputs.add_run_options(parser)
    inputs.add_measures(parser)
    parser.add_argument("--baseline", metavar="NAME", help="run that the others are held against (default: all pairs)")
    inputs.add_pool(parser, needed=False)
    parser.add_argument("--test", choices=("t", "wilcoxon", "randomisation"), default="t")
    parser.add_argument("--level", type=float, default=0.05, help="of significance (default 0.05)")
    inputs.add_seed(parser)
    parser.add_argument("--resamples", type=inputs.whole(1), default=10_000)
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from .. import MeasureError
    from ..analysis.compare import compare_scores

    if not 0 < args.level < 1:
        raise MeasureError(f"--level is {args.level}; it must lie between 0 and 1")
    if args.pool:
        found = inputs.estimator_of(args, 1 - args.level, future=True).compare(
            inputs.load_runs(args, args.runs), args.baseline
        )
    else:
        of_runs = inputs.scores_of_runs(args)
        found = compare_scores(of_runs, args.baseline, args.test, args.level, args.seed, args.resamples)
    PRINT[args.format](found)


def print_table(found: "Comparison") -> None:
    print("\n".join(tables.aligned(found.cells())), end="\n\n")
    print("\n".join(tables.aligned(found.difference_cells())), end="\n\n")
    print(found.caption())


def print_markdown(found: "Comparison") -> None:
    print(found.to_markdown())


def print_latex(found: "Comparison") -> None:
    print(found.to_latex())


def print_csv(found: "Comparison") -> None:
    """A row for each difference, with the mean and the interval of the run."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(CSV_COLUMNS)
    for d in found.differences:
        mean, between = found.intervals[d.run, d.measure], [d.difference, d.low, d.high, d.effect]
        first = [found.convention, d.measure, d.run, *map(repr, (mean.mean, mean.low, mean.high)), d.other]
        out.writerow([*first, *map(repr, between), found.test, repr(d.p), repr(d.corrected)])


def print_json(found: "Comparison") -> None:
    means = {
        name: {
            str(m): inputs.plain_numbers(vars(found.intervals[name, m])) | {"better_than": found.superscript(name, m)}
            for m in found.measures
        }
        for name in found.runs
    }
    differences = [inputs.plain_numbers(vars(d) | {"measure": str(d.measure)}) for d in found.differences]
    result = {
        "convention": found.convention,
        "test": found.test,
        "level": found.level,
        "baseline": found.baseline,
        "runs": means,
        "differences": differences,
    }
    tables.print_json(result)


PRINT = {"table": print_table, "csv": print_csv, "json": print_json, "latex": print_latex, "markdown": print_markdown}
