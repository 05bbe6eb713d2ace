"""The demo's second campaign: judged, released, and with runs of four systems, so that every page shows something; and
the systems that jobs behind the running demo train on its captions, which submit theirs.

Its queries and their order of candidates are those of the campaign in which visitors judge. Its pool is shallow, so
that the systems find moments that nobody has judged. The systems are synthetic and of known
quality, with three seeds each.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from accounts.models import Token
from base.errors import ReeljudgeError
from campaigns.models import Campaign, Membership
from corpus.features import DESCRIPTOR
from corpus.models import Video
from demo.generating import Cast, store_queries
from demo.simulated_annotators import Grades, Span, own_server, true_grades
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch, Candidate, Query
from judging.pool.clips import prepare
from metrics import Client
from releases.freezing import freeze
from runs.systems.orders import Wanted, ask_to_train
from runs.systems.training import train_system

NAME, TITLE = "demo-judged", "Demo: judged, with runs"
ANNOTATORS = 6
BATCH = 5  # candidates
SPREAD = 0.6  # of grades about the truth
LICENCE = "CC0-1.0"
SEEDS = (1, 2, 3)
DEPTH = 40  # predictions of a query
SHIFT = 0.08  # of a moment's length: standard deviation of the ends of a prediction
FORGOTTEN = 60  # the rank of captions that are in no ranking
Ranks = Mapping[str, Mapping[Span, int]]  # by the similarity of captions; not of every moment
SECONDS_BETWEEN_LOOKS = 0.2
CLIP_SECONDS = 1.0  # the films' moments are of 2 to 11 seconds
N = 5  # moments of each training query; with more, the few that a film shows become many that only sound alike
ALIKE = {"shortest": 2, "longest": 8, "nms": 0.3}  # the moments of a film do not overlap
MINUTES = 3  # in which they are trained


class CarefulCast(Cast):
    """Annotators who finished lately, and who know the true grades."""

    grades: Grades

    def lateness(self, query: Query) -> float:
        return 0.9

    def grade(self, member: Membership, candidate: Candidate) -> float:
        moment = candidate.moment
        true = self.grades[candidate.query.query_id][moment.video.name, moment.start, moment.end]
        return self.chance.gauss(true + self.leanings[member] / 2, SPREAD)


@transaction.atomic
def make_campaign(source: Campaign, grades: Grades, lead: User, researcher: User) -> Campaign:
    """Make the campaign beside the one that visitors judge, with all judgements and reviews."""
    source.refresh_from_db(fields=["encoder"])  # which the ranking has stored since
    campaign = Campaign.objects.create(
        name=NAME,
        title=TITLE,
        corpus=source.corpus,
        encoder=source.encoder,
        batch_size=BATCH,
        order_seed=source.order_seed,
    )
    cast = CarefulCast.of(campaign, ANNOTATORS, 1, random.Random(1))
    cast.grades = grades
    campaign.add_member(lead, Membership.Role.LEAD)
    campaign.add_member(researcher, Membership.Role.RESEARCHER)
    ranked = _ranked(source)
    queries = [
        Query(campaign=campaign, query_id=each.query_id, text=each.text, aliases=each.aliases, closed=True)
        for each in source.queries.pool().order_by("pk")
    ]

    def pool(query: Query) -> list[Candidate]:
        return [
            Candidate(query=query, moment=each.moment, rank=each.rank, similarity=each.similarity)
            for each in ranked[query.query_id]
            if each.rank <= campaign.depth
        ]

    store_queries(queries, pool, cast)
    return campaign


def _ranked(source: Campaign) -> dict[str, list[Candidate]]:
    """Return the candidates of each query, the best rank first."""
    found = defaultdict(list)
    rows = Candidate.objects.filter(query__in=source.queries.pool()).select_related("query", "moment__video")
    for row in rows.order_by("query", "rank"):
        found[row.query.query_id].append(row)
    return found


def submit_systems(campaign: Campaign, source: Campaign, grades: Grades, researcher: User) -> None:
    """Submit the runs of all systems through the API, as somebody's program does, and wait for their scores."""
    scopes = [Token.Scope.READ, Token.Scope.RUNS]
    token, secret = Token.objects.make(researcher, "the demo’s runs", scopes, days=1)
    ranks: Ranks = {
        query: {
            (candidate.moment.video.name, candidate.moment.start, candidate.moment.end): candidate.rank
            for candidate in candidates
        }
        for query, candidates in _ranked(source).items()
    }
    durations = dict(Video.objects.filter(corpus=campaign.corpus).values_list("name", "duration"))
    of_campaign = {query: grades[query] for query in ranks}
    with own_server() as address, TemporaryDirectory() as folder, _Working(address, secret) as client:
        for system in SYSTEMS:
            for seed in SEEDS:
                file = Path(folder) / f"{system.name}-{seed}.json"
                file.write_text(run_of(system, seed, of_campaign, ranks, durations), encoding="utf-8")
                about = {"system": system.name, "group": system.name, "description": system.description}
                client.submit(campaign.name, file, name=f"{system.name} {seed}", **about)  # type: ignore[arg-type]
    token.delete()


class _Working(Client):
    """A client that does the server's jobs while it waits, because no worker runs yet."""

    def wait(self, seconds: float) -> None:
        work_off(StringIO())
        super().wait(seconds)


def make_judged(source: Campaign, truth: Path, lead: User, researcher: User, tell: Callable[[str], None]) -> None:
    """Make the campaign with its release and its runs, unless it is there. What a break has left is finished.

    Raise ReeljudgeError if a job fails.
    """
    grades = true_grades(truth)
    campaign = Campaign.objects.filter(name=NAME).first()
    if campaign is None:
        finish_jobs(StringIO())  # the ranking
        campaign = make_campaign(source, grades, lead, researcher)
    if not campaign.releases.exists():
        tell("Freezing a release …")
        freeze(campaign, campaign.memberships.get(user=lead), LICENCE)
        finish_jobs(StringIO())
    if not campaign.runs.exists():
        tell("Submitting runs of four systems …")
        submit_systems(campaign, source, grades, researcher)
        finish_jobs(StringIO())
        for batch in Batch.objects.in_campaign(campaign).select_related("query__campaign"):
            prepare(batch)  # cut while the demo is looked at, because nobody judges these


@dataclass(frozen=True)
class System:
    """A system that orders all moments by their true grades, by their captions, or by nothing."""

    name: str
    description: str
    sees: bool  # whether it looks at the films, and so at the true grades; else it reads captions
    error: float  # standard deviation of what it gets wrong: in grades, or in ranks of captions

    def score(self, grade: int, rank: int, chance: random.Random) -> float:
        return (grade if self.sees else -float(rank)) + chance.gauss(0, self.error)


SYSTEMS = (
    System("watcher", "Sees the films: the true grade, with an error of 0.6 grades.", True, 0.6),
    System("glancer", "Sees the films from afar: the true grade, with an error of 1.5 grades.", True, 1.5),
    System("reader", "Knows captions only: the pool's own ranking, with an error of 4 ranks.", False, 4),
    System("guesser", "Knows nothing: an order by chance.", True, 1000),
)


def run_of(system: System, seed: int, grades: Grades, ranks: Ranks, durations: Mapping[str, float]) -> str:
    """Return a run in TVR-Ranking's format. The same arguments give the same text."""
    run = {
        query: list(_predicted(system, f"{system.name}:{seed}:{query}", of_query, ranks[query], durations))
        for query, of_query in grades.items()
    }
    return json.dumps(run)


def _predicted(
    system: System, seed: str, grades: Mapping[Span, int], ranks: Mapping[Span, int], durations: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Yield the predictions of one query, the best first."""
    chance = random.Random(seed)
    scored = [(system.score(grade, ranks.get(span, FORGOTTEN), chance), span) for span, grade in sorted(grades.items())]
    for score, (video, start, end) in sorted(scored, reverse=True)[:DEPTH]:
        shift = SHIFT * (end - start)
        start = max(0.0, start + chance.gauss(0, shift))
        end = min(durations[video], max(start + 0.5, end + chance.gauss(0, shift)))
        yield {"video_name": video, "timestamp": [round(start, 2), round(end, 2)], "model_scores": round(score, 4)}


def finish_jobs(out: TextIO = sys.stdout) -> None:
    """Run all due jobs, and wait for those of a running server's worker. Raise ReeljudgeError if one fails."""
    due = Q(state=Job.State.RUNNING) | Q(due__lte=Now())
    while True:
        if failed := work_off(out):
            raise ReeljudgeError(f"{failed[0]}: {failed[0].error}")
        if not Job.objects.unfinished().filter(due).exists():
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)


NETWORK: dict[str, Any] = {"batch_size": 32, "learning_rate": 0.002}
NETWORK |= {"hidden": 96, "words": 64, "language": 64, "embedding": 24}  # small, as is the packed demo
PLACE: dict[str, Any] = {"iterations": 300, "decay_every": 200, "validate_every": 100}
STEPS: dict[str, Any] = {"iterations": 500, "decay_every": 350, "validate_every": 250}
RANKING = STEPS | {"loss": "triplet", "intra": 1, "inter": 1}  # the loss and the negatives of MCN's authors
CONTRAST = STEPS | {"intra": 3, "inter": 3}  # the moments of a film are harder to tell apart than the few films
LONGER = {"iterations": 750, "decay_every": 525}
SHORTER = {"iterations": 250, "decay_every": 175, "validate_every": 125}  # because there are two networks
STREAMS: dict[str, Any] = {"iterations": 220, "batch_size": 32, "learning_rate": 0.002, "validate_every": 110}
STREAMS |= {"warmup": 25, "patience": 0, "hidden": 64, "words": 64, "heads": 2, "span": 0.1}
CONQUER = {"first_iterations": 200, "iterations": 200, "batch_size": 16, "validate_every": 100, "others": 2}
CONQUER |= {"inner": 64, "filters": 64, "clusters": 8}
# The systems, from what sees nothing to what sees most, then those that look at videos twice. Each has the seconds
# until the next training is due, and its options. The seconds are about as long as a training of this system takes, so
# that what a visitor asks for waits for one at most.
TRAINED: dict[str, tuple[int, dict[str, Any]]] = {
    "chance": (3, {}),
    "prior": (3, {"bins": 20}),
    "tef_only": (6, NETWORK | PLACE),
    "mcn": (8, NETWORK | RANKING),
    "stal_clips": (16, NETWORK | CONTRAST),
    "stal": (27, NETWORK | CONTRAST | LONGER),
    "two_stage": (18, NETWORK | CONTRAST | SHORTER),
    "xml": (14, STREAMS),
    "reloclnet": (13, STREAMS),
    "conquer": (36, STREAMS | CONQUER | {"optimiser": "adam"}),
}


@transaction.atomic
def ask_for_systems(researcher: Membership) -> None:
    """Ask for the jobs that train the systems, unless they were asked for. They are done while the demo runs."""
    if researcher.campaign.systems.exists():
        return
    wait = 0
    for name, (seconds, options) in TRAINED.items():
        wanted = Wanted(name, name, DESCRIPTOR, CLIP_SECONDS, depth=N, options=ALIKE | options)
        [row] = ask_to_train(researcher, wanted)
        train_system.jobs(row).update(due=Now() + timedelta(seconds=wait))
        wait += seconds
