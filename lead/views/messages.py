"""The lead's messages to annotators, to one or to all."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue
from base.request_fields import text_in, whole
from campaigns.models import Message
from campaigns.models.message import LONGEST_MESSAGE
from campaigns.pages import campaign_page
from judging import access

SHOWN = 100


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    sent = Message.objects.filter(to__campaign=lead.campaign).select_related("to__user", "by__user")
    return campaign_page(
        request,
        lead,
        "lead/messages.html",
        annotators=lead.campaign.memberships.reachable().select_related("user").order_by("worker"),
        sent=sent[:SHOWN],
        longest=LONGEST_MESSAGE,
    )


@require_POST
def send(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    words = {"text": request.POST.get("text", "").replace("\r\n", "\n")}
    text, to = text_in(words, "text", LONGEST_MESSAGE), request.POST.get("to", "")
    if not text:
        raise BadValue("text", "empty", "what the annotator is to read")
    chosen = lead.campaign.memberships.reachable()
    if to != "all":
        chosen = chosen.filter(pk=access.annotator_of(lead, whole("to", to, "a worker's number, or all")).pk)
    number = Message.objects.send(chosen, text, by=lead)
    messages.success(request, f"Sent to {number} annotator{'' if number == 1 else 's'}.")
    return redirect("messages", name=name)
