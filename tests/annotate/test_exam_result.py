"""What the exam teaches: a round's result with reasons, a pass that is celebrated, a failure that is said kindly."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils.html import escape

from campaigns.models import Campaign, Membership
from corpus.models import Clip
from judging.models import Assignment, Candidate
from judging.models.sitting import exam_batches
from judging.quality.exam import READY_REASONS, repeat, set_exam, set_truth
from judging.work import grading
from tests.cast import browser, claim, content_of, judge_all, make_query, text_between_tags
from tests.remembered import remembered

ADDRESS = "/judge/films/exam"


@pytest.fixture
@remembered
def exam(campaign: Campaign) -> Campaign:
    """One query with four candidates, of which the truth is 4, and which have no clips yet."""
    make_query(campaign, "2", "A person stands up.")
    make_query(campaign, "3", "A person waves.")
    set_exam(campaign, seed=1, queries=1, depth=4)
    for batch in exam_batches(campaign):
        set_truth(batch, {1: (4, "Both arms."), 2: (4, READY_REASONS[0]), 3: (4, ""), 4: (0, "")})
    campaign.refresh_from_db()
    return campaign


def fresh(member: Membership) -> Membership:
    return Membership.objects.select_related("campaign").get(pk=member.pk)


def right(candidate: Candidate) -> int:
    return candidate.truth or 0


def sit(member: Membership, grade: Callable[[Candidate], int]) -> Assignment:
    """Judge one round, which is one batch."""
    assignment = claim(fresh(member))
    judge_all(assignment, grade)
    return assignment


def result(member: Membership, **headers: str) -> str:
    answer = browser(member).get(ADDRESS, headers=headers)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_there_is_no_result_before_a_round_is_marked(exam: Campaign, ada: Membership) -> None:
    assert browser(ada).get(ADDRESS).status_code == 404
    judge_all(claim(fresh(ada)), right, submit=False)
    assert browser(ada).get(ADDRESS).status_code == 404


def test_own_grade_and_reason_stand_beside_each_clip_that_came_back(exam: Campaign, ada: Membership) -> None:
    sit(ada, lambda candidate: 1)
    page = result(ada)
    assert "Round 1 of your exam" in page
    assert "3 clips come back to you" in page
    assert "You have 2 more rounds." in page
    articles = re.findall(r"<article.*?</article>", page)
    assert len(articles) == 3
    assert all('class="dot g1">1</span> few points' in each for each in articles)
    for reason in ("Both arms.", READY_REASONS[0], "Watch it again with the guideline open"):
        assert sum(reason in each for each in articles) == 1


def test_neither_the_truth_nor_its_direction_is_told(exam: Campaign, ada: Membership, bob: Membership) -> None:
    """Wherever the truth is, the page is the same."""
    Candidate.objects.filter(truth=0).update(truth=4)
    sit(ada, lambda candidate: 2)
    Candidate.objects.filter(truth=4).update(truth=0)
    sit(bob, lambda candidate: 2)
    assert in_words(ada) == in_words(bob)
    assert len(in_words(ada)) == 4
    assert not re.search(r"\b(high|low|too)\b", " ".join(in_words(ada)).replace("too far", ""))


def in_words(member: Membership) -> list[str]:
    """What is read of each clip, in no order: that is drawn for each person."""
    return sorted(map(text_between_tags, re.findall(r"<article.*?</article>", result(member))))


def test_the_grade_is_that_of_the_round_while_the_next_one_is_judged(exam: Campaign, ada: Membership) -> None:
    sit(ada, lambda candidate: 1)
    again = claim(fresh(ada))
    grading.judge(again, 1, 3, fence=again.fence, key=uuid4())
    assert "dot g3" not in result(ada)
    judge_all(again, lambda candidate: 4 if candidate.rank < 3 else 2)
    page = result(ada)
    assert "Round 2 of your exam" in page
    assert page.count("<article") == page.count("dot g2") == 1
    assert "Watch it again" in page
    assert "You have one more round." in page


def test_a_pass_has_a_page_with_one_button(exam: Campaign, ada: Membership) -> None:
    sit(ada, right)
    page = result(ada)
    assert "You have passed the exam" in page
    main = page[page.index("<main") :]
    assert re.findall(r"<button[^>]*>([^<]*)", main) == ["Give me my first batch "]
    assert "<article" not in page
    home = browser(ada).get(reverse("work")).content.decode()
    assert ADDRESS in home
    assert "Give me my first batch" in home
    answer = browser(ada).post("/judge/films/claim")
    assert Assignment.objects.live().get(annotator=ada).batch.kind == "pool"
    assert answer.status_code == 302
    assert ADDRESS not in browser(ada).get(reverse("work")).content.decode()


def test_a_failure_says_what_happens_next(exam: Campaign, ada: Membership, leo: Membership) -> None:
    for _ in range(3):
        sit(ada, lambda candidate: 1)
    page = result(ada)
    assert "You have not passed this time" in page
    assert "Your lead sees how you judged, and decides" in page
    assert page.count("<article") == 3
    assert "Judge the clips that came back" not in page
    repeat(fresh(ada), leo, "was ill")
    assert "Your lead has given you another round" in result(ada)
    assert "Judge the clips that came back" in result(ada)
    fresh(ada).qualify(leo, "knows it now")
    assert "gives you work" in result(ada)


def test_who_flagged_most_clips_reads_why_that_is_no_pass(exam: Campaign, ada: Membership) -> None:
    assignment = claim(fresh(ada))
    for position in (1, 2, 3, 4):
        grading.flag(assignment, position, "other", "", fence=assignment.fence, key=uuid4())
    answer = browser(ada).post(
        reverse("submit", args=[assignment.token]), {"fence": assignment.fence}, content_type="application/json"
    )
    assert answer.json()["onward"] == ADDRESS
    assert "You flagged more than half of the clips" in result(ada)


def test_submitting_leads_to_the_result_if_there_is_one(exam: Campaign, ada: Membership, bob: Membership) -> None:
    def submitted(member: Membership) -> dict[str, Any]:
        assignment = claim(fresh(member))
        judge_all(assignment, lambda candidate: 1, submit=False)
        address = reverse("submit", args=[assignment.token])
        answer: dict[str, Any] = (
            browser(member).post(address, {"fence": assignment.fence}, content_type="application/json").json()
        )
        return answer

    assert submitted(ada) == {"submitted": True, "onward": ADDRESS}
    Candidate.objects.update(truth=None)  # so that Bob waits for others
    assert submitted(bob) == {"submitted": True, "onward": reverse("work")}
    assert browser(bob).get(ADDRESS).status_code == 404


def test_the_clips_that_came_back_play_for_their_examinee_alone(
    exam: Campaign, ada: Membership, bob: Membership
) -> None:
    Clip.objects.update(state=Clip.State.READY)
    for clip in Clip.objects.all():
        clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(b"0123456789"))
    sit(ada, lambda candidate: 1)
    clips = re.findall(r'src="(/clips/[\w-]*)', result(ada))
    assert len(clips) == 3
    assert {content_of(browser(ada).get(clip)) for clip in clips} == {b"0123456789"}
    assert {browser(bob).get(clip).status_code for clip in clips} == {404}
    others = Clip.objects.exclude(token__in=[clip.rpartition("/")[2] for clip in clips])
    assert {browser(ada).get(reverse("clip", args=[clip.token])).status_code for clip in others} == {404}
    Membership.objects.filter(pk=ada.pk).update(state=Membership.State.LEFT)
    assert {browser(ada).get(clip).status_code for clip in clips} == {404}


def test_whoever_is_paused_still_learns_and_a_lead_has_no_result(
    exam: Campaign, ada: Membership, leo: Membership
) -> None:
    sit(ada, lambda candidate: 1)
    ada.pause(leo, "away")
    assert "Judge the clips that came back" not in result(ada)
    assert browser(leo).get(ADDRESS).status_code == 404


def test_reasons_are_in_the_language_of_the_page(exam: Campaign, ada: Membership) -> None:
    sit(ada, lambda candidate: 1)
    page = text_between_tags(result(ada, **{"accept-language": "zh-CN"}))
    assert "Both arms." in page  # the lead's words stay as they are
    assert "Look at what" not in page
    assert "Watch it again" not in page


# The lead ---------------------------------------------------------------------------------------------------
def test_the_lead_is_asked_for_a_reason_for_each_pair(exam: Campaign, leo: Membership) -> None:
    lead, batch = browser(leo), exam_batches(exam)[0]
    page = " ".join(lead.get("/campaigns/films/exam/").content.decode().split())
    assert "2 of 4 pairs have no reason yet" in page
    assert '?view=pairs">Go to the first of them' in page
    assert "Pair 3 of 4" in lead.get("/campaigns/films/exam/?view=pairs").content.decode()
    for rank in (3, 4):
        Candidate.objects.filter(batch=batch, rank=rank).update(why="So.")
    assert "no reason yet" not in lead.get("/campaigns/films/exam/").content.decode()


def test_a_ready_reason_is_chosen_where_no_words_are_written(exam: Campaign, leo: Membership) -> None:
    lead, pairs = browser(leo), exam_batches(exam)[0].candidates.order_by("rank")
    reasons = ({"why": "My own words.", "ready": READY_REASONS[1]}, {"ready": READY_REASONS[2]}, {"ready": ""})
    for pair, reason in zip(pairs, reasons, strict=False):
        address = f"/campaigns/films/exam/pairs/{pair.pk}/truth"
        assert lead.post(address, reason | {"truth": "4"}).status_code == 302
    assert [pair.why for pair in pairs.all()][:3] == ["My own words.", READY_REASONS[2], ""]
    page = lead.get(f"/campaigns/films/exam/?view=pairs&pair={pairs[1].pk}").content.decode()
    assert f" selected>{escape(READY_REASONS[2])}</option>" in page
    assert READY_REASONS[2] not in re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, re.S)
    answer = lead.post(address, {"truth": "4", "ready": "because"}, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["field"]) == (400, "ready")


def test_ready_reasons_tell_no_direction() -> None:
    for reason in READY_REASONS:
        assert not re.search(r"\b(too|high|low|higher|lower|missing|perfect|\d)\b", reason), reason
