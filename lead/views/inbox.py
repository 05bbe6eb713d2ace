"""The inbox: what annotators flag and ask and who asks to join, with one button for each answer; and messages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.guideline_text import LEVELS
from campaigns.models import Applicant, Campaign, Membership, Message
from campaigns.models.membership import LONGEST_MESSAGE
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.models.judgement import LONGEST_QUESTION
from judging.review.decisions import ACTIONS, answer, ask_again, put_aside, tell_all
from lead.forms.campaign import MessageForm
from lead.forms.judging import FlagForm, InboxForm, QuestionForm
from reports.lists import list_page
from reports.tables.queue import (
    WAITING,
    done_in_inbox,
    flags_listing,
    flags_of,
    last_handled,
    similar_answers,
    threads,
    waiting_subjects,
)

MESSAGES_SHOWN = 100
THREADS_ON_A_PAGE, HANDLED_SHOWN = 20, 10
TABS = [("", "Waiting"), ("flags", "All flags"), ("applicants", "Asking to join"), ("messages", "Messages")]
FOR_LEADS = ("applicants", "messages")


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponseBase:
    """What waits; with `?view=` all flags, and for leads who asks to join, and what was written."""
    tab = request.GET.get("view", "")
    member = access.lead(request, name) if tab in FOR_LEADS else access.membership(request, name)
    view = {"flags": _flags, "applicants": _applicants, "messages": _messages}.get(tab, _waiting)
    return view(request, member)


def _page(request: HttpRequest, member: Membership, tab: str, **known: Any) -> HttpResponse:
    return campaign_page(request, member, "lead/inbox.html", tab=tab, tabs=_tabs_for(member), **known)


def _tabs_for(member: Membership) -> list[tuple[str, str]]:
    return [each for each in TABS if member.may_review or each[0] not in FOR_LEADS]


def _waiting(request: HttpRequest, member: Membership) -> HttpResponse:
    """The flags and questions that wait, by what they are about, the oldest first; one of them in full."""
    params = valid_data(InboxForm(request.GET))
    subjects, item = waiting_subjects(member), params["item"]
    place = next((place for place, (kind, pk) in enumerate(subjects) if f"{kind}-{pk}" == item), 0)
    page = Paginator(subjects, THREADS_ON_A_PAGE).get_page(params["page"] or 1 + place // THREADS_ON_A_PAGE)
    found = threads(page, member)
    place = next((place for place, thread in enumerate(found) if thread.key == item), 0)
    around = {"before": found[place - 1] if place else None, "after": next(iter(found[place + 1 :]), None)}
    known: dict[str, Any] = {"page": page, "threads": found, "thread": found[place] if found else None, **around}
    if found and found[place].questions:
        known["similar"] = similar_answers(member.campaign, found[place].questions[0].question.text)
    done = done_in_inbox(member, params["done"]) if member.may_review else None
    limits = {"grades": LEVELS, "longest": LONGEST_MESSAGE, "longest_question": LONGEST_QUESTION}
    return _page(request, member, "", done=done, **known, **limits)


def _flags(request: HttpRequest, member: Membership) -> HttpResponseBase:
    """The flags that wait, that leads handled, or all."""
    listing = flags_listing(member)
    state = listing.choices(request.GET).filters.get("show", WAITING)
    known = {"state": state, "tab": "flags", "tabs": _tabs_for(member)}
    return list_page(request, member, "lead/inbox.html", listing, flags_of(member.campaign, state), **known)


def _applicants(request: HttpRequest, lead: Membership) -> HttpResponse:
    waiting = Applicant.objects.waiting().filter(invitation__campaign=lead.campaign).select_related("user")
    return _page(request, lead, "applicants", applicants=waiting)


def _messages(request: HttpRequest, lead: Membership) -> HttpResponse:
    """What was written to annotators, the newest first, with a form to write more, and the last answers."""
    sent = list(islice(_letters(lead.campaign), MESSAGES_SHOWN))
    handled = last_handled(lead.campaign)[:HANDLED_SHOWN]
    return _page(request, lead, "messages", form=MessageForm(lead.campaign), sent=sent, handled=handled)


def back_to_inbox(name: str, data: dict[str, Any], done: str = "") -> HttpResponse:
    """Go on to the item of the inbox that comes next, and offer to undo what was done."""
    known = {"page": data["page"], "item": data["item"], "done": done}
    query = urlencode({key: value for key, value in known.items() if value})
    return redirect(reverse("inbox", args=[name]) + (query and f"?{query}"))


@require_POST
def handle_flag(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Dismiss the flag, have the clip cut again, or let a flag wait again that was dismissed."""
    lead = access.lead(request, name)
    flag, data = judging_access.flag(lead, pk), valid_data(FlagForm(request.POST))
    done = f"flag-{pk}" if data["action"] == "dismiss" else ""
    with refusal_as_message(request):
        words = ACTIONS[data["action"]](flag, lead)
        if not done:
            messages.success(request, words)
    return back_to_inbox(name, data, done)


@require_POST
def handle_question(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Answer a question by a message, tell the answer to all, put the question aside, or undo that."""
    lead = access.lead(request, name)
    question, data = judging_access.question(lead, pk), valid_data(QuestionForm(request.POST))
    done = ""
    with refusal_as_message(request):
        if data["action"] == "undo":
            messages.success(request, ask_again(question, lead))
            return back_to_inbox(name, data)
        if data["action"] == "aside":
            put_aside(question, lead)
        elif data["everybody"]:
            tell_all(question, lead, data["text"], data["wording"])
        else:
            answer(question, lead, data["text"])
        done = f"question-{pk}"
    return back_to_inbox(name, data, done)


def _letters(campaign: Campaign) -> Iterator[tuple[list[Message], list[Message]]]:
    """Yield what was written to one annotator or to several at once, the newest first: its copies, and the unread."""
    each = Message.objects.filter(to__campaign=campaign).select_related("to__user", "by__user")
    for _, at_once in groupby(each.iterator(), key=lambda message: (message.at, message.by_id, message.text)):
        copies = sorted(at_once, key=lambda message: message.to.worker)
        yield copies, [message for message in copies if not message.read]


@require_POST
def send_message(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    data, chosen = valid_data(MessageForm(lead.campaign, request.POST)), lead.campaign.memberships.reachable()
    if data["to"] != "all":
        chosen = chosen.filter(pk=access.annotator_of(lead, int(data["to"])).pk)
    number = Message.objects.send(chosen, data["text"], by=lead)
    messages.success(request, f"Sent to {number} annotator{'' if number == 1 else 's'}.")
    return redirect(f"{reverse('inbox', args=[name])}?view=messages")
