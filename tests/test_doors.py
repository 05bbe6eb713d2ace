"""Who may do what: every address for every kind of person, by default nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from campaigns.models import Membership, Message
from corpus.models import Clip, Corpus, Moment
from jobs.models import Job
from judging.models import Assignment, Batch, Candidate, Example, Flag, Kind, Query
from judging.pool.ranking import RANK
from judging.work import submitting
from releases.freezing import freeze
from releases.models import Release
from tests.cast import browser, claim, content_of, judge_all

# name: (method, stranger, outsider, annotator, other annotator, researcher, lead)
MATRIX = {
    "home": ("GET", 302, 302, 302, 302, 302, 302),
    "sign-in": ("GET", 200, 302, 302, 302, 302, 302),
    "code": ("GET", 302, 302, 302, 302, 302, 302),
    "language": ("POST", 302, 302, 302, 302, 302, 302),
    "account": ("GET", 302, 200, 200, 200, 200, 200),
    "password": ("GET", 302, 200, 200, 200, 200, 200),
    "second-factor": ("GET", 302, 200, 200, 200, 200, 200),
    "second-factor-off": ("POST", 302, 302, 302, 302, 302, 302),
    "backup-codes": ("POST", 302, 302, 302, 302, 302, 302),
    "invitation": ("GET", 302, 302, 302, 302, 302, 302),
    "join": ("GET", 404, 404, 404, 404, 404, 404),
    "sign-out": ("POST", 302, 302, 302, 302, 302, 302),
    "work": ("GET", 302, 200, 200, 200, 200, 200),
    "tutorial": ("GET", 302, 404, 200, 200, 200, 200),
    "claim": ("POST", 302, 404, 302, 302, 404, 404),
    "mine": ("GET", 302, 404, 200, 200, 404, 404),
    "read-message": ("POST", 302, 404, 302, 404, 404, 404),
    "workplace": ("GET", 302, 404, 200, 404, 404, 404),
    "judge": ("PUT", 401, 404, 200, 404, 404, 404),
    "flag": ("PUT", 401, 404, 200, 404, 404, 404),
    "submit": ("POST", 401, 404, 200, 404, 404, 404),
    "resume": ("POST", 401, 404, 200, 404, 404, 404),
    "clip": ("GET", 302, 404, 200, 404, 200, 200),
    "campaigns": ("GET", 302, 200, 200, 200, 200, 200),
    "campaign": ("GET", 302, 404, 404, 404, 200, 200),
    "campaign-jobs": ("GET", 302, 404, 404, 404, 200, 200),
    "job-again": ("POST", 302, 404, 404, 404, 404, 302),
    "batch": ("GET", 302, 404, 404, 404, 200, 200),
    "review": ("POST", 302, 404, 404, 404, 404, 302),
    "exam": ("GET", 302, 404, 404, 404, 200, 200),
    "exam-make": ("POST", 302, 404, 404, 404, 404, 302),
    "exam-batch": ("GET", 302, 404, 404, 404, 200, 200),
    "exam-truth": ("POST", 302, 404, 404, 404, 404, 302),
    "exam-person": ("GET", 302, 404, 404, 404, 200, 200),
    "exam-verdict": ("POST", 302, 404, 404, 404, 404, 302),
    "guideline": ("GET", 302, 404, 404, 404, 200, 200),
    "guideline-changes": ("GET", 302, 404, 404, 404, 200, 200),
    "guideline-edit": ("GET", 302, 404, 404, 404, 404, 200),
    "examples": ("GET", 302, 404, 404, 404, 200, 200),
    "example-judged": ("GET", 302, 404, 404, 404, 404, 200),
    "example-own": ("GET", 302, 404, 404, 404, 404, 200),
    "example-remove": ("POST", 302, 404, 404, 404, 404, 302),
    "campaign-settings": ("GET", 302, 404, 404, 404, 200, 200),
    "checks": ("GET", 302, 404, 404, 404, 404, 200),
    "check-pairs": ("GET", 302, 404, 404, 404, 404, 200),
    "set-gold": ("POST", 302, 404, 404, 404, 404, 302),
    "messages": ("GET", 302, 404, 404, 404, 404, 200),
    "send-message": ("POST", 302, 404, 404, 404, 404, 302),
    "people": ("GET", 302, 404, 404, 404, 404, 200),
    "person": ("GET", 302, 404, 404, 404, 404, 200),
    "person-change": ("POST", 302, 404, 404, 404, 404, 302),
    "invite": ("POST", 302, 404, 404, 404, 404, 200),
    "invitation-withdraw": ("POST", 302, 404, 404, 404, 404, 302),
    "hours": ("GET", 302, 404, 404, 404, 404, 200),
    "hours-csv": ("GET", 302, 404, 404, 404, 404, 200),
    "releases": ("GET", 302, 404, 404, 404, 200, 200),
    "release-make": ("POST", 302, 404, 404, 404, 404, 302),
    "release": ("GET", 302, 404, 404, 404, 200, 200),
    "release-difference": ("GET", 302, 404, 404, 404, 400, 400),  # let in, but which two?
    "agreement": ("GET", 302, 404, 404, 404, 200, 200),
    "agreement-count": ("POST", 302, 404, 404, 404, 404, 302),
    "agreement-counting": ("GET", 302, 404, 404, 404, 200, 200),
    "agreement-annotator": ("GET", 302, 404, 404, 404, 200, 200),
    "agreement-queries": ("GET", 302, 404, 404, 404, 200, 200),
    "agreement-judgements": ("GET", 302, 404, 404, 404, 200, 200),
    "figures": ("GET", 302, 404, 404, 404, 200, 200),
    "figure": ("GET", 302, 404, 404, 404, 200, 200),
    "start-study": ("POST", 302, 404, 404, 404, 404, 302),
    "reviews": ("GET", 302, 404, 404, 404, 200, 200),
    "accept": ("POST", 302, 404, 404, 404, 404, 302),
    "undo": ("POST", 302, 404, 404, 404, 404, 302),
    "flags": ("GET", 302, 404, 404, 404, 200, 200),
    "handle-flag": ("POST", 302, 404, 404, 404, 404, 302),
    "reopenings": ("GET", 302, 404, 404, 404, 200, 200),
    "reopen": ("GET", 302, 404, 404, 404, 404, 200),
    "adjudicate": ("POST", 302, 404, 404, 404, 404, 302),
    "withdraw": ("POST", 302, 404, 404, 404, 404, 302),
    "exports": ("GET", 302, 404, 404, 404, 200, 200),
    "export": ("GET", 302, 404, 404, 404, 200, 200),
}
PEOPLE = ["stranger", "outsider", "annotator", "other annotator", "researcher", "lead"]


def names(resolver: URLResolver) -> list[str]:
    found = []
    for each in resolver.url_patterns:
        found += [each.name or str(each.pattern)] if isinstance(each, URLPattern) else names(each)
    return found


def test_every_address_has_a_row_in_the_matrix() -> None:
    assert sorted(names(get_resolver())) == sorted(MATRIX)


@pytest.fixture
def held(batch: Batch, ada: Membership) -> Assignment:
    """The batch in Ada's hands, every candidate graded, with a clip for each."""
    assignment = claim(ada)
    judge_all(assignment, lambda candidate: 2, submit=False)
    Clip.objects.update(
        state=Clip.State.READY, file=default_storage.save("clip.mp4", ContentFile(b"0123456789"))
    )
    return assignment


@pytest.fixture(autouse=True)
def exam(batch: Batch) -> None:
    """An exam of one pair, which nobody has to sit."""
    query = Query.objects.create(campaign=batch.query.campaign, kind=Kind.EXAM, query_id="exam:1", text="q")
    made = Batch.objects.create(query=query, number=1, kind=Kind.EXAM, state=Batch.State.OPEN)
    moment = batch.candidates.order_by("rank")[0].moment
    Candidate.objects.create(query=query, batch=made, moment=moment, rank=1, similarity=0.5)


@pytest.fixture
def people(
    ada: Membership, bob: Membership, leo: Membership, outsider: User, member: Callable[..., Membership]
) -> dict[str, Client]:
    researcher = member("rio", "researcher")
    members: list[Membership | User] = [outsider, ada, bob, researcher, leo]
    who = dict(zip(PEOPLE[1:], members, strict=True))
    return {"stranger": Client()} | {name: browser(person) for name, person in who.items()}


def exam_batch() -> int:
    return Batch.objects.get(kind=Kind.EXAM).pk


def letter(held: Assignment) -> Message:
    """A message to who holds the batch."""
    message, _ = Message.objects.get_or_create(to=held.annotator, text="Well done.")
    return message


def flagged(held: Assignment) -> Flag:
    flag, _ = Flag.objects.get_or_create(
        assignment=held, candidate_id=held.candidate_at(1), defaults={"reason": Flag.Reason.OTHER}
    )
    return flag


def invited(held: Assignment) -> int:
    """The key of an open invitation."""
    return held.annotator.campaign.invite("annotator", None, timedelta(days=1))[0].pk


def failed(held: Assignment) -> Job:
    job, _ = Job.objects.get_or_create(
        kind=RANK, key=held.annotator.campaign.job_key, defaults={"due": timezone.now()}
    )
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED)
    return job


def ask(client: Client, name: str, held: Assignment) -> int:
    batch = held.batch
    clip = Clip.objects.get(
        video=held.candidates_in_order()[0].moment.video, start=held.candidates_in_order()[0].moment.start
    )
    arguments: dict[str, list[object]] = {
        "read-message": ["films", letter(held).pk],
        "check-pairs": ["films", held.annotator.worker, "all"],
        "clip": [clip.token],
        "workplace": [held.token],
        "judge": [held.token, 1],
        "flag": [held.token, 1],
        "submit": [held.token],
        "resume": [held.token],
        "batch": ["films", batch.pk],
        "review": ["films", batch.pk],
        "handle-flag": ["films", flagged(held).pk],
        "adjudicate": ["films", batch.candidates.order_by("rank")[0].pk],
        "withdraw": ["films", batch.query_id],
        "exam-batch": ["films", exam_batch()],
        "exam-truth": ["films", exam_batch()],
        "exam-person": ["films", held.annotator.worker],
        "exam-verdict": ["films", held.annotator.worker],
        "example-judged": ["films", held.candidates_in_order()[0].pk],
        "example-remove": ["films", 1],
        "invitation": ["x" * 43],
        "person": ["films", 1],
        "person-change": ["films", 1],
        "invitation-withdraw": ["films", invited(held)],
        "export": ["films", "qrels.txt"],
        "job-again": ["films", failed(held).pk],
        "agreement-annotator": ["films", held.annotator.worker],
        "figure": ["films", "table-1.csv"],
        "release": ["films", 1],
    }
    bodies: dict[str, object] = {
        "judge": {"grade": 2, "fence": held.fence, "key": str(uuid4()), "seconds": 1.5},
        "flag": {"reason": "clip", "fence": held.fence, "key": str(uuid4())},
        "submit": {"fence": held.fence},
        "resume": {},
    }
    forms: dict[str, dict[str, str]] = {
        "review": {"verdict": "close"},
        "release-make": {"licence": "CC0-1.0"},
        "exam-make": {"queries": "1", "depth": "3", "seed": "1"},
        "exam-truth": {"truth-1": "3"},
        "exam-verdict": {"verdict": "qualify", "reason": "known"},
        "person-change": {"verb": "pause"},
        "invite": {"role": "annotator", "hours": "24"},
        "send-message": {"to": "all", "text": "Well done."},
        "handle-flag": {"action": "dismiss"},
        "adjudicate": {"grade": "none"},
        "withdraw": {"reason": "not a sentence"},
        "reopen": {"batch": str(batch.pk)},
    }
    address = reverse(name, args=arguments[name]) if name in arguments else any_address(name)
    method = MATRIX[name][0].lower()
    if name in bodies:
        answer = getattr(client, method)(address, bodies[name], content_type="application/json")
    else:
        answer = getattr(client, method)(address, forms.get(name, {}))
    content_of(answer)
    return int(answer.status_code)


@pytest.mark.parametrize("name", MATRIX)
def test_the_matrix(
    name: str,
    held: Assignment,
    people: dict[str, Client],
    bob: Membership,
    member: Callable[..., Membership],
) -> None:
    if name == "release":
        freeze(held.annotator.campaign, member("zoe", "lead"), "CC0-1.0")
        Release.objects.update(state=Release.State.READY, file=Clip.objects.exclude(file="")[0].file.name)
    if name in ("review", "example-judged"):
        judge_all(claim(bob), lambda candidate: 2)
        submitting.submit(held, held.fence)
    assert tuple(undone(ask, people[who], name, held) for who in PEOPLE) == MATRIX[name][1:]


def undone(act: Callable[..., int], *arguments: object) -> int:
    """What it answers; what it changed is taken back, so that each person finds the same."""
    before = transaction.savepoint()
    try:
        return act(*arguments)
    finally:
        transaction.savepoint_rollback(before)


@pytest.mark.parametrize("name", MATRIX)
def test_the_wrong_method_is_refused(name: str, held: Assignment, people: dict[str, Client]) -> None:
    client = people["annotator" if MATRIX[name][3] == 200 else "lead"]
    method = "patch" if name == "flag" else "delete"
    assert getattr(client, method)(any_address(name)).status_code == (
        302 if name in ("sign-in", "invitation") else 405
    )


def any_address(name: str) -> str:
    """One that fits the pattern; whether something is there is asked after the method."""
    for arguments in ([], ["films"], ["films", 1], ["films", "x"], ["films", 1, "x"]):
        with contextlib.suppress(NoReverseMatch):
            return reverse(name, args=arguments)
    raise AssertionError(name)


def test_a_form_without_its_token_is_refused(ada: Membership) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada.user)
    assert client.post(reverse("claim", args=["films"])).status_code == 403


def test_a_role_taken_away_ends_at_once(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    Membership.objects.filter(pk=ada.pk).update(state=Membership.State.PAUSED)
    assert client.get(reverse("workplace", args=[held.token])).status_code == 404
    assert ask(client, "judge", held) == 404


def test_who_leads_meanwhile_no_longer_judges(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    Membership.objects.filter(pk=ada.pk).update(role=Membership.Role.LEAD)
    assert ask(client, "judge", held) == 404
    assert ask(client, "submit", held) == 404


def test_a_disabled_user_is_signed_out_mid_lease(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    User.objects.filter(pk=ada.user_id).update(is_active=False)
    assert ask(client, "judge", held) == 401


def test_an_examples_clip_is_open_to_its_campaign_only(
    batch: Batch, people: dict[str, Client], outsider: User, corpus: Corpus
) -> None:
    moment = Moment.objects.filter(candidates__isnull=True).latest("pk")
    clip = Clip.objects.create(video=moment.video, start=moment.start, end=moment.end, state=Clip.State.READY)
    clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(b"0123456789"))
    address = reverse("clip", args=[clip.token])
    assert people["annotator"].get(address).status_code == 404
    campaign = batch.query.campaign
    Example.objects.create(campaign=campaign, query="q", moment=moment, clip=clip, grade=4, why="w")
    answers = {who: client.get(address) for who, client in people.items()}
    assert content_of(answers["annotator"]) == content_of(answers["lead"]) == b"0123456789"
    assert content_of(answers["other annotator"]) == content_of(answers["researcher"])
    statuses = {who: answer.status_code for who, answer in answers.items()}
    members = ("annotator", "other annotator", "researcher", "lead")
    assert statuses == {"stranger": 302, "outsider": 404} | dict.fromkeys(members, 200)
    bob = Membership.objects.filter(user__username="bob")
    bob.update(state=Membership.State.PAUSED)
    assert content_of(people["other annotator"].get(address)) == b"0123456789"
    bob.update(state=Membership.State.LEFT)
    assert people["other annotator"].get(address).status_code == 404


def test_clips_close_with_the_batch(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    assert ask(client, "clip", held) == 200
    submitting.submit(held, held.fence)
    assert ask(client, "clip", held) == 404


@pytest.mark.parametrize(
    ("asked", "status", "body", "told"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=8-", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=7-3", 416, b"", "bytes */10"),
        ("bytes=-", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_ranges_of_clips(
    held: Assignment, ada: Membership, asked: str, status: int, body: bytes, told: str | None
) -> None:
    clip = Clip.objects.get(
        video=held.candidates_in_order()[0].moment.video, start=held.candidates_in_order()[0].moment.start
    )
    answer = browser(ada).get(reverse("clip", args=[clip.token]), headers={"range": asked})
    content = content_of(answer)
    assert (answer.status_code, content, answer.get("Content-Range")) == (status, body, told)


def test_too_many_wrong_passwords_lock_the_name_out(ada: Membership, settings: object) -> None:
    client, wrong = Client(), {"username": "ada", "password": "wrong"}
    answers = [client.post(reverse("sign-in"), wrong).status_code for _ in range(11)]
    assert answers[0] == 200
    assert answers[-1] == 429
