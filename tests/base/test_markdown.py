"""The guideline's Markdown: what it may hold, and what never comes out of it."""

from __future__ import annotations

import re

import pytest

from base.text import rendered
from campaigns.guideline_text import GUIDELINE

ALLOWED = {
    "p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "em", "strong", "a", "code", "pre", "blockquote", "br",
    "hr", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


def tags(html: str) -> set[str]:
    return set(re.findall(r"<(\w+)", html))


def test_the_built_in_guideline_is_whole() -> None:
    html = rendered(GUIDELINE)
    assert tags(html) == {"p", "h3", "ol", "ul", "li", "em", "strong"}
    assert html.count("<h3>") == 5
    assert "<strong>4, perfect.</strong>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<svg/onload=alert(1)>",
        "<a href='javascript:alert(1)'>x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](java&#10;script:alert(1))",
        "[x](<java\tscript:alert(1)>)",
        "[x](vbscript:x)",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](data:image/png;base64,AAAA)",
        "[x](file:///etc/passwd)",
        "[x]: javascript:alert(1)\n\n[x]",
        "<javascript:alert(1)>",
        "<mailto:a@b.org>",
        "![x](https://example.org/pixel.png)",
        "![x](javascript:alert(1))",
        '[x](/a "\\"><script>alert(1)</script>")',
        '```"><script>alert(1)</script>\nx\n```',
        "`<script>alert(1)</script>`",
        "# <iframe src=//example.org>",
        "| <b>x</b> |\n|:-:|\n| <style>*{}</style> |",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    ],
)
def test_nothing_active_comes_out(text: str) -> None:
    html = rendered(text)
    assert tags(html) <= ALLOWED
    attributes = re.findall(r"<\w+((?:\s+[\w-]+=\"[^\"]*\")*)\s*/?>", html)
    names = {name for some in attributes for name in re.findall(r'([\w-]+)="', some)}
    assert names <= {"href", "title", "target", "rel", "class", "start"}
    for address in re.findall(r'href="([^"]*)"', html):
        assert re.match(r"https?://|/", address)


@pytest.mark.parametrize("address", ["//evil.com", "///evil.com", r"/\evil.com", r"\\\evil.com", r"\\/evil.com"])
def test_an_address_that_names_another_host_without_a_scheme_is_no_link(address: str) -> None:
    for text in (f"[x]({address})", f"[x](<{address}>)", f"[x][1]\n\n[1]: {address}"):
        assert "<a" not in rendered(text)


@pytest.mark.parametrize(
    "address", ["https://example.org/a?b=c:d", "HTTP://example.org", "/help", "#top", "page", "a/b:c", "?q=:"]
)
def test_links_to_pages_are_links(address: str) -> None:
    assert rendered(f"[x]({address})") == (
        f'<p><a href="{address}" target="_blank" rel="noopener noreferrer">x</a></p>\n'
    )


def test_tables_have_no_style_of_their_own() -> None:
    html = rendered("| a | b |\n|:-:|--:|\n| 1 | 2 |")
    assert {"table", "th", "td"} <= tags(html)
    assert "style" not in html


@pytest.mark.parametrize("text", ["> " * 25_000, "[" * 50_000, "*a" * 25_000, "`" * 50_000, "- \n" * 16_000])
@pytest.mark.timeout(60)
def test_hostile_nesting_ends(text: str) -> None:
    assert tags(rendered(text)) <= ALLOWED
