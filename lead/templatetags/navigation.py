"""The navigation of a campaign for its leads and researchers: one row, and *More* for the rest."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.safestring import SafeString

from base.text import joined_markup, markup
from campaigns.models import Membership
from reports.digest import counts_in_header

register = template.Library()


class Page(NamedTuple):
    """A kind of page in the navigation.

    Attributes
    ----------
    name
        The name of its address, which takes the campaign's name alone.
    letter
        The key that opens it after `g`.
    parts
        The names of addresses that are reached from it; it is marked as the present page there, too.
    lead_only
        Whether researchers may not open it.
    in_more
        Whether it is behind *More* for leads.
    """

    name: str
    words: str
    letter: str
    parts: frozenset[str] = frozenset()
    lead_only: bool = False
    in_more: bool = False


PAGES = (
    Page("campaign", "Overview", "o"),
    Page("queries", "Queries", "q", frozenset({"batch", "action"})),
    Page("inbox", "Inbox", "i"),
    Page("annotators", "Annotators", "a", frozenset({"annotator", "invite", "invite-people", "steer"}), lead_only=True),
    Page("agreement", "Agreement", "k", frozenset({"judgements"})),
    Page(
        "guideline",
        "Guideline",
        "u",
        frozenset({"guideline-edit", "example-add", "tutorial", "practice", "practice-clip"}),
    ),
    Page("releases", "Releases", "r", frozenset({"release"})),
    Page("leaderboard", "Leaderboard", "l", frozenset({"run", "compare", "explain", "run-upload", "upload-check"})),
    Page("systems", "Systems", "s", frozenset({"system"})),
    Page("exam", "Exam", "e", in_more=True),
    Page("activity", "Activity", "v", in_more=True),
    Page("measures", "Measures", "m", in_more=True),
    Page("unjudged", "Unjudged moments", "n", in_more=True),
    Page("model-judges", "Model judges", "j", lead_only=True, in_more=True),
    Page("campaign-settings", "Settings", "t", frozenset({"webhook-make"}), in_more=True),
)
FOR_RESEARCHERS = ("leaderboard", "systems", "releases", "agreement", "guideline")  # in their row, in this order
WITHOUT_GRADES = frozenset({"leaderboard", "systems", "measures", "unjudged"})  # while a split is held back
TABS = 4  # of the row at the bottom of narrow screens; the other pages are behind More there


@register.inclusion_tag("lead/_navigation.html", takes_context=True)
def navigation(context: dict[str, Any]) -> dict[str, Any]:
    """Return the pages that a lead or researcher may open in the campaign of `member`; nothing on other pages."""
    member, request = context.get("member"), context.get("request")
    if not isinstance(member, Membership) or member.role not in Membership.SEES_ALL:
        return {}
    here = request.resolver_match.url_name if request and request.resolver_match else ""
    counts = counts_in_header(member)
    row, more = _links(member.campaign.name, member.may_review, member.sees_grades, here, counts["inbox"])
    return {"campaign": member.campaign, "row": row, "more": more, "jobs": counts["jobs"]}


LINK = '<a href="{}" data-go="{}" title="g {}"{}{}>{}{}</a>'
LINK_IN_MORE = '<a href="{}" data-go="{}"{}>{} <kbd>g {}</kbd></a>'
LINK_ON_NARROW = '<a class="narrow-only" href="{}"{}>{}</a>'
HERE = SafeString(' aria-current="true"')
WIDE = SafeString(' class="wide"')


@lru_cache(maxsize=4096)
def _links(campaign: str, is_lead: bool, sees_grades: bool, here: str, inbox: int) -> tuple[SafeString, SafeString]:
    """Return the links of the row, and those of *More*, which has those that narrow screens have no room for.

    They are written here, because each page has them, and a template takes longer than many pages do.
    """
    pages = [page for page in PAGES if _may_open(page, is_lead, sees_grades)]
    row, more = _divided(pages, is_lead)

    def here_or_not(page: Page) -> SafeString:
        return HERE if here == page.name or here in page.parts else SafeString()

    def link(place: int, page: Page) -> tuple[object, ...]:
        number = markup(" <b>{}</b>", inbox) if inbox and page.letter == "i" else ""
        look = WIDE if place >= TABS else SafeString()
        address = _address(page.name, campaign)
        return address, page.letter, page.letter, here_or_not(page), look, page.words, number

    of_row = joined_markup(LINK, (link(place, page) for place, page in enumerate(row)))
    narrow = ((_address(page.name, campaign), here_or_not(page), page.words) for page in row[TABS:])
    others = ((_address(page.name, campaign), page.letter, here_or_not(page), page.words, page.letter) for page in more)
    return of_row, joined_markup(LINK_ON_NARROW, narrow) + joined_markup(LINK_IN_MORE, others)


def _may_open(page: Page, is_lead: bool, sees_grades: bool) -> bool:
    allowed = is_lead or not page.lead_only
    return allowed and (sees_grades or page.name in WITHOUT_GRADES) and bool(_address(page.name, "a"))


def _divided(pages: list[Page], is_lead: bool) -> tuple[list[Page], list[Page]]:
    """Return the pages of the row and those of *More*."""
    if is_lead:
        return [page for page in pages if not page.in_more], [page for page in pages if page.in_more]
    row = sorted((page for page in pages if page.name in FOR_RESEARCHERS), key=lambda p: FOR_RESEARCHERS.index(p.name))
    return row, [page for page in pages if page not in row]


@lru_cache(maxsize=4096)
def _address(page: str, campaign: str) -> str:
    """Return the page's address, or nothing if there is no such address."""
    try:
        return reverse(page, args=[campaign])
    except NoReverseMatch:
        return ""
