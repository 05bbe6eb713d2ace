"""The arguments that commands share, and the qrels and runs they stand for."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..formats.errors import MeasureError

if TYPE_CHECKING:
    from .. import Convention, Measure, Qrels, Run

QRELS_FORMATS = (
    "jsonl",
    "nested",
    "trec",
    "csv",
    "tvr",
    "qvhighlights",
    "didemo",
    "axiou",
    "charades",
    "activitynet",
    "tacos",
)
RUN_FORMATS = ("ranking", "predictions", "tvretrieval", "trec", "qvhighlights", "stal", "didemo", "axiou")
TASKS = ("VCMR", "SVMR", "VR")


def add_qrels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--qrels",
        required=True,
        metavar="FILE",
        help="judged moments: TVR-Ranking's JSONL, TREC, CSV, or a data set's annotations; - for standard input",
    )
    add_qrels_format(parser)


def add_qrels_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format-qrels", choices=QRELS_FORMATS, help="format of the qrels (default: told from the file)"
    )
    parser.add_argument("--moments", metavar="FILE", help="side file of TREC ids: moment_id,video,start,end")
    parser.add_argument("--scale", type=int, default=4, metavar="GRADE", help="the highest grade (default 4)")
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="count moments that stand twice, have two grades or a grade beyond the scale, end before they start "
        "or lie before 0, instead of refusing them; the conventions of published evaluators always do",
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format-run", choices=RUN_FORMATS, help="format of the runs (default: told from the file)"
    )
    parser.add_argument(
        "--videos", metavar="FILE", help="video index file, for runs that name videos by number"
    )
    parser.add_argument(
        "--task", choices=TASKS, help="which list of a TVRetrieval submission (default: VCMR)"
    )


def add_measures(parser: argparse.ArgumentParser, default: str = "NDCG@10,20,40 at IoU 0.3,0.5,0.7") -> None:
    parser.add_argument(
        "--measures",
        nargs="+",
        metavar="MEASURE",
        help=f"such as 'nDCG_IoU(iou=0.5)@20' (default: {default})",
    )
    parser.add_argument(
        "--convention",
        default="paper",
        metavar="NAME",
        help="paper (default), released, spr, tvr, stal, qvhighlights",
    )
    parser.add_argument(
        "--missing",
        choices=("zero", "skip", "error"),
        help="a judged query that the run lacks counts 0, not at all, or is an error",
    )


def load_qrels(args: argparse.Namespace) -> "Qrels":
    """The qrels; what is plainly wrong with the runs beside them is said first."""
    from ..formats.checks import ANY_GRADE
    from ..formats.read_qrels import read_qrels
    from ..formats.read_runs import look_at_run

    if not 1 <= args.scale <= ANY_GRADE:
        raise MeasureError(f"--scale is {args.scale}; it must be an integer from 1 to {ANY_GRADE}")
    for path in runs_of(args):
        look_at_run(path, args.format_run)
    return read_qrels(args.qrels, args.format_qrels, args.moments, is_lenient(args) or None, args.scale)


def runs_of(args: argparse.Namespace) -> list[str]:
    """The paths of all runs that a command takes."""
    one = [args.run_file] if getattr(args, "run_file", None) else []
    return one + list(getattr(args, "runs", None) or [])


def is_lenient(args: argparse.Namespace) -> bool:
    """Published evaluators take what they are given, so their conventions count what `paper` refuses."""
    return bool(args.lenient) or getattr(args, "convention", "paper") != "paper"


def load_run(args: argparse.Namespace, path: str) -> "Run":
    from ..formats.read_runs import read_run

    return read_run(path, args.format_run, args.videos, args.moments, args.task, is_lenient(args))


def measures_of(
    args: argparse.Namespace, default: "Callable[[], list[Measure]] | None" = None
) -> "tuple[list[Measure], Convention]":
    """The measures and the convention asked for: checked before any file is read."""
    from .. import convention_named, default_measures, parse_measures

    measures = parse_measures(args.measures) if args.measures else (default or default_measures)()
    return measures, convention_named(args.convention).with_missing(args.missing)


def save(path: str, text: str) -> None:
    """Write a file, or say in one line why not."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise MeasureError(f"{path}: cannot be written: {problem.strerror}") from None


def named_apart(runs: "list[Run]", paths: list[str]) -> "list[Run]":
    """The runs with names that differ: of runs called the same, the file names decide."""
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return runs
    return [replace(run, name=Path(path).stem) for run, path in zip(runs, paths, strict=True)]


def plain_numbers(found: dict[str, Any]) -> dict[str, Any]:
    """The same with None for what is not a number, as JSON needs it."""
    return {key: None if isinstance(v, float) and v != v else v for key, v in found.items()}
