"""What annotators flag and ask: the list of flags, and the queue of what waits, grouped by what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import Q
from django.utils import timezone

from base.listing import TIMES, Column, Listing
from campaigns.models import Campaign, Membership
from judging.models import Candidate, Flag, KeptAnswer, Kind, Query, Question
from judging.models.judgement import FlagQuerySet, QuestionQuerySet
from judging.models.states import AssignmentState
from reports.own_work import Conversation, ConversationPart, conversations_of
from reports.tables.batch import FlagRow, named
from reports.tables.queries import LONGEST_SEARCH

WAITING, HANDLED = "waiting", "handled"
ThreadSubject = tuple[str, int]  # "pair", "query" or "question", and a primary key


class FlagFilters(forms.Form):
    """The filters of the list of flags, which by itself is of those that wait."""

    show = forms.ChoiceField(
        required=False, choices=[(WAITING, "Waiting"), (HANDLED, "Handled"), ("all", "All flags")], label="State"
    )
    q = forms.CharField(required=False, max_length=LONGEST_SEARCH, label="Text", help_text="words of the query")
    reason = forms.ChoiceField(
        required=False, choices=[("", "all"), *((each.value, each.value) for each in Flag.Reason)], label="Reason"
    )
    worker = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, label="Worker")
    outcome = forms.ChoiceField(
        required=False, choices=[("", "all"), *Candidate.Outcome.choices], label="Outcome of the pair"
    )


@dataclass(frozen=True)
class FlagLine:
    """A flag in the list; whoever is no lead reads neither names nor comments."""

    flag: Flag
    reader: Membership

    def __str__(self) -> str:
        return f"{self.flag} of {self.flag.candidate.query}"

    @property
    def who(self) -> str:
        return named(self.flag.assignment.annotator, self.reader)

    @property
    def comment(self) -> str:
        return self.flag.comment if self.reader.may_review else ""


FLAGS = Listing(
    "flags",
    (
        Column("at", "When", lambda line: line.flag.at, by="pk", is_time=True),
        Column("query", "Query", lambda line: line.flag.candidate.query.text),
        Column("rank", "Rank", lambda line: line.flag.candidate.rank, is_number=True),
        Column("reason", "Reason", lambda line: str(line.flag), by="reason"),
        Column("comment", "Comment", lambda line: line.comment),
        Column("worker", "Worker", lambda line: line.who),
        Column("outcome", "Outcome of the pair", lambda line: line.flag.candidate.outcome),
        Column("handled", "Handled", lambda line: line.flag.handled, "handled", TIMES, is_time=True),
    ),
    FlagFilters,
    {
        "show": lambda rows, state: rows,  # the rows are those of the state already
        "q": lambda rows, words: rows.filter(candidate__query__text__icontains=words),
        "reason": lambda rows, reason: rows.filter(reason=reason),
        "worker": lambda rows, worker: rows.filter(assignment__annotator__worker=worker),
        "outcome": lambda rows, outcome: rows.filter(candidate__outcome=outcome),
    },
    usual="-pk",
    tab="flags",
)


def flags_of(campaign: Campaign, state: str) -> FlagQuerySet:
    """Return the flags of a campaign's submitted batches that wait for a lead, that leads handled, or all."""
    names = ("candidate__query__campaign", "candidate__batch", "assignment__annotator__user")
    found = Flag.objects.waiting(campaign)
    if state != WAITING:
        found = Flag.objects.filter(candidate__query__campaign=campaign, candidate__query__kind=Kind.POOL)
        found = found.filter(assignment__state=AssignmentState.SUBMITTED)
    return (found.exclude(handled=None) if state == HANDLED else found).select_related(*names)


def flags_listing(reader: Membership) -> Listing:
    """Return the list of flags for a member; comments are for leads alone."""
    columns = tuple(column for column in FLAGS.columns if reader.may_review or column.key != "comment")
    return replace(FLAGS, columns=columns, show=lambda flags: [FlagLine(flag, reader) for flag in flags])


@dataclass(frozen=True)
class QuestionRow:
    """A question that waits, with what was written before it in the same conversation."""

    question: Question
    before: list[ConversationPart]


def questions_with_pairs() -> QuestionQuerySet:
    """Return all questions, each with what a lead reads beside it."""
    names = ("annotator__user", "query", "candidate__batch", "candidate__clip", "candidate__moment__video", "answer")
    return Question.objects.select_related(*names, "handled_by__user")


@dataclass(frozen=True)
class Thread:
    """The flags and questions about one thing that wait for a lead."""

    flags: list[FlagRow]
    questions: list[QuestionRow]
    key: str = ""  # in addresses

    @property
    def since(self) -> datetime:
        """When the oldest of them came."""
        return min(*(row.flag.at for row in self.flags), *(row.question.at for row in self.questions), timezone.now())

    @property
    def askers(self) -> list[Membership]:
        """Who flagged or asked, each once."""
        found = [row.flag.assignment.annotator for row in self.flags] + [
            row.question.annotator for row in self.questions
        ]
        return list({each.pk: each for each in found}.values())

    @property
    def candidate(self) -> Candidate | None:
        return self.flags[0].flag.candidate if self.flags else self.questions[0].question.candidate

    @property
    def query(self) -> Query | None:
        return self.flags[0].flag.candidate.query if self.flags else self.questions[0].question.query

    @property
    def address_kind(self) -> str:
        """The kind of the pair's batch, which says whether the batch has a page for leads."""
        pair = self.candidate
        return pair.batch.kind if pair and pair.batch else ""


def waiting_subjects(reader: Membership) -> list[ThreadSubject]:
    """Return what flags and questions wait about, by the oldest of each. Questions are for leads alone."""
    first: dict[ThreadSubject, datetime] = {}
    flags = Flag.objects.waiting(reader.campaign).values_list("candidate", "at")
    found: list[tuple[ThreadSubject, datetime]] = [(("pair", candidate), at) for candidate, at in flags]
    if reader.may_review:
        rows = Question.objects.waiting(reader.campaign).values_list("pk", "candidate_id", "query_id", "at")
        found += [(_subject(pk, candidate, query), at) for pk, candidate, query, at in rows]
    for subject, at in found:
        first[subject] = min(at, first.get(subject, at))
    return sorted(first, key=lambda each: (first[each], each))


def _subject(question: int, candidate: int | None, query: int | None) -> ThreadSubject:
    if candidate:
        return "pair", candidate
    return ("query", query) if query else ("question", question)


def threads(subjects: Iterable[ThreadSubject], reader: Membership) -> list[Thread]:
    """Return the flags and questions that wait about each of these."""
    subjects = list(subjects)
    keys = {kind: [pk for known, pk in subjects if known == kind] for kind in ("pair", "query", "question")}
    # Read once, and not beside each flag and each question.
    pairs = Candidate.objects.select_related("query", "clip", "batch", "moment__video").in_bulk(keys["pair"])
    of_subject = {(kind, pk): Thread([], [], f"{kind}-{pk}") for kind, pk in subjects}
    flags = Flag.objects.waiting(reader.campaign).filter(candidate__in=pairs).order_by("at", "pk")
    flags = flags.select_related("assignment__annotator__user").defer("assignment__places", "assignment__limits")
    for flag in flags:
        flag.candidate = pairs[flag.candidate_id]
        row = FlagRow(flag, named(flag.assignment.annotator, reader))
        of_subject["pair", flag.candidate_id].flags.append(row)
    if reader.may_review:
        about = Q(candidate__in=pairs) | Q(candidate=None, query__in=keys["query"]) | Q(pk__in=keys["question"])
        questions = Question.objects.waiting(reader.campaign).filter(about).select_related("annotator__user", "query")
        for line in question_rows(questions.order_by("at", "pk")):
            each = line.question
            each.candidate = pairs[each.candidate_id] if each.candidate_id else None
            of_subject[_subject(each.pk, each.candidate_id, each.query_id)].questions.append(line)
    return [each for each in of_subject.values() if each.flags or each.questions]


def last_handled(campaign: Campaign) -> QuestionQuerySet:
    """Return the campaign's questions that leads answered or put aside, the last first, with what their list tells."""
    handled = Question.objects.filter(annotator__campaign=campaign, handled__isnull=False)
    return handled.select_related("annotator__user", "query", "answer").order_by("-handled", "-pk")


MOST_SIMILAR = 3  # kept answers that are offered for a question


def similar_answers(campaign: Campaign, question: str) -> list[KeptAnswer]:
    """Return the kept answers whose questions share most words with this one, the best first."""
    words = _words(question)
    kept = [(len(words & _words(each.question)), each) for each in campaign.kept_answers.in_force()]
    ordered = sorted((pair for pair in kept if pair[0]), key=lambda pair: -pair[0])
    return [each for _, each in ordered[:MOST_SIMILAR]]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def done_in_inbox(lead: Membership, done: str) -> dict[str, Any] | None:
    """Return what was done to a flag, a question or a pair, named as `flag-7`, if it can be undone.

    It is what it was in words, and the page that undoes it, with the key and the field that this takes.
    """
    kind, _, number = done.partition("-")
    undo = ("action", "undo")
    if kind == "flag" and Flag.objects.filter(pk=number, handled_by=lead, reopening=None).exists():
        return {"words": "Flag dismissed.", "page": "handle-flag", "key": number, "field": undo}
    if kind == "question" and Question.objects.filter(pk=number, handled_by=lead).exists():
        return {"words": "Question answered or put aside.", "page": "handle-question", "key": number, "field": undo}
    graded = Candidate.objects.filter(pk=number or 0, outcome=Candidate.Outcome.ADJUDICATED, adjudications__lead=lead)
    if kind == "pair" and (candidate := graded.first()):
        words = f"Rank {candidate.rank} has grade {candidate.grade}."
        return {"words": words, "page": "adjudicate", "key": candidate.pk, "field": ("grade", "none")}
    return None


def question_rows(questions: Iterable[Question]) -> list[QuestionRow]:
    """Return the questions, each with the conversation before it."""
    questions = list(questions)
    written = conversations_of(
        {question.annotator for question in questions if question.letter_id}
    )  # the others begin one
    return [QuestionRow(question, _before(question, written) if question.letter_id else []) for question in questions]


def _before(question: Question, written: list[Conversation]) -> list[ConversationPart]:
    own = next(each for each in written if question in each.questions)
    return own.parts[: [part.written for part in own.parts].index(question)]
