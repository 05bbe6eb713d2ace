"""``compare``: several runs side by side, with tests, corrections and intervals."""

import argparse
import csv
import sys
from typing import TYPE_CHECKING, Any

from . import inputs, tables

if TYPE_CHECKING:
    from ..analysis.compare import Comparison
    from .tables import Cells

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
    from ..analysis.compare import compare

    if not 0 < args.level < 1:
        raise MeasureError(f"--level is {args.level}; it must lie between 0 and 1")
    if args.pool:
        found = inputs.estimator_of(args, 1 - args.level, future=True).compare(
            *inputs.load_runs(args, args.runs), baseline=args.baseline
        )
    else:
        found = compare(inputs.scores_of_runs(args), args.baseline, args.test, args.level, args.seed, args.resamples)
    PRINT[args.format](found)


def cells(found: "Comparison", mark: str) -> "Cells":
    """Rows of text: a header, then each run with its letter, means, superscripts and intervals."""
    from ..analysis.compare import letter

    rows = [["run", *map(str, found.measures)]]
    for i, name in enumerate(found.runs):
        row = [f"{letter(i)} {name}"]
        for measure in found.measures:
            interval, better = found.intervals[name, measure], found.superscript(name, measure)
            above = mark.format(better) if better else ""
            row.append(f"{interval.mean:.4f}{above} [{interval.low:.4f}, {interval.high:.4f}]")
        rows.append(row)
    return rows


def differences(found: "Comparison") -> "Cells":
    """Rows of text: a header, then each difference with its interval, effect size and corrected p."""
    rows = [["measure", "run − other", "difference", "effect", "p (Holm)"]]
    for d in found.differences:
        mean = f"{d.difference:+.4f} [{d.low:+.4f}, {d.high:+.4f}]"
        rows.append([str(d.measure), f"{d.run} − {d.other}", mean, f"{d.effect:+.2f}", f"{d.corrected:.4f}"])
    return rows


def caption(found: "Comparison") -> str:
    against = f"against {found.baseline}" if found.baseline else "all pairs"
    test, interval = f"{found.test} test", "bootstrap interval"
    if found.test == "estimated":
        test, interval = "t test of the estimated differences", "interval for future queries, estimated"
    return (
        f"Convention {found.convention}. Letters: significantly better than that run "
        f"({test}, {against}, Holm, {found.level:g}). "
        f"Brackets: {1 - found.level:.0%} {interval}. Effect: Cohen's d of paired differences."
    )


def print_table(found: "Comparison") -> None:
    print("\n".join(tables.aligned(cells(found, " {}"))), end="\n\n")
    print("\n".join(tables.aligned(differences(found))), end="\n\n")
    print(caption(found))


def print_markdown(found: "Comparison") -> None:
    for header, *rows in (cells(found, "<sup>{}</sup>"), differences(found)):
        for row in (header, ["---"] * len(header), *rows):
            print(f"| {' | '.join(row)} |")
        print()
    print(caption(found))


def print_latex(found: "Comparison") -> None:
    """The table of scores; the differences follow as comments."""
    header, *rows = cells(found, "$^{{{}}}$")
    print(f"% {caption(found)}\n\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}\n\\hline")
    for n, row in enumerate((header, *rows)):
        print(" & ".join(cell.replace("_", r"\_").replace("%", r"\%") for cell in row) + r" \\")
        print("\\hline" if n == 0 else "", end="\n" if n == 0 else "")
    print("\\hline\n\\end{tabular}")
    print("\n".join(f"% {line}" for line in tables.aligned(differences(found))))


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
