"""A campaign is frozen into a zip that is always the same, can be checked without us, and compared with the next."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from base.errors import BadValue, ReeljudgeError
from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from jobs.models import Job
from jobs.running import work_off
from judging.models import Batch, Candidate, Query, Review
from judging.pool.opening import open_batch
from judging.review.actions import reopen
from judging.review.frontier import frontier
from judging.review.reopening import scope_of_candidate
from judging.review.reviewing import review
from judging.work import grading
from metrics.formats.files import root_of
from releases.archive import ReleaseArchive
from releases.checks import CHECKS, verify
from releases.data_card import EARLY
from releases.difference import compare, difference
from releases.exports import FILES, ExportScope
from releases.freezing import freeze, freeze_release
from releases.models import Release
from runs.models import PredictedGrades, Predictor
from tests.cast import browser, claim, content_of, judge_all, make_query, settle_round_one
from tests.remembered import remembered
from tests.terminal import manage, printed, refused
from tests.together import at_once

# The zip is written by a thread with a connection of its own, which sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
@remembered
def judged(
    batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership, leo: Membership
) -> Campaign:
    """Twenty candidates: three went to round two, of which one was discarded there."""
    settle_round_one(batch, ada, bob, apart=3)
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 1 if candidate.rank == 1 else 4)
    review(batch, None, Review.Verdict.CLOSE)
    return batch.query.campaign


def frozen(campaign: Campaign, lead: Membership, notes: str = "", **choice: Any) -> Release:
    release = freeze(campaign, lead, "CC-BY-4.0", notes, **choice)
    assert work_off(io.StringIO()) == []
    release.refresh_from_db()
    return release


def judged_in_order(ids: list[str], name: str = "films") -> ReleaseArchive:
    """A release of queries of two splits and of none, whose rows were made in that order."""
    corpus = Corpus.objects.create(name=name, format="tvr")
    video = Video.objects.create(corpus=corpus, name="film", duration=100)
    for place in sorted(range(8), key=lambda place: place * int(ids[0]) % 9):
        times = {"start": place * 10 + 1 / 3, "end": place * 10 + 7 / 3}
        Moment.objects.create(video=video, **times, description="", caption=f"caption {place}")
    campaign = Campaign.objects.create(name=name, corpus=corpus, order_seed=7, batch_size=4, batches=1)
    users = [User.objects.get_or_create(username=each)[0] for each in ("ada", "bob", "cleo", "dan", "leo")]
    people = [campaign.add_member(user, "annotator") for user in users[:4]]
    for key in ids:
        _judged_query(campaign, key, people, backwards=ids[0] == "1")
    release = frozen(campaign, campaign.add_member(users[4], "lead"))
    assert set(release.counts["pairs"].values()) > {0}
    return ReleaseArchive(Path(release.file.path))


def _judged_query(campaign: Campaign, key: str, people: list[Membership], backwards: bool) -> None:
    split = {"1": "Test", "2": "val", "10": ""}[key]
    query = Query.objects.create(campaign=campaign, query_id=key, text=f"Query {key}.", split=split)
    rows = Moment.objects.filter(video__corpus=campaign.corpus)
    moments = sorted(rows, key=lambda each: (each.start * int(key) % 7, each.start))[:4]
    for rank, moment in sorted(enumerate(moments, 1), reverse=backwards):
        Candidate.objects.create(query=query, moment=moment, rank=rank, similarity=1 / (rank + 1))
    batch = open_batch(query, 1)
    batch.open()
    for two in (people[:2], people[2:]):
        batch.refresh_from_db()
        for person in (reversed(two) if backwards else two) if not batch.is_done else ():
            grades = partial(_grade_of, person.worker, int(key))
            judge_all(batch.hand_to(person), grades)
    review(batch, None, Review.Verdict.CLOSE)


def _grade_of(worker: int, key: int, candidate: Candidate) -> int:
    return (3 * candidate.rank + key * worker) % 5


class ReleaseZip(zipfile.ZipFile):
    """The zip of a release, whose files are named without its folder."""

    @property
    def folder(self) -> str:
        return root_of(super().namelist())

    def namelist(self) -> list[str]:
        return [name.removeprefix(self.folder) for name in super().namelist()]

    def getinfo(self, name: str) -> zipfile.ZipInfo:
        return super().getinfo(self.folder + name)


def opened(release: Release) -> ReleaseZip:
    return ReleaseZip(release.file.path)


def unpacked(file: Path, folder: Path) -> Path:
    """The folder of the release that is unpacked from this zip into a folder."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
    return folder / root_of(zipfile.ZipFile(file).namelist())


@pytest.mark.any_database
def test_a_release_does_not_tell_the_seed_of_orders_and_checks(judged: Campaign, leo: Membership) -> None:
    Campaign.objects.update(order_seed=8_314_159_265_358)
    archive = opened(frozen(judged, leo))
    files = {name: archive.read(name) for name in archive.namelist()}
    files |= {export.file: "".join(export.lines(judged)).encode() for export in FILES}
    assert len(files) > 20
    assert not [name for name, content in files.items() if b"8314159265358" in content or b"seed" in content]


@pytest.mark.any_database
def test_a_release_holds_all_that_others_need(judged: Campaign, leo: Membership) -> None:
    archive = opened(frozen(judged, leo, "For the workshop."))
    assert {"README.md", "LICENSE", "MANIFEST.json", "qrels.txt", "qrels.jsonl", "qrels.nested.json"} <= set(
        archive.namelist()
    )
    assert {"judgements.jsonl", "pairs.csv", "rules/consensus.md", "guidelines/0.md"} <= set(archive.namelist())
    assert {"figures/table-1.csv", "figures/figure-5a.svg", "figures/figure-5b.csv"} <= set(archive.namelist())
    assert archive.read("figures/figure-5b.svg").startswith(b"<svg")
    manifest = json.loads(archive.read("MANIFEST.json"))
    assert manifest["consensus"] == {"rule": "tvr-ranking/1", "tolerance": 1}
    assert manifest["counts"]["pairs"] == {
        "open": 0, "contested": 0, "settled": 19, "discarded": 1, "flagged": 0, "adjudicated": 0, "reused": 0
    }  # fmt: skip
    assert manifest["counts"]["judgements"] == 46
    pairs = list(csv.DictReader(io.StringIO(archive.read("pairs.csv").decode())))
    assert [row["outcome"] for row in pairs].count("discarded") == 1
    assert len(archive.read("judgements.jsonl").splitlines()) == 46
    assert "For the workshop." in archive.read("README.md").decode()


@pytest.mark.any_database
def test_the_card_begins_with_a_header_that_hubs_read(judged: Campaign, leo: Membership) -> None:
    import yaml

    Campaign.objects.filter(pk=judged.pk).update(title='Films: "drawn" \\ 1')
    card = opened(frozen(judged, leo)).read("README.md").decode()
    header = yaml.safe_load(card.split("---")[1])
    assert header["pretty_name"] == 'Films: "drawn" \\ 1'
    assert header["license"] == "cc-by-4.0"
    assert header["size_categories"] == ["n<1K"]


@pytest.mark.any_database
@pytest.mark.parametrize("split", ["", "val"])
def test_the_card_lists_the_files_that_are_there(judged: Campaign, leo: Membership, split: str) -> None:
    """And says nothing of what is not: no empty table, no splits, no language that nobody told."""
    judged.queries.update(split=split)
    archive = opened(frozen(judged, leo))
    card = archive.read("README.md").decode()
    listed = re.findall(r"^- `([^`]+)`: \S", card, flags=re.M)
    assert sorted(listed) == sorted(set(archive.namelist()) - {"README.md"})
    assert ("splits/" in card) == bool(split)
    assert "language" not in card
    assert "similarity of unknown origin" in card
    for name in listed:
        if name.startswith("figures/") and name.endswith(".csv"):
            assert archive.read(name).count(b"\n") > 1, name


@pytest.mark.any_database
def test_the_card_says_what_a_reader_asks(judged: Campaign, leo: Membership) -> None:
    import yaml

    about = {"contact": "lab@example.org", "language": "en", "films": "Drawn by us."}
    release = frozen(judged, leo, **about)
    card = opened(release).read("README.md").decode()
    assert yaml.safe_load(card.split("---")[1])["language"] == ["en"]
    assert "| 3 | all but a detail | The action is right; one small point differs," in card
    assert "\n- Contact: lab@example.org\n- Source of the films: Drawn by us.\n" in card
    assert "reeljudge evaluate --qrels films-v1 --run run.json" in card
    assert "## Agreement\n\nKrippendorff’s ordinal alpha" in card
    assert "## Limits\n\nMoments that no ranking" in card
    assert "@misc{films-v1,\n  title = {{films, release 1}}," in card
    assert json.loads(opened(release).read("MANIFEST.json"))["date"] == str(timezone.localdate())


@pytest.mark.any_database
@pytest.mark.parametrize("wrong", [{"language": "English"}, {"contact": "a\nb"}, {"films": "x" * 501}])
def test_a_text_of_the_card_that_is_wrong_is_refused(judged: Campaign, leo: Membership, wrong: dict[str, str]) -> None:
    with pytest.raises(BadValue, match=next(iter(wrong))):
        freeze(judged, leo, "MIT", **wrong)  # type: ignore[arg-type]


@pytest.mark.any_database
def test_a_release_is_one_folder_without_empty_files(judged: Campaign, leo: Membership) -> None:
    with zipfile.ZipFile(frozen(judged, leo).file.path) as archive:
        assert {entry.filename.split("/")[0] for entry in archive.infolist()} == {"films-v1"}
        assert [entry.filename for entry in archive.infolist() if not entry.file_size] == []


@pytest.mark.any_database
def test_ids_are_texts_in_all_files(judged: Campaign, leo: Membership) -> None:
    archive = opened(frozen(judged, leo))
    for name in (name for name in archive.namelist() if name.endswith(".jsonl")):
        record = json.loads(archive.read(name).splitlines()[0])
        assert {type(record[field]) for field in record if field.endswith("id")} == {str}, name


@pytest.mark.any_database
def test_people_are_numbers(judged: Campaign, leo: Membership) -> None:
    archive = opened(frozen(judged, leo))
    everything = b" ".join(archive.read(name) for name in archive.namelist()).decode(errors="replace")
    assert not re.search(r"\b(ada|bob|cleo|dan|leo)\b", everything)


@pytest.mark.any_database
def test_predictions_are_in_no_release_and_in_no_export(judged: Campaign, leo: Membership) -> None:
    before = {export.file: "".join(export.lines(judged)) for export in FILES}
    predictor = Predictor.objects.create(campaign=judged, by=leo, name="secret guess", source="file")
    for query in judged.queries.all():
        grades = {str(pk): 3.2718 for pk in query.candidates.values_list("pk", flat=True)}
        PredictedGrades.objects.create(predictor=predictor, query=query, grades=grades)
    assert {export.file: "".join(export.lines(judged)) for export in FILES} == before
    archive = opened(frozen(judged, leo))
    everything = b" ".join(archive.read(name) for name in archive.namelist())
    assert b"3.2718" not in everything
    assert b"secret guess" not in everything
    assert not any(b"predict" in archive.read(name) for name in archive.namelist() if name.endswith((".jsonl", ".csv")))


def test_the_same_release_is_the_same_bytes(judged: Campaign, leo: Membership) -> None:
    """At any time: the only date in the zip is the day on which the release was asked for."""
    release = frozen(judged, leo)
    Release.objects.filter(pk=release.pk).update(state=Release.State.MAKING)
    freeze_release(again := Release.objects.get(pk=release.pk), lambda *_: None)
    assert (again.at > release.at, again.sha256) == (True, release.sha256)


MADE_OF_ROWS = ("judgements.jsonl", "pairs.csv", "ratings.csv", "moments.csv", "queries.csv", "pool.jsonl")
# Of the data of `judged_in_order`, on every database. The drawings depend on the library that draws.
DATA = "e3d8eabe75d2cd626dc9b3a20dbe200220e928c888a9689ac337c43a59ed7b86"


def test_every_database_writes_the_same_bytes_in_any_order_of_rows() -> None:
    one = judged_in_order(["2", "10", "1"])
    names = sorted(name for name in one.names if name.startswith(("qrels", "splits")) or name in MADE_OF_ROWS)
    data = "".join(one.manifest["files"][name]["sha256"] for name in names)
    assert hashlib.sha256(data.encode()).hexdigest() == DATA
    whole = Path(str(one.file)).read_bytes()
    call_command("flush", interactive=False)
    judged_in_order(["2"], name="before")  # so that all keys are others
    other = judged_in_order(["1", "2", "10"])
    assert hashlib.sha256(Path(str(other.file)).read_bytes()).digest() == hashlib.sha256(whole).digest()


@pytest.mark.any_database
def test_splits_have_files_of_their_own(judged: Campaign, leo: Membership) -> None:
    judged.queries.update(split="val/1")
    archive = opened(frozen(judged, leo))
    assert archive.read("splits/val%2F1.queries.txt") == b"1\n"
    assert archive.read("splits/val%2F1.qrels.txt") == archive.read("qrels.txt")


def test_what_is_judged_while_it_is_written_is_not_in_it(
    judged: Campaign, leo: Membership, ada: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half-way through, another pair changes: the file shows the campaign as it was at one instant."""
    from releases import contents

    whole = contents.nested_qrels

    def meanwhile(scope: ExportScope) -> Any:
        monkeypatch.setattr(contents, "nested_qrels", whole)
        from threading import Thread

        from django.db import connection

        def change() -> None:
            scope.candidates.settled().filter(rank=20).update(grade=0)
            connection.close()

        thread = Thread(target=change)
        thread.start()
        thread.join()
        yield from whole(scope)

    monkeypatch.setattr(contents, "nested_qrels", meanwhile)
    release = frozen(judged, leo)
    assert Candidate.objects.get(query__campaign=judged, rank=20).grade == 0
    assert not any(verify(ReleaseArchive(Path(release.file.path))).values())


@pytest.mark.any_database
def test_versions_follow_each_other_and_the_difference_is_told(
    judged: Campaign, leo: Membership, ada: Membership, bob: Membership
) -> None:
    old = frozen(judged, leo)
    make_query(judged, "2", "A person stands up.")
    judge_all(claim(ada), lambda candidate: 3)
    judge_all(claim(bob), lambda candidate: 3)
    review(judged.queries.get(query_id="2").batches.get(), None, Review.Verdict.CLOSE)
    first = Candidate.objects.filter(query__query_id="1").settled().order_by("rank").first()
    assert first is not None
    Candidate.objects.filter(pk=first.pk).update(outcome=Candidate.Outcome.DISCARDED, grade=None)
    new = frozen(judged, leo)
    changes = list(difference(ReleaseArchive(Path(old.file.path)), ReleaseArchive(Path(new.file.path))))
    assert (old.version, new.version) == (1, 2)
    assert [change.what for change in changes].count("added") == 20
    assert [(change.query, change.what) for change in changes if change.what != "added"] == [("1", "gone")]
    found = compare(old, new)
    assert (found.counts, found.more) == ({"added": 20, "gone": 1}, 0)
    assert found.first == changes


@pytest.mark.any_database
def test_a_difference_is_found_once_and_kept(
    judged: Campaign, leo: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("releases.difference.MOST_CHANGES", 2)
    old = frozen(judged, leo)
    Candidate.objects.settled().update(outcome=Candidate.Outcome.DISCARDED, grade=None)
    new = frozen(judged, leo)
    address = reverse("release", args=["films", 2]) + "?tab=changes"
    client, gone = browser(leo), compare(old, new).counts["gone"]
    for release in (old, new):
        Path(release.file.path).unlink()
    page = client.get(address).content.decode()
    assert (gone > 2, page.count("<td>gone</td>")) == (True, 2)
    assert f"There are {gone - 2} more" in page


def test_freezing_twice_at_once_makes_one_release(judged: Campaign, leo: Membership) -> None:
    made = at_once(*[partial(freeze, judged, leo, "CC0-1.0", "once")] * 4)
    assert [release.version for release in made if isinstance(release, Release)] == [1, 1, 1, 1]
    assert (Release.objects.count(), Job.objects.filter(kind=freeze_release.code).count()) == (1, 1)
    assert freeze(judged, leo, "CC-BY-4.0", "once").version == 2  # another licence is another release
    Release.objects.filter(version=1).update(state=Release.State.READY)
    assert freeze(judged, leo, "CC0-1.0", "once").version == 3


@pytest.mark.any_database
def test_freezing_again_tries_what_failed_again(judged: Campaign, leo: Membership) -> None:
    freeze(judged, leo, "CC0-1.0")
    Job.objects.filter(kind=freeze_release.code).update(state=Job.State.FAILED, error="the disk is full")
    assert freeze(judged, leo, "CC0-1.0").version == 1
    assert Job.objects.get(kind=freeze_release.code).state == Job.State.WAITING


@pytest.mark.any_database
def test_queries_that_are_not_finished_are_left_out_and_named(
    judged: Campaign, leo: Membership, ada: Membership, bob: Membership
) -> None:
    """One is being judged, one was reopened, and one has no batch yet."""
    for number in "25":
        make_query(judged, number, f"Query {number}.")
    Query.objects.create(campaign=judged, query_id="4", text="Query 4.")
    for annotator in (ada, bob):
        judge_all(judged.queries.get(query_id="2").batches.get().hand_to(annotator), lambda candidate: 3)
    reopen(leo, scope_of_candidate(judged.queries.get(query_id="2").candidates.get(rank=1)), "again")
    client, address = browser(leo), reverse("releases", args=["films"])
    assert "3 unfinished</span>" in client.get(address).content.decode()
    client.post(reverse("release-make", args=["films"]), {"licence": "MIT"})
    client.post(reverse("release-make", args=["films"]), {"licence": "MIT", "with_unfinished": "on"})
    assert work_off(io.StringIO()) == []
    whole, part = judged.releases.all()
    for release, held, ids in ((part, False, {"1"}), (whole, True, {"1", "2", "5"})):
        archive = ReleaseArchive(Path(release.file.path))
        assert archive.manifest["unfinished"] == {"held": held, "queries": ["2", "4", "5"]}
        assert {row["query_id"] for row in archive.rows("pairs.csv")} == ids
        assert archive.manifest["counts"]["queries"] == (4 if held else 1)
        assert archive.manifest["counts"]["judged_queries"] == (2 if held else 1)
        text = "".join(archive.lines("README.md"))
        assert f"| queries with judgements | {2 if held else 1} |" in text
        assert f"| queries without judgements | {2 if held else 0} |" in text
        assert "3 queries were not finished when the release was frozen." in text
        assert "Not finished: `2`, `4`, `5`." in text
        assert not any(verify(archive).values())
        assert f"not finished, and are {'held as they were' if held else 'left out'}: 3" in printed(
            "verify_release", release.file.path
        )
    assert {query for query, _ in ReleaseArchive(Path(part.file.path)).qrels()} == {"1"}
    for release, words in ((part, "left out"), (whole, "included")):
        page = client.get(reverse("release", args=["films", release.version])).content.decode()
        assert f"3 unfinished queries {words}" in " ".join(page.split())
        assert "2, 4, 5" in page


@pytest.mark.any_database
@pytest.mark.parametrize("batches", [1, 2])
def test_an_early_release_says_that_scores_on_it_are_too_high(judged: Campaign, leo: Membership, batches: int) -> None:
    """Where each query has one batch, those that are finished first are like the others."""
    Campaign.objects.filter(pk=judged.pk).update(batches=batches)
    judged.refresh_from_db()

    def warnings() -> list[bool]:
        release = frozen(judged, leo, with_finished=True)
        text = "".join(ReleaseArchive(Path(release.file.path)).lines("README.md"))
        page = browser(leo).get(reverse("release", args=["films", release.version]), {"tab": "verify"}).content.decode()
        return [EARLY in text, EARLY in " ".join(unescape(page).split())]

    assert warnings() == [False, False]
    make_query(judged, "3", "A person stands up.")
    assert frontier(judged).beyond == 1
    page = browser(leo).get(reverse("releases", args=["films"]), {"drawer": "freeze"}).content.decode()
    assert (EARLY in " ".join(unescape(page).split())) == (batches == 2)  # before the next release is frozen
    assert warnings() == [batches == 2] * 2
    early = ReleaseArchive(Path(frozen(judged, leo).file.path))
    assert EARLY not in "".join(early.lines("README.md"))  # it holds nothing beyond the frontier


@pytest.mark.any_database
def test_a_command_freezes_and_writes(judged: Campaign, leo: Membership) -> None:
    make_query(judged, "2", "A person stands up.")
    answer = printed("freeze_release", "films", "--licence", "MIT")
    release = Release.objects.get()
    assert (
        "release 1\nqueries with judgements: 1 of 1; unfinished and left out: 1\n"
        "queries up to the frontier: 1 of 2, a random sample; finished beyond it: 0\n"
        f"SHA-256 {release.sha256}\n"
    ) in answer
    printed("freeze_release", "films", "--licence", "MIT", "--with-unfinished")
    assert Release.objects.get(version=2).counts["queries"] == 2
    assert work_off(io.StringIO()) == []
    assert [each.is_ready for each in Release.objects.all()] == [True, True]
    assert "licence: GPL; expected one of" in refused("freeze_release", "films", "--licence", "GPL")


@pytest.mark.any_database
def test_a_wrong_licence_is_refused(judged: Campaign, leo: Membership) -> None:
    with pytest.raises(BadValue, match="licence: GPL; expected one of"):
        freeze(judged, leo, "GPL")
    assert not Release.objects.exists()


@pytest.mark.any_database
def test_a_release_passes_its_own_check(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    answer = printed("verify_release", frozen(judged, leo).file.path)
    assert answer.count("ok ") == len(CHECKS)


def tampered(release: Release, folder: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The release with some files changed and its checksums set right again, as a careful forger would."""
    archive = opened(release)
    files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files.pop("MANIFEST.json"))
    change(files)
    manifest["files"] = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)} for name, content in files.items()
    }
    with zipfile.ZipFile(folder / "forged.zip", "w") as out:
        for name, content in (files | {"MANIFEST.json": json.dumps(manifest).encode()}).items():
            out.writestr(name, content)
    return folder / "forged.zip"


def _another_grade(files: dict[str, bytes]) -> None:
    files["qrels.txt"] = re.sub(rb"4\n", b"3\n", files["qrels.txt"], count=1)


def _another_outcome(files: dict[str, bytes]) -> None:
    files["pairs.csv"] = files["pairs.csv"].replace(b"discarded,,", b"settled,2,")


def _one_line_less(files: dict[str, bytes]) -> None:
    files["qrels.jsonl"] = files["qrels.jsonl"].split(b"\n", 1)[1]


def _a_fifth(files: dict[str, bytes]) -> None:
    lines = files["judgements.jsonl"].splitlines(keepends=True)
    files["judgements.jsonl"] += lines[0]


def _two_swapped(files: dict[str, bytes]) -> None:
    """Two pairs of the hubs' file change places; how many have which grade stays."""
    rows = [json.loads(line) for line in files["qrels.jsonl"].splitlines()]
    one = next(row for row in rows if row["relevance"] != rows[0]["relevance"])
    one["relevance"], rows[0]["relevance"] = rows[0]["relevance"], one["relevance"]
    files["qrels.jsonl"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _consensus_as_the_leads(files: dict[str, bytes]) -> None:
    files["pairs.csv"] = files["pairs.csv"].replace(b"settled,", b"adjudicated,", 1)


def _another_worker(files: dict[str, bytes]) -> None:
    files["ratings.csv"] = re.sub(rb",\d+,(\d),settled", rb",99,\1,settled", files["ratings.csv"], count=1)


def _no_list(files: dict[str, bytes]) -> None:
    files["qrels.nested.json"] = b'["not", "an object"]'


def _a_split_less(files: dict[str, bytes]) -> None:
    files["splits/val.qrels.txt"] = b""


def _no_pairs(files: dict[str, bytes]) -> None:
    files["pairs.csv"] = b"pair_id\n"


FORGERIES: dict[Callable[[dict[str, bytes]], None], str] = {  # and the check that finds each
    _another_grade: "All forms of the qrels",
    _another_outcome: "The judgements give the stored outcomes",
    _one_line_less: "All forms of the qrels",
    _two_swapped: "All forms of the qrels",
    _no_list: "All forms of the qrels",
    _a_split_less: "All forms of the qrels",
    _consensus_as_the_leads: "The judgements give the stored outcomes",
    _another_worker: "The files of grades",
    _a_fifth: "At most four judgements",
    _no_pairs: "All forms of the qrels",
}


@pytest.mark.any_database
def test_a_forged_release_is_found_out(
    judged: Campaign, leo: Membership, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    judged.queries.update(split="val")
    release = frozen(judged, leo)
    for change, check in FORGERIES.items():
        with subtests.test(change.__name__):
            found = verify(ReleaseArchive(tampered(release, tmp_path, change)))
            assert next(says for says, findings in found.items() if findings).startswith(check)


@pytest.mark.any_database
def test_a_damaged_file_is_named(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    file = tmp_path / "damaged.zip"
    with zipfile.ZipFile(file, "w") as out:
        archive = opened(frozen(judged, leo))
        for name in archive.namelist():
            out.writestr(name, archive.read(name) + (b" " if name == "qrels.txt" else b""))
        out.writestr("more.txt", "strange")
    answer = manage("verify_release", str(file))
    assert answer.returncode == 1
    assert "qrels.txt has SHA-256" in answer.stdout
    assert "more.txt is not in the manifest" in answer.stdout


@pytest.mark.any_database
def test_a_flipped_byte_is_named(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    """Inside a compressed file, wherever it lies."""
    archive = opened(frozen(judged, leo))
    entry, whole = archive.getinfo("judgements.jsonl"), Path(str(archive.filename)).read_bytes()
    for share in (0.1, 0.5, 0.9):
        place = entry.header_offset + 60 + int(share * entry.compress_size)
        flipped = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        (tmp_path / "flipped.zip").write_bytes(flipped)
        out = io.StringIO()
        with pytest.raises(CommandError) as fault:
            call_command("verify_release", str(tmp_path / "flipped.zip"), stdout=out)
        assert fault.value.returncode == 1
        assert "judgements.jsonl is damaged" in out.getvalue()


@pytest.mark.any_database
def test_a_release_shows_the_instant_whose_state_it_holds(judged: Campaign, leo: Membership) -> None:
    release = freeze(judged, leo, "CC-BY-4.0")
    frozen_at = Release.objects.get(pk=release.pk).at
    Release.objects.filter(pk=release.pk).update(at=frozen_at - timedelta(hours=3))
    assert work_off(io.StringIO()) == []
    release.refresh_from_db()
    assert release.at >= frozen_at


def test_a_worker_thought_dead_replaces_nothing(
    judged: Campaign, leo: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = freeze(judged, leo, "CC-BY-4.0")
    ready = Release.objects.get(pk=late.pk)
    freeze_release(ready, lambda *_: None)
    freeze_release(late, lambda *_: None)  # it still thinks that nobody has written it
    now = Release.objects.get(pk=late.pk)
    assert (now.sha256, now.file.name, now.at) == (ready.sha256, ready.file.name, ready.at)
    assert hashlib.sha256(Path(now.file.path).read_bytes()).hexdigest() == now.sha256
    assert verify(ReleaseArchive(Path(now.file.path))) == {says: [] for says in CHECKS}


@pytest.mark.any_database
@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all"])
def test_what_is_no_release_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "release.zip"
    file.write_bytes(content)
    with pytest.raises(ReeljudgeError, match=r"release.zip: .*expected a release"):
        ReleaseArchive(file)
    assert "expected a release" in refused("verify_release", file)


@pytest.mark.any_database
def test_the_lead_freezes_downloads_and_compares_in_the_page(judged: Campaign, leo: Membership) -> None:
    client = browser(leo)
    client.post(reverse("release-make", args=["films"]), {"licence": "CC0-1.0"})
    page = reverse("release", args=["films", 1])
    assert "Writing the release" in client.get(page).content.decode()
    assert client.get(reverse("release-zip", args=["films", 1])).status_code == 404
    assert work_off(io.StringIO()) == []
    release = Release.objects.get()
    assert release.sha256 in client.get(page, {"tab": "verify"}).content.decode()
    answer = client.get(reverse("release-zip", args=["films", 1]))
    assert content_of(answer) == Path(release.file.path).read_bytes()
    client.post(reverse("release-make", args=["films"]), {"licence": "CC0-1.0"})
    work_off(io.StringIO())
    second = reverse("release", args=["films", 2])
    assert "The qrels are the same" in client.get(second, {"tab": "changes"}).content.decode()
    assert "This is the first release" in client.get(page, {"tab": "changes"}).content.decode()
    address = reverse("release-changes", args=["films", 2])
    rows = content_of(client.get(address, {"from": "1"})).decode()
    assert rows == "what,query_id,moment_id,before,after\n"
    assert client.get(address, {"from": "3"}).status_code == 404
    assert client.get(address, {"from": "x"}).status_code == 400


def test_a_release_shows_its_card_its_files_and_how_many_queries_it_leaves_out(
    judged: Campaign, leo: Membership
) -> None:
    client, release = browser(leo), frozen(judged, leo)
    page = reverse("release", args=["films", 1])
    card = client.get(page).content.decode()
    assert "queries with judgements" in card
    assert f"{release.counts['queries']} in it" in card
    assert f"{len(release.unfinished)} unfinished" in card
    files = client.get(page, {"tab": "files"}).content.decode()
    with release.file.open("rb") as file:
        archive = ReleaseArchive(file)
        assert f"{len(archive.sizes)} files" in files
        for name in archive.sizes:
            assert reverse("release-file", args=["films", 1, name]) in files
        there = client.get(reverse("release-file", args=["films", 1, "qrels.txt"]))
        assert there.content == archive.read("qrels.txt")
    assert client.get(reverse("release-file", args=["films", 1, "../settings.py"])).status_code == 404
    for tab, words in {"methods": "Copy as LaTeX", "publish": "hf upload", "verify": "verify.py"}.items():
        assert words in client.get(page, {"tab": tab}).content.decode()
    assert client.get(page, {"tab": "none"}).status_code == 400


@pytest.mark.any_database
def test_a_failed_job_says_why_in_the_page(judged: Campaign, leo: Membership) -> None:
    freeze(judged, leo, "CC0-1.0")
    Job.objects.filter(kind=freeze_release.code).update(state=Job.State.FAILED, error="the disk is full")
    assert "the disk is full" in browser(leo).get(reverse("release", args=["films", 1])).content.decode()


@pytest.mark.any_database
def test_a_campaign_goes_on_after_a_release(judged: Campaign, leo: Membership, ada: Membership) -> None:
    frozen(judged, leo)
    make_query(judged, "2", "A person stands up.")
    grading.judge(claim(ada), 1, 3, fence=1, key=uuid4())
