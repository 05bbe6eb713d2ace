"""Who may do what: every address for every kind of person, by default nothing."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from corpus.models import Clip
from judging.models import Assignment, Batch, Membership
from tests.cast import browser, claim, content_of, judge_all

# name: (method, stranger, outsider, annotator, other annotator, researcher, lead)
MATRIX = {
    "home": ("GET", 302, 302, 302, 302, 302, 302),
    "sign-in": ("GET", 200, 302, 302, 302, 302, 302),
    "sign-out": ("POST", 302, 302, 302, 302, 302, 302),
    "work": ("GET", 302, 200, 200, 200, 200, 200),
    "claim": ("POST", 302, 404, 302, 302, 404, 404),
    "workplace": ("GET", 302, 404, 200, 404, 404, 404),
    "judge": ("PUT", 401, 404, 200, 404, 404, 404),
    "flag": ("PUT", 401, 404, 200, 404, 404, 404),
    "submit": ("POST", 401, 404, 200, 404, 404, 404),
    "resume": ("POST", 401, 404, 200, 404, 404, 404),
    "clip": ("GET", 302, 404, 200, 404, 200, 200),
    "campaigns": ("GET", 302, 200, 200, 200, 200, 200),
    "campaign": ("GET", 302, 404, 404, 404, 200, 200),
    "campaign-jobs": ("GET", 302, 404, 404, 404, 200, 200),
    "batch": ("GET", 302, 404, 404, 404, 200, 200),
    "review": ("POST", 302, 404, 404, 404, 404, 302),
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
    for clip in Clip.objects.all():
        clip.state = Clip.State.READY
        clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(b"0123456789"))
    return assignment


@pytest.fixture
def people(
    ada: Membership, bob: Membership, leo: Membership, outsider: User, member: Callable[..., Membership]
) -> dict[str, Client]:
    researcher = member("rio", "researcher")
    members: list[Membership | User] = [outsider, ada, bob, researcher, leo]
    who = dict(zip(PEOPLE[1:], members, strict=True))
    return {"stranger": Client()} | {name: browser(person) for name, person in who.items()}


def ask(client: Client, name: str, held: Assignment) -> int:
    batch = held.batch
    clip = Clip.objects.get(video=held.handed()[0].moment.video, start=held.handed()[0].moment.start)
    arguments: dict[str, list[object]] = {
        "claim": ["films"],
        "clip": [clip.token],
        "workplace": [held.token],
        "judge": [held.token, 1],
        "flag": [held.token, 1],
        "submit": [held.token],
        "resume": [held.token],
        "campaign": ["films"],
        "campaign-jobs": ["films"],
        "batch": ["films", batch.pk],
        "review": ["films", batch.pk],
        "exports": ["films"],
        "export": ["films", "qrels.txt"],
    }
    bodies: dict[str, object] = {
        "judge": {"grade": 2, "fence": held.fence, "key": str(uuid4()), "seconds": 1.5},
        "flag": {"reason": "clip", "fence": held.fence},
        "submit": {"fence": held.fence},
        "resume": {},
    }
    address, method = reverse(name, args=arguments.get(name, [])), MATRIX[name][0].lower()
    if name in bodies:
        answer = getattr(client, method)(address, bodies[name], content_type="application/json")
    else:
        answer = getattr(client, method)(address, {"verdict": "close"} if name == "review" else {})
    content_of(answer)
    return int(answer.status_code)


@pytest.mark.parametrize("name", MATRIX)
@pytest.mark.parametrize("who", PEOPLE)
def test_the_matrix(
    name: str, who: str, held: Assignment, people: dict[str, Client], bob: Membership
) -> None:
    if name == "review":
        judge_all(claim(bob), lambda candidate: 2)
        held.submit(held.fence)
    assert ask(people[who], name, held) == MATRIX[name][1 + PEOPLE.index(who)]


@pytest.mark.parametrize("name", MATRIX)
def test_the_wrong_method_is_refused(name: str, held: Assignment, people: dict[str, Client]) -> None:
    method = "delete"
    who = "annotator" if MATRIX[name][3] == 200 else "lead"
    client = people[who]
    arguments: dict[str, list[object]] = {
        "judge": [held.token, 1],
        "flag": [held.token, 1],
        "submit": [held.token],
        "resume": [held.token],
        "workplace": [held.token],
        "clip": ["x"],
        "batch": ["films", held.batch.pk],
        "review": ["films", held.batch.pk],
        "export": ["films", "qrels.txt"],
    }
    of_campaign = ["films"] if name in ("claim", "campaign", "campaign-jobs", "exports") else []
    expected = 302 if name == "sign-in" else 405
    assert (
        getattr(client, method)(reverse(name, args=arguments.get(name, of_campaign))).status_code == expected
    )


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


def test_clips_close_with_the_batch(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    assert ask(client, "clip", held) == 200
    held.submit(held.fence)
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
    clip = Clip.objects.get(video=held.handed()[0].moment.video, start=held.handed()[0].moment.start)
    answer = browser(ada).get(reverse("clip", args=[clip.token]), headers={"range": asked})
    content = content_of(answer)
    assert (answer.status_code, content, answer.get("Content-Range")) == (status, body, told)


def test_too_many_wrong_passwords_lock_the_name_out(ada: Membership, settings: object) -> None:
    client, wrong = Client(), {"username": "ada", "password": "wrong"}
    answers = [client.post(reverse("sign-in"), wrong).status_code for _ in range(11)]
    assert answers[0] == 200
    assert answers[-1] == 429
