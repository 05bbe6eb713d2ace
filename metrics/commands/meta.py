"""``agreement``, ``stability``, ``noise``, ``ties``, ``select``: the measures measured (AxIoU,
sections 6 and B).
"""

import argparse
import csv
import json
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import inputs

if TYPE_CHECKING:
    from .. import Convention, Measure, Qrels, Run
    from ..formats.arrays import Floats

Row = dict[str, Any]
HELP = {
    "agreement": "Kendall's tau-b between measures over systems",
    "stability": "self-agreement of measures on query subsets",
    "noise": "error of measures when boundaries are noisy",
    "ties": "share of queries on which all systems tie",
    "select": "z-scores of the systems that measures select",
}


def add(commands: Any) -> None:
    for kind, text in HELP.items():
        parser = commands.add_parser(kind, help=text)
        inputs.add_qrels(parser)
        parser.add_argument(
            "--runs", nargs="+", required=True, metavar="FILE", help="runs of the systems, two or more"
        )
        inputs.add_run_options(parser)
        inputs.add_measures(parser, "the twelve of the AxIoU paper")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
        parser.add_argument("--figure", metavar="FILE", help="also draw it: .svg, .png or .pdf")
        if kind in OPTIONS:
            OPTIONS[kind](parser)
        parser.set_defaults(run=run, kind=kind)


def add_stability(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sizes", nargs="+", type=int, metavar="N", help="subset sizes (default: tenths of the queries)"
    )
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument(
        "--model",
        choices=("two", "full"),
        default="two",
        help="two subsets (paper), or one against all (released)",
    )


def add_noise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--levels", nargs="+", type=float, default=[1, 2, 3, 4], metavar="BETA", help="in seconds"
    )
    parser.add_argument("--datasets", type=int, default=100, help="noisy data sets a level")
    parser.add_argument(
        "--model", choices=("paper", "released"), default="paper", help="how lengths are drawn"
    )


def add_select(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--test-qrels", metavar="FILE", help="test split (default: a random half of the queries)"
    )
    parser.add_argument(
        "--test-runs", nargs="+", metavar="FILE", help="the same systems on it, in the same order"
    )
    parser.add_argument("--test-measures", nargs="+", metavar="MEASURE", help="default: the same measures")


def run(args: argparse.Namespace) -> None:
    from .. import MeasureError
    from ..analysis.meta import paper_measures

    if args.seed < 0 or getattr(args, "trials", 1) < 1 or getattr(args, "datasets", 1) < 1:
        raise MeasureError("--seed must not be negative; --trials and --datasets must be at least 1")
    measures, convention = inputs.measures_of(args, paper_measures)
    qrels = inputs.load_qrels(args)
    runs = inputs.named_apart([inputs.load_run(args, path) for path in args.runs], args.runs)
    rows = ROWS[args.kind](args, qrels, runs, measures, convention)
    if args.figure:
        figure(args.kind, rows, args.figure)
    show(args, convention.name, rows)


def agreement_rows(
    args: argparse.Namespace,
    qrels: "Qrels",
    runs: "list[Run]",
    measures: "list[Measure]",
    convention: "Convention",
) -> list[Row]:
    from .. import scores_of
    from ..analysis import meta

    tau = meta.agreement(meta.score_block(scores_of(measures, qrels, runs, convention)))
    return [
        {"measure": str(a), "other": str(b), "tau": float(tau[i, j])}
        for i, a in enumerate(measures)
        for j, b in enumerate(measures)
    ]


def stability_rows(
    args: argparse.Namespace,
    qrels: "Qrels",
    runs: "list[Run]",
    measures: "list[Measure]",
    convention: "Convention",
) -> list[Row]:
    from .. import scores_of
    from ..analysis import meta

    block = meta.score_block(scores_of(measures, qrels, runs, convention))
    sizes = args.sizes or sorted({max(1, block.shape[1] * tenth // 10) for tenth in range(1, 10)})
    found = meta.stability(block, sizes, args.trials, args.model, args.seed)
    return [
        {
            "size": size,
            "measure": str(measure),
            "mean": float(found.mean[i, j]),
            "variance": float(found.variance[i, j]),
            "undefined": int(found.undefined[i, j]),
        }
        for i, size in enumerate(found.sizes)
        for j, measure in enumerate(measures)
    ]


def noise_rows(
    args: argparse.Namespace,
    qrels: "Qrels",
    runs: "list[Run]",
    measures: "list[Measure]",
    convention: "Convention",
) -> list[Row]:
    from .. import MeasureError
    from ..analysis.noise import noise_error

    if not all(0 <= level < math.inf for level in args.levels):
        raise MeasureError("--levels must be numbers of seconds from 0 up")
    found = noise_error(measures, qrels, runs, convention, args.levels, args.datasets, args.model, args.seed)
    return [
        {"level": level, "measure": str(m), "rmse": float(found.rmse[i, j]), "mae": float(found.mae[i, j])}
        for i, level in enumerate(found.levels)
        for j, m in enumerate(measures)
    ]


def ties_rows(
    args: argparse.Namespace,
    qrels: "Qrels",
    runs: "list[Run]",
    measures: "list[Measure]",
    convention: "Convention",
) -> list[Row]:
    from .. import scores_of
    from ..analysis import meta

    share = meta.all_tied(meta.score_block(scores_of(measures, qrels, runs, convention)))
    return [{"measure": str(m), "all_tied": float(x)} for m, x in zip(measures, share, strict=True)]


def select_rows(
    args: argparse.Namespace,
    qrels: "Qrels",
    runs: "list[Run]",
    measures: "list[Measure]",
    convention: "Convention",
) -> list[Row]:
    from .. import parse_measures, scores_of
    from ..analysis import meta

    test_measures = parse_measures(args.test_measures) if args.test_measures else measures
    both = list(dict.fromkeys([*measures, *test_measures]))
    block = meta.score_block(scores_of(both, qrels, runs, convention))
    columns = [both.index(m) for m in test_measures]
    block, test = splits(args, block, both, convention)
    found = meta.select(block.mean(axis=1)[:, : len(measures)], test.mean(axis=1)[:, columns])
    return [
        {
            "validation": str(v),
            "selected": runs[found.chosen[i]].name,
            "test": str(t),
            "z": float(found.z[i, j]),
        }
        for i, v in enumerate(measures)
        for j, t in enumerate(test_measures)
    ]


def splits(
    args: argparse.Namespace, block: "Floats", measures: "list[Measure]", convention: "Convention"
) -> "tuple[Floats, Floats]":
    """Scores for validation and for test: from two splits, or from random halves of one."""
    from .. import MeasureError, scores_of
    from ..analysis import meta
    from ..formats.read_qrels import read_qrels

    if bool(args.test_qrels) != bool(args.test_runs):
        raise MeasureError("--test-qrels and --test-runs go together")
    if not args.test_qrels:
        return meta.halves(block, args.seed)
    if len(args.test_runs) != len(args.runs):
        raise MeasureError(
            f"{len(args.runs)} --runs but {len(args.test_runs)} --test-runs; give the same systems"
        )
    runs = [inputs.load_run(args, path) for path in args.test_runs]
    qrels = read_qrels(args.test_qrels, args.format_qrels, args.moments)
    return block, meta.score_block(scores_of(measures, qrels, runs, convention))


def figure(kind: str, rows: list[Row], path: str) -> None:
    from .. import MeasureError

    try:
        from ..figures import draw
    except ImportError:
        raise MeasureError("--figure needs Altair: pip install 'reeljudge[figures]'") from None
    draw(kind, [inputs.plain_numbers(row) for row in rows], path)


def show(args: argparse.Namespace, convention: str, rows: list[Row]) -> None:
    """The rows as table, CSV or JSON; a value that does not exist is empty, or null."""
    if args.format == "json":
        plain = [inputs.plain_numbers(row) for row in rows]
        result = {"kind": args.kind, "convention": convention, "seed": args.seed, "rows": plain}
        print(json.dumps(result, indent=1, allow_nan=False, ensure_ascii=False))
    elif args.format == "csv":
        out = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(inputs.plain_numbers(row) for row in rows)
    else:
        print(f"{args.kind}, convention {convention}")
        table = [list(rows[0]), *([text(value) for value in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for line in table:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def text(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4f}"
    return str(value)


OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "stability": add_stability,
    "noise": add_noise,
    "select": add_select,
}
ROWS: dict[str, Callable[..., list[Row]]] = {
    "agreement": agreement_rows,
    "stability": stability_rows,
    "noise": noise_rows,
    "ties": ties_rows,
    "select": select_rows,
}
