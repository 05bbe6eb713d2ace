"""The demo's queries, and the hidden true grade of each query and moment.

The grade follows the annotation guideline of TVR-Ranking (Appendix B.1), read off the structured deeds of a moment:

4. every action of the query is done, whole, by the people it names, and fills most of the moment;
3. the same, but for a detail: another person or colour, a near thing (a bench for a sofa), or much else beside it;
2. only a part: one of two actions, or an action begun and not finished;
1. a few points: the same thing or the same particular person, in another action;
0. unrelated. "A person" and plain standing or walking about count for nothing, as stop words do in search.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from .cast import CAST, Person
from .scripts import Deed, Moment, moments

Key = tuple[str, float, float]


@dataclass(frozen=True, slots=True)
class Want:
    """One action of a query: the verbs that are it, the thing, its colour, and where it is put (each "" for any)."""

    verbs: frozenset[str]
    what: str = ""
    tone: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A query's text and what it asks for: who does it, to whom ("" for nobody in particular), and the actions."""

    query_id: int
    text: str
    who: str
    wants: tuple[Want, ...]
    whom: str = ""


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
        query = _queries_by_text()[query_text]
    except KeyError:
        raise LookupError(f"the demo has no query {query_text!r}; see corpus.demo.grades.QUERIES") from None
    try:
        moment = _moments_by_key()[moment_key]
    except KeyError:
        raise LookupError(f"the demo has no moment {moment_key!r}; expected (video, start, end)") from None
    return _grade(query, moment.deeds)


def _grade(query: Query, deeds: tuple[Deed, ...]) -> int:
    pairs = [_best(want, deeds) for want in query.wants]
    match = [score for score, _ in pairs]
    done = [deed for _, deed in pairs if deed]
    if min(match) >= NEAR:
        exact = min(match) == EXACT and _people_fit(query, done) and _fills(query, deeds, done)
        return 4 if exact else 3
    if max(match) >= PART:
        return 2
    return 1 if any(_touches(query, deed) for deed in deeds) else 0


NOTHING, PART, NEAR, EXACT = 0, 1, 2, 3


def _best(want: Want, deeds: Iterable[Deed]) -> tuple[int, Deed | None]:
    """How well the best of the deeds is what is wanted, and which deed that is."""
    scored = [(_match(want, deed), deed) for deed in deeds]
    score, deed = max(scored, key=lambda pair: pair[0])
    return score, deed if score else None


def _match(want: Want, deed: Deed) -> int:
    same = deed.verb in want.verbs
    if not same and not any(deed.verb in kin and want.verbs & kin for kin in NEAR_VERBS):
        return NOTHING
    if want.what and deed.what != want.what and not any({want.what, deed.what} <= kin for kin in NEAR_THINGS):
        return NOTHING
    place_fits = not want.where or deed.whom == want.where
    if deed.broken or deed.verb in HALVES or not place_fits:
        return PART
    exact = same and want.what in ("", deed.what) and want.tone in ("", deed.tone)
    return EXACT if exact else NEAR


NEAR_VERBS = (
    frozenset({"walks", "runs"}), frozenset({"lifts", "takes", "strains"}), frozenset({"throws", "tosses"}),
    frozenset({"shakes", "offers"}),
)  # fmt: skip
NEAR_THINGS = (
    frozenset({"chair", "sofa", "bench", "bed"}),
    frozenset({"book", "newspaper"}),
    frozenset({"box", "gift"}),
)
HALVES = ("strains", "offers")  # only ever a part of lifting, of shaking hands


def _people_fit(query: Query, done: list[Deed]) -> bool:
    """Whether the people are those of the query; two who do a thing together may be named either way round."""
    for deed in done:
        other = deed.whom if deed.whom in CAST else ""
        ways = [(deed.who, other), (other, deed.who)] if deed.verb in MUTUAL else [(deed.who, other)]
        if not any(_is(who, query.who) and (not query.whom or _is(whom, query.whom)) for who, whom in ways):
            return False
    return True


MUTUAL = ("shakes", "hugs", "highfives")


def _is(name: str, wanted: str) -> bool:
    """Whether somebody is "a red man", "an old person", "a child" ...; every word must fit."""
    return bool(name) and all(word in _words(CAST[name]) for word in wanted.split())


def _words(person: Person) -> set[str]:
    words = {"person", person.age, person.kind, person.wears}
    return words | {"grown"} if person.age != "child" else words


def _fills(query: Query, deeds: tuple[Deed, ...], done: list[Deed]) -> bool:
    """Whether the query's actions, with the way to them, are most of the moment."""
    names = {want.what for want in query.wants if want.what}
    about = [deed for deed in deeds if deed in done or deed.verb in ("walks", "runs") or deed.what in names]
    return sum(deed.seconds for deed in about) > 0.6 * sum(deed.seconds for deed in deeds)


def _touches(query: Query, deed: Deed) -> bool:
    """Whether a deed has a few points in common with the query: the thing, or a particular person."""
    things = {want.what for want in query.wants if want.what} | {
        want.where for want in query.wants if want.where
    }
    if deed.what in things or deed.whom in things:
        return True
    telling = set(query.who.split()) - {"person", "man", "woman", "grown"}
    return bool(telling) and _is(deed.who, query.who)


def _want(line: str) -> Want:
    """Read ``verb|verb what where``, the thing's colour before it with a ``:``."""
    verbs, what, where, *_ = [*line.split(), "", ""]
    tone, _, kind = what.rpartition(":")
    return Want(frozenset(verbs.split("|")), kind.replace("*", ""), tone, where)


def _query(query_id: int, text: str, who: str, *wants: str, whom: str = "") -> Query:
    return Query(query_id, text, who, tuple(_want(line) for line in wants), whom)


QUERIES: tuple[Query, ...] = (
    _query(101, "A person stands up and walks to the board.", "person", "stands", "walks board"),
    _query(102, "A woman opens the door and walks in.", "woman", "enters door"),
    _query(103, "A man lifts a box.", "man", "lifts box"),
    _query(104, "A person drinks from a cup.", "person", "drinks cup"),
    _query(105, "Two people shake hands.", "person", "shakes", whom="person"),
    _query(106, "A grown-up hugs a child.", "grown", "hugs", whom="child"),
    _query(107, "A person opens the door and leaves.", "person", "opens door", "leaves door"),
    _query(108, "A child throws a ball to someone.", "child", "throws ball"),
    _query(109, "A man reads a newspaper on the sofa.", "man", "reads newspaper"),
    _query(110, "A woman talks on the phone.", "woman", "phones phone"),
    _query(111, "A man points at the board.", "man", "points board"),
    _query(112, "Someone writes on the whiteboard.", "person", "writes board"),
    _query(113, "An old person sits down on a chair.", "old", "sits chair"),
    _query(114, "A person stands up and walks to the board.", "person", "stands", "walks board"),
    _query(115, "A man gives a woman flowers.", "man", "gives flowers", whom="woman"),
    _query(116, "A woman dances.", "woman", "dances"),
    _query(117, "A person lies down and falls asleep.", "person", "lies"),
    _query(
        118,
        "Someone picks up a suitcase and goes out of the door.",
        "person",
        "takes suitcase",
        "leaves door",
    ),
    _query(119, "A person puts something down on a table.", "person", "puts * table"),
    _query(120, "A woman looks out of the window.", "woman", "looks window"),
    _query(121, "A child jumps up and down.", "child", "jumps"),
    _query(122, "A person picks up a book and reads it.", "person", "takes book", "reads book"),
    _query(123, "A man plays the guitar.", "man", "plays guitar"),
    _query(124, "A person waves and then leaves through the door.", "person", "waves", "leaves door"),
    _query(125, "A man in a red shirt opens the door.", "red man", "opens|enters door"),
)


@cache
def _queries_by_text() -> dict[str, Query]:
    return {query.text: query for query in QUERIES}


@cache
def _moments_by_key() -> dict[Key, Moment]:
    return {(moment.video, moment.start, moment.end): moment for moment in moments()}
