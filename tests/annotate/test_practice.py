"""Practice: known clips are taken again with feedback, by who may; the time counts as hours, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, Membership
from corpus.models import Clip, Moment
from judging.models import Assignment, Batch, Candidate, Example, Kind, Practice, Revision
from judging.models.sitting import exam_batches
from judging.quality.exam import set_exam, set_truth
from judging.quality.examples import add_own_example
from judging.work import grading, practising, submitting
from judging.work.practising import answer, begin, is_suggested, known_clips
from releases.exports import FILES
from reports.hours import worked_by_day, worked_on_days
from tests.api.asking import Program
from tests.cast import began, browser, claim, content_of, judge_all, make_query, text_between_tags
from tests.remembered import remembered
from tests.tampering import tampering

LIMIT = 3 * 3.25 + 60  # of a clip of the tests: three plays, and a minute


@pytest.fixture
@remembered
def taught(campaign: Campaign, leo: Membership) -> Campaign:
    """Three examples of the grades 4, 2 and 0, with clips."""
    moments = Moment.objects.filter(video__name="secret-video-5").order_by("pk")
    for moment, grade in zip(moments, (4, 2, 0), strict=False):
        add_own_example(leo, f"Sentence {grade}.", moment, grade, f"Because of {grade}.")
    cut()
    return campaign


def cut() -> None:
    for clip in Clip.objects.filter(file=""):
        clip.state = Clip.State.READY
        clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(b"0123456789"))


def fresh(member: Membership) -> Membership:
    return Membership.objects.select_related("campaign").get(pk=member.pk)


def ago(practice: Practice, seconds: float) -> Practice:
    """As if it had been given so many seconds ago."""
    Practice.objects.filter(pk=practice.pk).update(began=timezone.now() - timedelta(seconds=seconds))
    practice.refresh_from_db()
    return practice


def given(member: Membership, seconds_ago: float = 1000) -> Practice:
    practice = begin(fresh(member))
    assert practice
    return ago(practice, seconds_ago)


# What is practised ------------------------------------------------------------------------------------------
def test_examples_come_in_turn_those_longest_ago_first(taught: Campaign, ada: Membership) -> None:
    first = []
    for _ in range(3):
        practice = begin(ada)
        assert practice == begin(ada)  # it is taken up again until it is answered
        assert practice
        first.append(practice.example)
        answer(practice, 2, None)
    assert len(set(first)) == 3
    again = begin(ada)
    assert again
    assert again.example == first[0]


@pytest.fixture
@remembered
def exam(taught: Campaign) -> Campaign:
    """One query with four candidates, of which the truth is 4, and of the last one 0."""
    make_query(taught, "2", "A person stands up.")
    make_query(taught, "3", "A person waves.")
    set_exam(taught, seed=1, queries=1, depth=4)
    for batch in exam_batches(taught):
        set_truth(batch, {1: (4, "Both arms."), 2: (4, ""), 3: (4, ""), 4: (0, "")})
    cut()
    taught.refresh_from_db()
    return taught


def sit(member: Membership, grade: Callable[[Candidate], int]) -> None:
    judge_all(claim(fresh(member)), grade)


def right(candidate: Candidate) -> int:
    return candidate.truth or 0


def pairs(member: Membership) -> dict[int, float]:
    """The truth of each pair of the exam that the member can practise with, by rank."""
    return {each.of.rank: each.truth for each in known_clips(fresh(member)) if isinstance(each.of, Candidate)}


def test_pairs_of_the_exam_come_once_it_is_passed(exam: Campaign, ada: Membership, bob: Membership) -> None:
    assert pairs(ada) == {}
    sit(ada, lambda candidate: 4)  # misses rank 4
    assert pairs(ada) == {}
    sit(ada, right)
    assert pairs(ada) == {1: 4, 2: 4, 3: 4, 4: 0}
    assert {each.why for each in known_clips(fresh(ada)) if isinstance(each.of, Candidate)} == {"Both arms.", ""}
    assert pairs(bob) == {}


def test_pairs_that_were_missed_are_none_for_whoever_works_all_the_same(
    exam: Campaign, ada: Membership, bob: Membership, leo: Membership
) -> None:
    sit(ada, lambda candidate: 4)
    judge_all(claim(fresh(bob)), right, submit=False)
    for member in (ada, bob):
        fresh(member).qualify(leo, "known")
    assert pairs(ada) == {1: 4, 2: 4, 3: 4}
    assert pairs(bob) == {}  # whose round was never marked


def test_flagged_pairs_are_none(exam: Campaign, ada: Membership) -> None:
    assignment = claim(fresh(ada))
    grading.judge(assignment, 1, 4, fence=assignment.fence, key=uuid4())
    grading.flag(assignment, 1, "clip", "black", fence=assignment.fence, key=uuid4())
    for position in (2, 3, 4):
        pair = assignment.candidates_in_order()[position - 1]
        grading.judge(assignment, position, right(pair), fence=assignment.fence, key=uuid4())
    submitting.submit(assignment, assignment.fence)
    assert fresh(ada).qualified
    assert len(pairs(ada)) == 3


def test_a_pair_that_is_still_to_be_judged_in_the_pool_is_none(exam: Campaign, ada: Membership) -> None:
    sit(ada, right)
    source = exam.queries.get(kind=Kind.POOL, withdrawn__isnull=False)
    source.withdrawn, source.withdrawn_for, source.withdrawn_why = None, "", ""
    source.save()
    assert pairs(ada) == {}
    Candidate.objects.filter(query=source).update(outcome=Candidate.Outcome.DISCARDED)
    assert len(pairs(ada)) == 4


def test_a_median_that_ends_in_a_half_lies_between_two_grades() -> None:
    known = practising.Known(Example(), "q", 2.5, "")
    assert known.in_words == "between 2 (partly) and 3 (all but a detail)"
    campaign = Campaign(tolerance=1)
    assert [campaign.tolerates(grade, known.truth) for grade in range(5)] == [False, False, True, True, False]


# The pages --------------------------------------------------------------------------------------------------
def text_of(member: Membership, name: str, *arguments: object, **headers: str) -> str:
    got = browser(member).get(reverse(name, args=["films", *arguments]), headers=headers)
    assert got.status_code == 200
    return text_between_tags(got.content.decode())


def test_the_right_grade_and_why_come_after_the_answer(taught: Campaign, ada: Membership) -> None:
    client = browser(ada)
    assert "There are 3 clips to practise with." in text_of(ada, "practice")
    address = client.post(reverse("practice", args=["films"])).headers["Location"]
    practice = Practice.objects.get()
    assert practice.example
    before = client.get(address).content.decode()
    main = before[before.index("<main") : before.index("</main>")]  # the guideline beside it has the examples
    assert practice.example.query in main
    assert "Because of" not in main
    assert "right" not in text_between_tags(main)
    right, wrong = practice.example.grade, (practice.example.grade + 2) % 5
    assert client.post(f"{address}/answer", {"grade": str(wrong)}).headers["Location"] == address
    after = text_between_tags(client.get(address).content.decode())
    assert f"You give {wrong}, right is {right} (" in after
    assert f"Because of {right}." in after
    client.post(f"{address}/answer", {"grade": str(right)})  # the first answer holds
    practice.refresh_from_db()
    assert practice.grade == wrong


@pytest.mark.parametrize(("apart", "words"), [(0, "Yes:"), (1, "close enough"), (2, "You give")])
def test_an_answer_is_weighed_as_in_the_exam(taught: Campaign, ada: Membership, apart: int, words: str) -> None:
    practice = begin(ada)
    assert practice
    assert practice.example
    grade = practice.example.grade
    answer(practice, grade + apart if grade + apart <= 4 else grade - apart, None)
    assert words in text_of(ada, "practice-clip", practice.pk)


@pytest.mark.parametrize(
    ("form", "field"),
    [({"grade": "5"}, "grade"), ({}, "grade"), ({"grade": "3", "seconds": "x"}, "seconds"),
     ({"grade": "3", "seconds": "-1"}, "seconds"), ({"grade": "3", "seconds": "nan"}, "seconds")],
)  # fmt: skip
def test_a_wrong_answer_is_refused_by_field(
    taught: Campaign, ada: Membership, form: dict[str, str], field: str
) -> None:
    practice = begin(ada)
    assert practice
    address = reverse("practise", args=["films", practice.pk])
    got = browser(ada).post(address, form, headers={"accept": "application/json"})
    assert (got.status_code, got.json()["field"]) == (400, field)
    assert not Practice.objects.exclude(at=None).exists()


def test_without_known_clips_it_says_when_they_come(campaign: Campaign, ada: Membership) -> None:
    assert "There are no such clips yet." in text_of(ada, "practice")
    assert browser(ada).post(reverse("practice", args=["films"])).status_code == 200
    assert begin(ada) is None


def test_an_example_that_is_removed_meanwhile_is_passed_over(taught: Campaign, ada: Membership) -> None:
    practice = begin(ada)
    assert practice
    assert practice.example
    practice.example.delete()
    assert browser(ada).get(reverse("practice-clip", args=["films", practice.pk])).status_code == 404
    other = begin(ada)
    assert other
    assert other.example
    assert other != practice


def test_practice_is_ones_own(taught: Campaign, ada: Membership, bob: Membership, leo: Membership) -> None:
    practice = begin(ada)
    assert practice
    for who in (bob, leo):
        assert browser(who).get(reverse("practice-clip", args=["films", practice.pk])).status_code == 404
        assert browser(who).post(reverse("practise", args=["films", practice.pk]), {"grade": "1"}).status_code == 404
    assert browser(leo).get(reverse("practice", args=["films"])).status_code == 404
    assert not Practice.objects.exclude(at=None).exists()


def test_the_clips_of_a_passed_exam_play_again_for_who_passed(exam: Campaign, ada: Membership, bob: Membership) -> None:
    sit(ada, right)
    for each in known_clips(fresh(ada)):
        if isinstance(each.of, Candidate) and each.clip:
            address = reverse("clip", args=[each.clip.token])
            assert content_of(browser(ada).get(address)) == b"0123456789"
            assert browser(bob).get(address).status_code == 404


# The time ---------------------------------------------------------------------------------------------------
def test_the_time_counts_as_hours_beside_work(taught: Campaign, batch: Batch, ada: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 2)  # 20 seconds
    answer(given(ada), 2, 1.5)
    days = worked_by_day(ada, *today())
    assert [part.seconds for part in days.values()] == [Decimal("21.5")]
    [part] = worked_on_days(ada.campaign, *today()).values()
    assert (part.seconds, part.reported, part.judgements, part.batches) == (Decimal("21.5"), Decimal("21.5"), 20, 1)


def test_the_lead_sees_how_much_of_the_hours_was_practice(taught: Campaign, ada: Membership, leo: Membership) -> None:
    address = reverse("annotator", args=["films", ada.worker]) + "?view=checks"
    assert ">0 clips<" in browser(leo).get(address).content.decode()
    answer(given(ada), 2, 36)
    page = browser(leo).get(address).content.decode()
    assert ">1 clip<" in page
    assert "0.01 hours of the last four weeks" in text_between_tags(page)


def today() -> tuple[datetime, datetime]:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight, midnight + timedelta(days=1)


@pytest.mark.both_databases
def test_one_clip_counts_no_more_than_a_press(taught: Campaign, ada: Membership) -> None:
    done = answer(given(ada, 5000), 2, 4000)
    assert (done.reported, done.seconds) == (4000, LIMIT)


@pytest.mark.both_databases
def test_it_counts_no_more_than_the_clock_allows(taught: Campaign, ada: Membership) -> None:
    assert answer(given(ada, 10), 2, 50).seconds == pytest.approx(10, abs=1)
    assert answer(given(ada, 0), 2, 50).seconds == pytest.approx(0, abs=1)
    assert answer(given(ada), 2, None).seconds is None


def test_reading_why_counts_with_the_next_clip(taught: Campaign, ada: Membership) -> None:
    first = answer(given(ada, 10), 2, 10)
    ten_ago = timezone.now() - timedelta(seconds=10)
    Practice.objects.filter(pk=first.pk).update(at=ten_ago)
    second = begin(ada)
    assert second
    assert second.began == ten_ago + timedelta(microseconds=1)
    assert answer(second, 2, 30).seconds == pytest.approx(10, abs=1)  # and none of it twice
    Practice.objects.update(at=timezone.now() - timedelta(seconds=1000))
    third = begin(ada)
    assert third
    assert third.began > timezone.now() - timedelta(seconds=10)


@pytest.mark.both_databases
def test_practice_and_work_at_once_count_once(taught: Campaign, batch: Batch, ada: Membership) -> None:
    held, practice = began(claim(ada), 40), given(ada, 40)
    grading.judge(held, 1, 3, fence=held.fence, key=uuid4(), seconds=30)
    assert answer(practice, 2, 30).seconds == pytest.approx(10, abs=1)
    grading.judge(held, 2, 3, fence=held.fence, key=uuid4(), seconds=30)
    assert Revision.objects.latest("pk").seconds == pytest.approx(0, abs=1)


def test_it_counts_for_those_who_get_work_only(exam: Campaign, ada: Membership, leo: Membership) -> None:
    assert answer(given(ada), 2, 10).seconds is None
    assert not worked_by_day(ada, *today())
    assert "The time is paid" not in text_of(ada, "practice")
    fresh(ada).qualify(leo, "known")
    assert answer(given(ada), 2, 10).seconds == 10
    assert "up to 10% of the time that you judge on the same day." in text_of(ada, "practice")
    fresh(ada).pause(leo, "")
    assert answer(given(ada), 2, 10).seconds is None


def test_a_tenth_of_the_days_judging_is_paid(taught: Campaign, batch: Batch, ada: Membership) -> None:
    """An hour of practice by somebody who judged nothing paid 60 minutes before, and pays none now."""
    before = answer(given(ada), 2, 10)
    Practice.objects.filter(pk=before.pk).update(seconds=3600, reported=3600)
    [day] = worked_by_day(ada, *today()).values()
    assert (float(day.seconds), float(day.reported)) == (0, 3600)
    Practice.objects.update(at=F("at") - timedelta(seconds=200))
    held = began(claim(ada), 100)
    grading.judge(held, 1, 3, fence=held.fence, key=uuid4(), seconds=30)
    grading.judge(held, 2, 3, fence=held.fence, key=uuid4(), seconds=20)
    [day] = worked_by_day(ada, *today()).values()
    assert day.seconds == 50 + 5
    Practice.objects.update(seconds=4)
    [day] = worked_by_day(ada, *today()).values()
    assert day.seconds == 50 + 4


def test_nothing_of_it_is_a_judgement_or_leaves_the_campaign(taught: Campaign, batch: Batch, ada: Membership) -> None:
    before = ["".join(export.lines(taught)) for export in FILES]
    answer(given(ada), 2, 10)
    assert ["".join(export.lines(taught)) for export in FILES] == before
    assert not ada.judgements.exists()


# The suggestion ---------------------------------------------------------------------------------------------
def test_practice_is_suggested_after_a_week_away(taught: Campaign, batch: Batch, ada: Membership) -> None:
    def home() -> str:
        return text_between_tags(browser(ada).get(reverse("work")).content.decode())

    assert not is_suggested(ada)  # who has done nothing yet has the tutorial
    judge_all(claim(ada), lambda candidate: 2)
    assert not is_suggested(ada)
    with tampering():
        week = timezone.now() - timedelta(days=7, minutes=1)
        Assignment.objects.update(began=week, submitted=week, lease=week)
    assert is_suggested(ada)
    assert "Welcome back." in home()
    answer(given(ada), 2, 10)
    assert not is_suggested(ada)
    assert "Welcome back." not in home()


def test_nothing_is_suggested_without_known_clips(campaign: Campaign, batch: Batch, ada: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    week = timezone.now() - timedelta(days=8)
    Assignment.objects.update(began=week, submitted=week, lease=week)
    assert not is_suggested(ada)


# The API ----------------------------------------------------------------------------------------------------
def test_a_program_practises_alike(taught: Campaign, ada: Membership) -> None:
    program = Program(ada)
    first: dict[str, Any] = program.post("campaigns/films/practice").json()
    assert (first["grade"], first["right"], first["agrees"], first["reason"]) == (None, None, None, "")
    practice = ago(Practice.objects.get(), 60)
    assert practice.example
    done = program.ask(
        "PUT", f"campaigns/films/practice/{first['id']}", {"grade": practice.example.grade, "seconds": 7.5}
    ).json()
    assert (done["right"], done["agrees"], done["seconds"]) == ([practice.example.grade], True, 7.5)
    assert done == program.get(f"campaigns/films/practice/{first['id']}").json()
