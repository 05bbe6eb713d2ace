"""Carrying out a substitution: each distinct description is proposed a caption, checked, and stored, a few at a time.

Every answer is stored before it is checked, and every verdict together with the captions that it makes. So a
substitution that was interrupted goes on where it stopped, and asks for no answer twice.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from base.errors import ReeljudgeError
from base.transactions import ROWS_AT_A_TIME
from corpus.models import Corpus, Moment
from jobs.parts import share
from jobs.registry import Report, kind
from retrieval.captions import encode_captions
from retrieval.embedding import model_name
from retrieval.models import CastName, Rewording, RewordingQuerySet, Substitution
from retrieval.rewriting.by_cast import CastSubstituter
from retrieval.rewriting.by_chat import ChatSubstituter, Endpoint
from retrieval.rewriting.cast import Cast, Entry, Lexicon
from retrieval.rewriting.cast_file import descriptions_of
from retrieval.rewriting.checks import Finder, Proposal, Substituter, check, finder

State = Rewording.State
SETTLED_AT_A_TIME = 500  # between two reports, each of which renews the lease
OF_A_PART = 50  # descriptions, in some requests; an endpoint that talks rubbish is given up within one
AT_ONCE = 32 * OF_A_PART  # that are checked and made captions when all of them are answered


def cast_of(corpus: Corpus) -> Cast:
    """Return the confirmed cast list of a corpus."""
    names = CastName.objects.filter(corpus=corpus, confirmed=True)
    entries = [Entry(each.name, each.phrase, each.same_as) for each in names if not each.stays]
    return Cast(entries, [each.name for each in names if each.stays], Lexicon(descriptions_of(corpus)))


def substituter_of(order: Substitution, cast: Cast) -> Substituter:
    """Return what the order asks for. Raises ReeljudgeError without an endpoint, or without confirmed names."""
    if order.by == Substitution.By.CHAT:
        return ChatSubstituter(Endpoint.from_settings())
    if not cast.entries:
        raise ReeljudgeError("The cast list has no confirmed names. Draft it, and say what stands for each person.")
    return CastSubstituter(cast)


def carry_out(order: Substitution, report: Report, substituter: Substituter | None = None) -> None:
    """Reword the descriptions of a corpus. Doing it again, or going on after a stop, does nothing twice.

    A substitution by the cast list renews what another cast list made, and one by the chat endpoint leaves alone what
    passed the checks, unless it is asked for again. What a lead accepted is never touched. Raises EndpointAway if the
    endpoint cannot be reached now. What was answered so far is stored. Raises ReeljudgeError if the settings or the
    cast list are wrong.
    """
    if order.ended:
        return
    report(0, 0, "reading the descriptions")
    cast = cast_of(order.corpus)
    work = _Work(order, substituter or substituter_of(order, cast), cast, report)
    work.list_descriptions()
    work.apply_settled()
    work.check_all(Rewording.objects.filter(corpus=order.corpus, state=State.PROPOSED))
    encode_captions(order.corpus, report)  # nearly all are needed for checks or for a ranking, and parts are shared
    in_parts = substituter is None and order.by == Substitution.By.CHAT
    for attempt, state in ((1, State.OPEN), (2, State.AGAIN)):
        while rows := list(work.rows(state)[: AT_ONCE if in_parts else work.substituter.at_a_time]):
            if in_parts:
                _share(order, rows, attempt, report)
            else:
                propose(order, work.substituter, rows, attempt, work.tell)
            work.check_all(Rewording.objects.filter(pk__in=[row.pk for row in rows]))
    Substitution.objects.filter(pk=order.pk).update(ended=Now())
    work.tell()


def _share(order: Substitution, rows: list[Rewording], attempt: int, report: Report) -> None:
    """Have every free worker ask the endpoint, which takes far longer to answer than the answers to be checked."""
    some = [rows[start : start + OF_A_PART] for start in range(0, len(rows), OF_A_PART)]
    parts = [{"attempt": attempt, "first": each[0].pk, "last": each[-1].pk} for each in some]
    share(ask_endpoint, order, parts, report, "asking the chat endpoint")


@kind("ask-endpoint", "Ask the chat endpoint", of=Substitution, is_part=True)
def ask_endpoint(order: Substitution, report: Report, attempt: int, first: int, last: int) -> None:
    """Store what the endpoint proposes for these descriptions, if nothing is proposed for them yet."""
    state = State.OPEN if attempt == 1 else State.AGAIN
    rows = Rewording.objects.filter(corpus=order.corpus, state=state, pk__range=(first, last)).order_by("pk")
    substituter = ChatSubstituter(Endpoint.from_settings())
    while some := list(rows[: substituter.at_a_time]):
        propose(order, substituter, some, attempt, lambda: report(0, 1))


def propose(
    order: Substitution, substituter: Substituter, rows: list[Rewording], attempt: int, beat: Callable[[], None]
) -> None:
    """Store what the substituter proposes, answer by answer, and what it cost, whatever becomes of it."""
    place = 0
    try:
        for proposals in substituter.propose([row.before for row in rows], attempt, beat):
            _store(rows[place : place + len(proposals)], proposals, attempt)
            place += len(proposals)
    finally:
        if isinstance(substituter, ChatSubstituter):
            order.spend(substituter.endpoint.take_usage())


def _store(rows: list[Rewording], proposals: list[Proposal], attempt: int) -> None:
    for row, proposal in zip(rows, proposals, strict=True):
        row.after, row.replaced, row.why = proposal.after, proposal.replaced, proposal.why
        row.state, row.attempts = State.PROPOSED, attempt
    fields = ["after", "replaced", "why", "state", "attempts"]
    Rewording.objects.bulk_update(rows, fields, batch_size=ROWS_AT_A_TIME // len(fields))


class _Work:
    def __init__(self, order: Substitution, substituter: Substituter, cast: Cast, report: Report) -> None:
        self.order, self.substituter, self.report = order, substituter, report
        self.corpus, self.cast = order.corpus, cast
        self.total = 0

    @cached_property
    def names(self) -> Finder:
        return finder(self.cast)

    def rows(self, *states: Rewording.State) -> RewordingQuerySet:
        return Rewording.objects.filter(corpus=self.corpus, state__in=states).order_by("pk")

    @transaction.atomic
    def list_descriptions(self) -> None:
        """Make a row for each description that has none, and open again what this order has to renew."""
        known = set(Rewording.objects.filter(corpus=self.corpus).values_list("before", flat=True))
        made_by = self.substituter.made_by
        fresh = [
            Rewording(corpus=self.corpus, before=text, substitution=self.order, made_by=made_by)
            for text in self._as_they_are
            if text not in known
        ]
        Rewording.objects.bulk_create(fresh, batch_size=ROWS_AT_A_TIME)
        mine = {"state": State.OPEN, "attempts": 0, "made_by": made_by, "substitution": self.order, "why": ""}
        self._to_renew().update(**mine, after="", similarity=None, replaced=[])
        self.total = self.rows(State.OPEN, State.AGAIN, State.PROPOSED).count()
        own = Rewording.objects.filter(substitution=self.order).count()
        Substitution.objects.filter(pk=self.order.pk).update(descriptions=own)

    def _to_renew(self) -> RewordingQuerySet:
        """Return the rows that another cast list, another model or another order has left, and that this one renews."""
        order, rows = self.order, Rewording.objects.filter(corpus=self.corpus)
        others = ~Q(made_by=self.substituter.made_by)
        renewed = others & Q(state__in=[State.OPEN, State.AGAIN, State.QUEUED])
        if order.by == Substitution.By.CAST:
            renewed |= others & Q(state=State.VERIFIED, substitution__by=Substitution.By.CAST)
        if order.again:
            renewed |= ~Q(substitution=order) & Q(state__in=[State.VERIFIED, State.QUEUED])
        return rows.filter(pk__in=rows.filter(renewed).values("pk"))

    @cached_property
    def _moments(self) -> dict[bytes, list[int]]:
        """The keys of the moments whose captions are ours to set, by a hash of their description."""
        ours = Rewording.objects.filter(corpus=self.corpus).values_list("before", flat=True)
        known = set(map(_hash, ours.iterator()))
        found: dict[bytes, list[int]] = defaultdict(list)
        moments = Moment.objects.filter(video__corpus=self.corpus).values_list("pk", "description", "caption")
        for pk, description, caption in moments.iterator():
            if caption == description or _hash(description) in known:
                found[_hash(description)].append(pk)
        return found

    @cached_property
    def _as_they_are(self) -> list[str]:
        """The distinct descriptions of moments to which the corpus gave no caption of its own."""
        moments = Moment.objects.filter(video__corpus=self.corpus, caption=F("description"))
        return list(moments.order_by("description").values_list("description", flat=True).distinct())

    def apply_settled(self) -> None:
        """Give moments that were imported later the captions that their descriptions have already."""
        bare = set(self._as_they_are)
        settled = Rewording.objects.filter(corpus=self.corpus).settled().exclude(after=F("before"))
        fitting = [row for row in settled.iterator() if row.before in bare]
        for first in range(0, len(fitting), SETTLED_AT_A_TIME):
            with transaction.atomic():
                for row in fitting[first : first + SETTLED_AT_A_TIME]:
                    self._set_caption(row, row.after)
            self.tell()

    def check_all(self, proposals: RewordingQuerySet) -> None:
        """Check what is proposed, and set the captions of what passes."""
        rows = list(proposals)
        if not rows:
            return
        proposed = [row for row in rows if row.after]
        pairs = [(row.before, row.after) for row in proposed]
        for row, verdict in zip(proposed, check(pairs, self.names, self.tell), strict=True):
            row.similarity, row.encoder, row.why = verdict.similarity, model_name(), verdict.why
        for row in rows:
            again = row.attempts < self.substituter.attempts
            row.state = State.VERIFIED if not row.why else State.AGAIN if again else State.QUEUED
        with transaction.atomic():
            fields = ["similarity", "encoder", "why", "state"]
            Rewording.objects.bulk_update(rows, fields, batch_size=ROWS_AT_A_TIME // len(fields))
            for row in rows:
                self._set_caption(row, row.after if row.state == State.VERIFIED else row.before)
        self.tell()

    def _set_caption(self, row: Rewording, caption: str) -> None:
        if keys := self._moments.get(_hash(row.before)):
            Moment.objects.filter(pk__in=keys).exclude(caption=caption).update(caption=caption)

    def tell(self) -> None:
        """Report how many descriptions are done, and what they cost so far. This renews the lease of the job."""
        left = self.rows(State.OPEN, State.AGAIN, State.PROPOSED).count()
        done = max(0, self.total - left)
        message = f"rewording: {done:,} of {self.total:,} descriptions"
        if self.order.by == Substitution.By.CHAT:
            order = Substitution.objects.get(pk=self.order.pk)
            message += f", cost so far {order.cost:.4f}"
        self.report(done, self.total, message)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]
