"""The errors of corpora and clips."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from base.text import printable
from jobs.errors import JobLeft, JobPostponed
from systems.errors import FULL, SystemsError

# What the system says where a film is not, is on a disk that has gone, or may not be read.
AWAY = {errno.ENOENT, errno.EACCES, errno.ENODEV, errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN}

SYSTEMS = SystemsError.__module__.partition(".")[0]  # the library's package, which an installed server has elsewhere


class CorpusError(Exception):
    """An error whose message says what was wrong, where (file, line, field), and what would be right."""


class Reason(StrEnum):
    """Why described moments of a file cannot be used."""

    REVERSED = "they end before they begin"
    EMPTY = "they begin and end in the same instant"
    EARLY = "they begin before 0 seconds"
    LATE = "they begin after the end of their video"
    NO_DURATION = "the length of their video is unknown"
    OTHER_DURATION = "an earlier line has another length of their video"
    NO_MOMENT = "their list of moments is empty"
    UNREADABLE = "their line or entry is not valid"


class Unusable(CorpusError):
    """A described moment cannot be used, for one of the reasons."""

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


class Unavailable(CorpusError, JobPostponed):
    """What a clip needs is not there now, such as the store or room on a disk. The film is not to blame."""


class FilmAway(Unavailable, JobLeft):
    """This machine does not have the film, or may not read it. Another machine may."""


def kind_of(fault: BaseException) -> type[CorpusError]:
    """Return the kind of error that the system's error means for a clip that was being cut."""
    number = getattr(fault, "errno", None)
    return FilmAway if number in AWAY else Unavailable if number in FULL else CorpusError


class Problem(NamedTuple):
    """What is wrong in a file: the file, where in it ("line 3"; empty for the whole file), and what would be right."""

    file: Path
    where: str
    message: str
    reason: Reason = Reason.UNREADABLE

    def __str__(self) -> str:
        return printable(f"{self.where}: {self.message}" if self.where else self.message)


class BadLines(CorpusError):
    """Lines or entries of files that cannot be imported: the first of them, how many there are, and what helps."""

    MOST_PROBLEMS = 100

    def __init__(
        self, files: Sequence[Path], problems: Sequence[Problem], wrong: int, hints: Sequence[str] = ()
    ) -> None:
        self.problems, self.wrong = problems, wrong
        several = len(files) > 1
        if not several and len(problems) == 1 and not problems[0].where:
            super().__init__(f"{problems[0]}; nothing was imported")
            return
        lines = [f"{problem.file}: {problem}" if several and problem.where else str(problem) for problem in problems]
        if wrong > len(problems):
            lines.append(f"… and {wrong - len(problems):,} more")
        head = "nothing was imported." if several else f"{files[0]}: nothing was imported."
        super().__init__("\n".join([head, *lines, *hints]))
