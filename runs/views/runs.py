"""The page of a run, also for everybody who has its link, its file, and uploading another one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.forms import refusal_at_field, valid_data
from base.problem_documents import refusal_as_message
from base.sites import site_address
from campaigns.models import Membership
from campaigns.pages import announced, campaign_page, progress_answer, take_piece, while_working
from jobs.models import Job
from runs import access
from runs.board.held_back import enter, entered_runs, entries_closed
from runs.board.standing import score_table, standing_of
from runs.estimates.scores import sample_of
from runs.explain.figures import plots_of_run
from runs.forms import EntryForm, RunForm, ScoresForm, VisibilityForm
from runs.models import Arrival, Run, Submission, Visibility
from runs.receiving import MOST_MIB, announce, begin, describe, must_be_open, receive_run, submit
from runs.scoring import score_runs

NEW = "new"  # in the place of a submission's token
SUFFIXES = (".json", ".jsonl", ".txt", ".trec", ".gz")


@require_safe
def detail(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """A run: where it stands, on which queries it loses and why, and all its scores on a release."""
    member = access.participant(request, name)
    run = access.run(member, number)
    data = valid_data(ScoresForm(request.GET))
    context = _scores(run, data["release"]) | {"unit": data["unit"]}
    if sample := context["sample"]:
        standing = standing_of(run, Run.objects.seen_by(member), sample.reference)
        context |= {"standing": standing} | (plots_of_run(standing, sample.reference) if standing else {})
    else:
        newest = member.campaign.releases.newest()
        context["waits"] = newest if newest and any(job.is_unfinished for job in score_runs.jobs(newest)) else None
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
    return render(request, "runs/run.html", {"frame": "base.html", "is_public": True, "run": run} | _scores(run))


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
    sample = sample_of(scoring) if scoring else None
    found = {"table": score_table(scoring, sample)} if scoring and sample else {}
    return {"scoring": scoring, "scorings": scorings, "sample": sample} | found


@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest, name: str, token: str = "") -> HttpResponse:
    """Choose the file of a run, describe the run, and have both checked. The first file or form makes a submission."""
    member = access.participant(request, name)
    submission = access.submission(member, token) if token else None
    if submission and submission.run:
        return redirect("run", name, submission.run.number)
    form = RunForm(request.POST if request.method == "POST" else None, instance=submission)
    if form.is_valid():
        with refusal_at_field(form):
            described = describe(member, form.cleaned_data, submission)
            if submission:
                submit(submission)
            return redirect("upload-check", name, described.token)
    context = _files_of(submission) if submission else {"waiting": _waiting(member)}
    context |= {"form": form, "most_mib": MOST_MIB, "upload_to": reverse("run-files", args=[name, token or NEW])}
    return campaign_page(request, member, "runs/upload.html", 400 if form.is_bound else 200, **context)


def _waiting(member: Membership) -> Any:
    return Submission.objects.filter(by=member, run=None).order_by("-touched")[:10]


def _files_of(submission: Submission) -> dict[str, Any]:
    """Return the files of a submission, and how far their check is."""
    jobs = _jobs(submission)
    return {
        "submission": submission,
        "files": {purpose: submission.files.filter(purpose=purpose) for purpose in Arrival.Purpose.values},
        "jobs": jobs,
        "unfinished": any(job.is_unfinished for job in jobs),
        "progress": reverse("run-progress", args=[submission.by.campaign.name, submission.token]),
    }


@require_safe
def progress(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """The bar of the check; the page asks for it again until the check has ended."""
    submission = access.submission(access.participant(request, name), token)
    jobs = _jobs(submission)
    bar = render(request, "parts/progress.html", {"progress": request.path, "jobs": jobs})
    return while_working(bar, any(job.is_unfinished for job in jobs))


@require_POST
def announce_file(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """Begin the upload of a file, or find the one that broke off. A file for `new` makes a submission."""
    member, file = access.participant(request, name), announced(request, Arrival.Purpose.values)
    if token != NEW:
        submission = access.submission(member, token)
        must_be_open(submission)
        return _answer(member, announce(submission, *file), 201)
    first = begin(member, *file)
    made, where = first.submission, [name, first.submission.token]
    page, upload_to = (reverse(address, args=where) for address in ("upload-check", "run-files"))
    fields = {"name": made.name, "system": made.system}
    return _answer(member, first, 201, page=page, upload_to=upload_to, fields=fields)


@require_http_methods(["GET", "HEAD", "PATCH"])
def piece(request: HttpRequest, name: str, token: str, file: str) -> HttpResponse:
    """Tell how much has arrived, or store the next piece."""
    member = access.participant(request, name)
    return take_piece(request, partial(access.arrival, member, token, file), partial(_answer, member))


def _answer(member: Membership, file: Arrival, status: int, **more: object) -> HttpResponse:
    address = reverse("run-piece", args=[member.campaign.name, file.submission.token, file.token])
    return progress_answer(file, address, status, **more)


def _jobs(submission: Submission) -> list[Job]:
    """Return the job that checks the submission, while it is under way or after it failed."""
    return list(receive_run.jobs(submission).not_done())
