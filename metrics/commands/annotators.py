"""``annotators``: how far they agree, and how severe and how exact each of them is, from raw ratings."""

import argparse
import math
from typing import TYPE_CHECKING, Any

from ..formats.errors import MeasureError
from . import inputs, tables

if TYPE_CHECKING:
    from ..analysis.agreement import Scale, Weights
    from ..formats.arrays import Ints
    from ..formats.csv_tables import Rating, Ratings

SCALES: tuple["Scale", ...] = ("nominal", "ordinal", "interval")
WEIGHTS: tuple["Weights", ...] = ("plain", "linear", "quadratic")


def add(commands: Any) -> None:
    words = "Krippendorff's alpha and Cohen's kappa of raw ratings; severity and spread of each annotator"
    parser = commands.add_parser("annotators", help=words)
    ratings = "a release (zip or folder), or a CSV of pair_id,worker,relevance"
    parser.add_argument("--ratings", required=True, metavar="FILE", help=ratings)
    least = "shared candidates that a kappa needs (default 30)"
    parser.add_argument("--least", type=inputs.whole(1), default=30, help=least)
    together = (
        "pairs of a batch, by their numbers: pair_id // N is the batch (default: the column batch, if there is one)"
    )
    parser.add_argument("--batch-size", type=inputs.whole(1), metavar="N", help=together)
    parser.add_argument("--severity", action="store_true", help="print severity and spread of each annotator instead")
    inputs.add_highest(parser)
    inputs.add_format(parser)
    parser.set_defaults(run=annotators)


def annotators(args: argparse.Namespace) -> None:
    from ..formats.csv_tables import Ratings, rating_rows

    read = [rating for _, rating in rating_rows(args.ratings, args.highest)]
    ratings, batches = Ratings.of(read), batches_of(args, read)
    (severities if args.severity else agreements)(args, ratings, batches)


def batches_of(args: argparse.Namespace, read: "list[Rating]") -> "Ints | None":
    """The number of each rating's batch; None if nothing tells it."""
    from ..formats.columns import Numbers

    names = [rating.batch for rating in read]
    if args.batch_size:
        if wrong := next((rating.pair for rating in read if not rating.pair.isdecimal()), None):
            raise MeasureError(f"--batch-size needs pairs that are numbered; {args.ratings} has {wrong!r}")
        names = [str(int(rating.pair) // args.batch_size) for rating in read]
    if None in names:
        return None
    return Numbers().of(names)


def severities(args: argparse.Namespace, ratings: "Ratings", batches: "Ints | None") -> None:
    """A line for each annotator whom somebody else can be compared with."""
    from ..analysis.records import in_cells
    from ..analysis.severity import severity

    found = severity(ratings, batches, args.highest)
    if not found.annotator.size:
        raise MeasureError(f"{args.ratings}: no pair was rated by two workers")
    (low, high), (spread_low, spread_high) = found.severity_interval.T, found.spread_interval.T
    rows = in_cells(
        {"worker": [ratings.workers[number] for number in found.annotator.tolist()]},
        ratings=found.ratings,
        severity=found.severity,
        low=low,
        high=high,
        spread=found.spread,
        spread_low=spread_low,
        spread_high=spread_high,
    )
    document = {"pairs": len(found.candidate), "annotators": list(map(inputs.plain_numbers, rows))}
    tables.print_rows(args.format, rows, document)


def agreements(args: argparse.Namespace, ratings: "Ratings", batches: "Ints | None") -> None:
    from ..analysis.agreement import alpha_with_interval, kappas

    found_alphas = {scale: alpha_with_interval(ratings, batches, scale) for scale in SCALES}
    values: dict[str, float] = {}
    for scale, (value, (low, high)) in found_alphas.items():
        values |= {f"alpha {scale}": value, f"alpha {scale} low": low, f"alpha {scale} high": high}
    pairs = 0
    for weights in WEIGHTS:
        found = [pair for pair in kappas(ratings, weights, args.least) if not math.isnan(pair.kappa)]
        pairs, shared = len(found), sum(pair.shared for pair in found)
        weighted = sum(pair.kappa * pair.shared for pair in found)
        values[f"kappa {weights}"] = weighted / shared if shared else math.nan
    if args.format == "json":
        tables.print_json({"ratings": ratings.grade.size, "pairs": pairs} | inputs.plain_numbers(values))
        return
    if args.format == "csv":
        print("measure,value")
        print("\n".join(f"{name},{value!r}" for name, value in values.items()))
        return
    print(f"{ratings.grade.size} ratings; kappa over {pairs} pairs of annotators, weighted by shared candidates")
    drawn = "pairs" if batches is None else "batches"
    for name, value in values.items():
        low, high = values.get(f"{name} low", math.nan), values.get(f"{name} high", math.nan)
        ends = "" if math.isnan(low) else f"  95 % interval {low:.3f} to {high:.3f}, drawn by {drawn}"
        if not name.endswith((" low", " high")):
            print(f"{name:16}  {value:.3f}{ends}")
