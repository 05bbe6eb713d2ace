"""The importers by the names of their formats. A new module of `formats` is registered in this list."""

from __future__ import annotations

from corpus.errors import CorpusError
from corpus.importers.formats import activitynet, charades, didemo, plain_csv, plain_jsonl, qvhighlights, tacos, tvr
from corpus.importers.interface import Importer, Source

MODULES = (tvr, charades, activitynet, didemo, qvhighlights, tacos, plain_csv, plain_jsonl)
FORMATS: dict[str, Importer] = {module.IMPORTER.name: module.IMPORTER for module in MODULES}


def importer_of(source: Source) -> Importer:
    """Return the importer of the source's format.

    Raises
    ------
    CorpusError
        If there is none, or the source chooses what the format does not have.
    """
    found = FORMATS.get(source.format)
    if found is None:
        raise CorpusError(f"format: {source.format!r}; expected one of {', '.join(FORMATS)}")
    if source.kind and source.kind not in found.kinds:
        right = f"one of {', '.join(found.kinds)}" if found.kinds else "none, because it has no kinds"
        raise CorpusError(f"type: {source.kind!r}; expected, for {found.title}, {right}")
    if source.columns and not found.takes_columns:
        takes = ", ".join(each.name for each in FORMATS.values() if each.takes_columns)
        raise CorpusError(f"columns: {found.title} has its own; only {takes} can be mapped")
    return found
