"""What leaves a campaign, as files to download."""

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from campaigns.pages import campaign_page
from judging import doors
from judging.consensus import RULE
from judging.models import Candidate
from releases.exports import BY_NAME, FILES


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    return campaign_page(
        request,
        member,
        "lead/exports.html",
        settled=Candidate.objects.in_pool(member.campaign).settled().exists(),
        files=FILES,
        rule=RULE,
    )


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
