"""The steps by which a campaign is made in the browser. Each page can be left and come back to."""

from __future__ import annotations

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.problem_documents import refusal_as_message
from campaigns.models import Campaign, Draft, Upload
from campaigns.uploads import most_mib, remove_draft
from judging import doors
from judging.drafts.builder import check_draft, make_campaign
from judging.drafts.changes import (
    KINDS,
    ask_to_check,
    ask_to_make,
    begin_draft,
    change_corpus,
    change_films,
    change_people,
    change_queries,
    change_settings,
    jobs_of,
    root_and_below,
)
from judging.drafts.forms import CorpusForm, FilmsForm, NewSettingsForm, PeopleForm, QueriesForm
from judging.drafts.sources import captions_of, draw_queries, drawn, store_corpus, wrong_at_first_look
from lead.drafts.steps import after, steps
from retrieval.rewriting.counting import counted, ready_in

page_or_form = require_http_methods(["GET", "HEAD", "POST"])


@page_or_form
def index(request: HttpRequest) -> HttpResponse:
    """The person's drafts, and the button that begins another."""
    user = doors.creator(request)
    drafts = Draft.objects.unfinished().filter(owner=user).order_by("-touched")
    if request.method == "POST":
        return redirect("draft-corpus", begin_draft(user).token)
    return render(request, "lead/drafts/index.html", {"drafts": drafts})


@page_or_form
def corpus(request: HttpRequest, token: str) -> HttpResponse:
    draft = doors.open_draft(request, token)
    initial = {
        "corpus": draft.corpus_id,
        "columns": "".join(f"{name} = {column}\n" for name, column in draft.columns.items()),
        **{name: getattr(draft, name) for name in ("corpus_name", "format", "kind")},
    }
    form = CorpusForm(draft.owner, request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        change_corpus(draft, form)
        return redirect("draft-corpus", token) if wrong_at_first_look(draft) else redirect(after(draft, "draft-corpus"))
    wrong = wrong_at_first_look(draft)
    return _page(request, draft, "draft-corpus", "lead/drafts/corpus.html", form, wrong=wrong)


@page_or_form
def films(request: HttpRequest, token: str) -> HttpResponse:
    draft = doors.open_draft(request, token)
    root, below = root_and_below(draft)
    initial = {"films": draft.media, "root": root, "below": below, "frame_rate": draft.frame_rate}
    form = FilmsForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        change_films(draft, form)
        return redirect(after(draft, "draft-films"))
    return _page(request, draft, "draft-films", "lead/drafts/films.html", form)


@page_or_form
def queries(request: HttpRequest, token: str) -> HttpResponse:
    """Which queries: drawn ones, of which a job shows some beforehand, and those that were uploaded or pasted."""
    draft = doors.open_draft(request, token)
    known = counted(draft.corpus) if draft.corpus else None
    form = QueriesForm(draft, ready_in(known), request.POST if request.method == "POST" else None)
    if form.is_valid():
        change_queries(draft, form)
        if "look" in request.POST and form.selection:
            draw_queries.ask(draft)
            return redirect("draft-queries", token)
        return redirect(after(draft, "draft-queries"))
    about = captions_of(draft.corpus) if draft.corpus else {}
    about |= {"counted": known, "drawn": drawn(draft), "working": jobs_of(draft, draw_queries, store_corpus)}
    return _page(request, draft, "draft-queries", "lead/drafts/queries.html", form, **about)


@require_POST
def start_storing(request: HttpRequest, token: str) -> HttpResponse:
    """Store the new corpus before the campaign is made, so that its descriptions can be reworded."""
    draft = doors.open_draft(request, token)
    store_corpus.ask(draft)
    return redirect("draft-queries", token)


@page_or_form
def campaign_settings(request: HttpRequest, token: str) -> HttpResponse:
    draft = doors.open_draft(request, token)
    so_far = Campaign(name=draft.name, **draft.settings)
    form = NewSettingsForm(request.POST if request.method == "POST" else None, instance=so_far)
    if form.is_valid():
        change_settings(draft, form)
        return redirect(after(draft, "draft-settings"))
    return _page(request, draft, "draft-settings", "lead/drafts/settings.html", form)


@page_or_form
def people(request: HttpRequest, token: str) -> HttpResponse:
    draft = doors.open_draft(request, token)
    initial = {"people": "".join(f"{name} {role}\n" for name, role in draft.people)}
    form = PeopleForm(draft.owner, request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        change_people(draft, form)
        return redirect(after(draft, "draft-people"))
    return _page(request, draft, "draft-people", "lead/drafts/people.html", form)


@require_safe
def check(request: HttpRequest, token: str) -> HttpResponse:
    """What the check found, or how far it is; and the button that makes the campaign, if nothing is wrong."""
    draft = doors.draft(request, token)
    if draft.campaign:
        return redirect("campaign", draft.campaign.name)
    return _page(request, draft, "draft-check", "lead/drafts/check.html")


@require_safe
def progress(request: HttpRequest, token: str) -> HttpResponse:
    """The bar of the job under way; the page asks for it again until the job has ended."""
    draft = doors.draft(request, token)
    context = {"progress": request.path, "jobs": (jobs := jobs_of(draft, *KINDS))}
    answer = render(request, "parts/progress.html", context)
    if not any(job.is_unfinished for job in jobs):
        answer["HX-Refresh"] = "true"
    return answer


@require_POST
def start_check(request: HttpRequest, token: str) -> HttpResponse:
    draft = doors.open_draft(request, token)
    ask_to_check(draft)
    return redirect("draft-check", token)


@require_POST
def make(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the campaign. Doing it twice is harmless."""
    draft = doors.draft(request, token)
    with refusal_as_message(request):
        ask_to_make(draft)
    return redirect("draft-check", token)


@require_POST
def remove(request: HttpRequest, token: str) -> HttpResponse:
    remove_draft(doors.open_draft(request, token))
    messages.success(request, "The draft is removed, with what was uploaded for it.")
    return redirect("drafts")


def _page(
    request: HttpRequest,
    draft: Draft,
    here: str,
    template: str,
    form: Form | NewSettingsForm | None = None,
    **about: object,
) -> HttpResponse:
    uploads: dict[str, list[Upload]] = {purpose: [] for purpose in Upload.Purpose.values}
    for upload in draft.uploads.order_by("pk"):
        uploads[upload.purpose].append(upload)
    context = {
        "draft": draft,
        "form": form,
        "steps": steps(draft, here),
        "uploads": uploads,
        "jobs": (jobs := jobs_of(draft, check_draft, make_campaign, store_corpus)),
        "progress": reverse("draft-progress", args=[draft.token]),
        "upload_to": reverse("uploads", args=[draft.token]),
        "unfinished": any(job.is_unfinished for job in jobs),
        "most_mib": {purpose: most_mib(purpose) for purpose in Upload.Purpose.values},
    }
    return render(request, template, context | about, status=400 if form and form.is_bound else 200)
