"""JSONL of our own: one object a line with video, start, end and description; or with the keys that a person names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from corpus.errors import Problem
from corpus.importers.fields import keys_of
from corpus.importers.interface import Choice, Importer, each_object
from corpus.importers.rows import Row, name, seconds, seconds_or_none, text


def read(file: Path, choice: Choice) -> Iterator[Row | Problem]:
    keys = keys_of(choice.columns)

    def rows(where: str, record: dict[str, Any]) -> list[Row]:
        return [_row(where, record, keys)]

    return each_object(file, rows)


def _row(where: str, record: dict[str, Any], keys: Mapping[str, str]) -> Row:
    caption = record.get(keys["caption"])
    return Row(
        where=where,
        video=name(record.get(keys["video"]), keys["video"]),
        start=seconds(record.get(keys["start"]), keys["start"]),
        end=seconds(record.get(keys["end"]), keys["end"]),
        duration=seconds_or_none(record.get(keys["duration"]), keys["duration"]),
        description=text(record.get(keys["description"]), keys["description"]),
        caption=None if caption is None else text(caption, keys["caption"]),
    )


IMPORTER = Importer("jsonl", "JSONL with fields of our own, or mapped", read, takes_columns=True)
