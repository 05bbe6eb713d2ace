"""The arguments that commands share, and reading the qrels and runs that they name."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..formats import ANY_GRADE, HIGHEST_GRADE, QRELS_FORMATS, RUN_FORMATS, TASKS
from ..formats.errors import MeasureError
from ..measures.conventions import CONVENTIONS
from ..measures.names import MEASURES

if TYPE_CHECKING:
    from .. import Convention, Measure, Qrels, Run, Scores
    from ..analysis.estimates import Estimator
    from ..analysis.project import Projection

MEASURES_HELP = "measures, by example (docs/measures.md says more):\n" + "\n".join(
    f"  {name:29}  {text}" for name, text in MEASURES.items()
)


class Help(argparse.RawDescriptionHelpFormatter):
    """Help that keeps the lines of the text at its end."""


def add_qrels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--qrels",
        required=True,
        metavar="FILE",
        help="judged moments: a release (zip or folder), TVR-Ranking's JSONL, TREC, CSV, or a data set's annotations; "
        "- for standard input",
    )
    add_qrels_format(parser)


def add_qrels_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format-qrels", choices=QRELS_FORMATS, help="format of the qrels (default: told from the file)"
    )
    parser.add_argument("--moments", metavar="FILE", help="side file of TREC ids: moment_id,video,start,end")
    add_highest(parser)
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="keep and count moments that stand twice, have two grades or a grade beyond the scale, end before they "
        "start or lie before 0, instead of refusing them; the conventions of published evaluators always do",
    )


def add_highest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--highest",
        type=whole(1, ANY_GRADE),
        default=HIGHEST_GRADE,
        metavar="GRADE",
        help="the highest grade of the scale (default %(default)s)",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole(0), default=0)


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of an argument that is an integer from `least` up, or up to `most`."""

    def read(text: str) -> int:
        if text.isdecimal() and least <= int(text) <= (most or int(text)):
            return int(text)
        end = "up" if most is None else f"to {most}"
        raise argparse.ArgumentTypeError(f"{text} must be an integer from {least} {end}")

    return read


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format-run", choices=RUN_FORMATS, help="format of the runs (default: told from the file)")
    parser.add_argument("--videos", metavar="FILE", help="video index file, for runs that name videos by number")
    parser.add_argument(
        "--match-videos",
        action="store_true",
        help="give the runs' videos the names of the qrels where only case, Unicode form, white space, folder, file "
        "extension or the prefix v_ differ",
    )
    parser.add_argument("--task", choices=TASKS, help="which list of a TVRetrieval submission (default: VCMR)")
    parser.add_argument(
        "--nms",
        type=float,
        metavar="IOU",
        help="first drop predictions whose IoU with a better-scored one of the same video is higher than this",
    )


def add_measures(parser: argparse.ArgumentParser, default: str = "the table of the convention's evaluator") -> None:
    parser.add_argument(
        "--measures", nargs="+", metavar="MEASURE", help=f"such as 'nDCG_IoU(iou=0.5)@20' (default: {default})"
    )
    parser.add_argument(
        "--convention", default="paper", metavar="NAME", help=f"{', '.join(CONVENTIONS)} (default: paper)"
    )
    parser.add_argument(
        "--missing",
        choices=("zero", "skip", "error"),
        help="a judged query that is missing from the run counts 0, does not count, or is an error",
    )
    parser.add_argument(
        "--unjudged",
        choices=("error", "skip"),
        help="a query of the run that nobody judged is an error, or is left out and counted",
    )
    add_order(parser)


def add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--names",
        choices=("grammar", "paper"),
        help="how measures are named: as here, or as the convention's evaluator or a paper names them (default: in the "
        "table that a convention other than paper has by default, paper)",
    )


def namer(args: argparse.Namespace, convention: str) -> "Callable[[Measure], str]":
    """What names a measure as --names asks for."""
    by_default = args.format == "table" and not args.measures and args.convention != "paper"
    return lambda measure: measure.named(convention, args.names or ("paper" if by_default else "grammar"))


def add_order(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--order",
        choices=("given", "score"),
        help="take each list as it is given, or by its scores (default: as the convention has it)",
    )


def add_pool(parser: argparse.ArgumentParser, needed: bool) -> None:
    parser.add_argument(
        "--pool",
        required=needed,
        metavar="FILE",
        help="candidates of all ranked queries, judged or not: a release, or its pool.jsonl; scores are estimated from "
        "the judged queries, and corrected by all of them",
    )
    parser.add_argument(
        "--empty",
        choices=("refuse", "skip", "keep"),
        default="refuse",
        help="with a pool: queries without candidates are an error (the default), left out, or counted as ranked",
    )
    parser.add_argument(
        "--predictor",
        metavar="FILE",
        help="with a pool: predicted grades, a CSV or JSON lines with query, video, start, end, grade, or a run "
        "(default: mean grade of the rank)",
    )


def estimator_of(args: argparse.Namespace, confidence: float, future: bool, anytime: bool = False) -> "Estimator":
    """The estimator of the measures on the qrels and the pool."""
    from ..analysis.estimates import Estimator
    from ..formats.pool import as_pool
    from ..formats.predicted import holds_grades

    measures, convention = measures_of(args)
    qrels, predictor = load_qrels(args), args.predictor
    if predictor and not holds_grades(predictor):
        predictor = load_run(args, predictor)
    return Estimator(
        measures,
        qrels,
        as_pool(args.pool, empty=args.empty),
        convention=convention,
        predictor=predictor,
        future=future,
        confidence=confidence,
        anytime=anytime,
    )


def load_qrels(args: argparse.Namespace) -> "Qrels":
    """The qrels, also for `load_run`; what is plainly wrong with the runs beside them is said first."""
    from ..formats.qrels import read_qrels
    from ..formats.runs import look_at_run

    one = [args.run_file] if getattr(args, "run_file", None) else []
    for path in one + list(getattr(args, "runs", None) or []):
        look_at_run(path, args.format_run)
    kept = is_lenient(args)
    args.judged = read_qrels(args.qrels, args.format_qrels, args.moments, kept, args.highest).sound(kept)
    return args.judged  # type: ignore[no-any-return]


def is_lenient(args: argparse.Namespace) -> bool | None:
    """True where --lenient was given, or the convention counts what `paper` refuses; else None."""
    from .. import convention_named

    return args.lenient or convention_named(getattr(args, "convention", "paper")).lenient or None


def load_run(args: argparse.Namespace, path: str) -> "Run":
    """The run in a file, with the videos of the qrels and after the suppression, if they are asked for."""
    from ..analysis.fusion import temporal_nms
    from ..formats.runs import read_run

    moments = args.moments or getattr(args, "judged", None)
    run = read_run(path, args.format_run, args.videos, moments, args.task, bool(is_lenient(args)))
    if args.match_videos:
        if not getattr(args, "judged", None):
            raise MeasureError("--match-videos needs --qrels")
        run = run.with_videos_of(args.judged)
    return run if args.nms is None else temporal_nms(run, args.nms)


def load_runs(args: argparse.Namespace, paths: list[str]) -> "list[Run]":
    """The runs in several files under names that differ: their own or, where two are the same, their files' names;
    where two of these are the same, with as many of their folders as are needed.
    """
    runs = [load_run(args, path) for path in paths]
    longest = max(len(Path(path).parts) for path in paths)
    tails = [["/".join(Path(path).with_suffix("").parts[-depth:]) for path in paths] for depth in range(1, longest + 1)]
    candidates = [[run.name for run in runs], *tails]
    names = next((names for names in candidates if len(set(names)) == len(names)), candidates[0])
    if twice := [name for name in names if names.count(name) > 1]:
        raise MeasureError(f"two runs are called {twice[0]!r}; names must differ")
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def measures_of(
    args: argparse.Namespace, default: "Callable[[], list[Measure]] | None" = None
) -> "tuple[list[Measure], Convention]":
    """The measures and the convention asked for: checked before any file is read."""
    from .. import convention_named, default_measures, parse_measures

    convention = convention_named(args.convention)
    usual = default or (lambda: default_measures(convention))
    measures = parse_measures(args.measures) if args.measures else usual()
    return measures, convention.but(args.missing, args.unjudged, args.order)


def scores_of_runs(args: argparse.Namespace) -> "list[Scores]":
    """The scores of the runs on the qrels, with notes on queries that nobody judged."""
    from .. import scores_of

    measures, convention = measures_of(args)
    qrels = load_qrels(args)
    runs = load_runs(args, args.runs)
    if not args.measures and not (qrels.saliency and any(run.saliency for run in runs)):
        measures = [measure for measure in measures if measure.definition.family != "highlight"]
    scores = list(scores_of(measures, qrels, runs, convention).values())
    note_unjudged(scores)
    return scores


def save(path: str, text: str) -> None:
    """Write a file, or say in one line why not."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise MeasureError(f"{path}: cannot be written: {problem.strerror}") from None


def note_unjudged(results: "Sequence[Scores | Projection]") -> None:
    """Say on standard error how many queries of each run were left out because nobody judged them."""
    for result in results:
        if result.unjudged:
            print(
                f"note: run {result.name}: {len(result.unjudged)} of its queries are left out, because nobody "
                f"judged them (the first is {result.unjudged[0]!r})",
                file=sys.stderr,
            )


def plain_numbers(found: dict[str, Any]) -> dict[str, Any]:
    """The same with None for what is no finite number, as JSON needs it."""
    return {key: None if isinstance(v, float) and not isfinite(v) else v for key, v in found.items()}
