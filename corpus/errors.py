"""The errors of corpora and clips."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from base.text import printable

# What the system says where a film is not, is on a disk that has gone, or may not be read.
AWAY = {errno.ENOENT, errno.EACCES, errno.ENODEV, errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN}
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}  # and where nothing can be written


class CorpusError(Exception):
    """An error whose message says what was wrong, where (file, line, field), and what would be right."""


class Unavailable(CorpusError):
    """What a clip needs is not there now, such as the store or room on a disk. The film is not to blame."""


class FilmAway(Unavailable):
    """This machine does not have the film, or may not read it. Another machine may."""


def kind_of(fault: BaseException) -> type[CorpusError]:
    """Return the kind of error that the system's error means for a clip that was being cut."""
    number = getattr(fault, "errno", None)
    return FilmAway if number in AWAY else Unavailable if number in FULL else CorpusError


class BadLines(CorpusError):
    """Lines of a file that cannot be imported, each with its number and field."""

    MOST_PROBLEMS = 20

    def __init__(self, file: str, problems: Sequence[str], more: bool = False) -> None:
        self.problems = [printable(problem) for problem in problems]  # they repeat what the file says
        tail = ["… and there may be more"] if more else []
        super().__init__("\n".join([f"{file}: nothing was imported.", *self.problems, *tail]))
