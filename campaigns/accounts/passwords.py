"""The rule that a password is hard to guess, also for somebody who knows this site and whose account it is."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

# Words of this site; docs/security.md names them too.
WORDS = [
    *("reeljudge", "annotate", "annotator", "judge", "lead", "researcher"),
    *("campaign", "batch", "query", "video", "moment", "clip", "grade", "relevance", "retrieval"),
]
LOOKED_AT = 72  # characters; zxcvbn takes longer than in proportion, and this many are enough
EASY = _("This password is easy to guess. Put several words together that nobody expects.")
ENOUGH = 3  # of zxcvbn's scores from 0 to 4: at least 100 million guesses


class HardToGuess:
    """Refuses what zxcvbn finds easy: common words and passwords, names, dates, rows of keys, however combined."""

    def validate(self, password: str, user: Any = None) -> None:
        from zxcvbn import zxcvbn  # its lists take 14 MB, so a process loads them once it needs them

        own = [user.get_username(), user.first_name, user.last_name, user.email] if user else []
        known = WORDS + [word for word in own if word]
        if zxcvbn(password[:LOOKED_AT], user_inputs=known)["score"] < ENOUGH:
            raise ValidationError(EASY, code="easy_to_guess")

    def get_help_text(self) -> str:
        return str(EASY)
