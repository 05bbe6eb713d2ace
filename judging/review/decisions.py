"""What a lead decides on a candidate, a flag, a question, a query or a member: adjudicating, answering, and more.

A lead adjudicates a candidate on which annotators reached no consensus. The grade is marked everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db.models.functions import Now

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Event, LogEntry, Membership, Message, log
from judging.consensus import RULE
from judging.models import Adjudication, Assignment, Batch, Candidate, Flag, Judgement, KeptAnswer, Query, Question
from judging.models.states import WithdrawnFor
from judging.pool.clips import retry_clips
from judging.summaries import summarize

Outcome = Candidate.Outcome
Kind = LogEntry.Kind
ADJUDICATED = Outcome.ADJUDICATED.value  # exports print it in place of the rule of the consensus


@all_or_nothing
def adjudicate(candidate: Candidate, lead: Membership, grade: int, reason: str) -> Adjudication:
    """Give a discarded or flagged candidate a grade, or replace the grade that a lead gave before.

    The same grade with the same reason again changes nothing. Raise WrongState if the candidate is neither discarded
    nor flagged nor adjudicated.
    """
    candidate = _lock(candidate)
    if candidate.outcome not in (Outcome.DISCARDED, Outcome.FLAGGED, Outcome.ADJUDICATED):
        raise WrongState(f"This candidate is {candidate.outcome}; only discarded and flagged ones are adjudicated.")
    earlier: Adjudication | None = candidate.adjudications.in_force().first()
    before = earlier.before if earlier else candidate.outcome
    if earlier and (earlier.grade, earlier.reason) == (grade, reason):
        return earlier
    candidate.adjudications.all().undo(lead)
    candidate.outcome, candidate.grade, candidate.rule = Outcome.ADJUDICATED, grade, ADJUDICATED
    candidate.save(update_fields=["outcome", "grade", "rule"])
    Flag.objects.filter(candidate=candidate).handle(lead)
    summarize([candidate.query_id])
    lead.campaign.touch()
    log(lead, Kind.ADJUDICATION, _pair(candidate), earlier.grade if earlier else before, f"{grade}: {reason}")
    return candidate.adjudications.create(lead=lead, grade=grade, before=before, reason=reason)


@all_or_nothing
def withdraw_adjudication(candidate: Candidate, lead: Membership) -> None:
    """Restore the outcome of the annotators' grades. Doing it twice is harmless."""
    candidate = _lock(candidate)
    if candidate.outcome != Outcome.ADJUDICATED:
        return
    adjudication = candidate.adjudications.in_force().get()
    before = adjudication.before
    if before == Outcome.FLAGGED:  # what the grade answered waits again
        closed = Flag.objects.filter(candidate=candidate, handled_by=adjudication.lead, reopening=None)
        closed.update(handled=None, handled_by=None)
    log(lead, Kind.ADJUDICATION_UNDONE, _pair(candidate), candidate.grade, before)
    candidate.outcome, candidate.grade, candidate.rule = before, None, RULE
    candidate.adjudications.all().undo(lead)
    candidate.save(update_fields=["outcome", "grade", "rule"])
    summarize([candidate.query_id])
    lead.campaign.touch()


def _lock(candidate: Candidate) -> Candidate:
    """Lock the candidate and its batch, so that nobody reopens it, and return it as it is now."""
    list(locked(Batch.objects.filter(candidates=candidate)))
    return locked(Candidate.objects.filter(pk=candidate.pk)).select_related("query__campaign").get()


def _pair(candidate: Candidate) -> str:
    return f"rank {candidate.rank} of “{candidate.query.text}”"


@all_or_nothing
def dismiss(flag: Flag, lead: Membership) -> str:
    """Note that a lead has dealt with the flag, and return that in words."""
    if Flag.objects.filter(pk=flag.pk).handle(lead):
        log(lead, Kind.FLAG, _pair(flag.candidate), flag, "closed")
    if not flag.candidate.is_flagged:
        return "The flag is closed."
    return "The flag is closed. Its pair has no grade until you grade it or have it judged again."


@all_or_nothing
def flag_again(flag: Flag, lead: Membership) -> str:
    """Let a flag wait again that a lead dismissed. Doing it twice, or after a reopening, changes nothing."""
    if Flag.objects.filter(pk=flag.pk, handled__isnull=False, reopening=None).update(handled=None, handled_by=None):
        log(lead, Kind.FLAG, _pair(flag.candidate), "closed", flag)
    return "The flag waits again."


@all_or_nothing
def cut_again(flag: Flag, lead: Membership) -> str:
    """Have the clips of the flag's batch cut again that cannot be played, and return that in words.

    Raise WrongState if the flagged candidate is in no batch any more.
    """
    if flag.candidate.batch is None:
        raise WrongState("This candidate is in no batch any more, so no clip is cut for it.")
    clips, _ = retry_clips([flag.candidate.batch])
    words = f"Clips of this batch that are cut again: {clips}."
    log(lead, Kind.FLAG, _pair(flag.candidate), flag, words)
    return words


ACTIONS = {"dismiss": dismiss, "retry": cut_again, "undo": flag_again}


@all_or_nothing
def answer(question: Question, lead: Membership, text: str) -> Message:
    """Answer a question by a message to who asked it. The same answer again changes nothing.

    Raise WrongState if the question has another answer, which another lead may have given meanwhile.
    """
    question = locked(Question.objects.filter(pk=question.pk)).select_related("annotator", "answer").get()
    if question.answer and question.answer.text != text:
        raise WrongState("This question has an answer already. Write to the annotator if there is more to say.")
    if question.answer:
        return question.answer
    question.answer = Message.objects.create(to=question.annotator, by=lead, text=text)
    question.handled, question.handled_by = Now(), lead
    question.save(update_fields=["answer", "handled", "handled_by"])
    log(lead, Kind.QUESTION, question.text, after=text)
    return question.answer


@all_or_nothing
def tell_all(question: Question, lead: Membership, text: str, wording: str) -> KeptAnswer:
    """Answer a question, tell all other annotators, and keep both beside the guideline, where nobody reads who asked.

    `wording` is the question as all are to read it. If an answer to this question is kept already, nothing changes.
    Raise WrongState if the question has another answer.
    """
    answer(question, lead, text)
    kept = KeptAnswer.objects.in_force().filter(source=question).first()
    if kept is None:
        others = lead.campaign.memberships.reachable().exclude(pk=question.annotator_id)
        Message.objects.send(others, f"{wording}\n\n{text}", by=lead)
        fields = {"question": wording, "answer": text, "by": lead}
        kept = lead.campaign.kept_answers.create(source=question, **fields)
        log(lead, Kind.KEPT_ANSWER, wording, after=text)
    return kept


@all_or_nothing
def put_aside(question: Question, lead: Membership) -> None:
    """Note that a question needs no answer. Doing it twice, or after an answer, changes nothing."""
    if Question.objects.filter(pk=question.pk, handled=None).update(handled=Now(), handled_by=lead):
        log(lead, Kind.QUESTION, question.text, after="put aside")


@all_or_nothing
def ask_again(question: Question, lead: Membership) -> str:
    """Let a question wait again that was put aside, or whose answer nobody has read yet, and return that in words.

    Raise WrongState if the answer was read, or was told to all.
    """
    question = locked(Question.objects.filter(pk=question.pk)).select_related("answer").get()
    answered = question.answer
    if KeptAnswer.objects.in_force().filter(source=question).exists():
        raise WrongState("Everybody was told. Take the answer back on the page of the guideline.")
    if answered and answered.read:
        raise WrongState("The annotator has read the answer already. Write a message instead.")
    if question.handled:
        log(lead, Kind.QUESTION, question.text, answered.text if answered else "put aside", "waits again")
    question.answer = question.handled = question.handled_by = None
    question.save(update_fields=["answer", "handled", "handled_by"])
    if answered:
        answered.delete()
    return "The question waits again."


@all_or_nothing
def withdraw(query: Query, reason: str, for_: str | None = None, by: Membership | None = None) -> None:
    """Withdraw a query: nobody judges it any more, and no export has it. Its judgements stay. Twice is harmless.

    Parameters
    ----------
    for_
        One of `WithdrawnFor`. By default, what judging it showed if anybody has judged a pair of it, and else what the
        query is.
    """
    Query.objects.filter(pk=query.pk).lock_with_batches()
    fields = {"withdrawn_for": for_ or likely_reason(query), "withdrawn_why": reason}
    if Query.objects.filter(pk=query.pk, withdrawn=None).update(withdrawn=Now(), **fields):
        log(by, Kind.WITHDRAWAL, f"“{query}”", after=f"{WithdrawnFor(fields['withdrawn_for']).label}: {reason}")
    for assignment in Assignment.objects.live().filter(batch__query=query):
        assignment.give_back()
    query.campaign.touch()


def likely_reason(query: Query) -> WithdrawnFor:
    """Return what a query is probably withdrawn for: once it is judged, what that showed may be the reason."""
    judged = Judgement.objects.filter(candidate__query=query).exists()
    return WithdrawnFor.JUDGED if judged else WithdrawnFor.QUERY


@all_or_nothing
def bring_back(query: Query, by: Membership | None = None) -> None:
    """Bring a withdrawn query back. Judging goes on where it was."""
    Query.objects.filter(pk=query.pk).lock_with_batches()
    query.refresh_from_db(fields=["withdrawn", "withdrawn_why"])
    if query.withdrawn:
        log(by, Kind.BROUGHT_BACK, f"“{query}”", query.withdrawn_why)
    Query.objects.filter(pk=query.pk).update(withdrawn=None, withdrawn_for="", withdrawn_why="")
    query.campaign.touch()


@all_or_nothing
def hand_over(member: Membership, by: Membership | None, reason: str) -> None:
    """Take the member's batches away at once. Their judgements stay on record and do not count."""
    member.lock()
    for live in member.assignments.in_turn():
        if live.take_away():
            member.events.create(kind=Event.Kind.HANDED_OVER, by=by, reason=reason)
            log(by, Kind.MEMBER, member, f"held {live.batch}", f"holds no batch: {reason}")


@all_or_nothing
def deactivate(member: Membership, by: Membership | None, reason: str) -> None:
    """Note that the member has left, and take their batch away. Their judgements stay."""
    member.leave(by, reason)
    hand_over(member, by, reason)


@all_or_nothing
def change_role(member: Membership, role: str, by: Membership | None, reason: str) -> None:
    """Give the member another role, and take their batch away. If they have the role already, nothing changes."""
    member.lock()
    if member.role != role:
        hand_over(member, by, reason)
        member.change_role(role, by, reason)


MEMBER_VERBS: dict[str, tuple[Callable[[Membership, Membership, str], None], str]] = {
    "pause": (Membership.pause, "is paused"),
    "resume": (Membership.resume, "is active again"),
    "deactivate": (deactivate, "has left"),
    "take_back": (Membership.take_back, "is a member again"),
    "hand_over": (hand_over, "no longer holds a batch"),
}


def change_member(member: Membership, by: Membership, verb: str, reason: str, hand_over_too: bool = False) -> str:
    """Apply one of the verbs to a member, and return what became of them, in words.

    With `hand_over_too`, a member who is paused loses the batch in hand as well.
    """
    apply, outcome = MEMBER_VERBS[verb]
    apply(member, by, reason)
    if verb == "pause" and hand_over_too:
        hand_over(member, by, reason)
    return outcome
