"""The runs of a campaign, each with its scores, and the page of a run that is public."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.request_fields import one_of, whole
from campaigns.pages import campaign_page
from metrics import CONVENTIONS
from runs import access
from runs.measures import NAMES
from runs.models import Run, Score, Scoring, Visibility
from runs.scoring import jobs_on, newest_release

SUFFIXES = (".json", ".jsonl", ".txt", ".trec", ".gz")


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The runs that the member may see, newest first."""
    member = access.membership(request, name)
    release = newest_release(member.campaign)
    runs = list(Run.objects.seen_by(member).select_related("by"))
    scored = set(Scoring.objects.filter(release=release, run__in=runs).values_list("run", flat=True))
    jobs = list(jobs_on(release)) if release else []
    context: dict[str, Any] = {
        "runs": [(run, run.pk in scored) for run in runs],
        "release": release,
        "jobs": jobs,
        "at_work": any(job.is_unfinished for job in jobs),
    }
    if request.headers.get("hx-request"):
        return campaign_page(request, member, "runs/_runs.html", **context)
    return campaign_page(request, member, "runs/index.html", **context)


@require_safe
def detail(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """A run: who made it of what, and its scores on a release."""
    member = access.membership(request, name)
    run = access.run(member, number)
    context = _scores(run, request.GET.get("release", ""))
    link = request.build_absolute_uri(reverse("public-run", args=[name, run.token])) if run.is_public else ""
    context |= {"link": link, "choices": Visibility.choices if run.by == member else []}
    return campaign_page(request, member, "runs/run.html", run=run, **context)


@require_safe
def download(request: HttpRequest, name: str, number: int) -> FileResponse:
    """The file as it was uploaded, under a name of ours."""
    run = access.run(access.membership(request, name), number)
    suffixes = [each for each in Path(run.filename).suffixes if each in SUFFIXES]
    filename = f"{name}-run-{number}{''.join(suffixes)}"
    return FileResponse(run.file.open("rb"), as_attachment=True, filename=filename)


@require_POST
def show_to(request: HttpRequest, name: str, number: int) -> HttpResponse:
    run = access.own_run(access.membership(request, name), number)
    run.show_to(one_of("visibility", request.POST.get("visibility"), Visibility.values))
    messages.success(request, f"Seen by: {Visibility(run.visibility).label.lower()}.")
    return redirect("run", name, number)


@login_not_required
@require_safe
def public(request: HttpRequest, name: str, token: str) -> HttpResponse:
    """A public run with its scores, without a word of queries or videos."""
    run = access.public_run(request, name, token)
    return render(request, "runs/public.html", {"run": run} | _scores(run))


def _scores(run: Run, version: str = "") -> dict[str, Any]:
    """Return the scores of a run on a release, the newest that it was scored on if none is named."""
    scorings = list(run.scorings.select_related("release").order_by("-release__version"))
    scoring = scorings[0] if scorings else None
    if version:
        number = whole("release", version, "the number of a release")
        scoring = get_object_or_404(run.scorings.select_related("release"), release__version=number)
    found: dict[str, list[Score]] = defaultdict(list)
    for score in Score.objects.filter(scoring=scoring).defer("values").order_by("pk"):
        found[score.convention].append(score)
    refusals = scoring.refusals if scoring else {}
    conventions = [(CONVENTIONS[name], found[name], refusals.get(name)) for name in NAMES if scoring]
    return {"scoring": scoring, "scorings": scorings, "conventions": conventions}
