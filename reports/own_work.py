"""What annotators read about themselves: hours, earnings, agreement in words, the exam, and conversations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Abs
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from base.dates import start_of_day, start_of_week
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership, Message
from corpus.models import Clip
from judging.consensus import GRADES
from judging.models import Assignment, Candidate, Judgement, Kind, Query, Question, Revision, Sitting
from judging.models.judgement import JudgementQuerySet
from judging.quality.exam import pairs_that_came_back, reason_for
from reports.hours import Rates, Worked, total, worked_by_day, worked_in_assignment

DAYS = 14
COMPARED = 100  # newest settled pairs that the words about agreement are based on
FEWEST = 20  # pairs below which nothing is said about agreement
CLOSE = 1  # grades from the final one
FEWEST_ALIKE = 5  # pairs below which a difference is no habit
LEANING = 0.15  # share of the pairs that differ the same way


@dataclass(frozen=True)
class WorkRow:
    """The work of a day or a period, as the annotator reads it."""

    worked: Worked
    time: str
    earned: str
    day: date | None = None


def fortnight(member: Membership) -> dict[str, Any]:
    """The days of the last two weeks with work, newest first; their total; and earlier hourly rates."""
    first = timezone.localdate() - timedelta(days=DAYS - 1)
    days, rates = worked_by_day(member, start_of_day(first), start_of_day(later=1)), Rates.of(member.campaign)
    return {
        "days": [_row(member, rates, {day: days[day]}, day) for day in sorted(days, reverse=True)],
        "total": _row(member, rates, days),
        "earlier_rates": [(last, rate) for last, rate in rates.past if last >= first],
    }


def done_in(assignment: Assignment) -> dict[str, Any]:
    """What an assignment counts: its seconds, and what they earn in words, empty if no day of it has a rate."""
    days = worked_in_assignment(assignment)
    return {"seconds": float(total(days.values()).seconds), "earned": _money(assignment.annotator, days)}


def _newest_settled(member: Membership) -> JudgementQuerySet:
    """Return the annotator's newest judgements that count, of pairs that are settled."""
    # The annotator and the state of the assignment are those that an index has in the order of submission.
    newest = {"assignment__annotator": member, "assignment__state": Assignment.State.SUBMITTED}
    settled = Judgement.objects.filter(**newest, seat__isnull=False, assignment__batch__kind=Kind.POOL)
    settled = settled.filter(candidate__outcome=Candidate.Outcome.SETTLED)
    return settled.order_by("-assignment__submitted", "-pk")[:COMPARED]


def agreement(member: Membership) -> str:
    """How the annotator's grades compare with the final ones, in words and never in numbers."""
    apart = _newest_settled(member).values_list(Abs(F("grade") - F("candidate__grade")), flat=True)
    close = [distance <= CLOSE for distance in apart]
    if len(close) < FEWEST:
        return _("It is too early to say how your grades compare with the final ones.")
    share = sum(close) / len(close)
    if share >= 0.9:
        return _("Nearly all of your recent grades are close to the final ones.")
    if share >= 0.75:
        return _("Most of your recent grades are close to the final ones.")
    return _(
        "Many of your recent grades are far from the final ones. Please read the guideline again, or ask your lead."
    )


def direction(member: Membership) -> str:
    """Say which way the annotator's grades lean, beside those of the others on the same pairs, which are settled.

    It tells a habit that many pairs show, never their number, and of no pair what others said. The text is empty while
    too few pairs are settled. The final grade would not do here: of two neighbouring grades it is the higher one, so
    everybody would seem to lean down.
    """
    own = dict(_newest_settled(member).values_list("candidate", "grade"))
    others = defaultdict(list)
    counted = Judgement.objects.filter(candidate__in=own, seat__isnull=False).exclude(annotator=member)
    for candidate, grade in counted.values_list("candidate", "grade"):
        others[candidate].append(grade)
    if len(others) < FEWEST:
        return ""
    pairs = [(own[candidate], _end(own[candidate], grades)) for candidate, grades in others.items()]
    up = [pair for pair in pairs if pair[0] > pair[1]]
    down = [pair for pair in pairs if pair[0] < pair[1]]
    many, few = (up, down) if len(up) > len(down) else (down, up)
    if len(many) < max(FEWEST_ALIKE, 2 * len(few), LEANING * len(pairs)):
        return _("Your grades lean neither up nor down beside those of others.")
    return _habit(many)


def _end(own: int, others: list[int]) -> int:
    """Return the grade nearest to the others' mean; of two, the one nearer to one's own."""
    mean = sum(others) / len(others)
    return min(GRADES, key=lambda grade: (abs(grade - mean), abs(grade - own)))


def _habit(pairs: list[tuple[int, int]]) -> str:
    """Say how one's own grade differs from where others end, given the pairs in which it is higher, or is lower."""
    [((own, end), often)] = Counter(pairs).most_common(1)
    if often < FEWEST_ALIKE:
        higher = _("You tend to give higher grades than others.")
        return higher if own > end else _("You tend to give lower grades than others.")
    names = {"own": f"{own} ({LEVELS[own][0]})", "end": f"{end} ({LEVELS[end][0]})", "where": WHERE[end]}
    return _("You tend to give %(own)s where others end at %(end)s, mostly %(where)s.") % names


# What a clip is like that has the grade.
WHERE = {
    0: gettext_lazy("where nothing that the query says happens"),
    1: gettext_lazy("where the main action is another one"),
    2: gettext_lazy("where a part of the action is missing"),
    3: gettext_lazy("where one small point differs"),
    4: gettext_lazy("where the clip shows exactly what the query says"),
}


def _row(member: Membership, rates: Rates, days: Mapping[date, Worked], day: date | None = None) -> WorkRow:
    worked = total(days.values())
    hours, minutes = worked.hours_and_minutes
    time = _("%(hours)d h %(minutes)02d min") % {"hours": hours, "minutes": minutes}
    return WorkRow(worked, time, _money(member, days, rates), day)


def _money(member: Membership, days: Mapping[date, Worked], rates: Rates | None = None) -> str:
    pay = (rates or Rates.of(member.campaign)).earned(days)
    return "" if pay is None else f"{pay:,.2f} {member.campaign.currency}".strip()


def week_of(member: Membership) -> WorkRow:
    """Return the work of the present week."""
    return _row(member, Rates.of(member.campaign), worked_by_day(member, start_of_week(), start_of_day(later=1)))


@dataclass(frozen=True)
class CameBack:
    """A pair of the exam that came back, as its examinee sees it: never its truth."""

    query: str
    clip: Clip | None
    grade: int  # the examinee's own, at the end of the round
    reason: str

    @property
    def level(self) -> str:
        """What the grade is called."""
        return str(LEVELS[self.grade][0])


@dataclass(frozen=True)
class ExamResult:
    """How a round of an annotator's exam ended."""

    sitting: Sitting
    came_back: list[CameBack]
    goes_on: bool  # whether there is another round, in which these pairs are judged once more

    @property
    def right(self) -> int:
        """The number of pairs of the round that did not come back."""
        return self.sitting.pairs - self.sitting.missed


def last_round(member: Membership) -> Sitting | None:
    """Return the last round of the member's exam that is marked, or None."""
    return member.sittings.exclude(result=Sitting.Result.OPEN).last()


def has_just_marked(assignment: Assignment) -> bool:
    """Return whether submitting the assignment has ended a round of the exam that is marked already."""
    if assignment.batch.kind != Kind.EXAM:
        return False
    marked = assignment.annotator.sittings.exclude(result=Sitting.Result.OPEN)
    return marked.filter(round=assignment.round).exists()


def exam_result(member: Membership) -> ExamResult | None:
    """Return how the member's last marked round ended, or None if no round is marked yet."""
    if (sitting := last_round(member)) is None:
        return None
    in_round = Revision.objects.filter(judgement=OuterRef("pk"), at__lte=sitting.ended)
    own = Subquery(in_round.order_by("-press", "-number").values("grade")[:1])
    # In the order in which the annotator graded them, which does not follow ranks.
    grades = dict(pairs_that_came_back([member]).order_by("pk").values_list("candidate", own))
    by_key = Candidate.objects.select_related("query", "clip").in_bulk(grades)
    pairs = [
        CameBack(by_key[key].query.text, by_key[key].clip, grade, reason_for(by_key[key]))
        for key, grade in grades.items()
    ]
    goes_on = member.qualified is None and member.sittings.filter(result=Sitting.Result.OPEN, ended=None).exists()
    return ExamResult(sitting, pairs, goes_on)


@dataclass(frozen=True)
class ConversationPart:
    """One text of a conversation: the annotator's question, or a message to the annotator."""

    written: Question | Message

    @property
    def is_own(self) -> bool:
        """Whether the annotator wrote it."""
        return isinstance(self.written, Question)

    @property
    def words(self) -> str:
        return self.written.text if isinstance(self.written, Question) else self.written.words


@dataclass(frozen=True)
class Conversation:
    """What an annotator and the leads wrote to each other about one thing, in its order."""

    parts: list[ConversationPart]

    @property
    def query(self) -> Query | None:
        """The query that it is about, or whose clip it is about."""
        return next((question.query for question in self.questions if question.query), None)

    @property
    def questions(self) -> list[Question]:
        return [part.written for part in self.parts if isinstance(part.written, Question)]

    @property
    def messages(self) -> list[Message]:
        return [part.written for part in self.parts if isinstance(part.written, Message)]

    @property
    def unread(self) -> Message | None:
        """The last message, if it is not read."""
        return self.messages[-1] if self.messages and not self.messages[-1].read else None

    @property
    def to_answer(self) -> Message | None:
        """The message that comes last, which the annotator can answer."""
        last = self.parts[-1].written
        return last if isinstance(last, Message) else None

    @property
    def waits(self) -> bool:
        """Whether the annotator's last question waits for a lead."""
        last = self.parts[-1].written
        return isinstance(last, Question) and last.handled is None

    @property
    def new_key(self) -> UUID:
        """A key for the annotator's next question in it."""
        return uuid4()


def conversations(member: Membership) -> list[Conversation]:
    """Return what the member and the leads wrote to each other: with unread messages first, then the newest."""
    return conversations_of([member])


def conversations_of(members: Collection[Membership]) -> list[Conversation]:
    """Return the conversations of several members in the same order. Nobody takes part in another one's."""
    questions = list(Question.objects.filter(annotator__in=members).select_related("query", "candidate"))
    written: list[Question | Message] = [*questions, *Message.objects.filter(to__in=members)]
    of_question: dict[int, Conversation] = {}
    of_message: dict[int, Conversation] = {}
    answered = {question.answer_id: question.pk for question in questions if question.answer_id}
    found = []
    for each in sorted(written, key=lambda each: each.at):
        if isinstance(each, Question):
            before = of_message.get(each.letter_id or 0)
        else:
            before = of_question.get(answered.get(each.pk, 0))
        if before is None:
            found.append(before := Conversation([]))
        before.parts.append(ConversationPart(each))
        (of_question if isinstance(each, Question) else of_message)[each.pk] = before
    newest = sorted(found, key=lambda each: each.parts[-1].written.at, reverse=True)
    return sorted(newest, key=lambda each: each.unread is None)


def questions_in(assignment: Assignment) -> list[dict[str, Any]]:
    """Return what the annotator asked in the assignment, and the answers, ready for JSON.

    Each is at the place where it was asked: another place of the same pair would show which of them is a check.
    """
    positions = {place: position for position, place in enumerate(assignment.places, 1)}
    return [
        {
            "position": positions.get(each.place_id or 0),
            "about": each.about,
            "text": each.text,
            "answer": each.answer.text if each.answer else None,
            "letter": each.answer_id,
            "read": bool(each.answer and each.answer.read),
            "waits": each.handled is None,
        }
        for each in assignment.questions.select_related("answer")
    ]
