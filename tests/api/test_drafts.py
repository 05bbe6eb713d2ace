"""A campaign that is made over the API: drafted, uploaded, checked, made."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from campaigns.access import let_create
from campaigns.models import Campaign
from drafts.models import Draft
from jobs.running import work_off
from tests.api.asking import Program, problem_in
from tests.api.test_runs import piece
from tests.drafts.conftest import MOMENTS
from tests.judging.test_reuse import again, closed, moments_of, query_of

__all__ = ["again", "closed"]  # fixtures

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


def test_a_campaign_that_reuses_the_grades_of_another(lia: Program, again: Campaign) -> None:
    """By its name; and how much of it is reused, pair by pair."""
    earlier = again.reuses
    assert earlier
    draft = f"drafts/{lia.post('drafts').json()['token']}"
    fields = {"corpus": {"corpus": earlier.corpus_id}}
    stored = lia.ask("PATCH", draft, fields, if_match=lia.get(draft)["ETag"])
    reuses = {"queries": {"text": "A person sits down.", "reuses": "films"}}
    fault = problem_in(lia.ask("PATCH", draft, reuses, if_match=stored["ETag"]), 422)
    assert fault["fields"] == {"queries.reuses": ["films; expected a campaign over this corpus that you lead."]}
    for campaign in (earlier, again):
        campaign.add_member(User.objects.get(username="lia"), "lead")
    stored = lia.ask("PATCH", draft, reuses, if_match=stored["ETag"])
    assert (stored.status_code, stored.json()["reuses"]) == (200, "films")
    none = lia.ask("PATCH", draft, {"queries": {"reuses": None}}, if_match=stored["ETag"])
    assert (none.status_code, none.json()["reuses"]) == (200, None)
    batch = query_of(again, moments_of(again.corpus, 10, 30)).batches.get()
    detail = lia.get("campaigns/again").json()
    assert (detail["reuses"], detail["reused"]) == ("films", 10)
    candidates = lia.get(f"campaigns/again/batches/{batch.pk}").json()["candidates"]
    assert [each["reused"] is None for each in candidates] == [False] * 10 + [True] * 10
    first = {"campaign": "films", "query": "1", "rank": 11, "start": 1.25, "end": 4.5, "overlap": 1.0, "grades": [1, 1]}
    assert candidates[0]["reused"] == first


@pytest.mark.any_database
def test_what_is_in_a_file_and_what_is_wrong_with_it(lia: Program) -> None:
    draft = f"drafts/{lia.post('drafts').json()['token']}"
    files = dict.fromkeys(["moments", "queries", "benchmark"])
    nothing: dict[str, Any] = files | {"depths": [], "corpus_name": "", "name": ""}
    assert lia.get(f"{draft}/reading").json() == nothing
    content = MOMENTS.replace("video,start", "Film,From") + "film-1,9,8,Backwards.,60\n"
    file = lia.post(f"{draft}/files", {"purpose": "moments", "name": "M.csv", "size": len(content)}).json()
    assert piece(lia, f"{draft}/files/{file['token']}", 0, content.encode()).json()["whole"]
    work_off(StringIO())
    found = lia.get(f"{draft}/reading").json()
    assert (found["corpus_name"], found["name"]) == ("m", "m")
    moments = found["moments"]
    assert (moments["recognised"], moments["columns"]["video"], moments["wrong"]) == ("csv", "Film", 1)
    assert moments["counts"] == {"videos": 3, "moments": 30}
    assert moments["first"][0] == ["film-0", 0.0, 1.5, "A person sits down on chair 0."]
    [fault] = moments["problems"]
    assert (fault["line"], fault["text"]) == (32, "film-1,9,8,Backwards.,60")
    lines = b"".join(lia.get(f"{draft}/problems").streaming_content).decode().splitlines()
    assert lines[1].startswith('corpus,M.csv,32,"film-1,9,8,Backwards.,60",field times: ')
    tag = lia.get(draft)["ETag"]
    columns = {"corpus": {"corpus_name": "m", "columns": {"video": "From"}}}
    assert lia.ask("PATCH", draft, columns, if_match=tag).json()["columns"] == {"video": "From"}
    assert lia.get(f"{draft}/reading").json()["moments"] is None  # it is still to be read so
    leaving_out = {"corpus": {"corpus_name": "m", "leaves_out_unusable": True}}
    tag = lia.get(draft)["ETag"]
    assert lia.ask("PATCH", draft, leaving_out, if_match=tag).json()["leaves_out_unusable"] is True
    unknown = {"corpus": {"corpus_name": "m", "columns": {"what": "From"}}}
    assert lia.ask("PATCH", draft, unknown, if_match=lia.get(draft)["ETag"]).status_code == 400


@pytest.mark.any_database
def test_nobody_reaches_anothers_draft(lia: Program) -> None:
    other = User.objects.create(username="leo")
    let_create(other)
    draft = f"drafts/{lia.post('drafts').json()['token']}"
    for method, address in (("GET", draft), ("DELETE", draft), ("POST", f"{draft}/check")):
        problem_in(Program(other).ask(method, address), 404)
    assert Program(other).get("drafts").json()["results"] == []
    assert lia.ask("DELETE", draft).status_code == 204
    assert not Draft.objects.exists()
