"""The people of a campaign: who they are, what they did, what the lead can change; messages to them; hours and pay."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue
from base.problem_documents import refusal_as_message
from base.request_fields import is_whole, one_of, text_in, whole
from base.templatetags.page_parts import Heading
from campaigns.access import let_create, let_create_no_longer, may_create_campaigns, may_let_create
from campaigns.accounts import mails
from campaigns.invitations import LIFETIMES, MOST_HOURS, USUAL_LIFETIME, InvitationsForm, invite_all, must_send_mails
from campaigns.models import Membership, Message
from campaigns.models.membership import LONGEST_MESSAGE
from campaigns.pages import campaign_page
from judging import access
from judging.review import decisions
from judging.review.decisions import answer, put_aside
from reports.hours import Rates
from reports.pay import Period, approve, may_be_approved, pay_of, sum_of, write_csv
from reports.summaries import PEOPLE, current_summary
from reports.tables.people import (
    DAYS_SHOWN,
    days_of,
    invitation_rows,
    person_rows,
    practised,
    question_rows,
    questions_with_pairs,
)

MESSAGES_SHOWN = 100
QUESTIONS_ON_A_PAGE, HANDLED_SHOWN = 25, 25


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    return _index(request, access.lead(request, name))


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
    lead = access.lead(request, name)
    person = access.person(lead, worker)
    return campaign_page(
        request,
        lead,
        "lead/person.html",
        person=person,
        events=person.events.select_related("by__user"),
        days=days_of(person),
        practised=practised(person),
        days_shown=DAYS_SHOWN,
        live=person.assignments.live().alone().select_related("batch__query").first(),
        roles=[(role, words) for role, words in Membership.Role.choices if role != person.role],
        may_let_create=may_let_create(lead, person),
        creates=may_create_campaigns(person.user),
    )


@require_POST
def creates(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """Let somebody create campaigns, or no longer."""
    lead = access.lead(request, name)
    person = access.person(lead, worker)
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
    lead = access.lead(request, name)
    person, reason = access.person(lead, worker), text_in(request.POST, "reason", 400)
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
    hand_over = bool(request.POST.get("hand_over"))
    return decisions.change_member(person, lead, one_of("verb", verb, decisions.VERBS), reason, hand_over)


@require_POST
def invite(request: HttpRequest, name: str) -> HttpResponse:
    """Make a link and show it, this once: only its hash is kept."""
    lead = access.lead(request, name)
    role = one_of("role", request.POST.get("role", ""), Membership.Role.values)
    hours = request.POST.get("hours", "")
    if not is_whole(hours, digits=3) or not 1 <= int(hours) <= MOST_HOURS:
        raise BadValue("hours", repr(hours[:40]), f"1 to {MOST_HOURS}")
    _, secret = lead.campaign.invite(role, lead, timedelta(hours=int(hours)))
    return _index(request, lead, request.build_absolute_uri(reverse("invitation", args=[secret])))


@require_POST
def invite_by_mail(request: HttpRequest, name: str) -> HttpResponse:
    """Send an invitation to each person of a list; if one line is wrong, to nobody."""
    lead = access.lead(request, name)
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
    lead = access.lead(request, name)
    invitation = get_object_or_404(lead.campaign.invitations.open().exclude(address=""), pk=pk)
    must_send_mails()
    mails.ask_for(mails.mail_invitation, invitation, request, invitation.language)
    messages.success(request, f"The mail to {invitation.address} is on its way.")
    return redirect("people", name)


@require_POST
def withdraw_invitation(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = access.lead(request, name)
    get_object_or_404(lead.campaign.invitations, pk=pk).withdraw()
    messages.success(request, "The invitation is withdrawn: its link no longer works.")
    return redirect("people", name)


@require_safe
def messages_page(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    sent = Message.objects.filter(to__campaign=lead.campaign).select_related("to__user", "by__user")
    return campaign_page(
        request,
        lead,
        "lead/messages.html",
        annotators=lead.campaign.memberships.reachable().select_related("user").order_by("worker"),
        sent=sent[:MESSAGES_SHOWN],
        longest=LONGEST_MESSAGE,
    )


@require_POST
def send_message(request: HttpRequest, name: str) -> HttpResponse:
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


@require_safe
def questions_page(request: HttpRequest, name: str) -> HttpResponse:
    """What annotators ask: the questions that wait, the oldest first, each with its pair; and the last answers."""
    lead = access.lead(request, name)
    waiting = questions_with_pairs().waiting(lead.campaign).order_by("at", "pk")
    page = Paginator(waiting, QUESTIONS_ON_A_PAGE).get_page(request.GET.get("page"))
    handled = questions_with_pairs().filter(annotator__campaign=lead.campaign, handled__isnull=False)
    return campaign_page(
        request,
        lead,
        "lead/questions.html",
        page=page,
        questions=question_rows(page),
        handled=handled.order_by("-handled", "-pk")[:HANDLED_SHOWN],
        longest=LONGEST_MESSAGE,
    )


@require_POST
def handle_question(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Answer a question by a message, or put it aside."""
    lead = access.lead(request, name)
    question, action = access.question(lead, pk), one_of("action", request.POST.get("action", ""), ("answer", "aside"))
    if action == "aside":
        put_aside(question, lead)
        messages.success(request, "Put aside. The annotator is not told.")
        return redirect("questions", name=name)
    text = text_in({"text": request.POST.get("text", "").replace("\r\n", "\n")}, "text", LONGEST_MESSAGE)
    if not text:
        raise BadValue("text", "empty", "the answer")
    with refusal_as_message(request):
        answer(question, lead, text)
        messages.success(request, f"Answered. Worker {question.annotator.worker} reads it while at work.")
    return redirect("questions", name=name)


@require_safe
def hours(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = access.lead(request, name), Period.from_params(request.GET)
    rates = Rates.of(lead.campaign)
    lines = pay_of(lead.campaign, period, rates)
    worked, pay = sum_of(lines)
    parts = [(*days, rates.on(days[0])) for days in rates.stretches(period.first, period.last)]
    return campaign_page(
        request,
        lead,
        "lead/hours.html",
        period=period,
        rates=rates,
        lines=lines,
        parts=parts,
        several_rates=len(parts) > 1,
        headings=_headings(lead.campaign.currency, several_rates=len(parts) > 1),
        worked=worked,
        pay=pay,
        may_approve=may_be_approved(lead.campaign, period),
    )


@require_POST
def approve_hours(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = access.lead(request, name), Period.from_params(request.POST)
    with refusal_as_message(request):
        approved = approve(lead, period)
        messages.success(request, f"The hours and the pay from {approved} are approved.")
    return redirect(f"{reverse('hours', args=[name])}?{period.query}")


@require_safe
def hours_csv(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = access.lead(request, name), Period.from_params(request.GET)
    names = request.GET.get("names") == "on"
    file = f"{name}-hours-{period.first}-{period.last}{'-names' if names else ''}.csv"
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{file}"'
    write_csv(answer, lead.campaign, period, names)
    return answer


def _headings(currency: str, several_rates: bool) -> list[Heading]:
    numbers = ("Batches", "Judgements", "Hours reported", "Counted", "Cut", f"Pay, {currency}".rstrip(", "))
    days = [Heading("Days")] if several_rates else []
    return [
        Heading("Worker", is_number=True),
        Heading("Name"),
        *days,
        *(Heading(words, is_number=True) for words in numbers),
    ]
