"""Train the systems on planted collections, and print recall and median rank: python -m benchmarks.planted_systems."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.first_hits import first_hits, summary
from benchmarks.planted import Planted, planted
from systems.data import Data
from systems.exhaustive import Exhaustive
from systems.interface import system

SYSTEMS = ("chance", "prior", "tef_only", "mcn", "stal_clips", "stal")
WINDOWS: dict[str, Any] = {"shortest": 2, "longest": 6}


def training(iterations: int) -> dict[str, Any]:
    """Return the options of a training. Without dropout, systems find less (docs/systems.md)."""
    return {"iterations": iterations, "dropout": 0.3, "decay_every": max(1, iterations * 7 // 10)}


def measured(name: str, corpus: Planted, folder: Path, **options: Any) -> dict[str, float]:
    """Train a system without a validation set, and return what `summary` says of it, with the seconds of training."""
    made = cast(Exhaustive, system(name, folder, **WINDOWS, **options))
    began = time.perf_counter()
    made.train(Data(corpus.training.videos, corpus.training.examples))
    seconds = time.perf_counter() - began
    index = made.look_at(corpus.test)
    return summary(first_hits(made, index, corpus.examples)) | {"seconds": seconds}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted_systems", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--videos", type=int, nargs=2, default=[1600, 250], help="to learn from and to search")
    parser.add_argument("--concepts", type=int, default=80)
    parser.add_argument("--empty", type=float, help="objects are detected too, but in this share of clips none")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of trained systems")
    args = parser.parse_args(arguments)
    extra = dict(option.split("=", 1) for option in args.option)
    options = {name: _value(value) for name, value in extra.items()}
    rows: dict[str, list[dict[str, float]]] = {}
    for seed in args.seeds:
        corpus = planted(seed, args.videos[0], args.videos[1], args.concepts, args.empty)
        for name in args.systems:
            trained = {} if name in ("chance", "prior") else training(args.iterations) | options
            with tempfile.TemporaryDirectory() as folder:
                found = measured(name, corpus, Path(folder) / name, seed=seed, **trained)
            rows.setdefault(name, []).append(found)
            print(f"{seed:4} {name:12}", *(f"{key} {value:8.2f}" for key, value in found.items()), flush=True)
    for name, each in rows.items():
        means = {key: np.mean([row[key] for row in each]) for key in each[0]}
        print(f"mean {name:12}", *(f"{key} {value:8.2f}" for key, value in means.items()))


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
