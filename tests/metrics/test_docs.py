"""`docs/measures.md` names everything there is, with all that it promises."""

import json
import pydoc
import re
import shlex
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from metrics import CONVENTIONS, parse_measure
from metrics.commands.main import COMMANDS, parser
from metrics.formats import QRELS_FORMATS, RUN_FORMATS, json_runs, qrels
from metrics.measures.definitions import DEFINITIONS, NAMED
from metrics.measures.measure import PARAMS
from metrics.measures.names import FORMULAS
from tests.metrics import documented
from tests.metrics.documented import TEXT
from tests.metrics.shared import ROOT, run_cli

ABOUT_MEASURES = TEXT.partition("\n## Files\n")[0]
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


def test_the_notebook_goes_from_a_dict_to_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "tests" / "releases" / "release-0.1.0.zip", tmp_path / "release.zip")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "docs" / "quickstart" / "first_minutes.ipynb").read_text())
    install, *cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert re.fullmatch(r"%pip install -q reeljudge pandas", install)
    program = "\n".join(cells).replace("from reeljudge import", "from metrics import")
    assert len([line for line in program.splitlines() if line]) + 1 <= 30
    known: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(program, known)
    assert known["measures"] == ["nDCG_IoU(iou=0.5)@20", "AxIoU@10", "Success_IoU(iou=0.7)@1"]
    assert known["scores"].to_frame().shape == (12, 3)
    assert known["found"].superscript("fused", "nDCG_IoU(iou=0.5)@20") == "a"
    assert known["found"].to_frame().shape == (9, 6)
    printed = capsys.readouterr().out
    assert re.search(r"^<release \d+ of ", printed, re.M)
    assert re.search(r"^0\.\d+ \[.*\], estimated from 50% of the queries$", printed, re.M)
    assert printed.count("\\begin{tabular}") == printed.count("\\end{tabular}") == 2


def test_the_readme_scores_a_run_in_five_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    documented.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    python = re.search(r"<!-- run: five lines -->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert python
    assert len(python[1].split("\n\n")[1].splitlines()) + 1 <= 5
    exec(python[1].replace("from reeljudge import", "from metrics import"), {})
    assert len(capsys.readouterr().out.splitlines()) == 3


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
    assert set(RUN_FORMATS) == {"trec", "trecvid", "ranking", "predictions", "tvretrieval", *json_runs.READERS}
