"""A campaign that is made over the API: drafted, uploaded, checked, made."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from campaigns.access import let_create
from campaigns.models import Campaign, Draft
from jobs.running import work_off
from tests.api.asking import Program, problem_in
from tests.api.test_runs import piece
from tests.lead.drafts.conftest import MOMENTS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lia(settings: Any, tmp_path: Path) -> Program:
    settings.UPLOAD_ROOT = tmp_path
    user = User.objects.create(username="lia")
    let_create(user)
    return Program(user)


def test_a_campaign_from_its_draft(lia: Program) -> None:
    User.objects.create(username="ada")
    made = lia.post("drafts", {}, idempotency_key="d")
    assert lia.post("drafts", {}, idempotency_key="d").json()["token"] == made.json()["token"]
    draft = f"drafts/{made.json()['token']}"
    fields = {
        "corpus": {"corpus_name": "plays", "format": "csv"},
        "queries": {"text": "A person sits down.\nA person waves.\n", "split": "val"},
        "settings": {"name": "plays", "second_from": 2.5},
        "people": [{"name": "ada", "role": "annotator"}],
    }
    problem_in(lia.ask("PATCH", draft, fields), 428)
    wrong = fields | {"people": [{"name": "nobody", "role": "lead"}], "settings": {"name": "a b"}}
    fault = problem_in(lia.ask("PATCH", draft, wrong, if_match=made["ETag"]), 422)
    assert fault["fields"].keys() == {"people.people", "settings.name"}
    assert Draft.objects.get().corpus_name == ""
    stored = lia.ask("PATCH", draft, fields, if_match=made["ETag"])
    assert (stored.status_code, stored.json()["people"]) == (200, [["ada", "annotator"]])
    problem_in(lia.ask("PATCH", draft, fields, if_match=made["ETag"]), 412)
    file = lia.post(f"{draft}/files", {"purpose": "moments", "name": "m.csv", "size": len(MOMENTS)}).json()
    where = f"{draft}/files/{file['token']}"
    assert piece(lia, where, 0, MOMENTS.encode()).json()["whole"]
    problem_in(lia.post(f"{draft}/campaign"), 409)
    answer = lia.post(f"{draft}/check")
    assert (answer.status_code, answer["Location"]) == (202, f"/api/v1/{draft}")
    work_off(StringIO())
    checked = lia.get(draft).json()
    assert (checked["ready"], checked["findings"]["problems"]) == (True, [])
    assert lia.post(f"{draft}/campaign").status_code == 202
    work_off(StringIO())
    assert lia.get(draft).json()["campaign"] == "plays"
    campaign = Campaign.objects.get()
    assert (campaign.second_from, campaign.queries.count()) == (2.5, 2)
    assert {each.user.username for each in campaign.memberships.all()} == {"lia", "ada"}
    problem_in(lia.ask("DELETE", draft), 409)


def test_nobody_reaches_anothers_draft(lia: Program) -> None:
    other = User.objects.create(username="leo")
    let_create(other)
    draft = f"drafts/{lia.post('drafts').json()['token']}"
    for method, address in (("GET", draft), ("DELETE", draft), ("POST", f"{draft}/check")):
        problem_in(Program(other).ask(method, address), 404)
    assert Program(other).get("drafts").json()["results"] == []
    assert lia.ask("DELETE", draft).status_code == 204
    assert not Draft.objects.exists()
