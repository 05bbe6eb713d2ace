"""A release marks reused grades, says where each is from, and counts none of them as a judgement."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from campaigns.models import Campaign
from corpus.models import Moment
from judging.models import Review
from judging.review.reviewing import review
from metrics import load_release
from releases.archive import ReleaseArchive
from releases.checks import CHECKS, verify
from releases.models import Release
from tests.cast import claim, judge_all
from tests.judging.test_reuse import query_of
from tests.releases.test_as_data import python
from tests.releases.test_releases import frozen, judged, opened, tampered, unpacked
from tests.remembered import remembered

__all__ = ["judged"]  # a fixture
# The zip is written by a thread with a connection of its own, which sees what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]


@pytest.fixture
@remembered
def release(judged: Campaign) -> Release:
    """Of a campaign that reuses the grades of `judged`, of which one release is frozen.

    Of ranks 1 to 20 there, rank 1 is discarded; the later query has them but for rank 20, a moment that is new, and one
    that overlaps rank 20 by .95. Eve and Fay judge what is left at 2.
    """
    lead = judged.memberships.leads().get()
    frozen(judged, lead)
    later = Campaign.objects.create(name="later", corpus=judged.corpus, order_seed=9, reuses=judged)
    moments = list(Moment.objects.filter(video__corpus=judged.corpus).order_by("pk")[:21])
    last = moments.pop(19)
    times = {"start": last.start, "end": last.start + 0.95 * (last.end - last.start)}
    moments.append(Moment.everything.create(video=last.video, **times, predicted=True))
    query = query_of(later, moments[1:], "A person sits down.", "7")
    for name in ("eve", "fay"):
        annotator = later.add_member(User.objects.create(username=name), "annotator")
        judge_all(claim(annotator), lambda candidate: 2)
    review(query.batches.get(), None, Review.Verdict.CLOSE)
    return frozen(later, later.add_member(lead.user, "lead"))


def records(release: Release, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in opened(release).read(name).splitlines()]


def test_the_release_marks_what_is_reused(release: Release, tmp_path: Path) -> None:
    manifest = json.loads(opened(release).read("MANIFEST.json"))
    counts, first = manifest["counts"], Release.objects.get(campaign__name="films")
    assert (counts["pairs"]["settled"], counts["pairs"]["reused"], counts["judgements"]) == (1, 19, 2)
    assert (counts["annotators"], sum(counts["grades"].values()), manifest["agreement"]["pairs"]) == (2, 20, 1)
    assert manifest["reused"] == {
        "campaign": "films", "title": "films", "least_overlap": 0.9, "release": 1, "sha256": first.sha256
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(opened(release).read("pairs.csv").decode())))
    assert [(row["outcome"], row["rule"]) for row in rows].count(("reused", "reused")) == 19
    of_qrels = {str(each["pair_id"]): each["consensus"] for each in records(release, "qrels.jsonl")}
    found = {str(each["pair_id"]): each for each in records(release, "reused.jsonl")}
    assert {pair for pair, consensus in of_qrels.items() if consensus == "reused"} == found.keys()
    source = {str(each["pair_id"]): each for each in records(first, "qrels.jsonl")}
    for each in found.values():
        assert each["grade"] == source[each["source_pair_id"]]["relevance"]
        assert (each["campaign"], each["source_query_id"], each["rule"]) == ("films", "1", "tvr-ranking/1")
    assert sorted({round(each["overlap"], 6) for each in found.values()}) == [0.95, 1.0]
    assert sorted(len(each["grades"]) for each in found.values()) == [2] * 17 + [4] * 2
    loaded = load_release(unpacked(Path(release.file.path), tmp_path / "later"))
    assert (len(loaded.qrels.grades), len(loaded.judgements)) == (20, 2)


def test_its_texts_say_so(release: Release) -> None:
    archive = opened(release)
    card, methods, rule = (archive.read(name).decode() for name in ("README.md", "methods.md", "rules/consensus.md"))
    sha256 = Release.objects.get(campaign__name="films").sha256
    assert "| pairs with a reused grade | 19 |" in card
    newest = f"from the campaign `films`, whose newest release is number 1 (SHA-256 `{sha256}`)."
    assert f"19 of the grades are **reused** {newest}" in card
    assert "Nobody judged these pairs here" in card
    assert "19 pairs have the grade that the campaign films gave a pair of the same text" in methods
    assert "2 annotators gave 2 judgements that count" in methods
    assert "A pair is `reused` if an earlier campaign settled a pair of the same text" in rule
    assert "19 more have the grade of an earlier campaign" in archive.read("croissant.json").decode()


def test_it_is_whole_for_us_and_for_python_alone(release: Release, tmp_path: Path) -> None:
    found = verify(ReleaseArchive(Path(release.file.path)))
    assert (list(found.values()), len(found)) == ([[]] * len(CHECKS), len(CHECKS))
    done = python("-I", "verify.py", folder=unpacked(Path(release.file.path), tmp_path / "later"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "ok      Reused grades follow from the grades that they rest on" in done.stdout


def test_without_reuse_a_release_says_nothing_of_it(judged: Campaign) -> None:
    archive = opened(frozen(judged, judged.memberships.leads().get()))
    assert "reused.jsonl" not in archive.namelist()
    assert "reused" not in json.loads(archive.read("MANIFEST.json"))
    for name in ("methods.md", "rules/consensus.md"):
        assert b"reused" not in archive.read(name).replace(b"reused.jsonl", b"")


def changed(files: dict[str, bytes], number: int = 0, **fields: Any) -> None:
    lines = files["reused.jsonl"].splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | fields).encode()
    files["reused.jsonl"] = b"".join(line + b"\n" for line in lines)


def _another_grade(files: dict[str, bytes]) -> None:
    """In all files that have the grade, so that only the grades that it rests on tell."""
    changed(files, grade=0)
    files["pairs.csv"] = files["pairs.csv"].replace(b"reused,4,reused", b"reused,0,reused", 1)


def _other_grades(files: dict[str, bytes]) -> None:
    changed(files, grades=[0, 0])


def _a_moment_far_off(files: dict[str, bytes]) -> None:
    changed(files, source_timestamp=[0.0, 1.0], overlap=0.0)


def _a_better_overlap(files: dict[str, bytes]) -> None:
    changed(files, -1, overlap=0.99)


def _one_less(files: dict[str, bytes]) -> None:
    files["reused.jsonl"] = files["reused.jsonl"].split(b"\n", 1)[1]


def _none_at_all(files: dict[str, bytes]) -> None:
    del files["reused.jsonl"]


def _settled_here(files: dict[str, bytes]) -> None:
    files["pairs.csv"] = files["pairs.csv"].replace(b"reused,4,reused", b"settled,4,tvr-ranking/1", 1)


def _judged_here_too(files: dict[str, bytes]) -> None:
    pair = json.loads(files["reused.jsonl"].splitlines()[0])["pair_id"]
    judgement = json.loads(files["judgements.jsonl"].splitlines()[0]) | {"pair_id": pair, "counts": False}
    files["judgements.jsonl"] += json.dumps(judgement).encode() + b"\n"


REUSED = "Reused grades follow"
FORGERIES: dict[Callable[[dict[str, bytes]], None], str] = {  # and the check that finds each
    _another_grade: REUSED,
    _other_grades: REUSED,
    _a_moment_far_off: REUSED,
    _a_better_overlap: REUSED,
    _one_less: REUSED,
    _none_at_all: REUSED,
    _judged_here_too: REUSED,
    _settled_here: "The judgements give the stored outcomes",
}


def test_forgeries_are_found(release: Release, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for change, check in FORGERIES.items():
        with subtests.test(change.__name__):
            found = verify(ReleaseArchive(tampered(release, tmp_path, change)))
            assert next(says for says, findings in found.items() if findings).startswith(check)
