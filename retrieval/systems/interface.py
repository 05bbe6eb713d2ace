"""The one interface of systems: train, index, search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from metrics import Run
from retrieval.systems.data import Data, Query, Videos
from retrieval.systems.errors import SystemsError
from retrieval.systems.options import Options
from retrieval.systems.storing import read_json, write_json

CARD = "system.json"  # what a folder says about the system that is stored in it


@dataclass(frozen=True)
class Progress:
    """How far a system is with its work.

    Attributes
    ----------
    done, total
        Steps.
    text
        What is done, for people.
    loss
        Mean loss since the last time; None if this is not training.
    validation
        Value of the validation's measure, if it was measured just now.
    """

    done: int
    total: int
    text: str
    loss: float | None = None
    validation: float | None = None


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Report to nobody."""


class System(ABC):
    """A system with its options and the folder that holds all it stores.

    A caller may make a new object of the same name, options and folder between any two calls, on any machine that
    has the folder. Work that was broken off, by whatever error, goes on from where it was stored last.

    Parameters
    ----------
    options
        An object of the class that the registry names for the system.
    folder
        Of this system alone; it is made when something is stored.

    Raises
    ------
    SystemsError
        If the folder holds another system, or one with other options.
    """

    name: ClassVar[str]

    def __init__(self, options: Options, folder: Path) -> None:
        options.check()
        self.options = options
        self.folder = folder
        self._card = {"system": self.name, "options": asdict(options)}
        if (folder / CARD).exists() and read_json(folder / CARD) != self._card:
            raise SystemsError(
                f"{folder}: holds another system, or one with other options; expected a folder of its own"
            )

    def keep_card(self) -> None:
        """Make the folder, and say in it what system this is; `train` and `index` begin with it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / CARD, self._card)

    @abstractmethod
    def train(self, data: Data, report: Report = silent) -> None:
        """Learn from the examples, and store what was learned. A training that is done is not done again.

        Raises
        ------
        SystemsError
            If the data lack what the system needs, or the loss is not a number any more.
        """

    @abstractmethod
    def index(self, videos: Videos, report: Report = silent) -> None:
        """Store what a search of these videos needs; it replaces the index that was there."""

    @abstractmethod
    def check_index(self) -> None:
        """Look whether the stored index is whole: by the checksums that its files have, else by their sizes.

        Raises
        ------
        SystemsError
            If there is none, a file of it is missing or is not as it was written, or its files do not fit together.
        """

    @abstractmethod
    def search(self, queries: Sequence[Query], depth: int = 100, report: Report = silent) -> Run:
        """Return the best moments of the indexed videos for each query, best first, `depth` of them at most.

        Raises
        ------
        SystemsError
            If nothing was trained or indexed before, or there is no query.
        """
