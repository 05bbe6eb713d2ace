"""Model judges beside people: what each predicts compared with consensus, and how much judging it saves."""

from __future__ import annotations

from functools import partial
from typing import Any

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
from runs.forms import PredictorForm, WeighForm, predictor_forms
from runs.models import PredictionsFile, Predictor
from runs.pools.enlarging import open_runs
from runs.receiving import MOST_MIB


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The model judges of the campaign, what each saves, and the one that the address names; a POST adds one."""
    lead = access.lead(request, name)
    forms = predictor_forms(request.POST)
    for form in forms.values():
        if form.is_valid():
            with refusal_as_message(request), refusal_at_field(form):
                return redirect(_address(name, add_predictor(lead, **form.cleaned_data).pk))
    chosen, worth = valid_data(PredictorForm(request.GET))["predictor"], worth_of(lead.campaign)
    context: dict[str, Any] = {
        "worth": worth,
        "rows": _rows(lead.campaign, worth),
        "weighing": list(weigh_predictors.jobs(lead.campaign).not_done()),
        "runs": open_runs(lead.campaign),
        "model": settings.CHAT_MODEL if settings.CHAT_URL else "",
        "forms": forms,
        **(_chosen(access.predictor(lead, chosen), worth) if chosen else {}),
    }
    return campaign_page(request, lead, "runs/model_judges.html", 400 if request.method == "POST" else 200, **context)


def _address(name: str, pk: int) -> str:
    return f"{reverse('model-judges', args=[name])}?predictor={pk}"


def _chosen(predictor: Predictor, worth: Worth) -> dict[str, Any]:
    """A model judge: what it is, what asking it will cost, and how it compares."""
    jobs, where = _jobs(predictor), [predictor.campaign.name, predictor.pk]
    unfinished = any(job.is_unfinished for job in jobs)
    return {
        "predictor": predictor,
        "calibration": worth.calibrations.get(predictor.pk),
        "estimate": estimate(predictor) if predictor.is_of_chat and not unfinished else None,
        "files": PredictionsFile.objects.filter(predictor=predictor),
        "most_mib": MOST_MIB,
        "jobs": jobs,
        "unfinished": unfinished,
        "progress": reverse("predictor-progress", args=where),
        "upload_to": reverse("predictor-files", args=where),
    }


def _rows(campaign: Campaign, worth: Worth) -> list[tuple[Predictor | None, Saving | None, Any, Job | None]]:
    """Return caption rank, which needs no predictor, and then the predictors.

    Each has what it saves, how it compares with consensus, and the job that is not done with it.
    """
    predictors = list(campaign.predictors.all())
    savings = {saving.predictor.pk if saving.predictor else 0: saving for saving in worth.savings}
    jobs = {job.row: job for kind in (ask_for_grades, receive_predictions) for job in kind.jobs(predictors).not_done()}
    rows = [(each, savings.get(each.pk), worth.calibrations.get(each.pk), jobs.get(each.pk)) for each in predictors]
    return [(None, savings.get(0), None, None), *rows] if rows else []


@require_POST
def weigh(request: HttpRequest, name: str) -> HttpResponse:
    """Compute anew what the predictors are worth, for the score of a run."""
    lead = access.lead(request, name)
    ask_to_weigh(lead.campaign, valid_data(WeighForm(request.POST))["run"] or 0)
    return redirect("model-judges", name)


@require_POST
def ask_for_all(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Have the grades of a model judge stored: those of its file, or of a model that is asked for them."""
    with refusal_as_message(request):
        begin(access.predictor(access.lead(request, name), pk))
    return redirect(_address(name, pk))


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
        return redirect("model-judges", name)
    return redirect(_address(name, pk))


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
