"""The library reads each file of a release that holds qrels or ratings, and they all say the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from campaigns.models import Campaign, Membership
from judging.models import Candidate
from judging.review.decisions import adjudicate
from metrics import as_pool, as_qrels, load_release, read_qrels, read_ratings
from metrics.formats.csv_tables import read_side_file
from tests.metrics.shared import run_cli
from tests.releases.test_as_data import OLD
from tests.releases.test_releases import frozen, judged, opened, unpacked

__all__ = ["judged"]  # a fixture
# The zip is written by a thread with a connection of its own, which sees what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]

# What each file is, by the beginning of its name. A file of a new kind needs its line here.
QRELS = ("qrels.", "splits/val.qrels.")
ADJUDICATED = ("adjudicated.",)
RATINGS = ("ratings.csv",)
OTHERS: tuple[str, ...] = ("README", "LICENSE", "MANIFEST", "moments.csv", "queries.csv", "pairs.csv")
OTHERS += ("judgements.jsonl", "reused.jsonl", "pool.jsonl", "splits/val.queries.", "rules/", "guidelines/", "figures/")
# Others read these; `test_as_data.py` has them do so.
OTHERS += ("data/", "beir/", "topics.tsv", "ir_datasets_definition.py", "verify.py", "methods.")
OTHERS += ("CITATION.cff", "datacite.json", "croissant.json")


def grades(path: Path) -> dict[tuple[str, str], int]:
    """The grade of each query and moment id."""
    found = read_qrels(path)
    queries = (found.queries[number] for number in found.query_of_row().tolist())
    return dict(zip(zip(queries, found.stamps, strict=True), found.grades.tolist(), strict=True))


def test_each_file_of_qrels_is_read_and_says_the_same(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    judged.queries.update(split="val")
    adjudicate(Candidate.objects.get(outcome=Candidate.Outcome.DISCARDED), leo, 2, "all but the chair")
    release = frozen(judged, leo)
    folder, names = unpacked(Path(release.file.path), tmp_path), opened(release).namelist()
    kinds = (QRELS, ADJUDICATED, RATINGS, OTHERS)
    assert [name for name in names if sum(name.startswith(kind) for kind in kinds) != 1] == []
    rows = Candidate.objects.settled().select_related("query", "moment__video")
    settled = {(each.query.query_id, str(each.moment)): each.grade for each in rows}
    assert len(settled) == 19
    qrels = [name for name in names if name.startswith(QRELS)]
    assert len(qrels) == 4
    for name in qrels:
        assert grades(folder / name) == settled, name
    for name in (name for name in names if name.startswith(ADJUDICATED)):
        assert [*grades(folder / name).values()] == [2], name
    assert read_ratings(folder / "ratings.csv").grade.size == 46
    assert {*read_side_file(folder / "moments.csv")} >= {moment for _, moment in settled}


def test_a_release_is_taken_wherever_qrels_a_pool_or_ratings_are(
    judged: Campaign, leo: Membership, tmp_path: Path
) -> None:
    file = Path(frozen(judged, leo).file.path)
    folder = unpacked(file, tmp_path)
    for source in (file, str(file), folder, load_release(file)):
        assert as_qrels(source).stamps == read_qrels(folder / "qrels.jsonl").stamps
        assert as_pool(source).rank.size == 40
        assert read_ratings(source).grade.size == 46


def test_the_alpha_of_a_release_is_that_of_its_methods_section(judged: Campaign, leo: Membership) -> None:
    release = frozen(judged, leo)
    found = load_release(release.file.path)
    for source in (release.file.path, found.file("ratings.csv")):
        printed = run_cli("annotators", "--ratings", source, "--format", "json").stdout
        assert round(json.loads(printed)["alpha ordinal"], 3) == found.manifest["agreement"]["alpha"]


def test_an_earlier_release_has_its_grades_in_two_files() -> None:
    assert read_ratings(OLD).grade.size == load_release(OLD).manifest["counts"]["judgements"]
