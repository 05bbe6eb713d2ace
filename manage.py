#!/usr/bin/env python
"""Reeljudge's commands: `python manage.py help`."""

import os
import sys

from django.core.management import execute_from_command_line
from django.db import OperationalError, ProgrammingError


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:] == ["--version"]:
        from metrics import __version__

        print(f"Reeljudge {__version__}")
        return
    try:
        execute_from_command_line(sys.argv)
    except (OperationalError, ProgrammingError) as fault:
        print(
            f"The database cannot do this: {str(fault).strip()}\n"
            "If it is new, or the program is, run `python manage.py migrate` first.",
            file=sys.stderr,
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
