"""``annotators``: agreement among annotators, from raw ratings."""

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from . import inputs

if TYPE_CHECKING:
    from ..analysis.agreement import Scale, Weights

SCALES: tuple["Scale", ...] = ("nominal", "ordinal", "interval")
WEIGHTS: tuple["Weights", ...] = ("plain", "linear", "quadratic")


def add(commands: Any) -> None:
    parser = commands.add_parser("annotators", help="Krippendorff's alpha and Cohen's kappa of raw ratings")
    parser.add_argument("--ratings", required=True, metavar="FILE", help="CSV: pair_id,worker,relevance")
    least = "shared candidates that a kappa needs (default 30)"
    parser.add_argument("--least", type=inputs.whole(1), default=30, help=least)
    inputs.add_scale(parser)
    inputs.add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from ..analysis.agreement import alpha, kappas
    from ..formats.ratings import read_ratings

    ratings = read_ratings(args.ratings, args.scale)
    values: dict[str, float] = {f"alpha {scale}": alpha(ratings, scale) for scale in SCALES}
    pairs = 0
    for weights in WEIGHTS:
        found = [pair for pair in kappas(ratings, weights, args.least) if not math.isnan(pair.kappa)]
        pairs, shared = len(found), sum(pair.shared for pair in found)
        weighted = sum(pair.kappa * pair.shared for pair in found)
        values[f"kappa {weights}"] = weighted / shared if shared else math.nan
    if args.format == "json":
        print(json.dumps({"ratings": ratings.grade.size, "pairs": pairs} | inputs.plain_numbers(values), indent=2))
        return
    if args.format == "csv":
        print("measure,value")
        print("\n".join(f"{name},{value!r}" for name, value in values.items()))
        return
    print(f"{ratings.grade.size} ratings; kappa over {pairs} pairs of annotators, weighted by shared candidates")
    for name, value in values.items():
        print(f"{name:16}  {value:.3f}")
