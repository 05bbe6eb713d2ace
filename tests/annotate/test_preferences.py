"""A person's own keys, goal and suggestions of breaks: stored for the person, and told wherever keys are told."""

from __future__ import annotations

import json
import re

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from accounts.models import KEYS, Preferences
from annotate.script_texts import FIXED, KEY_WORDS, key_named
from campaigns.models import Membership
from judging.models import Batch
from tests.cast import browser, claim
from tests.conftest import Case

PAGE = "preferences"
USUAL = {**KEYS, "pause": "space", "back": "←", "goal": "", "suggests_breaks": "on"}


def send(who: Membership, **changed: str) -> tuple[int, str]:
    """Send the form, and return the status and the page."""
    answer = browser(who).post(reverse(PAGE), USUAL | changed, follow=True)
    return answer.redirect_chain[-1][1] if answer.redirect_chain else answer.status_code, answer.content.decode()


def test_every_key_has_words_and_none_is_one_that_stays(db: None) -> None:
    assert KEY_WORDS.keys() == KEYS.keys()
    assert len({*KEYS.values()} | {*FIXED}) == len(KEYS) + len(FIXED)


def test_who_chose_nothing_has_the_usual_and_no_row(ada: Membership) -> None:
    page = browser(ada).get(reverse(PAGE)).content.decode()
    assert re.findall(r'<input[^>]* name="(?:flag|pause|back)" value="([^"]*)"', page) == ["←", "f", "space"]
    assert "checked" in page
    assert not Preferences.objects.exists()


def test_keys_goal_and_breaks_are_stored_for_the_person_alone(ada: Membership, bob: Membership) -> None:
    assert send(ada, flag="X", pause="p", goal="200", suggests_breaks="")[0] == 302
    own = Preferences.objects.get()
    assert (own.user, own.changed_keys) == (ada.user, {"flag": "x", "pause": "p"})
    assert (own.goal, own.suggests_breaks) == (200, False)
    assert own.keys == KEYS | {"flag": "x", "pause": "p"}
    assert Preferences.objects.of(bob.user).keys == KEYS
    assert send(ada)[0] == 302
    own.refresh_from_db()
    assert (own.changed_keys, own.goal, own.suggests_breaks) == ({}, None, True)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"flag": ""}, "Press the key that you want here."),
        ({"flag": "ab"}, "Press one key"),
        ({"flag": "F5"}, "Press one key"),
        ({"flag": "\x07"}, "Press one key"),
        ({"flag": "R"}, "“r” always means: from the beginning."),
        ({"flag": "→"}, "“→” always means: forward"),
        ({"flag": "A"}, "“a” is also the key for: all clips."),
        ({"grade0": "space"}, "“space” is also the key for: pause or play."),
        ({"goal": "0"}, "greater than or equal to 1"),
        ({"goal": "9999"}, "less than or equal to 5000"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(ada: Membership, changed: dict[str, str], words: str) -> None:
    status, page = send(ada, **changed)
    assert status == 400
    assert words in page
    assert not Preferences.objects.exists()


def test_both_fields_of_a_key_that_comes_twice_say_so(ada: Membership) -> None:
    _, page = send(ada, flag="9", later="9")
    assert page.count('role="alert"') == 3
    assert "is also the key for: flag" in page
    assert "is also the key for: look at it again later" in page


def test_the_usual_keys_come_back_and_the_goal_stays(ada: Membership) -> None:
    send(ada, flag="x", goal="50")
    assert send(ada, flag="", usual="1")[0] == 302
    own = Preferences.objects.get()
    assert (own.changed_keys, own.goal) == ({}, 50)


def test_a_key_is_known_by_its_name_and_typed_in_any_case(db: None, case: Case) -> None:
    expected: dict[str, str | None] = {
        "space": " ",
        " ": " ",
        "←": "ArrowLeft",
        "pagedown": "PageDown",
        "Q": "q",
        "é": "é",
        "?": "?",
    }
    expected |= {"Home": "Home", "İ": None, "xx": None, "": " "}
    for typed, key in expected.items():
        with case(typed):
            assert key_named(typed) == key


def test_pages_tell_the_persons_keys(batch: Batch, ada: Membership) -> None:
    send(ada, flag="x", grade0="e", help="h", pause="PageDown")
    client = browser(ada)
    page = client.get(reverse("workplace", args=[claim(ada).token])).content.decode()
    for name in ("x", "e", "h", "PageDown"):
        assert f"<kbd>{name}</kbd>" in page
    assert "<kbd>f</kbd>" not in page
    assert '"flag": "x"' in re.search(r'<script id="keys"[^>]*>(.*?)</script>', page)[1]  # type: ignore[index]
    tool = client.get(reverse("tutorial", args=["films"]) + "?step=5").content.decode()
    assert "<kbd>x</kbd>" in tool
    assert "<kbd>f</kbd>" not in tool


def test_suggestions_are_turned_off_in_one_request(ada: Membership) -> None:
    send(ada, goal="50")
    for _ in range(2):
        answer = browser(ada).post(reverse("suggest-no-breaks"), headers={"accept": "application/json"})
        assert json.loads(answer.content) == {"suggests_breaks": False}
    own = Preferences.objects.get()
    assert (own.goal, own.suggests_breaks) == (50, False)


@pytest.mark.both_databases
def test_the_database_refuses_a_goal_of_nothing(ada: Membership) -> None:
    for goal in (0, 5001):
        with pytest.raises(IntegrityError), transaction.atomic():
            Preferences.objects.create(user=ada.user, goal=goal)
    assert Preferences.objects.of(ada.user).change(goal=5000).goal == 5000
