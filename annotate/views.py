"""The annotator's pages: get a batch, judge it, submit it. Nothing here tells more than a clip and a query."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Preferences
from annotate import script_texts
from annotate.forms import AskForm, DayForm, PreferencesForm, fields_of
from annotate.script_texts import FIXED, KEY_NAMES, card, key_name
from base.dates import start_of_day
from base.errors import WrongState
from base.forms import valid_data
from base.problem_documents import refusal_as_message, speaks_json
from base.sites import site_address
from campaigns import access, mails
from campaigns.models import Applicant, Membership
from campaigns.pages import campaign_page
from corpus.clip_files import clip_file
from judging import access as judging_access
from judging.models import Assignment, Flag, Kind
from judging.models.judgement import LONGEST_QUESTION
from judging.quality.exam import exam_state, has_just_passed
from judging.work import claiming, grading, practising, submitting
from judging.work.places import assignment_data, limit_reached, nothing_for
from releases.models import Release
from reports import own_work
from reports.hours import batches_done, judged_since
from reports.own_time import time_on


@require_safe
def work(request: HttpRequest) -> HttpResponse:
    """The annotator's home: one button for each campaign, and the work done so far."""
    own = Membership.objects.filter(user=request.user.pk, role=Membership.Role.ANNOTATOR)
    members = own.select_related("campaign").order_by("campaign__name")
    campaigns = [_home(member) for member in members]
    context: dict[str, Any] = {"campaigns": campaigns, "longest_question": LONGEST_QUESTION}
    context["applications"] = Applicant.objects.open_to(access.signed_in(request))
    context |= {"words": script_texts.outbox(), "scripts": script_texts.SCRIPTS}
    return render(request, "annotate/work.html", context)


def _home(member: Membership) -> dict[str, Any]:
    """Return what the annotator did in a campaign, and the batch that the annotator holds, if any."""
    held = list(member.assignments.in_turn())
    live = held[0] if held else None
    idle = member.may_judge and not live and not claiming.has_work(member)
    return {
        "member": member,
        "campaign": member.campaign,
        "live": live,
        "held": [each.token for each in held],
        "may_load_ahead": member.may_judge and not (idle or member.must_pass_exam),
        "idle": idle,
        "limit": limit_reached(member) if idle and not member.must_pass_exam else "",
        "mail": mails.address_of(member.user) if idle else "",
        "exam": exam_state(member),
        "passed": has_just_passed(member),
        "marked": own_work.last_round(member),
        "practise": practising.is_suggested(member),
        "new": not member.assignments.exists(),
        "left": len(live.unanswered()) if live else 0,
        "batches": batches_done(member),
        "judgements": member.judgements.count(),
        "lease": settings.ASSIGNMENT_LEASE // 60,  # minutes
        "week": own_work.week_of(member),
        "agreement": own_work.agreement(member),
        "conversations": [conversation for conversation in own_work.conversations(member) if conversation.unread],
    }


@require_safe
def my_page(request: HttpRequest, name: str) -> HttpResponse:
    """The annotator's own work, a day of it clip by clip, and what the annotator and the leads wrote to each other."""
    member = access.own(request, name)
    day = valid_data(DayForm(request.GET))["day"]
    return campaign_page(
        request,
        member,
        "annotate/mine.html",
        agreement=own_work.agreement(member),
        direction=own_work.direction(member),
        contributions=Release.objects.contributions_of(member),
        conversations=own_work.conversations(member),
        longest_question=LONGEST_QUESTION,
        new_key=uuid4(),
        time=time_on(member, day) if day else None,
        **own_work.fortnight(member),
    )


@require_POST
def read_message(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    get_object_or_404(access.own(request, name).messages.all(), pk=pk).mark_read()
    if speaks_json(request):
        return JsonResponse({"read": pk})
    return redirect("mine", name=name) if request.POST.get("back") == "mine" else redirect("work")


@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """The keys of the workplace, a goal for the day, and whether breaks are suggested: each person's own."""
    own = Preferences.objects.of(access.signed_in(request))
    form = PreferencesForm(request.POST if request.method == "POST" else None, preferences=own)
    if "usual" in request.POST:
        own.change(changed_keys={})
    elif form.is_valid():
        own.change(**form.values)
    else:
        fixed = [(key_name(key), words) for key, words in FIXED.items()]
        context = {"form": form, "names": {key: key_name(key) for key in KEY_NAMES}, "fixed": fixed}
        return render(request, "annotate/preferences.html", context, status=400 if form.is_bound else 200)
    messages.success(request, gettext("Stored. It holds from the next page on."))
    return redirect("preferences")


@require_POST
def suggest_no_breaks(request: HttpRequest) -> HttpResponse:
    Preferences.objects.of(access.signed_in(request)).change(suggests_breaks=False)
    return JsonResponse({"suggests_breaks": False})


@require_POST
def ask(request: HttpRequest, name: str) -> HttpResponse:
    """Ask the leads about nothing in particular, or answer a message of theirs, which is read then."""
    member = access.own(request, name)
    data = valid_data(AskForm(request.POST))
    letter = judging_access.letter(member, data["letter"])
    with refusal_as_message(request):
        grading.ask(member, data["text"], data["key"], letter=letter)
        messages.success(request, gettext("Sent. The answer comes to your work page and to this one."))
        if letter:
            letter.mark_read()
    return redirect(f"{reverse('mine', args=[name])}#letters")


@require_safe
def questions(request: HttpRequest, token: str) -> HttpResponse:
    """What the annotator asked in this assignment, and the answers."""
    return JsonResponse({"questions": own_work.questions_in(judging_access.assignment(request, token))})


@require_POST
def ask_at(request: HttpRequest, token: str, position: int) -> HttpResponse:
    """Ask the leads about a clip of the assignment, or about its query."""
    assignment = judging_access.assignment(request, token)
    question = grading.ask_at(assignment, position, **fields_of(request, "about", "text", "key"))
    return JsonResponse({"position": position, "question": question.pk})


@require_POST
def claim(request: HttpRequest, name: str) -> HttpResponse:
    """Give the annotator the batch that they hold already, or a new one; as a page, or as JSON."""
    annotator = access.annotator(request, name)
    assignment = claiming.claim(annotator)
    if speaks_json(request):
        return JsonResponse({"assignment": assignment_data(assignment) if assignment else None})
    if assignment is None:
        messages.info(request, nothing_for(annotator))
        return redirect("work")
    return redirect("workplace", token=assignment.token)


@require_POST
def load_ahead(request: HttpRequest, name: str) -> HttpResponse:
    """The batches of an evening, with the addresses of all clips: their page and clips are kept in the browser."""
    held = claiming.load_ahead(access.annotator(request, name))
    batches = [
        {
            "address": reverse("workplace", args=[each.token]),
            "clips": [place["clip"] for place in assignment_data(each)["places"] if place["clip"]],
        }
        for each in held
    ]
    return JsonResponse({"batches": batches, "until": min((each.lease for each in held), default=None)})


@require_POST
def wait(request: HttpRequest, name: str) -> HttpResponse:
    """Have the annotator told once there is work, or not any more."""
    annotator = access.annotator(request, name)
    if "stop" in request.POST:
        annotator.stop_waiting()
    else:
        claiming.wait_for_work(annotator, site_address(request))
    return redirect("work")


@require_POST
def news(request: HttpRequest, name: str) -> HttpResponse:
    """What the open page of an annotator asks who waits for work."""
    return JsonResponse(claiming.news(access.annotator(request, name)))


@require_safe
def workplace(request: HttpRequest, token: str) -> HttpResponse:
    assignment = judging_access.assignment(request, token)
    if not Assignment.objects.held().filter(pk=assignment.pk).exists():
        messages.info(request, _ended(assignment))
        return redirect("work")
    annotator, data = assignment.annotator, assignment_data(assignment)
    known = card(annotator.campaign, access.signed_in(request))
    context: dict[str, Any] = {
        "assignment": assignment,
        "assignment_data": data,
        # It loads before the scripts are there.
        "first_clip": next(
            (each["clip"] for each in data["places"] if each["grade"] is None and each["flag"] is None), None
        ),
        "query": assignment.batch.query.text,
        "judged_today": judged_since(annotator, start_of_day()),
        "reasons": Flag.Reason.choices,
        "lease": settings.ASSIGNMENT_LEASE // 60,  # minutes
        "words": script_texts.workplace(known["keys"]),
        "scripts": script_texts.SCRIPTS,
    }
    return campaign_page(request, annotator, "annotate/workplace.html", **context, **known, **_asking(assignment))


def _asking(assignment: Assignment) -> dict[str, Any]:
    """Return what the form of questions needs, and the answers so far."""
    return {"questions": own_work.questions_in(assignment), "longest_question": LONGEST_QUESTION}


def _ended(assignment: Assignment) -> str:
    if assignment.batch.query.withdrawn:
        return str(WITHDRAWN)
    return str(SUBMITTED if assignment.state == Assignment.State.SUBMITTED else LAPSED)


@require_http_methods(["PUT"])
def judge(request: HttpRequest, token: str, position: int) -> HttpResponse:
    data = fields_of(request, "grade", "doubt", "fence", "key", "press", "seconds", "input")
    revision = grading.judge(judging_access.writer(request, token), position, **data)
    stored = {"position": position, "grade": revision.grade, "doubt": revision.is_doubtful, "revision": revision.number}
    return JsonResponse(stored | grading.overtaken_by(revision))


@require_http_methods(["PUT", "DELETE"])
def flag(request: HttpRequest, token: str, position: int) -> HttpResponse:
    """Flag a clip, or take the flag back."""
    assignment = judging_access.assignment(request, token)
    if request.method == "DELETE":
        grading.unflag(assignment, position, **fields_of(request, "fence", "key", "press"))
        return JsonResponse({"position": position, "reason": None})
    data = fields_of(request, "reason", "comment", "seconds", "fence", "key", "press")
    flag = grading.flag(assignment, position, **data)
    return JsonResponse({"position": position, "reason": data["reason"]} | grading.overtaken_by(flag))


@require_safe
def clip(request: HttpRequest, token: str) -> HttpResponseBase:
    return clip_file(request, judging_access.clip(request, token))


@require_safe
def place(request: HttpRequest, token: str, key: str) -> HttpResponseBase:
    """The clip of one place of the batch in hand."""
    clip, full = judging_access.clip_of_place(request, token, key)
    return clip_file(request, clip, key, full)


@require_POST
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Go on after the lease has run out: the new fence, or a conflict when the place has gone to another."""
    return JsonResponse({"fence": claiming.resume(judging_access.assignment(request, token)).fence})


@require_POST
def submit(request: HttpRequest, token: str) -> HttpResponse:
    """Submit the batch. The answer says what was done, and has the next batch; an exam leads on to its result."""
    assignment = judging_access.assignment(request, token)
    submitting.submit(assignment, **fields_of(request, "fence", "list_seconds"))
    if assignment.batch.kind == Kind.EXAM:
        return JsonResponse({"submitted": True, "onward": _after_exam(request, assignment)})
    moment = own_work.done_in(assignment) | {"today": judged_since(assignment.annotator, start_of_day())}
    return JsonResponse({"submitted": True, "moment": moment} | _next(assignment.annotator))


def _after_exam(request: HttpRequest, assignment: Assignment) -> str:
    """Return where an examinee goes on: to the result, if the round that this ends is marked already."""
    if own_work.has_just_marked(assignment):
        return reverse("exam-result", args=[assignment.annotator.campaign.name])
    messages.success(request, gettext("Submitted. Thank you."))
    return reverse("work")


def _next(annotator: Membership) -> dict[str, Any]:
    """Return the batch that comes next, in the annotator's hands already, or why there is none."""
    try:
        held = claiming.claim(annotator)
    except WrongState:  # what was submitted has paused her
        return {"next": None, "nothing": render_to_string("annotate/_paused.html").strip()}
    if held is None:
        return {"next": None, "nothing": nothing_for(annotator)}
    address = reverse("workplace", args=[held.token])
    return {"next": {"address": address, "query": held.batch.query.text, "assignment": assignment_data(held)}}


WITHDRAWN = gettext_lazy("The query of that batch has been withdrawn. All that you saved is kept on record.")
SUBMITTED = gettext_lazy("You have already submitted that batch.")
LAPSED = gettext_lazy(
    "You were away for a long time, and that batch may have gone to others. All that you saved is kept on record."
)
