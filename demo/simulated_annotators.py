"""Simulated annotators, who judge through the same addresses as people and see no more than people do.

Each gets the hidden true grade and gives it with an error of their own: a constant bias and a random spread.
"""

from __future__ import annotations

import csv
import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid5

import httpx
from django.contrib.auth.models import User
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.db.models import QuerySet
from django.urls import reverse

from campaigns.models import Campaign, Membership
from demo.generating import nearest_grade
from jobs.models import Job
from judging.consensus import overlap
from judging.models import Assignment, Batch, Candidate, Kind, Query
from judging.pool.clips import cut_clips
from judging.pool.ranking import rank_candidates
from judging.review.reviewing import recommendation

Truth = Callable[[Candidate], int]
Span = tuple[str, float, float]  # video, start and end in seconds
Grades = Mapping[str, Mapping[Span, int]]  # of each query and moment
LEANINGS = (-0.5, 0.5)  # grades
SPREADS = (0.2, 0.9)  # standard deviations, in grades
HALF = 0.5  # IoU


@dataclass
class Tally:
    batches: int = 0
    judgements: int = 0
    reviews: int = 0


def truth_from(file: Path) -> Truth:
    """Read true grades from a CSV file with the columns query_id, video, start, end and grade.

    A moment that a run predicted has the grade of the one that it overlaps most, if it shows half of it at least.
    """
    grades = true_grades(file)

    def truth(candidate: Candidate) -> int:
        moment, known = candidate.moment, grades[_query_id(candidate.query)]
        video, span = moment.video.name, (moment.start, moment.end)
        if not moment.predicted:
            return known[video, *span]
        there = {(start, end): grade for (name, start, end), grade in known.items() if name == video}
        best = max(there, key=lambda other: overlap(span, other))
        return there[best] if overlap(span, best) >= HALF else 0

    return truth


def _query_id(query: Query) -> str:
    """Return the id of a query, or of the one of which an exam holds a copy."""
    if query.kind != Kind.EXAM:
        return query.query_id
    original = Query.objects.get(campaign=query.campaign_id, kind=Kind.POOL, text=query.text)
    return original.query_id


def true_grades(file: Path) -> Grades:
    """Read the true grade of each query and moment from such a file."""
    found: dict[str, dict[Span, int]] = defaultdict(dict)
    with file.open(encoding="utf-8", newline="") as source:
        for row in csv.DictReader(source):
            span = (row["video"], float(row["start"]), float(row["end"]))
            found[row["query_id"]][span] = int(row["grade"])
    return found


def truth_from_similarity(candidate: Candidate) -> int:
    """Return a grade that rises with the caption's similarity, for campaigns without true grades."""
    return nearest_grade(6 * (candidate.similarity or 0.0) - 1.5)


class Person:
    """A simulated person with a signed-in HTTP client, its cookies and its CSRF token."""

    def __init__(self, address: str, campaign: Campaign, username: str, role: str) -> None:
        self.campaign, self.name = campaign, username
        user, _ = User.objects.get_or_create(username=username)
        user.set_password(password := f"played-{random.getrandbits(64)}")
        user.save()
        self.member = campaign.add_member(user, role)
        self.http = httpx.Client(base_url=address, timeout=60)
        self.http.get(reverse("sign-in"))
        self.fill_in(reverse("sign-in"), username=username, password=password)

    def fill_in(self, address: str, **form: str) -> None:
        """Send a form as a browser does."""
        answer = self.http.post(address, data=form | {"csrfmiddlewaretoken": self.http.cookies["csrftoken"]})
        if answer.is_error:
            answer.raise_for_status()

    def send(self, method: str, address: str, body: object = None) -> httpx.Response:
        headers = {"Accept": "application/json", "X-CSRFToken": self.http.cookies["csrftoken"]}
        answer = self.http.request(method, address, json=body, headers=headers)
        return answer.raise_for_status()

    def judge_a_batch(self, truth: Truth, seed: int) -> int:
        """Claim a batch, judge all of it and submit it. Return the number of judgements.

        The number is 0 if there is no work, or if checks have led to a pause.
        """
        self.member.refresh_from_db()
        if not self.member.may_judge:
            return 0
        handed = self.send("POST", reverse("claim", args=[self.campaign.name])).json()["assignment"]
        if handed is None:
            return 0
        token, fence = handed["token"], handed["fence"]
        for position, candidate in enumerate(_handed(token), 1):
            chance = random.Random(f"{seed}:{self.name}:{candidate.pk}")
            is_distractor = candidate.is_hidden and candidate.repeats is None
            true = 0 if is_distractor else truth(candidate.repeats or candidate)
            grade = self.perceived(true, chance, seed)
            body = {
                "grade": grade,
                "fence": fence,
                "press": position,
                # Another one where a pair of an exam comes back in another round
                "key": str(uuid5(UUID(int=chance.getrandbits(128)), f"{token} {fence}")),
                "seconds": round(chance.uniform(4, 30), 1),
            }
            self.send("PUT", reverse("judge", args=[token, position]), body)
        self.send("POST", reverse("submit", args=[token]), {"fence": fence})
        return len(handed["places"])

    def perceived(self, true: int, chance: random.Random, seed: int) -> int:
        skill = random.Random(f"{seed}:{self.name}")
        leaning, spread = skill.uniform(*LEANINGS), skill.uniform(*SPREADS)
        return nearest_grade(chance.gauss(true + leaning, spread))

    def review(self, batch: Batch) -> None:
        recommended = recommendation(batch)
        verdict = recommended.verdict or recommended.possible[-1]
        self.fill_in(reverse("review", args=[self.campaign.name, batch.pk]), verdict=verdict)


def _handed(token: str) -> list[Candidate]:
    assignments = Assignment.objects.select_related("annotator__campaign", "batch")
    handed = assignments.get(token=token).candidates_in_order()
    candidates = Candidate.objects.select_related("query", "moment__video", "repeats__query", "repeats__moment__video")
    wanted = candidates.in_bulk([each.pk for each in handed])
    return [wanted[each.pk] for each in handed]


def play(address: str, campaign: Campaign, annotators: int, seed: int, truth: Truth, reviews: bool) -> Iterator[Tally]:
    """Let the annotators take batches in turn, until nobody finds work and no batch is being prepared.

    Yield the tally after each turn, with a batch or without.
    """
    role = Membership.Role.ANNOTATOR
    people = [Person(address, campaign, f"played-{number:02}", role) for number in range(1, annotators + 1)]
    lead = Person(address, campaign, "played-lead", Membership.Role.LEAD) if reviews else None
    with ExitStack() as browsers:
        for person in (*people, *([lead] if lead else [])):
            browsers.callback(person.http.close)
        yield from _work(campaign, people, lead, seed, truth)


def _work(campaign: Campaign, people: list[Person], lead: Person | None, seed: int, truth: Truth) -> Iterator[Tally]:
    tally, idle = Tally(), 0
    while idle < len(people) or preparing(campaign).exists():
        for person in people:
            judged = person.judge_a_batch(truth, seed)
            idle = 0 if judged else idle + 1
            tally.batches += bool(judged)
            tally.judgements += judged
            yield tally
        if lead:
            for batch in Batch.objects.in_campaign(campaign).to_review().select_related("query__campaign"):
                lead.review(batch)
                tally.reviews += 1


def preparing(campaign: Campaign) -> QuerySet[Job]:
    """Return the jobs without which more work cannot be had: ranking, and the clips of batches."""
    batches = Batch.objects.in_campaign(campaign).filter(state=Batch.State.PREPARING)
    return (rank_candidates.jobs(campaign) | cut_clips.jobs(batches)).unfinished()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def own_server() -> Iterator[str]:
    """Run a web server in this process while the block runs. Yield its address."""
    server = ThreadedWSGIServer(("127.0.0.1", 0), _Quiet)
    server.set_app(get_wsgi_application())
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
