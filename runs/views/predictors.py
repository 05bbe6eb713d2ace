"""Predictors beside people: those of a campaign, what each predicts compared with consensus, and what it saves."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.forms import refusal_at_field, valid_data
from base.problem_documents import refusal_as_message
from campaigns.models import Campaign
from campaigns.pages import announced, campaign_page, progress_answer, take_piece, while_working
from jobs.models import Job
from metrics.formats.predicted import predicted_csv
from runs import access
from runs.estimates.endpoint import ask_for_grades, estimate
from runs.estimates.predictors import add_predictor, announce, begin, receive_predictions, remove_predictor
from runs.estimates.worth import Saving, Worth, ask_to_weigh, weigh_predictors, worth_of
from runs.forms import WeighForm, predictor_forms
from runs.models import PredictionsFile, Predictor
from runs.pools.enlarging import open_runs
from runs.receiving import MOST_MIB


class PredictorRow(NamedTuple):
    """A predictor in the list: what it saves, how it compares with consensus, and the job that is not done with it."""

    predictor: Predictor | None
    saving: Saving | None
    calibration: dict[str, Any] | None
    job: Job | None


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The predictors of the campaign, and what each saves; a POST adds one."""
    lead = access.lead(request, name)
    forms = predictor_forms(request.POST)
    for form in forms.values():
        if form.is_valid():
            with refusal_as_message(request), refusal_at_field(form):
                return redirect("predictor", name, add_predictor(lead, **form.cleaned_data).pk)
    worth = worth_of(lead.campaign)
    context: dict[str, Any] = {
        "worth": worth,
        "rows": _rows(lead.campaign, worth),
        "jobs": list(weigh_predictors.jobs(lead.campaign).not_done()),
        "runs": open_runs(lead.campaign),
        "model": settings.CHAT_MODEL if settings.CHAT_URL else "",
        "forms": forms,
    }
    return campaign_page(request, lead, "runs/predictors.html", 400 if request.method == "POST" else 200, **context)


def _rows(campaign: Campaign, worth: Worth) -> list[PredictorRow]:
    """Return caption rank, which needs no predictor, and then the predictors."""
    predictors = list(campaign.predictors.all())
    savings = {saving.predictor.pk if saving.predictor else 0: saving for saving in worth.savings}
    jobs = {job.row: job for kind in (ask_for_grades, receive_predictions) for job in kind.jobs(predictors).not_done()}
    rows = [
        PredictorRow(predictor, savings.get(predictor.pk), worth.calibrations.get(predictor.pk), jobs.get(predictor.pk))
        for predictor in predictors
    ]
    return [PredictorRow(None, savings.get(0), None, None), *rows] if rows else []


@require_POST
def weigh(request: HttpRequest, name: str) -> HttpResponse:
    """Compute anew what the predictors are worth, for the score of a run."""
    lead = access.lead(request, name)
    ask_to_weigh(lead.campaign, valid_data(WeighForm(request.POST))["run"] or 0)
    return redirect("predictors", name)


@require_http_methods(["GET", "HEAD", "POST"])
def detail(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """A predictor: what it is, what asking it will cost, and how it compares; a POST has its grades stored."""
    lead = access.lead(request, name)
    predictor = access.predictor(lead, pk)
    if request.method == "POST":
        with refusal_as_message(request):
            begin(predictor)
        return redirect("predictor", name, pk)
    jobs = _jobs(predictor)
    unfinished = any(job.is_unfinished for job in jobs)
    context: dict[str, Any] = {
        "predictor": predictor,
        "calibration": worth_of(lead.campaign).calibrations.get(pk),
        "estimate": estimate(predictor) if predictor.is_of_chat and not unfinished else None,
        "files": PredictionsFile.objects.filter(predictor=predictor),
        "most_mib": MOST_MIB,
        "jobs": jobs,
        "unfinished": unfinished,
        "progress": reverse("predictor-progress", args=[name, pk]),
        "upload_to": reverse("predictor-files", args=[name, pk]),
    }
    return campaign_page(request, lead, "runs/predictor.html", **context)


def _jobs(predictor: Predictor) -> list[Job]:
    return [job for kind in (ask_for_grades, receive_predictions) for job in kind.jobs(predictor).not_done()]


@require_safe
def progress(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """The bar of the work; the page asks for it again until the work has ended."""
    jobs = _jobs(access.predictor(access.lead(request, name), pk))
    bar = render(request, "parts/progress.html", {"progress": request.path, "jobs": jobs})
    return while_working(bar, any(job.is_unfinished for job in jobs))


@require_safe
def download(request: HttpRequest, name: str, pk: int) -> StreamingHttpResponse:
    """The predicted grades as a file that the library reads."""
    predictor = access.predictor(access.lead(request, name), pk)
    access.count_file(request)
    headers = {"Content-Disposition": f'attachment; filename="{name}-predicted-{pk}.csv"'}
    return StreamingHttpResponse(
        predicted_csv(predictor.rows()), content_type="text/csv; charset=utf-8", headers=headers
    )


@require_POST
def remove(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Delete a predictor with what it predicts."""
    predictor = access.predictor(access.lead(request, name), pk)
    with refusal_as_message(request):
        remove_predictor(predictor)
        messages.success(request, f"{predictor} and its grades are deleted.")
        return redirect("predictors", name)
    return redirect("predictor", name, pk)


@require_POST
def announce_file(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Begin the upload of a file, or find the one that broke off."""
    predictor = access.predictor(access.lead(request, name), pk)
    _, file, size = announced(request, [PredictionsFile.purpose])
    return _answer(name, announce(predictor, file, size), 201)


@require_http_methods(["GET", "HEAD", "PATCH"])
def piece(request: HttpRequest, name: str, pk: int, file: str) -> HttpResponse:
    """Tell how much has arrived, or store the next piece."""
    lead = access.lead(request, name)
    return take_piece(request, partial(access.predictions_file, lead, pk, file), partial(_answer, name))


def _answer(name: str, file: PredictionsFile, status: int) -> HttpResponse:
    return progress_answer(file, reverse("predictor-piece", args=[name, file.predictor_id, file.token]), status)
