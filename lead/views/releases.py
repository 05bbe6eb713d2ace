"""What leaves a campaign: releases, what two of them differ in, exports, and pseudo training sets."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.text import csv_lines
from campaigns import access
from campaigns.models import Campaign
from campaigns.pages import campaign_page
from jobs.models import Job
from judging.consensus import RULE
from judging.models import Candidate
from judging.review.frontier import frontier
from lead.forms.campaign import DifferenceForm, ReleaseForm, TrainingSetForm
from releases.data_card import EARLY, LICENCES
from releases.difference import HEADER, changes, compare
from releases.downloads import export_file, ready_release, release_file, signature_file, training_set_file
from releases.exports import FILES
from releases.freezing import freeze, freeze_release
from releases.models import Release, TrainingSet
from releases.training import USUAL_DEPTHS, ask_for_training_set, make_training_set
from runs.pools.enlarging import open_runs

USUAL_LICENCE = "CC-BY-4.0"


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    member = access.membership(request, name)
    releases = list(member.campaign.releases.select_related("by", "campaign")[:50])
    jobs = {job.row: job for job in freeze_release.jobs(releases)}
    failed = {row for row, job in jobs.items() if job.has_failed}
    context: dict[str, Any] = {
        "releases": [(release, jobs.get(release.pk)) for release in releases],
        "making": any(release.state == Release.State.MAKING and release.pk not in failed for release in releases),
        "early": EARLY if any(release.is_early for release in releases) else "",
        "licences": LICENCES.items(),
        "chosen": releases[0].licence if releases else USUAL_LICENCE,
        "command": settings.COMMAND,
    }
    if request.headers.get("hx-request"):
        return campaign_page(request, member, "lead/_releases.html", **context)
    pool = member.campaign.queries.pool()
    numbers = {"n_queries": pool.count(), "n_unfinished": pool.count() - pool.finished().count()}
    context |= {"frontier": frontier(member.campaign), "runs": open_runs(member.campaign)}
    early = EARLY if member.campaign.batches > 1 else ""
    return campaign_page(request, member, "lead/releases.html", next_early=early, **context, **numbers)


@require_POST
def make(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    freeze(lead.campaign, lead, **valid_data(ReleaseForm(request.POST)))
    return redirect("releases", name=name)  # its row says how far it is


@require_safe
def download(request: HttpRequest, name: str, version: int) -> FileResponse:
    return release_file(access.membership(request, name), version)


@require_safe
def signature(request: HttpRequest, name: str, version: int) -> HttpResponse:
    return signature_file(access.membership(request, name), version)


@require_safe
def compare_page(request: HttpRequest, name: str) -> HttpResponse:
    """Two releases beside each other: as a page with the first changes, or all of them as CSV."""
    member = access.membership(request, name)
    data = valid_data(DifferenceForm(request.GET))
    old, new = (ready_release(member.campaign, data[name]) for name in ("from", "to"))
    if request.GET.get("as") == "csv":
        access.count_file(request)
        rows = ((change.what, change.query, change.moment, change.before, change.after) for change in changes(old, new))
        answer = StreamingHttpResponse(csv_lines(HEADER, rows), content_type="text/csv; charset=utf-8")
        filename = f"{name}-v{old.version}-v{new.version}.csv"
        answer["Content-Disposition"] = f'attachment; filename="{filename}"'
        return answer  # type: ignore[return-value]
    return campaign_page(request, member, "lead/release_difference.html", old=old, new=new, found=compare(old, new))


@require_safe
def exports(request: HttpRequest, name: str) -> HttpResponse:
    member = access.membership(request, name)
    sets = _training_sets(member.campaign)
    context: dict[str, Any] = {"sets": sets, "making": any(job and not job.has_failed for _, job in sets)}
    if request.headers.get("hx-request"):
        return campaign_page(request, member, "lead/_training_sets.html", **context)
    return campaign_page(
        request,
        member,
        "lead/exports.html",
        **context,
        settled=Candidate.objects.in_pool(member.campaign).settled().exists(),
        files=FILES,
        rule=RULE,
        depths=[depth for depth in USUAL_DEPTHS if depth not in {each.depth for each, _ in sets}],
    )


def _training_sets(campaign: Campaign) -> list[tuple[TrainingSet, Job | None]]:
    """Return the training sets, each with its job unless that is done."""
    sets = campaign.training_sets.all()
    jobs = {job.row: job for job in make_training_set.jobs(sets).not_done()}
    return [(each, jobs.get(each.pk)) for each in sets]


@require_safe
def download_export(request: HttpRequest, name: str, file: str) -> StreamingHttpResponse:
    member = access.membership(request, name)
    access.count_file(request)
    return export_file(member, file)


@require_POST
def start_training_set(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    ask_for_training_set(lead.campaign, **valid_data(TrainingSetForm(request.POST)))
    return redirect("exports", name=name)  # its row says how far it is


@require_safe
def training_set(request: HttpRequest, name: str, depth: int) -> FileResponse:
    return training_set_file(access.membership(request, name), depth)
