"""The second row of the lead's navigation: a campaign's sections, and the pages inside the present one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from django import template
from django.urls import NoReverseMatch, reverse

from campaigns.models import Membership

register = template.Library()


class Page(NamedTuple):
    """An address that takes the campaign's name; with words it has a link, without it only belongs here."""

    name: str
    words: str = ""
    lead_only: bool = False


# A section leads to its first page. A new page needs one line here, and `member` in its context; what has no
# address yet is not shown. A section with several worded pages shows them in a third row.
SECTIONS: dict[str, tuple[Page, ...]] = {
    "Queries": (
        Page("campaign", "Queries"),
        Page("action"),
        Page("batch"),
        Page("reviews", "Batches"),
        Page("queue", "Flags and questions"),
        Page("flags"),
        Page("reopenings", "Reopened"),
        Page("frontier", "Frontier"),
        Page("history", "History", lead_only=True),
        Page("digest", "Recent activity", lead_only=True),
        Page("reopen"),
        Page("withdraw"),
        Page("search", "Search"),
        Page("campaign-work", "Work"),
    ),
    "People": (
        Page("people", "People", lead_only=True),
        Page("person", lead_only=True),
        Page("invite", lead_only=True),
        Page("steering", "Steering", lead_only=True),
        Page("steer", lead_only=True),
        Page("invite-people", lead_only=True),
        Page("people-links", "Links", lead_only=True),
        Page("hours", "Hours", lead_only=True),
        Page("checks", "Checks", lead_only=True),
        Page("check-pairs"),
        Page("messages", "Messages", lead_only=True),
    ),
    "Agreement": (
        Page("agreement", "Annotators"),
        Page("agreement-annotator"),
        Page("severity", "Severity and spread"),
        Page("agreement-queries", "Queries"),
        Page("agreement-judgements", "Judgements"),
        Page("figures", "Figures and tables"),
    ),
    "Teaching": (
        Page("guideline", "Guideline"),
        Page("guideline-changes"),
        Page("guideline-edit"),
        Page("tutorial"),
        Page("examples", "Examples"),
        Page("example-judged"),
        Page("example-own"),
        Page("exam", "Exam"),
        Page("exam-batch"),
        Page("exam-person"),
    ),
    "Releases": (Page("releases", "Releases"), Page("release-difference"), Page("exports", "Exports")),
    "Runs": (
        Page("leaderboard", "Leaderboard"),
        Page("rejudged"),
        Page("watches", "Comparisons", lead_only=True),
        Page("predictors", "Predictors", lead_only=True),
        Page("predictor", lead_only=True),
        Page("held-back", "Held-back split"),
        Page("believe", "Reliability"),
        Page("pools", "Pools"),
        Page("pool"),
        Page("runs", "Runs"),
        Page("run-new", "Upload a run"),
        Page("run"),
        Page("run-queries"),
        Page("run-query"),
        Page("run-check"),
        Page("systems", "Systems"),
        Page("system-new"),
        Page("system"),
        Page("system-search"),
    ),
    "Settings": (
        Page("campaign-settings", "Settings"),
        Page("webhooks", "Webhooks", lead_only=True),
        Page("webhook", lead_only=True),
    ),
}


OF_ALL = "Runs"  # the section that researchers see while a split is held back


class Link(NamedTuple):
    words: str
    address: str
    here: bool


@register.inclusion_tag("lead/_sections.html", takes_context=True)
def sections(context: dict[str, Any]) -> dict[str, Any]:
    """What a lead or researcher may open in the campaign of `member`; nothing on other pages."""
    member, request = context.get("member"), context.get("request")
    if not isinstance(member, Membership) or member.role not in Membership.SEES_ALL:
        return {"sections": [], "pages": []}
    here = request.resolver_match.url_name if request and request.resolver_match else ""
    found, inside = [], list[Link]()
    for words, pages in SECTIONS.items():
        if not member.sees_grades and words != OF_ALL:
            continue
        links = [_link(page, member, here) for page in pages if member.may_review or not page.lead_only]
        present = any(link.here for link in links)
        if first := next((link.address for link in links if link.address), ""):
            found.append(Link(words, first, present))
        if present:
            inside = [link for link in links if link.words and link.address]
    return {"sections": found, "pages": inside if len(inside) > 1 else []}


def _link(page: Page, member: Membership, here: str) -> Link:
    return Link(page.words, _address(page.name, member.campaign.name), here == page.name)


@lru_cache(maxsize=4096)
def _address(page: str, campaign: str) -> str:
    """Return the page's address, or nothing if it takes more than a campaign. Each page asks for sixty."""
    try:
        return reverse(page, args=[campaign])
    except NoReverseMatch:
        return ""
