"""What waits for a lead and what is written: flags and questions in one queue, messages, and the digest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from base.sites import site_address
from campaigns import access, mails
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign, Message
from campaigns.models.membership import LONGEST_MESSAGE
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.models.judgement import LONGEST_QUESTION
from judging.review.decisions import ACTIONS, answer, put_aside, tell_all
from lead.forms.campaign import DigestForm, MessageForm
from lead.forms.judging import FlagForm, QuestionForm
from reports.digest import digest_of, have_mailed
from reports.lists import list_page
from reports.tables.queue import WAITING, flags_listing, flags_of, last_handled, threads, waiting_subjects

MESSAGES_SHOWN = 100
THREADS_ON_A_PAGE, HANDLED_SHOWN = 10, 10


@require_safe
def queue(request: HttpRequest, name: str) -> HttpResponse:
    """The flags and questions that wait, by what they are about, the oldest first; and the last answers."""
    member = access.membership(request, name)
    page = Paginator(waiting_subjects(member), THREADS_ON_A_PAGE).get_page(request.GET.get("page"))
    return campaign_page(
        request,
        member,
        "lead/queue.html",
        page=page,
        threads=threads(page, member),
        handled=last_handled(member.campaign)[:HANDLED_SHOWN] if member.may_review else [],
        grades=LEVELS,
        longest=LONGEST_MESSAGE,
        longest_question=LONGEST_QUESTION,
    )


@require_safe
def flags(request: HttpRequest, name: str) -> HttpResponseBase:
    """The flags that wait, that leads handled, or all."""
    member = access.membership(request, name)
    listing = flags_listing(member)
    state = listing.choices(request.GET).filters.get("show", WAITING)
    return list_page(request, member, "lead/flags.html", listing, flags_of(member.campaign, state), state=state)


@require_safe
def questions(request: HttpRequest, name: str) -> HttpResponse:
    """The former page of questions."""
    access.lead(request, name)
    return redirect("queue", name)


def back_to_queue(name: str, data: dict[str, Any]) -> HttpResponse:
    """Return to the place of the queue that a form was on, where the next thread is now."""
    return redirect(f"{reverse('queue', args=[name])}?page={data['page'] or 1}#waiting-{data['place'] or 1}")


@require_POST
def handle_flag(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Dismiss the flag, or have the clip cut again."""
    lead = access.lead(request, name)
    flag, data = judging_access.flag(lead, pk), valid_data(FlagForm(request.POST))
    with refusal_as_message(request):
        messages.success(request, ACTIONS[data["action"]](flag, lead))
    return back_to_queue(name, data)


@require_POST
def handle_question(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Answer a question by a message, tell the answer to all, or put the question aside."""
    lead = access.lead(request, name)
    question, data = judging_access.question(lead, pk), valid_data(QuestionForm(request.POST))
    with refusal_as_message(request):
        if data["action"] == "aside":
            put_aside(question, lead)
            messages.success(request, "Put aside. The annotator is not told.")
        elif data["action"] == "tell":
            tell_all(question, lead, data["text"], data["wording"])
            messages.success(request, "Answered and told to all. It stands beside the guideline from now on.")
        else:
            answer(question, lead, data["text"])
            messages.success(request, f"Answered. Worker {question.annotator.worker} reads it while at work.")
    return back_to_queue(name, data)


@require_safe
def messages_page(request: HttpRequest, name: str) -> HttpResponse:
    """What was written to annotators, the newest first, and a form to write more."""
    lead = access.lead(request, name)
    sent = list(islice(_letters(lead.campaign), MESSAGES_SHOWN))
    return campaign_page(request, lead, "lead/messages.html", form=MessageForm(lead.campaign), sent=sent)


class Letter(NamedTuple):
    """What was written to one annotator, or to several at once."""

    copies: list[Message]
    unread: list[Message]


def _letters(campaign: Campaign) -> Iterator[Letter]:
    """Yield what was written to annotators, the newest first."""
    each = Message.objects.filter(to__campaign=campaign).select_related("to__user", "by__user")
    for _, at_once in groupby(each.iterator(), key=lambda message: (message.at, message.by_id, message.text)):
        copies = sorted(at_once, key=lambda message: message.to.worker)
        yield Letter(copies, [message for message in copies if not message.read])


@require_POST
def send_message(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    data, chosen = valid_data(MessageForm(lead.campaign, request.POST)), lead.campaign.memberships.reachable()
    if data["to"] != "all":
        chosen = chosen.filter(pk=access.annotator_of(lead, int(data["to"])).pk)
    number = Message.objects.send(chosen, data["text"], by=lead)
    messages.success(request, f"Sent to {number} annotator{'' if number == 1 else 's'}.")
    return redirect("messages", name=name)


@require_safe
def digest(request: HttpRequest, name: str) -> HttpResponse:
    """What happened since yesterday, and what waits."""
    lead = access.lead(request, name)
    address = mails.address_of(lead.user)
    return campaign_page(request, lead, "lead/digest.html", digest=digest_of(lead), address=address)


@require_POST
def mail_digest(request: HttpRequest, name: str) -> HttpResponse:
    """Send the lead who asks the digest each morning, or no longer."""
    lead = access.lead(request, name)
    wanted = valid_data(DigestForm(request.POST))["wanted"] == "yes"
    with refusal_as_message(request):
        have_mailed(lead, site_address(request) if wanted else "")
        messages.success(request, "You get a mail each morning." if wanted else "You get no more such mails.")
    return redirect("digest", name)
