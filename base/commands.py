"""What all commands of `manage.py` have in common: a refusal is one message, with exit code 2 and no traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from base.errors import ReeljudgeError
from base.text import printable


class ReeljudgeCommand(BaseCommand):
    """A command whose refusals are told in their own words. `refusals` are kinds of error beside ReeljudgeError."""

    refusals: tuple[type[Exception], ...] = ()

    def execute(self, *args: Any, **options: Any) -> str | None:
        kinds: tuple[type[Exception], ...] = (ReeljudgeError, *self.refusals)
        try:
            return super().execute(*args, **options)
        except kinds as fault:
            message = "\n".join(map(printable, str(fault).splitlines()))
            raise CommandError(message, returncode=2) from fault


def user_named(name: str) -> User:
    """Return the person of that name.

    Raises ReeljudgeError if nobody has it.
    """
    if user := User.objects.filter(username=name).first():
        return user
    raise ReeljudgeError(f"user {name}: nobody has this name; expected the one to sign in with")


def show_progress(done: int, total: int, message: str = "") -> None:
    """Show how far a command has come, if its errors go to a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{done:,} of {total:,}  {printable(message)}")


@contextmanager
def written(option: str, place: Path, right: str = "") -> Iterator[None]:
    """Tell of a place that an option names and that cannot be written to, and what would be `right`."""
    try:
        yield
    except OSError as fault:
        expected = f"; expected {right}" if right else ""
        raise ReeljudgeError(f"{option} {place}: cannot be written ({fault.strerror}){expected}") from fault
