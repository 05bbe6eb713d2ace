"""STAL's systems without vision on Charades-STA, over all candidate moments: python -m benchmarks.charades --help."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.first_hits import IOUS, first_hits, overlaps_of, summary
from metrics.formats.annotations import charades_line
from metrics.formats.errors import Place
from systems.commands import options_of
from systems.data import Data, Example, Query, Videos
from systems.exhaustive import Exhaustive, Index
from systems.interface import entry, system
from systems.windows import clips_in

CLIP_SECONDS = 3.0
SHARED = Path(os.environ.get("REELJUDGE_SHARED", "../shared")) / "data" / "charades_sta"


def examples_in(file: Path) -> list[Example]:
    """Return the moments of an annotation file, each with its sentence as query."""
    examples = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        video, start, end, text = charades_line(Place(file.name, f"line {number}"), line)
        if start < end:
            examples.append(Example(Query(f"{file.stem}-{number}", text), video, start, end))
    return examples


def videos_of(examples: Sequence[Example], durations: dict[str, float]) -> Videos:
    """Return the videos without features: as long as `durations` says, but to the end of their last moment at least."""
    longest: dict[str, float] = {}
    for each in examples:
        longest[each.video] = max(longest.get(each.video, durations.get(each.video, 0.0)), each.end)
    duration = np.array(list(longest.values()))
    counts = clips_in(duration, CLIP_SECONDS)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    nothing = np.zeros((int(offsets[-1]), 0), np.float32)
    return Videos(tuple(longest), duration, offsets, nothing, CLIP_SECONDS)


def oracle(index: Index, examples: Sequence[Example]) -> list[float]:
    """Return the share of examples, in per cent, that some window of their video hits, for each IoU."""
    highest = np.array([iou.max() for _, iou in overlaps_of(index, examples)])
    return [100 * float((highest >= least).mean()) for least in IOUS]


def measured(
    name: str, data: Data, test: Videos, examples: Sequence[Example], **options: Any
) -> tuple[dict[str, float], dict[str, float]]:
    """Train a system, and return what `summary` says of it over all videos, and within the query's own video."""
    with tempfile.TemporaryDirectory() as folder:
        made = cast(Exhaustive, system(name, Path(folder) / name, **options))
        made.train(data)
        index = made.look_at(test)
        return summary(first_hits(made, index, examples)), summary(first_hits(made, index, examples, True))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.charades", description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of the annotations")
    parser.add_argument("--durations", type=Path, help="JSON: seconds by video; without it, the largest end")
    parser.add_argument("--systems", nargs="+", default=["chance", "prior", "tef_only"])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(1, 21)), help="of chance")
    parser.add_argument("--iterations", type=int, default=1000, help="of TEF-only")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of TEF-only")
    args = parser.parse_args(arguments)
    durations = json.loads(args.durations.read_text()) if args.durations else {}
    train, examples = (examples_in(args.data / f"charades_sta_{part}.txt") for part in ("train", "test"))
    data, test = Data(videos_of(train, durations), train), videos_of(examples, durations)
    with tempfile.TemporaryDirectory() as folder:
        index = cast(Exhaustive, system("chance", Path(folder))).look_at(test)
    print(
        f"{len(examples):,} queries, {len(test):,} videos, {len(index.windows):,} windows; oracle",
        oracle(index, examples),
    )
    extra = options_of(entry("tef_only").options, args.option)
    options: dict[str, dict[str, Any]] = {"tef_only": {"iterations": args.iterations} | extra}
    for name in args.systems:
        for seed in args.seeds if name == "chance" else args.seeds[:1]:
            everywhere, inside = measured(name, data, test, examples, seed=seed, **options.get(name, {}))
            print(name, seed, everywhere, "in one video:", inside, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
