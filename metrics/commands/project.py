"""``project``: rename matched predictions to their moments' ids, for trec_eval and all that speaks TREC."""

import argparse
from typing import TYPE_CHECKING, Any

from . import inputs

if TYPE_CHECKING:
    from ..analysis.project import Projection


def add(commands: Any) -> None:
    parser = commands.add_parser("project", help="turn matched predictions into a TREC run of moment ids")
    inputs.add_qrels(parser)
    parser.add_argument("--run", required=True, dest="run_file", metavar="FILE", help="the run")
    inputs.add_run_options(parser)
    parser.add_argument("--iou", type=float, default=0.5, help="threshold of the match (default 0.5)")
    parser.add_argument("--convention", default="paper", metavar="NAME", help="whose matching (default: paper)")
    parser.add_argument("--out", metavar="FILE", help="write the TREC run here (default: standard output)")
    parser.add_argument("--qrels-out", metavar="FILE", help="write the TREC qrels here")
    parser.add_argument(
        "--measures", nargs="+", metavar="MEASURE", help="score the projection with ir_measures: nDCG@20 AP RR …"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from ..analysis.project import project

    qrels = inputs.load_qrels(args)
    projected = project(qrels, inputs.load_run(args, args.run_file), args.iou, args.convention)
    inputs.note_unjudged([projected])
    if args.qrels_out:
        inputs.save(args.qrels_out, "\n".join(projected.qrels_lines()) + "\n")
    if args.out:
        inputs.save(args.out, "\n".join(projected.run_lines()) + "\n")
    if args.measures:
        print_scores(projected, args.measures)
    elif not args.out:
        print("\n".join(projected.run_lines()))


def print_scores(projected: "Projection", names: list[str]) -> None:
    """Aggregates of ir_measures' own measures, trec_eval's among them."""
    from .. import MeasureError

    try:
        import ir_measures
    except ImportError:
        raise MeasureError("--measures needs ir_measures and pytrec_eval-terrier: pip install them") from None
    try:
        measures = [ir_measures.parse_measure(name) for name in names]
        found = ir_measures.calc_aggregate(measures, projected.qrels, projected.run)
    except (NameError, ValueError, AssertionError) as problem:
        raise MeasureError(f"ir_measures: {problem}") from None
    for measure in measures:
        print(f"{measure!s}\t{found[measure]:.4f}")
