"""The annotator's pages: get work, judge it, hand it in. Nothing here tells more than a clip and a query."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.handing import handed_out, progress
from judging import doors
from judging.errors import BadValue
from judging.guideline import GRADES
from judging.models import Assignment, Flag, Membership
from judging.problems import fence_in, grade_in, json_body, key_in, seconds_in, shown, speaks_json, text_in


@require_safe
@never_cache
def work(request: HttpRequest) -> HttpResponse:
    """The annotator's home: one button for each campaign, and what was done so far."""
    mine = Membership.objects.filter(user=request.user.pk, role=Membership.Role.ANNOTATOR)
    members = mine.select_related("campaign").order_by("campaign__name")
    return render(request, "annotate/work.html", {"campaigns": [progress(member) for member in members]})


@require_POST
def claim(request: HttpRequest, name: str) -> HttpResponse:
    """Give me work: the batch in my hands, or another; as a page, or as JSON."""
    assignment = Assignment.objects.claim(doors.annotator(request, name))
    if speaks_json(request):
        return JsonResponse({"assignment": handed_out(assignment) if assignment else None})
    if assignment is None:
        messages.info(request, "There is nothing to judge for you right now. Look in again later.")
        return redirect("work")
    return redirect("workplace", token=assignment.token)


@require_safe
@never_cache
def workplace(request: HttpRequest, token: str) -> HttpResponse:
    assignment = doors.assignment(request, token)
    if assignment.state != Assignment.State.LIVE:
        submitted = assignment.state == Assignment.State.SUBMITTED
        messages.info(request, SUBMITTED if submitted else LAPSED)
        return redirect("work")
    context = {
        "assignment": assignment,
        "query": assignment.batch.query.text,
        "campaign": assignment.annotator.campaign,
        "handed_out": handed_out(assignment),
        "grades": GRADES.items(),
        "reasons": Flag.Reason.choices,
    }
    return render(request, "annotate/workplace.html", context)


@require_http_methods(["PUT"])
def judge(request: HttpRequest, token: str, position: int) -> HttpResponse:
    assignment, body = doors.assignment(request, token), json_body(request)
    revision = assignment.judge(
        position, grade_in(body), fence=fence_in(body), key=key_in(body), seconds=seconds_in(body)
    )
    return JsonResponse({"position": position, "grade": revision.grade, "revision": revision.number})


@require_http_methods(["PUT"])
def flag(request: HttpRequest, token: str, position: int) -> HttpResponse:
    assignment, body = doors.assignment(request, token), json_body(request)
    reason = body.get("reason")
    if reason not in Flag.Reason.values:
        raise BadValue("reason", shown(reason), f"one of {', '.join(Flag.Reason.values)}")
    assignment.flag(position, str(reason), text_in(body, "comment", 500), fence=fence_in(body))
    return JsonResponse({"position": position, "reason": reason})


@require_POST
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Go on after the lease ran out: the new fence, or a conflict when the place has gone to another."""
    return JsonResponse({"fence": doors.assignment(request, token).resume().fence})


@require_POST
def submit(request: HttpRequest, token: str) -> HttpResponse:
    doors.assignment(request, token).submit(fence_in(json_body(request)))
    messages.success(request, "Submitted. Thank you.")
    return JsonResponse({"submitted": True})


SUBMITTED = "That batch is submitted already."
LAPSED = "You were away for long, and that batch may have gone to others. What you saved is kept on record."
