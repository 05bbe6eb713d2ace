"""The OpenAPI document is true: what it says is asked by schemathesis, with all its checks, as each kind of person."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from django.core.files.base import ContentFile
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rest_framework import serializers
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import FailureGroup
from schemathesis.core.parameters import ParameterLocation

from api.document import document
from campaigns.access import let_create
from campaigns.models import Campaign, Membership, Message
from corpus.models import Clip
from drafts.models import Draft
from judging.models import Batch, Candidate, Kind, Query
from judging.work.grading import ask_at
from releases.freezing import freeze
from releases.models import Release
from retrieval.models import Rewording, Substitution
from runs.models import Enlargement, TrainedSystem
from tests.api.asking import Program
from tests.cast import claim, clip_addresses, judge_all, make_query

# What a request that fits the document may be answered all the same: not your campaign, not now, changed meanwhile,
# values that are possible, but not together, and a file that is too large for the settings or for the disk.
# What lacks a header may not be there for this person, or must say which version it changes.
EXPECTED = {
    "positive_data_acceptance": {"expected-statuses": ["2xx", 401, 403, 404, 409, 412, 413, 422, 507]},
    "missing_required_header": {"expected-statuses": [400, 401, 403, 404, 428]},
}
EDGES = {"coverage": {"generate-duplicate-query-parameters": True}}
FOUND = {"query": "1", "video": "v", "start": 1.0, "end": 2.0, "influence": 0.5, "ranks": {"1": 3}, "near": None}
ROLES = ("lead", "annotator", "researcher", "nobody")

pytestmark = [
    pytest.mark.django_db,
    # Its client leaves the files open that an answer streams.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """The server's requests keep the connection of the test, as those of Django's own client do."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
    gc.collect()  # the files that are left open are closed here, where the warning is ignored, and in no other test


@pytest.fixture
def people(
    leo: Membership, ada: Membership, member: Callable[..., Membership], settings: Any
) -> dict[str, dict[str, str]]:
    """The headers of each kind of person."""
    who = {"lead": leo, "annotator": ada, "researcher": member("rio", "researcher"), "nobody": None}
    return {role: Program(person).headers | {"Accept-Encoding": "identity"} for role, person in who.items()}


@pytest.fixture
def known(campaign: Campaign, batch: Batch, ada: Membership, bob: Membership, leo: Membership) -> dict[str, Any]:
    """What an address can name, by the word before it or by its own."""
    judge_all(claim(bob), lambda candidate: 2)
    make_query(campaign, "2", "A person stands up.")
    held = claim(ada)
    moment = held.candidates_in_order()[0].moment
    clip = Clip.objects.create(video=moment.video, start=0, end=1, audience="films", state=Clip.State.READY)
    clip.file.save("clip.mp4", ContentFile(b"0123456789"))
    Candidate.objects.filter(pk=held.places[0]).update(clip=clip)
    let_create(leo.user)
    draft = Draft.objects.create(owner=leo.user)
    freeze(campaign, leo, "CC0-1.0")
    Release.objects.update(state=Release.State.READY, file=clip.file.name)
    return {
        "name": "films",
        "position": 1,
        "worker": ada.worker,
        "version": 1,
        "file": "qrels.txt",
        "assignments": held.token,
        "clips": clip.token,
        "key": clip_addresses(held)[0].rpartition("/")[2],
        "queries": batch.query_id,
        "batches": batch.pk,
        "candidates": batch.candidates.order_by("rank")[0].pk,
        "messages": Message.objects.create(to=ada, text="Well done.").pk,
        "questions": ask_at(held, 1, "clip", "Is it?", uuid4()).pk,
        "invitations": campaign.invite("annotator", None, timedelta(days=1))[0].pk,
        "enlargements": Enlargement.objects.create(
            campaign=campaign,
            number=1,
            release=Release.objects.get(),
            lead=leo,
            depth=10,
            iou=0.5,
            runs=[1, 2],
            found={"moments": [FOUND], "more": 0, "not_closed": 0},
        ).number,
        "systems": trained_system(leo).number,
        "curves": "csv",
        "corpora": campaign.corpus_id,
        "moments": moment.pk,
        "waiting": waiting_caption(campaign).pk,
        "drafts": draft.token,
        "draft files": draft.uploads.create(purpose="film", name="a.mp4", size=9).token,
        "exam batches": exam_batch(batch).pk,
        "examples": campaign.examples.create(query="q", moment=moment, clip=clip, grade=4, why="w").pk,
        "practice": ada.practices.create(example=campaign.examples.get()).pk,
        "figures": "table-1.csv",
        "scatter": "csv",
        "believe": "csv",
        "webhooks": campaign.webhooks.create(address="https://example.org/", events=[], secret="").pk,
    }


def trained_system(member: Membership) -> TrainedSystem:
    """One that is trained, and whose run is to come."""
    fields = {"name": "seen", "system": "prior", "options": {"seed": 1}, "losses": [[1, 0.5]]}
    numbers = {"number": 1, "features": "i3d", "clip_seconds": 1.0, "depth": 20, "trained": timezone.now()}
    return TrainedSystem.objects.create(campaign=member.campaign, by=member, **fields, **numbers)


def waiting_caption(campaign: Campaign) -> Rewording:
    order = Substitution.objects.create(corpus=campaign.corpus, by="cast")
    fields = {"before": "Olga waves.", "state": "queued", "substitution": order}
    return Rewording.objects.create(corpus=campaign.corpus, **fields)


def exam_batch(batch: Batch) -> Batch:
    """A batch of an exam with one pair, which nobody has to sit."""
    query = Query.objects.create(campaign=batch.query.campaign, kind=Kind.EXAM, query_id="exam:1", text="q")
    made = Batch.of(query, 1, state=Batch.State.OPEN)
    made.save()
    moment = batch.candidates.order_by("rank")[0].moment
    Candidate.objects.create(query=query, batch=made, moment=moment, rank=1, similarity=0.5)
    return made


def named(path: str, known: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an address, as far as there is something that they can name."""
    parts = path.replace("/exam/batches/", "/exam batches/")
    if "/drafts/" in path:
        parts = parts.replace("/files/", "/draft files/")
    parameters = [(before, part.strip("{}")) for before, part in pairwise(parts.split("/")) if part.startswith("{")]
    return {name: known.get(before, known.get(name)) for before, name in parameters if {before, name} & known.keys()}


def faults_of_all(examples: int, people: dict[str, dict[str, str]], known: dict[str, Any]) -> list[str]:
    """What the checks find, operation by operation; what a request changes is taken back."""
    found: list[str] = []
    for result in checked_schema(people).get_all_operations():
        operation = result.ok()
        there = named(operation.path, known)
        cases = st.one_of(
            operation.as_strategy(GenerationMode.POSITIVE, path_parameters=there),
            operation.as_strategy(GenerationMode.NEGATIVE, path_parameters=there),
            operation.as_strategy(GenerationMode.POSITIVE),
        )

        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases, st.sampled_from(ROLES))
        def ask(case: Any, role: str) -> None:
            found.extend(faults_of(case, role, people))

        ask()
    return found


def checked_schema(people: dict[str, dict[str, str]]) -> Any:
    config = SchemathesisConfig.from_dict({"checks": EXPECTED, "phases": EDGES})
    app = get_wsgi_application()
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app, config=config, headers=people["lead"])


def faults_of(case: Any, role: str, people: dict[str, dict[str, str]]) -> Iterator[str]:
    before = transaction.savepoint()
    try:
        case.call_and_validate(headers=people[role])
    except FailureGroup as faults:
        messages = " ".join(str(each)[:600] for each in faults.exceptions)
        yield f"{role}: {case.as_curl_command()[:400]}: {messages}"
    finally:
        transaction.savepoint_rollback(before)


def faults_at_edges(role: str, people: dict[str, dict[str, str]], known: dict[str, Any]) -> Iterator[str]:
    """Yield what the checks find at the edges of each parameter and of each field, and with other methods."""
    schema, modes = checked_schema(people), [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    for result in schema.get_all_operations():
        operation = result.ok()
        there, config = named(operation.path, known), schema.config.generation_for(operation=operation)
        for case in schema.iter_coverage_cases(operation, generation_modes=modes, generation_config=config):
            if getattr(case.meta.phase.data, "parameter_location", None) != ParameterLocation.PATH:
                case.path_parameters = {**(case.path_parameters or {}), **there}
            yield from faults_of(case, role, people)


def test_the_document_is_valid() -> None:
    found = json.loads(document())
    assert found["openapi"].startswith("3.1")
    from openapi_spec_validator import validate  # which takes seconds, and here only this test's process

    validate(found)


def test_each_serializer_has_a_name_of_its_own() -> None:
    """The document would describe two of one name by the fields of one of them."""
    assert document()  # which imports all of them
    waiting, names = [serializers.Serializer], list[str]()
    while waiting:
        found = waiting.pop().__subclasses__()
        names += [each.__name__.removesuffix("Serializer") for each in found if each.__module__.startswith("api.")]
        waiting += found
    assert len(names) > 100
    assert not [name for name, times in Counter(names).items() if times > 1]


@pytest.mark.usefixtures("_one_connection")
def test_every_operation_does_what_the_document_says(people: dict[str, dict[str, str]], known: dict[str, Any]) -> None:
    found = faults_of_all(2, people, known)
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.usefixtures("_one_connection")
@pytest.mark.timeout(1800)
def test_every_operation_does_so_a_hundred_times(people: dict[str, dict[str, str]], known: dict[str, Any]) -> None:
    found = faults_of_all(100, people, known)
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.usefixtures("_one_connection")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("role", ROLES)
def test_every_operation_does_so_at_its_edges(
    role: str, people: dict[str, dict[str, str]], known: dict[str, Any]
) -> None:
    found = list(faults_at_edges(role, people, known))
    assert not found, "\n".join(found)
