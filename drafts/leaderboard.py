"""A leaderboard that is judged again: reading a draft's benchmark and the runs on it, and how large their pools are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from base.errors import ReeljudgeError
from base.text import printable, storable
from campaigns.models import Campaign
from corpus.importers.rows import LONGEST_TEXT
from corpus.models import Corpus, Video
from corpus.reading import TableReader
from drafts.models import Draft, Upload, UploadQuerySet
from drafts.sources import whole
from judging.pool.opening import texts_of
from metrics import MeasureError, Qrels, Run
from metrics.analysis.pooling import pooled_by_rank
from metrics.formats.checks import Known

USUAL_DEPTH, DEEPEST = 10, 20  # ranks of each run
FEWEST_RUNS = 2
LONGEST_ID = 100  # characters
NAMED = 5  # videos
NOTHING = "no benchmark; expected its ground truth, and runs of two systems or more"
Fault = Callable[[str], None]


class Given(NamedTuple):
    """A run, and the file that holds it."""

    filename: str
    path: Path
    run: Run


class Leaderboard(NamedTuple):
    """A benchmark, and runs on it of which the first ranks are judged."""

    benchmark: str  # the name of its file
    qrels: Qrels
    runs: list[Given]
    depth: int


def leaderboard_of(draft: Draft) -> Leaderboard:
    """Return what a draft's files hold. Raise CorpusError or ReeljudgeError if anything is wrong with them."""
    faults = list[str]()
    found = read_leaderboard(draft, faults.append)
    if found is None or faults:
        raise ReeljudgeError("\n".join(faults))
    return found


def read_leaderboard(draft: Draft, fault: Fault) -> Leaderboard | None:
    """Return what a draft's files hold, and tell each fault; without a benchmark that can be read, return None.

    Raise CorpusError if a file has not arrived as a whole, and ReeljudgeError if there is no corpus yet.
    """
    file, upload = whole(draft, Upload.Purpose.BENCHMARK), draft.upload_for(Upload.Purpose.BENCHMARK)
    if file is None or upload is None:
        raise ReeljudgeError(NOTHING)
    if draft.corpus is None:
        raise ReeljudgeError("cannot be read before the corpus is stored; store it in this step")
    try:
        with TableReader.for_files({file: upload.name}) as reader:
            qrels = reader.qrels(file)
    except MeasureError as wrong:
        fault(str(wrong))
        return None
    durations = dict(Video.objects.filter(corpus=draft.corpus).values_list("name", "duration"))
    _look_at(qrels, upload.name, draft.corpus, durations, fault)
    runs = [run for each in _runs(draft) if (run := _read_run(each, Known(set(qrels.queries), durations), fault))]
    if (number := _runs(draft).count()) < FEWEST_RUNS:
        fault(f"{number} run{'s' * (number != 1)}; expected runs of two systems or more")
    return Leaderboard(upload.name, qrels, runs, draft.pool_depth or 1)


def _runs(draft: Draft) -> UploadQuerySet:
    return Upload.objects.filter(draft=draft, purpose=Upload.Purpose.RUN).select_related("draft").order_by("pk")


def _look_at(qrels: Qrels, name: str, corpus: Corpus, durations: dict[str, float], fault: Fault) -> None:
    """Tell what keeps a benchmark from being judged over a corpus."""
    if not texts_of(qrels):
        fault(f"{name}: tells no query's text, which annotators read")
    for query, text in qrels.texts.items():
        if len(query) > LONGEST_ID or any(map(str.isspace, query)) or not storable(query):
            fault(
                f"{name}: query {printable(query[:40])}: expected an id of at most {LONGEST_ID} characters, no spaces"
            )
        elif len(text) > LONGEST_TEXT or not storable(text):
            fault(f"{name}: query {query}: its text must have at most {LONGEST_TEXT:,} characters, all printable")
    if missing := sorted(set(qrels.names) - durations.keys()):
        more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
        fault(f"{name}: the corpus {corpus} lacks the videos {printable(', '.join(missing[:NAMED]))}{more}")


def _read_run(upload: Upload, known: Known, fault: Fault) -> Given | None:
    """Return a run, if nothing is wrong with it: it is checked as runs are that somebody uploads later."""
    if not upload.is_whole:
        fault(f"{upload.name}: {upload.percent} % has arrived; choose the same file again to go on")
        return None
    try:
        with TableReader.for_files({upload.path: upload.name}) as reader:
            run, faults, _ = reader.run(upload.path, known)
    except MeasureError as wrong:
        fault(str(wrong))
        return None
    for words in faults.messages:
        fault(words)
    if faults.count > len(faults.messages):
        fault(f"{upload.name}: {faults.count - len(faults.messages):,} more problems")
    return Given(upload.name, upload.path, replace(run, name=upload.name)) if run else None


def sizes_of(found: Leaderboard) -> dict[str, list[list[int]]]:
    """Return how large the pools of the queries are by depth: pairs of a size and a number of queries."""
    texts, by_depth = texts_of(found.qrels), [Counter[int]() for _ in range(DEEPEST)]
    for query, pool in pooled_by_rank(found.qrels, [each.run for each in found.runs], DEEPEST).items():
        if query in texts:
            ranks = Counter(pool.values())
            size = ranks[0]
            for depth, counts in enumerate(by_depth, 1):
                size += ranks[depth]
                counts[size] += 1
    return {str(depth): [list(each) for each in sorted(counts.items())] for depth, counts in enumerate(by_depth, 1)}


def pairs_of(campaign: Campaign, sizes: list[list[int]], share: float) -> float:
    """Return how many pairs are judged if pools of these sizes get their first batch, and a share of them the rest."""
    first, most = campaign.batch_size, campaign.depth
    return sum(number * (min(size, first) + share * (max(first, min(size, most)) - first)) for size, number in sizes)
