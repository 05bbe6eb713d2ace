"""What leads do to many rows of a list at once, and the views of lists that people keep."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue
from base.problem_documents import refusal_as_message
from base.request_fields import KEY, is_whole, one_of, text_in
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import access
from judging.models.pool import QueryQuerySet
from judging.review import actions
from reports.models import keep_view
from reports.tables.costs import action_cost
from reports.tables.queries import QUERIES, queries_of

ROWS_NAMED = 20  # of those that were left, on a page


@require_POST
def prepare(request: HttpRequest, name: str) -> HttpResponse:
    """Prepare an action on the queries that were ticked, or on all that the list's filters choose."""
    lead = access.lead(request, name)
    verb = one_of("verb", request.POST.get("verb", ""), actions.VERBS)
    queries, chosen = _chosen(request, lead)
    with refusal_as_message(request):
        action = actions.prepare(lead, verb, queries, chosen)
        return redirect("action", name=name, pk=action.pk)
    return redirect(f"{reverse('campaign', args=[name])}?{request.POST.get('view', '')}")


def _chosen(request: HttpRequest, lead: Membership) -> tuple[QueryQuerySet, str]:
    """Return the queries, and in words how they were chosen."""
    if request.POST.get("which") == "all":
        choices = QUERIES.choices(QueryDict(request.POST.get("view", "")))
        found: Any = choices.chosen(queries_of(lead.campaign, choices.filters.get("show", "")))
        return found, choices.words or "all queries"
    keys = request.POST.getlist("row")
    if not all(is_whole(key, KEY) for key in keys):
        raise BadValue("row", "not what the list sends", "keys of queries")
    return queries_of(lead.campaign, None).filter(pk__in=keys), "ticked in the list"


@require_safe
def detail(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """What an action would cost; once it is begun, how far it is and what became of each query."""
    member = access.membership(request, name)
    action = access.action(member, pk)
    jobs = (actions.undo_all if action.undone else actions.act).jobs(action)
    template = "lead/_action.html" if request.headers.get("hx-request") else "lead/action.html"
    return campaign_page(
        request,
        member,
        template,
        action=action,
        verb=actions.VERBS[action.verb],
        cost=None if action.begun else action_cost(action),
        numbers=actions.numbers(action),
        job=jobs.first(),
        is_working=bool((action.begun and not action.ended) or (action.undone and not action.undone_ended)),
        left=actions.named_rows(action, ROWS_NAMED),
    )


@require_POST
def change(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Go on with what was prepared, or undo what was done."""
    lead = access.lead(request, name)
    action = access.action(lead, pk)
    change = one_of("change", request.POST.get("change", ""), ("begin", "undo", "forget"))
    with refusal_as_message(request):
        if change == "begin":
            actions.begin(action, lead, text_in(request.POST, "reason", 500))
        elif change == "undo":
            actions.undo_action(action, lead)
        else:
            actions.forget(action)
            return redirect("campaign", name=name)
    return redirect("action", name=name, pk=pk)


@require_POST
def views(request: HttpRequest, name: str) -> HttpResponse:
    """Keep a view of a list under a name, or forget one."""
    member = access.membership(request, name)
    if key := request.POST.get("remove"):
        view = get_object_or_404(member.campaign.saved_views, pk=int(key) if is_whole(key, KEY) else 0)
        if view.by_id != member.pk and not (view.is_shared and member.may_review):
            raise Http404
        view.delete()
        messages.success(request, f"The view “{view}” is forgotten.")
        return redirect("campaign", name=name)
    view = keep_view(member, request.POST)
    return redirect(f"{reverse('campaign', args=[name])}?{view.choices}")
