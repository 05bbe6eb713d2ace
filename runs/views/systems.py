"""The pages of trained systems: all of them, asking for one, how far it is, and searching with it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.forms import valid_data
from campaigns.models import Membership
from campaigns.pages import campaign_page
from jobs.models import Job
from judging.pool.clips import clips_found
from retrieval.search.searching import search
from runs import access
from runs.forms import SearchForm, TrainingForm
from runs.models import TrainedSystem
from runs.systems.forms import OptionsForm, WantedForm, order_of
from runs.systems.orders import (
    HITS,
    ask_to_search,
    ask_to_train,
    hits_of,
    lacks_model,
    remove,
    search_with_system,
    system_for_typed_words,
)
from runs.systems.pages import (
    PAPER,
    State,
    curves_file,
    estimate_of,
    jobs_of,
    plot_of,
    presets_of,
    state_of,
    waiting,
    where_of,
)
from systems.interface import SYSTEMS
from systems.options import Streams


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The systems of a campaign, newest first; a drawer asks for another one, of the kind that the address names."""
    member, data = access.participant(request, name), valid_data(TrainingForm(request.GET))
    posted = request.POST if request.method == "POST" else None
    drawer = _drawer(member, data, posted) if data["drawer"] or data["system"] or posted is not None else {}
    if order := drawer.get("order"):
        made = ask_to_train(member, order)
        return redirect("system", name, made[0].number) if len(made) == 1 else redirect("systems", name)
    template = "runs/_systems.html" if request.headers.get("hx-request") else "runs/systems.html"
    context = {"kinds": SYSTEMS.items(), "paper": PAPER, **_list(member), **drawer}
    return campaign_page(request, member, template, 200 if posted is None else 400, **context)


def _drawer(member: Membership, data: dict[str, Any], posted: QueryDict | None) -> dict[str, Any]:
    """Return the form that asks for a system, and the order of one that is posted, or None if something is wrong."""
    system = data["system"] or "stal"
    entry = SYSTEMS[system]
    preset = presets_of(member.campaign).get(system, {}) if data["preset"] else {}
    form, options = WantedForm(posted, member.campaign.corpus, entry), OptionsForm(posted, entry.options, preset)
    order = order_of(system, form, options, member.campaign) if posted is not None else None
    return {
        "drawer": "train",
        "system": system,
        "entry": entry,
        "form": form,
        "options": options,
        "order": order,
        "preset": preset,
        "has_preset": issubclass(entry.options, Streams),
        "before": waiting().before(),
        "lacks_model": lacks_model(entry),
        "estimate": estimate_of(system, options.cleaned_data if posted is not None else preset) if not order else None,
    }


def _list(member: Membership) -> dict[str, Any]:
    """Return the systems, how far each is, and whether the page has to ask again."""
    rows = list(member.campaign.systems.select_related("by", "submission", "run"))
    jobs, ahead = jobs_of(rows), waiting()
    systems = [(row, jobs.get(row.pk), where_of(row, jobs.get(row.pk), ahead)) for row in rows]
    going = any(job.is_unfinished for job in jobs.values()) or any(
        state_of(row, job) == State.CHECKED for row, job, _ in systems
    )
    return {"rows": systems, "going": going, "typed": system_for_typed_words(member.campaign)}


@require_safe
def detail(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """A system: what it is made of, its training and its run; with `?q=words`, what it finds, asked for until found."""
    member = access.participant(request, name)
    row = access.trained_system(member, number)
    job, words = jobs_of([row]).get(row.pk), valid_data(SearchForm(request.GET))["q"]
    is_update = bool(request.headers.get("hx-request"))
    if is_update and not words:
        return _progress(request, job, is_drawn=bool(row.losses))
    context: dict[str, Any] = {
        "row": row,
        "job": job,
        "jobs": [job] if job else [],
        "where": where_of(row, job, waiting()),
        "is_own": row.by_id == member.pk,
        "is_removable": access.may_remove(member, row),
        "plot": plot_of(row),
        "progress": f"{request.path}{'?drawn=yes' if row.losses else ''}",
        **(_found(member, row, words) if row.trained else {}),
    }
    return campaign_page(request, member, "runs/_system_found.html" if is_update else "runs/system.html", **context)


def _found(member: Membership, row: TrainedSystem, words: str) -> dict[str, Any]:
    """Return the moments that a trained system finds, beside those by caption similarity."""
    others = member.campaign.systems.exclude(trained=None)
    context: dict[str, Any] = {"words": words, "others": others}
    if not words:
        return context
    system_search = ask_to_search(row, words, member)
    job = search_with_system.jobs(system_search).first()
    hits = hits_of(system_search, member.campaign)
    answer = search(member.campaign.corpus, words, HITS, member.user_id)
    clips = clips_found([hit.moment for hit in answer.hits], member.campaign)
    to_come = any(hit.clip and hit.clip.is_waiting for hit in hits)
    waits = bool(job and job.is_unfinished) or bool(answer.job and not answer.job.has_failed) or to_come
    near = [(hit, clips.get(hit.moment.pk)) for hit in answer.hits]
    context |= {"system_search": system_search, "search_job": job, "hits": hits}
    return context | {"answer": answer, "near": near, "waits": waits}


def _progress(request: HttpRequest, job: Job | None, is_drawn: bool) -> HttpResponse:
    """The bar of the job. The page's figure is drawn anew each time, and the page is loaded anew once it has ended."""
    answer = render(request, "parts/progress.html", {"progress": request.get_full_path(), "jobs": [job] if job else []})
    first_points = is_drawn and not request.GET.get("drawn")
    if job is None or not job.is_unfinished or first_points:
        answer["HX-Refresh"] = "true"
    else:
        answer["HX-Trigger"] = "figures-changed"
    return answer


@require_safe
def curves(request: HttpRequest, name: str, number: int, format: str) -> HttpResponse:
    """The curves as a specification for the page, SVG, PDF, or the CSV of their points."""
    row = access.trained_system(access.participant(request, name), number)
    access.count_file(request, format)
    return curves_file(row, format)


@require_POST
def remove_one(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Remove a system that is no longer wanted; its run stays."""
    row = access.removable_system(access.participant(request, name), number)
    remove(row)
    messages.success(request, f"{row} is removed.{' Its run stays.' if row.is_submitted else ''}")
    return redirect("systems", name)
