"""What leads do to many rows of a list at once, and the views of lists that people keep."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.review import actions
from judging.review.verbs import ACTION_VERBS
from lead.forms.judging import ActionForm, ForgetViewForm, PrepareForm, ViewForm
from reports.lists import LISTS, forget_view, keep_view, list_page
from reports.tables.costs import action_cost
from reports.tables.history import entries_of, history_listing
from reports.tables.queries import chosen_queries

ROWS_NAMED = 20  # of those that were left, on a page


@require_POST
def prepare(request: HttpRequest, name: str) -> HttpResponse:
    """Prepare an action on the queries that were ticked, or on all that the list's filters choose."""
    lead = access.lead(request, name)
    data = valid_data(PrepareForm(request.POST))
    keys = None if data["which"] == "all" else data["row"]
    queries, chosen = chosen_queries(lead.campaign, QueryDict(data["view"]), keys)
    with refusal_as_message(request):
        action = actions.prepare(lead, data["verb"], queries, chosen)
        return redirect("action", name=name, pk=action.pk)
    return redirect(f"{reverse('campaign', args=[name])}?{data['view']}")


@require_safe
def detail(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """What an action would cost; once it is begun, how far it is and what became of each query."""
    member = access.membership(request, name)
    action = judging_access.action(member, pk)
    jobs = (actions.undo_all if action.undone else actions.act).jobs(action)
    template = "lead/_action.html" if request.headers.get("hx-request") else "lead/action.html"
    return campaign_page(
        request,
        member,
        template,
        action=action,
        verb=ACTION_VERBS[action.verb],
        argument=actions.argument_of(action),
        arguments={} if action.begun else actions.arguments_of(action),
        cost=action_cost(action) if actions.is_ready(action) else None,
        numbers=actions.numbers(action),
        job=jobs.first(),
        is_working=bool((action.begun and not action.ended) or (action.undone and not action.undone_ended)),
        left=actions.named_rows(action, ROWS_NAMED),
    )


@require_POST
def change(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Choose what an action sets, go on with it, undo what was done, or forget what was prepared."""
    lead = access.lead(request, name)
    action = judging_access.action(lead, pk)
    data = valid_data(ActionForm(action, request.POST))
    with refusal_as_message(request):
        if data["change"] == "choose":
            actions.choose(action, data["argument"])
        elif data["change"] == "begin":
            actions.begin(action, lead, data["reason"])
        elif data["change"] == "undo":
            actions.undo_action(action, lead)
        else:
            actions.forget(action)
            return redirect("campaign", name=name)
    return redirect("action", name=name, pk=pk)


@require_safe
def history(request: HttpRequest, name: str) -> HttpResponseBase:
    """What leads did in the campaign, the newest first."""
    lead = access.lead(request, name)
    return list_page(request, lead, "lead/history.html", history_listing(lead.campaign), entries_of(lead.campaign))


@require_POST
def views(request: HttpRequest, name: str) -> HttpResponse:
    """Keep a view of a list under a name, or forget one."""
    member = access.membership(request, name)
    if "remove" in request.POST:
        view = forget_view(member, valid_data(ForgetViewForm(request.POST))["remove"])
        messages.success(request, f"The view “{view}” is forgotten.")
        return redirect(LISTS[view.listing], name=name)
    view = keep_view(member, **valid_data(ViewForm(request.POST)))
    return redirect(f"{reverse(LISTS[view.listing], args=[name])}?{view.choices}")
