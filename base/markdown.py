"""Rendering Markdown as safe HTML: without the author's HTML, without pictures, with links to web pages only."""

from __future__ import annotations

import re

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

# http, https, or no scheme: then no colon comes before the first of / ? #.
PAGE = re.compile(r"https?://|[^:/?#]*(?:[/?#]|$)", re.IGNORECASE)


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        return bool(PAGE.match(url))


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
