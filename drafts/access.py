"""Finding a person's own drafts and their uploads; anybody else gets a 404."""

from __future__ import annotations

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from base.errors import WrongState
from campaigns.access import creator
from drafts.builder import is_being_stored
from drafts.models import Draft, Upload


def draft(request: HttpRequest, token: str) -> Draft:
    """Return a draft of the person's own, whether a campaign was made of it or not."""
    return get_object_or_404(Draft.objects.select_related("corpus", "campaign"), token=token, owner=creator(request))


def open_draft(request: HttpRequest, token: str) -> Draft:
    """Return a draft of the person's own that can be looked at or, as the request asks for, changed.

    Raises WrongState if the campaign was made of it; or, for a change, if it is being made, or its corpus stored.
    """
    found = draft(request, token)
    if found.campaign:
        raise WrongState(f"The campaign {found.campaign} was made of this draft already.")
    if request.method not in ("GET", "HEAD") and is_being_stored(found):
        raise WrongState("What this draft holds is being stored. Wait until that has ended.")
    return found


def upload(request: HttpRequest, draft: str, token: str) -> Upload:
    """Return an upload for a draft of the person's own that is no campaign yet."""
    own = Upload.objects.filter(draft__campaign__isnull=True).select_related("draft")
    return get_object_or_404(own, token=token, draft__token=draft, draft__owner=creator(request))
