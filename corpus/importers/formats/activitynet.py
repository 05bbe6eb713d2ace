"""ActivityNet Captions: an object from video to `duration`, `timestamps` and `sentences`, times in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.errors import CorpusError, Problem
from corpus.importers.interface import Choice, Importer, each_entry
from corpus.importers.rows import Row, name, seconds_or_none, text
from metrics.formats.captions import Unit, captions, in_seconds
from metrics.formats.json_entries import Entry


def read(file: Path, choice: Choice) -> Iterator[Row | Problem]:
    return described_videos(file, in_seconds, lambda record: record.get("duration"))


def described_videos(file: Path, unit: Unit, length: Any) -> Iterator[Row | Problem]:
    """Yield the sentences of each video of a document. `length` returns a record's duration in seconds, or None."""

    def rows(entry: Entry) -> Iterator[Row]:
        if entry.key is None:
            raise CorpusError("the document is a list; expected an object from video to its sentences")
        video = name(entry.key, "video")
        sentences = list(captions(str(file), entry.key, entry.value, unit))
        duration = seconds_or_none(length(entry.value), "duration")
        for place, number, sentence, (start, end) in sentences:
            yield Row(place.spot, video, start, end, duration, text(sentence, f"sentences[{number - 1}]"))

    return each_entry(file, rows)


# Two of its sentences begin and end in the same instant.
IMPORTER = Importer("activitynet", "ActivityNet Captions", read, leaves_out_empty=True)
