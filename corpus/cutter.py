"""A process of its own that cuts clips: what a hostile film does to it, it does to nobody else.

The parent writes one line of JSON for each clip, and reads one back; `python -m corpus.cutter` is the other end.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from select import select
from signal import Signals
from typing import IO, cast

from corpus.errors import CorpusError

SECONDS_BETWEEN_SIGNS = 5.0
LARGEST_CLIP = 2**30  # bytes
ROOT = Path(__file__).parent.parent


@dataclass
class Cutter:
    """Cuts clips one after the other, in a process that is ended when it fails or takes too long.

    That process is given no secrets (its environment is empty), and its time and memory are limited.
    """

    seconds: float  # for one clip
    memory: int  # MiB
    process: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def __enter__(self) -> Cutter:
        return self

    def __exit__(self, *fault: object) -> None:
        self._end()

    def cut(
        self,
        source: Path,
        start: float,
        end: float,
        to: Path,
        frame_rate: float | None = None,
        with_sound: bool = False,
        sign: Callable[[], None] = lambda: None,
    ) -> None:
        """As `corpus.cutting.cut`, calling `sign` every few seconds; CorpusError also beyond the limits."""
        process = self.process = self.process or self._begin()
        order = [str(source), start, end, str(to), frame_rate, with_sound]
        with suppress(BrokenPipeError):  # it has ended since the last clip, and so its answer is none
            os.write(_pipe(process.stdin), json.dumps(order).encode() + b"\n")
        answer = self._answer(_pipe(process.stdout), sign)
        if answer is None:
            self._end()
            raise CorpusError(f"{source.name}: cutting took more than {self.seconds:g} seconds")
        if not answer:
            raise CorpusError(f"{source.name}: cutting was broken off ({self._end()})")
        if error := json.loads(answer):
            self._end()
            raise CorpusError(error)

    def _begin(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            [sys.executable, "-m", "corpus.cutter", str(self.seconds), str(self.memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={"MALLOC_ARENA_MAX": "2"},  # an arena for each thread would use up the address space
            process_group=0,  # Ctrl-C reaches the parent only, which then ends it
        )

    def _answer(self, pipe: int, sign: Callable[[], None]) -> bytes | None:
        """The line that comes back, empty when the process has ended, None when it is late."""
        deadline = time.monotonic() + self.seconds
        line = b""
        while (left := deadline - time.monotonic()) > 0:
            if not select([pipe], [], [], min(left, SECONDS_BETWEEN_SIGNS))[0]:
                sign()
            elif (part := os.read(pipe, 4096)) and not part.endswith(b"\n"):
                line += part
            else:
                return line + part
        return None

    def _end(self) -> str:
        """End the process, if there is one; returns how it ended."""
        process, self.process = self.process, None
        if process is None:
            return ""
        process.kill()
        for pipe in (process.stdin, process.stdout):
            cast(IO[bytes], pipe).close()
        with suppress(subprocess.TimeoutExpired):  # a disk that does not answer may hold it
            process.wait(5)
        code = process.returncode or 0
        return Signals(-code).name if code < 0 else f"exit status {code}"


def _pipe(pipe: IO[bytes] | None) -> int:
    return cast(IO[bytes], pipe).fileno()


def main(seconds: float, memory: int) -> None:
    """The other end: cut what each line orders, and answer with what was wrong, or null."""
    from corpus.cutting import cut

    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory * 2**20, memory * 2**20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_CLIP, LARGEST_CLIP))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        source, start, end, to, frame_rate, with_sound = json.loads(line)
        limit_work(seconds)
        try:
            cut(Path(source), start, end, Path(to), frame_rate, with_sound)
            error = None
        except CorpusError as fault:
            error = str(fault)
        print(json.dumps(error), flush=True)


def limit_work(seconds: float) -> None:
    """Let all cores work for that long from now: it ends this process also when the parent is gone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = used.ru_utime + used.ru_stime + seconds * (os.cpu_count() or 1)
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(most), resource.RLIM_INFINITY))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
