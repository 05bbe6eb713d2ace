"""The runs of a campaign, each with its scores, uploading another one, and the page of a run that is public."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.forms import refusal_at_field, valid_data
from base.problem_documents import refusal_as_message
from base.sites import site_address
from base.templatetags.page_parts import Heading
from campaigns.models import Membership
from campaigns.pages import announced, campaign_page, progress_answer, take_piece, while_working
from jobs.models import Job
from metrics import CONVENTIONS, Estimate
from reports.lists import list_page
from runs import access
from runs.board.held_back import enter, entered_runs, entries_closed
from runs.board.options import RUNS_LIST, runs_of
from runs.estimates.scores import sample_of, scores_of
from runs.forms import EntryForm, ReleaseForm, RunForm, VisibilityForm
from runs.measures import NAMES
from runs.models import Arrival, Run, Score, Submission, Visibility
from runs.receiving import MOST_MIB, announce, describe, must_be_open, receive_run, submit
from runs.scoring import jobs_on

SUFFIXES = (".json", ".jsonl", ".txt", ".trec", ".gz")
page_or_form = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponseBase:
    """The runs that the member may see, and how far their scoring is, which the page asks for again until it ends."""
    member = access.participant(request, name)
    release = member.campaign.releases.newest()
    jobs = list(jobs_on(release)) if release else []
    at_work = any(job.is_unfinished for job in jobs)
    if request.headers.get("hx-request"):
        return while_working(campaign_page(request, member, "runs/_at_work.html", jobs=jobs, at_work=at_work), at_work)
    return list_page(request, member, "runs/index.html", RUNS_LIST, runs_of(member), jobs=jobs, at_work=at_work)


@require_safe
def detail(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """A run: who made it of what, and its scores on a release."""
    member = access.participant(request, name)
    run = access.run(member, number)
    context = _scores(run, valid_data(ReleaseForm(request.GET))["release"])
    link = site_address(request) + reverse("public-run", args=[name, run.token]) if run.is_public else ""
    knows = run.by == member or member.may_review
    context |= {"link": link, "choices": Visibility.choices if run.by == member else [], "veiled": knows and run.veiled}
    if run.by == member and member.campaign.held_back:
        own = entered_runs(member.campaign).filter(by=member).count()
        context |= {"may_enter": not entries_closed(member.campaign), "own_entered": own}
    return campaign_page(request, member, "runs/run.html", run=run, **context)


@require_safe
def download(request: HttpRequest, name: str, number: int) -> FileResponse:
    """The file as it was uploaded, under a name of ours."""
    return _file(name, access.run(access.participant(request, name), number))


@require_safe
def description(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Of what a run was made that a system here has submitted, as a file."""
    run = access.run(access.participant(request, name), number)
    if not run.recipe:
        raise Http404
    filename = f"{name}-run-{run.number}.description.json"
    return HttpResponse(
        f"{run.recipe}\n", "application/json", headers={"Content-Disposition": f'attachment; filename="{filename}"'}
    )


def _file(name: str, run: Run) -> FileResponse:
    suffixes = [suffix for suffix in Path(run.filename).suffixes if suffix in SUFFIXES]
    filename = f"{name}-run-{run.number}{''.join(suffixes)}"
    return FileResponse(run.file.open("rb"), as_attachment=True, filename=filename)


@require_POST
def show_to(request: HttpRequest, name: str, number: int) -> HttpResponse:
    run = access.own_run(access.participant(request, name), number)
    run.show_to(valid_data(VisibilityForm(request.POST))["visibility"])
    messages.success(request, f"Seen by: {Visibility(run.visibility).label.lower()}.")
    return redirect("run", name, number)


@require_POST
def enter_run(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Enter a run of one's own for the held-back split, or withdraw it."""
    run = access.own_run(access.participant(request, name), number)
    is_entered = valid_data(EntryForm(request.POST))["entered"]
    with refusal_as_message(request):
        enter(run, is_entered)
        messages.success(request, "The run is entered." if is_entered else "The run is no longer entered.")
    return redirect("run", name, number)


@login_not_required
@require_safe
def public(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """A public run with its scores, without a word of queries or videos."""
    run = access.public_run(request, name, token)
    return render(request, "runs/public.html", {"run": run} | _scores(run))


@login_not_required
@require_safe
def public_file(request: HttpRequest, name: str, token: str) -> FileResponse:
    """The file of a run of the public leaderboard."""
    return _file(name, access.listed_run(request, name, token))


def _scores(run: Run, version: int | None = None) -> dict[str, Any]:
    """Return the scores of a run on a release, the newest that it was scored on if none is named."""
    scorings = list(run.scorings.select_related("release").order_by("-release__version"))
    scoring = scorings[0] if scorings else None
    if version is not None:
        scoring = get_object_or_404(run.scorings.select_related("release"), release__version=version)
    found: dict[str, list[tuple[Score, Estimate | None]]] = defaultdict(list)
    sample = sample_of(scoring) if scoring else None
    for score, estimate in scores_of(scoring, sample) if scoring and sample else ():
        found[score.convention].append((score, estimate))
    refusals = scoring.refusals if scoring else {}
    conventions = [(CONVENTIONS[name], found[name], refusals.get(name)) for name in NAMES if scoring]
    about = {
        "sample": sample,
        "plain_mean": Heading("Plain mean", is_number=True) if sample and sample.is_part else None,
    }
    return {"scoring": scoring, "scorings": scorings, "conventions": conventions} | about


@page_or_form
def new(request: HttpRequest, name: str) -> HttpResponse:
    """Describe a run that is to come; its files follow."""
    member = access.participant(request, name)
    form = RunForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusal_at_field(form):
            return redirect("run-check", name, describe(member, form.cleaned_data).token)
    waiting = Submission.objects.filter(by=member, run=None).order_by("-touched")[:10]
    status = 400 if form.is_bound else 200
    return campaign_page(request, member, "runs/new.html", status, form=form, waiting=waiting)


@page_or_form
def check(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """The files of a submission, how far their check is, and what it found; a POST asks for the check."""
    member = access.participant(request, name)
    submission = access.submission(member, token)
    if submission.run:
        return redirect("run", name, submission.run.number)
    if request.method == "POST":
        submit(submission)
        return redirect("run-check", name, token)
    jobs = _jobs(submission)
    context: dict[str, Any] = {
        "submission": submission,
        "files": {purpose: submission.files.filter(purpose=purpose) for purpose in Arrival.Purpose.values},
        "most_mib": MOST_MIB,
        "jobs": jobs,
        "unfinished": any(job.is_unfinished for job in jobs),
        "progress": reverse("run-progress", args=[name, token]),
        "upload_to": reverse("run-files", args=[name, token]),
    }
    return campaign_page(request, member, "runs/check.html", **context)


@require_safe
def progress(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """The bar of the check; the page asks for it again until the check has ended."""
    submission = access.submission(access.participant(request, name), token)
    jobs = _jobs(submission)
    bar = render(request, "parts/progress.html", {"progress": request.path, "jobs": jobs})
    return while_working(bar, any(job.is_unfinished for job in jobs))


@require_POST
def announce_file(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """Begin the upload of a file, or find the one that broke off."""
    member = access.participant(request, name)
    submission = access.submission(member, token)
    must_be_open(submission)
    return _answer(member, announce(submission, *announced(request, Arrival.Purpose.values)), 201)


@require_http_methods(["GET", "HEAD", "PATCH"])
def piece(request: HttpRequest, name: str, token: str, file: str) -> HttpResponse:
    """Tell how much has arrived, or store the next piece."""
    member = access.participant(request, name)
    return take_piece(request, partial(access.arrival, member, token, file), partial(_answer, member))


def _answer(member: Membership, file: Arrival, status: int) -> HttpResponse:
    address = reverse("run-piece", args=[member.campaign.name, file.submission.token, file.token])
    return progress_answer(file, address, status)


def _jobs(submission: Submission) -> list[Job]:
    """Return the job that checks the submission, while it is under way or after it failed."""
    return list(receive_run.jobs(submission).not_done())
