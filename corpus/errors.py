"""The errors of corpora and clips."""

from collections.abc import Sequence

from base.text import printable


class CorpusError(Exception):
    """An error whose message says what was wrong, where (file, line, field), and what would be right."""


class BadLines(CorpusError):
    """Lines of a file that cannot be imported, each with its number and field."""

    MOST_PROBLEMS = 20

    def __init__(self, file: str, problems: Sequence[str], more: bool = False) -> None:
        self.problems = [printable(problem) for problem in problems]  # they repeat what the file says
        tail = ["… and there may be more"] if more else []
        super().__init__("\n".join([f"{file}: nothing was imported.", *self.problems, *tail]))
