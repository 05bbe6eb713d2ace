"""Canaries: what an annotator must not know is planted everywhere, and looked for in everything she is sent."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from corpus.models import Clip
from judging.models import Assignment, Batch, Candidate, Membership
from tests.cast import browser, claim, content_of, expire, judge_all

TIMES = re.compile(r"\b\d+\.(25|5)\b")  # every moment starts at …1.25 and ends at …4.5 seconds


@pytest.fixture
def worked(batch: Batch, bob: Membership) -> Batch:
    """Bob has judged it all before Ada looks; clips are there, and similarities are canaries too."""
    for candidate in batch.candidates.all():
        Candidate.objects.filter(pk=candidate.pk).update(similarity=0.777000 + candidate.rank / 1e6)
    for clip in Clip.objects.all():
        clip.state = Clip.State.READY
        clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(b"0123456789"))
    judge_all(claim(bob), lambda candidate: 4)
    return batch


def everything(answer: Any) -> str:
    content = content_of(answer)
    return f"{answer.status_code} {dict(answer.items())} {answer.cookies} {content.decode()}"


def crawl(client: Client, ada: Membership) -> list[str]:
    """Everything an annotator can be answered, good and bad requests alike."""
    answers = [client.get(reverse("home"), follow=True), client.get(reverse("work"))]
    answers.append(client.post(reverse("claim", args=["films"]), follow=True))
    answers.append(client.post(reverse("claim", args=["films"]), headers={"accept": "application/json"}))
    held = Assignment.objects.live().get(annotator=ada)
    answers.append(client.get(reverse("workplace", args=[held.token])))
    places = json.loads(answers[3].content)["assignment"]["places"]
    answers += [client.get(place["clip"]) for place in places]
    for position in (*range(1, 21), 0, 21, 10**12):
        for fence in (held.fence, held.fence + 1):
            body = {"grade": position % 5, "fence": fence, "key": str(uuid4())}
            for name in ("judge", "flag"):
                address = reverse(name, args=[held.token, position])
                answers.append(
                    client.put(address, body | {"reason": "clip"}, content_type="application/json")
                )
    for address in (
        "/campaigns/films/",
        f"/campaigns/films/batches/{held.batch_id}/",
        "/campaigns/films/exports/",
    ):
        answers.append(client.get(address))
    submit = reverse("submit", args=[held.token])
    answers.append(client.post(submit, {"fence": 99}, content_type="application/json"))
    answers.append(client.post(submit, {"fence": held.fence}, content_type="application/json"))
    answers.append(client.get(reverse("workplace", args=[held.token]), follow=True))
    return [everything(answer) for answer in answers]


def test_nothing_that_is_hidden_reaches_an_annotator(worked: Batch, ada: Membership) -> None:
    answers = crawl(browser(ada), ada)
    assert len(answers) > 100
    for answer in answers:
        assert "secret" not in answer
        assert "0.777" not in answer
        assert not TIMES.search(re.sub(r"'(Date|Expires|Content-Length)': '[^']*'", "", answer))
        assert "similarity" not in answer
        assert "caption" not in answer
        assert "bob" not in answer


def test_the_canaries_are_found_where_they_may_be(worked: Batch, leo: Membership) -> None:
    page = everything(browser(leo).get(f"/campaigns/films/batches/{worked.pk}/"))
    assert "secret caption" in page
    assert "secret-video" in page
    assert "0.777" in page
    assert TIMES.search(page)


def test_the_workplace_names_candidates_by_place_only(worked: Batch, ada: Membership) -> None:
    handed = claim(ada)
    page = browser(ada).get(reverse("workplace", args=[handed.token])).content.decode()
    told = json.loads(re.search(r'<script id="assignment"[^>]*>(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert set(told) == {"token", "fence", "places"}
    assert {frozenset(place) for place in told["places"]} == {frozenset({"clip", "grade", "flag"})}
    assert all(place["grade"] is None for place in told["places"])
    assert re.fullmatch(r"/clips/[\w-]{43}", told["places"][0]["clip"])


def test_the_order_of_places_does_not_follow_rank_or_time(worked: Batch, ada: Membership) -> None:
    handed = claim(ada)
    ranks = [candidate.rank for candidate in handed.handed()]
    assert ranks not in (sorted(ranks), sorted(ranks, reverse=True))


def test_round_two_looks_like_round_one(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    judge_all(claim(ada), lambda candidate: 4)
    judge_all(claim(bob), lambda candidate: 0)
    page = browser(cleo).post(reverse("claim", args=["films"]), follow=True).content.decode()
    assert not re.search(r"\b(contested|round|second|disagree)\b", page, re.I)


def test_her_own_grades_come_back_and_nobody_elses(worked: Batch, ada: Membership) -> None:
    handed = claim(ada)
    handed.judge(5, 1, fence=handed.fence, key=uuid4())
    expire(handed)
    answer = browser(ada).post(reverse("claim", args=["films"]), headers={"accept": "application/json"})
    grades = [place["grade"] for place in answer.json()["assignment"]["places"]]
    assert grades == [None] * 4 + [1] + [None] * 15
