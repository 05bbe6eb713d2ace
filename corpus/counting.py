"""The size of a corpus or of a collection, in the columns of TVR-Ranking's Tables 1 and 4.

The paper does not say how it counted verbs. The estimate for a corpus needs no tagger: words count as verb forms if the
corpus has a word in -ing and others of the same stem (opening, opens; sitting, sits). It misses verbs that the corpus
has in a single form: of Charades-STA it finds 275, where the paper has 469. The tagger HanTa, where it is installed,
finds 421 and counts the verbs of queries; it takes a millisecond for each.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from corpus.models import Corpus, Moment
from jobs.models import Job
from jobs.registry import SELF, Report, kind

AT_ONCE = 5000  # moments; a corpus with more is counted by a job
CHUNK = 5000  # rows
WORD = re.compile(r"\w+(?:['’]\w+)?")
TOKEN = re.compile(rf"{WORD.pattern}|[^\w\s]")
ENGLISH, MODAL = "morphmodel_en.pgz", "VM0"  # HanTa's model, and its tag of can, will and their like
SHORTEST_STEM = 3  # letters
VOWELS = set("aeiou")

Figures = dict[str, Any]


class Counted(NamedTuple):
    """The figures of a corpus, or the job that counts them."""

    figures: Figures | None
    job: Job | None = None


def figures_of(corpus: Corpus) -> Counted:
    """Return the stored figures, or those of a small corpus counted now; for a large one, ask for the job."""
    if corpus.figures is not None:
        return Counted(corpus.figures)
    some = Moment.objects.filter(video__corpus=corpus).order_by()[: AT_ONCE + 1]
    if some.count() <= AT_ONCE:
        return Counted(count(corpus))
    job = count_corpus.jobs(corpus).not_done().first() or count_corpus.ask(corpus)
    return Counted(None, job)


@kind("count-corpus", "Count the corpus", of=Corpus, owner=SELF, page=("corpus", "name"))
def count_corpus(corpus: Corpus, report: Report) -> None:
    keep(corpus, count(corpus, report))


def keep(corpus: Corpus, figures: Figures) -> None:
    """Store the figures, unless an import has added moments since they were counted."""
    if Moment.objects.filter(video__corpus=corpus).count() == figures["queries"]:
        Corpus.objects.filter(pk=corpus.pk).update(figures=figures)


def count(corpus: Corpus, report: Report = lambda done, total, message="": None) -> Figures:
    """Return the figures of a corpus.

    The dict has `queries` (described moments), `moments` (different times of a video), `videos`, `vocabulary`
    (different words), `verbs` (an estimate, see above), `moment_hours` and `video_hours`; as [least, mean, most],
    `query_length` in words, `moment_length` and `video_length` in seconds; and `ratio`, the mean of a moment's length
    to its video's. Each description counts once in these means, and each video once in its own.
    """
    seen = _read(corpus, report)
    videos = np.fromiter(corpus.videos.values_list("duration", flat=True).iterator(chunk_size=CHUNK), float)
    lengths = np.array(seen.lengths)
    _, first = np.unique(np.array(seen.stretches), return_index=True)
    return {
        "queries": len(lengths),
        "moments": len(first),
        "videos": len(videos),
        "vocabulary": len(seen.vocabulary),
        "verbs": len(verb_forms(seen.vocabulary)),
        "moment_hours": float(lengths[first].sum() / 3600),
        "video_hours": float(videos.sum() / 3600),
        "query_length": least_mean_most(np.array(seen.words)),
        "moment_length": least_mean_most(lengths),
        "video_length": least_mean_most(videos),
        "ratio": float(np.mean(seen.ratios)) if len(lengths) else None,
    }


class _Seen:
    """What is kept of each description while a corpus is read: some numbers, and its words."""

    def __init__(self) -> None:
        self.vocabulary: set[str] = set()
        self.stretches = array("q")  # numbers that stand for the times of moments
        self.words, self.lengths, self.ratios = array("d"), array("d"), array("d")


def _read(corpus: Corpus, report: Report) -> _Seen:
    seen, rows = _Seen(), Moment.objects.filter(video__corpus=corpus)
    total = rows.count()
    fields = rows.order_by().values_list("video_id", "start", "end", "video__duration", "description")
    for number, (video, start, end, whole, text) in enumerate(fields.iterator(chunk_size=CHUNK)):
        found = list(words(text))
        seen.vocabulary.update(found)
        seen.words.append(len(found))
        seen.stretches.append(hash(f"{video} {start!r} {end!r}"))
        seen.lengths.append(end - start)
        seen.ratios.append((end - start) / whole)
        if number % CHUNK == 0:
            report(number, total)
    return seen


def words(text: str) -> Iterator[str]:
    """Return the words of a text in lower case."""
    return (found[0] for found in WORD.finditer(text.lower()))


def count_verbs(texts: Collection[str]) -> int | None:
    """Return the number of different forms of verbs in texts, or None if no tagger is installed.

    A campaign may have few queries, so that they lack the other forms by which `verb_forms` knows a verb.
    """
    return len({verb for text in texts for verb in _tagged(text)}) if tagger() else None


@cache
def tagger() -> Any:
    """Return HanTa's tagger for English, or None if the package is not installed."""
    try:
        from HanTa.HanoverTagger import HanoverTagger
    except ImportError:
        return None
    return HanoverTagger(ENGLISH)


@lru_cache(maxsize=20_000)
def _tagged(text: str) -> frozenset[str]:
    found = tagger().tag_sent(TOKEN.findall(text))
    return frozenset(word.lower() for word, _, tag in found if tag.startswith("V") and tag != MODAL)


def verb_forms(vocabulary: set[str]) -> set[str]:
    """Return the words that look like forms of verbs, because the vocabulary has other forms of the same stem.

    >>> sorted(verb_forms({"open", "opens", "opening", "sits", "sitting", "morning", "thing", "things"}))
    ['open', 'opening', 'opens', 'sits', 'sitting']
    """
    found: set[str] = set()
    for word in vocabulary:
        if word.endswith("ing") and len(word) - 3 >= SHORTEST_STEM:
            forms = vocabulary & _other_forms(word.removesuffix("ing"))
            if forms:
                found |= forms | {word}
    return found


def _other_forms(stem: str) -> set[str]:
    """Return the other forms of a verb with this stem before -ing; it may lose an e there, or double a letter."""
    bases = {stem, f"{stem}e"}
    if len(stem) > SHORTEST_STEM and stem[-1] == stem[-2] and stem[-1] not in VOWELS:
        bases.add(stem[:-1])
    forms = {base + ending for base in bases for ending in ("", "s", "es", "ed", "d")}
    forms.add(f"{stem}ed")
    if stem.endswith("y"):
        forms |= {f"{stem[:-1]}ies", f"{stem[:-1]}ied"}
    return forms


def least_mean_most(values: Any) -> list[float] | None:
    """Return three numbers; None of no values."""
    return [float(values.min()), float(values.mean()), float(values.max())] if len(values) else None
