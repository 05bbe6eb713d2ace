"""Worked examples: which pairs may become one, whose clips open, and what hides one again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db.models.functions import Now
from django.urls import reverse

from base.errors import WrongState
from campaigns.models import Campaign, Membership
from corpus.models import Clip, Moment
from jobs.models import Job
from judging.models import Batch, Candidate, Example, Kind, Query
from judging.pool.clips import cut_clip
from judging.quality.examples import add_example, add_own_example, is_teachable, levels, teachable, visible_examples
from tests.cast import browser, claim, content_of, settle_round_one

OWN = {"query": "A dog  barks.", "video": "secret-video-5", "start": "1.25", "end": "4.5", "grade": "2", "why": "Half."}


@pytest.fixture
def settled(batch: Batch, ada: Membership, bob: Membership) -> Candidate:
    """Rank 4 of a batch in which ranks 1-3 are contested and the rest is settled."""
    settle_round_one(batch, ada, bob, apart=3)
    return batch.candidates.get(rank=4)


@pytest.fixture
def example(settled: Candidate, leo: Membership) -> Example:
    made = add_example(leo, settled, 4, "All of it.")
    clip = made.clip
    assert clip is not None
    clip.state = Clip.State.READY
    clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(b"0123456789"))
    return made


def add(lead: Membership, **changes: str) -> Any:
    return browser(lead).post(reverse("example-add", args=["films", "own"]), OWN | changes)


def test_a_settled_pair_becomes_an_example(settled: Candidate, leo: Membership) -> None:
    address, page = reverse("example-add", args=["films", settled.pk]), reverse("guideline", args=["films"])
    assert b'<option value="4" selected>' in browser(leo).get(page, {"example": settled.pk}).content
    answer = browser(leo).post(address, {"grade": "3", "why": "But for one thing."})
    assert (answer.status_code, answer["Location"]) == (302, page)
    made = Example.objects.get()
    assert (made.query, made.moment, made.grade, made.by) == ("A person sits down.", settled.moment, 3, leo)
    assert b"But for one thing." in browser(leo).get(reverse("guideline", args=["films"])).content


def test_adding_it_again_replaces_the_words(settled: Candidate, leo: Membership) -> None:
    add_example(leo, settled, 3, "One.")
    add_example(leo, settled, 4, "Two.")
    assert list(Example.objects.values_list("grade", "why")) == [(4, "Two.")]


@pytest.mark.parametrize("rank", [1, 21])
def test_a_pair_still_to_be_judged_is_refused(batch: Batch, settled: Candidate, leo: Membership, rank: int) -> None:
    """Rank 1 is contested; rank 21 is in no batch yet."""
    candidate = Candidate.objects.get(query=batch.query, rank=rank)
    with pytest.raises(WrongState, match="still to be judged"):
        add_example(leo, candidate, 4, "x")
    address = reverse("example-add", args=["films", candidate.pk])
    assert browser(leo).post(address, {"grade": "4", "why": "x"}).status_code == 404
    assert not Example.objects.exists()


@pytest.mark.parametrize("outcome", ["adjudicated", "discarded", "flagged"])
def test_what_the_lead_decided_may_teach(settled: Candidate, leo: Membership, outcome: str) -> None:
    grade = 2 if outcome == Candidate.Outcome.ADJUDICATED else None
    Candidate.objects.filter(pk=settled.pk).update(outcome=outcome, grade=grade)
    if outcome == Candidate.Outcome.FLAGGED:
        with pytest.raises(WrongState):
            add_example(leo, settled, 2, "x")
    else:
        assert add_example(leo, settled, 2, "x").grade == 2


def test_pairs_of_exams_and_checks_are_refused(campaign: Campaign, leo: Membership) -> None:
    moment = Moment.objects.order_by("pk").last()
    assert moment
    for kind in (Kind.EXAM, Kind.CHECK):
        query = Query.objects.create(campaign=campaign, query_id=f"{kind}:1", kind=kind, text=f"A {kind}.")
        candidate = Candidate.objects.create(query=query, moment=moment, rank=1, similarity=0, truth=3)
        with pytest.raises(WrongState):
            add_example(leo, candidate, 3, "x")
        with pytest.raises(WrongState):
            add_own_example(leo, f"a  {kind}.", moment, 3, "x")


def test_a_pair_of_ones_own(campaign: Campaign, leo: Membership) -> None:
    assert add(leo).status_code == 302
    made = Example.objects.get()
    assert (made.query, str(made.moment), made.grade) == ("A dog barks.", "secret-video-5@1250-4500", 2)
    assert made.clip is not None
    assert made.clip.state == Clip.State.MISSING


def test_ones_own_pair_may_not_be_a_pool_pair(batch: Batch, leo: Membership) -> None:
    """Not in other letters, and not by another description of the same stretch of film either."""
    moment = batch.candidates.get(rank=1).moment
    Moment.objects.create(video=moment.video, start=moment.start, end=moment.end, description="b", caption="b")
    answer = add(leo, query="a person  SITS down.", video="secret-video-0", start="1.25", end="4.5")
    assert answer.status_code == 409
    assert b"still to be judged" in answer.content
    twin = Moment.objects.get(description="b")
    with pytest.raises(WrongState):
        add_own_example(leo, "A person sits down.", twin, 4, "x")
    assert not Example.objects.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query": ""}, "This field is required"),
        ({"query": "x" * 501}, "at most 500 characters"),
        ({"query": "a\0"}, "Null characters"),
        ({"video": "nothing"}, "No video of this corpus has that name"),
        ({"start": "1.3"}, "This video has moments at 1.25-4.5, 11.25-14.5"),
        ({"start": "nan"}, "Enter a number"),
        ({"end": "1e400"}, "Enter a number"),
        ({"start": "-1"}, "greater than or equal to 0"),
        ({"grade": "5"}, "Select a valid choice"),
        ({"grade": "2.0"}, "Select a valid choice"),
        ({"why": " "}, "This field is required"),
        ({"why": "x" * 1001}, "at most 1000 characters"),
    ],
)
def test_what_is_wrong_is_named(campaign: Campaign, leo: Membership, changes: dict[str, str], message: str) -> None:
    answer = add(leo, **changes)
    assert answer.status_code == 400
    assert message in answer.content.decode().replace("&gt;", ">")
    assert not Example.objects.exists()


def test_removing_twice_is_harmless(example: Example, leo: Membership, ada: Membership) -> None:
    address = reverse("example-remove", args=["films", example.pk])
    assert browser(ada).post(address).status_code == 404
    assert Example.objects.exists()
    for _ in range(2):
        assert browser(leo).post(address).status_code == 302
    assert not Example.objects.exists()


def test_another_campaigns_example_stays(example: Example, member: Callable[..., Membership]) -> None:
    other = Campaign.objects.create(name="other", corpus=example.campaign.corpus)
    lea = other.add_member(User.objects.create(username="lea"), "lead")
    browser(lea).post(reverse("example-remove", args=["other", example.pk]))
    assert Example.objects.exists()
    candidate = Candidate.objects.settled().first()
    assert candidate
    assert browser(lea).get(reverse("guideline", args=["other"]), {"example": candidate.pk}).status_code == 404


def test_settled_pairs_are_found_by_words(settled: Candidate, leo: Membership) -> None:
    def found(words: str) -> int:
        answer = browser(leo).get(reverse("guideline", args=["films"]), {"example": "find", "find": words})
        return answer.content.decode().count(">Choose<")

    assert [found("person SITS"), found(""), found("nobody"), found("\0")] == [17, 17, 0, 17]


def test_its_clip_opens_for_everybody_in_the_campaign(
    example: Example, outsider: User, member: Callable[..., Membership]
) -> None:
    assert example.clip
    address = reverse("clip", args=[example.clip.token])
    eve = member("eve")
    answer = browser(eve).get(address)
    assert (answer.status_code, content_of(answer)) == (200, b"0123456789")
    assert browser(outsider).get(address).status_code == 404
    Membership.objects.filter(pk=eve.pk).update(state=Membership.State.PAUSED)
    assert content_of(browser(eve).get(address)) == b"0123456789"  # she may go on reading
    Membership.objects.filter(pk=eve.pk).update(state=Membership.State.LEFT)
    assert browser(eve).get(address).status_code == 404


def test_a_pair_that_is_judged_again_hides_its_example(
    example: Example, settled: Candidate, leo: Membership, member: Callable[..., Membership]
) -> None:
    assert example.clip
    eve = member("eve")
    Candidate.objects.filter(pk=settled.pk).update(outcome=Candidate.Outcome.OPEN, grade=None)
    assert not visible_examples(Example.objects.all()).exists()
    assert not any(level.examples for level in levels(example.campaign))
    assert browser(eve).get(reverse("clip", args=[example.clip.token])).status_code == 404
    assert b"being judged again" in browser(leo).get(reverse("guideline", args=["films"])).content
    Candidate.objects.filter(pk=settled.pk).update(outcome=Candidate.Outcome.SETTLED, grade=4)
    assert visible_examples(Example.objects.all()).exists()


def test_its_clip_is_cut_by_a_job_and_tried_again(campaign: Campaign, leo: Membership, tmp_path: Any) -> None:
    moment = Moment.objects.order_by("pk").last()
    assert moment
    moment.video.media = "nothing.mp4"
    moment.video.save()
    moment.video.corpus.media_folder = str(tmp_path)
    moment.video.corpus.save()
    (tmp_path / "nothing.mp4").touch()
    made = add_own_example(leo, "A dog barks.", moment, 1, "x")
    job = Job.objects.get(kind="cut-clip")
    cut_clip(Clip.objects.get(pk=job.row), lambda done, total, message="": None)
    assert made.clip
    made.clip.refresh_from_db()
    assert made.clip.state == Clip.State.FAILED
    page = browser(leo).get(reverse("guideline", args=["films"])).content.decode()
    assert "nothing.mp4: cannot be decoded" in page
    made = add_own_example(leo, "A dog barks.", moment, 1, "x")
    assert made.clip
    assert made.clip.state == Clip.State.WAITING


def test_the_guideline_beside_the_clip_shows_them(
    example: Example, batch: Batch, member: Callable[..., Membership]
) -> None:
    eve = member("eve")
    page = browser(eve).get(reverse("workplace", args=[claim(eve).token])).content.decode()
    panel = re.search(r'<aside id="guideline".*?</aside>', page, re.S)
    assert panel
    assert "All of it." in panel[0]
    assert example.clip
    assert example.clip.token in panel[0]


def test_one_pair_is_teachable_where_the_list_has_it(settled: Candidate, leo: Membership) -> None:
    def are_equal() -> bool:
        found = {each.pk for each in Candidate.objects.select_related("batch__query") if is_teachable(each)}
        return found == set(teachable(leo.campaign).values_list("pk", flat=True))

    Candidate.objects.exclude(pk=settled.pk).filter(rank=2).update(outcome=Candidate.Outcome.FLAGGED)
    assert is_teachable(Candidate.objects.select_related("batch__query").get(pk=settled.pk))
    assert are_equal()
    Query.objects.filter(pk=settled.query_id).update(withdrawn=Now(), withdrawn_for="query", withdrawn_why="unclear")
    assert are_equal()


def test_the_batch_page_offers_what_may_be_an_example(settled: Candidate, leo: Membership) -> None:
    address = reverse("batch", args=["films", settled.batch_id])
    page = browser(leo).get(address).content.decode()
    pairs = Candidate.objects.filter(batch=settled.batch, rank__gt=3).order_by("rank")
    offered = re.findall(r"guideline/\?example=(\d+)", page)
    assert offered == [str(each.pk) for each in pairs]
    Query.objects.filter(pk=settled.query_id).update(withdrawn=Now(), withdrawn_for="query", withdrawn_why="unclear")
    assert "?example=" not in browser(leo).get(address).content.decode()
