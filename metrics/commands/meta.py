"""``agreement``, ``stability``, ``noise``, ``ties``, ``select``, ``axioms``: how good the measures are (AxIoU,
sections 5, 6 and B).
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..formats.errors import MeasureError
from . import inputs, tables

if TYPE_CHECKING:
    from .. import Convention, Measure, Qrels, Run, Scores
    from ..formats.arrays import Floats

Row = dict[str, Any]
HELP = {
    "agreement": "Kendall's tau-b between measures over systems",
    "stability": "self-agreement of measures on query subsets",
    "noise": "error of measures when boundaries are noisy",
    "ties": "share of queries on which all systems tie",
    "select": "z-scores of the systems that measures select",
}

ONE_OF_EACH = (
    "R@5,0.5",
    "AP@5,0.5",
    "DCG_IoU@5",
    "AxIoU@5",
    "NCxIoU(p=uniform)@5",
    "NCxIoU(p=geometric)@5",
    "NCxIoU(p=err)@5",
    "nDCG_IoU(iou=0.5)@5",
    "Recall_IoU(iou=0.5)@5",
    "mAP_IoU(iou=0.5)@5",
    "MedianRank(iou=0.5)",
)
MATRICES = {
    "agreement": [("measure", "other", "tau", "tau-b between measures")],
    "stability": [
        ("size", "measure", "mean", "mean of tau-b over the trials"),
        ("size", "measure", "variance", "variance of tau-b over the trials"),
        ("size", "measure", "undefined", "trials without a tau-b, because a ranking ties all systems"),
    ],
    "noise": [
        ("level", "measure", "rmse", "root mean square error"),
        ("level", "measure", "mae", "mean absolute error"),
        ("level", "measure", "bias", "squared bias"),
        ("level", "measure", "variance", "variance"),
    ],
    "select": [("validation", "test", "z", "z-score, on the measure above, of the system that a measure selects")],
}


@dataclass(frozen=True)
class Study:
    """What a command was asked for, read and checked."""

    args: argparse.Namespace
    qrels: "Qrels"
    runs: "list[Run]"
    measures: "list[Measure]"
    convention: "Convention"

    def scores(self, measures: "list[Measure]") -> "list[Scores]":
        """Scores of all runs; notes queries that nobody judged on standard error."""
        from .. import scores_of

        scores = list(scores_of(measures, self.qrels, self.runs, self.convention).values())
        inputs.note_unjudged(scores)
        return scores

    def block(self, measures: "list[Measure] | None" = None) -> "Floats":
        """Scores of shape (systems, queries, measures), of the queries that count for all systems."""
        from ..analysis.meta import score_block

        return score_block(self.scores(measures or self.measures))


def add(commands: Any) -> None:
    for kind, text in HELP.items():
        parser = commands.add_parser(kind, help=text)
        inputs.add_qrels(parser)
        parser.add_argument("--runs", nargs="+", required=True, metavar="FILE", help="runs of the systems, two or more")
        inputs.add_run_options(parser)
        inputs.add_measures(parser, "the twelve of the AxIoU paper")
        inputs.add_seed(parser)
        inputs.add_format(parser)
        parser.add_argument("--figure", metavar="FILE", help="also draw it: .svg, .png or .pdf")
        if kind in OPTIONS:
            OPTIONS[kind](parser)
        parser.set_defaults(run=run, kind=kind)
    parser = commands.add_parser("axioms", help="which measure satisfies INV-k and MON-k")
    inputs.add_measures(parser, "one of each kind")
    inputs.add_seed(parser)
    parser.set_defaults(run=axioms)


def add_stability(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sizes", nargs="+", type=int, metavar="N", help="subset sizes (default: tenths of the queries)"
    )
    parser.add_argument("--trials", type=inputs.whole(1), default=5000, help="trials for each size (default 5000)")
    parser.add_argument(
        "--model",
        choices=("two", "full"),
        default="two",
        help="compare two subsets (the paper), or a subset with all queries (the released code)",
    )


def add_noise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--levels", nargs="+", type=float, default=[1, 2, 3, 4], metavar="BETA", help="in seconds")
    parser.add_argument(
        "--datasets", type=inputs.whole(1), default=100, help="noisy data sets for each level (default 100)"
    )
    parser.add_argument(
        "--model",
        choices=("paper", "released"),
        default="paper",
        help="how lengths are drawn, and how the raters' spans become one",
    )


def add_select(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--test-qrels", metavar="FILE", help="test split (default: a random half of the queries)")
    parser.add_argument("--test-runs", nargs="+", metavar="FILE", help="the same systems on it, in the same order")
    parser.add_argument("--test-measures", nargs="+", metavar="MEASURE", help="default: the same measures")


def run(args: argparse.Namespace) -> None:
    from ..analysis.meta import paper_measures

    measures, convention = inputs.measures_of(args, paper_measures)
    qrels = inputs.load_qrels(args)
    study = Study(args, qrels, inputs.load_runs(args, args.runs), measures, convention)
    rows = ROWS[args.kind](study)
    plain = [inputs.plain_numbers(row) for row in rows]  # what does not exist is null, or empty
    if args.figure:
        figure(args.kind, plain, args.figure)
    if args.format == "json":
        head = {"kind": args.kind, "convention": convention.name, "seed": args.seed}
        tables.print_json(head | {"rows": plain}, indent=1)
    elif args.format == "csv":
        tables.print_csv(list(rows[0]), plain)
    else:
        print_table(study, rows)


def block_rows(study: Study) -> list[Row]:
    """The records of `agreement` and `ties`, which look at nothing but the scores."""
    from ..analysis import records

    return {"agreement": records.agreement, "ties": records.ties}[study.args.kind](study.measures, study.block())


def stability_rows(study: Study) -> list[Row]:
    from ..analysis import meta, records

    args, block = study.args, study.block()
    sizes = args.sizes or sorted({max(1, block.shape[1] * tenth // 10) for tenth in range(1, 10)})
    found = meta.stability(block, sizes, args.trials, args.model, args.seed)
    return records.stability(study.measures, found)


def noise_rows(study: Study) -> list[Row]:
    from ..analysis import records
    from ..analysis.noise import noise_error

    args = study.args
    if not all(0 <= level < math.inf for level in args.levels):
        raise MeasureError("--levels must be numbers of seconds from 0 up")
    study.scores(study.measures)
    what = (study.measures, study.qrels, study.runs, study.convention)
    found = noise_error(*what, args.levels, args.datasets, args.model, args.seed)
    return records.noise(study.measures, found)


def select_rows(study: Study) -> list[Row]:
    from .. import parse_measures
    from ..analysis import meta, records

    names = study.args.test_measures
    tested = parse_measures(names) if names else study.measures
    both = list(dict.fromkeys([*study.measures, *tested]))
    block, test = splits(study, both)
    columns = [both.index(m) for m in tested]
    found = meta.select(block.mean(axis=1)[:, : len(study.measures)], test.mean(axis=1)[:, columns])
    return records.selection([run.name for run in study.runs], study.measures, tested, found)


def splits(study: Study, measures: "list[Measure]") -> "tuple[Floats, Floats]":
    """Scores for validation and for test: from two splits, or from random halves of one."""
    from .. import read_qrels
    from ..analysis import meta

    args = study.args
    if bool(args.test_qrels) != bool(args.test_runs):
        raise MeasureError("--test-qrels and --test-runs go together")
    if not args.test_qrels:
        return meta.halves(study.block(measures), args.seed)
    if len(args.test_runs) != len(args.runs):
        raise MeasureError(f"{len(args.runs)} --runs but {len(args.test_runs)} --test-runs; give the same systems")
    lenient = inputs.is_lenient(args)
    qrels = read_qrels(args.test_qrels, args.format_qrels, args.moments, lenient, args.highest)
    runs = inputs.load_runs(args, args.test_runs)
    return study.block(measures), Study(args, qrels, runs, measures, study.convention).block()


def figure(kind: str, rows: list[Row], path: str) -> None:
    try:
        from ..figures import draw
    except ImportError:
        raise MeasureError("--figure needs Altair: pip install 'reeljudge[figures]'") from None
    draw(kind, rows, path)


def print_table(study: Study, rows: list[Row]) -> None:
    """Matrices, where each value belongs to a pair; otherwise a plain table. Measures as papers spell them."""
    from ..analysis.meta import spelt

    kind = study.args.kind
    print(f"{kind}, convention {study.convention.name}")
    rows = [{key: spelt(key, value) for key, value in row.items()} for row in rows]
    if kind == "select":
        rows = [{**row, "validation": f"{row['validation']} → {row['selected']}"} for row in rows]
    if kind not in MATRICES:
        tables.print_aligned(tables.plain(rows))
    for down, across, value, title in MATRICES.get(kind, ()):
        if value != "undefined" or any(row[value] for row in rows):
            print(f"\n{title}")
            tables.print_aligned(tables.matrix(rows, down, across, value))


def axioms(args: argparse.Namespace) -> None:
    from .. import parse_measures
    from ..analysis.noise import AXIOMS, counterexample

    measures, convention = inputs.measures_of(args, lambda: parse_measures(ONE_OF_EACH))
    rows = [["measure", *AXIOMS, "counterexample"]]
    for measure in measures:
        found = [counterexample(measure, axiom, convention, args.seed) for axiom in AXIOMS]
        cases = [
            f"{axiom}: {[round(x, 3) for x in case.ious]}, rank {case.rank} to {case.better:g}: "
            f"{case.before:.3f} to {case.after:.3f}"
            for axiom, case in zip(AXIOMS, found, strict=True)
            if case
        ]
        answers = ["no" if broken else "yes" for broken in found]
        rows.append([measure.spelling, *answers, "; ".join(cases)])
    tables.print_aligned(rows)
    print(f"convention {convention.name}")


OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "stability": add_stability,
    "noise": add_noise,
    "select": add_select,
}
ROWS: dict[str, Callable[[Study], list[Row]]] = {
    "agreement": block_rows,
    "stability": stability_rows,
    "noise": noise_rows,
    "ties": block_rows,
    "select": select_rows,
}
