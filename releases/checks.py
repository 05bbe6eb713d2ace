"""Checking a release by itself: its checksums, and all that its judgements decide, computed again.

A release holds this file as `verify.py`, together with the modules that it imports from us, so that Python alone checks
it: `python verify.py` in the folder where it is unpacked. Who makes a release can change the program in it, too. So a
release of people whom you do not know is checked by another copy, such as that of a release of your own:
`python verify.py FOLDER`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from judging.consensus import ANNOTATORS, RULE, Reuse, outcome_after
from releases.publishing.parquet import OF_OLD_QRELS, OF_QRELS, columns_of_judgements, parquet, row_of_judgement
from releases.stated import not_computed, other_counts, same_agreement, same_cost, same_protocol

MANIFEST, QRELS, POOL = "MANIFEST.json", "qrels.txt", "pool.jsonl"
REUSES = "reused.jsonl"
LONGEST_LINE = 2**20
AT_ONCE = 1 << 20  # bytes
MAKERS = "  not checked: who made the release: only a signature shows it, and `verify_release --key` checks that"
OTHER_COPY = "If you do not know its makers, use another copy: python verify.py FOLDER"
MOST_FAULTS = 1000  # of one check
MOST_PRINTED, LONGEST = 10, 300  # findings of one check, and the characters of each
LONGEST_LIST = 1000  # characters of a list of files
# What reading a damaged or hostile file, and the JSON and CSV in it, can raise.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, csv.Error, OSError, EOFError),
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError),  # and RecursionError
)
SETTLED, DISCARDED, CONTESTED, OPEN = "settled", "discarded", "contested", "open"
FLAGGED, ADJUDICATED, REUSED = "flagged", "adjudicated", "reused"
RATINGS = "ratings.csv"
# The second file of grades in a release of version 0.2 or earlier: those of pairs with these outcomes.
OLD_RATINGS, WITHOUT_CONSENSUS = "discarded.csv", (DISCARDED, FLAGGED, ADJUDICATED)
Pair = tuple[str, str]  # query id, moment id
Findings = Iterator[str]


class Reader:
    """The files of a release, read line by line."""

    manifest: dict[str, Any]

    def __init__(self) -> None:
        self.compared = {MANIFEST}  # the files whose content a check has compared with others

    @property
    def names(self) -> list[str]:
        raise NotImplementedError

    def opened(self, name: str) -> IO[bytes]:
        raise NotImplementedError

    def parsed(self, text: str) -> Any:
        return json.loads(text)

    def checksum(self, name: str) -> tuple[str, int]:
        """Return the SHA-256 and the length of a file, computed from its content."""
        with self.opened(name) as content:
            return checksum_of(iter(lambda: content.read(AT_ONCE), b""))

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a file, none if it is empty and so left out.

        One that is longer than `LONGEST_LINE` characters is a ValueError.
        """
        if name not in self.names:
            return
        self.compared.add(name)
        with self.opened(name) as packed:
            content = io.TextIOWrapper(packed, encoding="utf-8", newline="")
            while line := content.readline(LONGEST_LINE):
                if len(line) == LONGEST_LINE:
                    raise ValueError(f"{name} has a line of {LONGEST_LINE:,} characters or more")
                yield line

    def rows(self, name: str, delimiter: str = ",") -> Iterator[dict[str, str]]:
        """Yield the rows of a CSV file."""
        yield from csv.DictReader(self.lines(name), delimiter=delimiter)

    def records(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of a file with one JSON object a line."""
        for line in self.lines(name):
            yield self.parsed(line)

    def qrels(self, name: str = QRELS) -> dict[Pair, int]:
        """Return the grades in a file of TREC qrels; by default those of all settled pairs."""
        return grades(self.lines(name))


class Folder(Reader):
    """A release that is unpacked. Hidden files, which tools of hubs leave, are no part of it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))

    @property
    def names(self) -> list[str]:
        found = (file.relative_to(self.folder) for file in self.folder.rglob("*") if file.is_file())
        return [each.as_posix() for each in found if not any(part[0] == "." for part in each.parts)]

    def opened(self, name: str) -> IO[bytes]:
        return (self.folder / name).open("rb")


def grades(lines: Iterable[str]) -> dict[Pair, int]:
    """Return the grade of each pair in lines of TREC qrels."""
    fields = (line.split() for line in lines)
    return {(query, moment): int(grade) for query, _, moment, grade in fields}


def checksum_of(pieces: Iterable[bytes]) -> tuple[str, int]:
    """Return the SHA-256 and the length of what the pieces are together."""
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size


def verify(release: Reader) -> dict[str, list[str]]:
    """Run all checks, and return the first faults that each finds. The lists are empty if the release is whole.

    A fault that one check finds can be the cause of those that later checks find.
    """
    found: dict[str, list[str]] = {}
    for says, check in CHECKS.items():
        found[says] = []
        try:
            for fault in islice(check(release), MOST_FAULTS):
                found[says].append(fault)
        except UNREADABLE as fault:
            found[says].append(f"cannot be read: {type(fault).__name__} {fault}")
    return found


def files_are_whole(release: Reader) -> Findings:
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


def four_at_most(release: Reader) -> Findings:
    counting = Counter(record["pair_id"] for record in release.records("judgements.jsonl") if record["counts"])
    for pair, number in counting.items():
        if number > 2 * ANNOTATORS:
            yield f"pair {pair}: {number} judgements count"


def other_workers(release: Reader) -> Findings:
    """Find workers who count twice for a pair. In imported ratings the manifest says how many pairs have one."""
    counting = (record for record in release.records("judgements.jsonl") if record["counts"])
    times = Counter((each["pair_id"], each["worker"]) for each in counting)
    twice = [pair for pair, number in times.items() if number > 1]
    if not release.manifest["imported"]:
        yield from (f"pair {pair}: worker {worker} counts twice" for pair, worker in twice)
    stated = release.manifest["counts"]["one_worker_twice"]
    if (pairs := len({pair for pair, _ in twice})) != stated:
        yield f"one worker counts twice in {pairs:,} pairs; the manifest says in {stated}"


def same_consensus(release: Reader) -> Findings:
    rule, tolerance = (release.manifest["consensus"][name] for name in ("rule", "tolerance"))
    if rule != RULE:
        yield f"made by rule {rule}; this program knows {RULE}"
        return
    rounds: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for judgement in release.records("judgements.jsonl"):
        if judgement["counts"]:
            rounds[str(judgement["pair_id"])][(judgement["round"] or 1) - 1].append(judgement["grade"])
    for row in release.rows("pairs.csv"):
        if row["outcome"] == REUSED:
            continue
        first, second = rounds[row["pair_id"]]
        is_contested = outcome_after(1, first, tolerance).status == CONTESTED
        # In ratings that were made elsewhere, rating may have stopped at any number.
        ended = outcome_after(1 + is_contested, first + second, tolerance, final=release.manifest["imported"])
        right = (ended.status.value, "" if ended.grade is None else str(ended.grade))
        stored = (row["outcome"], row["grade"])
        may_be = {SETTLED: stored == right, DISCARDED: stored == right, CONTESTED: is_contested, OPEN: True}
        if not may_be.get(row["outcome"], row["outcome"] in (FLAGGED, ADJUDICATED) and right[0] != SETTLED):
            yield f"pair {row['pair_id']} is stored as {stored}; its judgements say {right}"


def reused_grades(release: Reader) -> Findings:
    """Check that reused grades follow from grades of nearly the same moments, and that nobody judged these pairs."""
    rows = {row["pair_id"]: row for row in release.rows("pairs.csv") if row["outcome"] == REUSED}
    found = {str(record["pair_id"]): record for record in release.records(REUSES)}
    for pair in sorted(rows.keys() ^ found.keys()):
        yield f"{REUSES}: pair {pair} is {'missing' if pair in rows else 'not said to be reused'}"
    for pair in rows.keys() & found.keys():
        yield from (f"{REUSES}: pair {pair}: {fault}" for fault in _faults_of(found[pair], rows[pair], release))
    for pair in sorted({str(record["pair_id"]) for record in release.records("judgements.jsonl")}.intersection(rows)):
        yield f"pair {pair} has a reused grade, and a judgement"


def _faults_of(reused: dict[str, Any], row: dict[str, str], release: Reader) -> Findings:
    stored = (str(reused["query_id"]), reused["moment_id"], str(reused["grade"]), REUSED)
    if stored != (row["query_id"], row["moment_id"], row["grade"], row["rule"]):
        yield f"pairs.csv says {row['query_id']} {row['moment_id']} {row['grade']}"
    if reused["rule"] != RULE:
        yield f"made by rule {reused['rule']}; this program knows {RULE}"
    values = (reused[name] for name in ("grade", "grades", "rule", "overlap", "timestamp", "source_timestamp"))
    yield from Reuse(*values).faults(release.manifest["consensus"]["tolerance"])


def same_qrels(release: Reader) -> Findings:
    ids: dict[str, Pair] = {}
    of_outcome: dict[str, dict[Pair, int]] = {outcome: {} for outcome in (SETTLED, ADJUDICATED)}
    for row in release.rows("pairs.csv"):
        outcome = SETTLED if row["outcome"] == REUSED else row["outcome"]
        if outcome in of_outcome:
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
    for listed in (name for name in release.names if name.startswith("splits/") and name.endswith(".queries.txt")):
        queries, name = {line.strip() for line in release.lines(listed)}, listed.replace(".queries.", ".qrels.")
        own = {pair: grade for pair, grade in settled.items() if pair[0] in queries}
        forms[name] = (own, release.qrels(name))
    for name, (right, found) in forms.items():
        for pair in right.keys() ^ found.keys():
            yield f"{name}: {' '.join(pair)} is {'missing' if pair in right else 'not a pair that belongs there'}"
        for pair in right.keys() & found.keys():
            if right[pair] != found[pair]:
                yield f"{name}: {' '.join(pair)} has grade {found[pair]}, not {right[pair]}"


def _splits(release: Reader) -> dict[str, set[str]]:
    """Return the ids of the queries of each split for hubs. A release of before there were any has none."""
    of_name = {name: split for split, names in release.manifest.get("splits", {}).items() for name in names}
    found: dict[str, set[str]] = {split: set() for split in of_name.values()}
    for row in release.rows("queries.csv") if found else ():
        split = row["split"]
        found[of_name[split] if split in of_name else of_name[split.removeprefix("'")]].add(row["query_id"])
    return found


def same_for_others(release: Reader) -> Findings:
    """Compare what hubs and BEIR read with the other files; tables of qrels and judgements are made again."""
    of_judgements = columns_of_judgements(next(release.records("judgements.jsonl"), None))
    for split, queries in _splits(release).items():
        own = [row for row in release.rows("pairs.csv") if row["query_id"] in queries]
        of_qrels = OF_OLD_QRELS if f"data/moments/{split}.parquet" in release.names else OF_QRELS
        for name, columns, rows in (
            ("qrels", of_qrels, (row[: len(of_qrels)] for row in _rows_of_qrels(own))),
            ("judgements", of_judgements, (row[: len(of_judgements)] for row in _rows_of_judgements(release, own))),
        ):
            file = f"data/{name}/{split}.parquet"
            release.compared.add(file)
            if checksum_of(parquet(columns, rows)) != release.checksum(file):
                yield f"{file} does not hold the {name} of the other files"
        file = f"beir/qrels/{split}.tsv"
        rows_of_beir = (tuple(row.values())[:3] for row in release.rows(file, "\t"))
        if list(rows_of_beir) != [(query, moment, str(grade)) for query, moment, grade, _ in _rows_of_qrels(own)]:
            yield f"{file} does not hold the qrels of the other files"


def _rows_of_qrels(pairs: list[dict[str, str]]) -> Iterator[tuple[Any, ...]]:
    for row in pairs:
        if row["outcome"] in (SETTLED, REUSED):
            yield row["query_id"], row["moment_id"], int(row["grade"]), row["pair_id"]


def _rows_of_judgements(release: Reader, own: list[dict[str, str]]) -> Iterator[tuple[Any, ...]]:
    pairs = {row["pair_id"]: row for row in own}
    for record in release.records("judgements.jsonl"):
        if pair := pairs.get(str(record["pair_id"])):
            yield row_of_judgement(pair["query_id"], pair["moment_id"], record)


def _nested(release: Reader) -> Iterator[tuple[Pair, int]]:
    """Yield the pairs and grades of the nested qrels, whose lines hold one query each, within one object."""
    for line in release.lines("qrels.nested.json"):
        entry = line.strip().removeprefix("{")[:-1]  # it ends with a comma, or with the object
        for query, graded in release.parsed(f"{{{entry}}}").items():
            yield from (((query, moment), grade) for moment, grade in graded.items())


def _records(release: Reader, name: str, ids: dict[str, Pair]) -> dict[Pair, int]:
    found = release.records(name)
    return {ids.get(str(row["pair_id"]), ("pair", str(row["pair_id"]))): row["relevance"] for row in found}


def same_grades(release: Reader) -> Findings:
    outcomes = {row["pair_id"]: row["outcome"] for row in release.rows("pairs.csv")}
    if OLD_RATINGS in release.names:
        files = {SETTLED: RATINGS} | dict.fromkeys(WITHOUT_CONSENSUS, OLD_RATINGS)
    else:
        files = dict.fromkeys(outcomes.values(), RATINGS)
    right = {name: Counter[tuple[str, str, str, str]]() for name in {RATINGS, *files.values()}}
    for record in release.records("judgements.jsonl"):
        pair = str(record["pair_id"])
        if record["counts"] and (name := files.get(outcomes[pair])):
            right[name][pair, str(record["worker"]), str(record["grade"]), outcomes[pair]] += 1
    for name, grades in right.items():
        rows = release.rows(name)
        found = Counter((row["pair_id"], row["worker"], row["relevance"], row.get("outcome", SETTLED)) for row in rows)
        for pair in sorted({pair for pair, *_ in (grades - found) + (found - grades)}):
            yield f"{name}: the grades of pair {pair} are not those of its judgements"


def same_counts(release: Reader) -> Findings:
    outcomes = Counter(row["outcome"] for row in release.rows("pairs.csv"))
    for outcome, number in release.manifest["counts"]["pairs"].items():
        if outcomes[outcome] != number:
            yield f"the manifest counts {number:,} {outcome} pairs; pairs.csv has {outcomes[outcome]:,}"
    yield from other_counts(release, {SETTLED, REUSED})


def left_out(release: Reader) -> Findings:
    unfinished = release.manifest["unfinished"]
    there = set() if unfinished["held"] else {row["query_id"] for row in release.rows("pairs.csv")}
    for query in there.intersection(unfinished["queries"]):
        yield f"pairs.csv has pairs of query {query}, which is said to be left out"


def right_sample(release: Reader) -> Findings:
    """Compare the sample with the order. A release of before there was an order says nothing of a sample."""
    if not (about := release.manifest.get("estimates")):
        return
    pool = list(release.records(POOL))
    ids = [each["query_id"] for each in pool]
    if checksum_of(f"{query}\n".encode() for query in ids)[0] != about["order_sha256"]:
        yield f"{POOL} has another order of queries than the manifest"
    sample = [each["query_id"] for each in pool if each["sample"]]
    marks = {row["query_id"]: (row["sample"], row["place"], row["stratum"]) for row in release.rows("queries.csv")}
    unranked = about.get("unranked", 0)
    sampled = len(sample) + sum(marks[query][0] == "yes" for query in marks.keys() - set(ids))
    stated = {"queries": about["queries"] - unranked, "the sample": about["sample"]}
    for (what, right), number in zip(stated.items(), (len(ids), sampled), strict=True):
        if number != right:
            yield f"{POOL} has {number:,} in {what}; the manifest says {right:,}"
    withdrawn = {each["query_id"] for each in pool if each.get("withdrawn")}
    end = next((number for number, query in enumerate(ids) if query not in withdrawn.union(sample)), len(ids))
    for query in sorted(set(sample).intersection(ids[end:])):
        yield f"query {query} is in the sample, but comes after {ids[end]}, which is not finished"
    if about["random"] != withdrawn.isdisjoint(ids[:end]) and (about["random"] or not unranked):
        yield f"the sample is said to be {'' if about['random'] else 'not '}random, against {POOL}"
    yield from _marks(marks, pool, unranked)
    yield from _ranks(release, pool)


def _marks(listed: dict[str, tuple[str, str, str]], pool: list[dict[str, Any]], unranked: int) -> Findings:
    """Compare the marks of `queries.csv` with the pool. Queries that are not ranked have places between the others."""
    last = 0
    for number, each in enumerate(pool, 1):
        query, wanted = each["query_id"], "yes" if each["sample"] else "no"
        if query not in listed:
            if each["sample"]:
                yield f"queries.csv: query {query} of the sample is missing"
            continue
        sample, place, stratum = listed[query]
        is_placed = max(last + 1, number) <= int(place) <= number + unranked
        # A cell that a spreadsheet would run as a formula has an apostrophe before it.
        if sample != wanted or not is_placed or stratum not in (each["stratum"], f"'{each['stratum']}"):
            right = (wanted, str(number), each["stratum"])
            yield f"queries.csv: query {query} is marked {listed[query]}; {POOL} says {right}"
        last = int(place)
    if not unranked:
        for query in listed.keys() - {each["query_id"] for each in pool}:
            yield f"queries.csv: query {query} is marked {listed[query]}; {POOL} does not have it"


def _ranks(release: Reader, pool: list[dict[str, Any]]) -> Findings:
    """Find pairs of ranks that are not where the pool has them, and pairs of the sample that are still open."""
    candidates = {each["query_id"]: each["candidates"] for each in pool}
    sample = {each["query_id"] for each in pool if each["sample"]}
    for row in release.rows("pairs.csv"):
        ranked = candidates.get(row["query_id"], [])
        rank = int(row["rank"])
        if row["pool"] == "first" and ranked[rank - 1 : rank] != [row["moment_id"]]:
            yield f"pair {row['pair_id']}: {row['moment_id']} is not at rank {rank} in {POOL}"
        if row["query_id"] in sample and row["outcome"] in (OPEN, CONTESTED):
            yield f"pair {row['pair_id']} is {row['outcome']}, and its query is in the sample"


def known_faults(release: Reader) -> Iterator[str]:
    """Yield what the release itself says is not as it should be, once it has passed all checks."""
    if twice := release.manifest["counts"]["one_worker_twice"]:
        yield f"pairs in which one worker counts twice, as in the imported ratings: {twice:,}"
    if (about := release.manifest.get("estimates")) and not about["random"]:
        yield f"the sample is not random: {'; '.join(about['why_not'])}"
    unfinished = release.manifest["unfinished"]
    if number := len(unfinished["queries"]):
        fate = "held as they were" if unfinished["held"] else "left out"
        yield f"queries that were not finished, and are {fate}: {number:,}"


def not_checked(release: Reader) -> Iterator[str]:
    """Yield what the checks that ran do not show, with the reason."""
    yield from not_computed(release.manifest)
    rest = Counter(name.partition("/")[0] for name in set(release.names) - release.compared)
    if rest:
        named = ", ".join(f"{name} ({number})" if number > 1 else name for name, number in sorted(rest.items()))
        yield f"the content of {named}: only the checksums are compared"


CHECKS: dict[str, Callable[[Reader], Findings]] = {  # what holds, and the check of it
    "Every file is whole, and none is strange": files_are_whole,
    "At most four judgements of a pair count": four_at_most,
    "Those of a pair are by different workers, or imported and counted as by one": other_workers,
    "The judgements give the stored outcomes": same_consensus,
    "Reused grades follow from the grades that they rest on, and nobody judged these pairs": reused_grades,
    "All forms of the qrels hold the pairs with a consensus, and only those": same_qrels,
    "The files of grades hold what was judged": same_grades,
    "The counts are right": same_counts,
    "The agreement in the manifest is that of the judgements": same_agreement,
    "The cost in the manifest is that of the judgements": same_cost,
    "The protocol in the manifest agrees with ranks, batches and guidelines": same_protocol,
    "Queries that are said to be left out are left out": left_out,
    "The sample is the first queries of the order": right_sample,
    "The files for hubs and BEIR hold what the others hold": same_for_others,
}


def report(release: Reader, say: Callable[[str], object]) -> bool:
    """Run the checks, say what each found, and return whether the release is whole."""
    say(printable(f"{release.manifest['campaign']}, release {release.manifest['version']}"))
    found = verify(release)
    for says, findings in found.items():
        say(f"  {'BROKEN ' if findings else 'ok     '} {says}")
        for finding in findings[:MOST_PRINTED]:
            say(f"           {printable(finding[:LONGEST])}")
        if len(findings) > MOST_PRINTED:
            more = len(findings) - MOST_PRINTED
            say(f"           … and {more:,}{' or more' * (len(findings) == MOST_FAULTS)} others")
    is_whole = not any(found.values())
    try:
        for known in known_faults(release) if is_whole else ():
            say(f"  known   {printable(known[:LONGEST])}")
        for rest in not_checked(release):
            say(f"  not checked: {printable(rest[:LONGEST_LIST])}")
    except UNREADABLE as fault:
        say(printable(f"  BROKEN  {MANIFEST} cannot be read: {type(fault).__name__} {fault}"[:LONGEST]))
        return False
    return is_whole


def printable(text: str) -> str:
    """Return the text with escapes for what a terminal would obey."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def main(arguments: list[str]) -> int:
    """Check the release in the folder that is named, or in which this file lies. Return the exit code."""
    folder = Path(arguments[0]) if arguments else Path(__file__).parent
    try:
        is_whole = report(Folder(folder), say)
        say(MAKERS)
        if folder.resolve() == Path(__file__).resolve().parent:
            say(f"  not checked: this program, which is a part of the release. {OTHER_COPY}")
        return 0 if is_whole else 1
    except UNREADABLE as fault:
        say(printable(f"{folder}: {MANIFEST} cannot be read ({fault}); expected a release that is unpacked"))
        return 2


def say(line: str) -> None:
    """Print a line, unless nobody reads the output any more, as behind `head`."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
