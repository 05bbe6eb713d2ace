"""Practice: clips whose answer is known are taken again, with feedback. No consensus and no release has its grades.

The clips are the lead's examples and, once an annotator is qualified, the pairs of the exam that they got right. The
active time counts as that of a press does, within the limit of the clip and as far as the clock allows. It counts for
those who get work; reports pay of it at most a share of the day's judging.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Exists, Max, OuterRef
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext

from base.errors import NotFound
from base.transactions import all_or_nothing, locked
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership, spend
from corpus.models import Clip
from judging.models import Candidate, Example, Flag, Judgement, Kind, Practice, Sitting
from judging.models.judgement import JudgementQuerySet
from judging.quality.exam import exam_grades, reason_for, truths
from judging.quality.examples import DONE, visible_examples
from judging.work.saving import counted, unrecorded

READING = 120  # seconds after an answer in which its explanation may still be read
AWAY = timedelta(days=7)  # after which practice is suggested


@dataclass(frozen=True)
class Known:
    """A clip beside a query, with the right grade."""

    of: Example | Candidate
    query: str
    truth: float  # a median of an exam can end in a half
    why: str

    @property
    def clip(self) -> Clip | None:
        return self.of.clip

    @property
    def right(self) -> list[int]:
        """The right grade, or the two between which it lies."""
        return sorted({math.floor(self.truth), math.ceil(self.truth)})

    @property
    def in_words(self) -> str:
        """The right grade with its name, or the two between which it lies."""
        names = [f"{grade} ({LEVELS[grade][0]})" for grade in self.right]
        return names[0] if len(names) == 1 else gettext("between {low} and {high}").format(low=names[0], high=names[1])


def known_clips(member: Membership) -> list[Known]:
    """Return the clips that the member can practise with."""
    examples = visible_examples(member.campaign.examples.all()).select_related("clip", "moment")
    found = [Known(example, example.query, example.grade, example.why) for example in examples]
    if passed := list(passed_pairs([member]).values_list("candidate", flat=True)):
        pairs = Candidate.objects.filter(pk__in=passed).exclude(Exists(_to_judge_in_the_pool()))
        known = truths(member.campaign, exam_grades(member.campaign))
        found += [
            Known(pair, pair.query.text, known[pair.pk], reason_for(pair) if pair.why else "")
            for pair in pairs.select_related("query", "clip", "moment")
            if pair.pk in known
        ]
    return [each for each in found if each.clip and each.clip.is_ready]


def passed_pairs(members: Iterable[Membership]) -> JudgementQuerySet:
    """Return the judgements of the exam's pairs that qualified members got right in the end."""
    marked = Sitting.objects.filter(member=OuterRef("annotator")).exclude(result=Sitting.Result.OPEN)
    flagged = Flag.objects.filter(assignment=OuterRef("assignment"), candidate=OuterRef("candidate"))
    of_exam = {"candidate__batch__kind": Kind.EXAM, "candidate__query__withdrawn": None, "returned": None}
    own = Judgement.objects.filter(annotator__in=members, annotator__qualified__isnull=False, **of_exam)
    return own.filter(Exists(marked)).exclude(Exists(flagged))


def _to_judge_in_the_pool() -> Exists:
    """Whether the pair of an exam is in the pool, too, and is still to be judged there."""
    same = {"query__campaign": OuterRef("query__campaign"), "query__text": OuterRef("query__text")}
    pool = Candidate.objects.filter(**same, moment=OuterRef("moment"), query__withdrawn=None)
    return Exists(pool.exclude(query__kind=Kind.EXAM).exclude(outcome__in=DONE))


@all_or_nothing
def begin(member: Membership) -> Practice | None:
    """Give the member the known clip that they took longest ago, or the one that they have not answered.

    Its clock begins now; or when the clip before it was answered, if that was just now, so that reading why counts too.
    Return None if there is nothing to practise with. Raise TooManyRequests if the settings allow no more clips now.
    """
    locked(Membership.objects.filter(pk=member.pk)).get()
    known = known_clips(member)
    given = member.practices.filter(at=None).first()
    if given and any(each.of in (given.example, given.candidate) for each in known):
        member.practices.filter(pk=given.pk).update(began=Now())
        return given
    member.practices.filter(at=None).delete()  # its clip is gone; nothing is said of it
    if not known:
        return None
    spend(member.user_id, "PRACTICE_RATE", gettext("You have practised with many clips in a short time."))
    chosen = min(known, key=_turn(member))
    what = "example" if isinstance(chosen.of, Example) else "candidate"
    return member.practices.create(**{what: chosen.of}, began=_clock(member))


def _clock(member: Membership) -> Any:
    """Return when the clock of the next clip begins. The answer before it belongs to the time before."""
    last = member.practices.filter(at__gt=Now() - timedelta(seconds=READING)).last()
    return last.at + timedelta(microseconds=1) if last and last.at else Now()


def _turn(member: Membership) -> Callable[[Known], tuple[float, bytes]]:
    """Return the order of the clips: those never taken first, the others by when, and by chance among the same."""
    times = member.practices.order_by().values_list("example", "candidate").annotate(last=Max("at"))
    last = {(example, candidate): at.timestamp() for example, candidate, at in times if at}

    def turn(known: Known) -> tuple[float, bytes]:
        key = (known.of.pk, None) if isinstance(known.of, Example) else (None, known.of.pk)
        return last.get(key, 0.0), hashlib.sha256(f"{member.pk}:{key}".encode()).digest()

    return turn


def known_of(practice: Practice) -> Known:
    """Return what is practised, with its right grade. Raise NotFound if it is no known clip any more."""
    taken = practice.example or practice.candidate
    for each in known_clips(practice.annotator):
        if each.of == taken:
            return each
    raise NotFound(gettext("This clip is not there any more. Take another one."))


@all_or_nothing
def answer(practice: Practice, grade: int, seconds: float | None) -> Practice:
    """Store the grade of a practised clip, and the active seconds that count. The first answer holds.

    `seconds` is None if the browser did not measure them.
    """
    member = locked(Membership.objects.filter(pk=practice.annotator_id)).select_related("campaign").get()
    practice = Practice.objects.select_related("annotator", "example__moment", "candidate__moment").get(pk=practice.pk)
    if practice.at is not None:
        return practice
    practice.grade, practice.reported = grade, seconds
    practice.seconds = _counted(member, practice, seconds)
    practice.at = Now()
    practice.save(update_fields=["grade", "reported", "seconds", "at"])
    practice.refresh_from_db()
    return practice


def _counted(member: Membership, practice: Practice, reported: float | None) -> float | None:
    """Return the seconds that count: within the limit of a press, and the clock.

    Return None if they were not measured, or the member gets no work, so that none count.
    """
    taken = practice.example or practice.candidate
    if taken is None or member.must_pass_exam or not member.may_judge:
        return None
    return counted(reported, member.campaign.most_seconds(taken.moment.length), unrecorded(practice))


def is_suggested(member: Membership) -> bool:
    """Return whether the annotator comes back after a week, and there is something to practise with."""
    if member.must_pass_exam or not member.may_judge:
        return False
    last = member.assignments.aggregate(began=Max("began"), submitted=Max("submitted"))
    times = [*last.values(), member.practices.aggregate(at=Max("at"))["at"]]
    newest = max((time for time in times if time), default=None)
    return newest is not None and newest < timezone.now() - AWAY and bool(known_clips(member))
