"""A release of six queries on which annotators differ now and then, and three runs of known order."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from campaigns.models import Campaign, Membership
from jobs.running import work_off
from judging.models import Batch, Candidate, Query
from releases.freezing import freeze
from releases.models import Release
from runs.models import Run
from tests.cast import claim, judge_all, make_query, small_batches
from tests.remembered import remembered
from tests.runs.uploading import Predictions, uploaded

QUERIES = 6
ODD = "=late_2 & 100 %"  # a name with signs that spreadsheets, LaTeX and HTML read as something else


@pytest.fixture(autouse=True)
def _own_folder(settings: object, tmp_path: Path) -> None:
    settings.UPLOAD_ROOT = tmp_path / "uploads"  # type: ignore[attr-defined]


@pytest.fixture
def rio(campaign: Campaign, member: Callable[..., Membership]) -> Membership:
    return member("rio", "researcher")


@pytest.fixture
@remembered
def judged(campaign: Campaign, member: Callable[..., Membership]) -> Campaign:
    """Each query has four candidates, of which the first is perfect; some pairs go to four annotators."""
    small_batches(campaign, 0)
    for number in range(QUERIES):
        make_query(campaign, f"q{number}", f"A person does thing {number}" + " again" * number + ".")
    Query.objects.filter(query_id__in=["q0", "q1"]).update(split="val")
    people = [member(name) for name in ("ada", "bob", "cleo", "dan")]

    def grade(person: int) -> Callable[[Candidate], int]:
        """The two of a round differ by two at the second rank of some queries, and by one of others."""

        def grade_of(candidate: Candidate) -> int:
            number = int(candidate.query.query_id[1])
            off = 2 * (number % 3 == 0) if candidate.rank == 2 else number % 2
            return max(0, 5 - candidate.rank - off * (person % 2))

        return grade_of

    for _ in range(2 * QUERIES):
        for number, person in enumerate(people):
            if Batch.objects.filter(free=True).exclude(assignments__annotator=person).exists():
                judge_all(claim(person), grade(number))
    return campaign


@pytest.fixture
@remembered
def release(judged: Campaign, member: Callable[..., Membership]) -> Release:
    found = freeze(judged, member("leo", "lead"), "CC0-1.0", with_unfinished=True)
    assert work_off(StringIO()) == []
    found.refresh_from_db()
    return found


def best(campaign: Campaign, *, skip: int = 0, only: tuple[str, ...] = ()) -> Predictions:
    """The candidates of each query in their order, after so many predictions that lie nowhere near."""
    found: Predictions = {}
    for query in campaign.queries.pool().order_by("query_id"):
        if only and query.query_id not in only:
            continue
        off = [("secret-video-5", 90.0 + place, 90.5 + place, 100.0 - place) for place in range(skip)]
        moments = [each.moment for each in query.candidates.select_related("moment__video").order_by("rank")]
        rows = [(m.video.name, m.start, m.end, 50.0 - n) for n, m in enumerate(moments)]
        found[query.query_id] = [*off, *rows]
    return found


@pytest.fixture
@remembered
def runs(release: Release, rio: Membership) -> list[Run]:
    """Perfect, a little late, and late; the last two are seeds of one system."""
    descriptions = [{"name": "perfect"}, {"name": "late-1", "group": "late"}, {"name": ODD, "group": "late"}]
    return [uploaded(rio, best(release.campaign, skip=n), **each) for n, each in enumerate(descriptions)]
