"""Cutting clips in a process of its own, so that a hostile film can harm that process only.

The parent writes one line of JSON for each clip, or for each film whose length it asks for, and reads one line back.
`python -m corpus.cutter` is the child.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from select import select
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from corpus.errors import CorpusError, FilmAway, Unavailable

SECONDS_BETWEEN_SIGNS = 5.0
LARGEST_CLIP = 2**30  # bytes
ROOT = Path(__file__).parent.parent
KINDS = {kind.__name__: kind for kind in (CorpusError, FilmAway, Unavailable)}  # of errors
FROM_OUTSIDE = {
    SIGHUP.name,
    SIGINT.name,
    SIGKILL.name,
    SIGTERM.name,
}  # as when the machine stops; no film sends them


@dataclass
class Cutter:
    """Cuts clips one after the other in a process that is killed if it fails or takes too long.

    The process gets no secrets, because its environment is empty. Its time and its memory are limited. Where the kernel
    offers it, the process has no network, and reads no files but those beside the film.
    """

    seconds: float  # for one clip
    memory: int  # MiB
    process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    readable: Path | None = field(init=False, default=None)  # the folder that the process may read
    writable: TemporaryDirectory[str] = field(init=False)

    def __enter__(self) -> Cutter:
        self.writable = TemporaryDirectory()
        return self

    def __exit__(self, *fault: object) -> None:
        self._end()
        self.writable.cleanup()

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
        """Cut a clip as `corpus.cutting.cut` does, and call `sign` every few seconds meanwhile.

        Raises
        ------
        CorpusError
            For the reasons of `corpus.cutting.cut`, and if cutting exceeds the limits; `Unavailable` if somebody ended
            the process from outside.
        """
        made = Path(self.writable.name) / "clip.mp4"
        self._ask(source, [start, end, str(made), frame_rate, with_sound], sign)
        shutil.move(made, to)

    def length(self, source: Path, sign: Callable[[], None] = lambda: None) -> float:
        """Return the seconds that a film lasts, and call `sign` every few seconds meanwhile.

        Raises
        ------
        CorpusError
            If the film cannot be read or does not tell them, and for the reasons of `cut`.
        """
        return float(self._ask(source, [], sign))

    def _ask(self, source: Path, rest: list[Any], sign: Callable[[], None]) -> Any:
        """Let the process do something with a film, and return what it answers."""
        film = source.resolve()
        if film.parent != self.readable:
            self._end()
            self.readable = film.parent
        process = self.process = self.process or self._begin(film.parent)
        order = [str(film), *rest]
        with suppress(
            BrokenPipeError
        ):  # The process has ended since the last clip. Its answer is empty then.
            os.write(_pipe(process.stdin), json.dumps(order).encode() + b"\n")
        answer = self._answer(_pipe(process.stdout), sign)
        if answer is None:
            self._end()
            raise CorpusError(f"{source.name}: cutting took more than {self.seconds:g} seconds")
        if not answer:
            how = self._end()
            kind = Unavailable if how in FROM_OUTSIDE else CorpusError
            raise kind(f"{source.name}: cutting was broken off ({how})")
        done, error = json.loads(answer)
        if error:
            self._end()
            raise KINDS[error[0]](error[1])
        return done

    def _begin(self, readable: Path) -> subprocess.Popen[bytes]:
        limits = (str(self.seconds), str(self.memory), str(readable), self.writable.name)
        return subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            [sys.executable, "-m", "corpus.cutter", *limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={"MALLOC_ARENA_MAX": "2"},  # an arena for each thread would use up the address space
            process_group=0,  # Ctrl-C reaches the parent only, which then ends this process
        )

    def _answer(self, pipe: int, sign: Callable[[], None]) -> bytes | None:
        """Return the line that comes back: empty if the process has ended, None if it is late."""
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
        """End the process, if there is one, and return how it ended."""
        process, self.process = self.process, None
        if process is None:
            return ""
        process.kill()
        for pipe in (process.stdin, process.stdout):
            cast(IO[bytes], pipe).close()
        with suppress(subprocess.TimeoutExpired):  # a disk that does not answer can delay its end
            process.wait(5)
        code = process.returncode or 0
        return Signals(-code).name if code < 0 else f"exit status {code}"


def _pipe(pipe: IO[bytes] | None) -> int:
    return cast(IO[bytes], pipe).fileno()


def main(seconds: float, memory: int, readable: Path, writable: Path) -> None:
    """Run the child process: do what each line orders, and answer with the outcome and the error, or null."""
    from corpus.confinement import confine

    confine([readable, ROOT / "corpus", ROOT / "base"], writable)
    from corpus.cutting import cut, length  # after that, because its libraries start threads

    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory * 2**20, memory * 2**20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_CLIP, LARGEST_CLIP))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        source, *rest = json.loads(line)
        limit_work(seconds)
        done, error = None, None
        try:
            if rest:
                start, end, to, frame_rate, with_sound = rest
                cut(Path(source), start, end, Path(to), frame_rate, with_sound)
            else:
                done = length(Path(source))
        except CorpusError as fault:
            error = [type(fault).__name__, str(fault)]
        print(json.dumps([done, error]), flush=True)


def limit_work(seconds: float) -> None:
    """Limit the CPU time of this process to that many seconds on all cores, so that it ends without its parent too."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = used.ru_utime + used.ru_stime + seconds * (os.cpu_count() or 1)
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(most), resource.RLIM_INFINITY))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
