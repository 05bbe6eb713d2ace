"""The command line: one parser for all commands; bad input becomes one line and exit code 2 here.

NumPy is imported by the commands when they run, not here: `--help` is instant.
"""

import argparse
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from .. import __version__
from ..formats.errors import MATCH_VIDEOS, SWAPPED, MeasureError, MeasureWarning
from . import annotators, compare, convert, evaluate, inputs, meta, server

COMMANDS = (evaluate, compare, convert, meta, annotators, server)
SYSTEMS = "systems"  # the command whose own commands are those of the systems' library
# What `setting` makes of the parameters that are flags here.
SETTING = re.compile(r"\b(lenient|highest|videos|unjudged|empty|order)=(?:…|True|'(\w+)')")
INTERRUPTED = 128 + signal.SIGINT  # as a shell reports it


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments[:1] == [SYSTEMS]:
            return systems(arguments[1:], program())
        args = parser(program()).parse_args(arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("always", MeasureWarning)
            warnings.showwarning = note
            args.run(args)
        sys.stdout.flush()
    except MeasureError as problem:
        print(f"error: {in_flags(str(problem))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MemoryError:
        print("error: this input is too large for the memory of this machine", file=sys.stderr)
        return 2
    return 0


def systems(arguments: Sequence[str], program: str) -> int:
    """Run a command of the systems' library, which reads its arguments itself; returns the exit code."""
    if find_spec("torch") is None:
        print("error: systems need PyTorch: pip install 'reeljudge[systems]'", file=sys.stderr)
        return 2
    package = __name__.partition(".")[0]
    module = "systems.commands" if package == "metrics" else f"{package}.systems.commands"
    code: int = import_module(module).main(arguments, f"{program} {SYSTEMS}")
    return code


def note(message: Warning | str, *place: Any, **more: Any) -> None:
    """Say a warning in one line; who warned where is of no use here."""
    print(f"note: {in_flags(str(message))}", file=sys.stderr)


def in_flags(message: str) -> str:
    """A message of the library in one line, with the flags of the command line for the library's parameters.

    >>> in_flags("it must be at most 4 (highest=… says another)")
    'it must be at most 4 (--highest says another)'
    """
    message = message.replace(MATCH_VIDEOS, "--match-videos").replace(SWAPPED, "are --qrels and --run swapped?")
    return " ".join(SETTING.sub(lambda found: f"--{found[1]} {found[2] or ''}".rstrip(), message).split())


@cache
def parser(program: str) -> Parser:
    top = Parser(
        prog=program,
        description="Scores for video moment retrieval.",
        epilog=inputs.MEASURES_HELP,
        formatter_class=inputs.Help,
    )
    top.add_argument("--version", action="version", version=f"reeljudge {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for command in COMMANDS:
        command.add(commands)
    commands.add_parser(SYSTEMS, help="train, index and search systems that rank moments of videos", add_help=False)
    return top


def program() -> str:
    """Return the name by which the program was called."""
    package = __name__.partition(".")[0]
    return package if Path(sys.argv[0]).stem == package else f"python -m {package}"
