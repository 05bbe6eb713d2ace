"""What people send is read in a confined process: a hostile file harms that process only, and says so in one line."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpus import reading
from corpus.errors import CorpusError, Problem
from corpus.importers.formats import rows_of_file
from corpus.importers.interface import Source
from corpus.importers.rows import MomentRow, durations_of_file
from corpus.reading import TableReader, moments_in, rows_in
from metrics import MeasureError
from metrics.formats.checks import Known

KNOWN = Known(["1"], {"a": 100.0})
RUN = json.dumps({"1": [{"video_name": "a", "timestamp": [0, 5], "score": 0.5}]})
NESTED = '{"1": [' + "[]," * 2_000_000 + "[]]}"  # 6 MB that become some hundred in memory


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text(RUN)
    return tmp_path / "token"


def reader_of(file: Path) -> TableReader:
    return TableReader.for_files({file: "run.json"})


def refusal_of(reader: TableReader, file: Path) -> str:
    with pytest.raises(MeasureError) as refused:
        reader.run(file, KNOWN)
    return str(refused.value)


def test_a_run_comes_back_as_it_was_read(file: Path) -> None:
    with reader_of(file) as reader:
        run, faults, notes = reader.run(file, KNOWN)
    assert run is not None
    assert (run.queries, run.videos, run.scores.tolist(), faults.count, notes) == (("1",), ["a"], [0.5], 0, [])


def test_messages_name_the_file_as_its_owner_does(file: Path) -> None:
    file.write_text('{"1": [}')
    with reader_of(file) as reader:
        assert reader.run(file, KNOWN).faults.messages == ["run.json: line 1, column 8: broken JSON: Expecting value"]


def test_a_file_that_needs_too_much_memory_is_refused(file: Path, settings: Any) -> None:
    settings.READING_MEMORY = 320
    file.write_text(NESTED)
    with reader_of(file) as reader:
        assert refusal_of(reader, file) == (
            "run.json: reading needs more than 320 MiB of memory; expected a file that needs less"
        )


def test_a_file_that_takes_too_long_is_refused(file: Path, settings: Any) -> None:
    settings.READING_SECONDS = 0
    with reader_of(file) as reader:
        assert refusal_of(reader, file) == (
            "run.json: reading took more than 0 seconds; expected a file that needs less"
        )


def test_a_process_that_the_system_ends_for_its_memory_is_the_fault_of_the_file(file: Path) -> None:
    with reader_of(file) as reader:
        assert reader.process
        reader.process.send_signal(signal.SIGKILL)
        reader.process.wait()
        assert refusal_of(reader, file).startswith("run.json: reading was broken off (SIGKILL)")


def test_the_process_knows_no_secrets_has_no_network_and_is_another_one_for_each_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    numbers = set()
    for _ in range(2):
        with reader_of(file) as reader:
            reader.run(file, KNOWN)
            assert reader.process
            numbers.add(reader.process.pid)
            process = Path(f"/proc/{reader.process.pid}")
            assert "secret" not in (process / "environ").read_text()
            is_confined = "NoNewPrivs:\t1" in (process / "status").read_text()
            theirs, ours = (os.readlink(f"{each}/ns/net") for each in (process, "/proc/self"))
    assert len(numbers) == 2
    if not is_confined or theirs == ours:
        pytest.skip("the kernel has no Landlock, or lets nobody make a network namespace")


def replaced_by_a_link(folder: Path) -> None:
    (folder / "words").unlink()
    (folder / "words").symlink_to("/etc/passwd")


def replaced_by_a_fifo(folder: Path) -> None:
    (folder / "scores").unlink()
    os.mkfifo(folder / "scores")


def of_another_length(folder: Path) -> None:
    np.zeros(7).tofile(folder / "scores")


def of_unknown_videos(folder: Path) -> None:
    np.array([1]).tofile(folder / "video")


def of_queries_without_rows(folder: Path) -> None:
    np.array([5, 1]).tofile(folder / "offsets")


def of_another_kind(folder: Path) -> None:
    words = json.loads((folder / "words").read_text())
    (folder / "words").write_text(json.dumps(words | {"names": [["a"]]}))


@pytest.mark.parametrize(
    "spoil",
    [
        *(replaced_by_a_link, replaced_by_a_fifo, of_another_length),
        *(of_unknown_videos, of_queries_without_rows, of_another_kind),
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_what_a_process_writes_is_not_believed(file: Path, monkeypatch: pytest.MonkeyPatch, spoil: Any) -> None:
    """As if a hostile file had taken the process over."""
    read = TableReader.ask

    def ask(self: TableReader, *order: Any) -> Any:
        answer = read(self, *order)
        spoil(Path(self.writable.name))
        return answer

    monkeypatch.setattr(TableReader, "ask", ask)
    with reader_of(file) as reader:
        assert refusal_of(reader, file).startswith("run.json: reading was broken off (")


def test_an_answer_without_end_is_not_read_to_its_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("base.confinement.MOST_ANSWERED", 10)
    with reader_of(file) as reader:
        assert "answered more than 10 bytes" in refusal_of(reader, file)


def refused_rows(function: Any, file: Path, **options: Any) -> tuple[list[Any], str]:
    """The rows before an error, and its message."""
    found = list[Any]()
    with pytest.raises(CorpusError) as refused:
        found.extend(rows_in(function, file, **options))
    return found, str(refused.value)


def test_moments_come_back_row_by_row_with_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "moments.jsonl"
    file.write_text('{"video": "a", "start": 1, "end": 2, "description": "sits"}\n{"video": 7}\n')
    row, problem = moments_in(file, Source(file, "jsonl"))
    assert isinstance(problem, Problem)
    assert (row, problem.file) == (MomentRow("line 1", "a", 1.0, 2.0, None, "sits"), file)
    assert str(problem) == "line 2: field video: 7; expected a text that is not empty"


def test_rows_before_a_fault_of_the_whole_file_come_back(tmp_path: Path) -> None:
    file = tmp_path / "moments.jsonl"
    file.write_text('{"video": "a", "start": 1, "end": 2, "description": "sits"}\n' + "x" * 1_000_001)
    found, message = refused_rows(rows_of_file, file, format="jsonl", kind="", columns={})
    assert len(found) == 1
    assert message == f"{file}: line 2: longer than 1,000,000 bytes; is this the right file?"


def test_rows_of_a_file_beyond_the_limits_are_refused(tmp_path: Path, settings: Any) -> None:
    settings.READING_MEMORY = 320
    file = tmp_path / "durations.json"
    file.write_text("[" * 5 + "[]," * 10_000_000 + "[]" + "]" * 5)
    _, message = refused_rows(durations_of_file, file)
    assert message == f"{file}: reading needs more than 320 MiB of memory; expected a file that needs less"


def test_a_row_of_other_values_is_not_believed(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"expected texts"):
        reading._row(tmp_path / "file", "line 1", ["a"], 1.0, 2.0, None, "sits", None)
