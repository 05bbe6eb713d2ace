"""How many descriptions and captions a corpus has, what rewording the rest would cost, and what was replaced so far.

Each of these reads all descriptions. So a large corpus is counted by a job, and pages show what it counted last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F
from django.db.models.functions import Now

from base.text import harmless
from corpus.counting import AT_ONCE
from corpus.models import Corpus, Moment
from jobs.models import Job
from jobs.registry import SELF, Report, kind
from retrieval.models import CaptionFigures, Rewording, Substitution, is_under_way, may_become_queries
from retrieval.rewriting.by_chat import ChatSubstituter, at_prices, messages, tokens, tokens_of
from retrieval.rewriting.cast import LISTS

FRAME = '{"number": 10, "caption": ""}, '  # what surrounds each caption in an answer
ARTICLES = {"a", "an", "the"}
MALE, FEMALE = LISTS["male"], LISTS["female"]
MOST = 10_000  # words, and pairs, that are listed
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(frozen=True)
class Figures:
    """What was counted.

    descriptions, captions: how many distinct ones the corpus has.
    ready: how many distinct captions may become queries.
    """

    descriptions: int
    captions: int
    ready: int
    estimate: Estimate
    replaced: Replacements

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Figures:
        replaced = stored["replaced"] | {"words": [Word(**each) for each in stored["replaced"]["words"]]}
        parts = {"estimate": Estimate(**stored["estimate"]), "replaced": Replacements(**replaced)}
        return cls(**stored | parts)


@dataclass(frozen=True)
class Counted:
    """The figures of a corpus, when they were counted if captions have changed since, and the job that counts."""

    figures: Figures | None
    old: datetime | None = None
    job: Job | None = None


def ready_in(known: Counted | None) -> int | None:
    """Return how many captions may become queries, if that is known and still true."""
    return known.figures.ready if known and known.figures and not known.old else None


def counted(corpus: Corpus) -> Counted:
    """Return the figures of a corpus. Those of a large one are the stored ones; a job counts them when they are old."""
    some = Moment.objects.filter(video__corpus=corpus).order_by()[: AT_ONCE + 1]
    if some.count() <= AT_ONCE:
        return Counted(count(corpus))
    row = CaptionFigures.objects.filter(corpus=corpus).first()
    figures = Figures.of(row.figures) if row else None
    if row and row.mark == mark_of(corpus):
        return Counted(figures)
    job = count_captions.jobs(corpus).first()
    if (job is None or job.state == Job.State.DONE) and not is_under_way(corpus):
        job = count_captions.ask(corpus)
    return Counted(figures, row.at if row else None, job)


@kind("count-captions", "Count captions", of=Corpus, owner=SELF, page=("captions", "pk"), for_leads=True)
def count_captions(corpus: Corpus, report: Report) -> None:
    """Count, and store what was counted."""
    mark = mark_of(corpus)  # before counting: what changes meanwhile has to be counted again
    figures = asdict(count(corpus, report))
    CaptionFigures.objects.update_or_create(corpus=corpus, defaults={"figures": figures, "mark": mark, "at": Now()})


def count(corpus: Corpus, report: Report = lambda done, total, message="": None) -> Figures:
    """Count all of a corpus."""
    moments = Moment.objects.filter(video__corpus=corpus).order_by()
    report(0, 5, "counting descriptions")
    descriptions = moments.values("description").distinct().count()
    report(1, 5, "counting captions")
    captions = moments.values("caption").distinct().count()
    report(2, 5, "counting captions that may become queries")
    ready = may_become_queries(corpus).order_by().values("caption").distinct().count()
    report(3, 5, "estimating what the chat endpoint would cost")
    cost = estimate(corpus)
    report(4, 5, "counting what was replaced")
    return Figures(descriptions, captions, ready, cost, replacements(corpus))


def mark_of(corpus: Corpus) -> list[Any]:
    """Return what changes whenever moments are imported, a substitution goes on, or a lead accepts a caption."""
    rows = Rewording.objects.filter(corpus=corpus).order_by()
    last = Substitution.objects.filter(corpus=corpus).order_by("-pk").values_list("pk", "ended").first()
    states = sorted(rows.values_list("state").annotate(Count("pk")))
    changes = Corpus.objects.values_list("changes", flat=True).get(pk=corpus.pk)
    return [changes, [list(each) for each in states], [str(each) for each in last or ()]]


@dataclass(frozen=True)
class Estimate:
    """How many descriptions are to be reworded, in how many requests, and what they cost at the settings' prices."""

    descriptions: int
    requests: int
    input_tokens: int
    output_tokens: int

    @property
    def cost(self) -> float:
        return at_prices(self.input_tokens, self.output_tokens)


def estimate(corpus: Corpus, again: bool = False) -> Estimate:
    """Return what rewording by the chat endpoint will cost if every first answer passes the checks."""
    moments = Moment.objects.filter(video__corpus=corpus)
    texts = set(moments.filter(caption=F("description")).values_list("description", flat=True))
    rows = Rewording.objects.filter(corpus=corpus)
    done = rows.filter(state=Rewording.State.ACCEPTED) if again else rows.settled()
    texts |= set(rows.values_list("before", flat=True))
    texts -= set(done.values_list("before", flat=True))
    count, size = len(texts), ChatSubstituter.at_a_time
    requests = -(-count // size)
    frame = tokens_of(messages([]))
    text_tokens = sum(map(tokens, texts))
    sent = requests * frame + text_tokens + count * tokens(FRAME)
    answered = text_tokens + count * tokens(FRAME)
    return Estimate(count, requests, sent, answered)


@dataclass(frozen=True)
class Word:
    """A word that was put in, how often, and its gender: M, F, or N for neither."""

    word: str
    count: int
    gender: str


@dataclass(frozen=True)
class Replacements:
    """What was replaced in the captions that are settled; each moment counts.

    words: the words that were put in, without articles, most frequent first.
    pairs: what was taken out and what was put in, most frequent first.
    descriptions: the number of moments whose caption is settled.
    changed: the number of these whose caption differs from the description.
    total: the number of words that were put in.
    left_out: how many rarer words and pairs are not listed.
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
    genders = dict.fromkeys(FEMALE, "F") | dict.fromkeys(MALE, "M")
    ranked = [Word(each, count, genders.get(each, "N")) for each, count in words.most_common() if each not in ARTICLES]
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
