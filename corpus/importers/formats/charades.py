"""Charades-STA: lines of `VIDEO start end##sentence`, with times in seconds and without the lengths of videos."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

from corpus.errors import CorpusError, Problem
from corpus.importers.interface import Choice, Durations, Importer, each_line, place_of
from corpus.importers.rows import Row, name, text
from metrics.formats.captions import charades_line


def read(file: Path, choice: Choice) -> Iterator[Row | Problem]:
    def row(number: int, line: bytes) -> Row:
        where = f"line {number}"
        try:
            written = line.removeprefix(b"\xef\xbb\xbf").decode()
        except UnicodeDecodeError as fault:
            raise CorpusError(
                f"not UTF-8 at byte {fault.start + 1}; expected VIDEO start end##sentence in UTF-8"
            ) from fault
        video, start, end, sentence = charades_line(place_of(file, where), written)
        return Row(where, name(video, "video"), start, end, None, text(sentence, "sentence"))

    return each_line(file, row)


# Its moments were cut out of longer actions, which may end after the film; all published loaders cut them off there.
IMPORTER = Importer("charades", "Charades-STA", read, Durations.NONE, overhang=inf)
