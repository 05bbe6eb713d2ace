"""Texts: what can be stored and printed, what changed between two versions, Markdown, cells of a spreadsheet."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from io import StringIO
from itertools import chain
from unicodedata import category

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

# Categories of Unicode that a terminal obeys.
OBEYED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
AROUND = 3  # unchanged lines that are listed before and after a change
# http, https, or an address of this site: no colon comes before the first of / ? #, and it does not begin with //host.
# Browsers read a backslash as a slash; the parser writes it as %5C.
WEB_PAGE = re.compile(r"https?://|(?!(?:[/\\]|%5C){2})[^:/?#]*(?:[/?#]|$)", re.IGNORECASE)
# A spreadsheet program takes a cell that begins with one of these for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def abbreviated(value: object) -> str:
    """Return the value as JSON, cut to a length that fits into a message."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a very large integer"
    try:
        written = json.dumps(value, ensure_ascii=False, default=str)[:60]
    except RecursionError:  # a value that was just shallow enough to be parsed can be too deep to be written
        return f"a deeply nested {type(value).__name__}"
    return printable(written)


def printable(text: str) -> str:
    r"""Return the text with escapes for what a terminal would obey: control characters, line ends, turned directions.

    >>> print(printable("red: \x1b[31m, up: \n"))
    red: \x1b[31m, up: \n
    """
    return "".join(sign.encode("unicode_escape").decode() if category(sign) in OBEYED else sign for sign in text)


def storable(text: str) -> bool:
    """Return whether databases and files can store the text. JSON can hold characters that UTF-8 cannot."""
    return not re.search("[\0\ud800-\udfff]", text)


SAFE = (SafeString, int)  # what needs no escaping


def markup(pattern: str, *values: object) -> SafeString:
    """Return HTML with escaped values in its places, as Django's format_html does, in a third of the time.

    What is safe already stays as it is. Tables have thousands of cells.

    >>> markup("<td>{}</td>", "A & B")
    '<td>A &amp; B</td>'
    """
    return SafeString(pattern.format(*[value if type(value) in SAFE else escape(str(value)) for value in values]))


def joined_markup(pattern: str, rows: Iterable[Iterable[object]]) -> SafeString:
    """Return HTML that repeats a pattern with the values of each row; see `markup`."""
    return SafeString("".join(markup(pattern, *row) for row in rows))


def percent(share: float, places: int = 0) -> str:
    """Return a share as pages and files write it.

    >>> percent(0.0811), percent(0.0811, 1)
    ('8 %', '8.1 %')
    """
    return f"{share * 100:.{places}f} %"


def with_minus(number: str) -> str:
    """Return a written number with a minus sign in place of the hyphen.

    >>> with_minus("-0.25")
    '−0.25'
    """
    return number.replace("-", "−")


@dataclass(frozen=True)
class DiffLine:
    """A line that was removed, added or kept, with its numbers in both texts; or a gap of unchanged lines."""

    what: str  # "went", "came", "stayed" or "gap"
    before: int | None = None
    after: int | None = None
    text: str = ""


def changes(before: str, after: str) -> Iterator[DiffLine]:
    """Yield the lines that differ, with a few unchanged lines around them; nothing if the texts are equal.

    >>> [(line.what, line.text) for line in changes("a\\nb", "a\\nc")]
    [('stayed', 'a'), ('went', 'b'), ('came', 'c')]
    """
    old, new = before.splitlines(), after.splitlines()
    for number, group in enumerate(SequenceMatcher(None, old, new).get_grouped_opcodes(AROUND)):
        if number:
            yield DiffLine("gap")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                both = zip(range(i1, i2), range(j1, j2), strict=True)
                yield from (DiffLine("stayed", i + 1, j + 1, old[i]) for i, j in both)
            else:
                yield from (DiffLine("went", i + 1, None, old[i]) for i in range(i1, i2))
                yield from (DiffLine("came", None, j + 1, new[j]) for j in range(j1, j2))


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        return bool(WEB_PAGE.match(url))


PARSER = _Parser("commonmark", {"html": False}).enable("table").disable("image")


def rendered(text: str) -> SafeString:
    """Return the text as HTML for a page with a heading of its own. Links open in a new tab.

    >>> rendered("# A *title*")
    '<h2>A <em>title</em></h2>\\n'
    """
    tokens = PARSER.parse(text)
    for token in tokens:
        _adapt(token)
    html: str = PARSER.renderer.render(tokens, PARSER.options, {})
    return mark_safe(html)  # noqa: S308 - escaped by the parser


def _adapt(token: Token) -> None:
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    token.attrs.pop("style", None)  # markdown-it aligns columns by it; the content security policy forbids it
    for part in token.children or []:
        if part.type == "link_open":
            part.attrs |= {"target": "_blank", "rel": "noopener noreferrer"}


def harmless(cell: object) -> object:
    """Return the cell of a CSV file, with an apostrophe before a text that would be run as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def csv_lines(header: Iterable[object], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield the lines of a CSV file: its header, then a line for each row."""
    buffer = StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in chain([header], rows):
        writer.writerow(row)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def wording(text: str) -> str:
    """Return the text with one space between its words. Queries with the same wording are one query."""
    return " ".join(text.split())


def in_words(seconds: float) -> str:
    """Return a time roughly.

    >>> in_words(89), in_words(119), in_words(6000)
    ('89 s', '2 min', '1.7 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:,.1f} h"
