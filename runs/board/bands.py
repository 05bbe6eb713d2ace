"""The queries that a leaderboard can be limited to: by split, by length, by the number of relevant moments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from base.request_fields import one_of
from runs.models import Yardstick

THIRDS = (1 / 3, 2 / 3)


class Band(NamedTuple):
    """Queries with a number from `low` to `high`."""

    words: str
    low: float
    high: float


class Queries:
    """The judged queries of a release, and which of them a leaderboard is about."""

    def __init__(self, yardstick: Yardstick) -> None:
        rows = yardstick.queries
        self.ids = [row[0] for row in rows]
        self._split = np.array([row[1] for row in rows], dtype=np.str_)
        self._words, self._relevant = (np.array([row[n] for row in rows], dtype=np.int64) for n in (2, 3))
        self.splits = sorted({split for split in self._split.tolist() if split})
        self.lengths = _bands(self._words, ("short", "middle", "long"), " words")
        self.amounts = _bands(self._relevant, ("few", "some", "many"))

    def chosen(self, params: Mapping[str, Any]) -> NDArray[np.bool_] | None:
        """Return which queries an address asks for; None for all.

        Raises
        ------
        BadValue
            If it names no split, length or amount that there is.
        """
        mask = np.ones(len(self.ids), dtype=np.bool_)
        if split := params.get("split"):
            mask &= self._split == one_of("split", split, self.splits)
        for field, bands, numbers in (
            ("length", self.lengths, self._words),
            ("relevant", self.amounts, self._relevant),
        ):
            if name := params.get(field):
                band = bands[one_of(field, name, bands)]
                mask &= (numbers >= band.low) & (numbers <= band.high)
        return None if mask.all() else mask


def _bands(numbers: NDArray[np.int64], names: tuple[str, str, str], unit: str = "") -> dict[str, Band]:
    """Return three bands of about as many queries each, or none if the numbers are too alike."""
    if not numbers.size:
        return {}
    first, second = (int(edge) for edge in np.quantile(numbers, THIRDS))
    if not numbers.min() <= first < second < numbers.max():
        return {}
    short, middle, long = names
    return {
        short: Band(f"{short}: at most {first}{unit}", 0, first),
        middle: Band(f"{middle}: {first + 1} to {second}{unit}", first + 1, second),
        long: Band(f"{long}: more than {second}{unit}", second + 1, np.inf),
    }
