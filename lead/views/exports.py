"""What leaves a campaign, as files to download: exports, and pseudo training sets."""

from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from base.request_fields import whole
from campaigns.models import Campaign
from campaigns.pages import campaign_page
from jobs.models import Job
from judging import doors
from judging.consensus import RULE
from judging.models import Candidate
from releases.exports import BY_NAME, FILES
from releases.models import TrainingSet
from releases.training.sets import USUAL_DEPTHS, ask_for_training_set, make_training_set
from releases.training.writing import file_name


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
    campaign = doors.membership(request, name).campaign
    export = BY_NAME.get(file)
    if export is None:
        raise Http404
    answer = StreamingHttpResponse(
        export.lines(campaign), content_type=f"{export.content_type}; charset=utf-8"
    )
    answer["Content-Disposition"] = f'attachment; filename="{campaign.name}-{file}"'
    answer["X-Consensus-Rule"] = RULE
    return answer


@require_POST
def ask_for_one(request: HttpRequest, name: str) -> HttpResponse:
    lead = doors.lead(request, name)
    depth = whole("N", request.POST.get("depth", ""), "a number of moments for each query")
    ask_for_training_set(lead.campaign, depth)
    return redirect("exports", name=name)  # its row says how far it is


@require_safe
def training_set(request: HttpRequest, name: str, depth: int) -> FileResponse:
    campaign = doors.membership(request, name).campaign
    found = get_object_or_404(campaign.training_sets.exclude(file=""), depth=depth)
    filename = f"{campaign.name}-{file_name(depth)}"
    return FileResponse(found.file.open("rb"), as_attachment=True, filename=filename)
