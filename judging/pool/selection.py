"""Selection: the captions of a corpus that become a campaign's queries, drawn at random; the others are for training.

As in TVR-Ranking (sections 3.1 and 3.3): 500 and 2,781 captions are drawn for validation and test, and a caption that
is worded as one of them stays out of the training set.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from base.errors import BadValue, WrongState
from base.text import wording
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign
from corpus.models import Corpus
from judging.models import Kind, Query
from judging.order import places
from judging.pool.queries import copy_to_batches
from metrics.formats.moment_ids import moment_id
from retrieval.models import may_become_queries

RULE = "smallest SHA-256, 1"  # how captions are drawn; it has a version, because the seed means nothing without it
VALIDATION, TEST = "val", "test"  # splits
WORDS_IN_A_BAND, LAST_BAND = 5, 20
LARGEST_SEED = 2**63 - 1
LONGEST_STRATUM = 200  # characters of its name


class Counts(NamedTuple):
    """How many captions are drawn. The defaults are TVR-Ranking's."""

    validation: int = 500
    test: int = 2781


class Stratum(NamedTuple):
    """A part of the captions, and how many of them were drawn."""

    name: str
    captions: int
    validation: int
    test: int

    @property
    def training(self) -> int:
        return self.captions - self.validation - self.test


@dataclass(frozen=True)
class Selection:
    """What was drawn. Nothing of it is stored until `store` is called."""

    seed: int
    by: tuple[str, ...]
    captions: int  # distinct ones that it was drawn from
    sha256: str  # of their sorted texts, a line each
    validation: list[str]  # the texts of the queries, in the order in which they were drawn; of the test, too
    test: list[str]
    strata: list[Stratum]  # the largest first; without strata there is a single one
    stratum_of: dict[str, str] = field(default_factory=dict)  # of each drawn text; none without strata

    @property
    def training(self) -> int:
        """The number of distinct captions that are left for training."""
        return self.captions - len(self.validation) - len(self.test)

    @property
    def record(self) -> dict[str, Any]:
        """What the campaign keeps and releases print: all that is needed to draw the same queries again."""
        return {
            "rule": RULE,
            "seed": self.seed,
            "strata": list(self.by),
            "validation": len(self.validation),
            "test": len(self.test),
            "captions": self.captions,
            "captions_sha256": self.sha256,
        }


def select(corpus: Corpus, counts: Counts, seed: int, by: Iterable[str] = ()) -> Selection:
    """Draw queries from the distinct captions of a corpus, and store nothing.

    The captions with the smallest SHA-256 of seed and text are drawn, in each stratum as many as its share is. So the
    result depends on the seed and the captions alone: not on the database, nor on the order of the file. A caption that
    is added to the corpus later displaces at most one of each split, unless there are strata.

    Parameters
    ----------
    by
        Names of `STRATA`. Each stratum then gives as large a share of the queries as it has of the captions.

    Raises
    ------
    BadValue
        If a number is out of range, there are too few captions, or a stratum is unknown.
    """
    by = tuple(dict.fromkeys(by))
    videos = first_videos(corpus)
    _check(counts, seed, by, len(videos))
    parts: dict[str, list[str]] = defaultdict(list)
    for text, video in videos.items():
        parts[", ".join(STRATA[each](video, text) for each in by) or "all captions"].append(text)
    ordered = sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))
    shares = apportion(sum(counts), [len(texts) for _, texts in ordered])
    for_validation = apportion(counts.validation, shares)
    validation, test, strata, stratum_of = list[str](), list[str](), list[Stratum](), dict[str, str]()
    for (name, texts), share, first in zip(ordered, shares, for_validation, strict=True):
        drawn = _in_drawing_order(texts, seed)[:share]
        validation += drawn[:first]
        test += drawn[first:]
        strata.append(Stratum(name, len(texts), first, share - first))
        stratum_of |= dict.fromkeys(drawn if by else (), name[:LONGEST_STRATUM])
    sorted_texts = "".join(f"{text}\n" for text in sorted(videos))
    return Selection(
        seed=seed,
        by=by,
        captions=len(videos),
        sha256=hashlib.sha256(sorted_texts.encode()).hexdigest(),
        validation=_in_drawing_order(validation, seed),
        test=_in_drawing_order(test, seed),
        strata=strata,
        stratum_of=stratum_of,
    )


def first_videos(corpus: Corpus) -> dict[str, str]:
    """Return the distinct captions that may become queries, in the order of their first moments' ids.

    The value is the name of the first moment's video. Captions that differ in white space only are one.
    """
    fields = ("video__name", "start", "end", "description", "caption")
    rows = may_become_queries(corpus).values_list(*fields).iterator(chunk_size=5000)
    ordered = sorted((moment_id(video, *times), text, video, caption) for video, *times, text, caption in rows)
    found: dict[str, str] = {}
    for _, _, video, caption in ordered:
        found.setdefault(wording(caption), video)
    return found


def _check(counts: Counts, seed: int, by: tuple[str, ...], there: int) -> None:
    for name, count in counts._asdict().items():
        if count < 0:
            raise BadValue(name, str(count), "a number of queries, 0 or more")
    if not 0 < sum(counts) <= there:
        raise BadValue(
            "validation and test",
            f"{sum(counts):,} queries",
            f"1 to {there:,}: so many distinct captions of the corpus may become queries",
        )
    if not 0 <= seed <= LARGEST_SEED:
        raise BadValue("seed", str(seed)[:40], f"0 to {LARGEST_SEED}")
    for name in by:
        if name not in STRATA:
            raise BadValue("strata", name[:40], " or ".join(STRATA))


def apportion(total: int, sizes: list[int]) -> list[int]:
    """Divide a total by sizes, in whole numbers: what rounding down leaves goes to the largest remainders.

    No part gets more than its size if the total is at most the sum of the sizes.

    >>> apportion(10, [6, 3, 3])
    [5, 3, 2]
    """
    whole = max(1, sum(sizes))
    parts = [total * size // whole for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda place: (-(total * sizes[place] % whole), place))
    for place in by_remainder[: total - sum(parts)]:
        parts[place] += 1
    return parts


def _in_drawing_order(texts: list[str], seed: int) -> list[str]:
    return sorted(texts, key=lambda text: (hashlib.sha256(f"{seed} {text}".encode()).digest(), text))


def _show(video: str, text: str) -> str:
    """The letters that the video's name begins with: `friends` of `friends_s01e03_seg02_clip_19`."""
    letters = re.match(r"[^\W\d_]+", video)
    return letters[0].lower() if letters else "no letters"


def _length(video: str, text: str) -> str:
    words = len(text.split())
    if words > LAST_BAND:
        return f"over {LAST_BAND} words"
    band = (words - 1) // WORDS_IN_A_BAND * WORDS_IN_A_BAND
    return f"{band + 1}-{band + WORDS_IN_A_BAND} words"


STRATA: dict[str, Callable[[str, str], str]] = {"show": _show, "length": _length}


@all_or_nothing
def store(campaign: Campaign, selection: Selection) -> int:
    """Make what was drawn the campaign's queries, and return how many were added. Doing it twice adds nothing.

    A query of the campaign that has the text of a caption already takes its id as an alias, and its split unless it has
    one; it keeps its place in the order, and belongs to no stratum. Raise WrongState if the campaign has another
    selection already.
    """
    campaign = locked(Campaign.objects.filter(pk=campaign.pk)).get()
    if campaign.selection not in ({}, selection.record):
        raise WrongState(
            f"Campaign {campaign.name} has a selection with seed {campaign.selection['seed']} already; "
            "a campaign has one at most."
        )
    strata = campaign.queries.all().strata()
    there = {wording(query.text): query for query in campaign.queries.filter(kind=Kind.POOL)}
    drawn = dict.fromkeys(selection.validation, VALIDATION) | dict.fromkeys(selection.test, TEST)
    known = [_merged(there[text], split) for text, split in drawn.items() if text in there]
    fresh = [
        Query(
            campaign=campaign,
            query_id=caption_id(text),
            text=text,
            split=split,
            stratum=selection.stratum_of.get(text, ""),
        )
        for text, split in drawn.items()
        if text not in there
    ]
    for query in (*known, *fresh):
        query.priority = strata.get((query.split, query.stratum), query.priority)
    Query.objects.bulk_update(known, ["aliases", "split", "priority"], 500)
    drawn_places = places(campaign.order_seed, {query.query_id: query.stratum for query in fresh})
    for query in fresh:
        query.place = drawn_places[query.query_id]
    Query.objects.bulk_create(fresh, batch_size=500)
    copy_to_batches(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(selection=selection.record)
    return len(fresh)


def _merged(query: Query, split: str) -> Query:
    own = caption_id(wording(query.text))
    if own not in (query.query_id, *query.aliases):
        query.aliases.append(own)
    query.split = query.split or split
    return query


def caption_id(text: str) -> str:
    """Return the id of a query that was a caption. The same caption has the same id in every campaign.

    >>> caption_id("A man sits down.")
    'cc37077bfccaaa5d2'
    """
    return f"c{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def training_queries(campaign: Campaign) -> list[str]:
    """Return the captions for training, in the order of their first moments' ids: those that no query is worded as.

    This holds of every query of the campaign, also of one that was withdrawn or that the lead wrote.
    """
    texts = campaign.queries.filter(kind=Kind.POOL).values_list("text", flat=True)
    taken = set(map(wording, texts))
    return [text for text in first_videos(campaign.corpus) if text not in taken]
