"""The random order of a campaign's queries. Each query has a place, a fraction of the order, drawn by a secret seed.

The place depends on the seed and the query's id alone: not on the database's keys, nor on when the query was added.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping

BITS = 53  # of a float's fraction, so that each place is exact on every database


def place(seed: int, query_id: str) -> float:
    """Return the place of a query: a number from 0 up to, but not including, 1.

    >>> round(place(7, "1"), 6)
    0.414811
    """
    return _fraction(f"{seed} {query_id}")


def lot(seed: int, query_id: str) -> float:
    """Return what is drawn for the query when shares of the pool are given to groups, whatever its place is.

    >>> round(lot(7, "1"), 6)
    0.599797
    """
    return _fraction(f"{seed} group {query_id}")


def spread(seed: int, stratum: str, query_ids: Iterable[str]) -> dict[str, float]:
    """Return the places of all queries of a stratum, at equal distances.

    Within the stratum the order is that of `place`. From one stratum to the next the first place differs at random. So
    the first queries of the whole order hold each stratum in proportion, however many of them are taken.

    >>> {query: round(place, 3) for query, place in spread(7, "friends", ["1", "2", "3", "4"]).items()}
    {'3': 0.131, '1': 0.381, '4': 0.631, '2': 0.881}
    """
    ordered = sorted(set(query_ids), key=lambda query_id: (place(seed, query_id), query_id))
    first = _fraction(" ".join((str(seed), stratum, *ordered)))
    return {query_id: (number + first) / len(ordered) for number, query_id in enumerate(ordered)}


def places(seed: int, strata: Mapping[str, str]) -> dict[str, float]:
    """Return the place of each query, by its id. Given is the stratum of each, which is empty if it has none."""
    parts: dict[str, list[str]] = defaultdict(list)
    for query_id, stratum in strata.items():
        parts[stratum].append(query_id)
    found = {query_id: place(seed, query_id) for query_id in parts.pop("", [])}
    for stratum, query_ids in parts.items():
        found |= spread(seed, stratum, query_ids)
    return found


def checksum(query_ids: Iterable[str]) -> str:
    """Return the SHA-256 of queries in their order, a line each."""
    return hashlib.sha256("".join(f"{query_id}\n" for query_id in query_ids).encode()).hexdigest()


def _fraction(text: str) -> float:
    digest = hashlib.sha256(text.encode()).digest()
    return float((int.from_bytes(digest[:8]) >> (64 - BITS)) / 2**BITS)
