"""The arguments that commands share, and the qrels and runs they stand for."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import Convention, Measure, Qrels, Run

QRELS_FORMATS = ("jsonl", "nested", "trec", "tvr", "qvhighlights", "didemo", "axiou", "charades")
RUN_FORMATS = ("ranking", "predictions", "tvretrieval", "trec", "qvhighlights", "stal", "didemo", "axiou")
TASKS = ("VCMR", "SVMR", "VR")


def add_qrels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--qrels",
        required=True,
        metavar="FILE",
        help="judged moments: TVR-Ranking JSONL, nested JSON or TREC",
    )
    add_qrels_format(parser)


def add_qrels_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format-qrels", choices=QRELS_FORMATS, help="format of the qrels (default: told from the file)"
    )
    parser.add_argument("--moments", metavar="FILE", help="side file of TREC ids: moment_id,video,start,end")


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
    from ..formats.read_qrels import read_qrels

    return read_qrels(args.qrels, args.format_qrels, args.moments)


def load_run(args: argparse.Namespace, path: str) -> "Run":
    from .. import read_run

    return read_run(path, args.format_run, args.videos, args.moments, args.task)


def measures_of(
    args: argparse.Namespace, default: "Callable[[], list[Measure]] | None" = None
) -> "tuple[list[Measure], Convention]":
    """The measures and the convention asked for: checked before any file is read."""
    from .. import convention_named, default_measures, parse_measures

    measures = parse_measures(args.measures) if args.measures else (default or default_measures)()
    return measures, convention_named(args.convention).but(args.missing)


def save(path: str, text: str) -> None:
    """Write a file, or say in one line why not."""
    from .. import MeasureError

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
