"""Rewording a corpus: asking for it, carrying it out, and a lead's word on what waits.

Candidates are ranked by captions. So captions change only while no campaign over the corpus has candidates.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F
from django.db.models.functions import Now

from base.errors import BadValue, WrongState
from base.text import abbreviated, storable
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign
from corpus.errors import CorpusError
from corpus.importers.rows import LONGEST_TEXT
from corpus.models import Corpus, Moment
from jobs.models import Job
from jobs.registry import SELF, Report, kind
from judging.models import Candidate
from judging.pool.ranking import rank_candidates
from retrieval.models import REWORD, CastName, Rewording, Substitution, is_under_way
from retrieval.rewriting.cast_file import draft_cast
from retrieval.rewriting.checks import differences
from retrieval.rewriting.counting import count_captions, counted
from retrieval.rewriting.substituting import carry_out

SUBSTITUTIONS, WORDS, PAIRS = 10, 12, 50  # as many as are listed
By = Substitution.By


def refuse_if_ranked(corpus: Corpus, waiting: bool = True) -> None:
    """Raise an error if captions of the corpus may not change any more.

    Raise WrongState if a campaign over the corpus has candidates, or they are being ranked, or, with `waiting`, are to
    be.
    """
    over = Campaign.objects.filter(corpus=corpus).order_by("pk")
    ranked = Candidate.objects.filter(query__campaign__in=over).select_related("query__campaign").first()
    states = [Job.State.RUNNING, Job.State.WAITING] if waiting else [Job.State.RUNNING]
    ranking = rank_candidates.jobs(over).filter(state__in=states).first()
    if ranked or ranking:
        name = ranked.query.campaign if ranked else ranking.subject if ranking else ""
        raise WrongState(
            f"The candidates of campaign {name} are ranked by the captions of corpus {corpus}, so these cannot change "
            "any more. Import the corpus under another name to reword it anew."
        )


@all_or_nothing
def ask_for_rewording(corpus: Corpus, by: str, asked_by: User | None = None, again: bool = False) -> Job:
    """Return the job that rewords a corpus. An earlier substitution of the same kind that has not ended goes on.

    Raise WrongState if a campaign over the corpus has candidates, or another substitution is under way.
    """
    list(locked(Corpus.objects.filter(pk=corpus.pk)))
    refuse_if_ranked(corpus)
    model = settings.CHAT_MODEL if by == By.CHAT else ""
    unended = Substitution.objects.filter(corpus=corpus, ended=None).order_by("-pk").first()
    same = unended and (unended.by, unended.model, unended.again) == (by, model, again)
    if is_under_way(corpus) and not same:
        raise WrongState(f"Corpus {corpus} is being reworded. Wait until that has ended.")
    order = unended if unended and same else _new_order(corpus, by, model, asked_by, again)
    return reword_descriptions.ask(corpus, substitution=order.pk)


def _new_order(corpus: Corpus, by: str, model: str, asked_by: User | None, again: bool) -> Substitution:
    Substitution.objects.filter(corpus=corpus, ended=None).update(ended=Now())
    prices = {"input_price": settings.CHAT_INPUT_PRICE, "output_price": settings.CHAT_OUTPUT_PRICE}
    return Substitution.objects.create(
        corpus=corpus, by=by, model=model, asked_by=asked_by, again=again, **(prices if by == By.CHAT else {})
    )


@kind(
    REWORD,
    "Reword descriptions",
    of=Corpus,
    owner=SELF,
    page=("captions", "pk"),
    for_leads=True,
    refusals=(CorpusError,),
)
def reword_descriptions(corpus: Corpus, report: Report, substitution: int) -> None:
    """Reword a corpus. If the chat endpoint is away, the job waits for it, and goes on where it stopped."""
    order = corpus.substitutions.get(pk=substitution)
    if not order.ended:
        refuse_if_ranked(corpus, waiting=False)  # a ranking that waits does so for this to end
        carry_out(order, report)


@all_or_nothing
def accept_caption(rewording: Rewording, user: User, text: str) -> bool:
    """Make a text the caption of a description that waits for a lead, and note who accepted it and when.

    Return whether this call did it. Accepting the same text twice is harmless. Raise BadValue if the text cannot be a
    caption, and WrongState if the description does not wait for a lead, or captions may not change any more.
    """
    caption = " ".join(text.split())
    if not caption or not storable(text) or len(caption.encode()) > LONGEST_TEXT:
        raise BadValue("caption", abbreviated(caption), f"a text of at most {LONGEST_TEXT:,} bytes")
    row = locked(Rewording.objects.select_related("corpus").filter(pk=rewording.pk)).get()
    if row.state == Rewording.State.ACCEPTED and row.after == caption:
        return False
    if row.state != Rewording.State.QUEUED:
        raise WrongState("This description does not wait any more: it was accepted, or is being reworded again.")
    refuse_if_ranked(row.corpus)
    Rewording.objects.filter(pk=row.pk).update(
        after=caption, replaced=differences(row.before, caption), state=Rewording.State.ACCEPTED, by=user, at=Now()
    )
    moments = Moment.objects.filter(video__corpus=row.corpus, description=row.before)
    moments.filter(caption=F("description")).update(caption=caption)
    return True


def count_waiting(corpus: Corpus) -> int:
    """Return how many descriptions wait for a lead."""
    return Rewording.objects.filter(corpus=corpus).queued().count()


def state_of(corpus: Corpus) -> dict[str, Any]:
    """Return how far a corpus is reworded: what was counted, what waits, what it cost, and the jobs."""
    mine = Rewording.objects.filter(corpus=corpus)
    has_endpoint = bool(settings.CHAT_URL and settings.CHAT_MODEL)
    known = counted(corpus)
    asks = known.figures and has_endpoint and not is_under_way(corpus)
    return {
        "counted": known,
        "settled": mine.settled().count(),
        "queued": mine.queued().count(),
        "confirmed": CastName.objects.filter(corpus=corpus, confirmed=True, stays=False).count(),
        "drafted": CastName.objects.filter(corpus=corpus, confirmed=False).count(),
        "model": settings.CHAT_MODEL if has_endpoint else "",
        "estimate": known.figures.estimate if known.figures and asks else None,
        "substitutions": Substitution.objects.filter(corpus=corpus).order_by("-pk")[:SUBSTITUTIONS],
        **jobs_of(corpus),
    }


def jobs_of(corpus: Corpus) -> dict[str, Any]:
    """Return the jobs that reword, draft or count and are not done, and whether any is under way."""
    kinds = [REWORD, draft_cast.code, count_captions.code]
    jobs = list(Job.objects.owned_by(corpus).not_done().filter(kind__in=kinds).order_by("pk"))
    return {"jobs": jobs, "is_working": any(not job.has_failed for job in jobs)}
