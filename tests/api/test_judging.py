"""The annotator's loop over the API: the same doors and verbs as her pages, and nothing more told."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile

from campaigns.models import Membership
from corpus.models import Clip
from judging.models import Assignment, Batch, Judgement, Revision
from tests.api.asking import Program, problem_in
from tests.cast import content_of, expire

pytestmark = pytest.mark.django_db


@pytest.fixture
def clips(batch: Batch) -> None:
    for clip in Clip.objects.all():
        clip.state = Clip.State.READY
        clip.file.save("clip.mp4", ContentFile(b"0123456789"))


def grade(program: Program, held: dict[str, object], position: int, grade: object, **more: object) -> Any:
    body = {"grade": grade, "fence": held["fence"], "key": str(uuid4())} | more
    return program.ask("PUT", f"assignments/{held['token']}/judgements/{position}", body)


def test_a_batch_from_the_claim_to_its_submission(clips: None, ada: Membership, bob: Membership) -> None:
    program = Program(ada, "judge", "read")
    held = program.post("campaigns/films/claim").json()
    assert set(held) == {"token", "fence", "presses", "query", "places"}
    assert [place["position"] for place in held["places"]] == list(range(1, 21))
    clip = program.get(held["places"][0]["clip"])
    assert content_of(clip).startswith(b"0123456789")
    part = program.ask("GET", held["places"][0]["clip"], range="bytes=2-4")
    assert (part.status_code, content_of(part)) == (206, b"234")
    assert program.post("campaigns/films/claim").json()["token"] == held["token"]
    for position in range(1, 21):
        assert grade(program, held, position, position % 5).json() == {
            "position": position,
            "grade": position % 5,
            "doubt": False,
            "flag": None,
        }
    problem_in(grade(Program(bob), held, 1, 4), 404)
    again = program.get(f"assignments/{held['token']}").json()
    assert [place["grade"] for place in again["places"]] == [position % 5 for position in range(1, 21)]
    submitted = program.post(f"assignments/{held['token']}/submit", {"fence": held["fence"]})
    assert (submitted.status_code, submitted.content) == (204, b"")
    assert Judgement.objects.filter(seat__isnull=False).count() == 20
    problem_in(program.get(f"assignments/{held['token']}"), 409)
    assert program.post("campaigns/films/claim").status_code == 204
    mine = program.get("campaigns/films/mine").json()
    assert mine["total"]["judgements"] == 20


def test_a_grade_may_be_doubtful(batch: Batch, ada: Membership) -> None:
    program = Program(ada, "judge", "read")
    held = program.post("campaigns/films/claim").json()
    stored = grade(program, held, 1, 3, doubt=True).json()
    assert stored == {"position": 1, "grade": 3, "doubt": True, "flag": None}
    assert problem_in(grade(program, held, 2, 3, doubt="yes"), 400)["fields"].keys() == {"doubt"}
    grade(program, held, 2, 3)
    places = program.get(f"assignments/{held['token']}").json()["places"]
    assert [place["doubt"] for place in places[:3]] == [True, False, False]


def test_a_press_that_arrives_twice_is_stored_once(batch: Batch, ada: Membership) -> None:
    program = Program(ada)
    held, key = program.post("campaigns/films/claim").json(), str(uuid4())
    first = grade(program, held, 3, 2, key=key, press=1)
    again = grade(program, held, 3, 2, key=key, press=1)
    assert first.json() == again.json()
    assert Revision.objects.count() == 1
    assert problem_in(grade(program, held, 3, 4, key=key, press=1), 422)["code"] == "keyreused"
    assert grade(program, held, 3, 1, press=0).json()["overtaken"] == 1


@pytest.mark.parametrize("wrong", ["3", 2.5, 5, -1, None, True, [2]])
def test_no_grade_but_0_to_4(batch: Batch, ada: Membership, wrong: object) -> None:
    program = Program(ada)
    held = program.post("campaigns/films/claim").json()
    assert problem_in(grade(program, held, 1, wrong), 400)["fields"].keys() == {"grade"}
    assert not Judgement.objects.exists()


def test_a_flag_and_back(batch: Batch, ada: Membership, bob: Membership) -> None:
    program = Program(ada)
    held = program.post("campaigns/films/claim").json()
    address, key = f"assignments/{held['token']}/flags/1", str(uuid4())
    body = {"reason": "clip", "comment": "black", "fence": held["fence"], "key": key}
    assert program.ask("PUT", address, body).json()["flag"] == "clip"
    back = f"{address}?fence={held['fence']}&key={uuid4()}"
    problem_in(Program(bob).ask("DELETE", back), 404)
    assert program.ask("DELETE", back).status_code == 204
    places = program.get(f"assignments/{held['token']}").json()["places"]
    assert places[0]["flag"] is None


def test_who_was_away_too_long_resumes_under_a_new_fence(batch: Batch, ada: Membership) -> None:
    program = Program(ada)
    held = program.post("campaigns/films/claim").json()
    expire(Assignment.objects.get())
    problem_in(grade(program, held, 1, 2), 409)
    fence = program.post(f"assignments/{held['token']}/resume").json()
    assert fence["fence"] > held["fence"]
    assert grade(program, held | fence, 1, 2).status_code == 200


def test_a_paused_annotator_reads_and_does_not_judge(batch: Batch, ada: Membership, leo: Membership) -> None:
    program = Program(ada)
    held = program.post("campaigns/films/claim").json()
    ada.pause(leo, "on holiday")
    problem_in(program.post("campaigns/films/claim"), 404)
    problem_in(grade(program, held, 1, 2), 404)
    assert program.get("campaigns").json()["results"][0]["state"] == "paused"
    assert program.get("campaigns/films/guideline").status_code == 200
