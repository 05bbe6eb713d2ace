"""Runs commands of `manage.py` one after the other, each in a fork of this process, which has loaded them already.

A line of standard input is the JSON list of a command's arguments; the line that answers it is a JSON object with the
exit `code`, and what the command printed: `out` and `err`.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import traceback
from typing import Any

import django
from django.core.checks import run_checks
from django.core.management import BaseCommand

import manage


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")  # as manage.py
    django.setup()
    run_checks()  # as most commands do at first; it imports all addresses and views, here once for all
    BaseCommand.check = lambda *_, **__: None  # type: ignore[method-assign]
    gc.freeze()  # what is here stays, so that no fork looks through it
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


def run(arguments: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os._exit(_code(arguments))  # without taking all that was loaded apart
        _, status = os.waitpid(child, 0)
        out.seek(0), err.seek(0)
        code = os.waitstatus_to_exitcode(status)
        return {"code": code, "out": out.read().decode(), "err": err.read().decode()}


def _code(arguments: list[str]) -> int:
    """Run the command; return the exit code that Python would give."""
    try:
        sys.argv = ["manage.py", *arguments]
        manage.main()
    except SystemExit as ended:
        code = ended.code
        return code if isinstance(code, int) else int(bool(code))
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush(), sys.stderr.flush()
    return 0


if __name__ == "__main__":
    main()
