"""The exam: drawn from the pool, marked against medians or the lead's grades, missed pairs come back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.urls import reverse

from base.errors import Stale, WrongState
from campaigns.models import Campaign, Event, Membership
from judging.audit import INVARIANTS, audit
from judging.models import Assignment, Batch, Candidate, Judgement, Kind, Query, Revision, Sitting
from judging.models.sitting import exam_batches
from judging.quality.exam import repeat, set_exam, set_truth
from judging.work import claiming, grading, submitting
from judging.work.places import assignment_data
from releases.exports import FILES
from reports.tables.examinees import overview
from tests.cast import browser, claim, expire, judge_all, make_query
from tests.remembered import remembered
from tests.tampering import forget, tampering

Grade = Callable[[Candidate], int]


@pytest.fixture
@remembered
def exam(campaign: Campaign) -> Campaign:
    """Two of four queries, the best three candidates of each."""
    for number in ("2", "3", "4"):
        make_query(campaign, number, f"A person does thing {number}.")
    set_exam(campaign, seed=1, queries=2, depth=3)
    campaign.refresh_from_db()
    return campaign


def fresh(member: Membership) -> Membership:
    return Membership.objects.select_related("campaign").get(pk=member.pk)


def sit(member: Membership, grade: Grade = lambda candidate: 2) -> Sitting:
    """Judge all that the exam hands out in this round; returns the sitting."""
    assignment = claim(fresh(member))
    sitting = member.sittings.get(ended__isnull=True)
    judge_all(assignment, grade)
    while sitting.remaining_batches().exists():
        judge_all(claim(fresh(member)), grade)
    sitting.refresh_from_db()
    return sitting


def tell(campaign: Campaign, truth: int = 2, why: str = "") -> None:
    """The lead grades every pair."""
    for batch in exam_batches(campaign):
        set_truth(batch, dict.fromkeys((1, 2, 3), (truth, why)))


# Drawing ----------------------------------------------------------------------------------------------------
def test_the_exam_is_copied_from_the_pool_and_what_it_uses_leaves_the_pool(exam: Campaign) -> None:
    for batch in exam_batches(exam).select_related("query"):
        source = Query.objects.get(pk=int(batch.query.query_id.removeprefix("exam:")))
        assert (source.kind, source.text, source.withdrawn_why) == ("pool", batch.query.text, "used in the exam")
        assert (batch.state, batch.kind, batch.edition) == (Batch.State.OPEN, Kind.EXAM, 1)
        columns = ("rank", "moment", "similarity")
        copied = list(batch.candidates.order_by("rank").values_list(*columns))
        assert copied == list(source.candidates.order_by("rank").values_list(*columns)[:3])
    assert exam_batches(exam).count() == 2
    assert exam.queries.pool().count() == 2
    assert exam.exam


def test_the_same_seed_draws_the_same_queries(campaign: Campaign) -> None:
    queries = [make_query(campaign, str(number), f"query {number}") for number in range(2, 12)]
    others = []
    for seed in (5, 5, 6):
        set_exam(campaign, seed, queries=4, depth=2, keep_in_pool=True)
        others.append(set(campaign.queries.filter(kind=Kind.EXAM).values_list("query_id", flat=True)))
        campaign.queries.filter(kind=Kind.EXAM).delete()
    assert others[0] == others[1] != others[2]
    assert campaign.queries.pool().count() == len(queries) + 1


def test_what_has_begun_or_is_closed_is_not_drawn(campaign: Campaign, batch: Batch, ada: Membership) -> None:
    claim(ada)
    make_query(campaign, "2", "closed")
    Query.objects.filter(query_id="2").update(closed=True)
    with pytest.raises(WrongState, match="Add queries to it"):
        set_exam(campaign, 1, queries=1)
    assert not campaign.queries.filter(kind=Kind.EXAM).exists()


@pytest.mark.both_databases
def test_the_exam_is_made_once(exam: Campaign) -> None:
    with pytest.raises(WrongState, match="an exam already"):
        set_exam(exam, 2, queries=1)
    assert exam_batches(exam).count() == 2


def test_the_command_makes_it_and_names_what_is_wrong(campaign: Campaign) -> None:
    with pytest.raises(CommandError, match="depth: 41; expected 1 to 40"):
        call_command("set_exam", "films", "--depth", "41")
    with pytest.raises(CommandError, match="queries: 10; expected at most 1"):
        call_command("set_exam", "films")
    call_command("set_exam", "films", "--queries", "1", "--depth", "5", "--seed", "3")
    assert Candidate.objects.filter(query__kind=Kind.EXAM).count() == 5


# Sitting ----------------------------------------------------------------------------------------------------
def test_three_sit_it_and_two_get_work(exam: Campaign, ada: Membership, bob: Membership, cleo: Membership) -> None:
    odd = Candidate.objects.filter(query__kind=Kind.EXAM).order_by("pk").first()
    assert odd is not None
    assert sit(ada).is_waiting
    assert sit(bob, lambda candidate: 3).is_waiting
    last = sit(cleo, lambda candidate: 0 if candidate == odd else 2)
    results = dict(Sitting.objects.values_list("member", "result").filter(round=1))
    assert results == {ada.pk: "passed", bob.pk: "passed", cleo.pk: "returned"}
    assert (last.pairs, last.missed) == (6, 1)

    again = claim(fresh(cleo))
    assert [candidate.pk for candidate in again.candidates_in_order()] == [odd.pk]
    assert again.unanswered() == [1]
    with pytest.raises(WrongState, match="Not judged yet: 1"):
        submitting.submit(again, again.fence)
    judge_all(again, lambda candidate: 1)
    assert fresh(cleo).qualified
    assert list(cleo.sittings.values_list("round", "result", "pairs", "missed")) == [
        (1, "returned", 6, 1),
        (2, "passed", 1, 0),
    ]
    for member in (ada, bob, cleo):
        assert Event.objects.get(member=member).kind == Event.Kind.QUALIFIED
    assert claim(fresh(cleo)).batch.kind == claim(fresh(ada)).batch.kind == Kind.POOL
    assert not any(audit(exam).values())


def test_who_has_handed_in_waits_for_the_others(exam: Campaign, ada: Membership) -> None:
    sit(ada)
    assert claiming.claim(fresh(ada)) is None
    assert "You get the result when the others have finished" in browser(ada).get(reverse("work")).content.decode()


@pytest.mark.both_databases
def test_a_half_median_is_exact(exam: Campaign, member: Callable[..., Membership]) -> None:
    grades = dict(zip("defg", (1, 2, 3, 4), strict=True))
    for name, grade in grades.items():
        sit(member(name), lambda candidate, grade=grade: grade)  # type: ignore[misc]
    missed = dict(Sitting.objects.filter(round=1).values_list("member__user__username", "missed"))
    # The first three were marked by the median of three, 2; the fourth by that of four, 2.5: 4 is 1.5 away.
    assert missed == {"d": 0, "e": 0, "f": 0, "g": 6}


def test_the_leads_truth_waits_for_nobody(exam: Campaign, ada: Membership, leo: Membership) -> None:
    tell(exam, 4)
    assert sit(ada, lambda candidate: 3).result == Sitting.Result.PASSED


def test_the_leads_truth_ends_the_waiting(exam: Campaign, ada: Membership) -> None:
    sitting = sit(ada)
    tell(exam, 4)
    sitting.refresh_from_db()
    assert (sitting.result, sitting.missed) == ("returned", 6)


def test_what_comes_back_shows_neither_the_grade_nor_the_truth(exam: Campaign, ada: Membership) -> None:
    tell(exam, 4, "Both arms are raised here.")
    before = sit(ada, lambda candidate: 1)
    again = claim(fresh(ada))
    places = assignment_data(again)["places"]
    assert (before.missed, len(places)) == (6, 3)
    for place in places:
        assert place == {
            "clip": place["clip"],
            "grade": None,
            "doubt": False,
            "flag": None,
            "comment": "",
            "note": "Both arms are raised here.",
        }
    grading.judge(again, 1, 4, fence=again.fence, key=uuid4())
    assert [place["grade"] for place in assignment_data(again)["places"]] == [4, None, None]


def test_her_home_says_how_many_clips_are_left_and_that_she_has_passed(exam: Campaign, ada: Membership) -> None:
    def says(words: str) -> bool:
        return words in browser(ada).get(reverse("work")).content.decode()

    make_query(exam, "more", "A person who is no part of the exam.")
    tell(exam, 4)
    sit(ada, lambda candidate: 1)
    assert says("6 clips of your exam came back")
    again = claim(fresh(ada))
    grading.judge(again, 1, 4, fence=again.fence, key=uuid4())
    grading.flag(again, 2, "clip", "black", fence=again.fence, key=uuid4())
    assert says("Clips of your exam came back: 4 of 6 are still to judge once more.")
    assert not says("of your batch")
    grading.judge(again, 2, 4, fence=again.fence, key=uuid4())
    judge_all(again, lambda candidate: 4)
    assert not says("You have passed the exam.")
    judge_all(claim(fresh(ada)), lambda candidate: 4)
    assert says("You have passed the exam. Now you get work.")
    claim(fresh(ada))
    assert not says("You have passed the exam.")


def test_without_words_of_the_lead_the_note_tells_no_direction(exam: Campaign, ada: Membership) -> None:
    tell(exam, 4)
    sit(ada, lambda candidate: 1)
    note = assignment_data(claim(fresh(ada)))["places"][0]["note"]
    assert "came back" in note
    assert not any(word in note for word in ("high", "low", "more", "less", *"01234"))


def test_a_flag_in_a_later_round_does_not_answer_the_round_after(exam: Campaign, ada: Membership) -> None:
    tell(exam, 4)
    sit(ada, lambda candidate: 1)
    again = claim(fresh(ada))
    assert "A flag does not help here" in workplace_of(again)
    for position in (1, 2, 3):
        grading.flag(again, position, "clip", "black", fence=again.fence, key=uuid4())
    assert again.unanswered() == []
    submitting.submit(again, again.fence)
    sit(ada, lambda candidate: 1)
    last = claim(fresh(ada))
    assert last == again
    assert last.unanswered() == [1, 2, 3]
    assert [place["flag"] for place in assignment_data(last)["places"]] == [None] * 3
    grading.flag(last, 1, "clip", "black", fence=last.fence, key=uuid4())  # the same words are a new flag
    assert last.unanswered() == [2, 3]


def workplace_of(assignment: Assignment) -> str:
    address = reverse("workplace", args=[assignment.token])
    return browser(assignment.annotator).get(address).content.decode()


def test_the_first_round_has_no_notes(exam: Campaign, ada: Membership) -> None:
    tell(exam, 4, "why")
    assert "does not help" not in workplace_of(claim(fresh(ada)))
    assert all(
        set(place) == {"clip", "grade", "doubt", "flag", "comment"}
        for place in assignment_data(claim(fresh(ada)))["places"]
    )


def test_after_the_last_round_it_is_failed(exam: Campaign, ada: Membership, leo: Membership) -> None:
    tell(exam, 4)
    assert [sit(ada, lambda candidate: 1).result for _ in range(3)] == ["returned", "returned", "failed"]
    assert claiming.claim(fresh(ada)) is None
    assert "You have not passed the exam" in browser(ada).get(reverse("work")).content.decode()
    assert Event.objects.get(member=ada).reason == "6 of 6 pairs missed in round 3"
    more = repeat(ada, leo, "was ill")
    assert repeat(ada, leo, "was ill") == more
    assert sit(ada, lambda candidate: 4) == more
    assert fresh(ada).qualified
    assert not any(audit(exam).values())


def test_another_round_is_for_who_failed(exam: Campaign, ada: Membership, leo: Membership) -> None:
    with pytest.raises(WrongState):
        repeat(ada, leo, "why not")
    tell(exam)
    sit(ada)
    with pytest.raises(WrongState):
        repeat(ada, leo, "why not")


def test_a_lead_lets_somebody_work_without_the_exam(exam: Campaign, ada: Membership, leo: Membership) -> None:
    for _ in range(2):
        fresh(ada).qualify(leo, "led another campaign")
    assert claim(fresh(ada)).batch.kind == Kind.POOL
    event = Event.objects.get(member=ada)
    assert (event.kind, event.by, event.reason) == ("qualified", leo, "led another campaign")


def test_a_waived_exam_is_not_marked_any_more(exam: Campaign, ada: Membership, leo: Membership) -> None:
    sitting = sit(ada)
    fresh(ada).qualify(leo, "I know her")
    tell(exam, 4)
    sitting.refresh_from_db()
    assert sitting.is_waiting
    assert Event.objects.filter(member=ada).count() == 1


def test_a_flagged_pair_is_excused(exam: Campaign, ada: Membership, leo: Membership) -> None:
    tell(exam, 4)
    flagged = claim(fresh(ada))
    grading.flag(flagged, 1, "clip", "black", fence=flagged.fence, key=uuid4())
    for position in (2, 3):
        grading.judge(flagged, position, 4, fence=flagged.fence, key=uuid4())
    submitting.submit(flagged, flagged.fence)
    sitting = sit(ada, lambda candidate: 4)
    assert (sitting.result, sitting.pairs) == ("passed", 5)
    assert "⚑ The clip is missing or broken" in page(leo, "annotator", ada.worker, view="exam")


def test_who_flags_most_pairs_has_not_passed(exam: Campaign, ada: Membership, leo: Membership) -> None:
    tell(exam, 4)
    for _ in range(2):
        assignment = claim(fresh(ada))
        for position in (1, 2, 3):
            grading.flag(assignment, position, "other", "", fence=assignment.fence, key=uuid4())
        submitting.submit(assignment, assignment.fence)
    assert (ada.sittings.get().result, fresh(ada).qualified) == ("failed", None)
    with pytest.raises(WrongState):
        repeat(ada, leo, "try")


def test_a_flag_in_a_later_round_excuses_nothing(exam: Campaign, ada: Membership) -> None:
    tell(exam, 4)
    sit(ada, lambda candidate: 1)
    for _ in range(2):
        again = claim(fresh(ada))
        for position in (1, 2, 3):
            grading.flag(again, position, "other", "", fence=again.fence, key=uuid4())
        submitting.submit(again, again.fence)
    assert list(ada.sittings.values_list("result", "missed")) == [("returned", 6), ("returned", 6), ("open", 0)]


def test_results_given_stay_when_the_median_moves(exam: Campaign, member: Callable[..., Membership]) -> None:
    for name in "def":
        sit(member(name), lambda candidate: 1)
    for name in "ghij":
        sit(member(name), lambda candidate: 4)
    results = dict(Sitting.objects.filter(round=1).values_list("member__user__username", "result"))
    assert {results[name] for name in "def"} == {"passed"}
    # the medians that they met: 1, 1, 2.5 (of three and three), 4 (of three and four)
    assert [results[name] for name in "ghij"] == ["returned", "returned", "returned", "passed"]


def test_a_lapsed_batch_is_taken_up_again(exam: Campaign, ada: Membership) -> None:
    tell(exam, 4)
    sit(ada, lambda candidate: 1)
    away = claim(fresh(ada))
    grading.judge(away, 1, 4, fence=away.fence, key=uuid4())
    expire(away)
    with pytest.raises(Stale):
        grading.judge(away, 2, 4, fence=away.fence, key=uuid4())
    away.lapse()
    back = claiming.resume(away)
    assert (back.pk, back.token, back.fence, back.state) == (away.pk, away.token, away.fence + 1, "live")
    assert back.unanswered() == [2, 3]
    expire(back)
    back.lapse()
    assert claim(fresh(ada)) == back
    assert sit(ada, lambda candidate: 4).result == "passed"
    assert not any(audit(exam).values())


def test_a_page_of_an_earlier_round_cannot_write_into_a_later_one(exam: Campaign, ada: Membership) -> None:
    tell(exam, 4)
    first = claim(fresh(ada))
    judge_all(first, lambda candidate: 1)
    sit(ada, lambda candidate: 1)
    assert claim(fresh(ada)).token != first.token


def test_submitting_twice_marks_once(exam: Campaign, ada: Membership) -> None:
    tell(exam, 2)
    judge_all(claim(fresh(ada)), lambda candidate: 2)
    last = claim(fresh(ada))
    judge_all(last, lambda candidate: 2)
    submitting.submit(last, last.fence)
    assert (ada.sittings.count(), ada.events.count()) == (1, 1)


def test_an_exam_that_is_not_made_yet_gives_no_work(campaign: Campaign, batch: Batch, ada: Membership) -> None:
    Campaign.objects.update(exam=True)
    assert claiming.claim(fresh(ada)) is None
    assert "It is not ready yet" in browser(ada).get(reverse("work")).content.decode()


def test_a_batch_whose_clips_are_cut_is_waited_for(exam: Campaign, ada: Membership) -> None:
    late = exam_batches(exam).order_by("pk").last()
    assert late is not None
    Batch.objects.filter(pk=late.pk).update(state=Batch.State.PREPARING)
    judge_all(claim(fresh(ada)), lambda candidate: 2)
    answer = browser(ada).post(reverse("claim", args=["films"]), follow=True)
    assert "being prepared" in answer.content.decode()
    assert ada.sittings.get().ended is None


# What comes of it -------------------------------------------------------------------------------------------
def test_nothing_of_an_exam_leaves_the_campaign(exam: Campaign, ada: Membership, bob: Membership) -> None:
    tell(exam, 2)
    before = ["".join(export.lines(exam)) for export in FILES]
    sit(ada), sit(bob)
    assert ["".join(export.lines(exam)) for export in FILES] == before
    assert not Judgement.objects.filter(seat__isnull=False).exists()
    assert {batch.state for batch in exam_batches(exam)} == {Batch.State.OPEN}
    assert not any(audit(exam).values())


@pytest.mark.both_databases
def test_the_audit_finds_what_is_wrong_with_an_exam(exam: Campaign, ada: Membership) -> None:
    tell(exam, 4)
    sit(ada, lambda candidate: 1)
    sit(ada, lambda candidate: 4)
    seated, lost = Judgement.objects.order_by("pk")[:2]
    Judgement.objects.filter(pk=seated.pk).update(seat=1)
    with tampering():
        Revision.objects.filter(judgement=seated, number=2).update(at=F("at") + timedelta(days=1))
    forget(lost)
    broken = {INVARIANTS[says].__name__ for says, findings in audit(exam).items() if findings}
    assert broken == {"nothing_lost", "two_a_round", "nothing_stale"}


def test_first_grades_are_those_at_the_end_of_round_one(
    exam: Campaign, ada: Membership, bob: Membership, cleo: Membership
) -> None:
    sit(ada), sit(bob)
    handed = claim(fresh(cleo))
    grading.judge(handed, 1, 4, fence=handed.fence, key=uuid4())
    judge_all(handed, lambda candidate: 0)  # a change of mind inside the round is no first grade
    sit(cleo, lambda candidate: 0)
    sit(cleo, lambda candidate: 2)
    pairs = overview(exam).pairs
    assert [pair.grades for pair in pairs] == [[0, 2, 2]] * 6
    assert [pair.missed for pair in pairs] == [1] * 6
    result = overview(exam)
    assert result.missed == pytest.approx(100 * 6 / 18)


@pytest.mark.both_databases
def test_kappa_is_that_with_the_truth_before_and_after(exam: Campaign, ada: Membership) -> None:
    for batch in exam_batches(exam):
        set_truth(batch, {1: (0, ""), 2: (2, ""), 3: (4, "")})
    right = {1: 0, 2: 2, 3: 4}
    sit(ada, lambda candidate: {1: 0, 2: 2, 3: 2}[candidate.rank])
    sit(ada, lambda candidate: right[candidate.rank])
    person = overview(exam).examinees[0]
    # 4 of 6 agree; by chance 1/3·1/3 + 1/3·2/3 = 1/3: (2/3 − 1/3) / (1 − 1/3)
    assert person.first.plain == pytest.approx(0.5)
    # squared gaps: two of six are two apart; by chance each grade meets each truth
    observed = 2 * 4 / 6
    expected = sum(
        share * truth_share * (grade - truth) ** 2
        for grade, share in ((0, 1 / 3), (2, 2 / 3))
        for truth, truth_share in ((0, 1 / 3), (2, 1 / 3), (4, 1 / 3))
    )
    assert person.first.quadratic == pytest.approx(1 - observed / expected)
    assert (person.last.plain, person.last.quadratic) == (1.0, 1.0)
    assert overview(exam).last.plain == 1.0


# The lead's pages -------------------------------------------------------------------------------------------
def page(member: Membership, name: str, *arguments: object, **params: str) -> str:
    return browser(member).get(reverse(name, args=["films", *arguments]), params).content.decode()


def test_a_lead_makes_the_exam_by_a_button(campaign: Campaign, leo: Membership) -> None:
    assert "Make the exam" in page(leo, "exam")
    form = {"queries": "1", "depth": "4", "seed": ""}  # empty: the campaign's own
    for message in ("The exam is made", "an exam already"):
        answer = browser(leo).post(reverse("exam-make", args=["films"]), form, follow=True)
        assert message in answer.content.decode()
    assert Candidate.objects.filter(query__kind=Kind.EXAM).count() == 4


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"queries": "x"}, "queries"), ({"queries": "0"}, "queries"), ({"queries": ""}, "queries"),
        ({"depth": "41"}, "depth"), ({"depth": "-1"}, "depth"), ({"seed": "1.5"}, "seed"), ({"seed": "9" * 40}, "seed"),
    ],
)  # fmt: skip
def test_a_wrong_number_is_named(campaign: Campaign, leo: Membership, changes: dict[str, str], field: str) -> None:
    form = {"queries": "1", "depth": "4", "seed": "9"} | changes
    answer = browser(leo).post(reverse("exam-make", args=["films"]), form)
    assert answer.status_code == 400
    assert f"{field}: " in answer.content.decode()
    assert not campaign.queries.filter(kind=Kind.EXAM).exists()


def set_truth_of(lead: Membership, pair: Candidate, **form: str) -> Any:
    return browser(lead).post(reverse("exam-truth", args=["films", pair.pk]), form)


def test_a_lead_sets_the_truth_and_why_pair_by_pair(exam: Campaign, leo: Membership) -> None:
    pairs = list(exam_batches(exam)[0].candidates.order_by("rank"))
    answer = set_truth_of(leo, pairs[0], truth="4", why=" Both arms. ", after=str(pairs[1].pk))
    assert answer["Location"].endswith(f"?view=pairs&pair={pairs[1].pk}")
    set_truth_of(leo, pairs[2], truth="0")
    assert "Both arms." in page(leo, "exam", view="pairs", pair=str(pairs[0].pk))
    found = exam_batches(exam)[0].candidates.order_by("rank").values_list("truth", "why")
    assert list(found) == [(4, "Both arms."), (None, ""), (0, "")]


@pytest.mark.parametrize(
    ("form", "field"),
    [({"truth": "5"}, "truth"), ({"truth": "2.5"}, "truth"), ({"truth": "1", "why": "x" * 1001}, "why"),
     ({"truth": "1", "why": "\0"}, "why"), ({}, "truth")],
)  # fmt: skip
def test_a_wrong_truth_is_named(exam: Campaign, leo: Membership, form: dict[str, str], field: str) -> None:
    answer = set_truth_of(leo, exam_batches(exam)[0].candidates.all()[0], **form)
    assert (answer.status_code, f"{field}: " in answer.content.decode()) == (400, True)
    assert not Candidate.objects.filter(truth__isnull=False).exists()


def test_the_truth_is_set_for_exams_only(campaign: Campaign, batch: Batch, leo: Membership) -> None:
    assert set_truth_of(leo, batch.candidates.all()[0], truth="4").status_code == 404


def test_the_lead_sees_who_stands_where(exam: Campaign, ada: Membership, bob: Membership, leo: Membership) -> None:
    tell(exam, 4)
    sit(ada, lambda candidate: 1)
    html = page(leo, "exam")
    assert "In round 2" in html
    assert "6 of 6" in html
    assert "Not begun" in html
    assert "100.0 %" in html
    assert page(leo, "annotator", ada.worker, view="exam").count(">missed<") == 6
    assert "secret caption" in page(leo, "exam", view="pairs")


def test_verdicts_need_a_reason_and_are_kept(exam: Campaign, ada: Membership, leo: Membership) -> None:
    address = reverse("exam-verdict", args=["films", ada.worker])
    lead = browser(leo)
    assert lead.post(address, {"verdict": "qualify"}).status_code == 400
    assert lead.post(address, {"verdict": "fire", "reason": "x"}).status_code == 400
    assert (
        "Another round is for" in lead.post(address, {"verdict": "repeat", "reason": "x"}, follow=True).content.decode()
    )
    done = lead.post(address, {"verdict": "qualify", "reason": "I know her"}, follow=True).content.decode()
    assert "I know her" in done
    assert "Works without the exam" in done
    assert fresh(ada).qualified
