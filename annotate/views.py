"""The annotator's pages: get a batch, judge it, submit it. Nothing here tells more than a clip and a query."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import script_texts
from annotate.fields import fence_in, grade_in, input_in, json_body, key_in, press_in, seconds_in
from annotate.home import first_clip, home, judged_today
from base.problem_documents import speaks_json
from base.request_fields import one_of, text_in
from campaigns.models import Membership
from campaigns.pages import campaign_page
from corpus.media.clip_files import clip_file
from judging import doors
from judging.models import Assignment, Flag
from judging.quality.exam import nothing_for
from judging.quality.examples import levels
from judging.work import claiming, grading, submitting
from judging.work.claiming import assignment_data
from reports import own_work


@require_safe
def work(request: HttpRequest) -> HttpResponse:
    """The annotator's home: one button for each campaign, and the work done so far."""
    own = Membership.objects.filter(user=request.user.pk, role=Membership.Role.ANNOTATOR)
    members = own.select_related("campaign").order_by("campaign__name")
    campaigns = [home(member) for member in members]
    context = {"campaigns": campaigns, "words": script_texts.outbox(), "scripts": script_texts.SCRIPTS}
    return render(request, "annotate/work.html", context)


@require_safe
def my_page(request: HttpRequest, name: str) -> HttpResponse:
    """The annotator's own work, and the messages from the lead."""
    member = doors.own(request, name)
    return campaign_page(
        request,
        member,
        "annotate/mine.html",
        agreement=own_work.agreement(member),
        inbox=member.messages.unread_first(),
        **own_work.fortnight(member),
    )


@require_POST
def read_message(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    get_object_or_404(doors.own(request, name).messages.all(), pk=pk).mark_read()
    return redirect("mine", name=name) if request.POST.get("back") == "mine" else redirect("work")


@require_POST
def claim(request: HttpRequest, name: str) -> HttpResponse:
    """Give the annotator the batch that they hold already, or a new one; as a page, or as JSON."""
    annotator = doors.annotator(request, name)
    assignment = claiming.claim(annotator)
    if speaks_json(request):
        return JsonResponse({"assignment": assignment_data(assignment) if assignment else None})
    if assignment is None:
        messages.info(request, nothing_for(annotator))
        return redirect("work")
    return redirect("workplace", token=assignment.token)


@require_safe
def workplace(request: HttpRequest, token: str) -> HttpResponse:
    assignment = doors.assignment(request, token)
    if not Assignment.objects.held().filter(pk=assignment.pk).exists():
        messages.info(request, _ended(assignment))
        return redirect("work")
    annotator, data = assignment.annotator, assignment_data(assignment)
    return campaign_page(
        request,
        annotator,
        "annotate/workplace.html",
        assignment=assignment,
        assignment_data=data,
        first_clip=first_clip(data),
        query=assignment.batch.query.text,
        judged_today=judged_today(annotator),
        levels=levels(annotator.campaign),
        reasons=Flag.Reason.choices,
        words=script_texts.workplace(),
        scripts=script_texts.SCRIPTS,
    )


def _ended(assignment: Assignment) -> str:
    if assignment.batch.query.withdrawn:
        return str(WITHDRAWN)
    return str(SUBMITTED if assignment.state == Assignment.State.SUBMITTED else LAPSED)


@require_http_methods(["PUT"])
def judge(request: HttpRequest, token: str, position: int) -> HttpResponse:
    body = json_body(request)
    revision = grading.judge(
        doors.writer(request, token),
        position,
        grade_in(body),
        fence=fence_in(body),
        key=key_in(body),
        press=press_in(body),
        seconds=seconds_in(body),
        input=input_in(body),
    )
    stored = {"position": position, "grade": revision.grade, "revision": revision.number}
    return JsonResponse(stored | grading.overtaken_by(revision))


@require_http_methods(["PUT", "DELETE"])
def flag(request: HttpRequest, token: str, position: int) -> HttpResponse:
    """Flag a clip, or take the flag back."""
    assignment, body = doors.assignment(request, token), json_body(request)
    if request.method == "DELETE":
        grading.unflag(assignment, position, fence=fence_in(body), key=key_in(body), press=press_in(body))
        return JsonResponse({"position": position, "reason": None})
    reason = one_of("reason", body.get("reason"), Flag.Reason.values)
    comment, seconds = text_in(body, "comment", grading.LONGEST_COMMENT), seconds_in(body)
    fence, key, press = fence_in(body), key_in(body), press_in(body)
    flag = grading.flag(assignment, position, reason, comment, fence=fence, key=key, press=press, seconds=seconds)
    return JsonResponse({"position": position, "reason": reason} | grading.overtaken_by(flag))


@require_safe
def clip(request: HttpRequest, token: str) -> HttpResponseBase:
    return clip_file(request, doors.clip(request, token))


@require_POST
def resume(request: HttpRequest, token: str) -> HttpResponse:
    """Go on after the lease has run out: the new fence, or a conflict when the place has gone to another."""
    return JsonResponse({"fence": claiming.resume(doors.assignment(request, token)).fence})


@require_POST
def submit(request: HttpRequest, token: str) -> HttpResponse:
    submitting.submit(doors.assignment(request, token), fence_in(json_body(request)))
    messages.success(request, gettext("Submitted. Thank you."))
    return JsonResponse({"submitted": True})


WITHDRAWN = gettext_lazy("The query of that batch has been withdrawn. All that you saved is kept on record.")
SUBMITTED = gettext_lazy("You have already submitted that batch.")
LAPSED = gettext_lazy(
    "You were away for a long time, and that batch may have gone to others. All that you saved is kept on record."
)
