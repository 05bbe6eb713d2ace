"""Canaries: what an annotator must not know is planted everywhere, and looked for in everything she is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from html import unescape
from io import StringIO
from itertools import product
from typing import Any
from urllib.parse import urljoin
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from api.urls import urlpatterns
from campaigns.models import Campaign, Event, Membership, Message
from corpus.models import Clip, Moment
from jobs.running import work_off
from judging.models import Assignment, Batch, Candidate, Example, Flag, Kind, Query, Question
from judging.quality.exam import set_exam
from judging.quality.examples import add_own_example
from judging.review import decisions
from judging.review.actions import reopen
from judging.review.reopening import scope_of_annotator
from judging.work import grading
from judging.work.grading import ask, ask_at
from runs.models import PredictedGrades, Predictor, TrainedSystem
from tests.api.asking import Program
from tests.cast import browser, claim, content_of, expire, judge_all, make_query, settle_round_one
from tests.remembered import remembered

SEED = 8_314_159_265_358
PLACE = 0.314159265
PREDICTED = 3.2718
TIMES = re.compile(r"\b\d+\.(25|5)\b")  # every moment starts at …1.25 and ends at …4.5 seconds


@pytest.fixture
@remembered
def worked(batch: Batch, bob: Membership, leo: Membership) -> Batch:
    """Bob has judged it all before Ada looks; clips and examples are there, and similarities are canaries too."""
    Campaign.objects.update(order_seed=SEED)
    Query.objects.update(place=PLACE, stratum="secret stratum")
    Batch.objects.update(place=PLACE)
    User.objects.filter(pk=bob.user_id).update(username="secret-bob")
    for number, moment in enumerate(Moment.objects.filter(video__name="secret-video-5")):
        add_own_example(leo, f"Sentence {number}.", moment, number // 2, "As it is.")
    TrainedSystem.objects.create(
        campaign=leo.campaign,
        by=leo,
        number=1,
        name="secret system",
        system="prior",
        options={},
        features="secret",
        clip_seconds=1.0,
        depth=20,
        losses=[[1, 0.777]],
    )
    for candidate in batch.candidates.all():
        Candidate.objects.filter(pk=candidate.pk).update(similarity=0.777000 + candidate.rank / 1e6)
    predictor = Predictor.objects.create(
        campaign=leo.campaign, by=leo, name="secret predictor", source="file", ended=timezone.now()
    )
    keys = map(str, batch.candidates.values_list("pk", flat=True))
    PredictedGrades.objects.create(
        predictor=predictor, query=batch.query, grades={key: PREDICTED + n / 1e6 for n, key in enumerate(keys)}
    )
    for clip in Clip.objects.all():
        clip.state = Clip.State.READY
        clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(b"0123456789"))
    held = claim(bob)
    decisions.answer(ask_at(held, 1, "clip", "Is this secret?", uuid4()), leo, "It is secret.")
    judge_all(held, lambda candidate: 4)
    return batch


def everything(answer: Any) -> str:
    content = content_of(answer)
    return f"{answer.status_code} {dict(answer.items())} {answer.cookies} {content.decode(errors='replace')}"


@pytest.fixture
def written(ada: Membership, leo: Membership) -> Membership:
    """Ada was warned and paused before, in words of which she reads only those that are for her."""
    for kind in (Event.Kind.WARNED, Event.Kind.PAUSED):
        Event.objects.create(member=ada, kind=kind, reason="secret threshold 0.25")
    Message.objects.create(to=ada, text="Please read the guideline again.", by=leo)
    return ada


def crawl(client: Client, ada: Membership) -> list[str]:
    """Everything an annotator can be answered, good and bad requests alike."""
    answers = [client.get(reverse("home"), follow=True), client.get(reverse("work"))]
    answers.append(client.post(reverse("claim", args=["films"]), follow=True))
    answers.append(client.post(reverse("claim", args=["films"]), headers={"accept": "application/json"}))
    tutorial = reverse("tutorial", args=["films"])
    steps = [f"?step={step}" for step in range(1, 7)] + ["?step=4&said=3", "?step=4&said=flag"]
    answers += [client.get(tutorial + step) for step in steps]
    clips = Example.objects.values_list("clip__token", flat=True)
    answers += [client.get(reverse("clip", args=[token])) for token in clips]
    held = Assignment.objects.live().get(annotator=ada)
    answers.append(client.get(reverse("workplace", args=[held.token])))
    places = json.loads(answers[3].content)["assignment"]["places"]
    answers += [client.get(place["clip"]) for place in places]
    for position in (*range(1, 21), 0, 21, 10**12):
        for fence in (held.fence, held.fence + 1):
            body = {"grade": position % 5, "fence": fence, "key": str(uuid4())}
            for name in ("judge", "flag"):
                address = reverse(name, args=[held.token, position])
                answers.append(client.put(address, body | {"reason": "clip"}, content_type="application/json"))
            body = {"about": ("clip", "query")[position % 2], "text": "Is it?", "key": str(uuid4())}
            address = reverse("ask-at", args=[held.token, position])
            answers.append(client.post(address, body, content_type="application/json"))
    for question in Question.objects.filter(annotator=ada)[:3]:
        decisions.answer(question, Membership.objects.get(user__username="leo"), "It is.")
    answers += [client.get(reverse(name, args=[held.token])) for name in ("own-questions", "workplace")]
    answers.append(client.post(reverse("ask", args=["films"]), {"text": "Why?", "key": str(uuid4())}, follow=True))
    answers += [client.get(reverse("mine", args=["films"])), client.get(reverse("work"))]
    for _ in range(2):
        answers += [client.get(reverse("practice", args=["films"])), client.post(reverse("practice", args=["films"]))]
        given = answers[-1]["Location"]
        answers += [client.get(given), client.post(f"{given}/answer", {"grade": "2"}), client.get(given)]
    for message in ada.messages.all():
        address = reverse("read-message", args=["films", message.pk])
        answers += [client.post(address, follow=True), client.post(address, {"back": "mine"}, follow=True)]
    for address in (
        f"/campaigns/films/annotators/{ada.worker}/",
        "/campaigns/films/inbox/?view=messages",
        "/campaigns/films/inbox/",
        "/campaigns/films/annotators/",
        "/campaigns/films/",
        f"/campaigns/films/batches/{held.batch_id}/",
        "/campaigns/films/releases/",
        "/campaigns/films/runs/1/",
        "/campaigns/films/runs/1/scatter.csv?against=2",
        "/campaigns/films/compare/?run=1",
        "/campaigns/films/explain/?run=1&query=1",
        "/campaigns/films/leaderboard/",
        *(
            f"/campaigns/films/leaderboard/?view={view}"
            for view in ("figures", "runs", "differences", "held-back", "again")
        ),
        "/campaigns/films/leaderboard/judged-again.csv",
        "/campaigns/films/measures/",
        "/campaigns/films/systems/",
        "/campaigns/films/systems/1/",
        "/campaigns/films/systems/1/?q=secret",
        "/campaigns/films/unjudged/",
        "/campaigns/films/unjudged/?enlargement=1",
        "/campaigns/films/model-judges/",
        f"/campaigns/films/model-judges/?predictor={Predictor.objects.get().pk}",
        f"/campaigns/films/model-judges/{Predictor.objects.get().pk}/grades.csv",
    ):
        answers.append(client.get(address))
    submit = reverse("submit", args=[held.token])
    answers.append(client.post(submit, {"fence": 99}, content_type="application/json"))
    answers.append(client.post(submit, {"fence": held.fence}, content_type="application/json"))
    answers.append(client.get(reverse("workplace", args=[held.token]), follow=True))
    return [everything(answer) for answer in answers]


def test_nothing_that_is_hidden_reaches_an_annotator(worked: Batch, ada: Membership, written: Membership) -> None:
    answers = crawl(browser(ada), ada)
    assert len(answers) > 100
    tell_nothing(answers)


def tell_nothing(answers: list[str]) -> None:
    for answer in answers:
        assert "secret" not in answer
        assert str(SEED) not in answer
        assert "0.777" not in answer
        assert str(PLACE) not in answer
        assert str(PREDICTED) not in answer
        assert "frontier" not in answer
        assert not TIMES.search(re.sub(r"'(Date|Expires|Content-Length)': '[^']*'", "", answer))
        assert "similarity" not in answer
        assert "caption" not in answer
        assert not re.search(r"\b(check|gold|repeat|threshold|pool|warned|predicted|predictor)\b", answer)


def crawl_api(program: Program, values: dict[str, list[Any]], methods: tuple[str, ...]) -> list[str]:
    """What every address of the API answers, by each method, with each of the values that it can name."""
    answers = []
    for each in urlpatterns:
        if each.name == "api-schema":  # says of every operation what leads are told, to everybody with an account
            continue
        names = re.findall(r"<\w+:(\w+)>", str(each.pattern))
        for chosen in product(*(values[name] for name in names)):
            with suppress(NoReverseMatch):  # a file's name, where the address wants a token
                address = reverse(str(each.name), args=chosen)
                requests: list[Any] = [(method, None if method == "GET" else {}) for method in methods]
                answers += [everything(program.ask(method, address, body)) for method, body in requests]
    return answers


def values_of(campaign: Campaign, *tokens: str) -> dict[str, list[Any]]:
    """What addresses of the API can name in a campaign."""
    batches = Batch.objects.in_campaign(campaign).values_list("pk", flat=True)
    candidates = Candidate.objects.in_campaign(campaign).order_by("pk").values_list("pk", flat=True)[:1]
    workers = campaign.memberships.values_list("worker", flat=True)
    return {
        "name": ["films"],
        "measure": ["nDCG@20"],
        "position": [1, 21],
        "version": [1],
        "delivery": [1],
        "corpus": [campaign.corpus_id],
        "format": ["csv"],
        "number": [1],
        "depth": [40],
        "token": [*tokens, *Clip.objects.values_list("token", flat=True)[:1]],
        "key": ["0" * 32],
        "pk": sorted({1, 2, 3, *batches, *candidates, *campaign.predictors.values_list("pk", flat=True)}),
        "worker": list(workers),
        "file": ["qrels.txt", "ratings.csv", "figure-6.csv", "0" * 32],
    }


def test_nothing_that_is_hidden_reaches_an_annotators_token(
    worked: Batch, ada: Membership, written: Membership, settings: Any
) -> None:
    program = Program(ada)
    claimed = program.post("campaigns/films/claim")
    held = claimed.json()
    clips = [place["clip"].rpartition("/")[2] for place in held["places"][:2]]
    answers = [everything(claimed)]
    values = values_of(worked.query.campaign, held["token"]) | {"key": clips}
    answers += crawl_api(program, values, ("GET", "POST", "PUT", "PATCH", "DELETE"))
    for position in (*range(1, 21), 0, 21, 10**12):
        body = {"fence": held["fence"], "key": str(uuid4())}
        grade, flag = (f"assignments/{held['token']}/{what}/{position}" for what in ("judgements", "flags"))
        answers.append(everything(program.ask("PUT", flag, body | {"reason": "clip"})))
        answers.append(everything(program.ask("PUT", grade, body | {"key": str(uuid4()), "grade": position % 5})))
    for fence in (99, held["fence"]):
        answers.append(everything(program.post(f"assignments/{held['token']}/submit", {"fence": fence})))
    assert answers[-1].startswith("204")
    answers += crawl_api(program, values, ("GET",))
    assert len(answers) > 500
    tell_nothing(answers)


def examined(campaign: Campaign, ada: Membership) -> list[str]:
    """What Ada is answered about an exam in which she missed every pair, whose truth is 4."""
    make_query(campaign, "2", "A person waves.")
    set_exam(campaign, 1, queries=1, depth=4)
    exam = Candidate.objects.filter(query__kind=Kind.EXAM)
    exam.update(similarity=0.777, truth=4)
    judge_all(claim(Membership.objects.select_related("campaign").get(pk=ada.pk)), lambda candidate: 1)
    Clip.objects.filter(candidates__in=exam).update(
        state=Clip.State.READY, file=Clip.objects.exclude(file="")[0].file.name
    )
    client = browser(ada)
    page = client.get(reverse("exam-result", args=["films"]))
    clips = re.findall(r'src="(/clips/[^"]*)"', page.content.decode())
    assert len(clips) == 4
    answers = [page, Program(ada).get("campaigns/films/mine/exam"), *(client.get(clip) for clip in clips)]
    return [everything(answer) for answer in answers]


def test_the_result_of_an_exam_tells_neither_captions_nor_the_truth(worked: Batch, ada: Membership) -> None:
    answers = examined(worked.query.campaign, ada)
    tell_nothing(answers)
    for answer in answers[:2]:
        assert not re.search(r"\b(perfect|truth|rank|median)\b", answer)


def test_the_canaries_are_found_where_they_may_be(worked: Batch, leo: Membership) -> None:
    assert str(SEED) in everything(browser(leo).get("/campaigns/films/settings"))
    page = everything(browser(leo).get(f"/campaigns/films/batches/{worked.pk}/"))
    assert "secret caption" in page
    assert "secret-video" in page
    assert "secret-bob" in page
    assert "0.777" in page
    assert TIMES.search(page)
    text = everything(Program(leo).get(f"campaigns/films/batches/{worked.pk}"))
    assert all(canary in text for canary in ("secret caption", "secret-video", "secret-bob", "0.777"))
    assert TIMES.search(text)
    assert "secret system" in everything(Program(leo).get("campaigns/films/systems/1"))
    predictor = Predictor.objects.get()
    assert str(PREDICTED) in everything(browser(leo).get(f"/campaigns/films/model-judges/{predictor.pk}/grades.csv"))
    questions = everything(browser(leo).get("/campaigns/films/inbox/"))
    questions += everything(browser(leo).get("/campaigns/films/inbox/?view=messages"))
    assert all(words in questions for words in ("Is this secret?", "It is secret.", "secret-bob"))
    assert "secret predictor" in everything(Program(leo).get(f"campaigns/films/predictors/{predictor.pk}"))


def test_the_workplace_names_candidates_by_place_only(worked: Batch, ada: Membership) -> None:
    handed = claim(ada)
    page = browser(ada).get(reverse("workplace", args=[handed.token])).content.decode()
    assignment = json.loads(re.search(r'<script id="assignment"[^>]*>(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert set(assignment) == {"token", "fence", "places", "presses"}
    assert {frozenset(place) for place in assignment["places"]} == {
        frozenset({"clip", "grade", "doubt", "flag", "comment"})
    }
    assert all(place["grade"] is None for place in assignment["places"])
    assert re.fullmatch(r"/judge/assignments/[\w-]{43}/clips/[\w-]{32}", assignment["places"][0]["clip"])


def test_the_order_of_places_does_not_follow_rank_or_time(worked: Batch, ada: Membership) -> None:
    handed = claim(ada)
    ranks = [candidate.rank for candidate in handed.candidates_in_order()]
    assert ranks not in (sorted(ranks), sorted(ranks, reverse=True))


def test_round_two_looks_like_round_one(batch: Batch, ada: Membership, bob: Membership, cleo: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 4)
    judge_all(claim(bob), lambda candidate: 0)
    page = browser(cleo).post(reverse("claim", args=["films"]), follow=True).content.decode()
    assert not re.search(r"\b(contested|round|second|disagree)\b", page, re.I)


def test_her_own_grades_come_back_and_nobody_elses(worked: Batch, ada: Membership) -> None:
    handed = claim(ada)
    grading.judge(handed, 5, 1, fence=handed.fence, key=uuid4())
    expire(handed)
    answer = browser(ada).post(reverse("claim", args=["films"]), headers={"accept": "application/json"})
    grades = [place["grade"] for place in answer.json()["assignment"]["places"]]
    assert grades == [None] * 4 + [1] + [None] * 15


# Researchers ------------------------------------------------------------------------------------------------
NAMES = ("secret-ada", "secret-bob", "secret-cleo", "secret-dan")
PRIVATE = "secret words of the lead"
DRAWN = re.compile(r"\.(pdf|svg)(\?|$)")


@pytest.fixture
@remembered
def watched(batch: Batch, leo: Membership) -> Campaign:
    """People with secret names; the lead wrote about each of them wherever a lead can write about somebody."""
    campaign = batch.query.campaign
    users = [User.objects.create(username=name) for name in NAMES]
    people = [campaign.add_member(user, Membership.Role.ANNOTATOR) for user in users]
    settle_round_one(batch, people[0], people[1], apart=4)
    for person in people[2:]:
        judge_all(claim(person), lambda candidate: 1 + 3 * (candidate.rank % 2))
    make_query(campaign, "2", "A person stands up.")
    held = claim(people[0])
    grading.flag(held, 1, Flag.Reason.OTHER, "hm", fence=held.fence, key=uuid4())
    make_query(campaign, "3", "A person waves.")
    set_exam(campaign, 1, 1, 3)
    Event.objects.create(member=people[1], kind=Event.Kind.QUALIFIED, reason=PRIVATE, by=leo)
    Message.objects.create(to=people[0], text=PRIVATE, by=leo)
    decisions.answer(ask_at(held, 1, "clip", PRIVATE, uuid4()), leo, PRIVATE)
    ask(people[0], PRIVATE, uuid4())
    people[2].pause(leo, PRIVATE)
    reopen(leo, scope_of_annotator(people[3]), PRIVATE)
    work_off(StringIO())
    return campaign


def test_a_researcher_reads_no_annotators_name_and_no_private_word(
    watched: Campaign, member: Callable[..., Membership], settings: Any
) -> None:
    """On any page that a link leads to, and in any answer of the API."""
    client = browser(member("rio", Membership.Role.RESEARCHER))
    begun = [
        reverse("campaign", args=["films"]),
        reverse("exam", args=["films"]),
        reverse("activity", args=["films"]) + "?view=reopened",
    ]
    waiting, seen = [*begun], set[str]()
    while waiting:
        address = waiting.pop()
        answer = client.get(address)
        text = everything(answer)
        for secret in (*NAMES, PRIVATE):
            assert secret not in text, f"{secret} in {address}"
        for found in re.findall(r'href="([^"#]*)', text) if answer.status_code == 200 else []:
            link = urljoin(address, unescape(found))
            one = re.sub(r"sort=[^&]*", "sort", link)  # the same rows, whatever column they are sorted by
            if link.startswith("/campaigns/films/") and one not in seen and not DRAWN.search(link):
                seen.add(one)
                waiting.append(link)
    token = Assignment.objects.live().values_list("token", flat=True)[0]
    answers = crawl_api(Program(Membership.objects.get(user__username="rio")), values_of(watched, token), ("GET",))
    assert sum(answer.startswith("200") for answer in answers) > 20
    for secret in (*NAMES, PRIVATE):
        assert not any(secret in answer for answer in answers), secret
    for name in ("annotators/2", "batches/", "judgements", "activity"):
        assert any(name in each for each in seen | set(begun)), f"{name} was not reached"
