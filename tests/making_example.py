"""Make the example that is installed with the library: `make example` writes metrics/example again.

It is a small collection of ours: simulated annotators judge what 60 queries find among 240 moments, whose captions name
a person, an action and a thing. The same files come out of every run, but for drawings, which depend on the library
that draws them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

QUERIES, VIDEOS, MOMENTS = 60, 40, 6  # moments of each video
ANNOTATORS, BATCH, DEPTH = 6, 4, 8  # as many candidates and predictions of a query as two batches hold
PEOPLE, VERBS = ("man", "woman", "child", "boy"), ("opens", "lifts", "drops", "carries", "closes")
THINGS = ("box", "book", "bag", "window")
RUNS = {"finder": 0.6, "guesser": 2.0}  # the standard deviation of what each gets wrong, in grades
Scene = tuple[str, str, str]  # person, verb, thing


@dataclass(frozen=True)
class Shot:
    """A moment with its scene."""

    video: str
    start: float
    end: float
    scene: Scene


def sentence(scene: Scene) -> str:
    return "A {} {} the {}.".format(*scene)


def true_grade(query: Scene, moment: Scene) -> int:
    """Return 2 for the same action, and 1 more for the same person and for the same thing."""
    person, verb, thing = (one == other for one, other in zip(query, moment, strict=True))
    return person + 2 * verb + thing


def shots(chance: random.Random) -> Iterator[Shot]:
    scenes = list(product(PEOPLE, VERBS, THINGS))
    for video, place in product(range(VIDEOS), range(MOMENTS)):
        start = round(10 * place + chance.uniform(0, 2), 1)
        end = round(start + chance.uniform(4, 7.5), 1)
        yield Shot(f"video_{video + 1:02}", start, end, chance.choice(scenes))


def run_of(error: float, queries: dict[str, Scene], moments: list[Shot], chance: random.Random) -> dict[str, Any]:
    """Return a run that orders moments by their true grades with an error, and finds their ends nearly."""
    run = {}
    for query_id, query in queries.items():
        scores = {shot: true_grade(query, shot.scene) + chance.gauss(0, error) for shot in moments}
        found = sorted(scores, key=lambda shot: -scores[shot])[:DEPTH]
        run[query_id] = [
            {
                "video_name": shot.video,
                "timestamp": [
                    max(0, round(shot.start + chance.gauss(0, error / 2), 1)),
                    round(shot.end + 0.4 * error, 1),
                ],
                "model_scores": round(scores[shot], 3),
            }
            for shot in found
        ]
    return run


def write(folder: Path) -> None:
    """Write the release and the runs into a folder, from a database without a campaign of that name."""
    chance = random.Random(1)
    moments = list(shots(chance))
    queries = {str(n): scene for n, scene in enumerate(chance.sample(list(product(PEOPLE, VERBS, THINGS)), QUERIES), 1)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, error in RUNS.items():
        (folder / f"{name}.json").write_text(json.dumps(run_of(error, queries, moments, chance)) + "\n")
    shutil.copy(release_of(queries, moments, chance), folder / "example-v1.zip")


def release_of(queries: dict[str, Scene], moments: list[Shot], chance: random.Random) -> str:
    """Return the path of the release of a campaign in which simulated annotators have judged all queries."""
    from campaigns.models import Campaign
    from corpus.models import Corpus, Moment, Video
    from demo.generating import store_queries
    from judging.models import Candidate, Query
    from judging.order import place
    from releases.freezing import freeze, freeze_release
    from tests.runs.generated import OldCast

    corpus = Corpus.objects.create(name="example", format="generated")
    title = "Example: simulated judgements"
    campaign = Campaign.objects.create(
        name="example", title=title, corpus=corpus, order_seed=1, batch_size=BATCH, encoder=""
    )
    names = sorted({shot.video for shot in moments})
    videos = {name: Video.objects.create(corpus=corpus, name=name, duration=70) for name in names}
    stored = {
        shot: Moment.objects.create(
            video=videos[shot.video], start=shot.start, end=shot.end, description="", caption=sentence(shot.scene)
        )
        for shot in moments
    }
    scenes = {stored[shot].pk: shot.scene for shot in moments}

    class Annotators(OldCast):
        def grade(self, member: Any, candidate: Candidate) -> float:
            true = true_grade(queries[candidate.query.query_id], scenes[candidate.moment_id])
            return self.chance.gauss(true + self.leanings[member], 0.6)

    def pool(query: Query) -> list[Candidate]:
        scene = queries[query.query_id]
        near = sorted(moments, key=lambda shot: -true_grade(scene, shot.scene) - 1.5 * chance.random())[:DEPTH]
        return [
            Candidate(query=query, moment=stored[shot], rank=rank, similarity=round(1 - rank / 20, 2))
            for rank, shot in enumerate(near, 1)
        ]

    rows = [
        Query(
            campaign=campaign, query_id=key, text=sentence(scene), split="val" if int(key) % 3 else "test", closed=True
        )
        for key, scene in queries.items()
    ]
    for row in rows:
        row.place = place(campaign.order_seed, row.query_id)
    cast = Annotators.of(campaign, ANNOTATORS, QUERIES, chance)
    store_queries(rows, pool, cast)
    release = freeze(campaign, cast.lead, "CC0-1.0")
    freeze_release(release, lambda *_: None)
    return release.file.path


def main() -> None:
    import django
    from django.core.management import call_command

    with TemporaryDirectory() as home:
        os.environ |= {"REELJUDGE_HOME": home, "DJANGO_SETTINGS_MODULE": "config.settings"}
        os.environ.pop("DATABASE_URL", None)
        django.setup()
        call_command("migrate", verbosity=0)
        write(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
