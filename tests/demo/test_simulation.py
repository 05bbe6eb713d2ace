"""Played annotators with quiet checks on: they know the truth of a copy from its original, and stop when paused."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns.models import Campaign, Membership
from demo.simulated_annotators import Person, own_server, play, truth_from
from judging.audit import audit
from judging.models import Assignment, Candidate, Kind
from judging.quality import checks
from judging.quality.gold import draw_gold
from tests.cast import by_rank, settled_and_more

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def truths(campaign: Campaign, bob: Membership, cleo: Membership, tmp_path: Path) -> Path:
    """Gold is ready, eight queries are to be judged, and a file says what everybody should."""
    settled_and_more(campaign, bob, cleo)
    draw_gold(campaign, 3, seed=1)
    campaign.queries.filter(query_id__in=[f"q{n}" for n in range(16, 48)]).delete()
    lines = ["query_id,video,start,end,grade"]
    for pair in Candidate.objects.filter(query__kind=Kind.POOL).select_related("query", "moment__video"):
        moment = pair.moment
        lines.append(f"{pair.query.query_id},{moment.video},{moment.start},{moment.end},{by_rank(pair)}")
    (tmp_path / "truth.csv").write_text("\n".join(lines))
    return tmp_path / "truth.csv"


@pytest.fixture
def always_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check comes as soon as the rate allows it, whatever keys the members got and so whatever they draw."""
    monkeypatch.setattr(checks, "is_wanted", lambda rate, judged, checked, draw: rate * judged > checked)


def test_a_campaign_is_played_to_its_end(campaign: Campaign, truths: Path, always_drawn: None) -> None:
    with own_server() as address:
        tallies = list(play(address, campaign, 2, 1, truth_from(truths), reviews=False))
    played = campaign.memberships.filter(user__username__startswith="played")
    done = Assignment.objects.filter(annotator__in=played, batch__kind=Kind.CHECK)
    assert tallies[-1].batches == 2 * 8 + done.count()
    assert done.filter(batch__query__query_id__contains="gold").exists()
    assert not any(audit(campaign).values())


def test_who_is_paused_does_no_more(campaign: Campaign, truths: Path) -> None:
    with own_server() as address:
        person = Person(address, campaign, "played-01", Membership.Role.ANNOTATOR)
        person.member.pause(None, "by a rule")
        assert person.judge_a_batch(truth_from(truths), 1) == 0
        person.member.resume(None)
        assert person.judge_a_batch(truth_from(truths), 1) == 4
        person.http.close()
