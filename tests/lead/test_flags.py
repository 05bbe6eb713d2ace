"""What annotators could not judge waits on one page until a lead has dealt with it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.urls import reverse

from campaigns.models import Membership
from corpus.models import Clip
from judging.models import Batch, Candidate, Flag
from judging.pool.clips import cut_clips
from judging.work import grading, submitting
from tests.cast import browser, claim, judge_all, text_between_tags
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
    return browser(leo).get(reverse("queue", args=["films"])).content.decode()


def handle(leo: Membership, flag: Flag, action: str) -> int:
    return browser(leo).post(reverse("handle-flag", args=["films", flag.pk]), {"action": action}).status_code


def test_the_page_lists_flags_with_who_and_why(flag: Flag, leo: Membership) -> None:
    page = listed(leo)
    for words in ("The clip is missing or broken", "“black from the start”", "worker 1 (ada)", "flagged"):
        assert words in page
    campaign = browser(leo).get(reverse("campaign", args=["films"])).content.decode()
    assert "1 flag to look at</a>" in campaign


def test_a_researcher_reads_no_name_and_has_no_buttons(flag: Flag, member: Callable[..., Membership]) -> None:
    page = listed(member("rio", "researcher")).split("<main>")[1]
    assert "worker 1," in page
    assert "ada" not in text_between_tags(page)
    assert "<button" not in page


def test_a_flag_that_left_no_grade_leads_to_those_who_give_one(flag: Flag, leo: Membership, cleo: Membership) -> None:
    """It is said before the flag is dismissed, and again afterwards."""
    page = " ".join(listed(leo).split())
    assert "left this pair without a final grade" in page
    assert "the pair stays without a grade" in page
    address = f"{reverse('reopen', args=['films'])}?candidate={flag.candidate_id}"
    assert f'href="{address}">Nothing is wrong: have others judge it' in page
    form = {"candidate": str(flag.candidate_id), "reason": "the clip is fine"}
    browser(leo).post(reverse("reopen", args=["films"]), form)
    assert claim(cleo).candidates.get() == flag.candidate
    assert not Flag.objects.waiting(leo.campaign).exists()


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


@pytest.mark.parametrize("action", ["", "delete"])
def test_other_actions_are_refused(flag: Flag, leo: Membership, action: str) -> None:
    assert handle(leo, flag, action) == 400


def test_who_does_not_lead_here_handles_nothing(flag: Flag, ada: Membership, member: Callable[..., Membership]) -> None:
    for person in (ada, member("rio", "researcher")):
        assert handle(person, flag, "dismiss") == 404
    flag.refresh_from_db()
    assert flag.handled is None
