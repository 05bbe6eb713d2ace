"""`generate_campaign`: a campaign of any size that keeps every rule, the same from the same seed."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from campaigns.models import Campaign
from demo.management.commands import generate_campaign
from judging.audit import audit
from judging.models import Batch, Candidate, Flag, Judgement, Question, Sitting
from judging.quality.check_results import check_totals
from tests.remembered import remembered

pytestmark = pytest.mark.django_db


def make(name: str, *more: str, queries: int = 20) -> Campaign:
    call_command("generate_campaign", name, "--queries", str(queries), "--annotators", "6", *more)
    return Campaign.objects.get(name=name)


@pytest.fixture
@remembered
def made(db: None) -> Campaign:
    return make("made")


@pytest.fixture
@remembered
def large(db: None) -> Campaign:
    return make("large", queries=100)


def grades(campaign: Campaign) -> list[int]:
    """Of all pairs; which of them are copied follows from keys, which differ from campaign to campaign."""
    rows = Judgement.objects.filter(annotator__campaign=campaign, candidate__repeats=None).order_by(
        "candidate__query", "candidate__rank", "seat", "annotator"
    )
    return list(rows.values_list("grade", flat=True))


def test_it_keeps_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    campaign = make("made")
    assert not any(audit(campaign).values())
    assert Candidate.objects.in_pool(campaign).count() == 800
    judgements = Judgement.objects.filter(annotator__campaign=campaign).count()
    assert f"20 queries, 800 candidates, {judgements:,} judgements" in capsys.readouterr().out


def test_work_is_at_every_stage(large: Campaign) -> None:
    states = set(Batch.objects.in_campaign(large).values_list("state", "round"))
    assert {("reviewed", 2), ("settled", 2), ("open", 1), ("open", 2)} <= states
    assert set(Candidate.objects.in_pool(large).values_list("outcome", flat=True)) == {
        "open",
        "contested",
        "settled",
        "discarded",
        "flagged",
        "adjudicated",
    }


def test_it_has_checks_flags_questions_an_exam_and_the_leads_word(large: Campaign) -> None:
    assert not any(audit(large).values())
    judgements = Judgement.objects.filter(annotator__campaign=large)
    assert 0.02 < judgements.filter(candidate__query__kind="check").count() / judgements.count() < 0.06
    assert any(0 < hers.missed < hers.pairs for hers in check_totals(large).values())
    assert Flag.objects.waiting(large).exists()
    assert Question.objects.waiting(large).exists()
    assert large.reopenings.exists()
    assert Sitting.objects.filter(member__campaign=large, ended__isnull=False).count() == 6


def test_a_query_has_a_hundred_judgements(made: Campaign) -> None:
    assert len(grades(made)) >= 20 * 95


def test_the_same_seed_says_the_same(made: Campaign) -> None:
    assert grades(made) == grades(make("two")) != grades(make("three", "--seed", "2"))


@pytest.mark.parametrize("more", [("--queries", "0"), ("--queries", "20001"), ("--annotators", "3")])
def test_what_cannot_be_is_refused(more: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match=rf"{more[0]} {more[1]}: expected"):
        call_command("generate_campaign", "made", *more)
    assert not Campaign.objects.exists()


def test_a_name_that_is_taken_is_refused(made: Campaign) -> None:
    with pytest.raises(CommandError, match="campaign made: exists already"):
        call_command("generate_campaign", "made")


@pytest.mark.django_db(transaction=True)
@pytest.mark.any_database
def test_others_can_write_between_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """On SQLite one transaction of all of it kept everybody else from writing for a minute and more."""
    seen = []
    for name in ("reopen", "adjudicate", "_flag", "_hide"):
        step = getattr(generate_campaign, name)

        def spy(*arguments: Any, step: Any = step) -> Any:
            seen.append(connection.in_atomic_block)
            return step(*arguments)

        monkeypatch.setattr(generate_campaign, name, spy)
    make("made")
    assert len(seen) > 40
    assert not any(seen)
