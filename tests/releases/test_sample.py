"""A release holds the queries up to the frontier, says of what they are a sample, and can be checked for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from judging import order
from judging.audit import audit
from judging.models import Query, Review
from judging.review.decisions import withdraw
from judging.review.reviewing import review
from releases.archive import ReleaseArchive
from releases.checks import verify
from releases.models import Release
from tests.cast import browser, judge_all, make_query
from tests.releases.test_releases import frozen, tampered
from tests.remembered import remembered
from tests.terminal import printed

# The zip is written by a thread with a connection of its own, which sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True)
ORDER = ["3", "6", "1", "4", "2", "5"]  # that the seed 7 draws


@pytest.fixture
@remembered
def several(campaign: Campaign, ada: Membership, bob: Membership) -> Campaign:
    """Six queries of forty ranks, of which the first two and the fourth are closed; of the second two batches."""
    for number in range(2, 7):
        make_query(campaign, str(number), f"A person does thing {number}.")
    for place in (0, 1, 3):
        _judge(campaign, ORDER[place], 1, ada, bob, second=place == 1)
    return campaign


def _judge(campaign: Campaign, query_id: str, number: int, ada: Membership, bob: Membership, second: bool) -> None:
    batch = campaign.queries.get(query_id=query_id).batches.get(number=number)
    for person in (ada, bob):
        judge_all(batch.hand_to(person), lambda candidate: candidate.rank % 5)
        batch.refresh_from_db()
    review(batch, None, Review.Verdict.SECOND if second else Review.Verdict.CLOSE)
    if second:
        _judge(campaign, query_id, 2, ada, bob, second=False)


def archived(release: Release) -> ReleaseArchive:
    return ReleaseArchive(Path(release.file.path))


def marks(archive: ReleaseArchive) -> dict[str, tuple[str, str, str]]:
    return {row["query_id"]: (row["sample"], row["place"], row["stratum"]) for row in archive.rows("queries.csv")}


@pytest.mark.any_database
@pytest.mark.both_databases
def test_it_holds_the_queries_up_to_the_frontier(several: Campaign, leo: Membership) -> None:
    archive = archived(frozen(several, leo))
    assert archive.manifest["estimates"] == {
        "rule": "regression on caption rank, 2",
        "queries": 6,
        "unranked": 0,
        "sample": 2,
        "beyond": 1,
        "random": True,
        "why_not": [],
        "order_sha256": order.checksum(ORDER),
    }
    assert marks(archive) == {"3": ("yes", "1", ""), "6": ("yes", "2", "")}
    assert {query for query, _ in archive.qrels()} == {"3", "6"}
    assert not any(verify(archive).values())
    text = "".join(archive.lines("README.md"))
    assert "Its 2 queries up to the frontier are a random sample, drawn without replacement, of all 6" in text
    assert "Finished queries that come after one that is not, and are left out: 1." in text
    page = browser(leo).get(reverse("release", args=[several.name, 1])).content.decode()
    for words in ("2 in it", "1 finished, left out", "3 unfinished"):
        assert f"{words}</span>" in page
    assert not any(audit(several).values())


@pytest.mark.any_database
@pytest.mark.both_databases
def test_the_pool_has_all_ranks_of_every_query_whether_it_is_judged_or_not(several: Campaign, leo: Membership) -> None:
    archive = archived(frozen(several, leo))
    pool = list(archive.records("pool.jsonl"))
    assert [each["query_id"] for each in pool] == ORDER
    assert [each["sample"] for each in pool] == [True, True, False, False, False, False]
    assert {frozenset(each) for each in pool} == {frozenset({"query_id", "sample", "stratum", "candidates"})}
    assert {len(each["candidates"]) for each in pool} == {40}
    for each in pool:
        ranked = Query.objects.get(query_id=each["query_id"]).candidates.order_by("rank").select_related("moment")
        assert each["candidates"] == [str(candidate.moment) for candidate in ranked]
    pairs = dict.fromkeys(ORDER, 0)
    for row in archive.rows("pairs.csv"):
        pairs[row["query_id"]] += 1
    assert pairs == {"3": 20, "6": 40, "1": 0, "4": 0, "2": 0, "5": 0}


def test_what_is_beyond_is_marked(several: Campaign, leo: Membership) -> None:
    finished, whole = (
        archived(frozen(several, leo, "", **{choice: True})) for choice in ("with_finished", "with_unfinished")
    )
    assert {query: sample for query, (sample, *_) in marks(finished).items()} == {"3": "yes", "6": "yes", "4": "no"}
    assert marks(finished)["4"] == ("no", "4", "")
    assert [query for query, (sample, *_) in marks(whole).items() if sample == "yes"] == ["3", "6"]
    assert len(marks(whole)) == 6
    for archive, more in ((finished, 1), (whole, 4)):
        assert archive.manifest["estimates"]["sample"] == 2
        assert f"It holds {more} more, which are not in the sample" in "".join(archive.lines("README.md"))
        assert not any(verify(archive).values())
    assert not any(audit(several).values())


@pytest.mark.any_database
def test_a_sample_that_is_not_random_says_so(
    several: Campaign, leo: Membership, ada: Membership, bob: Membership
) -> None:
    withdraw(several.queries.get(query_id="6"), "too hard")
    withdraw(several.queries.get(query_id="2"), "no sentence")
    _judge(several, "1", 1, ada, bob, second=False)
    release = frozen(several, leo)
    archive = archived(release)
    about = archive.manifest["estimates"]
    assert (about["queries"], about["sample"], about["random"]) == (5, 3, False)
    assert about["why_not"] == ["1 query was withdrawn for what judging showed"]
    pool = {each["query_id"]: each for each in archive.records("pool.jsonl")}
    assert list(pool) == ["3", "6", "1", "4", "5"]
    assert (pool["6"]["sample"], pool["6"]["withdrawn"]) == (False, True)
    assert "are **no random sample** of all 5" in "".join(archive.lines("README.md"))
    assert not any(verify(archive).values())
    assert "the sample is not random: 1 query was withdrawn" in printed("verify_release", release.file.path)
    assert not any(audit(several).values())


@pytest.mark.any_database
def test_a_query_without_ranks_is_counted_and_not_in_the_pool(several: Campaign, leo: Membership) -> None:
    Query.objects.create(campaign=several, query_id="later", text="=1+1", stratum="=friends")
    archive = archived(frozen(several, leo, with_unfinished=True))
    about = archive.manifest["estimates"]
    assert (about["queries"], about["unranked"], about["order_sha256"]) == (7, 1, order.checksum(ORDER))
    assert [each["query_id"] for each in archive.records("pool.jsonl")] == ORDER
    assert marks(archive)["later"][2] == "'=friends"  # no formula
    assert "Queries without ranked candidates, which are not in `pool.jsonl`: 1." in "".join(archive.lines("README.md"))
    assert not any(verify(archive).values())


Pool = list[dict[str, Any]]


def _changed(change: Callable[[Pool], object]) -> Callable[[dict[str, bytes]], None]:
    def forge(files: dict[str, bytes]) -> None:
        pool = [json.loads(line) for line in files["pool.jsonl"].splitlines()]
        change(pool)
        files["pool.jsonl"] = b"".join(json.dumps(each).encode() + b"\n" for each in pool)

    return forge


def _one_less(files: dict[str, bytes]) -> None:
    files["queries.csv"] = b"".join(files["queries.csv"].splitlines(keepends=True)[:-1])


@pytest.mark.any_database
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_changed(lambda pool: pool.reverse()), "another order of queries"),
        (_changed(lambda pool: pool.pop()), "has 5 in queries"),
        (_changed(lambda pool: pool[3].update(sample=True)), "but comes after 1, which is not finished"),
        (_changed(lambda pool: pool[0].update(sample=False, withdrawn=True)), "is said to be random, against"),
        (_changed(lambda pool: pool[1].update(stratum="friends")), "queries.csv: query 6 is marked"),
        (_changed(lambda pool: pool[1]["candidates"].pop(0)), "is not at rank 1 in pool.jsonl"),
        (_one_less, "of the sample is missing"),
    ],
)
def test_a_forged_sample_is_found_out(
    several: Campaign, leo: Membership, tmp_path: Path, change: Any, words: str
) -> None:
    found = verify(ReleaseArchive(tampered(frozen(several, leo), tmp_path, change)))
    assert words in "; ".join(found["The sample is the first queries of the order"])


@pytest.mark.any_database
def test_the_audit_finds_a_release_with_another_sample(several: Campaign, leo: Membership, tmp_path: Path) -> None:
    release = frozen(several, leo)

    def faults() -> str:
        return "; ".join(fault for found in audit(several).values() for fault in found)

    Release.objects.update(estimates=release.estimates | {"sample": 3})
    assert "release 1: its manifest says something else" in faults()
    Release.objects.update(estimates=release.estimates)
    forged = tampered(release, tmp_path, _changed(lambda pool: pool[3].update(sample=True)))
    Path(release.file.path).write_bytes(forged.read_bytes())
    assert "release 1: query 4 is in the sample" in faults()
    Path(release.file.path).unlink()
    assert "release 1 cannot be read" in faults()


@pytest.mark.any_database
def test_the_audit_finds_a_release_in_another_order(several: Campaign, leo: Membership) -> None:
    frozen(several, leo)
    first, last = several.queries.get(query_id="3"), several.queries.get(query_id="5")
    Query.objects.filter(pk=first.pk).update(place=last.place)
    Query.objects.filter(pk=last.pk).update(place=first.place)
    found = "; ".join(fault for faults in audit(several).values() for fault in faults)
    assert "release 1: pool.jsonl does not have the order" in found


@pytest.mark.any_database
def test_a_release_of_before_there_was_an_order_is_checked_without_it(several: Campaign, leo: Membership) -> None:
    archive = archived(frozen(several, leo))
    archive.manifest = {name: value for name, value in archive.manifest.items() if name != "estimates"}
    assert not any(verify(archive).values())
