"""Two worlds that differ in the grades of a held-back split only: a researcher or a stranger gets the same answers."""

from __future__ import annotations

import random
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from io import StringIO
from typing import Any
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from campaigns.models import Campaign, Membership
from corpus.models import Clip, Corpus, Moment, Video
from jobs.running import work_off
from judging.models import Batch, Candidate, Review
from judging.models.states import WithdrawnFor
from judging.quality.examples import add_own_example
from judging.review import decisions
from judging.review.reviewing import review
from judging.work.grading import ask_at
from releases.freezing import freeze
from runs.board.held_back import enter, hold_back
from runs.estimates.predictors import add_predictor
from runs.estimates.watches import begin as watch
from runs.estimates.watches import estimate_difference
from runs.estimates.worth import ask_to_weigh
from runs.explain.figures import FIGURES
from runs.models import Run
from runs.pools.enlarging import PoolPlan, ask_to_propose
from tests.cast import browser, claim, content_of, judge_all, make_query, small_batches
from tests.runs.conftest import best
from tests.runs.test_predictors import near, predicted, sent
from tests.runs.uploading import uploaded

# The release is written by a thread with a connection of its own, which sees what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]
HELD = ("q0", "q1", "q2")
LEAST_ADDRESSES, MOST_ADDRESSES = 1500, 3000
# What differs between two runs of the same steps: times, and checksums of files that contain times.
CHANGING = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (s|seconds?|minutes?)\b"), "DURATION"),
    (re.compile(r"\b[0-9a-f]{32}([0-9a-f]{32})?\b"), "CHECKSUM"),
    (
        re.compile(r"(?<='Content-Length': ')\d+"),
        "LENGTH",
    ),  # that of the text, which is compared, and of the times in it
    (re.compile(r'"done":\d+,"total":\d+,"message":"[^"]*"'), "PROGRESS"),  # of a job, which is stored now and then
]
LINK = re.compile(r"""(?:href|src|action|hx-get|data-[a-z-]+)="(/[^"#]*)|"(/[^"\s#<>]+)\"""")


@dataclass
class World:
    """A campaign with a held-back split, and everything that people and jobs make of it."""

    grade: Callable[[Candidate, int], int]  # of a pair of the held-back split, by the annotator's number
    campaign: Campaign = field(init=False)

    def build(self) -> None:
        call_command("flush", interactive=False, verbosity=0)
        for step in (self._judge, self._freeze, self._runs):
            random.seed(step.__name__)  # of tokens
            step()

    def _judge(self) -> None:
        corpus = Corpus.objects.create(name="films", format="tvr")
        for number in range(6):
            video = Video.objects.create(corpus=corpus, name=f"secret-video-{number}", duration=100)
            times = [10 * place + 1.25 for place in range(10)]
            rows = [Moment(video=video, start=t, end=t + 3.25, description="d", caption=f"c {t}") for t in times]
            Moment.objects.bulk_create(rows)
        self.campaign = Campaign.objects.create(name="films", corpus=corpus, order_seed=7, public_board=True)
        small_batches(self.campaign, 0)
        for number in range(9):
            make_query(self.campaign, f"q{number}", f"A person does thing {number}.")
        self.campaign.queries.filter(query_id__in=HELD).update(split="val")
        people = [self.member(name) for name in ("ada", "bob", "cleo", "dan")]
        question = ask_at(claim(people[0]), 1, "clip", "Is it the man or the woman?", uuid4())
        decisions.tell_all(question, self.member("leo", "lead"), "Both count.", "Which person counts?")
        for _ in range(18):
            for number, person in enumerate(people):
                if Batch.objects.filter(free=True).exclude(assignments__annotator=person).exists():
                    judge_all(claim(person), partial(self._grade, by=number))

    def _grade(self, candidate: Candidate, by: int) -> int:
        if candidate.query.query_id in HELD:
            return self.grade(candidate, by)
        return max(0, 5 - candidate.rank - by % 2 * (candidate.rank % 2))

    def member(self, name: str, role: str = "annotator") -> Membership:
        return self.campaign.add_member(User.objects.get_or_create(username=name)[0], role)

    def _freeze(self) -> None:
        leo = self.member("leo", "lead")
        for pair in Candidate.objects.filter(query__query_id__in=["q0", "q5"], rank=1).select_related(
            "query", "moment"
        ):
            add_own_example(leo, pair.query.text, pair.moment, self._grade(pair, 0), "All of it is seen.")
        for clip in Clip.objects.all():
            clip.state = Clip.State.READY
            clip.file.save(f"clips/{clip.pk}.mp4", content=ContentFile(b"0123456789"))
        hold_back(leo, "val")
        for query in self.campaign.queries.order_by("place")[:7]:
            if not query.closed and (waiting := query.batches.first()):
                review(waiting, leo, Review.Verdict.CLOSE)
        self.campaign.refresh_from_db()
        self.release = freeze(self.campaign, leo, "CC0-1.0", with_unfinished=True)
        self.work()

    def work(self) -> None:
        assert [(job.kind, job.error) for job in work_off(StringIO())] == []

    def _runs(self) -> None:
        leo, rio = self.member("leo", "lead"), self.member("rio", "researcher")
        for number, name in enumerate(("perfect", "late", "later")):
            uploaded(rio, best(self.campaign, skip=number), name=name, visibility="listed", citation="Rio (2026).")
        decisions.withdraw(self.campaign.queries.get(query_id="q1"), "It is unclear.", WithdrawnFor.QUERY, by=leo)
        uploaded(rio, best(self.campaign, only=("q0", "q5")), name="probe", visibility="listed")
        uploaded(self.member("mia", "researcher"), best(self.campaign, skip=3), name="of mia", visibility="public")
        enter(Run.objects.get(name="perfect"), True)
        sent(add_predictor(leo, "guess", "file", "model-9"), predicted(self.campaign, near))
        ask_to_weigh(self.campaign)
        ask_to_propose(leo, PoolPlan((1, 2, 3), 10, 0.5))
        estimate_difference.ask(watch(leo, 1, 2, "nDCG_IoU(iou=0.5)@20"))
        client = browser(rio)
        for name, sent_form in (
            ("measures/examine", {"convention": "paper"}),
            ("leaderboard/measures", {"convention": "paper", "measure": "AxIoU@20"}),
        ):
            assert client.post(f"/campaigns/films/{name}", sent_form).status_code == 302, name
        self.work()

    def answers(self) -> dict[str, str]:
        """Everything that a researcher and a stranger get, by person and address."""
        people = {"researcher": browser(self.member("rio", "researcher")), "stranger": Client()}
        return {f"{who} {address}": text for who, client in people.items() for address, text in crawl(client)}

    def qrels(self) -> bytes:
        """What a lead gets."""
        return content_of(browser(self.member("leo", "lead")).get("/campaigns/films/exports/qrels.txt"))


def crawl(client: Client) -> Iterator[tuple[str, str]]:
    """Follow every link and every address of the product, and yield each address with what it answers."""
    waiting, seen = ["/", *addresses(), *QUESTIONS], set[str]()
    while waiting and len(seen) < MOST_ADDRESSES:
        address = waiting.pop(0)
        if address in seen or "/accounts/logout" in address:
            continue
        seen.add(address)
        random.seed(address)
        answer = client.get(address)
        text = content_of(answer).decode(errors="replace")
        yield address, steady(f"{answer.status_code} {dict(answer.items())} {answer.cookies.output()} {text}")
        if "html" in answer.get("Content-Type", "") or "json" in answer.get("Content-Type", ""):
            found = (unescape(first or second) for first, second in LINK.findall(text))
            waiting += [urljoin(address, each) for each in found if is_ours(each)]


def is_ours(address: str) -> bool:
    return not address.startswith(("//", "/static/")) and "{" not in address and not urlsplit(address).netloc


def steady(text: str) -> str:
    for pattern, words in CHANGING:
        text = pattern.sub(words, text)
    return text


# What stands in the addresses of the product, by its name there.
VALUES: dict[str, list[object]] = {
    "name": ["films"],
    "format": ["csv", "json", "svg", "tex", "md", "ipynb", "png", "html"],
    "query_id": ["q0", "q5"],
    **{key: [1, 2] for key in ("number", "pk", "version", "worker", "corpus", "candidate", "key", "id", "batch")},
}


RUN = "campaigns/films/runs/1"
# Addresses that ask for the queries of the split.
QUESTIONS = [
    *(f"/api/v1/{RUN}/query?query={query}" for query in HELD),
    *(f"/campaigns/films/explain/?run=1&query={query}{more}" for query in HELD for more in ("", "&run=2&run=3")),
    *(f"/campaigns/films/compare/?run=1{more}" for more in ("", "&run=2", "&split=val", "&q=thing+1")),
    *(f"/{RUN}/{key}.svg?against=2&query={query}" for key in FIGURES for query in HELD),
    *(f"/campaigns/films/leaderboard/?view={view}" for view in ("runs", "held-back", "again")),
    *(f"/{before}campaigns/films/leaderboard?split=val" for before in ("", "api/v1/")),
    *(f"/api/v1/{RUN}/{more}" for more in ("queries?split=val", "queries?other=2", "scatter/svg?other=2")),
    *(f"/campaigns/films/measures/?measure={each}" for each in ("AP_IoU(iou=0.5)@10", "AxIoU@20")),
    *(f"/judge/films/tutorial?step={step}" for step in range(1, 7)),
]


def addresses() -> Iterator[str]:
    """Every address of the product, with the first values that fit."""
    for route, names in _routes(get_resolver(), ""):
        found = [route]
        for name in names:
            pattern = re.compile(rf"<(\w+:)?{name}>")
            found = [pattern.sub(str(value), each) for each in found for value in VALUES.get(name, ["x"])]
        yield from (f"/{each}" for each in found if "<" not in each and "(?P" not in each)


def _routes(resolver: URLResolver, before: str) -> Iterator[tuple[str, list[str]]]:
    for each in resolver.url_patterns:
        route = before + str(each.pattern).removeprefix("^").removesuffix("$").removesuffix("\\Z")
        if isinstance(each, URLResolver):
            yield from _routes(each, route)
        elif isinstance(each, URLPattern):
            yield route, re.findall(r"<(?:\w+:)?(\w+)>", route)


def apart(address: str, first: str, second: str) -> tuple[str, str, str]:
    """Two answers from where they differ."""
    signs = zip(first, second, strict=False)
    place = next((number for number, (one, other) in enumerate(signs) if one != other), min(len(first), len(second)))
    return address, first[max(0, place - 80) : place + 80], second[max(0, place - 80) : place + 80]


def _otherwise(candidate: Candidate, by: int) -> int:
    """One query in another order, one without anything relevant, and one on which the annotators differ."""
    return {"q0": candidate.rank % 5, "q1": 0, "q2": 4 * (by % 2)}[candidate.query.query_id]


def test_two_worlds_of_other_grades_give_the_same_answers(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Tokens are drawn from seeded numbers, so that they are the same in both."""
    settings.API_RATE = settings.FILE_RATE = ""
    monkeypatch.setattr(secrets, "choice", random.choice)
    monkeypatch.setattr(secrets, "token_bytes", lambda size=None: random.randbytes(size or 32))
    worlds = World(lambda candidate, by: max(0, 5 - candidate.rank)), World(_otherwise)
    found, qrels = [], []
    for world in worlds:
        world.build()
        found.append(world.answers())
        qrels.append(world.qrels())
    assert qrels[0] != qrels[1]
    assert len(found[0]) > LEAST_ADDRESSES
    assert [*found[0]] == [*found[1]]
    assert [
        apart(address, text, found[1][address]) for address, text in found[0].items() if found[1][address] != text
    ] == []
