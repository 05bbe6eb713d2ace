"""Every reader of files takes hostile ones or says in a line what is wrong, within little memory: none fails."""

import ast
import resource
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from base.errors import ReeljudgeError
from campaigns.access import let_create
from campaigns.models import Membership
from campaigns.uploads import append
from corpus.errors import CorpusError
from corpus.importers.formats import FORMATS
from corpus.importers.load import Source, preview
from corpus.importers.recognition import names_in, recognised
from corpus.importers.rows import read_durations
from drafts.changes import ask_to_check
from drafts.models import Draft
from drafts.uploads import begin
from jobs.running import work_off
from judging.files import read, read_pairs
from judging.models import Batch
from judging.pool.queries import load_queries, read_queries
from metrics import MeasureError, MeasureWarning
from metrics.formats import (
    QRELS_FORMATS,
    RUN_FORMATS,
    annotations,
    csv_tables,
    files,
    json_qrels,
    json_runs,
    pool,
    predicted,
    qrels,
    runs,
)
from releases.archive import ReleaseArchive
from releases.checks import verify
from retrieval.rewriting.cast_file import read_cast
from runs.management.commands.make_run_again import read_recipe
from systems import storage as storing
from systems.data import Query, Video, Videos
from systems.encoders import read_tokens, read_word_vectors
from systems.errors import SystemsError
from systems.examples import queries_in, read_objects
from systems.neural.description import read_description
from systems.streams.published import read_checkpoint
from tests.forked_readers import forked
from tests.hostile.texts import FILES
from tests.installation import ROOT
from tests.metrics.shared import run_cli
from tests.runs.uploading import submitted

LONGEST_LINE, MOST_LINES = 1000, 103  # of a message
MOST_MEMORY = 512  # MiB that a reader may need for any of these files
APPS = ("metrics", "corpus", "campaigns", "judging", "retrieval", "runs", "releases", "lead", "systems")
Reader = Callable[[Path], object]


def collection() -> Videos:
    return Videos.of([Video("v", 9.0, np.ones((6, 4), np.float32))], clip_seconds=1.5)


def all_of(archive: ReleaseArchive) -> object:
    return [list(archive.lines(name)) for name in archive.names], verify(archive)


READERS: dict[str, Reader] = {
    "read_qrels": qrels.read_qrels,
    "read_run": runs.read_run,
    "read_bytes": files.read_bytes,
    "read_beginning": files.read_beginning,
    "read_text": files.read_text,
    "read_side_file": csv_tables.read_side_file,
    "read_video_index": json_runs.read_video_index,
    "read_durations": annotations.read_durations,
    "durations of a corpus": read_durations,
    "read_pool": pool.read_pool,
    "read_predicted": predicted.read_predicted,
    "read_ratings": csv_tables.read_ratings,
    "read_training_set": lambda file: list(json_qrels.read_training_set(file)),
    "ratings to settle": read,
    "read_pairs": read_pairs,
    "read_cast": read_cast,
    "read_queries": lambda file: [*map(str, read_queries(file))],
    "the format of a corpus": recognised,
    **{f"columns of {name}": partial(names_in, format=name) for name in ("csv", "jsonl")},
    "read_objects": lambda file: read_objects(file, collection()),
    "read_json": storing.read_json,
    "read_arrays": storing.read_arrays,
    "read_pair_windows": json_runs.read_pair_windows,
    "read_checkpoint": read_checkpoint,
    "read_tree": lambda file: storing.read_tree(file, lambda array: array),
    "queries_in": queries_in,
    "read_description": read_description,
    "read_recipe": read_recipe,
    "read_tokens": lambda file: read_tokens(file, [Query("1", "a word")]),
    "read_word_vectors": lambda file: read_word_vectors(file, {"a", "word"}),
    "a release": lambda file: all_of(ReleaseArchive(file)),
    **{f"qrels as {name}": partial(qrels.read_qrels, format=name) for name in QRELS_FORMATS},
    **{f"a run as {name}": partial(runs.read_run, format=name) for name in RUN_FORMATS},
}
ELSEWHERE = {
    "read_videos",
    "read_plan",
    "read_settings",
    "read_shards",
    "read_part",
}  # of folders, whose files tests/hostile/features.py has; and of bytes, which others parse
REFUSALS = (MeasureError, ReeljudgeError, CorpusError, SystemsError)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The hostile files."""
    made, folder = {}, tmp_path_factory.mktemp("hostile")
    for number, (name, content) in enumerate(FILES.items()):
        made[name] = folder / f"file-{number}"
        made[name].write_bytes(content)
    return made


@pytest.fixture
def rio(member: Callable[..., Membership], batch: Batch) -> Membership:
    return member("rio", "researcher")


@pytest.fixture(scope="module", autouse=True)
def _forks() -> Iterator[None]:
    with forked():
        yield


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY * 1024


def must_be_short(message: str, where: str) -> None:
    lines = message.split("\n")
    assert len(lines) <= MOST_LINES, f"{where}: {len(lines)} lines"
    for line in lines:
        assert line.strip(), f"{where}: an empty line"
        assert line.isprintable(), f"{where}: {line!r}"
        assert len(line) <= LONGEST_LINE, f"{where}: {len(line)} characters: {line[:200]}"


def named_readers() -> Iterator[str]:
    """Yield the names of the functions that read a file, by their names and their first argument."""
    for app in APPS:
        for file in (ROOT / app).rglob("*.py"):
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.FunctionDef) and node.name.startswith("read_") and node.args.args:
                    kind = node.args.args[0].annotation
                    if kind and "Path" in ast.unparse(kind):
                        yield node.name


def test_no_reader_is_forgotten() -> None:
    assert set(named_readers()) <= READERS.keys() | ELSEWHERE


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_takes_it_or_says_what_is_wrong(reader: str, hostile: dict[str, Path]) -> None:
    for name, file in hostile.items():
        try:
            with warnings.catch_warnings(category=MeasureWarning, action="ignore"):
                READERS[reader](file)
        except REFUSALS as fault:
            must_be_short(str(fault), f"{reader}, {name}")
        except Exception as fault:
            raise AssertionError(f"{reader}, {name}: {fault!r}") from fault


@pytest.mark.django_db
@pytest.mark.parametrize("format", FORMATS)
def test_an_importer_lists_what_is_wrong(format: str, hostile: dict[str, Path]) -> None:
    for name, file in hostile.items():
        report = preview(Source(file, format))
        for problem in report.problems:
            must_be_short(str(problem), f"{format}, {name}")
        assert report.is_fine or report.problems, name


COMMANDS = {
    "evaluate": ("evaluate", "--qrels", "FILE", "--run", "RUN"),
    "evaluate a run": ("evaluate", "--qrels", "QRELS", "--run", "FILE"),
    "evaluate with videos": ("evaluate", "--qrels", "QRELS", "--run", "RUN", "--videos", "FILE"),
    "evaluate with moments": ("evaluate", "--qrels", "QRELS", "--run", "RUN", "--moments", "FILE"),
    "compare": ("compare", "--qrels", "QRELS", "--runs", "RUN", "FILE"),
    "convert": ("convert", "--qrels", "FILE", "--to", "trec"),
    "project": ("project", "--qrels", "QRELS", "--run", "FILE"),
    "annotators": ("annotators", "--ratings", "FILE"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_it_in_a_line(command: str, hostile: dict[str, Path], tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 a@0-10000 3\n")
    run.write_text("1 Q0 a@0-10000 1 1.0 t\n")
    for name, file in hostile.items():
        words = {"FILE": file, "QRELS": qrels, "RUN": run}
        done = run_cli(*(words.get(word, word) for word in COMMANDS[command]))
        where = f"{command}, {name}"
        assert done.returncode in (0, 2), where
        for line in done.stderr.splitlines():
            must_be_short(line, where)
        if done.returncode == 2:
            assert done.stdout == "", where
            assert done.stderr.splitlines()[-1].startswith("error: "), where


MANAGED: dict[str, tuple[str, ...]] = {
    "import_ratings": ("import_ratings", "new", "--ratings", "FILE", "--pairs", "FILE"),
    "settle_ratings": ("settle_ratings", "FILE", "--out", "OUT"),
    "verify_release": ("verify_release", "FILE"),
    **{f"import_corpus {each}": ("import_corpus", "new", "FILE", "--format", each) for each in FORMATS},
}


@pytest.mark.django_db
@pytest.mark.parametrize("command", MANAGED)
def test_a_managing_command_says_it_too(command: str, hostile: dict[str, Path], tmp_path: Path) -> None:
    for name, file in hostile.items():
        paths = {"FILE": str(file), "OUT": str(tmp_path / "out")}
        where, refused = f"{command}, {name}", None
        try:
            words = [paths.get(word, word) for word in MANAGED[command]]
            call_command(*words, stdout=StringIO(), stderr=StringIO())
        except CommandError as fault:
            refused = fault
        except Exception as fault:
            raise AssertionError(f"{where}: {fault!r}") from fault
        if refused:
            assert refused.returncode == 2, where
            must_be_short(str(refused), where)


@pytest.mark.django_db
def test_queries_are_named_that_are_none(hostile: dict[str, Path], leo: Membership) -> None:
    for name, file in hostile.items():
        try:
            load_queries(leo.campaign, file)
        except ReeljudgeError as fault:
            must_be_short(str(fault), name)


@pytest.mark.django_db
@pytest.mark.parametrize("as_videos", [False, True])
def test_a_worker_lists_what_is_wrong_with_a_run(as_videos: bool, rio: Membership) -> None:
    for name, content in FILES.items():
        if as_videos and not _is_text(content):
            continue
        videos = content.decode() if as_videos else ""
        if not content:
            continue  # the announcement of no bytes is refused
        run = '[{"query_id": 1, "predictions": [[0, 1.25, 4.5, 1]]}]' if as_videos else content
        found = submitted(rio, run, videos=videos, name=name)
        assert found.run or found.findings["told"], name
        for line in found.findings.get("told", []):
            must_be_short(line, name)


@pytest.mark.django_db
@pytest.mark.parametrize("purpose", ["moments", "durations", "queries"])
def test_a_draft_lists_what_is_wrong(purpose: str, leo: Membership, settings: Any, tmp_path: Path) -> None:
    settings.UPLOAD_ROOT = tmp_path / "uploads"
    let_create(leo.user)
    draft = Draft.objects.create(owner=leo.user, corpus_name="own", format="csv", name="mine")

    def send(kind: str, content: bytes) -> None:
        if content:
            append(begin(draft, kind, f"{kind}.{'csv' if kind == 'moments' else 'jsonl'}", len(content)), 0, content)

    for kind, content in GOOD.items():
        send(kind, content)
    for name, content in FILES.items():
        send(purpose, content)
        ask_to_check(draft)
        assert work_off(StringIO()) == [], name
        draft.refresh_from_db()
        for line in draft.findings["problems"]:
            must_be_short(str(line), f"{purpose}, {name}")


GOOD: dict[str, bytes] = {
    "moments": b"video,start,end,description\nv,0,1,He sits.\n",
    "queries": b'{"query_id": 1, "query": "He sits."}\n',
    "durations": b'{"v": 9}',
}


def _is_text(content: bytes) -> bool:
    try:
        return bool(content.decode())
    except UnicodeDecodeError:
        return False
