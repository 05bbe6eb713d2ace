"""The lists of English words in words.toml."""

import tomllib
from pathlib import Path

_LISTS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def word_list(name: str) -> frozenset[str]:
    """Return the words of the list with that name."""
    return frozenset(_LISTS[name].split())
