"""The command `systems`, whose own commands are those of the systems' library beside this one."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

NAME = "systems"


def add(commands: Any) -> None:
    commands.add_parser(NAME, help="train, index and search systems that rank moments of videos", add_help=False)


def main(arguments: Sequence[str], program: str) -> int:
    """Run a command of the systems' library, which reads its arguments itself; returns the exit code."""
    if find_spec("torch") is None:
        print("error: systems need PyTorch: pip install 'reeljudge[systems]'", file=sys.stderr)
        return 2
    package = __name__.partition(".")[0]
    module = "systems.commands" if package == "metrics" else f"{package}.systems.commands"
    code: int = import_module(module).main(arguments, f"{program} {NAME}")
    return code
