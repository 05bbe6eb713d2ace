"""The wheel, in a virtual environment of its own with NumPy and SciPy alone, used from another folder."""

import subprocess
from pathlib import Path

import pytest

from metrics import __version__
from tests.metrics import documented
from tests.metrics.packaged import PROJECT, make_environment, run, wheel
from tests.metrics.shared import ROOT


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds the wheel and links to this one's NumPy and SciPy."""
    return make_environment(tmp_path_factory.mktemp("environment"), wheel(), "numpy", "scipy")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documented.write_files(tmp_path)
    return tmp_path


def test_it_asks_for_numpy_and_scipy_alone(place: Path, tmp_path: Path) -> None:
    code = "from importlib.metadata import requires; print(*requires('reeljudge'), sep='\\n')"
    needs = run(place / "bin" / "python", "-c", code, folder=tmp_path).splitlines()
    always = [line for line in needs if "extra ==" not in line]
    assert sorted(line.partition(">")[0] for line in always) == ["numpy", "scipy"]
    assert {line.rpartition("extra == ")[2] for line in needs if line not in always} == {
        '"figures"',
        '"tagger"',
        '"fast"',
        '"client"',
        '"systems"',
        '"server"',
        '"worker"',
    }


def test_it_holds_every_module_and_its_types(place: Path) -> None:
    installed = next(place.glob("lib/python*/site-packages/reeljudge"))
    wanted = {path.relative_to(ROOT / "metrics") for path in (ROOT / "metrics").rglob("*.py")}
    wanted |= {path.relative_to(ROOT) for path in (ROOT / "systems").rglob("*.py")}
    there = {path.relative_to(installed) for path in installed.rglob("*.py")}
    assert {path for path in there if path.parts[0] != "_server"} == wanted
    assert (installed / "py.typed").exists()
    assert (
        sorted(
            each.name
            for each in installed.parent.glob("*")
            if each.name in PROJECT["tool"]["importlinter"]["root_packages"]
        )
        == []
    )


def test_the_example_in_python_runs(place: Path, folder: Path) -> None:
    printed = run(place / "bin" / "python", "-W", "error", "-c", documented.python_example(), folder=folder)
    assert printed.splitlines()[0] == documented.PRINTED


def test_the_examples_for_a_shell_run(place: Path, folder: Path) -> None:
    program = place / "bin" / "reeljudge"
    for line in documented.shell_examples():
        line = line.partition(" --figure")[0]  # figures need the extra `figures`
        assert run("sh", "-c", line.replace("reeljudge", str(program), 1), folder=folder)


def test_every_command_says_what_it_takes(place: Path, tmp_path: Path) -> None:
    program = place / "bin" / "reeljudge"
    assert run(program, "--version", folder=tmp_path) == f"reeljudge {__version__}\n"
    listed = run(program, "--help", folder=tmp_path)
    commands = listed.partition("COMMAND\n")[2].split("\n\n")[0].splitlines()
    names = [line.split()[0] for line in commands if line.startswith("    ") and line[4] != " "]
    assert {"evaluate", "compare", "convert", "project", "annotators"} <= {*names}
    for name in set(names) - {"systems"}:
        assert f"usage: reeljudge {name}" in run(program, name, "--help", folder=tmp_path)
    assert "usage: python -m reeljudge" in run(place / "bin" / "python", "-m", "reeljudge", "--help", folder=tmp_path)


def test_a_figure_without_the_extra_is_an_error_that_names_it(place: Path, folder: Path) -> None:
    command = ["agreement", "--qrels", "qrels.jsonl", "--runs", "a.json", "b.json", "c.json", "--figure", "x.svg"]
    done = subprocess.run(
        [place / "bin" / "reeljudge", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "pip install 'reeljudge[figures]'" in done.stderr


def test_the_server_without_its_extra_is_an_error_that_names_it(place: Path, tmp_path: Path) -> None:
    program = place / "bin" / "reeljudge-server"
    done = subprocess.run([program, "demo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "django is not installed: pip install 'reeljudge[server]'\n")


def test_a_server_without_the_extra_is_an_error_that_names_it(place: Path, tmp_path: Path) -> None:
    python, program = place / "bin" / "python", place / "bin" / "reeljudge"
    assert run(python, "-c", "import reeljudge; print(reeljudge.Client.__name__)", folder=tmp_path) == "Client\n"
    command = [str(program), "scores", "films", "1", "--address", "http://127.0.0.1:9", "--token", "rj-secret"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "pip install 'reeljudge[client]'" in done.stderr
    assert "rj-secret" not in done.stderr


def test_systems_without_the_extra_are_an_error_that_names_it(place: Path, tmp_path: Path) -> None:
    command = [str(place / "bin" / "reeljudge"), "systems", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: systems need PyTorch: pip install 'reeljudge[systems]'\n"
