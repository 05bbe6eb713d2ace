"""The people of a campaign: who they are, what they did, and what the lead can change."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue, WrongState
from base.request_fields import is_whole, text_in
from campaigns.models import Membership
from judging import doors
from judging.work import leaving
from lead.tables.people import DAYS_SHOWN, days_of, rows_of
from reports.summaries import PEOPLE, current_summary

LIFETIMES = {1: "1 hour", 24: "1 day", 72: "3 days", 168: "7 days", 336: "14 days", 720: "30 days"}
USUAL_LIFETIME = 168  # hours


@require_safe
@never_cache
def listed(request: HttpRequest, name: str) -> HttpResponse:
    return _listed(request, doors.lead(request, name))


def _listed(request: HttpRequest, lead: Membership, link: str = "") -> HttpResponse:
    invitations = lead.campaign.invitations.open().select_related("by__user").order_by("expires")
    counted = current_summary(lead.campaign, PEOPLE)
    context = {
        "member": lead,
        "campaign": lead.campaign,
        "kept": counted,
        "rows": rows_of(lead.campaign, counted),
        "invitations": invitations,
        "roles": Membership.Role.choices,
        "lifetimes": LIFETIMES.items(),
        "usual_lifetime": USUAL_LIFETIME,
        "link": link,
    }
    return render(request, "lead/people.html", context)


@require_safe
@never_cache
def one(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    lead = doors.lead(request, name)
    person = doors.person(lead, worker)
    context = {
        "member": lead,
        "campaign": lead.campaign,
        "person": person,
        "events": person.events.select_related("by__user"),
        "days": days_of(person),
        "days_shown": DAYS_SHOWN,
        "live": person.assignments.live().select_related("batch__query").first(),
        "roles": [(role, words) for role, words in Membership.Role.choices if role != person.role],
    }
    return render(request, "lead/person.html", context)


@require_POST
def change(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """One of the verbs of a membership; pausing may hand over the batch in hand too."""
    lead = doors.lead(request, name)
    person, words = doors.person(lead, worker), text_in(request.POST, "words", 400)
    try:
        done = _do(request, lead, person, words)
        messages.success(request, f"Worker {worker}: {done}.")
    except WrongState as fault:
        messages.error(request, str(fault))
    if request.POST.get("back") == "checks":
        return redirect("checks", name)
    return redirect("home") if person == lead else redirect("person", name, worker)


def _do(request: HttpRequest, lead: Membership, person: Membership, words: str) -> str:
    verb = request.POST.get("verb", "")
    if verb == "role":
        role = request.POST.get("role", "")
        _one_of("role", role, Membership.Role.values)
        leaving.change_role(person, role, lead, words)
        return f"now {role}"
    _one_of("verb", verb, VERBS)
    apply, done = VERBS[verb]
    apply(person, lead, words)
    if verb == "pause" and request.POST.get("hand_over"):
        leaving.hand_over(person, lead, words)
    return done


VERBS: dict[str, tuple[Callable[[Membership, Membership, str], None], str]] = {
    "pause": (Membership.pause, "paused"),
    "resume": (Membership.resume, "at work again"),
    "deactivate": (leaving.deactivate, "left"),
    "take_back": (Membership.take_back, "a member again"),
    "hand_over": (leaving.hand_over, "work handed over"),
}


def _one_of(field: str, value: str, allowed: Collection[str]) -> None:
    if value not in allowed:
        raise BadValue(field, repr(value[:40]), f"one of {', '.join(allowed)}")


@require_POST
@never_cache
def invite(request: HttpRequest, name: str) -> HttpResponse:
    """Make a link and show it, this once: only its hash is kept."""
    lead = doors.lead(request, name)
    role, hours = request.POST.get("role", ""), request.POST.get("hours", "")
    _one_of("role", role, Membership.Role.values)
    if not is_whole(hours, digits=3) or not 1 <= int(hours) <= 720:
        raise BadValue("hours", repr(hours[:40]), "1 to 720")
    _, secret = lead.campaign.invite(role, lead, timedelta(hours=int(hours)))
    return _listed(request, lead, request.build_absolute_uri(reverse("invitation", args=[secret])))


@require_POST
def withdraw(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = doors.lead(request, name)
    get_object_or_404(lead.campaign.invitations, pk=pk).withdraw()
    messages.success(request, "Withdrawn: that link opens nothing any more.")
    return redirect("people", name)
