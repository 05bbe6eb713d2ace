"""The addresses to which the browser sends the files of a new campaign in pieces."""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from campaigns.models import Upload
from campaigns.upload_requests import announced, progress_answer, take_piece
from campaigns.uploads import begin
from judging import access
from judging.drafts.changes import remove_file


@require_POST
def announce(request: HttpRequest, token: str) -> HttpResponse:
    """Begin an upload, or find the one that broke off."""
    draft = access.open_draft(request, token)
    purpose, name, size = announced(request, Upload.Purpose.values)
    return _answer(begin(draft, purpose, name, size), 201)


@require_http_methods(["GET", "HEAD", "PATCH"])
def piece(request: HttpRequest, token: str, upload: str) -> HttpResponse:
    """Tell how much has arrived, or store the next piece."""
    return take_piece(request, partial(access.upload, request, token, upload), _answer)


@require_POST
def remove_upload(request: HttpRequest, token: str, upload: str) -> HttpResponse:
    """Remove a file, and lead back to the step that it belongs to."""
    access.open_draft(request, token)
    found = access.upload(request, token, upload)
    remove_file(found)
    return redirect(STEPS[Upload.Purpose(found.purpose)], token)


STEPS = {
    Upload.Purpose.MOMENTS: "draft-corpus",
    Upload.Purpose.DURATIONS: "draft-corpus",
    Upload.Purpose.FILM: "draft-films",
    Upload.Purpose.QUERIES: "draft-queries",
}


def _answer(upload: Upload, status: int) -> HttpResponse:
    return progress_answer(upload, reverse("upload", args=[upload.draft.token, upload.token]), status)
