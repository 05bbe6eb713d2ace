"""What benchmarks share: times of steps that take turns, and functions that run in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

SHARED = Path(__file__).resolve().parents[1] / os.environ.get("REELJUDGE_SHARED", "../shared") / "data"
T = TypeVar("T")


class Skipped(Exception):
    """What a benchmark needs is not here."""


def need(is_there: bool, what: str = "the shared data (REELJUDGE_SHARED)") -> None:
    """Raise Skipped if something is not here."""
    if not is_there:
        raise Skipped(f"skipped: it needs {what}")


def in_turn(steps: Sequence[Callable[[T], object]], inputs: Iterable[T], warming: int = 0) -> list[list[float]]:
    """Return the seconds of each step with each input, A B A B …; the first inputs are for warming up."""
    seconds: list[list[float]] = [[] for _ in steps]
    for turn, each in enumerate(inputs):
        for times, step in zip(seconds, steps, strict=True):
            began = time.perf_counter()
            step(each)
            if turn >= warming:
                times.append(time.perf_counter() - began)
    return seconds


def best_of(times: int, work: Callable[[], object]) -> float:
    """Return the shortest of several runs, in seconds."""
    return min(in_turn([lambda _: work()], range(times))[0])


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far, that of the system included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alone(function: str, *arguments: object) -> Any:
    """Return what a function such as `streaming.ranked` returns in a process that does nothing else."""
    command = [sys.executable, "-m", "benchmarks.measuring", function, *map(str, arguments)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main(function: str, *arguments: str) -> None:
    """Print what a function of a benchmark returns, as JSON."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    module, _, name = function.partition(".")
    print(json.dumps(getattr(import_module(f"benchmarks.{module}"), name)(*arguments)))


if __name__ == "__main__":
    main(*sys.argv[1:])
