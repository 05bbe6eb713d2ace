"""Predictors of a campaign: making one, receiving its file, what it predicts, and deleting it.

What is predicted corrects estimates (`docs/estimates.md`), and is compared with what people judged. It is no grade:
nothing below this app knows of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now

from base.errors import BadValue, WrongState
from base.text import abbreviated
from base.transactions import ROWS_AT_A_TIME, all_or_nothing, locked
from campaigns.models import Campaign, Membership
from campaigns.uploads import UNFINISHED_FOR, must_be_a_files_name, must_be_of_size, must_have_room, remove
from corpus.reading import TableReader
from jobs.errors import JobLeft
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from judging.audit import INVARIANTS, INVARIANTS_OF_IMPORTED
from judging.models import Candidate, Kind
from metrics import MeasureError
from metrics.formats import HIGHEST_GRADE
from metrics.formats.moment_ids import moment_id
from releases.exports import MOMENT
from runs.estimates.endpoint import ask_for_grades, prompt_for, waiting_in
from runs.estimates.worth import weigh_predictors
from runs.models import PredictedGrades, PredictionsFile, Predictor
from runs.receiving import MOST_MIB
from runs.references import names_of
from systems.storage import digest

MOST = 20  # predictors of a campaign
FEWEST_FRAMES, MOST_FRAMES, FRAMES = 1, 16, 4
Source = Predictor.Source


@all_or_nothing
def add_predictor(lead: Membership, name: str, source: str, model: str = "", frames: int = FRAMES) -> Predictor:
    """Add a predictor to the lead's campaign. Its file, or the word to ask the chat endpoint, follows.

    Raise BadValue for what cannot be, such as a name that another predictor has, and WrongState if there are too many,
    or the settings name no endpoint.
    """
    campaign = locked(Campaign.objects.filter(pk=lead.campaign_id)).get()
    predictor = Predictor(campaign=campaign, by=lead, name=" ".join(name.split()), source=source, model=model)
    if source == Source.CHAT:
        _describe_endpoint(predictor, frames)
    try:
        predictor.clean_fields(exclude=["campaign", "by", "ended"])
    except ValidationError as fault:
        field, messages = next(iter(fault.message_dict.items()))
        raise BadValue(field, abbreviated(getattr(predictor, field)), messages[0]) from fault
    if campaign.predictors.filter(name=predictor.name).exists():
        raise BadValue("name", abbreviated(predictor.name), "a name that no other predictor of the campaign has")
    if campaign.predictors.count() >= MOST:
        raise WrongState(f"The campaign has {MOST} predictors already. Delete one of them first.")
    predictor.save()
    return predictor


def _describe_endpoint(predictor: Predictor, frames: int) -> None:
    if not (settings.CHAT_URL and settings.CHAT_MODEL):
        raise WrongState("No chat endpoint is there to ask, because the settings CHAT_URL and CHAT_MODEL name none.")
    if not FEWEST_FRAMES <= frames <= MOST_FRAMES:
        raise BadValue("frames", str(frames), f"{FEWEST_FRAMES} to {MOST_FRAMES} pictures of each clip")
    predictor.model, predictor.frames = settings.CHAT_MODEL, frames
    predictor.prompt = prompt_for(predictor.campaign)
    predictor.input_price, predictor.output_price = settings.CHAT_INPUT_PRICE, settings.CHAT_OUTPUT_PRICE


@all_or_nothing
def begin(predictor: Predictor) -> Job:
    """Return the job that stores the grades of the predictor's file, or that asks the chat endpoint for them.

    Asking again goes on where it stopped, and asks for candidates that were ranked since. Raise BadValue if the file
    has not arrived as a whole, and WrongState if all grades are there.
    """
    if predictor.is_of_chat:
        if predictor.ended and not waiting_in(predictor):
            raise WrongState("The endpoint was asked for every candidate.")
        Predictor.objects.filter(pk=predictor.pk).update(ended=None)
        return ask_for_grades.ask(predictor)
    must_be_open(predictor)
    file = PredictionsFile.objects.filter(predictor=predictor).first()
    if file is None or not file.is_whole:
        found = "no file" if file is None else f"{file.percent} % of {file}"
        raise BadValue("file", found, "the whole file; choose it again to go on")
    Predictor.objects.filter(pk=predictor.pk).update(fault="")
    return receive_predictions.ask(predictor)


def must_be_open(predictor: Predictor) -> None:
    """Refuse a file for a predictor that has its grades, or gets them from the endpoint."""
    if predictor.is_of_chat or predictor.ended:
        raise WrongState("This predictor takes no file. Add another one under another name.")


@all_or_nothing
def announce(predictor: Predictor, name: str, size: int) -> PredictionsFile:
    """Return the arrival of a file: the unfinished one of this name and size, else a new one in place of any other.

    Raise BadValue if the name or the size is wrong; TooLarge if the file is larger than runs are; NoRoom or
    TooManyRequests if there is too little room for it; WrongState if the predictor takes no file.
    """
    must_be_a_files_name(name)
    must_be_of_size(name, size, MOST_MIB, "; it may be packed by gzip")
    predictor = locked(Predictor.objects.filter(pk=predictor.pk)).get()
    must_be_open(predictor)
    before = PredictionsFile.objects.filter(predictor=predictor).first()
    if before and (before.name, before.size) == (name, size) and not before.is_whole:
        return before
    if before:
        remove(before)
    must_have_room(size, predictor.by.user_id)
    Predictor.objects.filter(pk=predictor.pk).update(fault="")
    return PredictionsFile.objects.create(predictor=predictor, name=name, size=size)


@kind(
    "receive-predictions",
    "Receive predicted grades",
    lane=Lane.QUICK,
    of=Predictor,
    owner="campaign",
    page=("model-judges", "campaign.name"),
    for_leads=True,
)
def receive_predictions(predictor: Predictor, report: Report) -> None:
    """Store the grades in a predictor's file, or what is wrong with it. Raise JobLeft if it is on another machine."""
    if predictor.ended:
        return
    file = PredictionsFile.objects.filter(predictor=predictor).first()
    if file is None or not file.path.exists():
        raise JobLeft("the file of predicted grades is not on this machine")
    report(0, 2, "reading the file")
    try:
        found = _graded_in(predictor.campaign, file)
    except (MeasureError, BadValue) as fault:
        Predictor.objects.filter(pk=predictor.pk).update(fault=str(fault))
        return
    report(1, 2, "storing the grades")
    _store(predictor, file, found)


def _graded_in(campaign: Campaign, file: PredictionsFile) -> dict[int, dict[str, float]]:
    """Return the grades in a file by query and candidate. Raise BadValue for a candidate that the campaign lacks."""
    with TableReader.for_files({file.path: file.name}) as reader:
        table, names = reader.grades(file.path), names_of(campaign)
    rows = Candidate.objects.filter(query__campaign=campaign, query__kind=Kind.POOL)
    known = {
        (query, moment_id(*moment)): (of, str(candidate))
        for of, candidate, query, *moment in rows.values_list("query", "pk", "query__query_id", *MOMENT).iterator()
    }
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for query, held in table.rows(table.scores):
        for video, start, end, grade in held:
            if (key := known.get((names.get(query, query), moment_id(video, start, end)))) is None:
                strange = f"query {abbreviated(query)}, video {abbreviated(video)} from {start:g} to {end:g} s"
                raise BadValue(file.name, strange, "candidates of this campaign and nothing else")
            found[key[0]].setdefault(key[1], grade)  # of queries with the same text, the first counts
    return found


@transaction.atomic
def _store(predictor: Predictor, file: PredictionsFile, found: dict[int, dict[str, float]]) -> None:
    PredictedGrades.objects.filter(predictor=predictor).delete()
    rows = [PredictedGrades(predictor=predictor, query_id=query, grades=grades) for query, grades in found.items()]
    PredictedGrades.objects.bulk_create(rows, batch_size=ROWS_AT_A_TIME)
    about = {"filename": file.name, "sha256": digest(file.path)}
    Predictor.objects.filter(pk=predictor.pk).update(ended=Now(), fault="", **about)
    remove(file)
    weigh_predictors.ask(predictor.campaign)


@all_or_nothing
def remove_predictor(predictor: Predictor) -> None:
    """Delete a predictor with what it predicts; what the endpoint is asked for it stops. Doing it twice is harmless.

    Raise WrongState if a watched difference rests on it.
    """
    if watch := predictor.watches.select_related("run", "other", "predictor").first():
        raise WrongState(f"You watch a difference by it: {watch}. End that first.")
    if file := PredictionsFile.objects.filter(predictor=predictor).first():
        remove(file)
    Predictor.objects.filter(pk=predictor.pk).delete()


def predictions(campaign: Campaign) -> Iterator[str]:
    """Check that predicted grades are from 0 to 4, and of candidates of their query in the predictor's campaign."""
    of_query: dict[int, Any] = dict(Candidate.objects.in_campaign(campaign).values_list("pk", "query"))
    rows = PredictedGrades.objects.filter(predictor__campaign=campaign).select_related("predictor")
    for row in rows.order_by("pk").iterator():
        strange = [key for key in (*row.grades, *row.faults) if of_query.get(int(key)) != row.query_id]
        if strange:
            yield f"predictor {row.predictor}: {len(strange)} of its candidates are none of query {row.query_id}"
        if any(not 0 <= grade <= HIGHEST_GRADE for grade in row.grades.values()):
            yield f"predictor {row.predictor}: a grade of query {row.query_id} is not from 0 to {HIGHEST_GRADE}"


for invariants in (INVARIANTS, INVARIANTS_OF_IMPORTED):
    invariants["Predicted grades are of candidates of their campaign"] = predictions


@each_hour
def forget_unfinished_files() -> None:
    """Delete files of predicted grades of which nothing has arrived for a week."""
    for file in PredictionsFile.objects.filter(touched__lt=Now() - UNFINISHED_FOR):
        with transaction.atomic():
            remove(file)
