"""The pages of trained systems: all of them, asking for one, how far it is, and searching with it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from campaigns.pages import campaign_page
from jobs.models import Job
from judging.pool.clips import clips_found
from retrieval.search.searching import Answer, search
from runs import access
from runs.forms import SearchForm, SystemForm
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
from runs.views.runs import page_or_form
from systems.interface import SYSTEMS
from systems.options import Streams


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The systems of a campaign, newest first; it asks for itself again while one is being trained."""
    member = access.participant(request, name)
    rows = list(member.campaign.systems.select_related("by", "submission", "run"))
    jobs = jobs_of(rows)
    ahead = waiting()
    systems = [(row, jobs.get(row.pk), where_of(row, jobs.get(row.pk), ahead)) for row in rows]
    going = any(job.is_unfinished for job in jobs.values()) or any(
        state_of(row, job) == State.CHECKED for row, job, _ in systems
    )
    template = "runs/_systems.html" if request.headers.get("hx-request") else "runs/systems.html"
    typed = system_for_typed_words(member.campaign)
    return campaign_page(request, member, template, rows=systems, going=going, kinds=SYSTEMS.items(), typed=typed)


@page_or_form
def new(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for a system of the kind that the address names."""
    member = access.participant(request, name)
    system = valid_data(SystemForm(request.GET))["system"] or "stal"
    entry, posted = SYSTEMS[system], request.POST if request.method == "POST" else None
    preset = presets_of(member.campaign).get(system, {}) if request.GET.get("preset") == PAPER else {}
    form = WantedForm(posted, member.campaign.corpus, entry)
    options = OptionsForm(posted, entry.options, preset)
    if posted is not None and (order := order_of(system, form, options, member.campaign)):
        made = ask_to_train(member, order)
        return redirect("system", name, made[0].number) if len(made) == 1 else redirect("systems", name)
    context: dict[str, Any] = {"system": system, "entry": entry, "kinds": SYSTEMS.items(), "paper": PAPER}
    context |= {"has_preset": issubclass(entry.options, Streams), "preset": preset, "before": waiting().before()}
    context |= {"lacks_model": lacks_model(entry)}
    context["estimate"] = estimate_of(system, options.cleaned_data if posted is not None else preset)
    status = 400 if posted is not None else 200
    return campaign_page(request, member, "runs/system_new.html", status, form=form, options=options, **context)


@require_safe
def detail(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """A system: what it is made of, how far its training is, its curves, and its run."""
    member = access.participant(request, name)
    row = access.trained_system(member, number)
    job = jobs_of([row]).get(row.pk)
    if request.headers.get("hx-request"):
        return _progress(request, job, is_drawn=bool(row.losses))
    return campaign_page(
        request,
        member,
        "runs/system.html",
        row=row,
        job=job,
        jobs=[job] if job else [],
        where=where_of(row, job, waiting()),
        is_own=row.by_id == member.pk,
        is_removable=access.may_remove(member, row),
        plot=plot_of(row),
        progress=f"{request.path}{'?drawn=yes' if row.losses else ''}",
    )


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


@require_safe
def query(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """With `?q=words`, the moments of a trained system beside those by caption similarity; asks again until found."""
    member = access.participant(request, name)
    row = access.trained_system(member, number)
    words = valid_data(SearchForm(request.GET))["q"]
    system_search = ask_to_search(row, words, member) if words and row.trained else None
    job = search_with_system.jobs(system_search).first() if system_search else None
    hits = hits_of(system_search, member.campaign) if system_search else []
    answer = search(member.campaign.corpus, words, HITS, member.user_id) if system_search else Answer()
    clips = clips_found([hit.moment for hit in answer.hits], member.campaign)
    to_come = any(hit.clip and hit.clip.is_waiting for hit in hits)
    waits = bool(job and job.is_unfinished) or bool(answer.job and not answer.job.has_failed) or to_come
    template = "runs/_system_found.html" if request.headers.get("hx-request") else "runs/system_search.html"
    near = [(hit, clips.get(hit.moment.pk)) for hit in answer.hits]
    context: dict[str, Any] = {"row": row, "words": words, "system_search": system_search, "job": job, "hits": hits}
    others = [
        (system, reverse("system-search", args=[name, system.number]))
        for system in member.campaign.systems.exclude(trained=None)
    ]
    context |= {"answer": answer, "near": near, "waits": waits, "others": others}
    return campaign_page(request, member, template, **context)
