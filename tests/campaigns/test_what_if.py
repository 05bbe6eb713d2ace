"""What a sentence that is not in the guideline yet would change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from corpus.models import Moment
from judging.models import Batch, Candidate
from judging.quality.examples import concerned, drawn, regraded
from retrieval.search.searching import Answer, Hit
from tests.cast import browser, settle

WHAT_IF = {"drawer": "what-if", "sentence": "Waving counts as greeting."}


@pytest.fixture
def near(batch: Batch, ada: Membership, bob: Membership, monkeypatch: pytest.MonkeyPatch) -> list[Candidate]:
    """The judged pairs, whose captions are the less near to every sentence the lower their rank."""
    settle(batch, ada, bob)
    pairs = list(batch.candidates.order_by("rank"))
    hits = [Hit(Moment.objects.get(pk=pair.moment_id), 1 - pair.rank / 50) for pair in pairs]
    monkeypatch.setattr("judging.quality.examples.search", lambda *_: Answer(hits, len(hits)))
    return pairs


def test_pairs_above_the_threshold_are_concerned_nearest_first(near: list[Candidate], leo: Membership) -> None:
    _, pairs = concerned(leo, "Waving.", 0.87)
    assert [pair.rank for pair, _ in pairs] == [1, 2, 3, 4, 5, 6]


def test_the_sample_is_the_same_each_time(near: list[Candidate], leo: Membership) -> None:
    _, pairs = concerned(leo, "Waving.", 0)
    assert drawn(pairs) == drawn(pairs[::-1])
    assert len(drawn(pairs)) == min(20, len(near))


def test_new_grades_are_compared_with_the_final_ones(near: list[Candidate], leo: Membership) -> None:
    first, second = near[:2]
    assert first.grade is not None
    other = (first.grade + 1) % 5
    found = regraded(leo.campaign, {first.pk: other, second.pk: second.grade or 0, 10**9: 3})
    assert found
    assert (found.pairs, found.changed, found.share) == (2, 1, 0.5)
    assert ((first.grade, other), 1) in found.moves
    assert regraded(leo.campaign, {10**9: 3}) is None


def test_the_lead_judges_blind_and_stores_nothing(near: list[Candidate], leo: Membership) -> None:
    address, client = reverse("guideline", args=["films"]), browser(leo)
    page = client.get(address, WHAT_IF | {"above": "0.87"}).content.decode()
    assert "6 judged pairs</strong>" in page
    page = client.get(address, WHAT_IF | {"judge": "on"}).content.decode()
    assert page.count("<fieldset>") == min(20, len(near))
    assert " checked" not in page
    page = client.get(address, WHAT_IF | {f"g{near[0].pk}": str(near[0].grade)}).content.decode()
    assert "0 of 1 pairs; 95 % interval 0.0 % to 79.3 %" in page
    assert client.get(address, WHAT_IF | {"above": "2"}).status_code == 400


def test_a_corpus_that_is_not_indexed_says_so(batch: Batch, leo: Membership) -> None:
    page = browser(leo).get(reverse("guideline", args=["films"]), WHAT_IF).content.decode()
    assert "The captions cannot be searched yet; a job prepares it." in " ".join(page.split())


def test_a_researcher_has_no_such_drawer(campaign: Campaign, member: Callable[..., Membership]) -> None:
    page = browser(member("rio", "researcher")).get(reverse("guideline", args=["films"]), WHAT_IF).content.decode()
    assert "what-if" not in page
