"""`docs/measures.md` names everything there is, with all that it promises."""

import json
import pydoc
import re
import shlex
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import metrics
from metrics import CONVENTIONS, parse_measure, read_qrels, run_from_dict
from metrics.commands.main import COMMANDS, parser
from metrics.formats import QRELS_FORMATS, RUN_FORMATS, qrels, runs
from metrics.formats.json_runs import run_as_ranking
from metrics.measures.definitions import DEFINITIONS, NAMED
from metrics.measures.measure import PARAMS
from metrics.measures.names import FORMULAS
from tests.metrics import documented, notebooks
from tests.metrics.documented import TEXT
from tests.metrics.shared import ROOT, SHARED, needs_shared, run_cli

ABOUT_MEASURES = TEXT.partition("\n## Files\n")[0]
NOTEBOOK = ROOT / "docs" / "quickstart" / "first_minutes.ipynb"
PROSE = {"Nothing to find"}  # a section that is no measure's
SECTIONS = {part.split("\n", 1)[0].strip(): part for part in re.split(r"^### ", ABOUT_MEASURES, flags=re.MULTILINE)[1:]}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_measure(name: str) -> None:
    section = SECTIONS[name]
    for word in ("Formula", "Source", "Convention", "Range", "Edges"):
        assert f"- **{word}**: " in section, word
    for key in DEFINITIONS[name].params:
        assert f"| `{key}`" in TEXT or f", `{key}` |" in TEXT, key


def test_no_measure_that_is_not_there() -> None:
    assert set(SECTIONS) - PROSE == set(DEFINITIONS)


def test_the_example_in_python_runs_in_a_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    exec(documented.python_example().replace("from reeljudge import", "from metrics import"), {})
    assert documented.PRINTED in capsys.readouterr().out


def test_the_examples_for_a_shell_run_in_a_checkout(tmp_path: Path) -> None:
    documented.write_files(tmp_path)
    for line in documented.shell_examples():
        done = run_cli(*shlex.split(line)[1:], folder=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"


def test_the_quickstart_runs_in_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    documented.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    quickstart = (ROOT / "docs" / "quickstart" / "researcher.md").read_text()
    blocks = dict(re.findall(r"<!-- run: (\w+) -->\n```\w+\n(.*?)```", quickstart, re.DOTALL))
    python = blocks.pop("python")
    lines = "".join(blocks.values()).splitlines()
    assert len(lines) == 6
    for line in lines:
        done = run_cli(*shlex.split(line)[1:])
        assert done.returncode == 0, f"{line}: {done.stderr}"
    exec(python.replace("from reeljudge import", "from metrics import"), {})
    printed = capsys.readouterr().out
    assert re.search(r"^a 0\.\d+$", printed, re.M)
    assert re.search(r"^\| AxIoU@10 \| a − b \| [+-]0\.\d{4} ", printed, re.M)


def test_the_notebook_shows_what_it_has_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, "reeljudge", metrics)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert notebooks.outputs_of(NOTEBOOK) == notebooks.stored_in(NOTEBOOK)


def test_the_notebook_is_short_and_ends_with_a_table() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) <= 30
    assert "\\begin{tabular}" in "".join(cells[-1]["outputs"][0]["text"])


def test_the_readme_scores_a_run_in_five_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    python = re.search(r"<!-- run: five lines -->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert python
    assert len(python[1].split("\n\n")[1].splitlines()) + 1 <= 5
    exec(python[1].replace("from reeljudge import", "from metrics import"), {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["finder", "guesser"]


def test_every_convention_parameter_format_and_command() -> None:
    for word in (*CONVENTIONS, *QRELS_FORMATS, *RUN_FORMATS):
        assert f"| `{word}`" in TEXT, word
    for key in PARAMS:
        assert f"`{key}`" in TEXT, key
    commands = parser("reeljudge")._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    assert len(COMMANDS) <= len(commands)  # type: ignore[arg-type]
    for command in commands or ():
        assert f"`{command}`" in TEXT or f"reeljudge {command}" in TEXT, command


def test_the_spellings_in_the_table_are_read() -> None:
    table = TEXT.split("| a paper's spelling | is read as |")[1].split("\n\n")[0]
    rows = [re.findall(r"`([^`]+)`", line) for line in table.splitlines()[2:]]
    names = [name for row in rows for name in row if not name.startswith("@")]
    assert len(names) > 20
    for name in names:
        assert str(parse_measure(str(parse_measure(name)))) == str(parse_measure(name))


def test_help_shows_the_signature_and_the_formula_of_each_measure() -> None:
    plain = re.sub(r"\s+", " ", TEXT)
    for name, measure in NAMED.items():
        page = re.sub(r"\s+", " ", pydoc.plain(pydoc.render_doc(measure)))
        assert FORMULAS[name] in page
        assert f"- **Formula**: {FORMULAS[name]}" in plain
    assert "nDCG_IoU(iou, gain=…, discount=…, above=…) @ K" in pydoc.render_doc(NAMED["nDCG_IoU"])


def test_every_format_has_a_reader() -> None:
    assert set(QRELS_FORMATS) == {"trec", "xinfap", "beir", *qrels.TEXT_READERS, *qrels.RECORD_READERS}
    assert set(RUN_FORMATS) == {
        "trec",
        "trecvid",
        "ranking",
        "predictions",
        "tvretrieval",
        "beir",
        *runs.RECORD_READERS,
    }


COLLECTIONS = (ROOT / "docs" / "published-collections.md").read_text()
COMMANDS_OF_COLLECTIONS = re.findall(r"`(reeljudge evaluate [^`]+)`", COLLECTIONS)


@pytest.mark.parametrize("command", COMMANDS_OF_COLLECTIONS)
def test_the_command_of_a_published_collection(command: str, tmp_path: Path) -> None:
    """It gets as far as the missing file of qrels: its measures are those of its convention."""
    words = shlex.split(command)[1:]
    (tmp_path / words[words.index("--run") + 1]).write_text('{"1": []}')
    done = run_cli(*words, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"error: {words[words.index('--qrels') + 1]}: there is no such file\n"


@needs_shared
@pytest.mark.parametrize(
    "file", ["charades_sta/charades_sta_test.txt", "activitynet_captions/val_2.json", "tvr/tvr_val_release.jsonl"]
)
def test_a_perfect_run_is_perfect_on_a_published_file(file: str, tmp_path: Path) -> None:
    name = Path(file).name
    shutil.copy(SHARED / "data" / file, tmp_path)
    moments = {query: [(*row[:3], 1.0) for row in rows] for query, rows in of_first(tmp_path / name)}
    (tmp_path / "run.json").write_text(run_as_ranking(run_from_dict(moments, lenient=True)))
    command = next(each for each in COMMANDS_OF_COLLECTIONS if f"--qrels {name} " in each)
    done = run_cli(*shlex.split(command)[1:], "--lenient", "--format", "json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["measures"]
    assert set(found.values()) <= {1.0, 100.0}, found


def of_first(file: Path) -> Any:
    qrels = read_qrels(file)
    return qrels.rows(qrels.grades)


def test_every_collection_and_test_that_the_document_names() -> None:
    names = (
        "TVR-Ranking",
        "Charades-STA",
        "ActivityNet Captions",
        "TVR",
        "DiDeMo",
        "QVHighlights",
        "TACoS",
        "Ego4D NLQ",
    )
    assert re.findall(r"^\| ([^|]+) \| [^|]+ \| `reeljudge", COLLECTIONS, re.M) == [*names, "QV-M2", "Soccer-GMR"]
    for test in set(re.findall(r"`(test_\w+\.py)`", COLLECTIONS)):
        assert list((ROOT / "tests").rglob(test)), test
