"""Cast lists: drafted from the capitalised words of a corpus, as files in CSV or JSON, and as they are stored."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from django.db import transaction
from django.db.models import QuerySet

from base.errors import ReeljudgeError
from base.text import abbreviated, harmless, storable
from corpus.models import Corpus, Moment
from jobs.registry import SELF, Report, kind
from metrics import MeasureError
from metrics.formats.json_reader import read_json
from retrieval.models import LONGEST_NAME, CastName
from retrieval.rewriting.cast import TITLES, Found, Lexicon, words_of

NAMES_ON_A_PAGE = 50  # and so at most as many are saved at once

COLUMNS = ("name", "phrase", "same_as", "stays", "confirmed")
HELPS = ("count", "context 1", "context 2", "context 3")  # columns of a draft that are for the lead's eyes
TRUE, FALSE = {"yes", "y", "true", "1", "x"}, {"", "no", "n", "false", "0"}
MOST_PROBLEMS = 100
LARGEST = 16 * 2**20  # bytes
CONTEXTS = 3
LONGEST_CONTEXT = 200  # characters
MALE, FEMALE = re.compile(r"\b(he|him|his|himself)\b", re.I), re.compile(r"\b(she|her|hers|herself)\b", re.I)
CLEARLY = 2  # times as frequent as the other kind, a kind of pronoun decides
CastLine = tuple[str, dict[str, Any]]  # where an entry of a file stands, and its fields


def read_cast(file: Path) -> list[CastName]:
    """Return the entries of a cast list, not stored.

    A CSV file has the columns `name` and `phrase`, and may have `same_as`, `stays` and `confirmed`; others are ignored.
    A JSON file holds an object `{"name": "phrase"}` or a list of objects with the same fields. Without the field
    `confirmed` every entry counts as confirmed. Raises ReeljudgeError if entries are wrong; it names the first 100 of
    them, and the count.
    """
    return checked(_lines(file), str(file))


def checked(lines: Iterable[CastLine], source: str) -> list[CastName]:
    """Return the entries that the lines hold; as `read_cast`."""
    entries: dict[str, CastName] = {}
    problems = []
    for where, fields in lines:
        try:
            entry = _entry(fields)
            if entry.name in entries:
                raise ReeljudgeError(f"field name: {abbreviated(entry.name)} stands there twice; expected once")
            entries[entry.name] = entry
        except ReeljudgeError as fault:
            problems.append(f"{where}: {fault}")
    problems += _loose(entries)
    if problems:
        more = [f"… and {len(problems) - MOST_PROBLEMS:,} more"] if len(problems) > MOST_PROBLEMS else []
        first = f"{source}: {len(problems):,} problems; nothing was stored."
        raise ReeljudgeError("\n".join([first, *problems[:MOST_PROBLEMS], *more]))
    if not entries:
        raise ReeljudgeError(f"{source}: holds no names; expected a line of headings and a name a line, or JSON")
    return list(entries.values())


def _entry(fields: dict[str, Any]) -> CastName:
    name = _text(fields, "name")
    if not name:
        raise ReeljudgeError(f"field name: {abbreviated(fields.get('name'))}; expected a name")
    entry = CastName(name=name, phrase=_text(fields, "phrase"), same_as=_text(fields, "same_as"))
    entry.stays, entry.confirmed = _flag(fields, "stays", False), _flag(fields, "confirmed", True)
    if entry.confirmed and not entry.stays and not entry.phrase and not entry.same_as:
        raise ReeljudgeError('field phrase: ""; expected a noun phrase such as "old woman", or yes in stays')
    if entry.phrase and any(word == entry.name for word in entry.phrase.split()):
        raise ReeljudgeError(f"field phrase: {abbreviated(entry.phrase)}; expected words without the name itself")
    return entry


def _text(fields: dict[str, Any], field: str) -> str:
    value = fields.get(field)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not storable(value) or not value.isprintable():
        raise ReeljudgeError(
            f"field {field}: {abbreviated(value)}; expected a text of at most {LONGEST_NAME} characters"
        )
    return " ".join(value.split())


def _flag(fields: dict[str, Any], field: str, default: bool) -> bool:
    value = fields.get(field)
    if value is None:
        return default
    written = str(value).strip().lower()
    if written not in TRUE | FALSE:
        raise ReeljudgeError(f"field {field}: {abbreviated(value)}; expected yes or no")
    return written in TRUE


def _loose(entries: dict[str, CastName]) -> Iterator[str]:
    """Yield what is wrong with references to other entries, and give each name its person's phrase."""
    for entry in entries.values():
        if not entry.same_as:
            continue
        person, seen = entry, {entry.name}
        while person.same_as and person.same_as in entries and person.same_as not in seen:
            person = entries[person.same_as]
            seen.add(person.name)
        if person.same_as:
            yield f"{entry.name}: field same_as: {abbreviated(person.same_as)}; expected the name of another entry"
        elif not person.phrase and entry.confirmed:
            yield f"{entry.name}: field same_as: {abbreviated(person.name)} has no phrase; expected one there"
        else:
            entry.phrase = entry.phrase or person.phrase


def _lines(file: Path) -> Iterator[CastLine]:
    try:
        if file.stat().st_size > LARGEST:
            raise ReeljudgeError(f"{file}: over {LARGEST:,} bytes; expected a cast list")
        content = file.read_text(encoding="utf-8-sig")
    except OSError as fault:
        raise ReeljudgeError(f"{file}: cannot be read ({fault.strerror}); expected a file") from fault
    except UnicodeDecodeError as fault:
        raise ReeljudgeError(f"{file}: not UTF-8 at byte {fault.start + 1}") from fault
    return _of_json(content, file) if content.lstrip()[:1] in ("[", "{") else _of_csv(content, file)


def _of_json(content: str, file: Path) -> Iterator[CastLine]:
    try:
        value = read_json(content)
    except MeasureError as fault:
        raise ReeljudgeError(f"{file}: not JSON ({fault})") from fault
    rows = [{"name": name, "phrase": phrase} for name, phrase in value.items()] if isinstance(value, dict) else value
    for number, row in enumerate(rows, 1):
        yield f"entry {number}", row if isinstance(row, dict) else {"name": row}


def _of_csv(content: str, file: Path) -> Iterator[CastLine]:
    rows = csv.reader(io.StringIO(content, newline=""), strict=True)
    try:
        headings = [heading.strip().lower() for heading in next(rows, [])]
        if "name" not in headings or "phrase" not in headings:
            raise ReeljudgeError(
                f"{file}: line 1: the headings are {abbreviated(','.join(headings))}; expected name, phrase and, "
                "if they are needed, same_as, stays, confirmed"
            )
        for row in rows:
            if any(cell.strip() for cell in row):
                yield f"line {rows.line_num}", dict(zip(headings, row, strict=False))
    except csv.Error as fault:
        raise ReeljudgeError(f"{file}: line {rows.line_num}: not CSV ({fault})") from fault


def write_cast(entries: Iterable[CastName], out: TextIO) -> None:
    """Write entries as CSV, with the columns that help a lead to complete a draft."""
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([*COLUMNS, *HELPS])
    for entry in entries:
        flags = ["yes" if flag else "" for flag in (entry.stays, entry.confirmed)]
        contexts = [*entry.contexts, "", "", ""][:3]
        cells = [entry.name, entry.phrase, entry.same_as, *flags, entry.count, *contexts]
        rows.writerow(map(harmless, cells))


def store_cast(corpus: Corpus, entries: list[CastName], replaced: Sequence[str] = COLUMNS[1:]) -> None:
    """Add entries to a corpus's cast list. Those with a known name replace these fields of it, and not its count and
    contexts unless they are named.
    """
    for entry in entries:
        entry.corpus = corpus
    CastName.objects.bulk_create(
        entries, update_conflicts=True, unique_fields=["corpus", "name"], update_fields=replaced, batch_size=500
    )


def names_of(corpus: Corpus, state: str = "") -> QuerySet[CastName]:
    """Return the names of a corpus, most frequent first: all, or those to be confirmed, or those that are."""
    names = CastName.objects.filter(corpus=corpus).order_by("-count", "name")
    return names.filter(confirmed=state == "confirmed") if state in ("open", "confirmed") else names


def save_names(corpus: Corpus, names: list[CastName]) -> None:
    """Store all names, or none: raises ReeljudgeError if one is wrong. Names may refer to others of the list."""
    if not names:
        raise ReeljudgeError("name: none; expected the names of this page")
    changed = {name.pk for name in names}
    others = CastName.objects.filter(corpus=corpus).exclude(pk__in=changed)
    lines = ((each.name, {field: getattr(each, field) for field in COLUMNS}) for each in (*names, *others))
    entries = checked(lines, f"{corpus}")
    mine = {name.name for name in names}
    store_cast(corpus, [entry for entry in entries if entry.name in mine])


def descriptions_of(corpus: Corpus) -> list[str]:
    """Return the distinct descriptions of a corpus, in a fixed order."""
    texts = Moment.objects.filter(video__corpus=corpus).order_by("description")
    return list(texts.values_list("description", flat=True).distinct())


@kind("draft-cast", "Draft the cast list", of=Corpus, owner=SELF, page=("captions", "pk"), for_leads=True)
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
        store_cast(corpus, [*found.values()], ["phrase", "same_as", "count", "contexts"])
    return list(names_of(corpus))


def drafted(descriptions: Iterable[str]) -> list[CastName]:
    """Return what may be names in these descriptions: words, and words in a row. Nothing is stored."""
    texts = list(descriptions)
    lexicon = Lexicon(texts)
    counts: Counter[str] = Counter()
    contexts: dict[str, list[str]] = defaultdict(list)
    gender: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        names = {name for run in _runs(text, lexicon) for name in (*run, " ".join(run))}
        counts.update(names)
        for name in names:
            if len(contexts[name]) < CONTEXTS:
                contexts[name].append(text[:LONGEST_CONTEXT])
        # Or the pronouns may be another's.
        if len(singles := {name for name in names if " " not in name}) == 1:
            gender[singles.pop()].update({"man": len(MALE.findall(text)), "woman": len(FEMALE.findall(text))})
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
