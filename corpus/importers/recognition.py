"""What a file of moments looks like at its beginning: its format, its columns, and what they probably hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from corpus.errors import CorpusError
from corpus.importers.interface import BEGINNING, is_list
from corpus.importers.rows import LONGEST_LINE, json_object, lines, must_be_object, opened
from metrics import MeasureError
from metrics.formats.annotations import CHARADES_LINE, DURATION, VIDEO
from metrics.formats.csv_tables import CsvLines
from metrics.formats.files import BOM, GZIP
from metrics.formats.json_reader import json_entries

LOOKED_AT = 100  # lines whose keys are told
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
ZIP = b"PK\x03\x04"
# Of each field, the names of columns that probably hold it, most probable first.
USUAL = {
    "video": (*VIDEO[:-1], "video_file", "film", "clip", "file", "filename", "name", VIDEO[-1]),  # `id` may be a number
    "start": ("start", "start_time", "start_seconds", "begin", "begin_time", "from", "t_start", "onset"),
    "end": ("end", "end_time", "end_seconds", "stop", "finish", "to", "t_end", "offset"),
    "description": ("description", "sentence", "desc", "text", "query", "annotation", "caption", "what_happens"),
    "duration": (*DURATION[:2], "video_duration", "video_length", DURATION[2]),
    "caption": ("caption",),
}


def recognised(file: Path) -> str:
    """Return the name of the format that the file's beginning has: one of `corpus.importers.formats.FORMATS`.

    Raise CorpusError if the file is empty, packed, or no text in UTF-8.
    """
    with opened(file) as content:
        head = content.read(BEGINNING)
    _must_be_text(head)
    text = head.removeprefix(BOM).lstrip()
    if text[:1] in (b"{", b"["):
        return _format_of_document(file) or _format_of_lines(file)
    first = text.partition(b"\n")[0].decode(errors="replace").strip()
    return "charades" if CHARADES_LINE.fullmatch(first) else "csv"


def _must_be_text(head: bytes) -> None:
    if head.startswith(UTF_16):
        raise CorpusError("the file is in UTF-16; expected UTF-8: save it again with this encoding")
    if head.startswith((ZIP, GZIP)):
        raise CorpusError("the file is an archive; expected the file of moments that is in it, unpacked")
    if b"\0" in head:
        raise CorpusError("the file is no text (it holds NUL bytes); expected UTF-8")
    if not head.removeprefix(BOM).strip():
        raise CorpusError("the file is empty; expected described moments")


def _format_of_document(file: Path) -> str:
    """Return the format of a JSON document by its first entry; an empty text if it is no document that is known."""
    try:
        with opened(file) as content:
            entry = next(json_entries(content, str(file)), None)
    except MeasureError:
        return ""
    value: Any = entry.value if entry else None
    if entry is None or not isinstance(value, dict):
        return ""
    if entry.key is None:
        return "didemo" if "times" in value else ""
    if not {"timestamps", "sentences"} & value.keys():
        return ""
    return "tacos" if "fps" in value else "activitynet"


def _format_of_lines(file: Path) -> str:
    first = next(_objects(file), {})
    if "vid_name" in first and first.keys() & {"ts", "desc"}:
        return "tvr"
    return "qvhighlights" if "relevant_windows" in first else "jsonl"


def _objects(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the first lines, or of the first entries of a list, until one is something else."""
    with suppress(CorpusError), opened(file) as content:
        if is_list(file):
            yield from (must_be_object(entry.value) for entry in islice(json_entries(content, str(file)), LOOKED_AT))
        else:
            yield from (json_object(line) for _, line in islice(lines(file), LOOKED_AT))


def names_in(file: Path, format: str) -> list[str]:
    """Return the columns of a CSV, or the keys in the first lines of a JSONL; none if the format has its own."""
    if format == "jsonl":
        return list(dict.fromkeys(key for record in _objects(file) for key in record))
    if format != "csv":
        return []
    with opened(file) as content:
        first = content.readline(LONGEST_LINE)
    try:
        return [name for name in CsvLines([first.decode(errors="replace")], str(file)).header if name]
    except MeasureError:  # which reading the file tells
        return []


def proposed(names: Sequence[str]) -> dict[str, str]:
    """Return for each field the column that probably holds it. No column is proposed twice.

    >>> proposed(["Film", "From", "To", "What happens", "id"])
    {'video': 'Film', 'start': 'From', 'end': 'To', 'description': 'What happens'}
    >>> proposed(["video", "start", "end", "caption", "length"])["description"]
    'caption'
    """
    free = {re.sub(r"\W+", "_", name.strip().lower()): name for name in reversed(names)}
    found = {}
    for field, usual in USUAL.items():
        if field in free:
            found[field] = free.pop(field)
        elif name := next((each for each in usual if each in free), ""):
            found[field] = free.pop(name)
    return found
