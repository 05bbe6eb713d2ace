"""The test files that a change concerns, nearest first: `make test-changed` runs them.

A file is near if it imports what changed, or imports something that imports it, in at most `DEPTH` steps (2 unless the
environment says otherwise). Of a changed template, script or style the tests of its app are near.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent


def changed_files(base: str) -> list[Path]:
    """What differs from where this branch left the base, committed or not, and what git does not know yet."""

    def lines(*command: str) -> list[str]:
        return subprocess.run(
            ["git", *command], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    since = lines("merge-base", "HEAD", base)[0]
    names = lines("diff", "--name-only", since) + lines("ls-files", "--others", "--exclude-standard")
    return [Path(name) for name in dict.fromkeys(names)]


def packages() -> list[str]:
    return [folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").exists()]


def modules_of(files: Iterable[Path], known: set[str]) -> Iterator[str]:
    for file in files:
        if file.suffix == ".py":
            yield ".".join(file.with_suffix("").parts).removesuffix(".__init__")
        elif file.parts[0] in {"templates", "static"} and len(file.parts) > 2:
            yield from (name for name in known if name.startswith(f"tests.{file.parts[1]}."))


def nearest(files: Iterable[Path], depth: int) -> list[Path]:
    """The test files within so many imports of any of the files, nearest first."""
    graph = grimp.build_graph(*packages())
    reached = set(modules_of(files, graph.modules)) & graph.modules
    found = sorted(reached)
    for _ in range(depth):
        importers = {name for module in reached for name in graph.find_modules_that_directly_import(module)}
        reached = importers - set(found)
        found += sorted(reached)
    return [
        Path(*name.split(".")).with_suffix(".py")
        for name in found
        if name.startswith("tests.") and name.rsplit(".", 1)[1].startswith("test_")
    ]


def main() -> None:
    print(*nearest(changed_files(os.environ.get("BASE", "main")), int(os.environ.get("DEPTH", "2"))))


if __name__ == "__main__":
    main()
