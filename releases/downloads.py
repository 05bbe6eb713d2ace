"""Exports, releases and training sets as files to download."""

from __future__ import annotations

from django.http import FileResponse, Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from campaigns.models import Campaign
from judging.consensus import RULE
from releases.exports import BY_NAME
from releases.training.writing import file_name


def export_file(campaign: Campaign, file: str) -> StreamingHttpResponse:
    """Answer with one of `releases.exports.FILES`, of the campaign's present state."""
    export = BY_NAME.get(file)
    if export is None:
        raise Http404
    answer = StreamingHttpResponse(
        export.lines(campaign), content_type=f"{export.content_type}; charset=utf-8"
    )
    answer["Content-Disposition"] = f'attachment; filename="{campaign.name}-{file}"'
    answer["X-Consensus-Rule"] = RULE
    return answer


def training_set_file(campaign: Campaign, depth: int) -> FileResponse:
    found = get_object_or_404(campaign.training_sets.exclude(file=""), depth=depth)
    filename = f"{campaign.name}-{file_name(depth)}"
    return FileResponse(found.file.open("rb"), as_attachment=True, filename=filename)
