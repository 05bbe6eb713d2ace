"""``axioms``: which measure satisfies INV-k and MON-k (AxIoU, section 5)."""

import argparse
from typing import Any

from . import inputs, tables

DEFAULT = (
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


def add(commands: Any) -> None:
    parser = commands.add_parser("axioms", help="which measure satisfies INV-k and MON-k")
    inputs.add_measures(parser, "one of each kind")
    inputs.add_seed(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from .. import parse_measures
    from ..analysis.axioms import AXIOMS, counterexample

    measures, convention = inputs.measures_of(args, lambda: parse_measures(DEFAULT))
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
    print("\n".join(tables.aligned(rows)))
    print(f"convention {convention.name}")
