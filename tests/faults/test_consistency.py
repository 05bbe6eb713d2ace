"""Everybody at once: annotators who lose answers, leads who decide, undo, reopen and pause, and two workers."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.faults.account import check
from tests.faults.conftest import Note
from tests.faults.crowd import NOT_REACHED, Annotator, at_work, make_campaign, make_people
from tests.faults.servers import installed
from tests.installation import sql
from tests.waiting import a_while

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
MINUTES = float(os.environ.get("FUZZ_MINUTES", "2"))
ANNOTATORS, LEADS, QUERIES = 9, 3, 400
REASON = "chosen by chance"


class Lead(Annotator):
    """Somebody who does now this, now that."""

    def work(self) -> None:
        verbs = [self.review] * 8 + [self.undo] * 2 + [self.reopen, self.pause_somebody, self.look, self.look]
        while not self.stopped.is_set():
            with suppress(*NOT_REACHED):
                self.chance.choice(verbs)()
            a_while(0.2)
        self.hang_up()

    def say(self, method: str, path: str, body: object = None) -> Any:
        answer = self.ask(method, f"/api/v1/campaigns/{self.campaign}/{path}", body)
        if not answer.is_good:
            self.refused[answer.status] += 1
        return answer.body if answer.is_good else {}

    def some(self, path: str) -> Any:
        """Return one of the rows that a list has, or nothing."""
        rows = self.say("GET", path).get("results", [])
        return self.chance.choice(rows) if rows else None

    def review(self) -> None:
        if batch := self.some("batches/to-review"):
            verdict = self.chance.choice(["second", "close"])
            self.say("PUT", f"batches/{batch['id']}/review", {"verdict": verdict, "reason": REASON})

    def undo(self) -> None:
        if review := self.some("reviews"):
            self.say("DELETE", f"batches/{review['batch']}/review")

    def reopen(self) -> None:
        if review := self.some("reviews"):
            self.say("POST", "reopenings", {"what": "batch", "id": review["batch"], "reason": REASON})

    def pause_somebody(self) -> None:
        member = self.some("members")
        if member and member["role"] == "annotator":
            for verb in ("pause", "resume"):
                self.say("POST", f"members/{member['worker']}/changes", {"verb": verb, "reason": REASON})

    def look(self) -> None:
        self.ask("GET", f"/campaigns/{self.campaign}/")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_everybody_at_once(tmp_path: Path, kind: str, note: Note) -> None:
    with installed(tmp_path / "home", kind) as place:
        place.spawn("manage.py", "worker")  # beside the one of the server
        annotators = make_campaign(place, "fuzz", ANNOTATORS, QUERIES, moments=40)
        for each in annotators:
            each.pause, each.lost_answers = 0.3, 0.05
        leads = [as_lead(each) for each in make_people(place, "fuzz", LEADS, role="lead")]
        with at_work([*annotators, *leads]) as crowd:
            a_while(60 * MINUTES)
        done = check(place, annotators)
        locked = (place.home / "log").read_text().count("database is locked")
        counts = {what: sql(place, f"SELECT COUNT(*) FROM judging_{what}")[0][0] for what in ("review", "reopening")}
        not_503 = {status for each in crowd.annotators for status in each.refused if status >= 500} - {503}
    assert (locked, not_503) == (0, set()), [each.refused for each in crowd.annotators]
    assert all(counts.values()), counts  # the leads were heard
    print(done, counts, sum((each.refused for each in leads), leads[0].refused))
    note(f"everybody at once, {counts['review']} reviews, {counts['reopening']} reopenings", kind, done)


def as_lead(person: Annotator) -> Lead:
    return Lead(person.address, person.campaign, person.name, person.cookie)
