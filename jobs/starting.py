"""What a server says when it starts. Apps register what they have to say."""

from collections.abc import Callable

Words = Callable[[str], list[str]]
WORDS: list[Words] = []


def at_start(words: Words) -> Words:
    """Register the decorated function. It gets the address of this site, and returns the lines that `serve` prints."""
    WORDS.append(words)
    return words


def words_at_start(address: str) -> list[str]:
    """Return all lines, in the order of the apps."""
    return [line for words in WORDS for line in words(address)]
