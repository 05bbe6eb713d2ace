"""Bad requests get a 4xx that names the field and what would be right; nothing is stored."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.urls import reverse

from annotate.forms import value_of
from base.errors import BadValue
from campaigns.models import Membership
from judging.models import Assignment, Batch, Flag, Judgement, Review
from tests.cast import browser, claim, settle_round_one


@pytest.fixture
def held(batch: Batch, ada: Membership) -> Assignment:
    return claim(ada)


def put(held: Assignment, body: str | bytes | dict[str, Any], position: object = 1, name: str = "judge") -> Any:
    address = f"/judge/assignments/{held.token}/{'judgements' if name == 'judge' else 'flags'}/{position}"
    content = json.dumps(body) if isinstance(body, dict) else body
    return browser(held.annotator).put(
        address, content, content_type="application/json", headers={"accept": "application/json"}
    )


def good(held: Assignment, **changes: Any) -> dict[str, Any]:
    return {"grade": 3, "fence": held.fence, "key": str(uuid4()), "seconds": 4.2} | changes


@pytest.mark.parametrize(
    ("grade", "quoted"),
    [
        ('"3"', '"3"'), ("2.5", "2.5"), ("3.0", "3.0"), ("-1", "-1"), ("5", "5"), ("NaN", "NaN"),
        ("1e400", "Infinity"), ("-Infinity", "-Infinity"), ("null", "null"), ("true", "true"), ("[3]", "[3]"),
        ("{}", "{}"), ('""', '""'), ("3" * 40, "a very large integer"), ('"\\u0000"', '"\\u0000"'),
    ],
)  # fmt: skip
def test_a_grade_is_one_of_the_integers_0_to_4(held: Assignment, grade: str, quoted: str) -> None:
    body = json.dumps(good(held)).replace('"grade": 3', f'"grade": {grade}')
    answer = put(held, body)
    problem = answer.json()
    assert (answer.status_code, problem["field"]) == (400, "grade")
    assert problem["detail"] == f"grade: {quoted}; expected one of the integers 0, 1, 2, 3, 4"
    assert answer["Content-Type"] == "application/problem+json"
    assert not Judgement.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"fence": None}, "fence"), ({"fence": "1"}, "fence"), ({"fence": 0}, "fence"), ({"fence": 2**40}, "fence"),
        ({"fence": True}, "fence"), ({"key": "x"}, "key"), ({"key": None}, "key"), ({"key": 7}, "key"),
        ({"press": "1"}, "press"), ({"press": -1}, "press"), ({"press": 2**40}, "press"), ({"press": True}, "press"),
        ({"seconds": "4"}, "seconds"), ({"seconds": -1}, "seconds"), ({"seconds": 1e9}, "seconds"),
        ({"seconds": 10**400}, "seconds"), ({"seconds": float("nan")}, "seconds"),
        ({"input": "mouse"}, "input"), ({"input": None}, "input"), ({"input": ["key"]}, "input"),
        ({"doubt": None}, "doubt"), ({"doubt": 1}, "doubt"), ({"doubt": "true"}, "doubt"), ({"doubt": ""}, "doubt"),
    ],
)  # fmt: skip
def test_each_other_field_is_checked_and_named(held: Assignment, changes: dict[str, Any], field: str) -> None:
    answer = put(held, good(held, **changes))
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not Judgement.objects.exists()


def test_no_depth_of_nesting_is_too_much_for_the_message() -> None:
    value: object = 3
    for _ in range(5000):
        value = [value]
    with pytest.raises(BadValue, match="grade: a deeply nested list; expected one of the integers"):
        value_of({"grade": value}, "grade")


@pytest.mark.parametrize("comment", ["black \ud800", "black\0", "b" * 501, 7, None])
def test_a_comment_that_cannot_be_kept_is_named(held: Assignment, comment: object) -> None:
    answer = put(held, {"reason": "clip", "comment": comment, "fence": held.fence}, name="flag")
    assert (answer.status_code, answer.json()["field"]) == (400, "comment")
    assert not Flag.objects.exists()


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "3", "null", b"\xff\xfe", "[" * 9000, '{"grade": 9' + "9" * 6000 + "}"]
)
def test_a_body_that_is_no_json_object_is_refused(held: Assignment, body: str | bytes) -> None:
    answer = put(held, body)
    assert (answer.status_code, answer.json()["field"]) == (400, "body")


def test_a_body_that_is_too_large_is_refused(held: Assignment) -> None:
    assert put(held, good(held, comment="x" * 20_000)).status_code == 413


@pytest.mark.parametrize(("position", "status"), [(0, 400), (21, 400), (10**30, 400), ("x", 404), ("-1", 404)])
def test_a_position_lies_in_the_batch(held: Assignment, position: object, status: int) -> None:
    assert put(held, good(held), position).status_code == status


def test_a_stale_fence_is_a_conflict(held: Assignment) -> None:
    answer = put(held, good(held, fence=held.fence + 1))
    assert answer.status_code == 409
    assert "away too long" in answer.json()["detail"]


def test_a_key_with_other_content_is_unprocessable(held: Assignment) -> None:
    body = good(held)
    assert put(held, body).status_code == 200
    assert put(held, body).json() == {"position": 1, "grade": 3, "doubt": False, "revision": 1}
    assert put(held, body | {"grade": 4}).status_code == 422
    assert put(held, body | {"doubt": True}).status_code == 422


@pytest.mark.parametrize(
    ("body", "field"),
    [({"reason": "bored"}, "reason"), ({"reason": None}, "reason"), ({"reason": "clip", "comment": 5}, "comment"),
     ({"reason": "clip", "comment": "x" * 501}, "comment"), ({"reason": "clip", "comment": "\0"}, "comment"),
     ({"reason": ["clip"]}, "reason"), ({"reason": "clip", "seconds": -1}, "seconds")],
)  # fmt: skip
def test_a_flag_says_one_of_the_reasons(held: Assignment, body: dict[str, Any], field: str) -> None:
    answer = put(held, body | {"fence": held.fence}, name="flag")
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not Flag.objects.exists()


def test_submitting_too_early_names_the_gaps(held: Assignment) -> None:
    address = reverse("submit", args=[held.token])
    answer = browser(held.annotator).post(address, {"fence": held.fence}, content_type="application/json")
    assert answer.status_code == 409
    assert "Not judged yet: 1, 2, 3" in answer.json()["detail"]


@pytest.mark.parametrize("form", [{}, {"verdict": "third"}, {"verdict": "close", "reason": "x" * 501}])
def test_a_review_is_one_of_two_verdicts(
    batch: Batch, ada: Membership, bob: Membership, leo: Membership, form: dict[str, str]
) -> None:
    settle_round_one(batch, ada, bob)
    answer: HttpResponse = browser(leo).post(reverse("review", args=["films", batch.pk]), form)  # type: ignore[assignment]
    assert answer.status_code == 400
    assert b"verdict: " in answer.content or b"reason: " in answer.content
    assert not Review.objects.exists()


def test_a_review_of_an_open_batch_is_refused_on_its_page(batch: Batch, leo: Membership) -> None:
    answer = browser(leo).post(reverse("review", args=["films", batch.pk]), {"verdict": "close"}, follow=True)
    assert b"This batch is open, not settled; it cannot be reviewed." in answer.content
    assert not Review.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "/campaigns/none/",
        "/campaigns/films/batches/999999999999999999999/",
        "/clips/none",
        "/clips/%00",
        "/judge/assignments/%00/",
        "/campaigns/films/exports/secrets.txt",
        "/judge/assignments/none/",
        "/nowhere",
    ],
)
def test_what_is_not_there_is_not_found(leo: Membership, address: str) -> None:
    assert browser(leo).get(address).status_code == 404


def test_a_page_or_filter_that_is_not_there_shows_the_nearest(leo: Membership) -> None:
    assert browser(leo).get("/campaigns/films/queries/?after=x&sort=nonsense").status_code == 200
    assert browser(leo).get("/campaigns/films/queries/?show=nonsense").status_code == 400
