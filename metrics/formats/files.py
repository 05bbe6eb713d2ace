"""Reading files, and files of releases, so that whatever is wrong with one is said in a sentence, with its place."""

import gzip
import hashlib
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from .errors import MeasureError, show
from .json_reader import read_json

STANDARD_INPUT = "-"
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
KINDS = {  # of binary files, by what they begin with
    b"PK\x03\x04": "a zip archive",
    b"%PDF-": "a PDF document",
    b"PAR1": "a Parquet table",
    b"\x93NUMPY": "an array of NumPy",
    b"\x89HDF": "HDF5",
    b"SQLite format 3": "a database of SQLite",
    b"\x80\x02": "a pickle of Python",
    b"\x80\x03": "a pickle of Python",
    b"\x80\x04": "a pickle of Python",
    b"\x80\x05": "a pickle of Python",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"\x1a\x45\xdf\xa3": "a film (Matroska or WebM)",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with Zstandard",
}
POINTERS = {b"version https://git-lfs.github.com/spec/": "Git LFS", b"/annex/objects/": "git-annex"}
BEGINNING = 65_536  # bytes
MIB = 2**20
UNPACK, MOST_UNPACKED = "REELJUDGE_UNPACK_MIB", "512"
MANIFEST, FORMAT = "MANIFEST.json", "reeljudge-release/1"
LARGEST_MANIFEST = 2**24  # bytes
LARGEST_RELEASE = 4 * 2**30  # bytes of all files together, unpacked
LARGEST_RATIO = 40  # of the unpacked bytes to those of the zip; a release's is near 10
ROOM = 2**20  # bytes that may be unpacked beyond that ratio


class ReleaseFiles(os.PathLike[str]):
    """The files of a release, in its zip or in the folder where it is unpacked. It is a path, which readers take.

    path: of the zip or the folder. source: how messages name it. manifest: the content of MANIFEST.json.
    Raises MeasureError if this is not a release.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.source = source_name(path)
        self._root = ""  # the folder in the zip; releases of version 0.2 and earlier have none
        self.manifest: dict[str, Any] = self._manifest()

    def __fspath__(self) -> str:
        return str(self.path)

    def __contains__(self, name: str) -> bool:
        return name in self.manifest["files"]

    def read(self, name: str) -> bytes:
        """The content of a file. Raises MeasureError if there is no such file, or its checksum is another one than the
        manifest's.
        """
        entry = self.manifest["files"].get(name)
        if not isinstance(entry, dict) or ".." in Path(name).parts or Path(name).is_absolute():
            raise MeasureError(f"{self.source}: has no {show(name)}")
        try:
            # One byte more than the manifest has shows that the file was changed.
            data = self._unpacked(name, max(0, int(entry["bytes"])) + 1)
        except (KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error) as fault:
            raise MeasureError(f"{self.source}: {name}: cannot be read ({fault})") from fault
        if (found := hashlib.sha256(data).hexdigest()) != entry.get("sha256"):
            raise MeasureError(f"{self.source}: {name}: SHA-256 is {found[:16]}…; the manifest has another one")
        return data

    def _unpacked(self, name: str, most: int) -> bytes:
        if self.path.is_dir():
            if (self.path / name).exists() and not (self.path / name).is_file():
                raise ValueError("not a regular file")
            with (self.path / name).open("rb") as file:
                return file.read(min(most, LARGEST_RELEASE))
        with self._zip() as archive, archive.open(self._root + name) as packed:
            return packed.read(most)  # at most the bytes that the zip's directory has, which `_zip` limits

    @contextmanager
    def _zip(self) -> Iterator[zipfile.ZipFile]:
        with zipfile.ZipFile(self.path) as archive:
            check_packed(archive, self.path.stat().st_size)
            yield archive

    def _manifest(self) -> dict[str, Any]:
        try:
            if not self.path.is_dir():
                with self._zip() as archive:
                    self._root = root_of(archive.namelist())
            found = read_json(self._unpacked(MANIFEST, LARGEST_MANIFEST))
        except (KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error) as fault:
            raise MeasureError(f"{self.source}: {MANIFEST} cannot be read ({fault}); expected a release") from fault
        if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("files"), dict):
            raise MeasureError(f"{self.source}: {MANIFEST} is not of the format {FORMAT}; expected a release")
        return found


def check_packed(archive: zipfile.ZipFile, size: int) -> None:
    """Raise MeasureError if a release's zip of so many bytes unpacks to more than 4 GiB or 40 times its size, or is
    packed in another way than by deflate. Entries that share bytes, or lie about them, change nothing in that.
    """
    most = min(LARGEST_RELEASE, ROOM + LARGEST_RATIO * size)
    if (found := sum(entry.file_size for entry in archive.infolist())) > most:
        raise MeasureError(f"unpacks to {found:,} bytes; expected at most {most:,} of a zip of {size:,} bytes")
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in archive.infolist()):
        raise MeasureError("not packed as a release is; expected deflate")


def root_of(names: list[str]) -> str:
    """The folder of a release in its zip, with a slash at its end; empty for a release without one."""
    found = (name.removesuffix(MANIFEST) for name in names if name.split("/")[1:] == [MANIFEST])
    return "" if MANIFEST in names else next(found, "")


def is_release(path: Any) -> bool:
    """Whether this is the folder of a release, or a zip, which is nothing else that the library reads."""
    if isinstance(path, ReleaseFiles):
        return True
    source_name(path)
    file = Path(path)
    # A pipe is not looked into: what is read there is gone.
    return (file / MANIFEST).is_file() or (file.is_file() and zipfile.is_zipfile(file))


def read_part(path: str | PathLike[str], name: str) -> tuple[str, bytes]:
    """How messages name a file, and its bytes as of `read_bytes`; of a release, the file of that name in it."""
    if not is_release(path):
        return source_name(path), read_bytes(path)
    release = path if isinstance(path, ReleaseFiles) else ReleaseFiles(Path(path))
    source, data = f"{release.source}: {name}", release.read(name)
    _check_text(data, source)
    text_of(data, source)
    return source, data


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Bytes of a file of text, unpacked if it is gzip; ``-`` is standard input. Raises MeasureError if the file cannot
    be read, is empty, is not UTF-8 text, or unpacks to more than 512 MiB or as many as `REELJUDGE_UNPACK_MIB` says.
    """
    source = source_name(path)
    with _readable(source):
        data = sys.stdin.buffer.read() if os.fspath(path) == STANDARD_INPUT else Path(path).read_bytes()
        if data.startswith(GZIP):
            data = _unpacked(data, source)
    data = data.removeprefix(BOM)
    _check_text(data, source)
    if not data.isascii():
        text_of(data, source)
    return data


def _unpacked(data: bytes, source: str) -> bytes:
    most, found, size = _most_unpacked(), list[bytes](), 0
    with gzip.GzipFile(fileobj=BytesIO(data)) as file:
        while piece := file.read(MIB):
            found.append(piece)
            size += len(piece)
            if size > most * MIB:
                right = f"is this the right file? {UNPACK} in the environment raises the limit"
                raise MeasureError(f"{source}: unpacks to more than {most:,} MiB; {right}")
    return b"".join(found)


def _most_unpacked() -> int:
    """How many MiB a packed file may unpack to."""
    most = os.environ.get(UNPACK, MOST_UNPACKED)
    if not (most.isascii() and most.isdecimal() and len(most) < 8):
        raise MeasureError(f"{UNPACK} is {show(most)}; it must be a whole number of MiB")
    return int(most)


def read_beginning(path: str | Path) -> bytes:
    """The first bytes of a file, with the checks of `read_bytes` that they allow."""
    source = source_name(path)
    with _readable(source), Path(path).open("rb") as file:
        packed = file.read(2) == GZIP
        file.seek(0)
        data = gzip.GzipFile(fileobj=file).read(BEGINNING) if packed else file.read(BEGINNING)
    data = data.removeprefix(BOM)
    _check_text(data, source)
    return data


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """One sentence for whatever keeps a file from being read."""
    try:
        yield
    except FileNotFoundError:
        raise MeasureError(f"{source}: there is no such file") from None
    except IsADirectoryError:
        raise MeasureError(f"{source}: is a directory; a file is needed") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise MeasureError(f"{source}: cannot be read: {problem}") from None


def _check_text(data: bytes, source: str) -> None:
    kind = next((kind for sign, kind in KINDS.items() if data.startswith(sign)), None)
    if kind or data[4:8] == b"ftyp":
        raise MeasureError(f"{source}: is {kind or 'a film (MP4)'}, a binary file; a file of text is needed")
    if b"\0" in data:
        raise MeasureError(f"{source}: is not text (it holds NUL bytes); is it a binary file?")
    if not data or data.isspace():
        raise MeasureError(f"{source}: is empty")
    if pointer := next((name for sign, name in POINTERS.items() if data.startswith(sign)), None):
        get = "git lfs pull" if pointer == "Git LFS" else "git annex get"
        raise MeasureError(f"{source}: is a pointer of {pointer}, not the file itself; get the file by `{get}`")


def numbered_lines(file: BinaryIO, source: str, longest: int = -1) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1. Raises MeasureError if a line is longer than so many
    bytes; -1: it may be of any length.
    """
    for number in count(1):
        line = file.readline(longest + 1 if longest >= 0 else -1)
        if not line:
            return
        if 0 <= longest < len(line):
            raise MeasureError(f"{source}: line {number}: longer than {longest:,} bytes; is this the right file?")
        if line.strip():
            yield number, line


def source_name(path: str | PathLike[str]) -> str:
    """How messages name a file; what is no path is an error."""
    if not isinstance(path, str | PathLike):
        raise MeasureError(f"a file's path is needed, and {type(path).__name__} is none")
    name = os.fspath(path)
    return "standard input" if name == STANDARD_INPUT else name


def text_of(data: bytes, source: str) -> str:
    """The bytes as text; raises MeasureError where they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise MeasureError(
            f"{source}: line {line}: is not UTF-8 text (byte {problem.start}); is it a binary file?"
        ) from None


def read_text(path: str | Path) -> str:
    """Text of a file; as `read_bytes`."""
    return text_of(read_bytes(path), source_name(path))
