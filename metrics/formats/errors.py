"""What the library raises for bad input, and what it warns of."""

from dataclasses import dataclass, field

MOST_TOLD = 100  # faults
BEGINNING, END = 600, 200  # characters of a line that is too long


class MeasureError(ValueError):
    """Bad input: the message says what was wrong, where, and what would be right.

    What a message quotes may be of any length, and may hold what a terminal obeys. The message does not.
    """

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(short, message.split("\n"))))


class MeasureWarning(UserWarning):
    """Input that is used although something about it is unusual: what, how often, and where first."""


def short(line: str) -> str:
    r"""A line of a message without its middle if it is long, and with escapes for what is not printed.

    >>> short("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    line = f"{line[:BEGINNING]} … {line[-END:]}" if len(line) > BEGINNING + END else line
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)


@dataclass
class Faults:
    """The first hundred faults of a file, each in one line, and the number of all."""

    told: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, fault: MeasureError) -> None:
        """Count a fault, and tell it if it is among the first."""
        self.count += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(str(fault))
