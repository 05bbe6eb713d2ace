"""An annotator's home and her own page: hours, pay, agreement in words, and her lead's messages."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from base.dates import start_of_day
from campaigns.models import Campaign, Membership, Message
from judging.models import Assignment, Batch, Candidate, Flag, Judgement, Kind, Revision, Sitting
from judging.quality.exam import set_exam
from judging.work import grading, submitting
from judging.work.places import assignment_data
from reports.hours import judged_since, total, worked_by_day
from reports.own_time import time_on
from reports.own_work import _end, agreement, direction
from tests.cast import began, browser, by_rank, claim, judge_all, make_query, small_batches
from tests.conftest import Case
from tests.remembered import remembered
from tests.tampering import tampering


@pytest.fixture
@remembered
def paid(campaign: Campaign) -> Campaign:
    Campaign.objects.update(hourly_rate=Decimal("12.50"), currency="EUR")
    small_batches(campaign, 8)
    return campaign


def page(who: Membership | User, name: str = "mine") -> str:
    answer = browser(who).get(reverse(name, args=["films"] if name == "mine" else []))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def midday(days_ago: int) -> datetime:
    return timezone.now().replace(hour=12) - timedelta(days=days_ago)


@pytest.mark.both_databases
def test_hours_and_earnings_stand_under_the_button(paid: Campaign, ada: Membership) -> None:
    judge_all(claim(ada), by_rank)
    with tampering():
        Revision.objects.update(seconds=1800)
    home = page(ada, "work")
    assert "2 h 00 min" in home
    assert "25.00 EUR" in home
    assert "Give me a batch" in home
    claim(ada)
    assert "Continue" in page(ada, "work")


def submit(held: Assignment) -> Any:
    address = reverse("submit", args=[held.token])
    answer = browser(held.annotator).post(address, {"fence": held.fence}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.both_databases
def test_a_submission_says_what_it_counts_and_has_the_next_batch(paid: Campaign, ada: Membership) -> None:
    judge_all(claim(ada), by_rank)  # is no part of what the next one counts
    judge_all(held := claim(ada), by_rank, submit=False)
    with tampering():
        Revision.objects.filter(judgement__assignment=held).update(seconds=90)
    answer = submit(held)
    assert answer["moment"] == {"seconds": 360.0, "earned": "1.25 EUR", "today": 8}
    live = ada.assignments.live().get()
    assert answer["next"]["address"] == reverse("workplace", args=[live.token])
    assert answer["next"]["query"] == live.batch.query.text
    assert answer["next"]["assignment"] == assignment_data(live)
    assert submit(held) == answer  # a lost answer comes once more
    assert ada.assignments.live().get() == live


def test_a_flag_counts_its_seconds_too_and_without_a_rate_nothing_is_earned(paid: Campaign, ada: Membership) -> None:
    Campaign.objects.update(hourly_rate=None)
    judge_all(held := claim(ada), by_rank, submit=False)
    grading.flag(held, 1, "clip", "", fence=held.fence, key=uuid4())
    with tampering():
        Revision.objects.update(seconds=1)
        Flag.recorded.update(seconds=2)
    assert submit(held)["moment"] == {"seconds": 6.0, "earned": "", "today": 4}


def test_where_nothing_comes_next_a_submission_says_why(
    campaign: Campaign, ada: Membership, leo: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_batches(campaign, 1)
    judge_all(held := claim(ada), by_rank, submit=False)
    answer = submit(held)
    assert (answer["next"], answer["nothing"]) == (None, "There is no batch for you right now. Please come back later.")
    monkeypatch.setattr("annotate.views.submitting.submit", lambda *_, **__: ada.pause(leo, "as a rule might"))
    assert submit(held)["nothing"].startswith("Your work here is paused.")


def test_the_submission_of_an_exam_leads_on(campaign: Campaign, batch: Batch, ada: Membership) -> None:
    make_query(campaign, "2", "A person runs.")
    set_exam(campaign, seed=1, queries=1, depth=3)
    Campaign.objects.update(exam=True)
    Batch.objects.filter(kind=Kind.EXAM).update(state=Batch.State.OPEN)
    judge_all(held := claim(ada), by_rank, submit=False)
    assert submit(held) == {"submitted": True, "onward": reverse("work")}


def test_without_a_rate_there_is_no_word_of_money(paid: Campaign, ada: Membership) -> None:
    Campaign.objects.update(hourly_rate=None)
    judge_all(claim(ada), by_rank)
    assert "EUR" not in page(ada) + page(ada, "work")
    assert "Earned" not in page(ada)


@pytest.mark.both_databases
def test_each_day_has_a_line_and_the_sum_is_rounded_once(paid: Campaign, ada: Membership) -> None:
    for days_ago, seconds in ((0, 360), (1, 361), (20, 9000)):
        judge_all(claim(ada), by_rank)
        newest = Revision.objects.order_by("-pk")[:4].values("pk")
        with tampering():
            Revision.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).update(
                seconds=seconds / 4, at=midday(days_ago)
            )
        done = ada.assignments.submitted().order_by("-pk")[:1].values_list("pk", flat=True)
        ada.assignments.filter(pk__in=list(done)).update(submitted=midday(days_ago))
    rows = re.findall(r"<tr[^>]*>.*?</tr>", page(ada), re.S)[1:]
    cells = [re.findall(r'<td class="n">(.*?)</td>', row) for row in rows]
    assert cells == [
        ["1", "4", "0 h 06 min", "1.25 EUR"],
        ["1", "4", "0 h 06 min", "1.25 EUR"],
        ["2", "8", "0 h 12 min", "2.50 EUR"],
    ]


def test_hidden_places_count_like_all_work(campaign: Campaign, ada: Membership) -> None:
    small_batches(campaign, 3, hidden=2)
    for _ in range(3):
        judge_all(claim(ada), by_rank)
    cells = re.findall(r'<td class="n">(\d+)</td>', page(ada))
    assert cells[:2] == ["3", "18"]
    assert "<dd>3</dd>" in page(ada, "work")


def test_agreement_comes_in_words(campaign: Campaign, ada: Membership, bob: Membership, case: Case) -> None:
    small_batches(campaign, 5)
    for person in (ada, bob):
        for _ in range(5):
            judge_all(claim(person), by_rank)
    for far, words in {0: "Nearly all", 2: "Nearly all", 3: "Most", 5: "Most", 6: "Many", 20: "Many"}.items():
        with case(f"{far} grades are far apart"):
            for judgement in Judgement.objects.filter(annotator=ada)[:far]:
                judgement.grade = 4 if by_rank(judgement.candidate) < 2 else 0
                judgement.save()
            assert agreement(ada).startswith(words)
            assert agreement(ada) in page(ada)
            assert agreement(ada) in page(ada, "work")
            assert not re.search(r"\d", agreement(ada))


def judged(campaign: Campaign, *grades: tuple[Membership, int | None]) -> None:
    """Each judges five batches of four pairs: by rank, or all with one grade."""
    small_batches(campaign, 5)
    for person, grade in grades:
        for _ in range(5):
            judge_all(claim(person), by_rank if grade is None else lambda candidate, grade=grade: grade)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("own", "other", "words"),
    [
        (3, 2, "3 (all but a detail) where others end at 2 (partly), mostly where a part of the action is missing."),
        (2, 3, "2 (partly) where others end at 3 (all but a detail), mostly where one small point differs."),
        (3, 3, "Your grades lean neither up nor down beside those of others."),
    ],
)
def test_the_direction_comes_in_words(
    campaign: Campaign, ada: Membership, bob: Membership, own: int, other: int, words: str
) -> None:
    judged(campaign, (ada, own), (bob, other))
    assert direction(ada).removeprefix("You tend to give ") == words
    assert direction(ada) in page(ada)
    assert not re.search(r"\b(20|5)\b", direction(ada))


def test_others_end_at_the_mean_of_their_grades() -> None:
    assert [_end(3, others) for others in ([2], [1, 2, 2], [2, 3], [2, 2, 3], [0])] == [2, 2, 3, 2, 0]


def test_a_few_differences_are_no_habit(campaign: Campaign, ada: Membership, bob: Membership) -> None:
    judged(campaign, (ada, 3), (bob, 3))
    others = list(Judgement.objects.filter(annotator=bob))
    for judgement in others[:4]:
        Judgement.objects.filter(pk=judgement.pk).update(grade=2)
    assert direction(ada) == "Your grades lean neither up nor down beside those of others."
    Judgement.objects.filter(pk=others[4].pk).update(grade=1)
    assert direction(ada) == "You tend to give higher grades than others."
    Judgement.objects.filter(pk=others[4].pk).update(grade=2)
    assert "where others end at 2" in direction(ada)
    for judgement in others[5:8]:  # as many the other way make it no direction
        Judgement.objects.filter(pk=judgement.pk).update(grade=4)
    assert "neither" in direction(ada)


def test_only_settled_pairs_tell_a_direction(campaign: Campaign, ada: Membership, bob: Membership) -> None:
    judged(campaign, (ada, 4), (bob, 3))
    assert direction(ada).startswith("You tend to give 4")
    Candidate.objects.filter(judgements__annotator=ada).update(outcome=Candidate.Outcome.CONTESTED, grade=None)
    assert direction(ada) == ""
    assert "You tend" not in page(ada)


def test_before_twenty_settled_pairs_it_is_too_early(campaign: Campaign, ada: Membership, bob: Membership) -> None:
    small_batches(campaign, 8)
    for _ in range(8):
        judge_all(claim(ada), by_rank)
    for _ in range(4):
        judge_all(claim(bob), by_rank)
    assert "too early" in agreement(ada)
    assert direction(ada) == ""


@pytest.mark.both_databases
def test_today_counts_what_is_in_hand_submitted_and_lapsed_and_nothing_of_yesterday(
    campaign: Campaign, ada: Membership, bob: Membership
) -> None:
    small_batches(campaign, 5)
    judge_all(claim(ada), by_rank)
    yesterday = timedelta(days=1)
    with tampering():
        Revision.objects.update(at=F("at") - yesterday)
        Assignment.objects.update(submitted=F("submitted") - yesterday, lease=F("lease") - yesterday)
    assert judged_since(ada, start_of_day()) == 0
    judge_all(claim(ada), by_rank)
    assert judged_since(ada, start_of_day()) == 4
    judge_all(away := claim(ada), by_rank, submit=False)
    assert judged_since(ada, start_of_day()) == 8
    away.take_away()
    judge_all(claim(bob), by_rank)
    assert (judged_since(ada, start_of_day()), judged_since(bob, start_of_day())) == (8, 4)
    assert (
        judged_since(ada, start_of_day())
        == total(worked_by_day(ada, start_of_day(), start_of_day(later=1)).values()).judgements
    )


def test_nothing_done_yet_says_where_to_begin(paid: Campaign, ada: Membership) -> None:
    assert "Take a batch" in page(ada)
    assert "up to 4 clips" in page(ada, "work")


def test_who_is_paused_still_reads_her_page(paid: Campaign, ada: Membership, leo: Membership) -> None:
    judge_all(claim(ada), by_rank)
    ada.pause(leo, "hidden words for the lead")
    home = page(ada, "work")
    assert "Your work here is paused" in home
    assert "Give me a batch" not in home
    assert "hidden words" not in home + page(ada)
    Membership.objects.filter(pk=ada.pk).update(state=Membership.State.LEFT)
    assert "has ended" in page(ada, "work")
    assert "Judgements" in page(ada)


def sent(leo: Membership, **form: str) -> int:
    return browser(leo).post(reverse("send-message", args=["films"]), form).status_code


def test_a_message_is_read_once(campaign: Campaign, ada: Membership, bob: Membership, leo: Membership) -> None:
    assert sent(leo, to=str(ada.worker), text="Well done!\r\n\r\n<b>Go on.</b>") == 302
    for where in ("work", "mine"):
        assert "<p>Well done!</p> <p>&lt;b&gt;Go on.&lt;/b&gt;</p>" in page(ada, where)
        assert "Well done" not in page(bob, where)
    message = Message.objects.get()
    address = reverse("read-message", args=["films", message.pk])
    assert browser(bob).post(address).status_code == 404
    assert browser(ada).post(address, {"back": "mine"}).headers["location"] == reverse("mine", args=["films"])
    message.refresh_from_db()
    first = message.read
    assert browser(ada).post(address).headers["location"] == reverse("work")
    message.refresh_from_db()
    assert (first is not None, message.read) == (True, first)
    assert "Well done" not in page(ada, "work")
    assert "Well done" in page(ada)


def test_unread_messages_come_first(campaign: Campaign, ada: Membership, leo: Membership) -> None:
    for text in ("first words", "second words"):
        sent(leo, to=str(ada.worker), text=text)
    Message.objects.get(text="second words").mark_read()
    words = page(ada)
    assert words.index("first words") < words.index("second words")
    assert words.count("Mark as read") == 1


def test_a_message_to_all_reaches_who_works_and_only_once(
    campaign: Campaign, ada: Membership, bob: Membership, cleo: Membership, leo: Membership
) -> None:
    bob.pause(leo, "")
    Membership.objects.filter(pk=cleo.pk).update(state=Membership.State.LEFT)
    for _ in range(2):
        assert sent(leo, to="all", text="We pause on Monday.") == 302
    assert set(Message.objects.values_list("to", "by")) == {(ada.pk, leo.pk), (bob.pk, leo.pk)}
    assert Message.objects.count() == 2


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"to": "all", "text": " \n"}, "text"),
        ({"to": "all"}, "text"),
        ({"to": "all", "text": "x" * 2001}, "text"),
        ({"to": "all", "text": "a\0b"}, "text"),
        ({"to": "nobody", "text": "x"}, "to"),
        ({"to": "9" * 30, "text": "x"}, "to"),
        ({"text": "x"}, "to"),
    ],
)
def test_a_message_that_is_none_is_refused_by_field(
    campaign: Campaign, ada: Membership, leo: Membership, form: dict[str, str], field: str
) -> None:
    address = reverse("send-message", args=["films"])
    answer = browser(leo).post(address, form, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not Message.objects.exists()


def test_a_message_to_who_is_no_annotator_here_goes_nowhere(
    campaign: Campaign, ada: Membership, leo: Membership
) -> None:
    assert sent(leo, to=str(leo.worker), text="x") == sent(leo, to="999", text="x") == 404
    assert not Message.objects.exists()


def test_the_lead_sees_what_was_sent_and_read(campaign: Campaign, ada: Membership, leo: Membership) -> None:
    sent(leo, to=str(ada.worker), text="Well done!")
    client: Client = browser(leo)
    listed = client.get(reverse("inbox", args=["films"]) + "?view=messages").content.decode()
    assert "Well done!" in listed
    assert "not yet" in listed
    Message.objects.get().mark_read()
    assert "not yet" not in client.get(reverse("inbox", args=["films"]) + "?view=messages").content.decode()


def test_what_was_sent_to_all_is_one_row(campaign: Campaign, ada: Membership, bob: Membership, leo: Membership) -> None:
    sent(leo, to="all", text="We pause on Monday.")
    for unread, words in ((2, "2 not yet"), (1, "1 not yet"), (0, "by all")):
        listed = browser(leo).get(reverse("inbox", args=["films"]) + "?view=messages").content.decode()
        assert (listed.count("We pause on Monday."), "2 annotators" in listed, words in listed) == (1, True, True)
        assert Message.objects.unread().count() == unread
        if unread:
            Message.objects.unread()[0].mark_read()


def test_a_lead_has_no_page_of_her_own_work(campaign: Campaign, leo: Membership) -> None:
    assert browser(leo).get(reverse("mine", args=["films"])).status_code == 404


def test_the_time_of_a_day_clip_by_clip(batch: Batch, ada: Membership) -> None:
    """Each cut has its reason, and the sum is that of the day."""
    held = began(claim(ada), 400)
    limit = held.limits[0]
    for seconds in (10, 500, limit, limit):  # the last but one is cut by the place, the last counts nothing
        grading.judge(held, 1, 2, fence=held.fence, key=uuid4(), seconds=seconds)
    grading.flag(held, 2, "clip", "", fence=held.fence, key=uuid4(), seconds=12.5)
    for position in range(3, 21):
        grading.judge(held, position, 1, fence=held.fence, key=uuid4(), seconds=0.5)
    submitting.submit(held, held.fence, 70)
    time = time_on(ada, timezone.localdate())
    [day] = worked_by_day(ada, start_of_day(), start_of_day(later=1)).values()
    [batch_time] = time.batches
    assert batch_time.seconds == pytest.approx(float(day.seconds))
    first, second, *_, last = batch_time.times
    assert first.seconds == 2 * limit
    assert first.why == f"One grade or flag of this clip counts at most {limit:.0f} s. " + (
        f"This clip counts at most {2 * limit:.0f} s, with all changes."
    )
    assert (second.position, second.seconds, second.why) == (2, 12.5, "")
    assert (last.position, last.seconds, last.why) == (None, 60, "The list of clips counts at most 60 s.")
    address = reverse("mine", args=["films"])
    text = " ".join(browser(ada).get(f"{address}?day={timezone.localdate()}").content.decode().split())
    assert "20 clips, 221 s counted" in text
    assert "No clip was judged" in browser(ada).get(f"{address}?day=2020-01-01").content.decode()
    assert browser(ada).get(f"{address}?day=x").status_code == 400


def test_an_exam_is_paid_if_it_was_said_before(campaign: Campaign, batch: Batch, ada: Membership) -> None:
    set_exam(campaign, seed=1, queries=1, depth=3)
    Campaign.objects.update(exam=True)
    assert "The exam is not paid." in page(ada, "work")
    Campaign.objects.update(paid_exam=True)
    assert "The exam is paid." in page(ada, "work")
    held = began(claim(ada), 100)
    Campaign.objects.update(paid_exam=False)
    judge_all(held, by_rank)
    [day] = worked_by_day(ada, start_of_day(), start_of_day(later=1)).values()
    assert (day.judgements, float(day.seconds)) == (3, 3)
    assert [batch.clips for batch in time_on(ada, timezone.localdate()).batches] == [3]
    Sitting.objects.update(is_paid=False)
    assert not worked_by_day(ada, start_of_day(), start_of_day(later=1))
    assert not time_on(ada, timezone.localdate()).batches
