"""``convert`` and ``project``: qrels and runs in another format, or as matched moments for TREC's tools."""

import argparse
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..formats import check_name
from ..formats.errors import MeasureError
from . import inputs

if TYPE_CHECKING:
    from ..analysis.project import Projection

TO_QRELS = ("jsonl", "nested", "trec", "qvhighlights", "ego4d", "xinfap", "beir")
TO_RUN = (
    *("ranking", "predictions", "tvretrieval", "trec", "qvhighlights"),
    *("lighthouse", "ego4d", "trecvid", "dres", "beir"),
)


def add(commands: Any) -> None:
    add_convert(commands.add_parser("convert", help="write qrels or a run in another format"))
    what = "turn matched predictions into a TREC run of moment ids"
    add_project(commands.add_parser("project", help=what))


def add_convert(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--qrels", metavar="FILE", help="qrels to convert")
    what.add_argument("--run", dest="run_file", metavar="FILE", help="run to convert")
    parser.add_argument(
        "--to", required=True, metavar="FORMAT", help=f"qrels: {', '.join(TO_QRELS)}; runs: {', '.join(TO_RUN)}"
    )
    parser.add_argument("--out", metavar="FILE", help="write here (default: standard output)")
    parser.add_argument("--moments-out", metavar="FILE", help="also write the side file of exact times here")
    parser.add_argument(
        "--queries",
        metavar="FILE",
        help="qrels whose ids and videos replace those of a run that names queries by their texts, as Lighthouse does",
    )
    inputs.add_qrels_format(parser)
    inputs.add_run_options(parser)
    parser.set_defaults(run=convert)


def convert(args: argparse.Namespace) -> None:
    if args.qrels and args.queries:
        raise MeasureError("--queries goes with a run, not with qrels")
    text = convert_qrels(args) if args.qrels else convert_run(args)
    if args.out:
        inputs.save(args.out, text)
    else:
        sys.stdout.write(text)


def convert_qrels(args: argparse.Namespace) -> str:
    from ..formats.csv_tables import side_file
    from ..formats.qrels import QRELS_WRITERS

    qrels = inputs.load_qrels(args)
    check_name("qrels format", args.to, TO_QRELS)
    if args.moments_out:
        inputs.save(args.moments_out, side_file(qrels))
    return QRELS_WRITERS[args.to](qrels)


def convert_run(args: argparse.Namespace) -> str:
    from ..formats.csv_tables import side_file
    from ..formats.json_runs import read_video_index, run_as_predictions
    from ..formats.qrels import as_qrels
    from ..formats.runs import RUN_WRITERS

    run = inputs.load_run(args, args.run_file)
    if args.queries:
        run = run.of_texts(as_qrels(args.queries, inputs.is_lenient(args), args.highest))
    check_name("run format", args.to, TO_RUN)
    if args.moments_out:
        inputs.save(args.moments_out, side_file(run))
    if args.to in ("trec", "beir"):
        note_new_scores(run)
    if args.to != "predictions":
        return RUN_WRITERS[args.to](run)
    if not args.videos:
        raise MeasureError("this format names videos by index: give the video index file by --videos")
    return run_as_predictions(run, {name: n for n, name in read_video_index(args.videos).items()})


def note_new_scores(run: Any) -> None:
    """Say on standard error for how many queries the scores are replaced by ranks."""
    from ..formats.trec import falls

    bounds = run.offsets.tolist()
    flat = sum(not falls(run.scores[low:high]) for low, high in pairwise(bounds))
    if flat:
        print(f"note: scores of {flat} queries do not fall strictly; ranks replace them", file=sys.stderr)


def add_project(parser: argparse.ArgumentParser) -> None:
    inputs.add_qrels(parser)
    parser.add_argument("--run", required=True, dest="run_file", metavar="FILE", help="the run")
    inputs.add_run_options(parser)
    parser.add_argument("--iou", type=float, default=0.5, help="threshold of the match (default 0.5)")
    parser.add_argument("--convention", default="paper", metavar="NAME", help="whose matching (default: paper)")
    inputs.add_order(parser)
    parser.add_argument("--out", metavar="FILE", help="write the TREC run here (default: standard output)")
    parser.add_argument("--qrels-out", metavar="FILE", help="write the TREC qrels here")
    parser.add_argument(
        "--measures", nargs="+", metavar="MEASURE", help="score the projection with ir_measures: nDCG@20 AP RR …"
    )
    parser.set_defaults(run=project)


def project(args: argparse.Namespace) -> None:
    from ..analysis import project as projection

    qrels = inputs.load_qrels(args)
    projected = projection.project(qrels, inputs.load_run(args, args.run_file), args.iou, args.convention, args.order)
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
