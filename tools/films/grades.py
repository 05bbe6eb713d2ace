"""The demo's queries, worked examples, and the hidden true grade of each query and moment.

The grade follows the annotation guideline of TVR-Ranking (Appendix B.1), read off the deeds of a moment:

4. every action of the query is done, whole, by the people it names, and fills most of the moment;
3. the same, but for one detail: another person or colour, a near thing (a bench for a sofa), much else;
2. only a part: one of two actions, an action begun and not finished, or several details off;
1. a few points: the same thing or the same particular person, in another action;
0. unrelated. "A person" and plain standing or walking about count for nothing, as stop words do in search.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .scripts import Deed, Moment, moments
from .stage import CAST, Person

Key = tuple[str, float, float]


@dataclass(frozen=True, slots=True)
class Want:
    """One action of a query: its verbs, the thing, and where it is put ("" for any)."""

    verbs: frozenset[str]
    what: str
    where: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query's text and what it asks for: who, to whom ("" for nobody in particular), and the actions."""

    query_id: int
    text: str
    who: str
    wants: tuple[Want, ...]
    whom: str = ""


class Example(NamedTuple):
    """A worked example: a query beside a moment, with a grade and why."""

    query: str
    description: str  # names the moment
    grade: int
    why: str


def true_grade(query_text: str, moment_key: Key) -> int:
    """Grade a moment for a query as a perfectly careful annotator would.

    Parameters
    ----------
    query_text : str
        The text of one of :data:`QUERIES`, exactly.
    moment_key : tuple
        (video, start, end) of one of the demo's moments; times in seconds, from the film's beginning.

    Returns
    -------
    int
        0 (unrelated) to 4 (perfect match).

    Raises
    ------
    LookupError
        When the demo has no such query or no such moment.

    References
    ----------
    TVR-Ranking, Appendix B.1, levels 0 to 4.
    """
    try:
        query = _BY_TEXT[query_text]
    except KeyError:
        raise LookupError(f"the demo has no query {query_text!r}; see tools.films.grades.QUERIES") from None
    try:
        moment = _moments_by_key()[moment_key]
    except KeyError:
        raise LookupError(f"the demo has no moment {moment_key!r}; expected (video, start, end)") from None
    return _grade(query, moment.deeds)


def _grade(query: Query, deeds: tuple[Deed, ...]) -> int:
    fits = [_best(want, deeds) for want in query.wants]
    done = [fit.deed for fit in fits if fit.deed]
    if all(fit.whole for fit in fits):
        details = len(frozenset().union(*(fit.details for fit in fits)))
        return max(2, 4 - details - _strangers(query, done) - _crowded(query, deeds, done))
    if done:
        return 2
    return 1 if any(_touches(query, deed) for deed in deeds) else 0


@dataclass(frozen=True, slots=True)
class Fit:
    """How a deed is what is wanted: whole or in part, and which details are off; no deed: not at all."""

    deed: Deed | None = None
    whole: bool = False
    details: frozenset[str] = frozenset()


def _best(want: Want, deeds: Iterable[Deed]) -> Fit:
    return max((_fit(want, deed) for deed in deeds), key=lambda f: (f.deed is not None, f.whole, -len(f.details)))


def _fit(want: Want, deed: Deed) -> Fit:
    verb, thing = deed.verb in want.verbs, want.what in ("", deed.what)
    near_verb = verb or any(deed.verb in kin and want.verbs & kin for kin in NEAR_VERBS)
    near_thing = thing or any({want.what, deed.what} <= kin for kin in NEAR_THINGS)
    if not (near_verb and near_thing):
        return Fit()
    place = want.where in ("", deed.whom.removeprefix("side"))
    near_place = place or {want.where, deed.whom} <= TABLES
    whole = near_place and not deed.broken and deed.verb not in HALVES
    same = {"verb": verb, f"thing {deed.what}": thing, "place": place}
    return Fit(deed, whole, frozenset(detail for detail, fits in same.items() if not fits))


NEAR_VERBS = (
    frozenset({"walks", "runs"}),
    frozenset({"lifts", "takes", "strains"}),
    frozenset({"throws", "tosses"}),
    frozenset({"shakes", "offers"}),
)
NEAR_THINGS = (
    frozenset({"chair", "sofa", "bench", "bed"}),
    frozenset({"book", "newspaper"}),
    frozenset({"box", "gift"}),
)
TABLES = frozenset({"table", "desk", "sidetable", "counter"})
HALVES = ("strains", "offers")  # only ever a part of lifting, of shaking hands


def _strangers(query: Query, done: list[Deed]) -> int:
    """In how many words the people differ from the query's; two who act together may be named either way."""
    worst = 0
    for deed in done:
        other = deed.whom if deed.whom in CAST else ""
        ways = [(deed.who, other), (other, deed.who)] if deed.verb in MUTUAL else [(deed.who, other)]
        worst = max(worst, min(_missing(who, query.who) + _missing(whom, query.whom) for who, whom in ways))
    return worst


MUTUAL = ("shakes", "hugs", "highfives")


def _missing(name: str, wanted: str) -> int:
    """How many words of "red man", "old", "child" ... somebody is not."""
    words = _words(CAST[name]) if name else set()
    return sum(word not in words for word in wanted.split())


def _words(person: Person) -> set[str]:
    words = {"person", person.age, person.kind, person.wears}
    return words | {"grown"} if person.age != "child" else words


def _crowded(query: Query, deeds: tuple[Deed, ...], done: list[Deed]) -> bool:
    """Whether more than a quarter of the moment is about something else.

    What leads up to the query's actions (the way there, taking the cup one drinks from) does not count as that.
    """
    names = {want.what for want in query.wants if want.what}
    last = max(index for index, deed in enumerate(deeds) if deed in done)
    extra = [
        deed
        for index, deed in enumerate(deeds)
        if deed not in done and not (index < last and (deed.verb in ("walks", "runs") or deed.what in names))
    ]
    return sum(deed.seconds for deed in extra) > 0.25 * sum(deed.seconds for deed in deeds)


def _touches(query: Query, deed: Deed) -> bool:
    """Whether a deed has a few points in common with the query: the thing, or a particular person."""
    things = {thing for want in query.wants for thing in (want.what, want.where) if thing}
    if deed.what in things or deed.whom in things:
        return True
    telling = set(query.who.split()) - {"person", "man", "woman", "grown"}
    return bool(telling) and not _missing(deed.who, query.who)


def _query(line: str) -> Query:
    """Read a line of ``queries.toml``."""
    head, people, actions = (part.strip() for part in line.split("|"))
    query_id, _, text = head.partition(" ")
    who, _, whom = people.partition(", ")
    return Query(int(query_id), text, who, tuple(_want(action) for action in actions.split(";")), whom)


def _want(action: str) -> Want:
    verbs, what, where, *_ = [*action.split(), "", ""]
    return Want(frozenset(verbs.split("/")), what.replace("any", ""), where)


_FILE = tomllib.loads(Path(__file__).with_name("queries.toml").read_text(encoding="utf-8"))
QUERIES = tuple(_query(line) for line in _FILE["queries"].strip().splitlines())
EXAMPLES = tuple(Example(**each) for each in _FILE["examples"])
_BY_TEXT = {query.text: query for query in QUERIES}


@cache
def _moments_by_key() -> dict[Key, Moment]:
    return {(moment.video, moment.start, moment.end): moment for moment in moments()}
