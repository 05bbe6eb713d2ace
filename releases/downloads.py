"""View helpers that answer with a file: an export, a release, its signature or a training set."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from campaigns.models import Campaign, LogEntry, Membership, log
from judging.consensus import RULE
from releases.archive import ReleaseArchive
from releases.exports import BY_NAME
from releases.models import Release
from releases.publishing.signing import SUFFIX
from releases.training import file_name


def export_file(member: Membership, file: str) -> StreamingHttpResponse:
    """Answer with one of `releases.exports.FILES`, of the present state of the member's campaign."""
    export, campaign = BY_NAME.get(file), member.campaign
    if export is None:
        raise Http404
    log(member, LogEntry.Kind.EXPORT, file)
    headers = {"Content-Disposition": f'attachment; filename="{campaign.name}-{file}"', "X-Consensus-Rule": RULE}
    content_type = f"{export.content_type}; charset=utf-8"
    return StreamingHttpResponse(export.lines(campaign), content_type=content_type, headers=headers)


def ready_release(campaign: Campaign, version: int) -> Release:
    return get_object_or_404(campaign.releases, version=version, state=Release.State.READY)


def release_file(member: Membership, version: int) -> FileResponse:
    campaign = member.campaign
    file = ready_release(campaign, version).file.open("rb")
    log(member, LogEntry.Kind.EXPORT, f"release {version}")
    return FileResponse(file, as_attachment=True, filename=f"{campaign.name}-v{version}.zip")


def file_within_release(member: Membership, version: int, name: str) -> HttpResponse:
    """Answer with a file of the release's zip; 404 if it has none of this name."""
    with ready_release(member.campaign, version).file.open("rb") as zipped:
        archive = ReleaseArchive(zipped)
        if name not in archive.sizes:
            raise Http404
        content = archive.read(name)
    is_drawing = name.endswith(".svg")  # which the page of figures shows
    if not is_drawing:
        log(member, LogEntry.Kind.EXPORT, f"release {version}: {name}")
    media = "image/svg+xml" if is_drawing else "application/octet-stream"
    file = name.rpartition("/")[2]
    headers = {} if is_drawing else {"Content-Disposition": f'attachment; filename="{file}"'}
    return HttpResponse(content, content_type=media, headers=headers)


def signature_file(member: Membership, version: int) -> HttpResponse:
    """Answer with the signature of a release's file; 404 if it was frozen without a key."""
    release = ready_release(member.campaign, version)
    if not release.signature:
        raise Http404
    name = {"Content-Disposition": f'attachment; filename="{member.campaign.name}-v{version}.zip{SUFFIX}"'}
    return HttpResponse(release.signature, content_type="text/plain; charset=utf-8", headers=name)


def training_set_file(member: Membership, depth: int) -> FileResponse:
    campaign = member.campaign
    found = get_object_or_404(campaign.training_sets.exclude(file=""), depth=depth)
    filename = f"{campaign.name}-{file_name(depth)}"
    log(member, LogEntry.Kind.EXPORT, file_name(depth))
    return FileResponse(found.file.open("rb"), as_attachment=True, filename=filename)
