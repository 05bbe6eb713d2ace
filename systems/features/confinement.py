"""Work on files that others have made, in a process of its own, so that a hostile file can harm that process only.

The parent writes one line of JSON for each piece of work, and reads one line back. This module, run by itself, is
the child. It has no network and reads no other files, as far as the kernel lets it (Linux): it calls `unshare` for a
network namespace without any connection, and the three calls of Landlock, which limit a process to some folders. None
needs privileges, and what the kernel does not offer is left open.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import struct
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from math import ceil
from pathlib import Path
from select import select
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals
from tempfile import TemporaryDirectory
from typing import IO, Any, ClassVar, Self, cast

SECONDS_BETWEEN_SIGNS = 5.0
PACKAGE = __package__ or ""
# The folder that Python finds this library in: the checkout, or that of installed packages.
ROOT = Path(__file__).parents[PACKAGE.count(".") + 1]
# As when the machine stops; no file sends these.
FROM_OUTSIDE = {SIGHUP.name, SIGINT.name, SIGKILL.name, SIGTERM.name}
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # numbers of calls, the same on all usual processors
VERSION_ONLY, PATH_BENEATH = 1, 1
NO_NEW_PRIVILEGES = 38
# Landlock's rights to files: how many there are since each version, and those of reading (files and folders).
RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
READ_FILE = 1 << 2
READ = READ_FILE | 1 << 3
WRITE_FILE = 1 << 1
# Files of the kernel that torch opens; none tells or keeps anything of this machine's users.
OF_KERNEL = {"/dev/urandom": READ_FILE, "/dev/null": READ_FILE | WRITE_FILE, "/proc/cpuinfo": READ_FILE}


@dataclass
class Confined:
    """Does one piece of work after the other in a process that is killed if it fails or takes too long.

    The process gets no secrets, because its environment is empty. Its time and its memory are limited. Where the kernel
    offers it, the process has no network, and reads no files but those of one folder.

    seconds: the longest time that a piece of work may take.
    memory: MiB of address space.
    """

    seconds: float
    memory: int
    process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    readable: Path | None = field(init=False, default=None)  # the folder that the process may read
    writable: TemporaryDirectory[str] = field(init=False)

    module: ClassVar[str]  # has `work`, which the process calls, and `FAULTS`, the errors that it may raise
    packages: ClassVar[tuple[str, ...]] = ()  # beside this library, whose modules the process imports
    doing: ClassVar[str]  # what the work is, for messages
    largest: ClassVar[int]  # bytes of a file that the process writes
    # Of the errors that come back; the first is for a process that fails.
    kinds: ClassVar[dict[str, type[Exception]]]
    stopped: ClassVar[type[Exception]]  # for a process that somebody ended from outside

    def __enter__(self) -> Self:
        self.writable = TemporaryDirectory()
        return self

    def __exit__(self, *fault: object) -> None:
        self._end()
        self.writable.cleanup()

    def ask(self, source: Path, readable: Path, order: Any, sign: Callable[[], None]) -> Any:
        """Let the process work on a source in a folder that it may read, and return what it answers.

        order: what `work` gets beside the source's name: anything that JSON can say.
        sign: is called every few seconds meanwhile.
        Raises Exception of `kinds`, and if the work exceeds the limits; `stopped` if somebody ended the process from
        outside.
        """
        failed = next(iter(self.kinds.values()))
        if readable != self.readable:
            self._end()
            self.readable = readable
        process = self.process = self.process or self._begin(readable)
        place = source.parent.resolve() / source.name  # a link keeps its name, and so its ending
        with suppress(BrokenPipeError):  # The process has ended since the last one. Its answer is empty then.
            _write(_pipe(process.stdin), json.dumps([str(place), order]).encode() + b"\n")
        answer = self._answer(_pipe(process.stdout), sign)
        if answer is None:
            self._end()
            raise failed(f"{source.name}: {self.doing} took more than {self.seconds:g} seconds")
        if not answer:
            how = self._end()
            kind = self.stopped if how in FROM_OUTSIDE else failed
            raise kind(f"{source.name}: {self.doing} was broken off ({how})")
        done, error = json.loads(answer)
        if error:
            self._end()
            raise self.kinds[error[0]](error[1])
        return done

    def _begin(self, readable: Path) -> subprocess.Popen[bytes]:
        limits = (str(self.seconds), str(self.memory), str(self.largest))
        orders = (self.module, ",".join(self.packages), *limits)
        return subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            [sys.executable, "-m", f"{PACKAGE}.confinement", *orders, str(readable), self.writable.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._root(),
            # An arena or a buffer for each thread would use up the address space.
            env={
                "PYTHONPATH": str(ROOT),
                "MALLOC_ARENA_MAX": "2",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "TMPDIR": self.writable.name,
            },
            process_group=0,  # Ctrl-C reaches the parent only, which then ends this process
        )

    def _root(self) -> Path:
        """Return the folder that Python finds this class's package in; the server's apps are not beside the library
        where both are installed.
        """
        name = type(self).__module__
        return Path(str(sys.modules[name].__file__)).parents[name.count(".")]

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


def _write(pipe: int, line: bytes) -> None:
    while line:
        line = line[os.write(pipe, line) :]


def main(module: str, packages: str, seconds: float, memory: int, largest: int, readable: Path, writable: Path) -> None:
    """Run the child process: do what each line orders, and answer with the outcome and the error, or null."""
    others = [Path(path) for path in packages.split(",") if path]
    for package in others:  # Found now: later nobody may list the folder that holds them, if something was added to it.
        import_module(package.name)
    confine([readable, Path(__file__).parents[1], *others], writable)
    worker = import_module(module)  # after that, because libraries start threads
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory * 2**20, memory * 2**20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        source, order = json.loads(line)
        limit_work(seconds)
        done, error = None, None
        try:
            done = worker.work(Path(source), order, writable)
        except worker.FAULTS as fault:
            error = [type(fault).__name__, str(fault)]
        print(json.dumps([done, error]), flush=True)


def limit_work(seconds: float) -> None:
    """Limit the CPU time of this process to that many seconds on all cores, so that it ends without its parent too."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = used.ru_utime + used.ru_stime + seconds * (os.cpu_count() or 1)
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(most), resource.RLIM_INFINITY))


def confine(readable: Iterable[Path], writable: Path) -> list[str]:
    """Let this process, which has one thread yet, only read some folders and Python's own, and write in one other.
    Returns what is closed now, of "network" and "files".
    """
    if sys.platform != "linux":
        return []
    kernel = ctypes.CDLL(None, use_errno=True)
    closed = []
    # Root needs no namespace of users, which would take its right to everybody's files away.
    if not kernel.unshare(CLONE_NEWNET) or not kernel.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        closed.append("network")
    own = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    libraries = [Path(path) for path in (*own, "/lib", "/lib64", "/usr/lib")]
    if _close_files(kernel, [*readable, *libraries], writable):
        closed.append("files")
    return closed


def _close_files(kernel: ctypes.CDLL, readable: list[Path], writable: Path) -> bool:
    version = kernel.syscall(CREATE_RULESET, None, 0, VERSION_ONLY)
    if version < 1:
        return False
    every = (1 << RIGHTS[max(since for since in RIGHTS if since <= version)]) - 1
    handled = struct.pack("Q", every)
    rules = kernel.syscall(CREATE_RULESET, handled, len(handled), 0)
    try:
        for folder in readable:
            if folder.is_dir():
                _allow(kernel, rules, folder, READ)
        for name, rights in OF_KERNEL.items():
            if (file := Path(name)).exists():
                _allow(kernel, rules, file, rights)
        _allow(kernel, rules, writable, every)
        kernel.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(kernel.syscall(RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(kernel: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", rights, place)
        if kernel.syscall(ADD_RULE, rules, PATH_BENEATH, rule, 0):
            raise OSError(ctypes.get_errno(), f"{path}: cannot be allowed")
    finally:
        os.close(place)


if __name__ == "__main__":
    limits = float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    main(sys.argv[1], sys.argv[2], *limits, *map(Path, sys.argv[6:]))
