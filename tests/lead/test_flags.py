"""What annotators could not judge waits on one page until a lead has dealt with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.urls import reverse

from campaigns.models import Membership
from corpus.models import Clip
from judging.models import Batch, Candidate, Flag
from judging.pool.clips import cut_clips
from judging.work import grading, submitting
from tests.cast import begun, browser, claim, judge_all, prepared, text_between_tags
from tests.tampering import forget


@pytest.fixture
def flag(batch: Batch, ada: Membership, bob: Membership) -> Flag:
    """Ada's, of her first place, in a batch that is settled."""
    work = claim(ada)
    judge_all(work, lambda candidate: 2, submit=False)
    forget(work.judgements.get(candidate=work.candidates_in_order()[0]))
    flag = grading.flag(work, 1, "clip", "“black from the start”", fence=work.fence, key=uuid4())
    assert not Flag.objects.waiting(batch.query.campaign).exists()  # she may still change her mind
    submitting.submit(work, work.fence)
    judge_all(claim(bob), lambda candidate: 2)
    return flag


def listed(leo: Membership) -> str:
    return browser(leo).get(reverse("inbox", args=["films"])).content.decode()


def handle(leo: Membership, flag: Flag, action: str) -> int:
    return browser(leo).post(reverse("handle-flag", args=["films", flag.pk]), {"action": action}).status_code


def test_the_page_lists_flags_with_who_and_why(flag: Flag, leo: Membership) -> None:
    page = listed(leo)
    for words in ("The clip is missing or broken", "“black from the start”", "worker 1 (ada)", "flagged"):
        assert words in page
    campaign = browser(leo).get(reverse("campaign", args=["films"])).content.decode()
    assert re.search(r"<b>1</b>\s+<span>flag to look at</span>", campaign)


def test_a_researcher_reads_no_name_and_has_no_buttons(flag: Flag, member: Callable[..., Membership]) -> None:
    page = listed(member("rio", "researcher")).split("<main>")[1]
    assert "worker 1," in page
    assert "ada" not in text_between_tags(page)
    assert "<button" not in page.split("<article")[1].split("</article>")[0]


def test_a_flag_that_left_no_grade_leads_to_those_who_give_one(flag: Flag, leo: Membership, cleo: Membership) -> None:
    """One button each: others judge it, the lead grades it, or it is left out."""
    page = " ".join(listed(leo).split())
    assert re.findall(r'data-press="(\w)"', page) == ["r", "d", "0", "1", "2", "3", "4", "x"]
    assert "Leave out" in page
    client = browser(leo)
    begun(client, prepared(client, verb="reopen", candidate=flag.candidate_id), "the clip is fine")
    assert claim(cleo).candidates.get() == flag.candidate
    assert not Flag.objects.waiting(leo.campaign).exists()


def test_a_dismissal_is_undone_from_the_toast(flag: Flag, leo: Membership) -> None:
    client, address = browser(leo), reverse("handle-flag", args=["films", flag.pk])
    page = client.post(address, {"action": "dismiss"}, follow=True).content.decode()
    assert "Flag dismissed." in page
    assert f'action="{address}"' in page
    assert "Flag dismissed." not in listed(leo)
    client.post(address, {"action": "undo"})
    assert Flag.objects.waiting(leo.campaign).get() == flag


def test_a_grade_is_undone_from_the_toast_and_the_flag_waits_again(flag: Flag, leo: Membership) -> None:
    client, address = browser(leo), reverse("adjudicate", args=["films", flag.candidate_id])
    page = client.post(address, {"grade": "3", "reason": "clear", "back": "inbox"}, follow=True).content.decode()
    assert f"Rank {flag.candidate.rank} has grade 3." in page
    assert not Flag.objects.waiting(leo.campaign).exists()
    client.post(address, {"grade": "none", "back": "inbox"})
    assert Flag.objects.waiting(leo.campaign).get() == flag


def test_after_an_answer_comes_the_next_item(flag: Flag, leo: Membership, ada: Membership) -> None:
    question = grading.ask(ada, "May I pause?", uuid4())
    page = listed(leo)
    assert f'name="item" value="question-{question.pk}"' in page
    sent = {"action": "dismiss", "item": f"question-{question.pk}"}
    answer = browser(leo).post(reverse("handle-flag", args=["films", flag.pk]), sent)
    assert answer["Location"].endswith(f"/inbox/?item=question-{question.pk}&done=flag-{flag.pk}")


def test_putting_a_flag_away_is_for_good(flag: Flag, leo: Membership) -> None:
    assert handle(leo, flag, "dismiss") == 302
    flag.refresh_from_db()
    first = flag.handled
    assert handle(leo, flag, "dismiss") == 302
    flag.refresh_from_db()
    assert (flag.handled, flag.handled_by) == (first, leo)
    assert "Nothing waits" in listed(leo)
    assert flag.candidate.outcome == Candidate.Outcome.FLAGGED


def test_a_clip_that_failed_is_asked_for_again(flag: Flag, leo: Membership) -> None:
    clip = flag.candidate.clip
    assert clip is not None
    Clip.objects.filter(pk=clip.pk).update(state=Clip.State.FAILED, error="frame 3 is torn")
    assert "frame 3 is torn" in listed(leo)
    assert handle(leo, flag, "retry") == 302
    clip.refresh_from_db()
    assert (clip.state, clip.error) == ("waiting", "")
    assert cut_clips.jobs(flag.candidate.batch).exists()
    assert Flag.objects.waiting(leo.campaign).exists()


def test_what_is_for_leads_is_in_no_view_of_a_researcher(flag: Flag, member: Callable[..., Membership]) -> None:
    rio = browser(member("rio", "researcher"))
    for page, tab, status in (
        ("inbox", "messages", 404),
        ("inbox", "applicants", 404),
        ("inbox", "flags", 200),
        ("activity", "", 200),
        ("activity", "jobs", 200),
    ):
        assert rio.get(reverse(page, args=["films"]), {"view": tab}).status_code == status, tab
    assert rio.get(reverse("activity", args=["films"]), {"view": ""}).context["tab"] == "reopened"


@pytest.mark.parametrize("action", ["", "delete"])
def test_other_actions_are_refused(flag: Flag, leo: Membership, action: str) -> None:
    assert handle(leo, flag, action) == 400


def test_who_does_not_lead_here_handles_nothing(flag: Flag, ada: Membership, member: Callable[..., Membership]) -> None:
    for person in (ada, member("rio", "researcher")):
        assert handle(person, flag, "dismiss") == 404
    flag.refresh_from_db()
    assert flag.handled is None
