"""The part of the benchmark of runs that works inside an installation, in a process of its own."""

from __future__ import annotations

import json
import random
import resource
import statistics
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.measuring import in_turn

PREDICTIONS = 100
SCORED, COPIES, RESAMPLED = 20, 200, 20
ROUNDS = 15
Span = tuple[str, float, float]
PAGES = {
    "leaderboard": "",
    "leaderboard with a baseline": "?baseline=1",
    "leaderboard of a split": "?split=test",
    "leaderboard of a split, with a baseline": "?split=test&baseline=1",
}


def measured(name: str) -> dict[str, Any]:
    """Receive, score and list the runs of a campaign."""
    from campaigns.models import Campaign
    from runs.references import reference_of

    campaign = Campaign.objects.get(name=name)
    release = campaign.releases.newest()
    assert release
    began = time.perf_counter()
    reference_of(release)
    results: dict[str, Any] = {"reference": time.perf_counter() - began}
    results |= _received_and_scored(campaign, release)
    results |= _resampled(release)
    _copy_scores(release)
    results["pages"] = {words: _page(campaign, address) for words, address in PAGES.items()}
    results["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return results


def pool_of(campaign: Any) -> tuple[dict[str, list[Span]], list[Span]]:
    """The candidates of each query, and all moments of the corpus."""
    from corpus.models import Moment

    queries, fields = dict[str, list[Span]](), ("video__name", "start", "end")
    moments = list(Moment.objects.filter(video__corpus=campaign.corpus).order_by("pk").values_list(*fields))
    of_candidates = ("query_id", *(f"candidates__moment__{field}" for field in fields))
    for query, video, start, end in campaign.queries.pool().order_by("pk").values_list(*of_candidates):
        queries.setdefault(query, []).append((video, start, end))
    return queries, moments


def predictions_of(queries: dict[str, list[Span]], moments: list[Span], seed: int) -> bytes:
    """A run in TVR-Ranking's format: candidates of the query among random moments, their ends moved a little."""
    chance = random.Random(seed)
    found = {}
    for query, judged in queries.items():
        listed = list(dict.fromkeys([*chance.sample(judged, 20), *chance.sample(moments, PREDICTIONS)]))
        chance.shuffle(listed)
        found[query] = [
            {
                "video_name": video,
                "timestamp": [round(start + chance.random(), 2), round(end + chance.random(), 2)],
                "model_scores": round(9 - rank / 20 - chance.random() / 50, 4),
            }
            for rank, (video, start, end) in enumerate(listed[:PREDICTIONS])
        ]
    return json.dumps(found).encode()


class Unconfined:
    """Reads runs as `TableReader` does, but in this process."""

    @classmethod
    def for_files(cls, called: Any) -> Any:
        return nullcontext(cls())

    def run(self, file: Path, known: Any, **options: Any) -> Any:
        from corpus.reading import CheckedRun
        from metrics.formats.runs import check_run_file

        return CheckedRun(*check_run_file(file, known, **options), [])


def _received_and_scored(campaign: Any, release: Any) -> dict[str, Any]:
    from campaigns.models import Membership
    from campaigns.uploads import append
    from corpus.reading import TableReader
    from runs import receiving
    from runs.models import Score
    from runs.receiving import announce, describe, receive_run
    from runs.scoring import score_runs

    run = None
    pool = pool_of(campaign)
    member, times = Membership.objects.leads().get(campaign=campaign), []
    by_reader: dict[Any, list[float]] = {TableReader: [], Unconfined: []}
    for number in range(SCORED):
        content = predictions_of(*pool, number)
        submission = describe(member, {"name": f"run {number}"})
        file = announce(submission, "run", "run.json", len(content))
        for start in range(0, len(content), 1 << 20):
            file = append(file, start, content[start : start + (1 << 20)])
        reader = (TableReader, Unconfined)[number % 2]
        began = time.perf_counter()
        with patch.object(receiving, "TableReader", reader):
            receive_run(submission, lambda *_: None)
        by_reader[reader].append(time.perf_counter() - began)
        submission.refresh_from_db()
        run = submission.run
        if run is None:
            raise ValueError(submission.findings)
        received = time.perf_counter()
        score_runs(release, lambda *_: None)
        times.append(time.perf_counter() - received)
    assert run
    received, unconfined = (statistics.median(each) for each in by_reader.values())
    return {
        "predictions": run.predictions,
        "megabytes": len(content) / 1e6,
        "received": received,
        "confined": received / unconfined,
        "scored": statistics.median(times),
        "scores": Score.objects.filter(scoring__run=run).count(),
    }


def _resampled(release: Any) -> dict[str, Any]:
    """As the job does, one convention after the other."""
    from runs import scoring
    from runs.models import Run

    began = time.perf_counter()
    ground, gradings = scoring.drawn_for(release)
    graded, runs, seconds = time.perf_counter() - began, list(Run.objects.order_by("number")[:RESAMPLED]), {}
    for convention in scoring.GRADED:
        began = time.perf_counter()
        scoring._store_spreads(release, convention, runs, scoring._spreads(ground, runs, gradings, convention))
        seconds[convention] = time.perf_counter() - began
    return {"graded": graded, "resampled": seconds}


def _copy_scores(release: Any) -> None:
    """Make the other runs of the leaderboard: copies of the scored ones, with their scores."""
    from runs.models import Run, Score, Scoring

    scored = list(Run.objects.order_by("number"))
    for number in range(len(scored) + 1, COPIES + 1):
        run = scored[number % len(scored)]
        source = Scoring.objects.get(run=run.pk)
        scores = list(Score.objects.filter(scoring=source))
        copy = Run(**{field.attname: getattr(run, field.attname) for field in Run._meta.concrete_fields})
        copy.pk, copy.number, copy.name, copy.token = None, number, f"run {number} copied", f"token-{number}"
        copy.save()
        scoring = Scoring.objects.create(run=copy, release=release)
        for score in scores:
            score.pk, score.scoring = None, scoring
        Score.objects.bulk_create(scores)


def _page(campaign: Any, address: str) -> tuple[float, float, int]:
    """Median and slowest of several rounds, in milliseconds, and the number of statements."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from campaigns.models import Membership

    settings.ALLOWED_HOSTS = ["testserver"]
    client, page = Client(), f"/campaigns/{campaign.name}/leaderboard/{address}"
    client.force_login(Membership.objects.leads().get(campaign=campaign).user)
    milliseconds = [1000 * each for each in in_turn([client.get], [page] * ROUNDS)[0]]
    with CaptureQueriesContext(connection) as statements:
        assert client.get(page).status_code == 200
    return statistics.median(milliseconds), max(milliseconds), len(statements)
