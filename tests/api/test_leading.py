"""What a lead changes over the API: twice is harmless, and no change of somebody else is lost."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from api.models import StoredAnswer, forget_answers
from campaigns.models import Campaign, Invitation, Membership
from jobs.running import work_off
from judging.models import Batch
from judging.work.grading import ask
from metrics import example
from releases.archive import FROZEN
from releases.checks import CHECKS
from releases.models import Release
from tests.api.asking import Program, problem_in
from tests.cast import content_of


@pytest.mark.django_db
def test_a_review_and_its_undoing(settled: Batch, leo: Membership) -> None:
    lead = Program(leo)
    [waiting] = lead.get("campaigns/films/batches/to-review").json()["results"]
    assert waiting["recommendation"]["verdict"] == "close"
    address = f"campaigns/films/batches/{waiting['id']}/review"
    first = lead.ask("PUT", address, {"verdict": "close"}).json()
    assert lead.ask("PUT", address, {"verdict": "close"}).json() == first
    problem_in(lead.ask("PUT", address, {"verdict": "second"}), 409)
    assert lead.get("campaigns/films/queries", show="closed").json()["results"][0]["closed"]
    assert [each["id"] for each in lead.get("campaigns/films/reviews").json()["results"]] == [first["id"]]
    assert lead.ask("DELETE", address).status_code == 204
    problem_in(lead.ask("DELETE", address), 404)


@pytest.mark.django_db
def test_an_address_that_was_replaced_names_the_new_one(settled: Batch, leo: Membership) -> None:
    answer = Program(leo).post("campaigns/films/batches/acceptance", {"seen": []})
    assert "/api/v1/campaigns/NAME/actions, with the verb accept" in problem_in(answer, 410)["detail"]


@pytest.mark.django_db
def test_a_batch_tells_researchers_no_name(settled: Batch, leo: Membership, member: Any) -> None:
    address = f"campaigns/films/batches/{settled.pk}"
    lead, researcher = (Program(who).get(address) for who in (leo, member("rio", "researcher")))
    assert lead.json()["candidates"][0]["grades"][0].keys() - researcher.json()["candidates"][0]["grades"][
        0
    ].keys() == {"name"}
    assert not re.search(rb"\bada\b", researcher.content)
    assert [each["rank"] for each in researcher.json()["candidates"]] == list(range(1, 21))


@pytest.mark.django_db
def test_a_guideline_is_changed_only_from_the_version_in_force(campaign: Campaign, leo: Membership) -> None:
    lead, address = Program(leo), "campaigns/films/guideline"
    tag = lead.get(address)["ETag"]
    problem_in(lead.ask("PUT", address, {"text": "One."}), 428)
    first = lead.ask("PUT", address, {"text": "One."}, if_match=tag)
    assert first.json()["version"] == 1
    problem_in(lead.ask("PUT", address, {"text": "Two."}, if_match=tag), 412)
    assert lead.get(address).json()["text"] == "One.\n"
    assert lead.ask("PUT", address, {"text": "Two."}, if_match=first["ETag"]).json()["version"] == 2
    assert [each["version"] for each in lead.get(f"{address}/versions").json()["results"]] == [2, 1]


@pytest.mark.django_db
def test_settings_are_changed_one_by_one(campaign: Campaign, leo: Membership) -> None:
    lead, address = Program(leo), "campaigns/films/settings"
    found = lead.get(address)
    assert found.json()["fixed"].keys() == {"batch_size", "batches"}
    changed = lead.ask(
        "PATCH", address, {"second_from": 2.5, "hourly_rate": 12, "currency": "sgd"}, if_match=found["ETag"]
    )
    assert changed.json() == found.json() | {"second_from": 2.5, "hourly_rate": 12.0, "currency": "SGD"}
    problem_in(lead.ask("PATCH", address, {"second_from": 1}, if_match=found["ETag"]), 412)
    both = {"auto_second_from": 1, "auto_close_below": 3}
    fault = problem_in(lead.ask("PATCH", address, both, if_match=changed["ETag"]), 422)
    assert fault["fields"].keys() == {"auto_close_below"}
    problem_in(lead.ask("PATCH", address, {"batch_size": 5}, if_match=changed["ETag"]), 422)
    campaign.refresh_from_db()
    assert (campaign.second_from, campaign.auto_second_from, campaign.batch_size) == (2.5, None, 20)


@pytest.mark.django_db
def test_what_is_made_with_a_key_is_made_once(campaign: Campaign, leo: Membership, member: Any) -> None:
    lead, address, body = Program(leo), "campaigns/films/invitations", {"role": "annotator", "hours": 24}
    first = lead.post(address, body, idempotency_key="mine-1")
    assert lead.post(address, body, idempotency_key="mine-1").json() == first.json()
    assert Invitation.objects.count() == 1
    problem_in(lead.post(address, body | {"hours": 25}, idempotency_key="mine-1"), 422)
    other = Program(member("lia", "lead"))
    assert other.post(address, body, idempotency_key="mine-1").json()["id"] != first.json()["id"]
    # What was refused is not remembered.
    problem_in(lead.post(address, {"role": "guest", "hours": 1}, idempotency_key="mine-2"), 400)
    assert lead.post(address, body, idempotency_key="mine-2").status_code == 201
    for wrong in ("x" * 101, "mine 3", ""):
        problem_in(lead.post(address, body, idempotency_key=wrong), 400)
    secret = first.json()["link"].rpartition("/")[2]
    assert secret not in str(list(StoredAnswer.objects.values()))
    StoredAnswer.objects.update(at=timezone.now() - timedelta(days=2))
    forget_answers()
    assert not StoredAnswer.objects.exists()


@pytest.mark.django_db
def test_people_are_named_let_in_and_counted_as_on_the_pages(
    campaign: Campaign, leo: Membership, ada: Membership, outsider: User
) -> None:
    lead, base = Program(leo), "campaigns/films"
    people = [{"name": "Nilsson, Nora", "address": "nora@example.org"}, {"name": "Emil", "role": "researcher"}]
    body = {"people": people, "role": "annotator", "hours": 24, "group": "east"}
    made = lead.post(f"{base}/invitations/links", body).json()["links"]
    assert [(each["name"], each["role"], each["group"]) for each in made] == [
        ("Emil", "researcher", "east"),
        ("Nilsson, Nora", "annotator", "east"),
    ]
    assert lead.get(f"{base}/invitations/links").json()["links"] == made
    assert "open invitation" in str(problem_in(lead.post(f"{base}/invitations/links", body), 422)["fields"])
    link = lead.post(f"{base}/invitations", {"role": "annotator", "hours": 24, "people": 2}).json()
    assert link["places"] == 2
    Invitation.objects.get(pk=link["id"]).accept(outsider)
    [applicant] = lead.get(f"{base}/applicants").json()["results"]
    assert (applicant["name"], applicant["approved"]) == ("oda", None)
    stages = [(each["name"], each["stage"]) for each in lead.get(f"{base}/people").json()["people"]]
    assert stages[0] == ("oda", "asks")
    assert lead.get(f"{base}/digest").json()["waits"][0]["words"] == "1 person asks to join"
    decision = f"{base}/applicants/{applicant['id']}/decision"
    assert lead.post(decision, {"action": "approve"}).json()["approved"] is True
    problem_in(lead.post(decision, {"action": "refuse"}), 409)
    digest = lead.get(f"{base}/digest").json()
    assert ([each["words"] for each in digest["happened"]], digest["waits"]) == (["3 people joined"], [])
    problem_in(lead.ask("PUT", f"{base}/digest/mail", {"wanted": True}), 409)  # the site sends no mails
    assert digest["mailed"] is False


@pytest.mark.django_db
def test_a_question_is_answered_to_all_and_taken_back(ada: Membership, leo: Membership) -> None:
    lead, question = Program(leo), ask(ada, "Why?", UUID(int=1))
    address = f"campaigns/films/questions/{question.pk}/handled"
    problem_in(lead.post(address, {"wording": "Why?"}), 422)
    for _ in range(2):
        assert lead.post(address, {"answer": "So.", "wording": "Why?"}).json()["answer"] == "So."
    problem_in(lead.post(address, {"answer": "No.", "wording": "Why?"}), 409)
    [kept] = Program(ada).get("campaigns/films/guideline").json()["answers"]
    assert kept | {"id": 0} == {"id": 0, "question": "Why?", "answer": "So."}
    for _ in range(2):
        assert lead.ask("DELETE", f"campaigns/films/guideline/answers/{kept['id']}").status_code == 204
    assert Program(ada).get("campaigns/films/guideline").json()["answers"] == []


@pytest.mark.django_db
def test_a_member_is_changed_as_on_the_pages(ada: Membership, leo: Membership) -> None:
    lead, address = Program(leo), f"campaigns/films/members/{ada.worker}"
    assert lead.post(f"{address}/changes", {"verb": "pause", "reason": "tired"}).json()["state"] == "paused"
    assert lead.ask("PUT", f"{address}/role", {"role": "researcher", "reason": "done"}).json()["role"] == "researcher"
    problem_in(lead.ask("PUT", f"{address}/role", {"role": "annotator", "reason": "again"}), 409)
    own = f"campaigns/films/members/{leo.worker}/changes"
    assert "only active lead" in problem_in(lead.post(own, {"verb": "deactivate"}), 409)["detail"]


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
def test_a_release_from_the_request_to_its_verification(settled: Batch, leo: Membership) -> None:
    lead = Program(leo)
    answer = lead.post("campaigns/films/releases", {"licence": "CC0-1.0"}, idempotency_key="first")
    assert (answer.status_code, answer.json()["state"]) == (202, "making")
    job = answer["Location"]
    assert lead.get(job).json()["state"] == "waiting"
    problem_in(lead.get("campaigns/films/releases/1/file"), 404)
    work_off(StringIO())
    assert lead.get(job).json()["state"] == "done"
    release = lead.get("campaigns/films/releases/1").json()
    file = content_of(lead.get("campaigns/films/releases/1/file"))
    assert (hashlib.sha256(file).hexdigest(), len(file)) == (release["sha256"], release["size"])
    problem_in(lead.get("campaigns/films/releases/1/verification"), 404)
    assert lead.post("campaigns/films/releases/1/verification").status_code == 202
    work_off(StringIO())
    checks = lead.get("campaigns/films/releases/1/verification").json()["checks"]
    assert len(checks) == len(CHECKS) + 1
    assert all(check["faults"] == [] for check in checks)
    same = lead.get("campaigns/films/releases/difference", **{"from": 1, "to": 1}).json()
    words = ["The qrels of release 1 and release 1 are the same."]
    assert same == {"counts": {}, "first": [], "words": words}
    damaged = file.replace(b"PK\x01\x02", b"PK\x01\x03", 1)
    stored = Release.objects.get().file
    with stored.storage.open(str(stored.name), "wb") as out:
        out.write(damaged)
    lead.post("campaigns/films/releases/1/verification")
    work_off(StringIO())
    found = lead.get("campaigns/films/releases/1/verification").json()["checks"]
    assert any(check["faults"] for check in found)
    with stored.storage.open(str(stored.name), "wb") as out:
        out.write(example()[0].read_bytes())  # a whole release, and another one
    lead.post("campaigns/films/releases/1/verification")
    work_off(StringIO())
    found = lead.get("campaigns/films/releases/1/verification").json()["checks"]
    assert [check["check"] for check in found if check["faults"]] == [FROZEN]
