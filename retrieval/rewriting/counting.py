"""How many descriptions and captions a corpus has, what rewording the rest would cost, and what was replaced so far.

Each of these reads all descriptions. So a large corpus is counted by a job, and pages show what it counted last.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, F
from django.db.models.functions import Now

from corpus.models import Corpus, Moment
from jobs.models import Job
from jobs.registry import SELF, Report, kind
from retrieval.rewriting.by_chat import ChatSubstituter, messages
from retrieval.rewriting.endpoint import tokens
from retrieval.rewriting.models import CaptionFigures, Rewording, Substitution, is_under_way, may_become_queries
from retrieval.rewriting.replaced import Replacements, Word, replacements

AT_ONCE = 5000  # moments; a corpus with more is counted by a job
FRAME = '{"number": 10, "caption": ""}, '  # what surrounds each caption in an answer


@dataclass(frozen=True)
class Figures:
    """What was counted.

    Attributes
    ----------
    descriptions, captions
        How many distinct ones the corpus has.
    ready
        How many distinct captions may become queries.
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
        sent: float = self.input_tokens * settings.CHAT_INPUT_PRICE
        got: float = self.output_tokens * settings.CHAT_OUTPUT_PRICE
        return (sent + got) / 1e6


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
    frame = sum(tokens(message["content"]) for message in messages([]))
    text_tokens = sum(map(tokens, texts))
    sent = requests * frame + text_tokens + count * tokens(FRAME)
    answered = text_tokens + count * tokens(FRAME)
    return Estimate(count, requests, sent, answered)
