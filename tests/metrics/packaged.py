"""The wheel of this checkout, and virtual environments that hold it and little else."""

import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

from tests.made_once import once
from tests.metrics.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FILES = ("pyproject.toml", "setup.py", "manage.py", "LICENSE", "docs/measures.md")
SOURCES = (*PROJECT["tool"]["importlinter"]["root_packages"], "locale", "static", "templates", "deploy", *FILES)


def run(*command: object, folder: Path, **more: str) -> str:
    """What a command prints; the checkout is not on its path."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more
    done = subprocess.run(list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wheel() -> Path:
    """Return the wheel of this checkout, which a run of the tests builds once."""

    def make(place: Path) -> None:
        build_wheel(place)

    return next(once("wheel", make).glob("*.whl"))


def build_wheel(folder: Path, change: Callable[[Path], object] = lambda source: None) -> Path:
    """Build the wheel of this checkout, or of a changed copy of it, without the network."""
    for name in SOURCES:
        source, target = ROOT / name, folder / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    change(folder / "source")
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-q", "-w", folder]
    run(sys.executable, "-m", "pip", "wheel", *options, folder / "source", folder=folder)
    return next(folder.glob("reeljudge-*.whl"))


def make_environment(place: Path, wheel: Path, *names: str) -> Path:
    """A virtual environment that holds the wheel and links to these packages of this one."""
    venv.create(place, with_pip=False, symlinks=True)
    packages = next(place.glob("lib/python*/site-packages"))
    for name in names:
        found = distribution(name)
        for part in {path.parts[0] for path in found.files or () if path.parts[0] != ".."}:
            if not (packages / part).exists():
                (packages / part).symlink_to(Path(str(found.locate_file(part))))
    pip = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "--disable-pip-version-check"]
    run(*pip, "install", "-q", "--no-index", wheel, folder=place)
    return place
