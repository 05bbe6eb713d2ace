"""Many annotators who judge over HTTP at once, and send again what was not answered, as the browser does."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from tests.installation import Installation
from tests.waiting import a_while, wait_until

CLIENTS = 16
PATIENCE = 60  # seconds for one answer; a writer may hold SQLite for that long
SECONDS_BETWEEN_TRIES = 0.2
NOT_REACHED = (OSError, http.client.HTTPException)
LATER, STALE = 503, 409
CSRF = "c" * 32
# Run inside the installation: a campaign without media.
MAKE_CAMPAIGN = """
from campaigns.models import Campaign
from corpus.models import Corpus, Moment, Video
from tests.cast import make_query
corpus, _ = Corpus.objects.get_or_create(name="crowd", format="tvr")
video, made = Video.objects.get_or_create(corpus=corpus, name="film", defaults={{"duration": 100}})
if made:
    Moment.objects.bulk_create(
        Moment(video=video, start=n, end=n + 1, description=str(n), caption=str(n)) for n in range({moments})
    )
campaign = Campaign.objects.create(name={name!r}, corpus=corpus)
for number in range({batches}):
    make_query(campaign, str(number), f"query {{number}}")
"""
# People of a campaign, who are signed in.
MAKE_PEOPLE = """
import json
from django.conf import settings
from django.contrib.auth.models import User
from campaigns.models import Campaign
from tests.cast import browser
campaign, cookies = Campaign.objects.get(name={name!r}), {{}}
for number in range({people}):
    member = campaign.add_member(User.objects.create(username=f"{name}-{role}-{{number}}"), "{role}")
    cookies[member.user.username] = browser(member).cookies[settings.SESSION_COOKIE_NAME].OutputString()
print(json.dumps(cookies))
"""


def make_campaign(
    place: Installation, name: str, people: int = CLIENTS, batches: int = 1, moments: int = 20
) -> list[Annotator]:
    """Make a campaign of so many first batches, of twenty candidates each, with so many annotators, who are signed in.

    With forty moments each query can have a second batch.
    """
    before = MAKE_CAMPAIGN.format(name=name, batches=batches, moments=moments)
    return make_people(place, name, people, before=before)


def make_background(place: Installation, name: str) -> list[Annotator]:
    """Make a campaign with four annotators who leave the machine some time for others."""
    annotators = make_campaign(place, name, people=4, batches=8)
    for each in annotators:
        each.pause = 0.2
    return annotators


def make_people(
    place: Installation, campaign: str, people: int, before: str = "", role: str = "annotator"
) -> list[Annotator]:
    """Make so many people of a campaign, who are signed in."""
    printed = place.shell(before + MAKE_PEOPLE.format(name=campaign, people=people, role=role))
    cookies = json.loads(printed.splitlines()[-1])
    return [Annotator(place.address, campaign, who, each.partition(";")[0]) for who, each in cookies.items()]


@dataclass
class Answer:
    status: int
    body: dict[str, Any]  # of JSON
    content: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True)
class Grade:
    """A grade that was acknowledged, and when."""

    key: str
    grade: int
    acknowledged: float


@dataclass
class Annotator:
    """Somebody with a session of their own, whose requests go out one after the other."""

    address: str
    campaign: str
    name: str
    cookie: str
    new_key_at_each_try: bool = False
    choices: tuple[int, ...] = (2, 2, 2, 2, 2, 3, 4)  # the grades that are given; 2 beside 4 makes a second round
    pause: float = 0.0  # seconds before each grade
    lost_answers: float = 0.0  # the share of answers that do not reach the annotator
    stopped: threading.Event = field(default_factory=threading.Event)
    grades: list[Grade] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)  # answers that were not good, by status
    unreached: int = 0
    longest: float = 0.0  # seconds of an answer
    connection: http.client.HTTPConnection | None = None

    def again(self, address: str = "") -> Annotator:
        """Return the same person in another window, perhaps at another server, who notes grades of their own."""
        return Annotator(address or self.address, self.campaign, self.name, self.cookie)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.name)

    def ask(self, method: str, path: str, body: object = None, content: str | None = None) -> Answer:
        """Send one request and return the answer. `content` is sent as it is, instead of JSON.

        Raises
        ------
        OSError or HTTPException
            If there is no whole answer.
        """
        if self.connection is None:
            host = urlsplit(self.address)
            self.connection = http.client.HTTPConnection(str(host.hostname), host.port, timeout=PATIENCE)
        headers = {"Accept": "application/json", "Content-Type": "application/json", "X-CSRFToken": CSRF}
        headers["Cookie"] = f"{self.cookie}; csrftoken={CSRF}"
        sent = json.dumps(body) if content is None else content
        began = time.monotonic()
        try:
            self.connection.request(method, path, sent.encode(), headers)
            answer = self.connection.getresponse()
            raw = answer.read()
        except NOT_REACHED:
            self.hang_up()
            raise
        self.longest = max(self.longest, time.monotonic() - began)
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return Answer(answer.status, json.loads(raw) if is_json else {}, raw)

    def __del__(self) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        if self.connection:
            self.connection.close()
            self.connection = None

    def patiently(self, method: str, path: str, body: dict[str, Any] | None = None) -> Answer | None:
        """Send until there is an answer that means something. Return None if the annotator was stopped before."""
        while not self.stopped.is_set():
            if body and self.new_key_at_each_try and "key" in body:
                body = body | {"key": str(uuid4())}
            try:
                answer = self.ask(method, path, body)
            except NOT_REACHED:
                self.unreached += 1
            else:
                if answer.status < 500 and self.chance.random() >= self.lost_answers:
                    return answer
                if not answer.is_good:
                    self.refused[answer.status] += 1
            a_while(SECONDS_BETWEEN_TRIES)
        return None

    def claim(self) -> dict[str, Any] | None:
        """Return the batch in hand or a new one; None if there is no work."""
        answer = self.patiently("POST", f"/judge/{self.campaign}/claim")
        handed: dict[str, Any] | None = answer.body["assignment"] if answer and answer.is_good else None
        return handed

    def judge(self, handed: dict[str, Any]) -> bool:
        """Grade what is not graded yet. Return False if the batch went to somebody else, or the annotator stopped."""
        places = [number for number, each in enumerate(handed["places"], 1) if each["grade"] is None]
        for press, position in enumerate(places, handed["presses"] + 1):
            if not self.press(handed, position, self.chance.choice(self.choices), press):
                return False
        return True

    def press(self, handed: dict[str, Any], position: int, grade: int, press: int) -> bool:
        self.stopped.wait(self.pause)
        key = str(uuid4())
        body = {"grade": grade, "fence": handed["fence"], "key": key, "press": press, "seconds": 1.5}
        answer = self.patiently("PUT", judgement(handed, position), body)
        if answer and answer.is_good:
            self.grades.append(Grade(key, grade, time.monotonic()))
            return True
        if answer:
            self.refused[answer.status] += 1
        return False

    def submit(self, handed: dict[str, Any]) -> Answer | None:
        return self.patiently("POST", f"/judge/assignments/{handed['token']}/submit", {"fence": handed["fence"]})

    def work(self) -> None:
        """Judge batch after batch until somebody says stop."""
        while not self.stopped.is_set():
            handed = self.claim()
            if handed is None:
                a_while(SECONDS_BETWEEN_TRIES)
            elif self.judge(handed):
                self.submit(handed)
        self.hang_up()


def judgement(handed: dict[str, Any], position: int) -> str:
    return f"/judge/assignments/{handed['token']}/judgements/{position}"


class Crowd:
    """Annotators who work at the same time."""

    def __init__(self, annotators: list[Annotator]) -> None:
        self.annotators = annotators
        self.threads = [threading.Thread(target=each.work) for each in annotators]
        for thread in self.threads:
            thread.start()

    def rest(self) -> None:
        """Wait until all of them have stopped."""
        for each in self.annotators:
            each.stopped.set()
        for thread in self.threads:
            thread.join()

    @property
    def grades(self) -> list[Grade]:
        return [grade for each in self.annotators for grade in list(each.grades)]

    @property
    def refused(self) -> Counter[int]:
        return sum((each.refused for each in self.annotators), Counter[int]())

    @property
    def unreached(self) -> int:
        return sum(each.unreached for each in self.annotators)

    @property
    def longest(self) -> float:
        return max(each.longest for each in self.annotators)

    def reach(self, grades: int) -> None:
        """Wait until so many grades were acknowledged in all."""
        wait_until(lambda: len(self.grades) >= grades, lambda: f"{grades} grades; there are {len(self.grades)}")

    def more(self, grades: int) -> None:
        """Wait until so many more grades were acknowledged."""
        self.reach(len(self.grades) + grades)

    def recovers(self, began: float) -> float:
        """Wait until a grade is acknowledged from now on. Return the seconds since a moment."""
        now = time.monotonic()

        def first() -> float:
            return min((each.acknowledged for each in self.grades if each.acknowledged > now), default=0.0)

        wait_until(first, lambda: f"a grade is acknowledged; refused: {self.refused}")
        return first() - began


@contextmanager
def at_work(annotators: list[Annotator]) -> Iterator[Crowd]:
    """Let all of them work until the end of the block."""
    crowd = Crowd(annotators)
    try:
        yield crowd
    finally:
        crowd.rest()
