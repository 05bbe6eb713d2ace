"""The queries of a campaign in one table with what is done to them: actions, each with a preview and one undo."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page
from corpus.models import Clip
from jobs.models import Job
from judging import access as judging_access
from judging.models import Action, Batch, Query
from judging.pool.clips import clips_found, cut_clip, cut_for_search
from judging.review import actions
from judging.review.reopening import OFF
from judging.review.reviewing import last_review
from judging.review.verbs import ACTION_VERBS, verb_of
from lead.forms.campaign import CutForm, SearchForm
from lead.forms.judging import ActionForm, ForgetViewForm, PrepareForm, ViewForm
from reports.lists import LISTS, forget_view, keep_view, list_page
from reports.tables.batches import BATCHES, REVIEW, batches_of, queries_of_batches, states_of_batches
from reports.tables.costs import action_cost
from reports.tables.queries import QUERIES, chosen_queries, numbers_in_states, queries_of, ready_line, states_of_queries
from retrieval.search.searching import HITS, Answer, Hit, search

ROWS_NAMED = 20  # of those that were left, on a page
TABS = [("", "Queries"), ("batches", "Batches"), ("search", "Captions near a sentence")]


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponseBase:
    """The queries; with `?view=batches` their batches, with `?view=search` the captions that are near a sentence."""
    member = access.membership(request, name)
    view = {"batches": _batches, "search": _search}.get(request.GET.get("view", ""), _queries)
    return view(request, member)


def _queries(request: HttpRequest, member: Membership) -> HttpResponseBase:
    choices = QUERIES.choices(request.GET)
    rows = queries_of(member.campaign, choices.filters.get("show", ""))
    states = states_of_queries(numbers_in_states(member.campaign_id), choices)
    known = _known(member, "") | {"states": states, "by_place": choices.address(sort="place")}
    known["line_before"] = ready_line(member.campaign, choices.chosen(rows)) if choices.sort == "place" else None
    return list_page(request, member, "lead/queries.html", QUERIES, rows, **known)


def _batches(request: HttpRequest, member: Membership) -> HttpResponseBase:
    """The batches in a state, those to review unless the address names another, and the last review."""
    choices = BATCHES.choices(request.GET)
    state = choices.filters.get("show", REVIEW)
    last, skipped = last_review(member)
    known = {"states": states_of_batches(choices), "is_review": state == REVIEW, "last": last, "skipped": skipped}
    rows = batches_of(member.campaign, state)
    return list_page(request, member, "lead/queries.html", BATCHES, rows, **known, **_known(member, "batches"))


def _known(member: Membership, tab: str) -> dict[str, Any]:
    return {"tabs": TABS, "tab": tab, "verbs": ACTION_VERBS.values() if member.may_review else []}


def _search(request: HttpRequest, member: Membership) -> HttpResponse:
    """The form; with `q`, the nearest moments. It asks for itself again while a job is under way."""
    words = valid_data(SearchForm(request.GET))["q"]
    answer = search(member.campaign.corpus, words, HITS, member.user_id) if words else Answer()
    rows = _with_clips(answer.hits, member.campaign)
    waits = bool(answer.job and not answer.job.has_failed) or any(job for _, _, job in rows)
    template = "lead/_found.html" if request.headers.get("hx-request") else "lead/queries.html"
    known = {"words": words, "answer": answer, "rows": rows, "waits": waits}
    return campaign_page(request, member, template, **known, **_known(member, "search"))


def _with_clips(hits: list[Hit], campaign: Campaign) -> list[tuple[Hit, Clip | None, Job | None]]:
    """Return each hit with its clip, and with the job that cuts it unless that has ended."""
    clips = clips_found([hit.moment for hit in hits], campaign)
    to_come = [clip for clip in clips.values() if clip.is_waiting]
    jobs = {job.row: job for job in cut_clip.jobs(to_come).unfinished()}
    found = ((hit, clips.get(hit.moment.pk)) for hit in hits)
    return [(hit, clip, jobs.get(clip.pk) if clip else None) for hit, clip in found]


@require_POST
def cut_found(request: HttpRequest, name: str) -> HttpResponse:
    """Have the clip of a moment cut, and go back to what was found."""
    lead = access.lead(request, name)
    data = valid_data(CutForm(request.POST))
    cut_for_search(access.moment(lead.campaign.corpus, data["moment"]), lead.campaign)
    return redirect(f"{reverse('queries', args=[name])}?{urlencode({'view': 'search', 'q': data['q']})}")


@require_POST
def prepare(request: HttpRequest, name: str) -> HttpResponse:
    """Prepare an action, which has a page that shows what it costs. Nothing happens yet."""
    lead = access.lead(request, name)
    data = valid_data(PrepareForm(request.POST))
    with refusal_as_message(request):
        return redirect("action", name=name, pk=_prepared(lead, data).pk)
    if data["what"]:
        return redirect(f"{reverse('activity', args=[name])}?view=reopened")
    return redirect(f"{reverse('queries', args=[name])}?{data['view']}")


def _prepared(lead: Membership, data: dict[str, Any]) -> Action:
    """Prepare reopening a part, or an action on the queries that are ticked or that the list's filters choose."""
    if what := data["what"]:
        part = data["week"], data["with"], data["off"] == "on"
        return actions.prepare_reopening(lead, judging_access.scope(lead, what, data[what], *part))
    keys = None if data["which"] == "all" else data["row"]
    choose = queries_of_batches if data["listing"] == BATCHES.key else chosen_queries
    queries, chosen = choose(lead.campaign, QueryDict(data["view"]), keys)
    return actions.prepare(lead, data["verb"], queries, chosen)


@require_safe
def detail(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """The preview of an action with what it costs; once it is begun, how far it is and what became of each query."""
    member = access.membership(request, name)
    action = judging_access.action(member, pk)
    template = "lead/_action.html" if request.headers.get("hx-request") else "lead/action.html"
    known = _done(action) if action.begun else _preview(action)
    known |= {"verb": verb_of(action), "argument": actions.argument_of(action)}
    return campaign_page(request, member, template, action=action, subject=_subject(action), **known)


def _subject(action: Action) -> str:
    """Return what an action is done to, in words: a part that is named, one query, or their number."""
    if action.verb == "reopen" and action.argument:
        return action.chosen
    keys = list(action.rows.values_list("row", flat=True)[:2])
    if len(keys) == 1 and (query := Query.objects.filter(pk=keys[0]).first()):
        return f"“{query.text}”"
    return f"{action.rows.count():,} queries"


def _preview(action: Action) -> dict[str, Any]:
    cost = action_cost(action) if actions.is_ready(action) else None
    return {"arguments": actions.arguments_of(action), "cost": cost, "off": OFF if " off=" in action.argument else ""}


def _done(action: Action) -> dict[str, Any]:
    jobs = (actions.undo_all if action.undone else actions.act).jobs(action)
    return {
        "numbers": actions.numbers(action),
        "job": jobs.first(),
        "is_working": not action.ended or bool(action.undone and not action.undone_ended),
        "left": actions.named_rows(action, ROWS_NAMED),
        "batch": _only_batch(action),
    }


def _only_batch(action: Action) -> Batch | None:
    """Return the first batch of the query of an action, if it has one query only."""
    keys = list(action.rows.values_list("row", flat=True)[:2])
    return Batch.objects.filter(query=keys[0]).order_by("number").first() if len(keys) == 1 else None


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
            actions.begin(action, lead, data["reason"], data["argument"])
        elif data["change"] == "undo":
            actions.undo_action(action, lead)
        else:
            actions.forget(action)
            return redirect("queries", name=name)
    return redirect("action", name=name, pk=pk)


@require_POST
def views(request: HttpRequest, name: str) -> HttpResponse:
    """Keep a view of a list under a name, or forget one."""
    member = access.membership(request, name)
    if "remove" in request.POST:
        view = forget_view(member, valid_data(ForgetViewForm(request.POST))["remove"])
        messages.success(request, f"The view “{view}” is forgotten.")
        return redirect(_address(name, view.listing))
    view = keep_view(member, **valid_data(ViewForm(request.POST)))
    return redirect(_address(name, view.listing, view.choices))


def _address(name: str, listing: str, choices: str = "") -> str:
    page, _, tab = LISTS[listing].partition("/")
    query = "&".join(filter(None, [tab and f"view={tab}", choices]))
    return reverse(page, args=[name]) + (query and f"?{query}")
