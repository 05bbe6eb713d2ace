"""What an annotator reads of the own grades in releases: their number, as it was when the release was frozen."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Membership
from judging.models import Batch, Candidate
from releases.freezing import freeze, freeze_release
from releases.models import Release
from tests.cast import browser, claim, judge_all, regrade, reopen_all, settle_round_one

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def judged(batch: Batch, ada: Membership, bob: Membership, cleo: Membership, dan: Membership) -> Campaign:
    """Three pairs go to round two, where one is settled; rank 20 is flagged."""
    settle_round_one(batch, ada, bob, apart=3)
    judge_all(claim(cleo), lambda candidate: 4)
    judge_all(claim(dan), lambda candidate: 4 if candidate.rank == 1 else 1)
    regrade(Candidate.objects.filter(batch=batch, rank=20), outcome=Candidate.Outcome.FLAGGED, grade=None)
    return batch.query.campaign


def frozen(campaign: Campaign, lead: Membership) -> Release:
    release = freeze(campaign, lead, "CC-BY-4.0", with_unfinished=True)
    freeze_release(release, lambda *_: None)
    release.refresh_from_db()
    return release


def read_by(annotator: Membership) -> list[str]:
    """The sentences on the annotator's own page."""
    page = browser(annotator).get(reverse("mine", args=["films"])).content.decode()
    return re.findall(r"\d+ of your grades? ?\w+ in release \d+\.", " ".join(page.split()))


def test_what_counts_is_behind_a_final_grade(
    judged: Campaign, leo: Membership, ada: Membership, cleo: Membership
) -> None:
    assert read_by(ada) == []
    release = frozen(judged, leo)
    settled = judged.queries.get().candidates.settled().count()
    assert settled == 17  # of 20: without ranks 2, 3 and 20
    assert release.contributions is not None
    assert sum(release.contributions.values()) == 2 * 16 + 4
    assert read_by(ada) == ["17 of your grades are in release 1."]
    assert read_by(cleo) == ["1 of your grades is in release 1."]
    mine = browser(ada).get("/api/v1/campaigns/films/mine").json()
    assert mine["contributions"] == [{"release": 1, "judgements": 17}]


def test_later_changes_do_not_count_for_a_frozen_release(judged: Campaign, leo: Membership, ada: Membership) -> None:
    frozen(judged, leo)
    reopen_all(leo, ada)
    frozen(judged, leo)
    assert read_by(ada) == ["17 of your grades are in release 1."]  # in the second there is none
    regrade(Candidate.objects.filter(rank__in=[4, 5]), outcome=Candidate.Outcome.DISCARDED, grade=None)
    assert read_by(ada) == ["17 of your grades are in release 1."]


def test_the_newest_release_comes_first(judged: Campaign, leo: Membership, ada: Membership) -> None:
    frozen(judged, leo)
    regrade(Candidate.objects.filter(rank=4), outcome=Candidate.Outcome.FLAGGED, grade=None)
    frozen(judged, leo)
    assert read_by(ada) == ["16 of your grades are in release 2.", "17 of your grades are in release 1."]


def test_releases_of_before_say_nothing(judged: Campaign, leo: Membership, ada: Membership) -> None:
    frozen(judged, leo)
    Release.objects.update(contributions=None)
    assert read_by(ada) == []


def test_no_file_of_a_release_has_the_counts(judged: Campaign, leo: Membership) -> None:
    release = frozen(judged, leo)
    with release.file.open() as file:
        assert b"contributions" not in file.read()
