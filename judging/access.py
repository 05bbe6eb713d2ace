"""Finding the objects of judging for a person who may see them; anybody else gets a 404.

Members, campaigns and corpora are in `campaigns.access`, drafts in `drafts.access`.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from base.database import prepared
from base.dates import week_bounds
from base.errors import BadValue
from campaigns.access import annotator_of, corpora, learner, learners
from campaigns.models import Campaign, Membership, Message
from corpus.clips import FOR_CORPUS_PAGE
from corpus.models import Clip
from judging.models import (
    Action,
    Assignment,
    Batch,
    Candidate,
    Example,
    Flag,
    KeptAnswer,
    Kind,
    Practice,
    Query,
    Question,
    Reopening,
    Review,
)
from judging.models.sitting import exam_batches
from judging.pool.clips import SEARCH
from judging.quality.exam import pairs_that_came_back
from judging.quality.examples import visible_examples
from judging.review.reopening import ReopeningScope, WorkFilter, scope_of_annotator, scope_of_batch, scope_of_candidate
from judging.work.places import clip_at
from judging.work.practising import passed_pairs
from judging.work.saving import Writer

REOPENED = ("candidate", "batch", "worker")  # what can be reopened


def practice(request: HttpRequest, name: str, pk: int) -> Practice:
    """Return a clip that the annotator practises with, or has practised with."""
    own = Practice.objects.select_related("annotator__campaign", "example__clip", "candidate__clip")
    return get_object_or_404(own, pk=pk, annotator=learner(request, name))


def batch(member: Membership, pk: int) -> Batch:
    batches = Batch.objects.in_campaign(member.campaign).select_related("query__campaign")
    return get_object_or_404(batches, pk=pk)


def exam_batch(member: Membership, pk: int) -> Batch:
    return get_object_or_404(exam_batches(member.campaign).select_related("query__campaign"), pk=pk)


def exam_pair(member: Membership, pk: int) -> Candidate:
    pairs = Candidate.objects.filter(batch__in=exam_batches(member.campaign))
    return get_object_or_404(pairs, pk=pk)


def actions(member: Membership) -> QuerySet[Action]:
    """Return what leads did to many queries at once. What concerns the work of a person is for leads only."""
    rows = member.campaign.actions.select_related("lead__user", "undone_by__user", "campaign", "reopening")
    return rows if member.may_review else rows.filter(reopening__annotator=None).exclude(argument__startswith="worker ")


def action(member: Membership, pk: int) -> Action:
    return get_object_or_404(actions(member), pk=pk)


def candidate(member: Membership, pk: int) -> Candidate:
    """Return a candidate of the member's campaign that is in a batch."""
    candidates = Candidate.objects.in_campaign(member.campaign).filter(batch__isnull=False)
    return get_object_or_404(candidates.select_related("query__campaign", "batch"), pk=pk)


def pool_query(member: Membership, pk: int) -> Query:
    """Return one of the queries of the campaign's pool, withdrawn or not."""
    return get_object_or_404(member.campaign.queries.filter(kind=Kind.POOL), pk=pk)


def flag(member: Membership, pk: int) -> Flag:
    flags = Flag.objects.filter(candidate__query__campaign=member.campaign)
    return get_object_or_404(flags.select_related("candidate__batch"), pk=pk)


def question(member: Membership, pk: int) -> Question:
    """Return a question that was asked in the member's campaign."""
    questions = Question.objects.filter(annotator__campaign=member.campaign)
    return get_object_or_404(questions.select_related("annotator__campaign"), pk=pk)


def kept_answer(member: Membership, pk: int) -> KeptAnswer:
    """Return an answer that is, or was, kept beside the guideline of the member's campaign."""
    return get_object_or_404(KeptAnswer.objects.filter(campaign=member.campaign), pk=pk)


def letter(member: Membership, pk: int | None) -> Message | None:
    """Return the message to the member that a form names; None if it names none."""
    return None if pk is None else get_object_or_404(member.messages, pk=pk)


def review(member: Membership, pk: int | None) -> Review | None:
    """Return the campaign's review with this key, if it is not undone."""
    found = Review.objects.in_force().filter(batch__campaign=member.campaign, pk=pk)
    return found.select_related("batch__query__campaign").first()


def reopening(member: Membership, pk: int) -> Reopening:
    """Return something that was reopened in the member's campaign."""
    return get_object_or_404(member.campaign.reopenings.select_related("campaign", "annotator"), pk=pk)


def scope(
    lead: Membership, what: str, number: int, week: str = "", beside: int | None = None, off: bool = False
) -> ReopeningScope:
    """Return what would be reopened: a candidate or a batch by its key, or work of a worker by number.

    Of a worker it is all work, or what was submitted in a week, stands beside that of another worker, or is off. Raise
    BadValue if these are named for something else, or the week cannot be read.
    """
    if what == "worker":
        co_judge = None if beside is None else annotator_of(lead, beside)
        if week:
            week_bounds(week)
        return scope_of_annotator(annotator_of(lead, number), only=WorkFilter(week, co_judge, off))
    if week or beside is not None or off:
        raise BadValue("what", what, "worker, of whose work this is a part")
    return scope_of_batch(batch(lead, number)) if what == "batch" else scope_of_candidate(candidate(lead, number))


def assignment(request: HttpRequest, token: str) -> Assignment:
    """Return the annotator's own assignment, in any state."""
    own = Assignment.objects.of(request.user.pk).select_related("annotator__campaign", "batch__query")
    with prepared():
        return get_object_or_404(own, token=token)


def clip_of_place(request: HttpRequest, token: str, key: str) -> tuple[Clip, int]:
    """Return the clip of a place of the person's own assignment while its lease runs; see `clip_at`."""
    held = get_object_or_404(Assignment.objects.of(request.user.pk).held(), token=token)
    if found := clip_at(held, key):
        return found
    raise Http404


def writer(request: HttpRequest, token: str) -> Writer:
    """Return what a save checks by itself, in the statement that stores, instead of asking the database twice."""
    assert request.user.pk is not None
    return Writer(token, request.user.pk)


def clip(request: HttpRequest, token: str) -> Clip:
    """Return a ready clip of the person's exam, of a visible example, of a campaign that they lead, or of a corpus that
    they may see.
    """
    found = get_object_or_404(Clip, token=token, state=Clip.State.READY)
    seen = Campaign.objects.led_by(request.user).filter(queries__candidates__clip=found)
    taught = visible_examples(Example.objects.filter(clip=found, campaign__in=Campaign.objects.of(request.user)))
    own = learners(request)
    examined = [pairs.filter(candidate__clip=found) for pairs in (pairs_that_came_back(own), passed_pairs(own))]
    if any(each.exists() for each in (seen, taught, *examined, _for_leads(request, found))):
        return found
    raise Http404


def _for_leads(request: HttpRequest, clip: Clip) -> QuerySet[Any]:
    """Return what lets a lead or a researcher see a clip that was cut for a page of theirs, if anything does.

    It is the corpus, for the corpus's page, or the campaign, for its search.
    """
    if clip.audience == FOR_CORPUS_PAGE:
        return corpora(request).filter(videos__clips=clip)
    campaigns = Campaign.objects.led_by(request.user)
    number = clip.audience.removeprefix(SEARCH)
    return campaigns.filter(pk=number) if clip.audience.startswith(SEARCH) else campaigns.none()
