"""Signs that a run cannot be right although each of its values can: names of videos, units of time, ids of queries."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache

import numpy as np

from .arrays import Floats
from .errors import show

EXTENSION = re.compile(r"\.([a-z][a-z0-9]{0,4})?$", re.IGNORECASE)
SPELLINGS: dict[str, Callable[[str], str]] = {  # in which the names of one video differ
    "white space": str.strip,
    "folder": lambda name: name[max(name.rfind("/"), name.rfind("\\")) + 1 :],
    "file extension": lambda name: EXTENSION.sub("", name),
    "case": str.casefold,
    "prefix v_": lambda name: name[2:] if name[:2] in ("v_", "V_") else name,
    "Unicode form": lambda name: unicodedata.normalize("NFC", name),
}
FAILED_IDS = ("None", "nan", "null", "undefined")  # texts of what a look-up returns that finds nothing
LOOKED_AT = 10_000  # times: enough for a quantile
FRAMES, MILLISECONDS = 8, 200  # factors between times from which they cannot be seconds both
LONGER_THAN_SHARES = 3.0  # seconds


@lru_cache(2**16)  # runs of one collection name the same videos
def plain_name(name: str, without: str = "") -> str:
    """A video's name without all that names of one video differ by, or without all but one of it.

    >>> plain_name("Films/v_ABC.mp4"), plain_name("Films/v_ABC.mp4", without="case")
    ('abc', 'ABC')
    """
    for spelling, changed in SPELLINGS.items():
        name = name if spelling == without else changed(name)
    return name


def renamed_videos(names: Iterable[str], judged: Collection[str]) -> dict[str, str]:
    """For each name that is not judged the judged name that is spelled differently, if there is exactly one."""
    there = set(names)
    if not (unknown := [name for name in names if name not in judged]):
        return {}
    alike: dict[str, list[str]] = {}
    for name in judged:
        alike.setdefault(plain_name(name), []).append(name)
    found = {name: alike.get(plain_name(name), []) for name in unknown}
    return {name: same[0] for name, same in found.items() if len(same) == 1 and same[0] not in there}


def differences(name: str, other: str) -> str:
    """By what two names of one video differ, such as ``case and file extension``."""
    found = [spelling for spelling in SPELLINGS if plain_name(name, spelling) != plain_name(other, spelling)]
    return " and ".join(found) or "spelling"


def doubts_about_videos(names: Collection[str], known: Collection[str], where: str, remedy: str) -> Iterator[str]:
    """Sentences about the names of a run's videos.

    known, where: the names that fit, and what has them, such as ``qrels``. remedy: what renames videos.
    """
    if not names or not known:
        return
    renamed = renamed_videos(names, known)
    name = next(iter(renamed), next(iter(names)))
    pair = f"{show(name)} in the run, {show(renamed.get(name, next(iter(known))))} in the {where}"
    if renamed:
        pair += f" (differs by {differences(name, renamed[name])}); {remedy} {videos(len(renamed))}"
    if not any(name in known for name in names):
        yield f"no prediction lies in a video of the {where}: {pair}"
    elif renamed:
        yield f"{videos(len(renamed))} of the run not in the {where} under the same name: {pair}"


def videos(count: int) -> str:
    return f"{count:,} video{'s' * (count != 1)}"


def doubts_about_times(start: Floats, end: Floats, expected: Floats, where: str) -> Iterator[str]:
    """Sentences about the unit of a run's times.

    start, end: of predictions, shape (predictions,). expected, where: seconds near which they should end, of any shape,
    and what has them.
    """
    start, end = (times[:: 1 + times.size // LOOKED_AT] for times in (start, end))
    if not end.size or not expected.size or not np.isfinite(end).all():
        return
    last, right = (float(np.quantile(times[:: 1 + times.size // LOOKED_AT], 0.9)) for times in (end, expected))
    numbers = f"nine of ten predictions end before {last:,.6g}, {where} before {right:,.6g} s; times are seconds"
    if end.max() <= 1 and right >= LONGER_THAN_SHARES and (np.any(end % 1) or np.any(start % 1)):
        yield f"times look like shares of the duration: {numbers}"
    elif last >= MILLISECONDS * right > 0:
        yield f"times look like milliseconds: {numbers}"
    elif last >= FRAMES * right > 0:
        yield f"times look like frames: {numbers}"
    elif right >= MILLISECONDS * last > 0:
        yield f"times of the qrels look like milliseconds: {numbers}"


def doubts_about_queries(queries: Collection[str]) -> Iterator[str]:
    """Sentences about ids of queries that are no ids."""
    for id in FAILED_IDS:
        if id in queries:
            yield f"it has the query id {id!r}; did a look-up of ids find nothing?"
