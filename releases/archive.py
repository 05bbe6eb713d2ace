"""Reading a release's zip, without a database and without trusting it."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

from base.errors import ReeljudgeError
from base.text import abbreviated
from metrics import MeasureError
from metrics.formats.json_reader import read_json
from releases.checks import MANIFEST, UNREADABLE, Reader

FORMAT = "reeljudge-release/1"
LARGEST = 4 * 2**30  # bytes of all files together, unpacked
LARGEST_RATIO = 40  # of the unpacked bytes to those of the zip; a release's is near 10
ROOM = 2**20  # bytes that may be unpacked beyond that ratio
LARGEST_MANIFEST = 2**20
# The fields of the manifest that are needed, by their types.
FIELDS: dict[str, type] = {
    "campaign": str,
    "version": int,
    "imported": bool,
    "consensus": dict,
    "counts": dict,
    "files": dict,
}


class ReleaseArchive(Reader):
    """A release's zip, opened for reading.

    Raise ReeljudgeError if the file is no zip, is broken, unpacks to more than 4 GiB or 40 times its size, or is no
    release of a known format.
    """

    def __init__(self, file: Path | IO[bytes]) -> None:
        self.file = file if isinstance(file, Path) else "the release"
        try:
            self.archive = zipfile.ZipFile(file)
            self.manifest = self._manifest()
        except OSError as fault:
            raise ReeljudgeError(f"{file}: cannot be read ({fault.strerror}); expected a release") from fault
        except UNREADABLE as fault:
            raise ReeljudgeError(f"{file}: not a zip that can be read ({fault}); expected a release") from fault

    def _manifest(self) -> dict[str, Any]:
        entries = {entry.filename: entry for entry in self.archive.infolist()}
        packed = sum(entry.compress_size for entry in self.archive.infolist())
        most = min(LARGEST, ROOM + LARGEST_RATIO * packed)
        if sum(entry.file_size for entry in self.archive.infolist()) > most:
            raise ReeljudgeError(f"{self.file}: unpacks to more than {most:,} bytes")
        if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries.values()):
            raise ReeljudgeError(f"{self.file}: not packed as a release is; expected deflate")
        if MANIFEST not in entries or entries[MANIFEST].file_size > LARGEST_MANIFEST:
            raise ReeljudgeError(f"{self.file}: holds no {MANIFEST}; expected a release")
        try:
            manifest = read_json(self.archive.read(MANIFEST))
        except (MeasureError, RuntimeError) as fault:
            raise ReeljudgeError(f"{self.file}: {MANIFEST} is not JSON ({fault})") from fault
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ReeljudgeError(f"{self.file}: {MANIFEST} does not say format {FORMAT}")
        for field, kind in FIELDS.items():
            if type(manifest.get(field)) is not kind:
                found = abbreviated(manifest.get(field))
                raise ReeljudgeError(f"{self.file}: {MANIFEST}: {field}: {found}; expected {kind.__name__}")
        return manifest

    @property
    def names(self) -> list[str]:
        return self.archive.namelist()

    def opened(self, name: str) -> IO[bytes]:
        return self.archive.open(name)

    def parsed(self, text: str) -> Any:
        return read_json(text)
