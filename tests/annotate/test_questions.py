"""What annotators ask their leads, and the answers: at the workplace, on own pages, on the desk, and to nobody else."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from base.errors import BadValue, KeyReused, WrongState
from campaigns.models import Campaign, Membership, Message
from judging.models import Assignment, Batch, Flag, Judgement, KeptAnswer, Kind, Query, Question
from judging.review.decisions import answer, put_aside, tell_all
from judging.work import grading
from judging.work.grading import MOST_WAITING, ask, ask_at
from reports.own_work import conversations, questions_in
from reports.tables.queue import threads, waiting_subjects
from tests.api.asking import Program
from tests.cast import browser, by_rank, claim, expire, judge_all, make_query

WORDS = "Does sitting on a table count?"


@pytest.fixture
def held(batch: Batch, ada: Membership) -> Assignment:
    return claim(ada)


def post(who: Membership, held: Assignment, position: int = 3, **fields: Any) -> Any:
    address = reverse("ask-at", args=[held.token, position])
    body = {"about": "clip", "text": WORDS, "key": str(uuid4()), "fence": held.fence, "press": 1} | fields
    return browser(who).post(address, body, content_type="application/json")


def text_of(who: Membership, name: str, *arguments: object) -> str:
    answer = browser(who).get(reverse(name, args=arguments))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


# Asking -----------------------------------------------------------------------------------------------------
def test_a_question_is_about_the_clip_at_a_position_and_costs_no_grade(held: Assignment, ada: Membership) -> None:
    answered = post(ada, held)
    question = Question.objects.get()
    assert answered.json() == {"position": 3, "question": question.pk}
    assert (question.annotator, question.text, question.about) == (ada, WORDS, "clip")
    assert (question.candidate_id, question.query) == (held.candidate_at(3), held.batch.query)
    assert not Judgement.objects.exists()
    assert len(held.unanswered()) == 20


def test_a_question_about_the_query_names_no_pair(held: Assignment, ada: Membership) -> None:
    post(ada, held, about="query")
    question = Question.objects.get()
    assert (question.query_id, question.candidate) == (held.batch.query_id, None)


def test_a_key_that_comes_twice_is_one_question(held: Assignment, ada: Membership) -> None:
    key = str(uuid4())
    assert post(ada, held, key=key).json() == post(ada, held, key=key).json()
    assert Question.objects.count() == 1
    again = post(ada, held, key=key, text="Another one?")
    assert (again.status_code, again.json()["code"]) == (422, "keyreused")
    assert Question.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": "  "}, "text"),
        ({"text": "x" * 1001}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"text": 7}, "text"),
        ({"about": "nothing"}, "about"),
        ({"about": None}, "about"),
        ({"key": "1"}, "key"),
        ({"position": 21}, "position"),
    ],
)
def test_a_question_that_is_none_is_refused_by_field(
    held: Assignment, ada: Membership, fields: dict[str, Any], field: str
) -> None:
    answered = post(ada, held, **fields)
    assert (answered.status_code, answered.json()["field"]) == (400, field)
    assert not Question.objects.exists()


def test_many_questions_wait_for_answers_first(held: Assignment, ada: Membership, leo: Membership) -> None:
    for number in range(MOST_WAITING):
        ask(ada, f"Question {number}?", uuid4())
    assert post(ada, held).json()["code"] == "wrongstate"
    put_aside(Question.objects.all()[0], leo)
    assert post(ada, held).status_code == 200


def test_who_has_left_asks_no_more_and_who_is_paused_does(held: Assignment, ada: Membership, leo: Membership) -> None:
    ada.pause(leo, "")
    address = reverse("ask", args=["films"])
    assert browser(ada).post(address, {"text": "Why?", "key": str(uuid4())}).status_code == 302
    assert post(ada, held).status_code == 404  # the workplace is closed to her, as for grades
    Membership.objects.filter(pk=ada.pk).update(state=Membership.State.LEFT)
    with pytest.raises(WrongState):
        ask(ada, "Why?", uuid4())
    assert "Ask your lead something" not in text_of(ada, "mine", "films")
    assert Question.objects.count() == 1


def test_an_empty_question_is_refused_where_it_is_stored(ada: Membership) -> None:
    with pytest.raises(BadValue):
        ask(ada, "", uuid4())


@pytest.mark.both_databases
def test_the_same_key_of_another_person_is_refused(ada: Membership, bob: Membership) -> None:
    key = UUID(int=7)
    ask(ada, WORDS, key)
    with pytest.raises(KeyReused):
        ask(bob, WORDS, key)


# Answering --------------------------------------------------------------------------------------------------
@pytest.mark.any_database
@pytest.mark.both_databases
def test_an_answer_is_a_message_to_who_asked(held: Assignment, ada: Membership, leo: Membership) -> None:
    question = ask_at(held, 3, "clip", WORDS, uuid4())
    message = answer(question, leo, "Yes, it does.")
    assert answer(question, leo, "Yes, it does.") == message
    assert (message.to, message.by, message.text) == (ada, leo, "Yes, it does.")
    with pytest.raises(WrongState, match="an answer already"):
        answer(question, leo, "No.")
    put_aside(question, leo)
    question.refresh_from_db()
    assert (question.answer, question.handled_by, question.handled is None) == (message, leo, False)
    assert Message.objects.count() == 1
    assert not Question.objects.waiting(leo.campaign).exists()


def test_what_was_put_aside_can_be_answered_later(ada: Membership, leo: Membership) -> None:
    question = ask(ada, WORDS, uuid4())
    put_aside(question, leo)
    assert not Question.objects.waiting(leo.campaign).exists()
    answer(question, leo, "Yes.")
    assert Message.objects.get().text == "Yes."


def test_the_desk_has_the_pair_beside_the_question(held: Assignment, ada: Membership, leo: Membership) -> None:
    assert "to answer" not in text_of(leo, "campaign", "films").split("Needs you")[1]
    question = ask_at(held, 3, "clip", WORDS, uuid4())
    assert "question to answer" in text_of(leo, "campaign", "films")
    page = text_of(leo, "inbox", "films")
    pair = held.candidates_in_order()[2]
    for words in (WORDS, pair.query.text, pair.moment.caption, str(pair.moment.video), "ada", f"#rank-{pair.rank}"):
        assert words in page
    lead, address = browser(leo), reverse("handle-question", args=["films", question.pk])
    assert lead.post(address, {"action": "answer", "text": " "}).status_code == 400
    assert lead.post(address, {"action": "shout"}).status_code == 400
    assert lead.post(address, {"action": "answer", "text": "Yes.\r\n\r\nIt does."}).status_code == 302
    assert Message.objects.get().text == "Yes.\n\nIt does."
    page = text_of(leo, "inbox", "films")
    assert "Nothing waits." in page
    page = lead.get(reverse("inbox", args=["films"]), {"view": "messages"}).content.decode()
    assert "It does." in page
    assert "not yet" in page
    refused = lead.post(address, {"action": "answer", "text": "No."}, follow=True).content.decode()
    assert "has an answer already" in refused


def test_a_question_can_be_put_aside(ada: Membership, leo: Membership) -> None:
    question = ask(ada, "Thank you!", uuid4())
    address = reverse("handle-question", args=["films", question.pk])
    assert browser(leo).post(address, {"action": "aside"}).status_code == 302
    assert "put aside" in browser(leo).get(reverse("inbox", args=["films"]), {"view": "messages"}).content.decode()
    assert not Message.objects.exists()
    assert "has not answered yet" not in text_of(ada, "mine", "films")


@pytest.mark.parametrize(
    ("kind", "words"), [(Kind.POOL, "/batches/"), (Kind.EXAM, "/exam/?view=pairs"), (Kind.CHECK, "An attention check")]
)
def test_the_desk_leads_to_the_pairs_batch_if_it_has_a_page(
    held: Assignment, leo: Membership, kind: Kind, words: str
) -> None:
    place = {} if kind == Kind.POOL else {"place": None}
    Query.objects.update(kind=kind, **place)
    Batch.objects.update(kind=kind, **place)
    ask_at(held, 1, "clip", WORDS, uuid4())
    row = text_of(leo, "inbox", "films").split("<article")[1]
    assert words in row
    assert ("/exam/?view=pairs" in row) == (kind == Kind.EXAM)


def test_the_page_of_questions_asks_little_of_the_database(batch: Batch, ada: Membership, leo: Membership) -> None:
    held = claim(ada)

    def asked_for() -> int:
        with CaptureQueriesContext(connection) as queries:
            text_of(leo, "inbox", "films")
        return len(queries)

    ask_at(held, 1, "clip", WORDS, uuid4())
    asked_for()  # what is read once in a process
    once = asked_for()
    for position in range(2, 12):
        ask_at(held, position, "clip", WORDS, uuid4())
    assert asked_for() == once


# Telling all ------------------------------------------------------------------------------------------------
@pytest.mark.any_database
@pytest.mark.both_databases
def test_an_answer_to_all_is_told_once_and_kept_without_who_asked(
    held: Assignment, ada: Membership, bob: Membership, leo: Membership
) -> None:
    question = ask_at(held, 3, "clip", f"{WORDS} I am Ada, clip 3.", uuid4())
    address = reverse("handle-question", args=["films", question.pk])
    form = {"action": "answer", "everybody": "on", "text": "Yes.\r\nIt does.", "wording": WORDS}
    lead = browser(leo)
    refused = lead.post(address, form | {"wording": " "})
    assert refused.status_code == 400
    assert "Yes.\r\nIt does.</textarea>" in refused.content.decode()  # what was typed is not lost
    for _ in range(2):
        assert lead.post(address, form).status_code == 302
    kept = KeptAnswer.objects.get()
    assert (kept.source, kept.question, kept.answer, kept.by) == (question, WORDS, "Yes.\nIt does.", leo)
    assert [(each.to, each.text) for each in Message.objects.order_by("pk")] == [
        (ada, "Yes.\nIt does."),
        (bob, f"{WORDS}\n\nYes.\nIt does."),
    ]
    with pytest.raises(WrongState, match="an answer already"):
        tell_all(question, leo, "No.", WORDS)
    page = browser(bob).get(reverse("tutorial", args=["films"]), {"step": "3"}).content.decode()
    assert "Questions and answers" in page
    assert WORDS in page
    assert "Ada" not in page
    assert "clip 3" not in page


def test_a_kept_answer_can_be_taken_back_and_told_again(ada: Membership, bob: Membership, leo: Membership) -> None:
    question = ask(ada, "Why?", uuid4())
    kept = tell_all(question, leo, "So.", "Why?")
    address = reverse("kept-answer-take-back", args=["films", kept.pk])
    assert "Why?" in text_of(leo, "guideline", "films")
    for _ in range(2):
        browser(leo).post(address)
    kept.refresh_from_db()
    assert kept.taken_back_by == leo
    assert "Why?" not in text_of(leo, "guideline", "films")
    assert browser(bob).post(address).status_code == 404
    assert tell_all(question, leo, "So.", "Why then?") != kept
    guideline = Program(bob).get("campaigns/films/guideline").json()
    assert [(each["question"], each["answer"]) for each in guideline["answers"]] == [("Why then?", "So.")]


def test_what_is_about_one_pair_stands_together(held: Assignment, ada: Membership, leo: Membership) -> None:
    first = ask(ada, "About nothing?", uuid4())
    for position in (3, 4, 3):
        ask_at(held, position, "clip", f"About {position}?", uuid4())
    ask_at(held, 1, "query", "About the query?", uuid4())
    pair = held.candidate_at(4)
    Flag.objects.create(assignment=held, candidate_id=pair, reason="clip")
    Assignment.objects.update(state=Assignment.State.SUBMITTED, submitted=timezone.now())
    found = [
        (each["candidate"], len(each["flags"]), [one["text"] for one in each["questions"]])
        for each in Program(leo).get("campaigns/films/queue").json()["threads"]
    ]
    assert found == [
        (None, 0, [first.text]),
        (held.candidate_at(3), 0, ["About 3?", "About 3?"]),
        (pair, 1, ["About 4?"]),
        (None, 0, ["About the query?"]),
    ]
    flags = [thread.flags for thread in threads(waiting_subjects(leo), leo)]
    assert [len(each) for each in flags] == [0, 0, 1, 0]


# Reading ----------------------------------------------------------------------------------------------------
def test_the_answer_stands_at_the_workplace_and_on_her_pages(
    held: Assignment, ada: Membership, bob: Membership, leo: Membership
) -> None:
    question = ask_at(held, 3, "clip", WORDS, uuid4())
    waiting = {
        "position": 3,
        "about": "clip",
        "text": WORDS,
        "answer": None,
        "letter": None,
        "read": False,
        "waits": True,
    }
    assert questions_in(held) == [waiting]
    assert "has not answered yet" in text_of(ada, "mine", "films")
    message = answer(question, leo, "Yes, it does.")
    got = browser(ada).get(reverse("own-questions", args=[held.token])).json()
    assert got == {"questions": [waiting | {"answer": "Yes, it does.", "letter": message.pk, "waits": False}]}
    assert "Yes, it does." in text_of(ada, "workplace", held.token)
    for name, arguments in (("work", []), ("mine", ["films"])):
        page = text_of(ada, name, *arguments)
        assert WORDS in page
        assert "<p>Yes, it does.</p>" in page
        assert f"About “{held.batch.query}”" in page
        assert WORDS not in text_of(bob, name, *arguments)
    message.mark_read()
    assert questions_in(held)[0]["read"]
    assert WORDS not in text_of(ada, "work")
    assert WORDS in text_of(ada, "mine", "films")


def test_a_message_is_answered_and_the_conversation_goes_on(ada: Membership, leo: Membership) -> None:
    Message.objects.send([ada], "Please look twice.", by=leo)
    message = Message.objects.get()
    form = {"letter": str(message.pk), "text": "I do!\r\nWhere did I not?", "key": str(uuid4())}
    assert browser(ada).post(reverse("ask", args=["films"]), form).status_code == 302
    message.refresh_from_db()
    assert message.read
    question = Question.objects.get()
    assert (question.letter, question.text, question.about) == (message, "I do!\nWhere did I not?", "nothing")
    assert "Please look twice." in text_of(leo, "inbox", "films")
    answer(question, leo, "In the kitchen.")
    ask(ada, "Something else", uuid4())
    found = conversations(ada)
    assert [[part.words for part in each.parts] for each in found] == [
        ["Please look twice.", question.text, "In the kitchen."],
        ["Something else"],
    ]
    assert [part.is_own for part in found[0].parts] == [False, True, False]
    assert found[0].to_answer == found[0].unread == Message.objects.get(text="In the kitchen.")
    assert found[1].waits
    assert not found[0].waits


def test_a_letter_of_another_person_is_not_answered(ada: Membership, bob: Membership, leo: Membership) -> None:
    Message.objects.send([bob], "For Bob.", by=leo)
    form = {"letter": str(Message.objects.get().pk), "text": "Me?", "key": str(uuid4())}
    assert browser(ada).post(reverse("ask", args=["films"]), form).status_code == 404
    assert browser(ada).post(reverse("ask", args=["films"]), form | {"letter": "x"}).status_code == 400
    assert not Question.objects.exists()


def test_a_form_that_is_sent_twice_asks_once(ada: Membership) -> None:
    page = text_of(ada, "mine", "films")
    key = re.findall(r'name="key" value="([^"]*)"', page)[0]
    for _ in range(2):
        browser(ada).post(reverse("ask", args=["films"]), {"text": "Why?", "key": key})
    assert Question.objects.get().about == "nothing"


def test_nobody_asks_or_reads_in_the_batch_of_another(held: Assignment, bob: Membership, leo: Membership) -> None:
    for who in (bob, leo):
        assert post(who, held).status_code == 404
        assert browser(who).get(reverse("own-questions", args=[held.token])).status_code == 404
    assert not Question.objects.exists()


def test_what_was_asked_in_an_earlier_batch_does_not_tell_that_something_comes_again(
    campaign: Campaign, batch: Batch, ada: Membership, leo: Membership
) -> None:
    """Neither the query nor a pair that comes again brings the question along."""
    held = claim(ada)
    answer(ask_at(held, 1, "query", WORDS, uuid4()), leo, "Yes.")
    judge_all(held, by_rank)
    make_query(campaign, "2", "A person waves.")
    later = claim(ada)
    Assignment.objects.filter(pk=later.pk).update(places=held.places)
    later.refresh_from_db()
    assert questions_in(later) == []
    assert "Yes." not in text_of(ada, "workplace", later.token)


def test_a_question_is_kept_when_the_lease_has_run_out(held: Assignment, ada: Membership) -> None:
    expire(held)
    assert post(ada, held).status_code == 200
    grading.judge(claim(ada), 1, 3, fence=held.fence + 1, key=uuid4())
    assert Question.objects.count() == 1
