"""Importing corpora: a reader for each format yields rows, and `load` checks and stores them."""

from collections.abc import Callable, Iterator
from pathlib import Path

from corpus.errors import CorpusError
from corpus.importers import tvr
from corpus.importers.rows import Row

Reader = Callable[[Path, str], Iterator[Row | CorpusError]]

FORMATS: dict[str, Reader] = {"tvr": tvr.read}
