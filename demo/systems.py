"""Four synthetic systems of known quality, with three seeds each: what they predict for the demo's queries. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SEEDS = (1, 2, 3)
DEPTH = 40  # predictions of a query
SHIFT = 0.08  # of a moment's length: standard deviation of the ends of a prediction
FORGOTTEN = 60  # the rank of captions that are in no ranking
Span = tuple[str, float, float]  # video, start and end in seconds
Grades = Mapping[str, Mapping[Span, int]]  # of each query and moment
Ranks = Mapping[str, Mapping[Span, int]]  # by the similarity of captions; not of every moment


@dataclass(frozen=True)
class System:
    """A system that orders all moments by their true grades, by their captions, or by nothing.

    Attributes
    ----------
    sees
        Whether it looks at the films, and so at the true grades; else it reads captions.
    error
        Standard deviation of what it gets wrong: in grades, or in ranks of captions.
    """

    name: str
    description: str
    sees: bool
    error: float

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
