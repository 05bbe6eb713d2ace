"""What the library raises for bad input, and what it warns of."""

from dataclasses import dataclass, field

MOST_TOLD = 100  # faults


class MeasureError(ValueError):
    """Bad input: the message says what was wrong, where, and what would be right."""


class MeasureWarning(UserWarning):
    """Input that is used although something about it is unusual: what, how often, and where first."""


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
