"""Verifying a release from its zip alone: its checksums, and the consensus computed again from its judgements."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.utils import timezone

from base.errors import ReeljudgeError
from base.text import harmless
from campaigns.models import Campaign
from jobs.errors import JobPostponed
from jobs.registry import Report, kind
from judging.audit import INVARIANTS, INVARIANTS_OF_IMPORTED, Invariant
from judging.consensus import RULE, consensus
from judging.models import Candidate
from judging.models.states import WITH_GRADE
from judging.order import checksum
from metrics.formats.json_reader import read_json
from releases.archive import MANIFEST, UNREADABLE, Pair, ReleaseArchive
from releases.models import Release
from releases.sample import POOL
from reports.models import Summary

MOST_FAULTS = 1000  # of one check
Findings = Iterator[str]
Outcome = Candidate.Outcome
# The file that repeats the grades of pairs with each outcome.
WITH_GRADES: dict[str, str] = {
    Outcome.SETTLED: "ratings.csv",
    Outcome.DISCARDED: "discarded.csv",
    Outcome.FLAGGED: "discarded.csv",
    Outcome.ADJUDICATED: "discarded.csv",
}


@dataclass(frozen=True)
class Check:
    says: str
    find: Callable[[ReleaseArchive], Findings]


@kind(
    "verify-release",
    "Verify a release",
    of=Release,
    owner="campaign",
    subject="release {0.version}",
    page=("releases", "campaign.name"),
)
def verify_release(release: Release, report: Report) -> None:
    """Verify a release's file in the store, and keep what was found, with the time."""
    report(0, 1, "reading the release")
    try:
        with release.file.open("rb") as content:
            found = verify(ReleaseArchive(content))
    except ReeljudgeError as fault:
        found = {"the release can be read": [str(fault)]}
    except OSError as fault:
        raise JobPostponed(str(fault)) from fault
    Summary.objects.update_or_create(
        campaign_id=release.campaign_id, name=_kept_as(release), defaults={"made": timezone.now(), "counts": found}
    )
    report(1, 1)


def last_verified(release: Release) -> Summary | None:
    """Return what the last verification found; its counts have the faults of each check that ran."""
    return Summary.objects.filter(campaign=release.campaign_id, name=_kept_as(release)).first()


def _kept_as(release: Release) -> str:
    return f"release {release.version} verified"


def verify(release: ReleaseArchive) -> dict[str, list[str]]:
    """Run the checks, and return the first faults that each finds. The lists are empty if the release is whole.

    The first check that finds a fault is the last one that runs, because each relies on those before it.
    """
    found: dict[str, list[str]] = {}
    for check in CHECKS:
        try:
            found[check.says] = list(islice(check.find(release), MOST_FAULTS))
        except UNREADABLE as fault:
            found[check.says] = [f"cannot be read: {type(fault).__name__} {fault}"]
        if found[check.says]:
            break
    return found


def files_are_whole(release: ReleaseArchive) -> Findings:
    listed, there = release.manifest["files"], Counter(release.names)
    for name, times in there.items():
        if times > 1:
            yield f"{name} is there {times} times"
        if name not in listed and name != MANIFEST:
            yield f"{name} is not in the manifest"
    for name, entry in listed.items():
        if name not in there:
            yield f"{name} is missing"
            continue
        try:
            checksum, size = release.checksum(name)
        except UNREADABLE as fault:
            yield f"{name} is damaged: {fault}"
            continue
        if (checksum, size) != (entry["sha256"], entry["bytes"]):
            yield f"{name} has SHA-256 {checksum[:16]}… and {size:,} bytes; the manifest says otherwise"


def four_at_most(release: ReleaseArchive) -> Findings:
    counting = Counter(each["pair_id"] for each in release.records("judgements.jsonl") if each["counts"])
    for pair, number in counting.items():
        if number > 4:
            yield f"pair {pair}: {number} judgements count"


def other_workers(release: ReleaseArchive) -> Findings:
    """Find workers who count twice for a pair. In imported ratings the manifest says how many pairs have one."""
    counting = (each for each in release.records("judgements.jsonl") if each["counts"])
    times = Counter((each["pair_id"], each["worker"]) for each in counting)
    twice = [pair for pair, number in times.items() if number > 1]
    if not release.manifest["imported"]:
        yield from (f"pair {pair}: worker {worker} counts twice" for pair, worker in twice)
    stated = release.manifest["counts"]["one_worker_twice"]
    if (pairs := len({pair for pair, _ in twice})) != stated:
        yield f"one worker counts twice in {pairs:,} pairs; the manifest says in {stated}"


def same_consensus(release: ReleaseArchive) -> Findings:
    rule, tolerance = (release.manifest["consensus"][name] for name in ("rule", "tolerance"))
    if rule != RULE:
        yield f"made by rule {rule}; this program knows {RULE}"
        return
    rounds: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for judgement in release.records("judgements.jsonl"):
        if judgement["counts"]:
            rounds[str(judgement["pair_id"])][(judgement["round"] or 1) - 1].append(judgement["grade"])
    for row in release.rows("pairs.csv"):
        first, second = rounds[row["pair_id"]]
        begun, ended = (consensus(grades, tolerance) for grades in (first, first + second))
        right = (ended.status.value, "" if ended.grade is None else str(ended.grade))
        if not _holds(row, begun.status, right, release.manifest["imported"]):
            stored = (row["outcome"], row["grade"])
            yield f"pair {row['pair_id']} is stored as {stored}; its judgements say {right}"


def _holds(row: dict[str, str], begun: str, right: tuple[str, str], imported: bool) -> bool:
    """Return whether the stored outcome agrees with the judgements.

    Parameters
    ----------
    begun
        The status after round one.
    right
        The status and the grade after all judgements.
    imported
        Whether the ratings were made elsewhere, where rating may have stopped at any number.
    """
    match row["outcome"]:
        case Outcome.SETTLED:
            return (row["outcome"], row["grade"]) == right
        case Outcome.DISCARDED if imported:
            return right[0] != Outcome.SETTLED
        case Outcome.DISCARDED:
            return right[0] == Outcome.DISCARDED
        case Outcome.CONTESTED:
            return begun == Outcome.CONTESTED
        case Outcome.FLAGGED | Outcome.ADJUDICATED:
            return right[0] != Outcome.SETTLED
    return row["outcome"] == Outcome.OPEN


def same_qrels(release: ReleaseArchive) -> Findings:
    ids: dict[str, Pair] = {}
    of_outcome: dict[str, dict[Pair, int]] = {outcome: {} for outcome in WITH_GRADE}
    for row in release.rows("pairs.csv"):
        if (outcome := row["outcome"]) in WITH_GRADE:
            pair = ids[row["pair_id"]] = (row["query_id"], row["moment_id"])
            of_outcome[outcome][pair] = int(row["grade"])
    settled, by_lead = of_outcome.values()
    forms = {
        "qrels.txt": (settled, release.qrels()),
        "qrels.nested.json": (settled, dict(_nested(release))),
        "qrels.jsonl": (settled, _records(release, "qrels.jsonl", ids)),
        "adjudicated.txt": (by_lead, release.qrels("adjudicated.txt")),
        "adjudicated.jsonl": (by_lead, _records(release, "adjudicated.jsonl", ids)),
    }
    for name in (name for name in release.names if name.startswith("splits/") and name.endswith(".qrels.txt")):
        queries = {line.strip() for line in release.lines(name.replace(".qrels.", ".queries."))}
        own = {pair: grade for pair, grade in settled.items() if pair[0] in queries}
        forms[name] = (own, release.qrels(name))
    for name, (right, found) in forms.items():
        for pair in right.keys() ^ found.keys():
            yield f"{name}: {' '.join(pair)} is {'missing' if pair in right else 'not a pair that belongs there'}"
        for pair in right.keys() & found.keys():
            if right[pair] != found[pair]:
                yield f"{name}: {' '.join(pair)} has grade {found[pair]}, not {right[pair]}"


def _nested(release: ReleaseArchive) -> Iterator[tuple[Pair, int]]:
    """Yield the pairs and grades of the nested qrels, whose lines hold one query each, within one object."""
    for line in release.lines("qrels.nested.json"):
        entry = line.strip().removeprefix("{")[:-1]  # it ends with a comma, or with the object
        for query, graded in read_json(f"{{{entry}}}").items():
            yield from (((query, moment), grade) for moment, grade in graded.items())


def _records(release: ReleaseArchive, name: str, ids: dict[str, Pair]) -> dict[Pair, int]:
    found = release.records(name)
    return {ids.get(str(row["pair_id"]), ("pair", str(row["pair_id"]))): row["relevance"] for row in found}


def same_grades(release: ReleaseArchive) -> Findings:
    outcomes = {row["pair_id"]: row["outcome"] for row in release.rows("pairs.csv")}
    right: dict[str, Counter[tuple[str, str, str]]] = {"ratings.csv": Counter(), "discarded.csv": Counter()}
    for each in release.records("judgements.jsonl"):
        pair = str(each["pair_id"])
        if each["counts"] and outcomes[pair] in WITH_GRADES:
            right[WITH_GRADES[outcomes[pair]]][pair, str(each["worker"]), str(each["grade"])] += 1
    for name, grades in right.items():
        found = Counter((row["pair_id"], row["worker"], row["relevance"]) for row in release.rows(name))
        for pair in sorted({pair for pair, _, _ in (grades - found) + (found - grades)}):
            yield f"{name}: the grades of pair {pair} are not those of its judgements"


def same_counts(release: ReleaseArchive) -> Findings:
    outcomes = Counter(row["outcome"] for row in release.rows("pairs.csv"))
    for outcome, number in release.manifest["counts"]["pairs"].items():
        if outcomes[outcome] != number:
            yield f"the manifest counts {number:,} {outcome} pairs; pairs.csv has {outcomes[outcome]:,}"


def left_out(release: ReleaseArchive) -> Findings:
    unfinished = release.manifest["unfinished"]
    there = set() if unfinished["held"] else {row["query_id"] for row in release.rows("pairs.csv")}
    for query in there.intersection(unfinished["queries"]):
        yield f"pairs.csv has pairs of query {query}, which is said to be left out"


def right_sample(release: ReleaseArchive) -> Findings:
    """Compare the sample with the order. A release of before there was an order says nothing of a sample."""
    if not (about := release.manifest.get("estimates")):
        return
    pool = list(release.records(POOL))
    ids = [each["query_id"] for each in pool]
    if checksum(ids) != about["order_sha256"]:
        yield f"{POOL} has another order of queries than the manifest"
    sample = [each["query_id"] for each in pool if each["sample"]]
    for what, number, stated in (("queries", len(ids), about["queries"]), ("the sample", len(sample), about["sample"])):
        if number != stated:
            yield f"{POOL} has {number:,} in {what}; the manifest says {stated:,}"
    withdrawn = {each["query_id"] for each in pool if each.get("withdrawn")}
    end = next((number for number, query in enumerate(ids) if query not in withdrawn.union(sample)), len(ids))
    for query in sorted(set(sample).intersection(ids[end:])):
        yield f"query {query} is in the sample, but comes after {ids[end]}, which is not finished"
    if about["random"] != withdrawn.isdisjoint(ids[:end]):
        yield f"the sample is said to be {'' if about['random'] else 'not '}random, against {POOL}"
    yield from _marks(release, pool)
    yield from _ranks(release, pool)


def _marks(release: ReleaseArchive, pool: list[dict[str, Any]]) -> Findings:
    right = {
        each["query_id"]: ("yes" if each["sample"] else "no", str(place), harmless(each["stratum"]))
        for place, each in enumerate(pool, 1)
    }
    listed = {row["query_id"]: (row["sample"], row["place"], row["stratum"]) for row in release.rows("queries.csv")}
    for query, marks in listed.items():
        if right.get(query) != marks:
            yield f"queries.csv: query {query} is marked {marks}; {POOL} says {right.get(query)}"
    for query, (sample, *_) in right.items():
        if sample == "yes" and query not in listed:
            yield f"queries.csv: query {query} of the sample is missing"


def _ranks(release: ReleaseArchive, pool: list[dict[str, Any]]) -> Findings:
    """Find pairs of ranks that are not where the pool has them, and pairs of the sample that are still open."""
    candidates = {each["query_id"]: each["candidates"] for each in pool}
    sample = {each["query_id"] for each in pool if each["sample"]}
    for row in release.rows("pairs.csv"):
        ranked = candidates.get(row["query_id"], [])
        rank = int(row["rank"])
        if row["pool"] == "first" and ranked[rank - 1 : rank] != [row["moment_id"]]:
            yield f"pair {row['pair_id']}: {row['moment_id']} is not at rank {rank} in {POOL}"
        if row["query_id"] in sample and row["outcome"] in (Outcome.OPEN, Outcome.CONTESTED):
            yield f"pair {row['pair_id']} is {row['outcome']}, and its query is in the sample"


def known_faults(release: ReleaseArchive) -> Iterator[str]:
    """Yield what the release itself says is not as it should be, once it has passed all checks."""
    if twice := release.manifest["counts"]["one_worker_twice"]:
        yield f"pairs in which one worker counts twice, as in the imported ratings: {twice:,}"
    if (about := release.manifest.get("estimates")) and not about["random"]:
        yield f"the sample is not random: {'; '.join(about['why_not'])}"
    unfinished = release.manifest["unfinished"]
    if number := len(unfinished["queries"]):
        fate = "held as they were" if unfinished["held"] else "left out"
        yield f"queries that were not finished, and are {fate}: {number:,}"


CHECKS = [
    Check("Every file is whole, and none is strange", files_are_whole),
    Check("At most four judgements of a pair count", four_at_most),
    Check("Those of a pair are by different workers, or imported and counted as by one", other_workers),
    Check("The judgements give the stored outcomes", same_consensus),
    Check("All forms of the qrels hold the settled pairs, and only those", same_qrels),
    Check("The files of grades hold what was judged", same_grades),
    Check("The counts are right", same_counts),
    Check("Queries that are said to be left out are left out", left_out),
    Check("The sample is the first queries of the order", right_sample),
]


def samples(campaign: Campaign) -> Iterator[str]:
    """Compare the file of each release with the campaign's order, as far as the release has a sample."""
    places = dict(campaign.queries.ranked_population().values_list("query_id", "place"))
    for release in campaign.releases.filter(state=Release.State.READY).order_by("version"):
        if release.estimates:
            try:
                yield from (f"release {release.version}: {fault}" for fault in _faults_of_sample(release, places))
            except (ReeljudgeError, *UNREADABLE) as fault:
                yield f"release {release.version} cannot be read: {fault}"


def _faults_of_sample(release: Release, places: dict[str, float | None]) -> Iterator[str]:
    with release.file.open("rb") as content:
        archive = ReleaseArchive(content)
        if archive.manifest.get("estimates") != release.estimates:
            yield "its manifest says something else of the sample than the database"
            return
        yield from right_sample(archive)
        # Queries that were withdrawn since, or brought back, change nothing in the order of the others.
        order = [places[each["query_id"]] or 0 for each in archive.records(POOL) if each["query_id"] in places]
        if release.estimates["sample"] and order != sorted(order):
            yield f"{POOL} does not have the order that the campaign's seed draws"


for invariants in (INVARIANTS, INVARIANTS_OF_IMPORTED):
    invariants.append(Invariant(15, "The sample of each release is the first queries of the order", samples))
