"""The wheel, in a virtual environment of its own with NumPy and SciPy alone, used from another folder."""

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.metrics import documented
from tests.metrics.shared import ROOT

SOURCES = ("metrics", "pyproject.toml", "LICENSE", "docs/measures.md")


def run(*command: object, folder: Path) -> str:
    """What a command prints; the checkout is not on its path."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source, target = ROOT / name, folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-q", "-w", folder]
    run(sys.executable, "-m", "pip", "wheel", *options, folder / "source", folder=folder)
    return next(folder.glob("reeljudge-*.whl"))


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds the wheel and links to this one's NumPy and SciPy."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False, symlinks=True)
    packages = next(place.glob("lib/python*/site-packages"))
    for name in ("numpy", "scipy"):
        found = distribution(name)
        for part in {path.parts[0] for path in found.files or () if path.parts[0] != ".."}:
            (packages / part).symlink_to(Path(str(found.locate_file(part))))
    pip = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "--disable-pip-version-check"]
    run(*pip, "install", "-q", "--no-index", wheel, folder=place)
    return place


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
        '"fast"',
    }


def test_it_holds_every_module_and_its_types(place: Path) -> None:
    installed = next(place.glob("lib/python*/site-packages/reeljudge"))
    wanted = {path.relative_to(ROOT / "metrics") for path in (ROOT / "metrics").rglob("*.py")}
    assert {path.relative_to(installed) for path in installed.rglob("*.py")} == wanted
    assert (installed / "py.typed").exists()
    assert not any(path.is_dir() for path in installed.parent.glob("metrics"))


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
    assert run(program, "--version", folder=tmp_path) == "reeljudge 0.1.0\n"
    listed = run(program, "--help", folder=tmp_path)
    commands = listed.partition("COMMAND\n")[2].split("\n\n")[0].splitlines()
    names = [line.split()[0] for line in commands if line.startswith("    ") and line[4] != " "]
    assert {"evaluate", "compare", "convert", "project", "annotators"} <= {*names}
    for name in names:
        assert f"usage: reeljudge {name}" in run(program, name, "--help", folder=tmp_path)
    assert "usage: python -m reeljudge" in run(
        place / "bin" / "python", "-m", "reeljudge", "--help", folder=tmp_path
    )


def test_a_figure_without_the_extra_is_an_error_that_names_it(place: Path, folder: Path) -> None:
    command = [
        "agreement",
        "--qrels",
        "qrels.jsonl",
        "--runs",
        "a.json",
        "b.json",
        "c.json",
        "--figure",
        "x.svg",
    ]
    done = subprocess.run(
        [place / "bin" / "reeljudge", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "pip install 'reeljudge[figures]'" in done.stderr
