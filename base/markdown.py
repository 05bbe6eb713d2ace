"""Markdown as HTML that is safe to show: no HTML of the author's, no pictures, links to pages only."""

from __future__ import annotations

import re

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

# http and https, or no scheme at all: nothing before the first of / ? # ends with a colon.
PAGE = re.compile(r"https?://|[^:/?#]*(?:[/?#]|$)", re.IGNORECASE)


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        return bool(PAGE.match(url))


PARSER = _Parser("commonmark", {"html": False}).enable("table").disable("image")


def rendered(text: str) -> SafeString:
    """The text as HTML, below a page's own first heading; links open beside the page.

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
    token.attrs.pop("style", None)  # of aligned columns; the page's policy allows none
    for part in token.children or []:
        if part.type == "link_open":
            part.attrs |= {"target": "_blank", "rel": "noopener noreferrer"}
