"""Reading a draft's files as soon as they are whole: what each is, its first rows, counts, and what is wrong with it.

What was found lies beside each file, so that it goes when the file goes: its summary, and all that is wrong with it.
Films are left out, because only the process that cuts clips opens them; the check asks it.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from django.db.models import Model
from django.utils.text import slugify

from base.errors import ReeljudgeError
from base.text import csv_lines, harmless, printable
from campaigns.models import Campaign
from campaigns.uploads import found_in
from corpus.errors import CorpusError, Problem
from corpus.importers.checking import Checker
from corpus.importers.formats import FORMATS, importer_of
from corpus.importers.recognition import names_in, proposed, recognised
from corpus.importers.rows import LONGEST_LINE
from corpus.models import Corpus
from corpus.reading import value_in
from drafts.leaderboard import FEWEST_RUNS, read_leaderboard, sizes_of
from drafts.models import Draft, Upload
from drafts.sources import media_of, must_be_here, queries_file, source_of
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import Report, kind
from judging.pool.opening import texts_of
from judging.pool.queries import read_queries

FIRST = 10  # rows
LISTED = 10  # problems
MOST_KEPT = 100_000  # problems of a file
LONGEST_EXCERPT = 160  # characters
HEADER = ("step", "file", "line", "text", "problem")
PASTED = "pasted.txt"
Fault = tuple[int | None, str, str]  # the number of the line, its text, and what is wrong with it


@dataclass
class Reading:
    """What was found in a file of a draft."""

    of: list[Any] = field(default_factory=list)  # what it was read as
    recognised: str = ""  # the format that it seems to have; empty if that is not to be found
    format: str = ""  # the one that it was read in
    names: list[str] = field(default_factory=list)  # of its columns or keys
    columns: dict[str, str] = field(default_factory=dict)  # that are proposed for the fields
    first: list[list[Any]] = field(default_factory=list)  # video, start, end and caption; or a query
    counts: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, list[list[int]]] = field(default_factory=dict)  # of a leaderboard: `sizes_of`
    problems: list[dict[str, Any]] = field(default_factory=list)  # the first of them: line, text, problem
    wrong: int = 0
    unmeasured: list[str] = field(default_factory=list)  # videos of which no file gives the length

    @property
    def is_sound(self) -> bool:
        return not self.wrong

    @property
    def title(self) -> str:
        """The format that the file was read in, as people call it."""
        return FORMATS[self.format].title if self.format else ""

    @property
    def seems(self) -> str:
        """The format that it seems to have, if that is another one."""
        return FORMATS[self.recognised].title if self.recognised not in ("", self.format) else ""


@kind("read-files", "Read the files", lane=Lane.QUICK, of=Draft, person="owner", page=("draft-data", "token"))
def read_files(draft: Draft, report: Report) -> None:
    """Read the files of a draft that were not read as the draft says now, and keep what was found."""
    must_be_here(draft)
    for purpose, read in READERS.items():
        upload = draft.upload_for(purpose)
        if upload and upload.is_whole and reading_of(draft, purpose) is None:
            _keep(upload, read, Reading(of=_read_as(draft, purpose)), report)


def _keep(upload: Upload, read: Callable[..., None], found: Reading, report: Report) -> None:
    """Read a file, and put what was found beside it, all of it or nothing."""
    summary, faults = found_in(upload)
    beside = faults.with_suffix(".new")
    try:
        with beside.open("w") as out, _Excerpts(upload.path) as excerpts:

            def fault(where: str, message: str) -> None:
                found.wrong += 1
                number = re.match(r"line (\d+)", where)
                line = int(number[1]) if number else None
                words = printable(f"{where}: {message}" if where and not number else message)
                row = [line, excerpts.text(line) if line else "", words]
                if found.wrong <= MOST_KEPT:
                    out.write(json.dumps(row) + "\n")
                if found.wrong <= LISTED:
                    found.problems.append(dict(zip(HEADER[2:], row, strict=True)))

            read(upload, found, fault, report)
        os.replace(beside, faults)
        beside.write_text(json.dumps(asdict(found)))
        os.replace(beside, summary)
    finally:
        beside.unlink(missing_ok=True)
        if not Upload.objects.filter(pk=upload.pk).exists():  # it was removed meanwhile
            for each in (summary, faults):
                each.unlink(missing_ok=True)


def _read_moments(upload: Upload, found: Reading, fault: Callable[[str, str], None], report: Report) -> None:
    """Read a file of moments. Videos whose lengths only films have are listed: films may come later."""
    file, draft = upload.path, upload.draft

    def without_length(video: str) -> float:
        found.unmeasured.append(video)
        return math.inf

    try:
        found.recognised = value_in(recognised, file)
        found.format = draft.format or found.recognised
        found.names = value_in(names_in, file, format=found.format)
        found.columns = proposed(found.names)
        source = source_of(draft, with_films=False)
        checker = Checker(
            source,
            importer_of(source),
            {},
            measured=without_length,
            sign=lambda rows: report(0, 0, f"{upload.name}: {rows:,} moments so far"),
            faulty=lambda problem: fault(problem.where, _for_pages(problem, file)),
        )
        for row in checker.rows():
            if len(found.first) < FIRST:
                found.first.append([row.video, row.start, row.end, row.caption or row.description])
        found.counts = {"videos": checker.report.videos, "moments": checker.report.rows}
        found.counts |= {f"left out: {reason}": number for reason, number in checker.report.left_out.items()}
    except CorpusError as refused:
        fault("", str(refused).replace(f"{file}: ", ""))


def _for_pages(problem: Problem, file: Path) -> str:
    """Return the message without the path, which means nothing to the owner, and without an option of a command."""
    return problem.message.replace(f"{file}: ", "").partition(". --columns")[0]


def _read_queries(upload: Upload, found: Reading, fault: Callable[[str, str], None], report: Report) -> None:
    texts, repeated, file = set[str](), 0, upload.path
    report(0, 0, upload.name)
    try:
        with queries_file(upload.draft) as file:
            for each in read_queries(file):
                if isinstance(each, Problem):
                    fault(each.where, each.message)
                    continue
                if each in texts:
                    repeated += 1
                elif len(found.first) < FIRST:
                    found.first.append([each])
                texts.add(each)
        if not texts and not found.wrong:
            fault("", "holds no queries; expected one query a line, or JSON with query_id and query")
    except (CorpusError, ReeljudgeError) as refused:
        fault("", str(refused).replace(f"{file}: ", ""))
    found.counts = {"queries": len(texts)} | ({"repeated": repeated} if repeated else {})


def _read_leaderboard(upload: Upload, found: Reading, fault: Callable[[str, str], None], report: Report) -> None:
    """Read a benchmark, and the runs on it, which the benchmark's reading is about too."""
    report(0, 0, upload.name)
    try:
        board = read_leaderboard(upload.draft, lambda problem: fault("", problem))
        if board and not found.wrong:
            found.sizes = sizes_of(board)
            queries = sum(number for _, number in found.sizes["1"])
            found.counts = {"queries": queries, "runs": len(board.runs)}
            found.first = [[text] for text in list(texts_of(board.qrels).values())[:FIRST]]
    except (CorpusError, ReeljudgeError) as refused:
        fault("", str(refused))


READERS = {
    Upload.Purpose.MOMENTS: _read_moments,
    Upload.Purpose.QUERIES: _read_queries,
    Upload.Purpose.BENCHMARK: _read_leaderboard,
}


class _Excerpts:
    """The beginnings of a file's lines, which are asked for in ascending order."""

    def __init__(self, file: Path) -> None:
        self.file, self.number, self.line = file, 0, b""

    def __enter__(self) -> _Excerpts:
        self.content = self.file.open("rb")
        return self

    def __exit__(self, *fault: object) -> None:
        self.content.close()

    def text(self, number: int) -> str:
        while self.number < number and (piece := self.content.readline(LONGEST_LINE)):
            self.number, self.line = self.number + 1, piece[: 4 * LONGEST_EXCERPT]
            while not piece.endswith(b"\n") and (piece := self.content.readline(LONGEST_LINE)):
                pass
        return printable(self.line.decode(errors="replace").strip())[:LONGEST_EXCERPT] if self.number == number else ""


def with_texts(draft: Draft, problems: list[str], places: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the steps of problems that a check found, each with the text of the line that the problem names."""
    texts = {}
    for purpose, step in STEPS.items():
        upload = draft.upload_for(purpose)
        if upload and upload.is_whole and purpose != Upload.Purpose.BENCHMARK:  # whose runs have lines, too
            with _Excerpts(upload.path) as excerpts:
                for number, problem in enumerate(problems):
                    if places[number][0] == step and (line := re.search(r": line (\d+)", problem)):
                        texts[number] = excerpts.text(int(line[1]))
    return [(step, texts.get(number, "")) for number, (step, _) in enumerate(places)]


def _read_as(draft: Draft, purpose: str) -> list[Any]:
    """Return what a reading of a file depends on beside the file."""
    if purpose == Upload.Purpose.BENCHMARK:
        runs = draft.files.filter(purpose=Upload.Purpose.RUN)
        return [draft.corpus_id, [list(each) for each in runs.values_list("token", "received")]]
    if purpose != Upload.Purpose.MOMENTS:
        return []
    durations = draft.upload_for(Upload.Purpose.DURATIONS)
    about = [durations.token, durations.received] if durations else []
    return [draft.format, draft.kind, dict(sorted(draft.columns.items())), about, draft.leaves_out_unusable]


def reading_of(draft: Draft, purpose: str) -> Reading | None:
    """Return what was found in the file for a purpose, if it was read as the draft says now."""
    found = last_reading(draft, purpose)
    return found if found and found.of == _read_as(draft, purpose) else None


def last_reading(draft: Draft, purpose: str) -> Reading | None:
    """Return what was found in the file for a purpose when it was last read, also if the draft says something else."""
    upload = draft.upload_for(purpose)
    try:
        return Reading(**json.loads(found_in(upload)[0].read_text())) if upload and upload.is_whole else None
    except FileNotFoundError:
        return None


def ask_to_read(draft: Draft) -> Job | None:
    """Have the files read that were not read yet, if there are any."""
    waiting = [each for each in READERS if _is_whole(draft, each) and reading_of(draft, each) is None]
    return read_files.ask(draft) if waiting else None


def _is_whole(draft: Draft, purpose: str) -> bool:
    """Return whether the file for a purpose is there as a whole, and with a benchmark enough runs on it."""
    upload = draft.upload_for(purpose)
    if upload and purpose == Upload.Purpose.BENCHMARK:
        runs = draft.uploads.filter(purpose=Upload.Purpose.RUN)
        return upload.is_whole and runs.count() >= FEWEST_RUNS and not runs.partial().exists()
    return bool(upload and upload.is_whole)


def is_sound(draft: Draft, purpose: str) -> bool:
    """Return whether the file for a purpose is there as a whole, was read, and could be stored."""
    found = reading_of(draft, purpose)
    return bool(found and found.is_sound and not count_without_length(draft, found))


def count_without_length(draft: Draft, found: Reading) -> int:
    """Return for how many videos neither a file nor an uploaded film gives the length.

    A folder on the server may have thousands of films; only the check looks into it.
    """
    if not found.unmeasured or draft.media == Draft.Media.FOLDER:
        return 0
    films = media_of(draft)
    return sum(films is None or not films.place(video) for video in found.unmeasured)


def problems_csv(draft: Draft) -> Iterator[str]:
    """Yield the lines of a CSV of all that is wrong with a draft."""
    return csv_lines(HEADER, _all_problems(draft))


def _all_problems(draft: Draft) -> Iterator[tuple[object, ...]]:
    """Yield what is wrong with the draft's files, and what else the last check found, as `HEADER` says."""
    read = set()
    for purpose, step in STEPS.items():
        upload, found = draft.upload_for(purpose), reading_of(draft, purpose)
        if upload and found and found.wrong:
            read.add(step)
            yield from (_row(step, upload.name, *fault) for fault in _kept(upload))
            if found.wrong > MOST_KEPT:
                yield _row(step, upload.name, None, "", f"and {found.wrong - MOST_KEPT:,} more problems")
    for problem in draft.problems:
        if problem.step not in read:
            yield _row(problem.step, "", None, "", problem.words)


STEPS = {Upload.Purpose.MOMENTS: "corpus", Upload.Purpose.QUERIES: "queries", Upload.Purpose.BENCHMARK: "queries"}


def _kept(upload: Upload) -> Iterator[Fault]:
    with found_in(upload)[1].open() as content:
        yield from map(json.loads, content)


def _row(*cells: object) -> tuple[object, ...]:
    return tuple("" if cell is None else harmless(cell) for cell in cells)


def proposed_corpus_name(draft: Draft) -> str:
    """Return a name for the new corpus that no other has, made from that of its file; empty if it was pasted."""
    upload = draft.upload_for(Upload.Purpose.MOMENTS)
    return _free(Corpus, Path(upload.name).stem) if upload and upload.name != PASTED else ""


def proposed_name(draft: Draft) -> str:
    """Return a short name for the campaign that no other has, made from that of its corpus or its file."""
    corpus = draft.corpus.name if draft.corpus else draft.corpus_name
    return _free(Campaign, corpus) if corpus else _free(Campaign, proposed_corpus_name(draft))


def _free(model: type[Model], words: str) -> str:
    stem = slugify(words)[:90]
    taken = set(model._default_manager.filter(name__startswith=stem).values_list("name", flat=True)) if stem else set()
    numbered = chain([stem], (f"{stem}-{number}" for number in range(2, 10_000)))
    return next((each for each in numbered if each not in taken), "")
