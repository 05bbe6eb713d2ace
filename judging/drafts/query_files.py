"""The queries of a draft: a file, or pasted lines with one query each."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaigns.models import Draft, Upload
from corpus.errors import CorpusError
from judging.drafts.sources import whole

LARGEST_LIST_OF_LINES = 64 * 2**20  # bytes of a text with one query a line


@contextmanager
def queries_file(draft: Draft) -> Iterator[Path]:
    """Give the file from which `judging.pool.queries` reads the queries.

    Raises
    ------
    CorpusError
        If there is none, it has not arrived as a whole, or its text is not UTF-8.
    """
    file = whole(draft, Upload.Purpose.QUERIES)
    if file is None:
        raise CorpusError("none; expected an uploaded file, or one query a line")
    if file.suffix != ".txt" or _first_sign(file) in ("[", "{"):
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        yield _numbered(file, Path(folder) / "queries.jsonl")


def _first_sign(file: Path) -> str:
    with file.open("rb") as content:
        return content.read(1024).decode("utf-8-sig", "replace").lstrip()[:1]


def _numbered(file: Path, to: Path) -> Path:
    """Write each line of a text as a query that is numbered from 1. Lines keep their places, for messages."""
    if file.stat().st_size > LARGEST_LIST_OF_LINES:
        raise CorpusError(f"over {LARGEST_LIST_OF_LINES:,} bytes; expected less, or one JSON object a line")
    try:
        texts = [line.strip() for line in file.read_text(encoding="utf-8-sig").split("\n")]
    except UnicodeDecodeError as fault:
        raise CorpusError(
            f"not UTF-8 at byte {fault.start + 1}; expected one query a line in UTF-8"
        ) from fault
    number = 0
    with to.open("w") as out:
        for text in texts:
            number += bool(text)
            out.write(json.dumps({"query_id": number, "query": text}) + "\n" if text else "\n")
    return to
