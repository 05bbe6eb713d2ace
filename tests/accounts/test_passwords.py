"""What a password must be: long, uncommon, hard to guess, and anything else that the person likes."""

from __future__ import annotations

import pytest
from django.conf import global_settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.module_loading import import_string

from config import settings as installed

NORA = User(username="nora.lindqvist", first_name="Nora", last_name="Lindqvist", email="nl@lab.example")


def codes(password: str) -> set[str]:
    try:
        validate_password(password, NORA)
    except ValidationError as refusal:
        return {str(error.code) for error in refusal.error_list}
    return set()


@pytest.mark.parametrize(
    "password",
    [
        "kitten sofa lamp",
        "correct horse battery staple",
        "我们一起去看电影吧今天晚上",
        "UPPERCASEONLY WITHOUT A DIGIT",
        "x7" + "kitten sofa lamp " * 20,  # far longer than what is looked at
    ],
)
def test_any_kind_of_characters_will_do(password: str) -> None:
    assert codes(password) == set()


@pytest.mark.parametrize(
    "password",
    [
        "password1234",
        "qwertyuiop123",
        "123456789012",
        "passwordpassword",
        "january2026!",
        "aaaaaaaaaaaaaaaa",
        "reeljudge2026",
        "annotator1234",
        "reeljudge-lead",
        "nora.lindqvist1",
        "Lindqvist2026",
    ],
)
def test_what_is_easy_to_guess_is_refused(password: str) -> None:
    assert "easy_to_guess" in codes(password)


def test_eleven_characters_are_too_few() -> None:
    assert codes("q8#fT!z0pL2") == {"password_too_short"}
    assert codes("q8#fT!z0pL2w") == set()


def test_a_common_one_is_refused() -> None:
    assert "password_too_common" in codes("john!20130605at1753")


def test_a_password_is_taken_as_it_is_typed(db: None) -> None:
    """Neither its case nor its end is changed."""
    typed = "Kitten sofa lamp " * 8
    nora = User.objects.create_user("nora", password=typed)
    assert nora.check_password(typed)
    assert not nora.check_password(typed.lower())
    assert not nora.check_password(typed[:72])
    assert not nora.check_password(typed.strip())


def test_passwords_are_hashed_slowly() -> None:
    """The suite's own settings hash quickly, and nothing else does."""
    assert not hasattr(installed, "PASSWORD_HASHERS")
    first = import_string(global_settings.PASSWORD_HASHERS[0])
    assert first.algorithm == "pbkdf2_sha256"
    assert first.iterations >= 600_000
