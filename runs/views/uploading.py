"""Uploading a run: its description, its files, and what the check says of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from campaigns.models import Membership
from campaigns.pages import campaign_page
from campaigns.uploads import announced, progress_answer, take_piece
from jobs.models import Job
from runs import access
from runs.models import Arrival, Submission
from runs.receiving import MOST_MIB, RunForm, announce, describe, must_be_open, receive_run, submit

page_or_form = require_http_methods(["GET", "HEAD", "POST"])


@page_or_form
def new(request: HttpRequest, name: str) -> HttpResponse:
    """Describe a run that is to come; its files follow."""
    member = access.membership(request, name)
    form = RunForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        if not member.campaign.runs.filter(name=form.cleaned_data["name"]).exists():
            return redirect("run-check", name, describe(member, form.cleaned_data).token)
        form.add_error("name", "Another run of the campaign has this name.")
    waiting = Submission.objects.filter(by=member, run=None).order_by("-touched")[:10]
    status = 400 if form.is_bound else 200
    return campaign_page(request, member, "runs/new.html", status, form=form, waiting=waiting)


@page_or_form
def check(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """The files of a submission, how far their check is, and what it found; a POST asks for the check."""
    member = access.membership(request, name)
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
    submission = access.submission(access.membership(request, name), token)
    jobs = _jobs(submission)
    answer = render(request, "parts/progress.html", {"progress": request.path, "jobs": jobs})
    if not any(job.is_unfinished for job in jobs):
        answer["HX-Refresh"] = "true"
    return answer


@require_POST
def announce_file(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """Begin the upload of a file, or find the one that broke off."""
    member = access.membership(request, name)
    submission = access.submission(member, token)
    must_be_open(submission)
    return _answer(member, announce(submission, *announced(request, Arrival.Purpose.values)), 201)


@require_http_methods(["GET", "HEAD", "PATCH"])
def piece(request: HttpRequest, name: str, token: str, file: str) -> HttpResponse:
    """Tell how much has arrived, or store the next piece."""
    member = access.membership(request, name)
    return take_piece(request, partial(access.arrival, member, token, file), partial(_answer, member))


def _answer(member: Membership, file: Arrival, status: int) -> HttpResponse:
    address = reverse("run-piece", args=[member.campaign.name, file.submission.token, file.token])
    return progress_answer(file, address, status)


def _jobs(submission: Submission) -> list[Job]:
    """Return the job that checks the submission, while it is under way or after it failed."""
    return list(receive_run.jobs(submission).not_done())
