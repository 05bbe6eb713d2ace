"""The page of a list, and the views of lists that people keep."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404

from base.listing import Listing, Rows
from base.transactions import all_or_nothing
from campaigns.access import wants_csv
from campaigns.models import Membership
from campaigns.pages import campaign_page
from reports.models import SavedView

# The kinds of lists of which views are saved, with the names of their pages' addresses, and the views of these.
LISTS = {
    "queries": "queries",
    "batches": "queries/batches",
    "judgements": "judgements",
    "people": "annotators",
    "flags": "inbox/flags",
    "history": "activity",
}


def list_page(
    request: HttpRequest,
    member: Membership,
    template: str,
    listing: Listing,
    rows: Rows,
    status: int = 200,
    **context: Any,
) -> HttpResponseBase:
    """Render the part of a list that the address asks for, or all that it chooses as a CSV file."""
    choices = listing.choices(request.GET)
    if wants_csv(request):
        return choices.csv(rows, f"{member.campaign.name}-{listing.key}")
    status = 400 if choices.form.errors else status
    listed, saved = choices.part(rows), views_of(member).filter(listing=listing.key)
    return campaign_page(request, member, template, status=status, listed=listed, list_views=saved, **context)


@all_or_nothing
def keep_view(member: Membership, listing: str, name: str, choices: str, shared: bool = False) -> SavedView:
    """Keep a view under its name, in place of the member's own of that name. Only leads share views."""
    rest = {"campaign": member.campaign, "choices": choices, "is_shared": shared and member.may_review}
    view, _ = SavedView.objects.update_or_create(by=member, listing=listing, name=name, defaults=rest)
    return view


def views_of(member: Membership) -> QuerySet[SavedView]:
    """Return the views of lists that the member has: those of their own, and those that leads share."""
    return SavedView.objects.filter(Q(by=member) | Q(is_shared=True), campaign=member.campaign_id)


def forget_view(member: Membership, key: int) -> SavedView:
    """Delete a view of the member's own, or as a lead one that is shared. Any other raises a 404."""
    views = views_of(member) if member.may_review else member.saved_views.all()
    view = get_object_or_404(views, pk=key)
    view.delete()
    return view
