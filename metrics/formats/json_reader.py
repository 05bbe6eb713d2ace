"""The one reader of JSON that comes from outside: its limits, and what it says where something is wrong."""

import codecs
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from math import isfinite
from typing import Any, BinaryIO, NamedTuple

from .errors import MeasureError, show

DEEPEST = 64  # lists and objects inside each other
DIGITS = 300  # of a whole number that has to be finite as a float, too
CONTAINERS = {dict, list}
BOM = "\ufeff"
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
CHUNK = 65_536  # bytes
LONGEST_ENTRY = 10_000_000  # characters
SPACE = " \t\n\r"


def read_json(text: bytes | str, strict: bool = True, line: int | None = None) -> Any:
    """Return the value that JSON writes.

    text: JSON in UTF-8.
    strict: whether NaN, infinities, numbers that a float cannot hold, and halves of surrogate pairs are refused. A
    caller that checks its fields itself takes them from here, and then names the field.
    line: the number of this line in its file, if the text is one; 0 if the caller names the line.
    Raises MeasureError with line and column, if this is no JSON in UTF-8; if a key stands twice in an object, a number
    has too many digits, or lists and objects are more than 64 levels deep.
    """
    try:
        written = (text.decode() if isinstance(text, bytes) else text).removeprefix(BOM)
        found = (STRICT if strict else DECODER).decode(written)
        refuse_depth(found, written)
        if strict:
            refuse_half_pairs(found, written)
        return found
    except UnicodeDecodeError as fault:
        at = fault.object.count(b"\n", 0, fault.start) + 1 if line is None else line
        spots, what = [f"line {at}"] if at else [], f"is not UTF-8 text (byte {fault.start})"
    except json.JSONDecodeError as fault:
        at = fault.lineno if line is None else line
        spots, what = [f"line {at}"] * bool(at) + [f"column {fault.colno}"], fault_of(fault)
    except (ValueError, RecursionError) as fault:
        spots, what = [f"line {line}"] if line else [], fault_of(fault)
    raise MeasureError(": ".join(filter(None, (", ".join(spots), what))))


def fault_of(fault: ValueError | RecursionError) -> str:
    """Return what is wrong with JSON that a decoder has refused."""
    if isinstance(fault, json.JSONDecodeError):
        return f"broken JSON: {fault.msg}"
    if isinstance(fault, RecursionError):
        return "JSON is nested too deeply"
    return str(fault) if isinstance(fault, MeasureError) else "broken JSON: a number has too many digits"


def refuse_depth(found: Any, text: str, start: int = 0, end: int = sys.maxsize) -> None:
    """Refuse parsed JSON that is nested too deeply; its text is text[start:end]."""
    if text.count("[", start, end) + text.count("{", start, end) <= DEEPEST:
        return
    level = [found]
    for _ in range(DEEPEST + 1):
        held = (item.values() if type(item) is dict else item for item in level if type(item) in CONTAINERS)
        level = list(chain.from_iterable(held))
    if any(type(item) in CONTAINERS for item in level):
        raise MeasureError("JSON is nested too deeply")


def refuse_half_pairs(found: Any, text: str, start: int = 0, end: int = sys.maxsize) -> None:
    """Refuse parsed JSON with half of a surrogate pair, which no file and no database can store."""
    if SURROGATE.search(text, start, end):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise MeasureError("broken JSON: a text has half of a surrogate pair") from None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise MeasureError(f"broken JSON: key {show(twice)} stands twice in one object")
    return found


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise MeasureError("broken JSON: a number has too many digits")
    return int(digits)


def _number(digits: str) -> float:
    if not isfinite(found := float(digits)):
        raise MeasureError(f"broken JSON: {show(digits)} is larger than any number that is stored")
    return found


def _no_constant(name: str) -> float:
    raise MeasureError(f"broken JSON: {name} is no number in JSON")


DECODER = json.JSONDecoder(object_pairs_hook=_no_key_twice)
STRICT = json.JSONDecoder(
    object_pairs_hook=_no_key_twice, parse_int=_whole, parse_float=_number, parse_constant=_no_constant
)


class Entry(NamedTuple):
    """A value of a list or of an object, with its number from 1, the line where it begins, and its key in an object."""

    number: int
    line: int
    key: str | None
    value: Any


def json_entries(file: BinaryIO, source: str) -> Iterator[Entry]:
    """Yield the entries of a document that is a list or an object.

    file: the document, in UTF-8.
    Raises MeasureError if the document is no list and no object, its JSON is broken, an entry is too long, or a key
    stands twice. The entries before have been yielded then.
    """
    text = _Text(file, source)
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
            key = text.value()
            if not isinstance(key, str):
                raise text.fail("broken JSON: a key of an object must be a text")
            text.take(":")
            if key in seen:
                raise text.fail(f"key {key!r} stands twice", line)
            seen.add(key)
        yield Entry(number, line, key, text.value())
    text.take(closing)
    if text.sign():
        raise text.fail("there is more after the document's end; expected one list or object")


class _Text:
    """The part of the document that is in memory, and a place in it."""

    def __init__(self, file: BinaryIO, source: str) -> None:
        self.file, self.source = file, source
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.at, self.is_over = "", 0, False
        self.lines_before = 0  # the beginning of `text`

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

    def value(self) -> Any:
        """Take the next value, reading as much of the file as it needs."""
        self.sign()
        while True:
            there = len(self.text) - self.at
            try:
                found, end = DECODER.raw_decode(self.text, self.at)
                if end < len(self.text) or self.is_over:  # else a number may go on
                    refuse_depth(found, self.text, self.at, end)
                    refuse_half_pairs(found, self.text, self.at, end)
                    self.at = end
                    return found
            except (ValueError, RecursionError) as fault:
                if self.is_over or there > LONGEST_ENTRY:
                    raise self._broken(fault, there) from None
            self._read(max(CHUNK, there))

    def _broken(self, fault: ValueError | RecursionError, there: int) -> MeasureError:
        if not isinstance(fault, json.JSONDecodeError):
            return self.fail(fault_of(fault))
        if there > LONGEST_ENTRY and fault.pos - self.at > LONGEST_ENTRY:
            return self.fail(f"an entry of more than {LONGEST_ENTRY:,} characters; is this the right file?")
        line = self.line() + self.text.count("\n", self.at, fault.pos)
        return self.fail(fault_of(fault), line)

    def _read(self, size: int) -> None:
        """Forget what was taken, and read on."""
        data, self.lines_before = self.file.read(size), self.line() - 1
        self.text, self.at, self.is_over = self.text[self.at :], 0, not data
        try:
            self.text += self.decoder.decode(data, self.is_over)
        except UnicodeDecodeError:
            line = self.line() + self.text.count("\n")
            raise MeasureError(f"{self.source}: line {line} or later: is not UTF-8 text") from None
