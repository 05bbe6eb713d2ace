"""Importing a corpus of a million lines, for the first time and once more: seconds, and memory at its peak."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.databases import on_each
from tests.installation import ROOT, Installation

LINES = 1_000_000
PER_VIDEO = 5
WORDS = ("she", "he", "walks", "opens", "a", "door", "sits", "talks", "with", "man", "holds", "red", "cup", "leaves")
LINE = '{{"vid_name": "film-{0}", "duration": 95.5, "ts": [{1:.2f}, {2:.2f}], "desc": "{3}.", "type": "v"}}\n'


def figures() -> Iterator[str]:
    yield from on_each(_measured)


def _measured(place: Installation) -> Iterator[str]:
    file = place.home / "million.jsonl"
    _write(file)
    for what in ("a million lines", "the same once more"):
        seconds, memory = _imported(place, file)
        yield f"{what}: {seconds:.0f} s, {memory:.0f} MB at the peak"


def _write(file: Path) -> None:
    chance = random.Random(1)
    with file.open("w") as out:
        for number in range(LINES):
            start = chance.uniform(0, 80)
            words = " ".join(chance.choices(WORDS, k=12))
            out.write(LINE.format(number // PER_VIDEO, start, start + chance.uniform(1, 15), words))


def _imported(place: Installation, file: Path) -> tuple[float, float]:
    """Return the seconds and the megabytes of a command of its own."""
    command = [sys.executable, "manage.py", "import_corpus", "million", str(file), "--format", "tvr"]
    began = time.perf_counter()
    importing = subprocess.Popen(command, cwd=ROOT, env=place.env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(importing.pid, 0)
    importing.returncode = os.waitstatus_to_exitcode(status)
    assert importing.returncode == 0
    return time.perf_counter() - began, usage.ru_maxrss * 1024 / 1e6
