"""Campaigns for trials of the leaderboard: the candidates of a query lie near what given runs predict for it.

Which of them are good is chance, so it says nothing about the systems.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from django.db import transaction

from base.transactions import many_rows_are_new, store
from campaigns.models import Campaign
from corpus.models import Corpus, Moment, Video
from demo.generating import Cast, store_queries
from judging.models import Candidate, Query
from judging.order import place
from metrics import Run, read_run
from metrics.formats.annotations import read_durations

SHIFT = 0.15  # of a moment's length, by which its ends may lie beside the prediction's
Span = tuple[str, float, float]


class OldCast(Cast):
    """Annotators who finished long ago."""

    def lateness(self, query: Query) -> float:
        return 0.0


def generate_for_runs(name: str, files: Sequence[str], index: str, judged: int, annotators: int) -> None:
    """Make a campaign with all queries of the runs, of which the first few in its order are judged and closed."""
    runs, durations = [read_run(file, videos=index) for file in files], read_durations(index)
    chance = random.Random(1)
    corpus = Corpus.objects.create(name=name, format="generated")
    campaign = Campaign.objects.create(name=name, title="Generated for runs", corpus=corpus)
    videos = _videos(corpus, runs, durations)
    cast = OldCast.of(campaign, annotators, judged, chance)
    texts = {name: run.texts.get(name, name) for run in reversed(runs) for name in run.queries}
    names = dict.fromkeys(name for run in runs for name in run.queries)
    queries = [Query(campaign=campaign, query_id=name, text=texts[name]) for name in names]
    queries.sort(key=lambda query: place(campaign.order_seed, query.query_id))
    for query in queries[:judged]:
        query.closed = True
    with transaction.atomic():
        store(queries[judged:])
        pools = {query.query_id: _moments_of(query, runs, videos, chance) for query in queries[:judged]}
        store(chain.from_iterable(pools.values()))
        store_queries(queries[:judged], lambda query: list(_candidates_of(query, pools[query.query_id])), cast)
    many_rows_are_new()


def _videos(corpus: Corpus, runs: Sequence[Run], durations: Mapping[str, float]) -> dict[str, Video]:
    names = sorted({name for run in runs for name in run.names})
    videos = [Video(corpus=corpus, name=name, duration=durations[name]) for name in names]
    store(videos)
    return {video.name: video for video in videos}


def _moments_of(query: Query, runs: Sequence[Run], videos: Mapping[str, Video], chance: random.Random) -> list[Moment]:
    """Make the moments of a query's candidates, of which no two overlap much."""
    found: list[Span] = []
    for span in chain.from_iterable(zip_longest(*(_predicted(run, query.query_id) for run in runs))):
        if span is None or len(found) == query.campaign.depth:
            continue
        video, start, end = span
        shift = SHIFT * (end - start)
        start = round(max(0.0, start + chance.uniform(-shift, shift)), 2)
        end = round(min(videos[video].duration, end + chance.uniform(-shift, shift)), 2)
        if end - start > 1 and all(_apart((video, start, end), other) for other in found):
            found.append((video, start, end))
    chance.shuffle(found)
    text = f"what {query.query_id} may mean"
    return [
        Moment(video=videos[video], start=start, end=end, description=f"{text}, {n}", caption=f"{text}, {n}")
        for n, (video, start, end) in enumerate(found, 1)
    ]


def _predicted(run: Run, query: str) -> Iterator[Span]:
    if query in run.queries:
        n = run.queries.index(query)
        for row in range(int(run.offsets[n]), int(run.offsets[n + 1])):
            yield run.names[run.video[row]], float(run.start[row]), float(run.end[row])


def _apart(one: Span, other: Span) -> bool:
    """Return whether two spans are in different videos, or overlap by less than half of the shorter one."""
    overlap = min(one[2], other[2]) - max(one[1], other[1])
    return one[0] != other[0] or overlap < min(one[2] - one[1], other[2] - other[1]) / 2


def _candidates_of(query: Query, moments: Sequence[Moment]) -> Iterator[Candidate]:
    for rank, moment in enumerate(moments, 1):
        yield Candidate(query=query, moment=moment, rank=rank, similarity=round(1 - rank / 50, 4))
