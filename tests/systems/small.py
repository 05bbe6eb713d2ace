"""A planted collection that is small enough for tests, and systems that learn it in a second."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, cast

from systems.exhaustive import Exhaustive
from systems.interface import system
from tests.systems.planted import Planted, planted

SMALL: dict[str, Any] = {"hidden": 32, "words": 16, "language": 16, "embedding": 16, "batch_size": 16}


@cache
def collection() -> Planted:
    return planted(7, training=40, test=20)


def small(name: str, folder: Path, **options: Any) -> Exhaustive:
    """Make a small network that is trained for twelve steps."""
    return cast(Exhaustive, system(name, folder, longest=6, **SMALL | {"iterations": 12} | options))
