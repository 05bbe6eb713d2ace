"""``compare``: several runs side by side, with tests, corrections and intervals."""

import argparse
import csv
import json
import sys
from typing import TYPE_CHECKING, Any

from . import inputs

if TYPE_CHECKING:
    from ..analysis.compare import Comparison

FORMATS = ("table", "csv", "json", "latex", "markdown")
Cells = list[list[str]]


def add(commands: Any) -> None:
    parser = commands.add_parser("compare", help="compare runs: tests, correction, intervals")
    inputs.add_qrels(parser)
    parser.add_argument("--runs", nargs="+", required=True, metavar="FILE", help="the runs, two or more")
    inputs.add_run_options(parser)
    inputs.add_measures(parser)
    parser.add_argument(
        "--baseline", metavar="NAME", help="run that the others are held against (default: all pairs)"
    )
    parser.add_argument("--test", choices=("t", "wilcoxon", "randomisation"), default="t")
    parser.add_argument("--level", type=float, default=0.05, help="of significance (default 0.05)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from .. import MeasureError, scores_of
    from ..analysis.compare import compare

    if not 0 < args.level < 1 or args.resamples < 1 or args.seed < 0:
        raise MeasureError("--level must lie between 0 and 1, --resamples be at least 1, --seed not negative")
    measures, convention = inputs.measures_of(args)
    qrels = inputs.load_qrels(args)
    runs = inputs.named_apart([inputs.load_run(args, path) for path in args.runs], args.runs)
    scores = scores_of(measures, qrels, runs, convention)
    found = compare(scores, args.baseline, args.test, args.level, args.seed, args.resamples)
    PRINT[args.format](found)


def cells(found: "Comparison", mark: str) -> Cells:
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


def caption(found: "Comparison") -> str:
    against = f"against {found.baseline}" if found.baseline else "all pairs"
    return (
        f"Convention {found.convention}. Letters: significantly better than that run "
        f"({found.test} test, {against}, Holm, {found.level:g}). "
        f"Brackets: {1 - found.level:.0%} bootstrap interval."
    )


def print_table(found: "Comparison") -> None:
    rows = cells(found, " {}")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(caption(found))


def print_markdown(found: "Comparison") -> None:
    header, *rows = cells(found, "<sup>{}</sup>")
    for row in (header, ["---"] * len(header), *rows):
        print(f"| {' | '.join(row)} |")
    print(f"\n{caption(found)}")


def print_latex(found: "Comparison") -> None:
    header, *rows = cells(found, "$^{{{}}}$")
    print(f"% {caption(found)}\n\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}\n\\hline")
    for n, row in enumerate((header, *rows)):
        print(" & ".join(cell.replace("_", r"\_").replace("%", r"\%") for cell in row) + r" \\")
        print("\\hline" if n == 0 else "", end="\n" if n == 0 else "")
    print("\\hline\n\\end{tabular}")


def print_csv(found: "Comparison") -> None:
    """A row for each difference, with the means and intervals of both runs."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(
        ["convention", "measure", "run", "mean", "low", "high", "other", "difference", "test", "p", "p_holm"]
    )
    for d in found.differences:
        i = found.intervals[d.run, d.measure]
        numbers = [repr(i.mean), repr(i.low), repr(i.high)], [repr(d.difference), found.test, repr(d.p)]
        out.writerow(
            [found.convention, d.measure, d.run, *numbers[0], d.other, *numbers[1], repr(d.corrected)]
        )


def print_json(found: "Comparison") -> None:
    means = {
        name: {
            str(m): inputs.plain_numbers(vars(found.intervals[name, m]))
            | {"better_than": found.superscript(name, m)}
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
    print(json.dumps(result, indent=2, allow_nan=False, ensure_ascii=False))


PRINT = {
    "table": print_table,
    "csv": print_csv,
    "json": print_json,
    "latex": print_latex,
    "markdown": print_markdown,
}
