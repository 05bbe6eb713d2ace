"""What leaves a campaign, as files to download: exports, and pseudo training sets."""

from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from base.request_fields import whole
from campaigns.models import Campaign
from campaigns.pages import campaign_page
from jobs.models import Job
from judging import doors
from judging.consensus import RULE
from judging.models import Candidate
from releases.exports import FILES, export_file, training_set_file
from releases.models import TrainingSet
from releases.training import USUAL_DEPTHS, ask_for_training_set, make_training_set


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
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
def download(request: HttpRequest, name: str, file: str) -> StreamingHttpResponse:
    return export_file(doors.membership(request, name).campaign, file)


@require_POST
def ask_for_one(request: HttpRequest, name: str) -> HttpResponse:
    lead = doors.lead(request, name)
    depth = whole("N", request.POST.get("depth", ""), "a number of moments for each query")
    ask_for_training_set(lead.campaign, depth)
    return redirect("exports", name=name)  # its row says how far it is


@require_safe
def training_set(request: HttpRequest, name: str, depth: int) -> FileResponse:
    return training_set_file(doors.membership(request, name).campaign, depth)
