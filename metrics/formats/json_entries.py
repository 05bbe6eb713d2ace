"""Reading the entries of a large JSON document one after the other, without holding the document in memory."""

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from .errors import MeasureError
from .json_reader import DECODER, fault_of, refuse_depth, refuse_half_pairs

CHUNK = 65_536  # bytes
LONGEST_ENTRY = 10_000_000  # characters
SPACE = " \t\n\r"


class Entry(NamedTuple):
    """A value of a list or of an object, with its number from 1, the line where it begins, and its key in an object."""

    number: int
    line: int
    key: str | None
    value: Any


def json_entries(file: BinaryIO, source: str, longest: int = LONGEST_ENTRY) -> Iterator[Entry]:
    """Yield the entries of a document that is a list or an object.

    Parameters
    ----------
    file
        The document, in UTF-8.
    source
        How messages name the file.
    longest
        Characters that an entry may have.

    Raises
    ------
    MeasureError
        If the document is no list and no object, its JSON is broken, an entry is too long, or a key stands twice.
        The entries before have been yielded then.
    """
    text = _Text(file, source, longest)
    opening = text.sign()
    if opening not in ("[", "{"):
        found = "is empty" if not opening else f"begins with {opening!r}"
        raise MeasureError(f"{source}: {found}; expected a JSON list or object")
    text.take(opening)
    closing, seen, number = {"[": "]", "{": "}"}[opening], set[str](), 0
    while text.sign() != closing:
        if number:
            text.take(",")
        number += 1
        text.sign()
        line, key = text.line(), None
        if opening == "{":
            key = text.key()
            if key in seen:
                raise text.fail(f"key {key!r} stands twice", line)
            seen.add(key)
        yield Entry(number, line, key, text.value())
    text.take(closing)
    if text.sign():
        raise text.fail("there is more after the document's end; expected one list or object")


class _Text:
    """The part of the document that is in memory, and a place in it."""

    def __init__(self, file: BinaryIO, source: str, longest: int) -> None:
        self.file, self.source, self.longest = file, source, longest
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.at, self.is_over = "", 0, False
        self.lines_before = 0  # of `text`

    def line(self) -> int:
        return self.lines_before + self.text.count("\n", 0, self.at) + 1

    def fail(self, message: str, line: int | None = None) -> MeasureError:
        return MeasureError(f"{self.source}: line {line or self.line()}: {message}")

    def sign(self) -> str:
        """Return the next sign that is no white space, without taking it; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in SPACE:
                self.at += 1
            if self.at < len(self.text) or self.is_over:
                return self.text[self.at : self.at + 1]
            self._read(CHUNK)

    def take(self, wanted: str) -> None:
        if (found := self.sign()) != wanted:
            there = repr(found) if found else "the end of the file"
            raise self.fail(f"broken JSON: {there} where {wanted!r} should stand")
        self.at += 1

    def key(self) -> str:
        found = self.value()
        if not isinstance(found, str):
            raise self.fail("broken JSON: a key of an object must be a text")
        self.take(":")
        return found

    def value(self) -> Any:
        """Take the next value, reading as much of the file as it needs."""
        self.sign()
        while True:
            fault: ValueError | RecursionError | None = None
            try:
                found, end = DECODER.raw_decode(self.text, self.at)
            except (ValueError, RecursionError) as problem:
                fault = problem
            there = len(self.text) - self.at
            if fault and (self.is_over or there > self.longest):
                raise self._broken(fault, there) from None
            if not fault and (end < len(self.text) or self.is_over):  # else a number may go on
                self._check(found, end)
                self.at = end
                return found
            self._read(max(CHUNK, there))

    def _check(self, found: Any, end: int) -> None:
        try:
            refuse_depth(found, self.text, self.at, end)
            refuse_half_pairs(found, self.text, self.at, end)
        except MeasureError as fault:
            raise self.fail(str(fault)) from None

    def _broken(self, fault: ValueError | RecursionError, there: int) -> MeasureError:
        if not isinstance(fault, json.JSONDecodeError):
            return self.fail(fault_of(fault))
        if there > self.longest and fault.pos - self.at > self.longest:
            return self.fail(f"an entry of more than {self.longest:,} characters; is this the right file?")
        line = self.lines_before + self.text.count("\n", 0, fault.pos) + 1
        return self.fail(fault_of(fault), line)

    def _read(self, size: int) -> None:
        """Forget what was taken, and read on."""
        self.lines_before += self.text.count("\n", 0, self.at)
        data = self.file.read(size)
        self.is_over = not data
        try:
            self.text = self.text[self.at :] + self.decoder.decode(data, self.is_over)
        except UnicodeDecodeError:
            line = self.lines_before + self.text.count("\n", self.at) + 1
            raise MeasureError(f"{self.source}: line {line} or later: is not UTF-8 text") from None
        self.at = 0
