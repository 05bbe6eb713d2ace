"""The ids of moments in files: one rule, both ways.

A moment's id is ``video@startms-endms``, times in whole milliseconds. Ids stand in files whose fields are
separated by white space, so white space is percent-encoded as in addresses, and so is the per cent sign itself:
``film 1`` from 1.5 s to 4 s is ``film%201@1500-4000``. Query ids and the names of runs are written in the same way.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from .errors import MeasureError

NOT_IN_WORDS = re.compile(r"[\s%]")
SHAPE = re.compile(r"(?P<video>.+)@(?P<start>-?\d{1,300})-(?P<end>-?\d{1,300})(?:[#~]\d+)?", re.DOTALL)


def moment_id(video: str, start: float, end: float) -> str:
    """Id of a moment of a video.

    Parameters
    ----------
    video : str
        Its name; white space and the per cent sign are percent-encoded.
    start, end : float
        Seconds, which are rounded to milliseconds.

    Returns
    -------
    str

    See Also
    --------
    parse_moment_id : The other way round.

    Examples
    --------
    >>> moment_id("film 1", 1.5, 4.25)
    'film%201@1500-4250'
    >>> moment_id("film%201", 1.5, 4.25)
    'film%25201@1500-4250'
    """
    return f"{as_word(video)}@{round(start * 1000)}-{round(end * 1000)}"


def parse_moment_id(moment: str, place: str = "moment id") -> tuple[str, float, float]:
    """Video, start and end of a moment id.

    Parameters
    ----------
    moment : str
        What `moment_id` writes. What `project` and `convert` add to it (``#2`` for a repeated moment, ``~7`` for an
        unmatched prediction) is passed over.
    place : str, default "moment id"
        Where the id stands, for an error.

    Returns
    -------
    tuple of (str, float, float)
        The video, and seconds.

    Raises
    ------
    MeasureError
        Beginning with `place`, if it is not an id.

    See Also
    --------
    moment_id : The other way round.

    Examples
    --------
    >>> parse_moment_id("film%201@1500-4000"), parse_moment_id("a@0-500#2")
    (('film 1', 1.5, 4.0), ('a', 0.0, 0.5))
    """
    found = SHAPE.fullmatch(moment) if isinstance(moment, str) else None
    if not found:
        raise MeasureError(f"{place}: moment id {moment!r} is not video@startms-endms, and no side file was given")
    return from_word(found["video"]), int(found["start"]) / 1000, int(found["end"]) / 1000


def moment_of(id: str, times: Mapping[str, tuple[str, float, float]], place: str) -> tuple[str, float, float]:
    """Video, start and end of a moment id: those that `times` has for it, or what it says itself."""
    return times.get(id) or parse_moment_id(id, place)


def as_word(name: str) -> str:
    """A name without white space, from which `from_word` makes the name again.

    >>> as_word("100 %")
    '100%20%25'
    """
    return NOT_IN_WORDS.sub(lambda found: quote(found[0]), name)


def from_word(word: str) -> str:
    """The name that a word stands for; a per cent sign that encodes nothing stands for itself.

    >>> from_word("100%20%25"), from_word("100%")
    ('100 %', '100%')
    """
    try:
        return unquote(word, errors="strict") if "%" in word else word
    except UnicodeDecodeError:
        return word
