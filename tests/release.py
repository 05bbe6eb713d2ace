"""`make release`: check, then make what a release consists of: wheel, SBOM, checksums, list of migrations, tag.

With `DRY=1`, which is the default, it makes the files in `dist/` and names what else it would do. It needs no network.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from metrics import __version__

ROOT = Path(__file__).resolve().parent.parent
RELEASED = ROOT / "tests" / "operations" / "released" / "migrations.txt"
PROPER = re.compile(r"\d+\.\d+\.\d+")


class Refused(Exception):
    """Something is missing, in one line."""


def main() -> None:
    try:
        release(ROOT, __version__, is_dry=os.environ.get("DRY", "1") != "0")
    except Refused as refusal:
        sys.exit(f"make release: {refusal}")


def release(root: Path, version: str, *, is_dry: bool) -> None:
    """Release the version that stands in the checkout.

    Raise Refused if the tree has changes, the version was released before, the changelog has no section about it, or a
    migration of an earlier release has changed.
    """
    check(root, version)
    new = new_migrations(root)
    target = root / "dist"
    shutil.rmtree(target, ignore_errors=True)
    _run(root, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", "dist", ".")
    sbom = f"dist/reeljudge-{version}.cdx.json"
    _run(root, "-m", "cyclonedx_py", "requirements", "--output-reproducible", "-o", sbom, "requirements.txt")
    _write_checksums(target)
    for file in sorted(target.iterdir()):
        print(f"{file.relative_to(root)}, {file.stat().st_size:,} bytes")
    for line in new:
        print(f"released with it: {line.split()[1]}")
    if is_dry:
        print(f"DRY=1: no list of migrations was written, and no tag v{version} was made. DRY=0 does both.")
        return
    if new:
        (root / RELEASED.relative_to(ROOT)).write_text("\n".join([*_lines(root), *new]) + "\n")
        _git(root, "commit", "-qam", f"release: List the migrations of {version}.")
    _git(root, "tag", "-a", f"v{version}", "-m", f"Reeljudge {version}")
    print(f"v{version} is made; push it with: git push origin HEAD v{version}")


def check(root: Path, version: str) -> None:
    if not PROPER.fullmatch(version):
        raise Refused(f"version {version}: expected three numbers, as in 0.2.0 (metrics/__init__.py)")
    if changed := _git(root, "status", "--porcelain").splitlines():
        raise Refused(f"{len(changed)} file(s) are changed or new, such as {changed[0][3:]}; expected a clean tree")
    if _git(root, "tag", "--list", f"v{version}").strip():
        raise Refused(f"tag v{version}: exists already; expected a new version in metrics/__init__.py")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(version)}, \d{{4}}-\d\d-\d\d$(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if not section or not section[1].strip():
        raise Refused(f"CHANGELOG.md: nothing under a line `## {version}, YYYY-MM-DD`; expected what is new")


def new_migrations(root: Path) -> list[str]:
    """Return a line for each migration that no release has had. Raise Refused if a released one changed or is gone."""
    released, found = released_migrations(root), dict(_checksums(root))
    for path, checksum in released.items():
        if found.get(path) != checksum:
            raise Refused(f"{path}: {'differs from' if path in found else 'is gone; expected'} what was released")
    return [f"{checksum}  {path}" for path, checksum in found.items() if path not in released]


def released_migrations(root: Path = ROOT) -> dict[str, str]:
    """Return the SHA-256 of each migration that a release has brought to databases."""
    return {path: checksum for checksum, path in (line.split() for line in _lines(root))}


def _lines(root: Path) -> list[str]:
    return (root / RELEASED.relative_to(ROOT)).read_text(encoding="utf-8").splitlines()


def _checksums(root: Path) -> list[tuple[str, str]]:
    files = sorted(root.glob("*/migrations/0*.py"))
    return [(str(file.relative_to(root)), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]


def _write_checksums(folder: Path) -> None:
    """Write SHA256SUMS, as `sha256sum --check` reads it."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def _run(root: Path, *arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"{' '.join(arguments[:3])}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")


if __name__ == "__main__":
    main()
