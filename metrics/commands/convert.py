"""``convert``: qrels and runs from one format to another."""

import argparse
import sys
from itertools import pairwise
from typing import Any

from ..formats.names import check_name
from . import inputs

TO_QRELS = ("jsonl", "nested", "trec")
TO_RUN = ("ranking", "predictions", "tvretrieval", "trec")


def add(commands: Any) -> None:
    parser = commands.add_parser("convert", help="write qrels or a run in another format")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--qrels", metavar="FILE", help="qrels to convert")
    what.add_argument("--run", dest="run_file", metavar="FILE", help="run to convert")
    parser.add_argument(
        "--to",
        required=True,
        metavar="FORMAT",
        help="qrels: jsonl, nested, trec; runs: ranking, predictions, tvretrieval, trec",
    )
    parser.add_argument("--out", metavar="FILE", help="write here (default: standard output)")
    parser.add_argument("--moments-out", metavar="FILE", help="also write the side file of exact times here")
    inputs.add_qrels_format(parser)
    inputs.add_run_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
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
    from .. import MeasureError
    from ..formats.csv_tables import side_file
    from ..formats.json_runs import read_video_index, run_as_predictions
    from ..formats.runs import RUN_WRITERS

    run = inputs.load_run(args, args.run_file)
    check_name("run format", args.to, TO_RUN)
    if args.moments_out:
        inputs.save(args.moments_out, side_file(run))
    if args.to == "trec":
        note_new_scores(run)
    if args.to != "predictions":
        return RUN_WRITERS[args.to](run)
    if not args.videos:
        raise MeasureError("this format names videos by index: give the video index file with --videos")
    return run_as_predictions(run, {name: n for n, name in read_video_index(args.videos).items()})


def note_new_scores(run: Any) -> None:
    """Say on standard error for how many queries the scores are replaced by ranks."""
    from ..formats.trec import falls

    bounds = run.offsets.tolist()
    flat = sum(not falls(run.scores[low:high]) for low, high in pairwise(bounds))
    if flat:
        print(f"note: scores of {flat} queries do not fall strictly; ranks replace them", file=sys.stderr)
