"""Drafting a cast list from a corpus: its capitalised words by frequency, with contexts and a guess at each phrase."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from django.db import transaction

from corpus.models import Corpus, Moment
from jobs.registry import SELF, Report, kind
from retrieval.rewriting.models import CastName
from retrieval.rewriting.words import TITLES, Found, Lexicon, words_of

CONTEXTS = 3
LONGEST_CONTEXT = 200  # characters
MALE, FEMALE = re.compile(r"\b(he|him|his|himself)\b", re.I), re.compile(r"\b(she|her|hers|herself)\b", re.I)
CLEARLY = 2  # times as frequent as the other kind, a kind of pronoun decides


def descriptions_of(corpus: Corpus) -> list[str]:
    """Return the distinct descriptions of a corpus, in a fixed order."""
    texts = Moment.objects.filter(video__corpus=corpus).order_by("description")
    return list(texts.values_list("description", flat=True).distinct())


@kind("draft-cast", "Draft the cast list", of=Corpus, owner=SELF, page=("cast", "pk"), for_leads=True)
def draft_cast(corpus: Corpus, report: Report) -> None:
    report(0, 1, "counting capitalised words")
    draft(corpus)
    report(1, 1)


def draft(corpus: Corpus) -> list[CastName]:
    """Add what may be names to the corpus's cast list, unconfirmed, and return the whole list, most frequent first.

    Entries that are there keep what the lead said of them; their counts and contexts are brought up to date.
    """
    found = {entry.name: entry for entry in drafted(descriptions_of(corpus))}
    with transaction.atomic():
        for known in CastName.objects.filter(corpus=corpus):
            if fresh := found.get(known.name):
                fresh.phrase, fresh.same_as = known.phrase or fresh.phrase, known.same_as or fresh.same_as
                fresh.stays, fresh.confirmed = known.stays, known.confirmed
        for entry in found.values():
            entry.corpus = corpus
        CastName.objects.bulk_create(
            found.values(),
            update_conflicts=True,
            unique_fields=["corpus", "name"],
            update_fields=["phrase", "same_as", "count", "contexts"],
            batch_size=500,
        )
    return list(CastName.objects.filter(corpus=corpus).order_by("-count", "name"))


def drafted(descriptions: Iterable[str]) -> list[CastName]:
    """Return what may be names in these descriptions: words, and words in a row. Nothing is stored."""
    texts = list(descriptions)
    lexicon = Lexicon(texts)
    counts: Counter[str] = Counter()
    contexts: dict[str, list[str]] = defaultdict(list)
    gender: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        names = {name for run in _runs(text, lexicon) for name in _names_of(run)}
        counts.update(names)
        for name in names:
            if len(contexts[name]) < CONTEXTS:
                contexts[name].append(text[:LONGEST_CONTEXT])
        # Or the pronouns may be another's.
        if len(singles := {name for name in names if " " not in name}) == 1:
            gender[singles.pop()].update(_genders(text))
    entries = [
        CastName(name=name, phrase=_guess(gender[name]), count=count, contexts=contexts[name])
        for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if len(name) <= 100
    ]
    _join_full_names(entries)
    return entries


def _runs(text: str, lexicon: Lexicon) -> list[list[str]]:
    """Return the words of a text that may be names; those in a row, with only white space between, are together."""
    runs: list[list[str]] = []
    last: Found | None = None
    for found in words_of(text):
        if found.word.lower() in TITLES or not lexicon.seems_a_name(found.word, found.begins):
            last = None
            continue
        if last and not text[last.start + len(last.word) : found.start].strip():
            runs[-1].append(found.word)
        else:
            runs.append([found.word])
        last = found
    return runs


def _names_of(run: list[str]) -> list[str]:
    return [*run, " ".join(run)] if len(run) > 1 else run


def _genders(text: str) -> dict[str, int]:
    return {"man": len(MALE.findall(text)), "woman": len(FEMALE.findall(text))}


def _guess(counts: Counter[str]) -> str:
    """Guess a phrase by the pronouns in descriptions that name nobody else. In doubt it is `person`."""
    man, woman = counts["man"], counts["woman"]
    if man > CLEARLY * woman:
        return "man"
    return "woman" if woman > CLEARLY * man else "person"


def _join_full_names(entries: list[CastName]) -> None:
    """Let full names follow their most frequent part: Rachel Green is the same as Rachel."""
    by_name = {entry.name: entry for entry in entries}
    for entry in entries:
        if " " in entry.name:
            parts = [by_name[word] for word in entry.name.split() if word in by_name]
            entry.same_as = max(parts, key=lambda part: part.count).name
            entry.phrase = by_name[entry.same_as].phrase
