"""What became of the grades of a crowd: how many were lost, stored twice, or made in places that were given twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tests.faults.crowd import Annotator
from tests.installation import Installation, sql

OF_CAMPAIGN = (
    "JOIN campaigns_membership m ON m.id = a.annotator_id "
    "JOIN campaigns_campaign c ON c.id = m.campaign_id AND c.name = '{}'"
)
STORED = (
    "SELECT r.key, r.grade, a.id, r.press FROM judging_revision r JOIN judging_judgement j ON j.id = r.judgement_id "
    f"JOIN judging_assignment a ON a.id = j.assignment_id {OF_CAMPAIGN}"
)
ROUNDS = (
    f"SELECT a.batch_id, a.round FROM judging_assignment a {OF_CAMPAIGN} "
    "WHERE a.slot IS NOT NULL AND a.state <> 'lapsed'"
)
PLACES = 2  # of a round


@dataclass
class Account:
    acknowledged: int
    lost: int  # acknowledged grades that are not in the database as they were sent
    doubled: int  # presses that are in the database more than once
    oversold: int  # assignments above two in a round

    @property
    def is_clean(self) -> bool:
        return self.lost == self.doubled == self.oversold == 0


def account(place: Installation, annotators: list[Annotator]) -> Account:
    """Compare what the annotators were told with what the database holds."""
    campaign = annotators[0].campaign
    acknowledged = [grade for each in annotators for grade in each.grades]
    rows = sql(place, STORED.format(campaign))
    stored = {str(key).replace("-", ""): grade for key, grade, _, _ in rows}
    lost = [each for each in acknowledged if stored.get(each.key.replace("-", "")) != each.grade]
    presses = Counter((assignment, press) for _, _, assignment, press in rows)
    rounds = Counter(sql(place, ROUNDS.format(campaign)))
    oversold = sum(max(0, number - PLACES) for number in rounds.values())
    return Account(len(acknowledged), len(lost), presses.total() - len(presses), oversold)


def check(place: Installation, annotators: list[Annotator]) -> Account:
    """Return the account, which must be clean, as must be the audit; each refusal in between was a 503."""
    done = account(place, annotators)
    assert done.is_clean, done
    unforeseen = {status for each in annotators for status in each.refused if status >= 500} - {503}
    assert not unforeseen, [each.refused for each in annotators]
    assert "BROKEN" not in place.manage("audit", annotators[0].campaign)
    return done
