"""The people of a campaign: who they are, what they did, and what the lead can change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue
from base.problem_documents import refusal_as_message
from base.request_fields import is_whole, one_of, text_in
from campaigns.accounts import mails
from campaigns.creating import let_create, let_create_no_longer, may_create_campaigns
from campaigns.invitations import LIFETIMES, MOST_HOURS, USUAL_LIFETIME, InvitationsForm, invite_all, must_send_mails
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import doors
from judging.review import decisions
from reports.summaries import PEOPLE, current_summary
from reports.tables.people import DAYS_SHOWN, days_of, invitation_rows, person_rows


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    return _index(request, doors.lead(request, name))


def _index(request: HttpRequest, lead: Membership, link: str = "", form: InvitationsForm | None = None) -> HttpResponse:
    counted = current_summary(lead.campaign, PEOPLE)
    return campaign_page(
        request,
        lead,
        "lead/people.html",
        kept=counted,
        people=person_rows(lead.campaign, counted),
        invitations=invitation_rows(lead.campaign),
        roles=Membership.Role.choices,
        lifetimes=LIFETIMES.items(),
        usual_lifetime=USUAL_LIFETIME,
        link=link,
        form=form or InvitationsForm(lead.campaign),
        status=400 if form else 200,
    )


@require_safe
def detail(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    lead = doors.lead(request, name)
    person = doors.person(lead, worker)
    return campaign_page(
        request,
        lead,
        "lead/person.html",
        person=person,
        events=person.events.select_related("by__user"),
        days=days_of(person),
        days_shown=DAYS_SHOWN,
        live=person.assignments.live().select_related("batch__query").first(),
        roles=[(role, words) for role, words in Membership.Role.choices if role != person.role],
        may_let_create=may_let_create(lead, person),
        creates=may_create_campaigns(person.user),
    )


def may_let_create(lead: Membership, person: Membership) -> bool:
    """Return whether the lead may let a person create campaigns.

    Whoever may create campaigns decides about others who see all of this one. Annotators must stay blind.
    """
    return may_create_campaigns(lead.user) and person.role in Membership.SEES_ALL and not person.has_left


@require_POST
def creates(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """Let somebody create campaigns, or no longer."""
    lead = doors.lead(request, name)
    person = doors.person(lead, worker)
    if not may_let_create(lead, person):
        raise Http404
    may = one_of("may", request.POST.get("may", ""), ("yes", "no")) == "yes"
    with refusal_as_message(request):
        (let_create if may else let_create_no_longer)(person.user)
        who = f"{person.user.get_username()} may {'' if may else 'no longer '}create campaigns."
        messages.success(request, who)
    return redirect("person", name, worker)


@require_POST
def change(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """One of the verbs of a membership; pausing may hand over the batch in hand too."""
    lead = doors.lead(request, name)
    person, reason = doors.person(lead, worker), text_in(request.POST, "reason", 400)
    with refusal_as_message(request):
        done = _do(request, lead, person, reason)
        messages.success(request, f"Worker {worker} {done}.")
    if request.POST.get("back") == "checks":
        return redirect("checks", name)
    return redirect("home") if person == lead else redirect("person", name, worker)


def _do(request: HttpRequest, lead: Membership, person: Membership, reason: str) -> str:
    verb = request.POST.get("verb", "")
    if verb == "role":
        role = one_of("role", request.POST.get("role", ""), Membership.Role.values)
        decisions.change_role(person, role, lead, reason)
        return f"is now {role}"
    apply, done = VERBS[one_of("verb", verb, VERBS)]
    apply(person, lead, reason)
    if verb == "pause" and request.POST.get("hand_over"):
        decisions.hand_over(person, lead, reason)
    return done


VERBS: dict[str, tuple[Callable[[Membership, Membership, str], None], str]] = {
    "pause": (Membership.pause, "is paused"),
    "resume": (Membership.resume, "is active again"),
    "deactivate": (decisions.deactivate, "has left"),
    "take_back": (Membership.take_back, "is a member again"),
    "hand_over": (decisions.hand_over, "no longer holds a batch"),
}


@require_POST
def invite(request: HttpRequest, name: str) -> HttpResponse:
    """Make a link and show it, this once: only its hash is kept."""
    lead = doors.lead(request, name)
    role = one_of("role", request.POST.get("role", ""), Membership.Role.values)
    hours = request.POST.get("hours", "")
    if not is_whole(hours, digits=3) or not 1 <= int(hours) <= MOST_HOURS:
        raise BadValue("hours", repr(hours[:40]), f"1 to {MOST_HOURS}")
    _, secret = lead.campaign.invite(role, lead, timedelta(hours=int(hours)))
    return _index(request, lead, request.build_absolute_uri(reverse("invitation", args=[secret])))


@require_POST
def invite_by_mail(request: HttpRequest, name: str) -> HttpResponse:
    """Send an invitation to each person of a list; if one line is wrong, to nobody."""
    lead = doors.lead(request, name)
    must_send_mails()
    form = InvitationsForm(lead.campaign, request.POST)
    if not form.is_valid():
        return _index(request, lead, form=form)
    invited = invite_all(request, lead, form)
    messages.success(request, f"Invited: {invited}. The mails are on their way.")
    return redirect("people", name)


@require_POST
def send_invitation(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Send the mail of an open invitation once more, with the same link."""
    lead = doors.lead(request, name)
    invitation = get_object_or_404(lead.campaign.invitations.open().exclude(address=""), pk=pk)
    must_send_mails()
    mails.ask_for(mails.mail_invitation, invitation, request, invitation.language)
    messages.success(request, f"The mail to {invitation.address} is on its way.")
    return redirect("people", name)


@require_POST
def withdraw_invitation(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = doors.lead(request, name)
    get_object_or_404(lead.campaign.invitations, pk=pk).withdraw()
    messages.success(request, "The invitation is withdrawn: its link no longer works.")
    return redirect("people", name)
