"""A pair file for TVR-Ranking's raw ratings, which name their pairs by number only."""

from __future__ import annotations

from pathlib import Path

HEADER = "pair_id,query_id,query,video,start,end,similarity"
PAIRS_OF_A_QUERY, VIDEOS, SECONDS = 30, 2000, 3


def write_pairs(ratings: Path, out: Path) -> None:
    """Give each rated pair a query and a moment of its own."""
    rated = dict.fromkeys(line.split(",")[0] for line in ratings.read_text().splitlines()[1:])
    lines = (_line(pair, place) for place, pair in enumerate(rated))
    out.write_text("\n".join([HEADER, *lines, ""]))


def _line(pair: str, place: int) -> str:
    query, rank = divmod(place, PAIRS_OF_A_QUERY)
    turn, video = divmod(place, VIDEOS)
    start = turn * SECONDS
    return f"{pair},{query},stand-in {query},film {video},{start},{start + SECONDS},{1 - rank / 40}"
