"""What was replaced in a corpus, how often: Table 3 of TVR-Ranking for any corpus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count

from base.text import harmless
from corpus.models import Corpus, Moment
from retrieval.rewriting.models import Rewording
from retrieval.rewriting.words import LISTS

ARTICLES = {"a", "an", "the"}
MALE, FEMALE = LISTS["male"], LISTS["female"]
MOST = 10_000  # words, and pairs, that are listed
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(frozen=True)
class Word:
    """A word that was put in, how often, and its gender: M, F, or N for neither."""

    word: str
    count: int
    gender: str


@dataclass(frozen=True)
class Replacements:
    """What was replaced in the captions that are settled; each moment counts.

    Attributes
    ----------
    words
        The words that were put in, without articles, most frequent first.
    pairs
        What was taken out and what was put in, most frequent first.
    descriptions
        The number of moments whose caption is settled.
    changed
        The number of these whose caption differs from the description.
    total
        The number of words that were put in.
    left_out
        How many rarer words and pairs are not listed.
    """

    words: list[Word]
    pairs: list[tuple[str, str, int]]
    descriptions: int
    changed: int
    total: int
    left_out: int = 0

    @property
    def per_description(self) -> float:
        return self.total / self.descriptions if self.descriptions else 0.0


def replacements(corpus: Corpus) -> Replacements:
    """Count what was replaced in the captions of a corpus."""
    moments = Moment.objects.filter(video__corpus=corpus).order_by()
    times = dict(moments.values_list("description").annotate(Count("pk")))
    words: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    descriptions = changed = 0
    settled = Rewording.objects.filter(corpus=corpus).settled().values_list("before", "after", "replaced")
    for before, after, replaced in settled.iterator():
        if not (weight := times.get(before, 0)):
            continue
        descriptions += weight
        changed += weight * (before != after)
        for old, new in replaced:
            pairs[old, _plain(new)] += weight
            for word, count in (_words(new) - _words(old)).items():
                words[word] += weight * count
    ranked = [Word(word, count, _gender(word)) for word, count in words.most_common() if word not in ARTICLES]
    return Replacements(
        words=ranked[:MOST],
        pairs=[(*pair, count) for pair, count in pairs.most_common(MOST)],
        descriptions=descriptions,
        changed=changed,
        total=sum(word.count for word in ranked),
        left_out=max(0, len(ranked) - MOST) + max(0, len(pairs) - MOST),
    )


def rows(found: Replacements) -> Iterator[list[object]]:
    """Yield the rows of a CSV file: the words, then the pairs."""
    yield ["kind", "before", "after", "count", "gender"]
    for word in found.words:
        yield ["word", "", harmless(word.word), word.count, word.gender]
    for old, new, count in found.pairs:
        yield ["pair", harmless(old), harmless(new), count, ""]


def _words(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.lower()))


def _plain(text: str) -> str:
    """Return the text with a small first letter, so that a phrase counts as one wherever it stands."""
    return text[:1].lower() + text[1:]


def _gender(word: str) -> str:
    return "M" if word in MALE else "F" if word in FEMALE else "N"
