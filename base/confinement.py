"""Work on files that others have made, in a process of its own, so that a hostile file can harm that process only.

The parent writes one line of JSON for each piece of work, and reads one line back. This module, run by itself, is
the child. It has no network and reads no other files, as far as the kernel lets it (Linux): it calls `unshare` for a
network namespace without any connection, and the three calls of Landlock, which limit a process to some folders. None
needs privileges, and what the kernel does not offer is left open.
"""

from __future__ import annotations

import atexit
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
from errno import ELOOP
from importlib import import_module
from math import ceil
from pathlib import Path
from select import select
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals
from stat import S_ISREG
from tempfile import TemporaryDirectory
from typing import IO, Any, ClassVar, Self, cast

SECONDS_BETWEEN_HEARTBEATS = 5.0
PAUSE = 1.0  # seconds before a process that waits for a file imports what it needs
ROOT = Path(__file__).parents[1]  # the folder that holds the apps
MOST_ANSWERED = 2**26  # bytes of an answer
# As when the machine stops; no file sends these.
FROM_OUTSIDE = frozenset({SIGHUP.name, SIGINT.name, SIGKILL.name, SIGTERM.name})
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

# The processes that wait for the next file of this process, by this process's number and their class.
WAITING: dict[tuple[int, type], subprocess.Popen[bytes]] = {}


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
    packages: ClassVar[tuple[str, ...]] = ()  # beside `base`, whose modules the process imports
    doing: ClassVar[str]  # what the work is, for messages
    largest: ClassVar[int]  # bytes of a file that the process writes
    # Of the errors that come back; the first is for a process that fails.
    kinds: ClassVar[dict[str, type[Exception]]]
    stopped: ClassVar[type[Exception]]  # for a process that somebody ended from outside
    stopping: ClassVar[frozenset[str]] = FROM_OUTSIDE  # the signals that end it so
    expected: ClassVar[str] = ""  # what would be right, after the limit that a file exceeds
    variables: ClassVar[tuple[str, ...]] = ()  # of the environment, which the process gets
    is_light: ClassVar[bool] = False  # its module starts no threads, so that it can be imported before a file is known

    def __enter__(self) -> Self:
        self.writable = TemporaryDirectory()
        return self

    def __exit__(self, *fault: object) -> None:
        self._end()
        if self.is_light:
            self._have_one_wait()
        self.writable.cleanup()

    def ask(self, source: Path, readable: Path, order: Any, sign: Callable[[], None], name: str = "") -> Any:
        """Let the process work on a source in a folder that it may read, and return what it answers.

        order: what `work` gets beside the source's name: anything that JSON can say.
        sign: is called every few seconds meanwhile.
        name: what messages call the source; by default its own name.
        Raises Exception of `kinds`, and if the work exceeds the limits; `stopped` if somebody ended the process from
        outside.
        """
        self.start(readable)
        process = cast(subprocess.Popen[bytes], self.process)
        place = source.parent.resolve() / source.name  # a link keeps its name, and so its ending
        with suppress(BrokenPipeError):  # The process has ended since the last one. Its answer is empty then.
            _write(_pipe(process.stdin), json.dumps([str(place), order]).encode() + b"\n")
        answer = self._answer(_pipe(process.stdout), sign)
        if answer is None:
            raise self._exceeded(name or source.name, f"took more than {self.seconds:g} seconds")
        if len(answer) > MOST_ANSWERED:
            raise self._exceeded(name or source.name, f"answered more than {MOST_ANSWERED:,} bytes")
        if not answer.endswith(b"\n"):
            how = self._end()
            failed = next(iter(self.kinds.values()))
            kind = self.stopped if how in self.stopping else failed
            raise kind(f"{name or source.name}: {self.doing} was broken off ({how}){self.expected}")
        done, error = json.loads(answer)
        if error and error[0] == MemoryError.__name__:
            raise self._exceeded(name or source.name, f"needs more than {self.memory:,} MiB of memory")
        if error:
            self._end()
            raise self.kinds[error[0]](error[1])
        return done

    def start(self, readable: Path) -> None:
        """Start the process that may read a folder, if none runs yet. Calling it early saves the time that this takes
        from the first piece of work.
        """
        if readable != self.readable:
            self._end()
            self.readable = readable
        self.process = self.process or self._begin(readable)

    def _exceeded(self, name: str, words: str) -> Exception:
        self._end()
        return next(iter(self.kinds.values()))(f"{name}: {self.doing} {words}{self.expected}")

    def written(self, name: str) -> IO[bytes]:
        """Open a file that the process has written, which it could have replaced by a link to another one."""
        number = os.open(Path(self.writable.name) / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        file = os.fdopen(number, "rb")
        if not S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise OSError(ELOOP, "is not a regular file", name)
        return file

    def _begin(self, readable: Path) -> subprocess.Popen[bytes]:
        key = os.getpid(), type(self)
        waiting = WAITING.pop(key, None)
        process = waiting if waiting and waiting.poll() is None else self._spawn()
        limits = {"seconds": self.seconds, "memory": self.memory, "largest": self.largest}
        variables = {name: os.environ[name] for name in self.variables if name in os.environ}
        order = {"readable": str(readable), "writable": self.writable.name, "variables": variables, **limits}
        _write(_pipe(process.stdin), json.dumps(order).encode() + b"\n")
        return process

    def _spawn(self) -> subprocess.Popen[bytes]:
        orders = (self.module, ",".join(self.packages), "light" * self.is_light)
        return subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            [sys.executable, "-m", "base.confinement", *orders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            # An arena or a buffer for each thread would use up the address space. In large pages a new process gets
            # its memory sooner.
            env={
                "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
                "PYTHONPATH": str(ROOT),
                "MALLOC_ARENA_MAX": "2",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
            },
            process_group=0,  # Ctrl-C reaches the parent only, which then ends this process
        )

    def _have_one_wait(self) -> None:
        """Start the process of the next file now, so that its imports are done by then. It has read no file yet."""
        key = os.getpid(), type(self)
        if key not in WAITING:
            WAITING[key] = self._spawn()

    def _answer(self, pipe: int, sign: Callable[[], None]) -> bytes | None:
        """Return the line that comes back: without its end if the process has ended, None if it is late."""
        deadline = time.monotonic() + self.seconds
        line = bytearray()
        while (left := deadline - time.monotonic()) > 0:
            if not select([pipe], [], [], min(left, SECONDS_BETWEEN_HEARTBEATS))[0]:
                sign()
                continue
            part = os.read(pipe, 2**16)
            line += part
            if not part or part.endswith(b"\n") or len(line) > MOST_ANSWERED:
                return bytes(line)
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


@atexit.register
def end_waiting() -> None:
    """End the processes that wait. They would end with this one, whose ends of their pipes close then."""
    for (owner, _), process in WAITING.items():
        if owner == os.getpid():
            with process:  # closes its pipes and waits for its end
                process.kill()


def _pipe(pipe: IO[bytes] | None) -> int:
    return cast(IO[bytes], pipe).fileno()


def _write(pipe: int, line: bytes) -> None:
    while line:
        line = line[os.write(pipe, line) :]


def main(module: str, packages: str, weight: str) -> None:
    """Run the child process: do what each line orders, and answer with the outcome and the error, or null. The first
    line has the limits, and the folders that it may read and write.
    """
    # Found now: later nobody may list the folder that holds them, if something was added to it.
    others = [Path(str(import_module(package).__file__)).parent for package in packages.split(",") if package]
    if weight:  # A pause lets the parent first use what the file before held.
        select([sys.stdin], [], [], PAUSE)
        import_module(module)
    if not (first := sys.stdin.buffer.readline()):
        return
    given = json.loads(first)
    writable, memory, largest = Path(given["writable"]), given["memory"] * 2**20, given["largest"]
    os.environ.update(given["variables"] | {"TMPDIR": given["writable"]})
    confine([Path(given["readable"]), Path(__file__).parent, *others], writable)
    worker = import_module(module)  # after that, because libraries start threads
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        source, order = json.loads(line)
        limit_work(given["seconds"])
        done, error = None, None
        try:
            done = worker.work(Path(source), order, writable)
        except worker.FAULTS as fault:
            error = [type(fault).__name__, str(fault)]
        except (MemoryError, SystemError):  # orjson raises the latter where it gets no memory
            error = [MemoryError.__name__, ""]
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
    main(*sys.argv[1:])
