"""Finding runs for a person who may see them; anybody else gets a 404."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from campaigns.access import count_file as count_file
from campaigns.access import lead as lead
from campaigns.access import participant as participant
from campaigns.models import Campaign, Membership
from runs.models import (
    LINKED,
    Arrival,
    Benchmark,
    Enlargement,
    PredictionsFile,
    Predictor,
    Run,
    Submission,
    TrainedSystem,
    Visibility,
    Watch,
)


def run(member: Membership, number: int) -> Run:
    """Return a run of the member's campaign that the member may see."""
    return get_object_or_404(Run.objects.seen_by(member).select_related("by"), number=number)


def own_run(member: Membership, number: int) -> Run:
    """Return a run that the member uploaded."""
    return get_object_or_404(Run, campaign=member.campaign, number=number, by=member)


def enlargement(member: Membership, number: int) -> Enlargement:
    """Return an enlargement of the pool of the member's campaign."""
    found = Enlargement.objects.select_related("campaign", "release", "lead__user", "opened_by__user")
    return get_object_or_404(found, campaign=member.campaign, number=number)


def benchmark(member: Membership) -> Benchmark:
    """Return the benchmark of a leaderboard that the member's campaign judges again."""
    return get_object_or_404(Benchmark, campaign=member.campaign)


def submission(member: Membership, token: str) -> Submission:
    """Return a submission of the member's own."""
    found = get_object_or_404(Submission.objects.select_related("run"), token=token, by=member)
    found.by = member
    return found


def arrival(member: Membership, submission: str, token: str) -> Arrival:
    """Return a file of a submission of the member's own that is no run yet."""
    files = Arrival.objects.select_related("submission").filter(submission__run=None)
    return get_object_or_404(files, token=token, submission__token=submission, submission__by=member)


def public_run(request: HttpRequest, name: str, token: str) -> Run:
    """Return a run that is shown to whoever has its link, except to people who annotate over the same corpus."""
    runs = Run.objects.select_related("campaign").filter(visibility__in=LINKED)
    found = get_object_or_404(runs, token=token, campaign__name=name)
    _must_not_annotate(request, found.campaign)
    return found


def listed_run(request: HttpRequest, name: str, token: str) -> Run:
    """Return a public run whose file everybody may have."""
    found = public_run(request, name, token)
    if found.visibility != Visibility.LISTED:
        raise Http404
    return found


def public_board(request: HttpRequest, name: str) -> Campaign:
    """Return a campaign whose leaderboard everybody may see, except people who annotate over the same corpus."""
    found = get_object_or_404(Campaign, name=name, public_board=True)
    _must_not_annotate(request, found)
    return found


def _must_not_annotate(request: HttpRequest, campaign: Campaign) -> None:
    user, annotators = request.user, Membership.objects.annotators()
    if user.is_authenticated and annotators.filter(user=user, campaign__corpus=campaign.corpus_id).exists():
        raise Http404


def watch(lead: Membership, pk: int) -> Watch:
    """Return a difference that leads of the campaign watch, of runs that they may see."""
    rows = Watch.objects.of_open_runs().select_related("run__campaign", "other", "predictor")
    return get_object_or_404(rows, pk=pk, run__campaign=lead.campaign)


def predictor(lead: Membership, pk: int) -> Predictor:
    """Return a predictor of the lead's campaign."""
    return get_object_or_404(Predictor.objects.select_related("campaign", "by"), pk=pk, campaign=lead.campaign)


def predictions_file(lead: Membership, pk: int, token: str) -> PredictionsFile:
    """Return the file of a predictor that has no grades yet."""
    files = PredictionsFile.objects.select_related("predictor").filter(predictor__ended=None)
    return get_object_or_404(files, token=token, predictor=pk, predictor__campaign=lead.campaign)


def trained_system(member: Membership, number: int) -> TrainedSystem:
    """Return a trained system of the member's campaign."""
    rows = TrainedSystem.objects.select_related("by", "submission", "run")
    found = get_object_or_404(rows, campaign=member.campaign, number=number)
    found.campaign = member.campaign
    return found


def may_remove(member: Membership, row: TrainedSystem) -> bool:
    """Return whether the member may remove a system: who asked for it may, and leads."""
    return row.by_id == member.pk or member.may_review


def removable_system(member: Membership, number: int) -> TrainedSystem:
    """Return a trained system that the member may remove."""
    found = trained_system(member, number)
    if not may_remove(member, found):
        raise Http404
    return found
