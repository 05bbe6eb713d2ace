"""Systems of two streams that learn a little in a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metrics import Run
from systems.data import Data
from systems.interface import System, system

SMALL: dict[str, Any] = {"hidden": 16, "heads": 2, "batch_size": 6, "iterations": 4, "warmup": 1, "validate_every": 2}


def made(name: str, folder: Path, **options: Any) -> System:
    """Make a small network that is trained for a few steps."""
    first = {"first_iterations": 2, "pool": 5} if name == "conquer" else {}
    return system(name, folder / name, **SMALL | first | options)


def trained(name: str, folder: Path, data: Data, **options: Any) -> Run:
    """Train, index and search, each with an object of its own."""
    made(name, folder, **options).train(data)
    made(name, folder, **options).index(data.videos)
    return made(name, folder, **options).search([example.query for example in data.examples], 10)
